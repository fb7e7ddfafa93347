"""APScheduler as the clock: one wake-up at the next due instant, held in memory. Its own stores, graces and cron rules
are not used: our tables are the truth, and a wake-up that is lost costs time only. It is loaded with the first instant:
many daemons have no schedule.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from apscheduler.schedulers.asyncio import AsyncIOScheduler

WAKE = "wake"


class ApAlarm:
    """Implements `worker.Alarm`. `set` needs a running loop."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._scheduler: AsyncIOScheduler | None = None

    def set(self, at: datetime | None) -> None:
        if at is None:
            if self._scheduler is not None and self._scheduler.get_job(WAKE) is not None:
                self._scheduler.remove_job(WAKE)
            return
        from apscheduler.triggers.date import DateTrigger

        self._started().add_job(
            self._wake,
            DateTrigger(at),
            id=WAKE,
            replace_existing=True,
            misfire_grace_time=None,
        )

    def _started(self) -> AsyncIOScheduler:
        if self._scheduler is None:
            from apscheduler.schedulers.asyncio import AsyncIOScheduler

            self._scheduler = AsyncIOScheduler(timezone=UTC)
            self._scheduler.start()
        return self._scheduler

    async def _wake(self) -> None:
        self._ring()

    def stop(self) -> None:
        if self._scheduler is not None:
            self._scheduler.shutdown(wait=False)
