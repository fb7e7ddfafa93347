"""Measures how long the event loop was held up."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class Gaps:
    """Ticks every 2 ms; `longest` is the longest time between two ticks, in seconds."""

    def __init__(self) -> None:
        self.longest = 0.0
        self.ticks = 0
        self._loop = asyncio.get_running_loop()
        self._last = self._loop.time()
        self._handle = self._loop.call_later(0.002, self._tick)

    def _tick(self) -> None:
        now = self._loop.time()
        self.longest = max(self.longest, now - self._last)
        self.ticks += 1
        self._last = now
        self._handle = self._loop.call_later(0.002, self._tick)

    def stop(self) -> None:
        self._handle.cancel()


@contextmanager
def watched() -> Iterator[Gaps]:
    gaps = Gaps()
    try:
        yield gaps
    finally:
        gaps.stop()
