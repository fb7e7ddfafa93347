"""SQL of tasks: every move of a row is one function here."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert as upsert

from bot.audit.events import Actor, Record, TaskChanged
from bot.audit.recorder import Recorder
from bot.kernel.ids import BootId, TaskId, new_id
from bot.kernel.values import dataclass
from bot.storage.database import Tx
from bot.storage.metadata import among
from bot.tasks.tables import PENDING, TROUBLE, WAITING, TaskState, task


@dataclass(frozen=True, slots=True)
class Task:
    id: TaskId
    kind: str
    key: str
    lane: str
    payload: Mapping[str, Any]
    state: TaskState
    attempts: int
    run_at: datetime
    error: str | None


@dataclass(frozen=True, slots=True)
class Listed:
    task: Task
    created_at: datetime
    ended_at: datetime | None


DROPPABLE = (*WAITING, TaskState.DEAD.value)


_ENQUEUE = upsert(task).on_conflict_do_nothing()
"""Built once: every turn queues something."""


def enqueue(
    tx: Tx, kind: str, key: str, payload: Mapping[str, Any], now: datetime, *, lane: str, run_at: datetime | None = None
) -> TaskId | None:
    """Queue a task unless one of this kind and key is pending. Tasks of one lane run one after the other, in order."""
    new = TaskId(new_id(now))
    values = {
        "id": new,
        "kind": kind,
        "key": key,
        "lane": lane,
        "payload": dict(payload),
        "state": TaskState.QUEUED.value,
        "run_at": run_at or now,
        "created_at": now,
    }
    return new if tx.execute(_ENQUEUE, values).rowcount > 0 else None


def hasten(tx: Tx, kind: str, key: str, run_at: datetime) -> bool:
    """Let a task that waits run by `run_at`, if it was to be run later."""
    waits = (task.c.kind == kind, task.c.key == key, task.c.state.in_(WAITING), task.c.run_at > run_at)
    return tx.execute(task.update().where(*waits).values(run_at=run_at)).rowcount > 0


def _first_of_lane() -> sa.ColumnElement[bool]:
    ahead = task.alias("ahead")
    return ~sa.exists().where(ahead.c.lane == task.c.lane, among(ahead.c.state, PENDING), ahead.c.seq < task.c.seq)


# These three run after every turn: built once.
_NEXT_DUE = sa.select(sa.func.min(task.c.run_at, type_=task.c.run_at.type)).where(
    among(task.c.state, WAITING), _first_of_lane()
)
_CLAIM = (
    task.update()
    .where(
        task.c.seq
        == sa.select(task.c.seq)
        .where(among(task.c.state, WAITING), task.c.run_at <= sa.bindparam("now"), _first_of_lane())
        .order_by(task.c.run_at, task.c.seq)
        .limit(1)
        .scalar_subquery()
    )
    .values(state=TaskState.RUNNING.value, boot=sa.bindparam("claimed_by"), attempts=task.c.attempts + 1)
    .returning(task)
)
_END = task.update().where(
    task.c.id == sa.bindparam("ended"), task.c.state == TaskState.RUNNING.value, task.c.boot == sa.bindparam("run_by")
)


def claim_due(tx: Tx, boot: BootId, now: datetime) -> Task | None:
    """Claim the oldest due task that is the first of its lane; counts the attempt."""
    row = tx.execute(_CLAIM, {"now": now, "claimed_by": boot}).first()
    return None if row is None else _task(row)


def finish(tx: Tx, recorder: Recorder, done: Task, boot: BootId, now: datetime, *, empty: bool) -> bool:
    """End a running task of this boot. False if it is not that any more: then nothing of its outcome may be stored."""
    state = TaskState.DONE_EMPTY if empty else TaskState.DONE
    return _end(tx, recorder, done, boot, {"state": state.value, "ended_at": now, "error": None})


def fail(tx: Tx, recorder: Recorder, failed: Task, boot: BootId, error: str, run_at: datetime) -> bool:
    """Try again at `run_at`."""
    return _end(tx, recorder, failed, boot, {"state": TaskState.FAILED.value, "error": error, "run_at": run_at})


def bury(tx: Tx, recorder: Recorder, failed: Task, boot: BootId, error: str, now: datetime) -> bool:
    """Give it up; a person must look."""
    return _end(tx, recorder, failed, boot, {"state": TaskState.DEAD.value, "error": error, "ended_at": now})


def postpone(tx: Tx, recorder: Recorder, waiting: Task, boot: BootId, reason: str, run_at: datetime) -> bool:
    """It cannot be done before `run_at`: it keeps its place in its lane, and the attempt does not count."""
    values = {"state": TaskState.QUEUED.value, "boot": None, "error": reason, "run_at": run_at}
    return _end(tx, recorder, waiting, boot, {**values, "attempts": waiting.attempts - 1})


def void_older_boots(tx: Tx, boot: BootId) -> int:
    """At start, under the data folder's lock: what an earlier process was running waits again; the attempt counts."""
    done = tx.execute(
        task.update()
        .where(task.c.state == TaskState.RUNNING.value, task.c.boot != boot)
        .values(state=TaskState.QUEUED.value, boot=None)
    )
    return done.rowcount


