"""Operations on durable tasks: what is queued, runs, failed or died; one of them; trying it again; dropping it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import sqlalchemy as sa
from pydantic import Field

from bot.audit.recorder import Recorder
from bot.control.request import OPERATOR, Request, operation
from bot.gateway.channel import LocalHandler
from bot.kernel.clock import Clock
from bot.kernel.errors import PermanentError
from bot.kernel.ids import TaskId
from bot.kernel.values import dataclass
from bot.storage.database import Database
from bot.tasks import store
from bot.tasks.store import DROPPABLE, Listed
from bot.tasks.tables import TaskState

State = Literal["queued", "running", "failed", "done", "done_empty", "dead"]


class Newest(Request):
    last: int = Field(50, ge=1, le=2_000)
    state: State | None = None
    kind: str | None = None


class One(Request):
    task: str


class Drop(Request):
    task: str
    reason: str


def handlers(
    database: Database, recorder: Recorder, clock: Clock, ring: Callable[[], None]
) -> Mapping[str, LocalHandler]:
    """`ring` wakes whoever runs tasks; without a daemon they wait for the next start."""
    tasks = Tasks(database, recorder, clock, ring)
    return {
        "tasks.list": operation(Newest, tasks.newest),
        "tasks.show": operation(One, tasks.show),
        "tasks.retry": operation(One, tasks.retry),
        "tasks.drop": operation(Drop, tasks.drop),
    }


@dataclass(frozen=True, slots=True)
class Tasks:
    database: Database
    recorder: Recorder
    clock: Clock
    ring: Callable[[], None]

    async def newest(self, request: Newest) -> Mapping[str, object]:
        states = () if request.state is None else (TaskState(request.state),)
        found = await self.database.read(lambda c: store.listed(c, request.last, states, request.kind), long=True)
        return {"tasks": [_told(each) for each in found]}

    async def show(self, request: One) -> Mapping[str, object]:
        found = await self.database.read(lambda c: store.look(c, TaskId(request.task)))
        if found is None:
            raise PermanentError(f"there is no task {request.task}")
        return {"task": {**_told(found), "lane": found.task.lane, "payload": dict(found.task.payload)}}

    async def retry(self, request: One) -> Mapping[str, object]:
        task = TaskId(request.task)
        done = await self.database.write(lambda tx: store.revive(tx, self.recorder, task, OPERATOR, self.clock.now()))
        if not done:
            raise PermanentError(
                await self.database.read(lambda c: _why_not(c, task, "only a dead task is tried again"))
            )
        self.ring()
        return {}

    async def drop(self, request: Drop) -> Mapping[str, object]:
        reason, task = request.reason.strip(), TaskId(request.task)
        if not reason:
            raise PermanentError("say why: the reason is recorded")
        done = await self.database.write(lambda tx: store.drop(tx, self.recorder, task, OPERATOR, reason))
        if not done:
            only = f"only what is {', '.join(DROPPABLE)} is dropped"
            raise PermanentError(await self.database.read(lambda c: _why_not(c, task, only)))
        self.ring()
        return {}


def _why_not(connection: sa.Connection, task: TaskId, only: str) -> str:
    found = store.get(connection, task)
    return f"there is no task {task}" if found is None else f"task {task} is {found.state.value}: {only}"


def _told(listed: Listed) -> dict[str, object]:
    task = listed.task
    return {
        "id": task.id,
        "kind": task.kind,
        "key": task.key,
        "state": task.state.value,
        "attempts": task.attempts,
        "run_at": task.run_at.isoformat(),
        "created_at": listed.created_at.isoformat(),
        "ended_at": listed.ended_at.isoformat() if listed.ended_at else None,
        "error": task.error,
    }
