"""Signs that an answer is being written: typing, then the placeholder that grows by edits.

Best effort. In a channel at most one edit is under way; what comes meanwhile waits, and only the newest of it: a pause
that the platform asks for (the library waits short ones out within the call) holds all edits of that channel. The last
words of an answer never race with a draft: `settle` ends the drafts of a message first.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

import discord

from bot.kernel.clock import Clock
from bot.kernel.errors import OpenExecutiveError, TransientError
from bot.kernel.supervise import Supervisor
from bot.kernel.values import dataclass
from channels.discord.client import Api
from channels.discord.errors import REQUEST_ERRORS, RequestError, translate
from channels.discord.keys import message_of
from channels.discord.render import draft_text
from channels.discord.send import NO_PINGS, SUPPRESS_EMBEDS

log = logging.getLogger(__name__)

TYPING_LASTS = timedelta(seconds=8)
"""Typing is shown for ten seconds (Discord, Trigger Typing Indicator)."""
EDIT_INTERVAL = timedelta(seconds=1.2)
"""Five edits in five seconds are allowed per channel; this leaves room for the answer itself."""
_REMEMBERED = 1000
_LOOKED_AT = 2500
"""Characters of a text that can matter for its first message: cutting takes time that the event loop does not have."""


@dataclass(slots=True)
class _Channel:
    quiet_until: float = 0.0
    typed_at: float | None = None
    edited_at: float | None = None
    message: int | None = None
    shown: str = ""
    full: bool = False
    waiting: str | None = None
    running: asyncio.Task[None] | None = None


class Drafts:
    def __init__(self, api: Api, clock: Clock, supervisor: Supervisor) -> None:
        self._api = api
        self._clock = clock
        self._supervisor = supervisor
        self._channels: dict[int, _Channel] = {}
        self._settled: dict[int, None] = {}

    async def typing(self, channel: int) -> None:
        found = self._channel(channel)
        now = self._clock.monotonic()
        if now < found.quiet_until or (
            found.typed_at is not None and now - found.typed_at < TYPING_LASTS.total_seconds()
        ):
            return
        found.typed_at = now
        self._supervisor.job(f"discord typing {channel}", self._type(channel))

    async def grow(self, ref: str, text: str | None) -> None:
        """Let the placeholder `ref` show `text` (None: what waits), now or when the edit before has ended."""
        channel, message = message_of(ref)
        found = self._channel(channel)
        if message in self._settled:
            return
        if found.message != message:
            if found.running is not None:
                return
            found.message, found.shown, found.full, found.waiting = message, "", False, None
        if found.full:
            return
        if text is not None:
            found.waiting = text
        if found.waiting is not None and found.running is None and self._may_edit(found):
            found.running = self._supervisor.job(f"discord draft {message}", self._edit(channel, found, message))

    async def settle(self, ref: str) -> None:
        """End the drafts of a message; return when none is under way."""
        channel, message = message_of(ref)
        while len(self._settled) >= _REMEMBERED:
            del self._settled[next(iter(self._settled))]
        self._settled[message] = None
        found = self._channel(channel)
        if found.message == message:
            found.waiting = None
            if found.running is not None:
                await asyncio.wait({found.running})

    def hush(self, channel: int, wait: timedelta | None) -> None:
        """Keep quiet in this channel as long as the platform asked for."""
        until = self._clock.monotonic() + (wait or timedelta(seconds=5)).total_seconds()
        found = self._channel(channel)
        found.quiet_until = max(found.quiet_until, until)

    def _may_edit(self, found: _Channel) -> bool:
        now = self._clock.monotonic()
        since = None if found.edited_at is None else now - found.edited_at
        return now >= found.quiet_until and (since is None or since >= EDIT_INTERVAL.total_seconds())

    async def _edit(self, channel: int, found: _Channel, message: int) -> None:
        try:
            while found.waiting is not None and self._may_edit(found):
                text, found.waiting = found.waiting, None
                shown, full = draft_text(text[:_LOOKED_AT])
                found.full = full or len(text) > _LOOKED_AT
                if not shown or shown == found.shown:
                    continue
                found.shown = shown
                found.edited_at = self._clock.monotonic()
                path = "/channels/{channel_id}/messages/{message_id}"
                body = {"content": shown, "flags": SUPPRESS_EMBEDS, "allowed_mentions": NO_PINGS}
                await self._api.call("PATCH", path, json=body, channel_id=channel, message_id=message)
        except REQUEST_ERRORS as error:
            self._failed(channel, error)
        except OpenExecutiveError as error:
            log.debug("discord: no draft: %s", error.message)
        finally:
            found.running = None

    async def _type(self, channel: int) -> None:
        try:
            await self._api.call("POST", "/channels/{channel_id}/typing", channel_id=channel)
        except REQUEST_ERRORS as error:
            self._failed(channel, error)
        except OpenExecutiveError as error:
            log.debug("discord: no typing: %s", error.message)

    def _failed(self, channel: int, error: RequestError) -> None:
        failure = translate(error, effect=False)
        limited = isinstance(error, discord.RateLimited) or (
            isinstance(error, discord.HTTPException) and error.status == 429
        )
        if limited and isinstance(failure, TransientError):
            self.hush(channel, failure.retry_after)
        log.debug("discord: no draft in %s: %s", channel, failure.message)

    def _channel(self, channel: int) -> _Channel:
        found = self._channels.get(channel)
        if found is None:
            for idle in [c for c, one in self._channels.items() if one.running is None][: -_REMEMBERED + 1]:
                del self._channels[idle]
            found = self._channels[channel] = _Channel()
        return found
