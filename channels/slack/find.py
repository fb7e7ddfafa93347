"""Asking Slack whether something arrived: messages carry their row's key as metadata, files their name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from slack_sdk.web.async_slack_response import AsyncSlackResponse

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
from bot.kernel.clock import Clock
from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.ids import OutboxId
from channels.slack.client import Client
from channels.slack.directory import Me
from channels.slack.errors import Failure, code_of, translate
from channels.slack.keys import Target, instant, ref, stamp, target_of
from channels.slack.send import EVENT_TYPE
from channels.slack.state import State

MARGIN = timedelta(minutes=5)
"""The platform's clock may be behind ours."""
FILE_MARGIN = timedelta(seconds=2)
"""Files are told apart by name and time only, so the window is narrow."""
SETTLED = timedelta(seconds=3)
FILE_SETTLED = timedelta(seconds=15)
"""A try that is not seen so long after it was made did not happen: before, it may still be on its way."""
PAGES = 10


_Match = Callable[[Mapping[str, Any]], bool | None]


class Finder:
    def __init__(self, client: Client, clock: Clock, state: State) -> None:
        self._client = client
        self._clock = clock
        self._state = state

    async def find(self, me: Me, op: OutboundOp, key: OutboxId, tried_at: datetime) -> Found:
        """Raises `TransientError` when it is too early to tell or Slack cannot be asked now."""
        match op:
            case Delete() | React() | OpenThread():
                return NotSent()  # doing it again changes nothing
            case Send() if op.files:
                found = await self._look(me, op.path.thread, tried_at - FILE_MARGIN, lambda m: _by_files(m, op))
                return found or self._not_there(tried_at, FILE_SETTLED)
            case Send() | Ask() | Edit():
                found = await self._look(me, op.path.thread, tried_at - MARGIN, lambda m: _by_key(m, key))
                if isinstance(op, Edit) and not isinstance(found, Receipt):
                    return NotSent()
                return found or self._not_there(tried_at, SETTLED)

    def _not_there(self, tried_at: datetime, settled: timedelta) -> NotSent:
        early = tried_at + settled - self._clock.now()
        if early > timedelta():
            raise TransientError("too early to tell whether the message arrived", early)
        return NotSent()

    async def _look(self, me: Me, thread: str, since: datetime, match: _Match) -> Receipt | CannotTell | None:
        """None: it is not there. Parts of it without the whole cannot be told from anything."""
        target = target_of(thread)
        partial = False
        try:
            async for message in self._messages(target, since):
                whole = match(message) if _is_own(message, me) else None
                if whole:
                    ts = str(message["ts"])
                    return Receipt(ref(me.team, target.channel, ts), instant(ts))
                partial = partial or whole is False
        except Failure as error:
            self._state.saw(error)
            failure = translate(error, effect=False)
            if code_of(error) == "thread_not_found":
                return None
            if isinstance(failure, PermanentError):
                return CannotTell()
            raise failure from error
        return CannotTell() if partial else None

    async def _messages(self, target: Target, since: datetime) -> AsyncIterator[Mapping[str, Any]]:
        """Messages of the thread, or of the conversation itself, since then."""
        arguments: dict[str, Any] = {
            "channel": target.channel,
            "oldest": stamp(since),
            "limit": 200,
            "include_all_metadata": True,
        }
        method: Callable[..., Awaitable[AsyncSlackResponse]] = self._client.web.conversations_history
        if target.root is not None:
            method = self._client.web.conversations_replies
            arguments["ts"] = target.root
        for _ in range(PAGES):
            answer = await method(**arguments)
            for message in answer.get("messages") or ():
                yield message
            arguments["cursor"] = str((answer.get("response_metadata") or {}).get("next_cursor") or "")
            if not arguments["cursor"]:
                return
        raise TransientError("too much was said since to find the message", MARGIN)


def _is_own(message: Mapping[str, Any], me: Me) -> bool:
    return message.get("user") == me.user or bool(me.bot and message.get("bot_id") == me.bot)


def _by_key(message: Mapping[str, Any], key: OutboxId) -> bool | None:
    """Whether this is the whole of it; None if it is something else."""
    metadata = message.get("metadata") or {}
    payload = metadata.get("event_payload") or {}
    if metadata.get("event_type") != EVENT_TYPE or payload.get("key") != key:
        return None
    return not payload.get("partial")


def _by_files(message: Mapping[str, Any], op: Send) -> bool | None:
    names = {str(file.get("name")) for file in message.get("files") or ()}
    return True if all(file.name in names for file in op.files) else None
