"""Checking the whole chain of the audit in the background, when a person asks for it: a task, whose result is a row of
the audit itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime

import sqlalchemy as sa

from bot.audit import timeline
from bot.audit.events import Actor, ChainVerified, Record
from bot.audit.recorder import Recorder
from bot.audit.verify import stands, verify_file
from bot.kernel.clock import Clock
from bot.kernel.ids import PersonId
from bot.kernel.values import dataclass
from bot.storage.database import Database, Tx
from bot.storage.metadata import among
from bot.tasks import store as tasks
from bot.tasks.store import Task
from bot.tasks.tables import PENDING
from bot.tasks.tables import task as task_table
from bot.tasks.worker import Done, Handler

KIND = "audit.verify"
FAULTS_TOLD = 20


@dataclass(frozen=True, slots=True)
class Result:
    at: datetime
    by: str
    rows: int
    erased: int
    faults: int


@dataclass(frozen=True, slots=True)
class State:
    """What is known of the chain without reading it."""

    rows: int
    head: bool
    """The newest row is there, as it was written."""
    running: bool
    last: Result | None


class ChainCheck:
    """`ring` wakes the runner of tasks."""

    def __init__(
        self, database: Database, recorder: Recorder, clock: Clock, key: bytes, ring: Callable[[], None]
    ) -> None:
        self._database = database
        self._recorder = recorder
        self._clock = clock
        self._key = key
        self._ring = ring

    def handlers(self) -> Mapping[str, Handler]:
        return {KIND: self.handle}

    async def state(self) -> State:
        head = self._recorder.head

        def query(connection: sa.Connection) -> State:
            pending = sa.exists().where(task_table.c.kind == KIND, task_table.c.key == KIND, _PENDING)
            running = bool(connection.execute(sa.select(pending)).scalar())
            return State(head.id, stands(connection, self._key, head), running, _last(connection))

        return await self._database.read(query)

    async def ask(self, by: PersonId) -> None:
        """Once more, unless that is under way."""
        now = self._clock.now()
        await self._database.write(lambda tx: tasks.enqueue(tx, KIND, KIND, {"by": by}, now, lane=KIND))
        self._ring()

    async def handle(self, task: Task) -> Done:
        verdict = await asyncio.to_thread(verify_file, self._database.path, self._key, self._recorder.head)
        told = ChainVerified(verdict.rows, verdict.erased, len(verdict.broken))
        faults = "\n".join(verdict.broken[:FAULTS_TOLD]) or None

        def apply(tx: Tx) -> None:
            self._recorder.record(tx, Record(told, Actor("person", str(task.payload["by"])), text=faults))

        return Done(apply)


_PENDING = among(task_table.c.state, PENDING)


def _last(connection: sa.Connection) -> Result | None:
    found = timeline.newest(connection, 1, (ChainVerified.type,))
    if not found:
        return None
    (entry,) = found
    rows, erased, faults = (int(str(entry.payload[name])) for name in ("rows", "erased", "faults"))
    return Result(entry.at, entry.actor, rows, erased, faults)
