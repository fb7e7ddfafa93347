"""Small regular work of the daemon as a whole, and the refusals at its doors that it writes down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta

from bot.audit.events import SYSTEM, AuthRefused, Record
from bot.audit.recorder import Recorder
from bot.intake.service import Intake
from bot.kernel.clock import Clock
from bot.kernel.values import dataclass
from bot.orchestrator.lanes import Lanes
from bot.storage.database import Database, Tx
from bot.tasks import store as tasks
from bot.tasks.worker import Done, Handler

KIND = "upkeep"
EVERY = timedelta(hours=1)

Counts = Mapping[tuple[str, str], int]
"""By door and reason."""


class Refusals:
    """Who was turned away at a door, counted until it is written down."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], int] = {}

    def at(self, door: str) -> Callable[[str], None]:
        """What the door tells its reasons to. A reason may name the part of the door: `api_…`, `webhook_…`."""

        def refused(reason: str) -> None:
            part = reason.partition("_")[0]
            where = part if part in ("webhook", "api") else door
            self._counts[where, reason] = self._counts.get((where, reason), 0) + 1

        return refused

    def take(self) -> Counts:
        taken, self._counts = self._counts, {}
        return taken


@dataclass(frozen=True, slots=True)
class Upkeep:
    database: Database
    recorder: Recorder
    clock: Clock
    intake: Intake
    lanes: Lanes
    refusals: Refusals

    def handlers(self) -> Mapping[str, Handler]:
        return {KIND: self.hourly}

    def start(self, tx: Tx) -> None:
        """At every start, and then every hour."""
        tasks.enqueue(tx, KIND, KIND, {}, self.clock.now(), lane=KIND)

    async def hourly(self, task: tasks.Task) -> Done:
        """Refusals of past hours reach the audit, the write-ahead log is folded back."""
        if not self.lanes.active:
            await self.database.maintain()

        refused = self.refusals.take()

        def again(tx: Tx) -> None:
            self.write(tx, refused)
            now = self.clock.now()
            tasks.enqueue(tx, KIND, KIND, {}, now, lane=KIND, run_at=now + EVERY)

        return Done(again)

    def write(self, tx: Tx, refused: Counts) -> None:
        self.intake.report_refusals(tx)
        for (door, reason), count in refused.items():
            self.recorder.record(tx, Record(AuthRefused(door, reason, count), SYSTEM))  # type: ignore[arg-type]
