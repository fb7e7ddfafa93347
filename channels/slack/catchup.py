"""Reading back what a gap swallowed: history and replies of every conversation that the app is in.

Live events and what is read back go through the same inbox under the same keys, so neither runs twice. After a long gap
messages of the last days are looked through for threads with new replies, because history holds only first messages;
calls go one after the other and wait as long as the platform says (Web API rate limits: tier 3 for both methods).
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.gateway.channel import Accepted, Cursor, Inbox
from bot.gateway.events import Addressed, InboundEvent, MessageReceived
from bot.kernel.clock import Clock
from bot.kernel.errors import OpenExecutiveError, PermanentError, TransientError
from bot.kernel.retry import Backoff
from bot.kernel.supervise import Bell
from channels.slack.client import Client
from channels.slack.directory import Me
from channels.slack.errors import Failure, translate
from channels.slack.keys import instant, stamp
from channels.slack.lanes import Lanes
from channels.slack.mark import SKEW, Mark
from channels.slack.receive import Receiver
from channels.slack.state import State
from channels.slack.threads import Threads

log = logging.getLogger(__name__)

Message = Mapping[str, Any]

PAGE = 200
MAX_PAGES = 25
"""Pages of one conversation: 5,000 messages."""
SHORT = timedelta(minutes=20)
"""A gap no longer than this (the mark stands ten minutes behind) is one in which Slack itself delivers again: then only
the gap is looked at, and threads used within `RECENT`."""
RECENT = timedelta(hours=2)
PAUSE = Backoff(first=timedelta(seconds=2), cap=timedelta(minutes=2))
IDLE = timedelta(hours=1)
_KINDS = {
    "channels:read": "public_channel",
    "groups:read": "private_channel",
    "im:read": "im",
    "mpim:read": "mpim",
}


class CatchUp:
    def __init__(
        self,
        client: Client,
        me: Me,
        receiver: Receiver,
        threads: Threads,
        mark: Mark,
        inbox: Inbox,
        clock: Clock,
        lanes: Lanes,
        state: State,
        days: int,
        gap: Bell,
    ) -> None:
        self._client = client
        self._me = me
        self._receiver = receiver
        self._threads = threads
        self._mark = mark
        self._inbox = inbox
        self._clock = clock
        self._lanes = lanes
        self._state = state
        self._days = timedelta(days=days)
        self._gap = gap
        self._read: dict[str, int] = {}
        """Conversations, the longest not read back first, and up to which gap that was."""

    async def run(self) -> None:
        """Close every gap, as soon as the socket is up: what comes meanwhile is heard live. What breaks off goes on
        where it was, and a new gap begins with whoever has waited longest: where the line breaks again and again, the
        last conversations have their turn too."""
        failures = 0
        while True:
            missing = self._mark.open
            if missing is None or not self._state.receiving:
                await self._gap.wait(IDLE)
                continue
            since, number = missing
            until = self._clock.now() - SKEW
            before = dict(self._read)
            try:
                await self._everything(since, number)
                self._mark.closed(number, max(since, until))
                await self._receiver.commit(())
            except OpenExecutiveError as error:
                failures = failures + 1 if self._read == before else 1
                log.warning("slack: reading back stopped and goes on in a moment: %s", error.message)
                asked = error.retry_after if isinstance(error, TransientError) else None
                await self._clock.sleep(PAUSE.delay(failures, asked))
            else:
                failures = 0

    async def _everything(self, since: datetime, number: int) -> None:
        count = 0
        kinds = {channel: kind async for channel, kind in self._conversations()}
        order = {channel: place for place, channel in enumerate(self._read)}
        for channel in sorted(kinds, key=lambda channel: order.get(channel, -1)):
            if self._read.get(channel) == number:
                continue
            try:
                count += await self._conversation(channel, kinds[channel], since)
            except PermanentError as error:  # one that cannot be read does not keep the others from it
                log.warning("slack: %s cannot be read back: %s", channel, error.message)
            self._read.pop(channel, None)
            self._read[channel] = number
        log.info("slack: read back since %s: %d messages", since.isoformat(timespec="seconds"), count)

    async def _conversations(self) -> AsyncIterator[tuple[str, str]]:
        kinds = [kind for scope, kind in _KINDS.items() if not self._me.scopes or scope in self._me.scopes]
        arguments = {"types": ",".join(kinds), "exclude_archived": True, "limit": PAGE}
        if kinds:
            async for answer in self._pages(self._client.web.users_conversations, arguments):
                for channel in answer.get("channels") or ():
                    yield str(channel["id"]), _kind(channel)

    async def _conversation(self, channel: str, kind: str, since: datetime) -> int:
        """Read one conversation back. Returns how many messages were handed over."""
        began = self._clock.now() - SKEW
        name = f"history:{channel}"
        read = await self._inbox.cursor(name)
        since = max(since, instant(read)) if read else since
        await self._threads.load(self._inbox, channel)
        found = await self._messages(channel, since)
        for message in found.values():
            message.update(channel=channel, channel_type=kind, type="message")
        waiting: list[InboundEvent] = []
        async with self._lanes.of(channel):
            for ts in sorted(found, key=float):
                message = found[ts]
                edited = bool(message.get("edited"))
                if float(ts) <= since.timestamp():
                    waiting += await self._receiver.read_edit(message, channel)
                    continue
                waiting += await self._receiver.read(message, None)
                if waiting and (edited or not _overheard(waiting[-1])):
                    # What follows may depend on the thread being ours.
                    answers = await self._receiver.commit(waiting)
                    changed = edited and bool(answers) and answers[-1] is Accepted.DUPLICATE
                    waiting = list(await self._receiver.read_edit(message, channel)) if changed else []
            await self._receiver.commit(waiting, Cursor(name, stamp(max(since, began))))
        return len(found)

    async def _messages(self, channel: str, since: datetime) -> dict[str, dict[str, Any]]:
        """What was written or edited after `since`, by `ts`."""
        now = self._clock.now()
        short = now - since <= SHORT
        floor = stamp(since if short else min(since, now - self._days))
        found: dict[str, dict[str, Any]] = {}
        roots = set(self._threads.since(channel, stamp(now - RECENT) if short else floor))
        arguments = {"channel": channel, "oldest": floor, "limit": PAGE}
        async for answer in self._pages(self._client.web.conversations_history, arguments):
            for message in answer.get("messages") or ():
                ts = str(message["ts"])
                latest = message.get("latest_reply")
                if latest and float(latest) > since.timestamp():
                    roots.add(ts)
                else:
                    roots.discard(ts)
                if _touched(message, since):
                    found[ts] = dict(message)
        for root in sorted(roots, key=float):
            found |= await self._replies(channel, root, since)
        return found

    async def _replies(self, channel: str, root: str, since: datetime) -> dict[str, dict[str, Any]]:
        arguments = {"channel": channel, "ts": root, "oldest": stamp(since), "limit": PAGE}
        found: dict[str, dict[str, Any]] = {}
        try:
            async for answer in self._pages(self._client.web.conversations_replies, arguments):
                for message in answer.get("messages") or ():
                    if str(message["ts"]) != root and _touched(message, since):
                        found[str(message["ts"])] = dict(message)
        except PermanentError as error:  # the thread was deleted
            log.info("slack: thread %s of %s cannot be read: %s", root, channel, error.message)
        return found

    async def _pages(
        self, method: Callable[..., Awaitable[AsyncSlackResponse]], arguments: Mapping[str, object]
    ) -> AsyncIterator[AsyncSlackResponse]:
        cursor = ""
        for _ in range(MAX_PAGES):
            answer = await self._patiently(lambda at=cursor: method(**arguments, **({"cursor": at} if at else {})))  # type: ignore[misc]
            yield answer
            cursor = str((answer.get("response_metadata") or {}).get("next_cursor") or "")
            if not cursor:
                return
        log.warning("slack: more than %d pages: what is older is not read back", MAX_PAGES)

    async def _patiently(self, call: Callable[[], Awaitable[AsyncSlackResponse]]) -> AsyncSlackResponse:
        """One call; a pause that the platform asks for is waited out here, so that no page is read twice."""
        while True:
            try:
                return await call()
            except Failure as error:
                self._state.saw(error)
                failure = translate(error, effect=False)
                if not isinstance(failure, TransientError) or failure.retry_after is None:
                    raise failure from error
                wait = failure.retry_after
            await self._clock.sleep(wait)


def _kind(channel: Message) -> str:
    """`channel_type`, as events carry it."""
    if channel.get("is_im"):
        return "im"
    if channel.get("is_mpim"):
        return "mpim"
    return "group" if channel.get("is_private") or channel.get("is_group") else "channel"


def _touched(message: Message, since: datetime) -> bool:
    edited = (message.get("edited") or {}).get("ts")
    return float(message["ts"]) > since.timestamp() or bool(edited and float(edited) > since.timestamp())


def _overheard(event: InboundEvent) -> bool:
    return isinstance(event, MessageReceived) and event.addressed is Addressed.NOT
