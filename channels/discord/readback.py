"""Fetching what was said while nobody listened: page by page, oldest first, for as long as it takes.

How far a channel was read is in the `Register`; what a page says is committed by whoever started this (`commit`), who
is told (`done`) when a channel is through.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import timedelta

from bot.kernel.clock import Clock
from bot.kernel.errors import TransientError
from bot.kernel.retry import Backoff
from bot.kernel.supervise import attempt, cancel, start
from channels.discord.client import Api
from channels.discord.content import Payload
from channels.discord.errors import REQUEST_ERRORS, UNKNOWN_CHANNEL, code_of, translate
from channels.discord.register import Register

log = logging.getLogger(__name__)

PAGE = 100
"""Messages that one call can fetch (Discord, Get Channel Messages)."""
AT_ONCE = 4
"""Channels that are read back at the same time."""
RETRY = Backoff(first=timedelta(seconds=0.5), cap=timedelta(seconds=60))


class ReadBack:
    def __init__(
        self,
        api: Api,
        register: Register,
        clock: Clock,
        commit: Callable[[int, Sequence[Payload]], Awaitable[bool]],
        done: Callable[[int], None],
    ) -> None:
        """`commit(channel, messages)` stores a page and moves the channel's position behind it; it says whether to go
        on, and raises `TransientError` when it cannot store now."""
        self._api = api
        self._register = register
        self._clock = clock
        self._commit = commit
        self._done = done
        self._readers: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(AT_ONCE)

    def begin(self, channels: Iterable[int]) -> None:
        for channel in channels:
            reader = start(f"discord read back {channel}", self._read(channel))
            self._readers.add(reader)
            reader.add_done_callback(self._readers.discard)

    async def stop(self) -> None:
        for reader in list(self._readers):
            await cancel(reader)

    async def _read(self, channel: int) -> None:
        try:
            async with self._slots:
                await attempt(self._channel(channel), f"discord read back {channel}")
        finally:
            self._done(channel)

    async def _channel(self, channel: int) -> None:
        failures = 0
        more = True
        while more:
            after = self._register.position(channel)
            if after is None:
                return
            try:
                page = await self._page(channel, after)
                more = bool(page) and await self._commit(channel, page) and len(page) == PAGE
            except TransientError as error:
                failures += 1
                log.warning("discord: channel %s cannot be read back yet: %s", channel, error.message)
                await self._clock.sleep(RETRY.delay(failures, error.retry_after))
            else:
                failures = 0

    async def _page(self, channel: int, after: int) -> Sequence[Payload]:
        """Messages behind `after`, oldest first; none from a channel that is gone or may not be read."""
        query = {"after": str(after), "limit": str(PAGE)}
        try:
            page: Sequence[Payload] = await self._api.call(
                "GET", "/channels/{channel_id}/messages", query=query, channel_id=channel
            )
        except REQUEST_ERRORS as error:
            failure = translate(error, effect=False)
            if isinstance(failure, TransientError):
                raise failure from error
            if code_of(error) == UNKNOWN_CHANNEL:
                self._register.leave((channel,))
            log.info("discord: channel %s cannot be read back: %s", channel, failure.message)
            return ()
        return sorted(page, key=lambda one: int(one["id"]))
