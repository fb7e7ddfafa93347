"""This room's durable work, and how it is queued in the transaction that made it necessary."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from bot.audit.events import Actor, Record
from bot.audit.events_memory import ExtractionQueued
from bot.audit.recorder import Recorder
from bot.kernel.ids import MessageId, SessionId, TurnId
from bot.storage.database import Tx
from bot.tasks import store as tasks

KIND = "memory.extract"
ACTOR = Actor("system", "extraction")


class Extractions:
    """Queues what is to be read. Those of one session are read one after the other, in order."""

    def __init__(self, recorder: Recorder, ring: Callable[[datetime], None], settle: timedelta = timedelta(0)) -> None:
        """`ring` hears from when on something may be read. `settle`: how long after its end a turn is read; what people
        say next goes first."""
        self._settle = settle
        self._recorder = recorder
        self._ring = ring
        self._queued: datetime | None = None

    def turn(self, tx: Tx, session: SessionId, turn: TurnId, now: datetime) -> None:
        """A turn has ended, and what was said in it is kept."""
        self._queue(tx, turn, {"turn": turn}, session, turn, now)

    def edited(self, tx: Tx, session: SessionId, turn: TurnId, message: MessageId, now: datetime) -> None:
        """A message that was read already says something else now."""
        self._queue(tx, f"message:{message}", {"message": message}, session, turn, now)

    def ring(self) -> None:
        """After the commit."""
        if self._queued is not None:
            due, self._queued = self._queued, None
            self._ring(due)

    def _queue(
        self, tx: Tx, key: str, payload: dict[str, str], session: SessionId, turn: TurnId, now: datetime
    ) -> None:
        run_at = now + self._settle
        task = tasks.enqueue(tx, KIND, key, payload, now, lane=f"{KIND}:{session}", run_at=run_at)
        if task is not None:
            self._recorder.record(tx, Record(ExtractionQueued(task), ACTOR, session, turn))
            self._queued = run_at if self._queued is None else min(self._queued, run_at)
