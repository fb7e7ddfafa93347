"""Carrying out operations on the Web API. Each is tried once; a second request follows only a refusal that says that
nothing happened and what to leave out, and never goes to another audience.

Every message carries its row's key as metadata, by which `find` recognises it.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.gateway.channel import FileStore, TargetGoneError
from bot.gateway.operations import Ask, Delete, Edit, OpenThread, OutboundOp, React, Send
from bot.kernel.errors import OpenExecutiveError, UncertainError
from bot.kernel.ids import OutboxId
from channels.slack.client import Client
from channels.slack.drafts import Drafts
from channels.slack.errors import Failure, code_of, translate
from channels.slack.keys import Target, message_of, ref, target_of
from channels.slack.render import AGAIN, blocks, halves, marked, question
from channels.slack.state import State

log = logging.getLogger(__name__)

EVENT_TYPE = "openexecutive"
_BAD_FORM = frozenset({"invalid_blocks", "invalid_blocks_format", "invalid_attachments"})
_LOST = frozenset({"message_not_found", "cant_update_message", "edit_window_closed"})
_REACTIONS = {"👀": "eyes", "👍": "thumbsup", "✅": "white_check_mark", "❌": "x", "⏳": "hourglass_flowing_sand"}
MAX_PIECES = 16


class Deliverer:
    """`team` is the workspace's id, for refs."""

    def __init__(self, client: Client, files: FileStore, drafts: Drafts, state: State) -> None:
        self._client = client
        self._files = files
        self._drafts = drafts
        self._state = state
        self._direct: dict[str, str] = {}
        self._reacted: dict[str, str] = {}

    async def deliver(self, team: str, op: OutboundOp, key: OutboxId, again: bool) -> str | None:
        """Carry out `op` and return the ref of the message. Raises the two kinds of failure."""
        try:
            return await self._deliver(team, op, key, again)
        except SlackApiError as error:
            raise translate(error) from error

    async def _deliver(self, team: str, op: OutboundOp, key: OutboxId, again: bool) -> str | None:
        match op:
            case Send() if op.files:
                await self._upload(op, again)
                return None  # Slack shares it a moment later and does not say as what
            case Send():
                text, plain = marked(op.text, op.plain) if again else (op.text, op.plain)
                return await self._say(team, target_of(op.path.thread), text, plain, key)
            case Ask():
                text, plain = marked(op.text, op.plain) if again else (op.text, op.plain)
                form: dict[str, Any] = {"text": plain, "blocks": question(text, op.choices)}
                return await self._post(team, target_of(op.path.thread), {"key": key}, form)
            case Edit():
                return await self._edit(team, op, key)
            case Delete():
                return await self._delete(op)
            case React():
                return await self._react(op)
            case OpenThread():
                return None  # a thread is there as soon as something is said in it

    async def _call(
        self, method: Callable[..., Awaitable[AsyncSlackResponse]], effect: bool, /, **arguments: Any
    ) -> AsyncSlackResponse:
        """One request. Raises `SlackApiError` for what a caller may mend, else the two kinds of failure."""
        try:
            return await method(**arguments)
        except Failure as error:
            self._state.saw(error)
            if isinstance(error, SlackApiError) and code_of(error) in _MENDABLE:
                raise
            raise translate(error, effect) from error

    # --- messages --------------------------------------------------------------------------------------------------

    async def _say(self, team: str, target: Target, text: str, plain: str, key: OutboxId) -> str:
        """One message; in blocks if it can be laid out so, else (or if Slack refuses them) as text."""
        sections = blocks(text)
        tried: list[dict[str, Any]] = [{"text": plain, "blocks": sections}] if sections else []
        for form in [*tried, {"text": text}]:
            try:
                return await self._post(team, target, {"key": key}, form)
            except SlackApiError as error:
                if code_of(error) == "msg_too_long":
                    break
                if code_of(error) not in _BAD_FORM or "blocks" not in form:
                    raise
        return await self._in_pieces(team, target, text, key)

    async def _in_pieces(self, team: str, target: Target, text: str, key: OutboxId) -> str:
        """Slack finds the message too long: cut it until it does not. All pieces but the last are marked as partial,
        so that what broke off in the middle is not taken for the whole."""
        first: str | None = None
        waiting = [part for part in halves(text) if part.strip()]
        cuts = 1
        while waiting:
            piece = waiting.pop(0)
            payload = {"key": key, "partial": True} if waiting else {"key": key}
            try:
                made = await self._post(team, target, payload, {"text": piece})
            except SlackApiError as error:
                if code_of(error) != "msg_too_long" or cuts >= MAX_PIECES or len(piece) < 2:
                    raise
                cuts += 1
                waiting = [part for part in halves(piece) if part.strip()] + waiting
            except OpenExecutiveError as error:
                if first is None:
                    raise
                raise UncertainError(f"only a part of the message arrived: {error.message}") from error
            else:
                first = first or made
        return first or ""

    async def _post(self, team: str, target: Target, payload: dict[str, Any], form: dict[str, Any]) -> str:
        channel = target.channel
        arguments: dict[str, Any] = {
            **form,
            "channel": channel,
            "unfurl_links": False,
            "unfurl_media": False,
            "link_names": False,
            "metadata": {"event_type": EVENT_TYPE, "event_payload": payload},
        }
        if target.root is not None:
            arguments["thread_ts"] = target.root
        try:
            answer = await self._call(self._client.web.chat_postMessage, True, **arguments)
        except SlackApiError as error:
            if code_of(error) != "not_in_channel":
                raise
            await self._join(channel, error)
            answer = await self._call(self._client.web.chat_postMessage, True, **arguments)
        return ref(team, str(answer["channel"]), str(answer["ts"]))

    async def _join(self, channel: str, refused: SlackApiError) -> None:
        """Once, and only where everybody may enter; elsewhere the first refusal stands."""
        try:
            await self._call(self._client.web.conversations_join, False, channel=channel)
        except (SlackApiError, OpenExecutiveError) as error:
            log.info("slack: %s cannot be joined (%s)", channel, type(error).__name__)
            raise translate(refused) from error

    async def direct(self, user: str) -> str:
        """The direct conversation with a person. Raises the two kinds of failure."""
        if user not in self._direct:
            try:
                answer = await self._call(self._client.web.conversations_open, False, users=user)
            except SlackApiError as error:
                raise translate(error, effect=False) from error
            self._direct[user] = str(answer["channel"]["id"])
        return self._direct[user]

    async def _edit(self, team: str, op: Edit, key: OutboxId) -> str:
        """The message as it is to be. Raises `TargetGoneError` for one that is gone or cannot be edited any more."""
        channel, ts = message_of(op.target)
        await self._drafts.settle(op.target)
        sections = blocks(op.text)
        tried: list[dict[str, Any]] = [{"text": op.plain, "blocks": sections}] if sections else []
        for form in [*tried, {"text": op.text, "blocks": []}]:
            try:
                await self._call(self._client.web.chat_update, True, channel=channel, ts=ts, link_names=False, **form)
            except SlackApiError as error:
                code = code_of(error)
                if code in _LOST:
                    raise TargetGoneError(f"the message cannot be edited any more ({code})") from error
                if code == "msg_too_long":
                    return await self._edit_in_pieces(team, op, key)
                if code not in _BAD_FORM or not form["blocks"]:
                    raise
            else:
                return op.target
        return op.target

    async def _edit_in_pieces(self, team: str, op: Edit, key: OutboxId) -> str:
        """The beginning stays where it is, the rest follows in the thread."""
        channel, ts = message_of(op.target)
        head, rest = halves(op.text)
        for _ in range(MAX_PIECES):
            try:
                await self._call(self._client.web.chat_update, True, channel=channel, ts=ts, text=head, blocks=[])
            except SlackApiError as error:
                if code_of(error) != "msg_too_long":
                    raise
                head, more = halves(head)
                rest = f"{more}\n{rest}"
            else:
                break
        target = target_of(op.path.thread)
        await self._say(team, target, rest, rest, key)
        return op.target

    async def _delete(self, op: Delete) -> str:
        channel, ts = message_of(op.target)
        try:
            await self._call(self._client.web.chat_delete, True, channel=channel, ts=ts)
        except SlackApiError as error:
            if code_of(error) != "message_not_found":
                raise
        return op.target

    async def _react(self, op: React) -> str:
        channel, ts = message_of(op.target)
        name = _REACTIONS.get(op.emoji, op.emoji.strip(":"))
        method = self._client.web.reactions_add if op.emoji else self._client.web.reactions_remove
        name = name or self._reacted.pop(op.target, "eyes")
        try:
            await self._call(method, True, channel=channel, timestamp=ts, name=name)
        except SlackApiError as error:
            if code_of(error) not in ("already_reacted", "no_reaction"):
                raise
        if op.emoji:
            while len(self._reacted) >= 1000:
                del self._reacted[next(iter(self._reacted))]
            self._reacted[op.target] = name
        return op.target

    # --- files -----------------------------------------------------------------------------------------------------

    async def _upload(self, op: Send, again: bool) -> None:
        """Ask for a place, bring the bytes there, share the file: only the last step can be seen by anyone."""
        web = self._client.web
        target = target_of(op.path.thread)
        shared: list[dict[str, str]] = []
        for file in op.files:
            data = await self._files.read(file.blob)
            place = await self._call(web.files_getUploadURLExternal, False, filename=file.name, length=len(data))
            await self._bring(str(place["upload_url"]), data)
            shared.append({"id": str(place["file_id"]), "title": file.name})
        comment = (AGAIN if again else "") + op.plain
        arguments: dict[str, Any] = {"files": shared, "channel_id": target.channel}
        if comment.strip():
            arguments["initial_comment"] = comment.strip()
        if target.root is not None:
            arguments["thread_ts"] = target.root
        await self._call(web.files_completeUploadExternal, True, **arguments)

    async def _bring(self, url: str, data: bytes) -> None:
        try:
            async with self._client.session.post(url, data=data, allow_redirects=False) as answer:
                answer.raise_for_status()
        except Failure as error:
            raise translate(error, effect=False) from error


_MENDABLE = (
    _BAD_FORM
    | _LOST
    | {"msg_too_long", "not_in_channel", "message_not_found", "already_reacted", "no_reaction"}
    | {"method_not_supported_for_channel_type", "is_archived", "channel_not_found"}
)
"""Refusals that say that nothing happened and after which another form, or nothing more, is right."""
