"""APScheduler as the clock: one wake-up at the next due instant, held in memory. Its own stores, graces and cron rules
are not used: our tables are the truth, and a wake-up that is lost costs time only.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.date import DateTrigger

WAKE = "wake"


class ApAlarm:
    """Implements `worker.Alarm`. `start` needs a running loop."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._scheduler = AsyncIOScheduler(timezone=UTC)

    def start(self) -> None:
        self._scheduler.start()

    def set(self, at: datetime | None) -> None:
        if at is None:
            if self._scheduler.get_job(WAKE) is not None:
                self._scheduler.remove_job(WAKE)
            return
        self._scheduler.add_job(
            self._wake,
            DateTrigger(at),
            id=WAKE,
            replace_existing=True,
            misfire_grace_time=None,
        )

    async def _wake(self) -> None:
        self._ring()

    def stop(self) -> None:
        self._scheduler.shutdown(wait=False)
