"""Carrying out operations over REST. Each is tried once; a second request follows only a refusal that says that nothing
happened and what to do about it, and never goes to a wider audience: a thread's fallback is the channel it stands in.

Every message and edit pings nobody and shows no previews; every message carries its outbox row's key as an enforced
nonce, so that the same row within some minutes is the same message (Discord, Create Message).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from bot.gateway.channel import FileStore, TargetGoneError
from bot.gateway.events import ReplyPath
from bot.gateway.operations import (
    Ask,
    CannotTell,
    Delete,
    Edit,
    Found,
    NotSent,
    OpenThread,
    OutboundOp,
    React,
    Receipt,
    Send,
)
from bot.kernel.errors import PermanentError, TransientError, UncertainError
from bot.kernel.ids import OutboxId
from channels.discord.client import Api, Upload
from channels.discord.content import Payload
from channels.discord.errors import (
    ARCHIVED,
    CANNOT_DM,
    INVALID_FORM,
    MISSING_ACCESS,
    MISSING_PERMISSIONS,
    NO_HISTORY,
    REQUEST_ERRORS,
    THREAD_EXISTS,
    UNKNOWN_CHANNEL,
    UNKNOWN_MESSAGE,
    RequestError,
    code_of,
    status_of,
    translate,
)
from channels.discord.keys import custom_id, message_of, ref, snowflake_at, target_of
from channels.discord.places import Places
from channels.discord.render import marked

SUPPRESS_EMBEDS = 1 << 2
NO_PINGS: Mapping[str, Any] = {"parse": [], "replied_user": False}
NONCE_WINDOW = timedelta(minutes=2)
"""For so long the platform surely knows a nonce again ("the past few minutes")."""
CLOCK_SKEW = timedelta(seconds=30)
ARCHIVE_AFTER = 1440
"""Minutes without a message after which a thread of ours leaves the list."""
PAGES = 5
_BUTTONS_PER_ROW = 5
_REMEMBERED = 1000
_NOT_THERE = (UNKNOWN_CHANNEL, MISSING_ACCESS, MISSING_PERMISSIONS)

OnRefused = Callable[[str, str], Awaitable[None]]
"""Awaited with the key of a thread that cannot be had and the key of the channel that is answered in instead."""
OnBlocked = Callable[[int, OutboxId], Awaitable[None]]


class Deliverer:
    def __init__(
        self, api: Api, files: FileStore, places: Places, on_refused: OnRefused, on_blocked: OnBlocked
    ) -> None:
        self._api = api
        self._files = files
        self._places = places
        self._on_refused = on_refused
        self._on_blocked = on_blocked
        self._refused: set[str] = set()
        self._unsettled: dict[OutboxId, datetime] = {}
        """Rows of which only the nonce knows whether they arrived, and when they were tried first."""

    async def deliver(self, op: OutboundOp, key: OutboxId, again: bool) -> str | None:
        """Carry out `op` and return the ref of the message. Raises the library's errors and ours."""
        match op:
            case Send():
                body: dict[str, Any] = {"content": marked(op.text) if again else op.text}
                return await self._message(op, body, await self._uploads(op), key)
            case Ask():
                body = {"content": marked(op.text) if again else op.text, "components": _buttons(op)}
                return await self._message(op, body, (), key)
            case Edit():
                return await self._edit(op)
            case Delete():
                return await self._delete(op)
            case React():
                return await self._react(op)
            case OpenThread():
                await self._open(op)
                return None

    async def channel_of(self, path: ReplyPath) -> int:
        """The channel that a thread key leads to now. Direct messages are opened first."""
        if path.thread in self._refused and path.fallback is not None:
            path = ReplyPath(path.fallback, path.address)
        target = target_of(path.thread)
        if target.user is None:
            return target.channel or 0
        return await self._places.open_direct(target.user)

    async def find(self, op: OutboundOp, key: OutboxId, tried_at: datetime, now: datetime, me: int) -> Found:
        """While the nonce holds, and for all that can be done twice, "not sent" is the safe answer: doing it again is
        doing it once. Later, our own messages of that time in the channel tell."""
        if not isinstance(op, Send | Ask):
            return NotSent()
        tried_at = self._unsettled.get(key, tried_at)
        if now - tried_at < NONCE_WINDOW:
            while len(self._unsettled) >= _REMEMBERED:
                del self._unsettled[next(iter(self._unsettled))]
            self._unsettled[key] = tried_at
            return NotSent()
        found = await self._look(op, key, tried_at, now, me)
        self._unsettled.pop(key, None)
        return found

    async def earlier(self, op: OutboundOp, key: OutboxId, now: datetime, me: int) -> Receipt | None:
        """What became of an earlier try that was left to the nonce, if the nonce cannot be relied on any more (the
        platform asked for a long pause meanwhile). Raises `UncertainError` if that cannot be said."""
        tried_at = self._unsettled.get(key)
        if tried_at is None or now - tried_at < NONCE_WINDOW:
            return None
        found = await self.find(op, key, tried_at, now, me)
        if isinstance(found, CannotTell):
            raise UncertainError("an earlier try may have arrived")
        return found if isinstance(found, Receipt) else None

    async def _look(self, op: Send | Ask, key: OutboxId, tried_at: datetime, now: datetime, me: int) -> Found:
        paths = [op.path]
        if op.path.opens is not None and op.path.fallback is not None:
            paths.append(ReplyPath(op.path.fallback, op.path.address, op.path.ref))
        certain = True
        for path in paths:
            try:
                channel = await self.channel_of(path)
                message = await self._search(channel, path, op, key, tried_at, me)
            except REQUEST_ERRORS as error:
                failure = translate(error, effect=False)
                if isinstance(failure, TransientError):
                    raise failure from error
                certain = certain and code_of(error) == UNKNOWN_CHANNEL
            else:
                if message:
                    return Receipt(ref(channel, message), now)
                certain = certain and message is None
        return NotSent() if certain else CannotTell()

    async def _search(
        self, channel: int, path: ReplyPath, op: Send | Ask, key: OutboxId, tried_at: datetime, me: int
    ) -> int | None:
        """Id of our message; None if it is surely not there, 0 if that cannot be said."""
        after = snowflake_at(tried_at - CLOCK_SKEW)
        files = [file.name for file in op.files] if isinstance(op, Send) else []
        answers = self._answers(channel, path)
        for _ in range(PAGES):
            query = {"after": str(after), "limit": "100"}
            page = await self._api.call("GET", "/channels/{channel_id}/messages", query=query, channel_id=channel)
            for message in sorted(page, key=lambda one: int(one["id"])):
                if int(message["author"]["id"]) == me and (
                    message.get("nonce") == key or _same(message, op.text, files, answers)
                ):
                    return int(message["id"])
            if len(page) < 100:
                # Without the right to read history the platform answers with an empty list, not with a refusal.
                return None if page or await self._history(channel) else 0
            after = max(int(message["id"]) for message in page)
        return 0

    async def _history(self, channel: int) -> bool:
        query = {"limit": "1"}
        return bool(await self._api.call("GET", "/channels/{channel_id}/messages", query=query, channel_id=channel))

    # --- messages ---

    async def _uploads(self, op: Send) -> tuple[Upload, ...]:
        return tuple([Upload(f.name, f.media_type, await self._files.read(f.blob)) for f in op.files])

    async def _message(self, op: Send | Ask, body: dict[str, Any], files: tuple[Upload, ...], key: OutboxId) -> str:
        path = op.path
        channel = await self.channel_of(path)
        body |= {"nonce": key, "enforce_nonce": True, "flags": SUPPRESS_EMBEDS, "allowed_mentions": NO_PINGS}
        answers = self._answers(channel, path)
        unarchived = False
        while True:
            if answers is not None:
                reference = {"message_id": str(answers), "channel_id": str(channel), "fail_if_not_exists": False}
                body["message_reference"] = reference
            else:
                body.pop("message_reference", None)
            try:
                made = await self._api.call(
                    "POST", "/channels/{channel_id}/messages", json=body, files=files, channel_id=channel
                )
            except REQUEST_ERRORS as error:
                if code_of(error) == CANNOT_DM:
                    await self._on_blocked(target_of(path.thread).user or 0, key)
                    raise
                if code_of(error) == ARCHIVED and not unarchived:
                    unarchived = True
                    await self._unarchive(channel)
                elif answers is not None and _about_reference(error):
                    answers = None
                elif code_of(error) in _NOT_THERE and await self._fall_back(path):
                    channel = await self.channel_of(path)
                    answers = self._answers(channel, path)
                else:
                    raise
            else:
                return ref(channel, int(made["id"]))

    def _answers(self, channel: int, path: ReplyPath) -> int | None:
        """The message to answer to, if it stands in the channel."""
        if path.ref is None:
            return None
        where, message = message_of(path.ref)
        return message if where == channel else None

    async def _unarchive(self, channel: int) -> None:
        """Open an archived thread again. Raises `PermanentError` if it is locked or we may not."""
        try:
            found: Payload = await self._api.call("GET", "/channels/{channel_id}", channel_id=channel)
            if (found.get("thread_metadata") or {}).get("locked"):
                raise PermanentError("the thread is locked: a moderator has closed it")
            await self._api.call("PATCH", "/channels/{channel_id}", json={"archived": False}, channel_id=channel)
        except REQUEST_ERRORS as error:
            raise translate(error, effect=False) from error

    async def _edit(self, op: Edit) -> str:
        channel, message = message_of(op.target)
        # Buttons of a question go with the words that they stood beneath.
        body = {"content": op.text, "flags": SUPPRESS_EMBEDS, "allowed_mentions": NO_PINGS, "components": []}
        path = "/channels/{channel_id}/messages/{message_id}"
        unarchived = False
        while True:
            try:
                await self._api.call("PATCH", path, json=body, channel_id=channel, message_id=message)
            except REQUEST_ERRORS as error:
                if code_of(error) in (UNKNOWN_MESSAGE, UNKNOWN_CHANNEL):
                    raise TargetGoneError("the message is gone") from error
                if code_of(error) != ARCHIVED or unarchived:
                    raise
                unarchived = True
                await self._unarchive(channel)
            else:
                return op.target

    async def _delete(self, op: Delete) -> str:
        channel, message = message_of(op.target)
        path = "/channels/{channel_id}/messages/{message_id}"
        try:
            await self._api.call("DELETE", path, channel_id=channel, message_id=message)
        except REQUEST_ERRORS as error:
            if code_of(error) not in (UNKNOWN_MESSAGE, UNKNOWN_CHANNEL):
                raise
        return op.target

    async def _react(self, op: React) -> str:
        channel, message = message_of(op.target)
        path = "/channels/{channel_id}/messages/{message_id}/reactions"
        if op.emoji:
            path = f"{path}/{quote(op.emoji, safe='')}/@me"
            await self._api.call("PUT", path, channel_id=channel, message_id=message)
        else:
            found: Payload = await self._api.call(
                "GET", "/channels/{channel_id}/messages/{message_id}", channel_id=channel, message_id=message
            )
            for reaction in found.get("reactions") or ():
                if reaction.get("me") and reaction["emoji"].get("id") is None:
                    mine = f"{path}/{quote(str(reaction['emoji']['name']), safe='')}/@me"
                    await self._api.call("DELETE", mine, channel_id=channel, message_id=message)
        return op.target

    # --- threads ---

    async def _open(self, op: OpenThread) -> None:
        if op.starter is None or op.path.thread in self._refused:
            return
        channel, message = message_of(op.starter)
        body = {"name": op.title[:100] or "Conversation", "auto_archive_duration": ARCHIVE_AFTER}
        path = "/channels/{channel_id}/messages/{message_id}/threads"
        try:
            await self._api.call("POST", path, json=body, channel_id=channel, message_id=message)
        except REQUEST_ERRORS as error:
            if code_of(error) == THREAD_EXISTS:
                return
            refusal = status_of(error) in (400, 403, 404)
            if not (refusal and await self._fall_back(op.path)):
                raise

    async def _fall_back(self, path: ReplyPath) -> bool:
        """Go on in the channel of a thread that cannot be had. False if there is none to go to."""
        if path.opens is None or path.fallback is None or path.thread in self._refused:
            return False
        await self._on_refused(path.thread, path.fallback)
        self._refused.add(path.thread)
        return True


def _about_reference(error: RequestError) -> bool:
    return code_of(error) == NO_HISTORY or (code_of(error) == INVALID_FORM and "message_reference" in str(error))


def _same(message: Payload, text: str, files: list[str], answers: int | None) -> bool:
    """Whether a message of ours is the one that would have been sent: words, files and what it answers."""
    content = str(message.get("content") or "").strip()
    named = [str(file.get("filename")) for file in message.get("attachments") or ()]
    answered = (message.get("message_reference") or {}).get("message_id")
    known = answers is None or answered is None or int(answered) == answers
    return content in (text.strip(), marked(text).strip()) and len(named) == len(files) and known


def _buttons(op: Ask) -> list[dict[str, Any]]:
    made = [
        {"type": 2, "style": 2, "label": choice.label[:80], "custom_id": custom_id(choice.token, choice.opens_form)}
        for choice in op.choices
    ]
    rows = [made[at : at + _BUTTONS_PER_ROW] for at in range(0, len(made), _BUTTONS_PER_ROW)]
    return [{"type": 1, "components": row} for row in rows]
