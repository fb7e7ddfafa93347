"""Time as a dependency: rooms are handed a `Clock`, so that tests own time.

`now` is wall time (aware, UTC) for what is stored; `monotonic` is for measuring; `sleep` for waiting.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """Current instant, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start that never go back."""
        ...

    async def sleep(self, duration: timedelta) -> None:
        """Return after `duration` of this clock's time."""
        ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251 - the one place that asks the machine

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, duration: timedelta) -> None:
        await asyncio.sleep(max(0.0, duration.total_seconds()))