def revive(tx: Tx, recorder: Recorder, task_id: TaskId, actor: Actor, now: datetime) -> bool:
    """A person wants a dead task tried again. False if it is not dead, or one of its key is pending."""
    row = tx.execute(sa.select(task).where(task.c.id == task_id, task.c.state == TaskState.DEAD.value)).first()
    if row is None:
        return False
    pending = tx.execute(
        sa.select(sa.exists().where(task.c.kind == row.kind, task.c.key == row.key, task.c.state.in_(PENDING)))
    ).scalar()
    if pending:
        return False
    tx.execute(
        task.update()
        .where(task.c.id == task_id)
        .values(state=TaskState.QUEUED.value, attempts=0, run_at=now, ended_at=None)
    )
    recorder.record(tx, Record(TaskChanged(task_id, row.kind, TaskState.QUEUED.value, 0), actor))
    return True


def drop(tx: Tx, recorder: Recorder, task_id: TaskId, actor: Actor, reason: str) -> bool:
    """A person wants it not done at all. False if there is no such task, if it runs, or if it has ended well."""
    row = tx.execute(sa.select(task).where(task.c.id == task_id, task.c.state.in_(DROPPABLE))).first()
    if row is None:
        return False
    tx.execute(task.delete().where(task.c.id == task_id))
    payload = TaskChanged(task_id, row.kind, "dropped", row.attempts)
    recorder.record(tx, Record(payload, actor, text=reason))
    return True


def listed(
    connection: sa.Connection, limit: int, states: Collection[TaskState] = (), kind: str | None = None
) -> list[Listed]:
    """The newest tasks, of these states and this kind if any are named."""
    query = sa.select(task).order_by(task.c.seq.desc()).limit(limit)
    if states:
        query = query.where(task.c.state.in_(sorted(each.value for each in states)))
    if kind is not None:
        query = query.where(task.c.kind == kind)
    return [Listed(_task(row), row.created_at, row.ended_at) for row in connection.execute(query)]


def in_trouble(connection: sa.Connection, limit: int) -> list[Listed]:
    """Those that are tried again or wait for a person, the newest first."""
    query = sa.select(task).where(among(task.c.state, TROUBLE)).order_by(task.c.seq.desc()).limit(limit)
    return [Listed(_task(row), row.created_at, row.ended_at) for row in connection.execute(query)]


def trouble(connection: sa.Connection) -> dict[str, dict[str, int]]:
    """Tasks that are tried again or wait for a person, by kind and state."""
    rows = connection.execute(
        sa.select(task.c.kind, task.c.state, sa.func.count().label("number"))
        .where(among(task.c.state, TROUBLE))
        .group_by(task.c.kind, task.c.state)
        .order_by(task.c.kind, task.c.state)
    )
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        found.setdefault(row.kind, {})[row.state] = row.number
    return found


def next_due(connection: sa.Connection) -> datetime | None:
    """When the next one may be claimed. What waits behind another of its lane is not meant: however long it has been
    due, it must not hide what is due soon in another lane."""
    found: datetime | None = connection.execute(_NEXT_DUE).scalar()
    return found


def next_of(connection: sa.Connection, kinds: Collection[str]) -> dict[str, datetime]:
    """When the next one of each of these kinds is due; what none waits of is left out."""
    rows = connection.execute(
        sa.select(task.c.kind, sa.func.min(task.c.run_at, type_=task.c.run_at.type).label("at"))
        .where(among(task.c.state, WAITING), task.c.kind.in_(sorted(kinds)))
        .group_by(task.c.kind)
    )
    return {row.kind: row.at for row in rows}


def get(connection: sa.Connection, task_id: TaskId) -> Task | None:
    row = connection.execute(sa.select(task).where(task.c.id == task_id)).first()
    return None if row is None else _task(row)


def look(connection: sa.Connection, task_id: TaskId) -> Listed | None:
    row = connection.execute(sa.select(task).where(task.c.id == task_id)).first()
    return None if row is None else Listed(_task(row), row.created_at, row.ended_at)


def counts(connection: sa.Connection) -> dict[str, int]:
    """Tasks that are not done, by state."""
    found: dict[str, int] = {}
    for states in (PENDING, TROUBLE):  # apart: for each there is an index
        rows = connection.execute(
            sa.select(task.c.state, sa.func.count().label("number"))
            .where(among(task.c.state, states))
            .group_by(task.c.state)
        )
        found |= {row.state: row.number for row in rows}
    return found


def _end(tx: Tx, recorder: Recorder, ended: Task, boot: BootId, values: Mapping[str, Any]) -> bool:
    done = tx.execute(_END, {"ended": ended.id, "run_by": boot, **values})
    if not done.rowcount:
        return False
    recorder.record(tx, Record(TaskChanged(ended.id, ended.kind, values["state"], ended.attempts)))
    return True


def _task(row: Any) -> Task:
    return Task(
        TaskId(row.id),
        row.kind,
        row.key,
        row.lane,
        row.payload,
        TaskState(row.state),
        row.attempts,
        row.run_at,
        row.error,
    )
