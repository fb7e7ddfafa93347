"""A clock that tests move by hand."""

from __future__ import annotations

import asyncio
import heapq
from datetime import UTC, datetime, timedelta

from bot.kernel.clock import Clock

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


class FakeClock:
    """Stands still until `advance`. Sleepers wake, in the order of their instants, once their time has come."""

    def __init__(self, start: datetime = START) -> None:
        self._start = start
        self._now = start
        self._sleepers: list[tuple[datetime, int, asyncio.Future[None]]] = []
        self._count = 0
        self._fell_asleep = asyncio.Event()

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return (self._now - self._start).total_seconds()

    async def sleep(self, duration: timedelta) -> None:
        if duration <= timedelta():
            await asyncio.sleep(0)
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._count += 1
        heapq.heappush(self._sleepers, (self._now + duration, self._count, woken))
        self._fell_asleep.set()
        await woken

    def advance(self, duration: timedelta) -> None:
        self._now += duration
        while self._sleepers and self._sleepers[0][0] <= self._now:
            woken = heapq.heappop(self._sleepers)[2]
            if not woken.done():
                woken.set_result(None)

    async def next_sleep(self) -> timedelta:
        """Wait until somebody sleeps on this clock; how long until the first of them wakes."""
        while True:
            while self._sleepers and self._sleepers[0][2].done():
                heapq.heappop(self._sleepers)
            if self._sleepers:
                return self._sleepers[0][0] - self._now
            self._fell_asleep.clear()
            await self._fell_asleep.wait()


def _is_a_clock(clock: FakeClock) -> Clock:
    return clock
