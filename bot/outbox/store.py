"""SQL of the outbox: every move of a row is one function here."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from bot.gateway.codec import dump_operation, load_operation
from bot.gateway.operations import OutboundOp
from bot.kernel.ids import BootId, OutboxId, SessionId, TurnId, new_id
from bot.kernel.values import dataclass
from bot.outbox.tables import OutState, Policy, outbox
from bot.storage.database import Tx
from bot.storage.metadata import among, exactly

_WAITING_STATES = (OutState.QUEUED.value, OutState.CLAIMED.value, OutState.UNCERTAIN.value)
NOT_READY = "not_ready"
"""Reason of a row that only waits for its channel."""
WAITING = among(outbox.c.state, _WAITING_STATES)
HOLDING = among(outbox.c.state, (OutState.CLAIMED.value, OutState.UNCERTAIN.value))
CLAIMED = exactly(outbox.c.state, OutState.CLAIMED.value)
PARKED = exactly(outbox.c.state, OutState.PARKED.value)
QUEUED = exactly(outbox.c.state, OutState.QUEUED.value)

# Statements on the path of every message are built once: building one anew takes longer than running it.
_OF_THREAD = outbox.c.thread_key == sa.bindparam("thread")
_TAKEN = sa.select(sa.exists().where(_OF_THREAD, WAITING))
_INSERT = outbox.insert()
_CLAIM_NEXT = (
    outbox.update()
    .where(
        outbox.c.seq == sa.select(sa.func.min(outbox.c.seq)).where(_OF_THREAD, WAITING).scalar_subquery(),
        QUEUED,
        outbox.c.not_before <= sa.bindparam("due"),
    )
    .values(
        state=OutState.CLAIMED.value,
        boot=sa.bindparam("by"),
        attempts=outbox.c.attempts + 1,
        tried_at=sa.bindparam("now"),
        reason=None,
    )
    .returning(outbox)
)
CAME_BACK = "came_back"
"""Of a message that was sent, and that the far end gave up."""
_SENT = (
    outbox.update()
    .where(outbox.c.id == sa.bindparam("row"), HOLDING, outbox.c.boot == sa.bindparam("by"))
    .values(state=OutState.SENT.value, ref=sa.bindparam("as_ref"), ended_at=sa.bindparam("now"), reason=None)
)


@dataclass(frozen=True, slots=True)
class Row:
    id: OutboxId
    reply_id: str
    channel: str
    thread_key: str
    address: str
    session: SessionId | None
    turn: TurnId | None
    audience_epoch: int | None
    op: OutboundOp
    policy: Policy
    state: OutState
    attempts: int
    again: bool
    tried_at: datetime | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Origin:
    """What a reply belongs to."""

    session: SessionId | None
    turn: TurnId | None
    audience_epoch: int | None


def insert(
    tx: Tx,
    channel: str,
    ops: Sequence[OutboundOp],
    origin: Origin,
    policy: Policy,
    boot: BootId,
    now: datetime,
    *,
    may_leave: bool,
) -> tuple[list[OutboxId], Row | None]:
    """Queue the parts of one reply. If it `may_leave` now and nothing else of its thread waits, the first is claimed
    and returned."""
    path = ops[0].path
    free = may_leave and not tx.execute(_TAKEN, {"thread": path.thread}).scalar()
    ids = [OutboxId(new_id(now)) for _ in ops]
    rows = [
        {
            "id": row_id,
            "reply_id": ids[0],
            "part": part,
            "channel": channel,
            "thread_key": path.thread,
            "address": path.address,
            "session_id": origin.session,
            "turn_id": origin.turn,
            "audience_epoch": origin.audience_epoch,
            "op": dump_operation(op),
            "policy": policy.value,
            "state": (OutState.CLAIMED if free and part == 0 else OutState.QUEUED).value,
            "boot": boot if free and part == 0 else None,
            "attempts": 1 if free and part == 0 else 0,
            "tried_at": now if free and part == 0 else None,
            "not_before": now,
            "created_at": now,
        }
        for part, (row_id, op) in enumerate(zip(ids, ops, strict=True))
    ]
    tx.execute(_INSERT, rows)
    if not free:
        return ids, None
    first = Row(
        ids[0], ids[0], channel, path.thread, path.address, origin.session, origin.turn, origin.audience_epoch,
        ops[0], policy, OutState.CLAIMED, 1, False, now, now,
    )  # fmt: skip
    return ids, first


def claim_next(tx: Tx, thread_key: str, boot: BootId, now: datetime) -> Row | None:
    """Claim the oldest waiting row of a thread if it is due. Nothing overtakes it while it is not."""
    row = tx.execute(_CLAIM_NEXT, {"thread": thread_key, "due": now, "by": boot, "now": now}).first()
    return None if row is None else _row(row)


def sent(tx: Tx, row: Row, boot: BootId, ref: str | None, now: datetime) -> bool:
    return bool(tx.execute(_SENT, {"row": row.id, "by": boot, "as_ref": ref, "now": now}).rowcount)


def came_back(tx: Tx, row: OutboxId) -> bool:
    """The far end gave up a message that was sent. False if that was known."""
    where = sa.and_(outbox.c.id == row, outbox.c.state == OutState.SENT.value, outbox.c.reason.is_(None))
    return bool(tx.execute(outbox.update().where(where).values(reason=CAME_BACK)).rowcount)


def requeue(
    tx: Tx, row: Row, boot: BootId, not_before: datetime, reason: str, *, again: bool, uncount: bool = False
) -> bool:
    """Try later. `uncount`: this was no attempt (the channel was not ready)."""
    values: dict[str, Any] = {
        "state": OutState.QUEUED.value,
        "boot": None,
        "not_before": not_before,
        "reason": reason,
        "again": again,
    }
    if uncount:
        values["attempts"] = outbox.c.attempts - 1
    return _move(tx, row, boot, HOLDING, values)


def rewrite(tx: Tx, row: Row, boot: BootId, op: OutboundOp, now: datetime) -> bool:
    """Say it in another way, at once."""
    values = {"state": OutState.QUEUED.value, "boot": None, "not_before": now, "op": dump_operation(op)}
    return _move(tx, row, boot, HOLDING, values)


def ref_of(connection: sa.Connection, row_id: OutboxId) -> str | None:
    """What the platform calls the message that this row became; None while it is not sent."""
    ref: str | None = connection.execute(sa.select(outbox.c.ref).where(outbox.c.id == row_id)).scalar()
    return ref


@dataclass(frozen=True, slots=True)
class Sent:
    id: OutboxId
    at: datetime | None
    """None while it is on its way."""


def reply_of(connection: sa.Connection, row_id: str) -> list[OutboundOp]:
    """All parts of the reply to which a row belongs, in order."""
    reply = sa.select(outbox.c.reply_id).where(outbox.c.id == row_id).scalar_subquery()
    rows = connection.execute(sa.select(outbox.c.op).where(outbox.c.reply_id == reply).order_by(outbox.c.part))
    return [load_operation(row.op) for row in rows]


def last_of_thread(connection: sa.Connection, thread: str) -> Sent | None:
    """What was said last in a thread, or is about to be."""
    row = connection.execute(
        sa.select(outbox.c.id, outbox.c.state, outbox.c.ended_at)
        .where(outbox.c.thread_key == thread)
        .order_by(outbox.c.seq.desc())
        .limit(1)
    ).first()
    if row is None:
        return None
    return Sent(OutboxId(row.id), row.ended_at if row.state == OutState.SENT.value else None)


def uncertain(tx: Tx, row: Row, boot: BootId) -> bool:
    return _move(tx, row, boot, CLAIMED, {"state": OutState.UNCERTAIN.value})


def park(tx: Tx, row: Row, boot: BootId, reason: str, now: datetime) -> list[OutboxId]:
    """Park the row and the parts after it. Returns all that were parked."""
    values = {"state": OutState.PARKED.value, "reason": reason, "ended_at": now, "boot": None}
    if not _move(tx, row, boot, WAITING, values):
        return []
    rest = tx.execute(
        outbox.update()
        .where(outbox.c.thread_key == row.thread_key, WAITING, outbox.c.reply_id == row.reply_id, QUEUED)
        .values(values)
        .returning(outbox.c.id)
    )
    return [row.id, *(OutboxId(each.id) for each in rest)]


def void_older_boots(tx: Tx, boot: BootId) -> int:
    """At start, under the data folder's lock: what an earlier process was sending is uncertain."""
    done = tx.execute(
        outbox.update()
        .where(HOLDING, sa.or_(outbox.c.boot.is_(None), outbox.c.boot != boot))
        .values(state=OutState.UNCERTAIN.value, boot=boot)
    )
    return done.rowcount


def due_threads(
    connection: sa.Connection, now: datetime, limit: int, resting: Collection[str]
) -> list[tuple[str, str]]:
    """Threads whose oldest waiting row may be sent now, with their channel; those of `resting` channels wait."""
    rows = connection.execute(
        sa.select(outbox.c.thread_key, outbox.c.channel)
        .select_from(outbox.join(oldest := _oldest(), oldest.c.seq == outbox.c.seq))
        .where(QUEUED, outbox.c.not_before <= now, outbox.c.channel.not_in(sorted(resting)))
        .order_by(outbox.c.seq)
        .limit(limit)
    )
    return [(row.thread_key, row.channel) for row in rows]


def next_due(connection: sa.Connection, now: datetime) -> datetime | None:
    """When the next thread becomes due whose oldest waiting row is not due yet; a row behind another tells nothing."""
    found: datetime | None = connection.execute(
        sa.select(sa.func.min(outbox.c.not_before, type_=outbox.c.not_before.type))
        .select_from(outbox.join(oldest := _oldest(), oldest.c.seq == outbox.c.seq))
        .where(QUEUED, outbox.c.not_before > now)
    ).scalar()
    return found


def in_doubt(connection: sa.Connection, boot: BootId) -> list[Row]:
    # Sorted here: asked to sort, SQLite reads the whole table in that order instead of the few rows of the index.
    rows = connection.execute(
        sa.select(outbox).where(HOLDING, outbox.c.state == OutState.UNCERTAIN.value, outbox.c.boot == boot)
    ).all()
    return [_row(row) for row in sorted(rows, key=lambda row: row.seq)]


def wake_channel(tx: Tx, channel: str, now: datetime) -> int:
    """The channel can send again: rows that only waited for that are due now."""
    done = tx.execute(
        outbox.update()
        .where(WAITING, outbox.c.channel == channel, QUEUED, outbox.c.reason == NOT_READY)
        .values(not_before=now)
    )
    return done.rowcount


def session_of_refs(connection: sa.Connection, refs: Collection[str]) -> dict[str, SessionId]:
    """Sessions in which messages with these refs were sent, by ref."""
    if not refs:
        return {}
    rows = connection.execute(
        sa.select(outbox.c.ref, outbox.c.session_id).where(
            outbox.c.ref.in_(sorted(set(refs))), outbox.c.session_id.is_not(None)
        )
    )
    return {row.ref: SessionId(row.session_id) for row in rows}


def by_ref(connection: sa.Connection, refs: Collection[str]) -> Row | None:
    row = connection.execute(sa.select(outbox).where(outbox.c.ref.in_(sorted(set(refs)))).limit(1)).first()
    return None if row is None else _row(row)


@dataclass(frozen=True, slots=True)
class Parked:
    id: OutboxId
    channel: str
    reason: str
    at: datetime


def parked(connection: sa.Connection, limit: int) -> list[Parked]:
    rows = connection.execute(
        sa.select(outbox.c.id, outbox.c.channel, outbox.c.reason, outbox.c.ended_at)
        .where(PARKED)
        .order_by(outbox.c.ended_at.desc())
        .limit(limit)
    )
    return [Parked(OutboxId(r.id), r.channel, r.reason, r.ended_at) for r in rows]


def counts(connection: sa.Connection) -> dict[str, int]:
    """Rows that are not done, and those parked, by state."""
    rows = connection.execute(
        sa.union_all(
            *(
                sa.select(outbox.c.state, sa.func.count().label("number")).where(some).group_by(outbox.c.state)
                for some in (WAITING, PARKED)
            )
        )
    )
    return {row.state: row.number for row in rows}


def _oldest() -> sa.Subquery:
    """The oldest waiting row of each thread."""
    return sa.select(sa.func.min(outbox.c.seq).label("seq")).where(WAITING).group_by(outbox.c.thread_key).subquery()


def _move(tx: Tx, row: Row, boot: BootId, from_states: sa.ColumnElement[bool], values: dict[str, Any]) -> bool:
    done = tx.execute(outbox.update().where(outbox.c.id == row.id, from_states, outbox.c.boot == boot).values(values))
    return bool(done.rowcount)


def _row(row: Any) -> Row:
    return Row(
        OutboxId(row.id),
        row.reply_id,
        row.channel,
        row.thread_key,
        row.address,
        SessionId(row.session_id) if row.session_id else None,
        TurnId(row.turn_id) if row.turn_id else None,
        row.audience_epoch,
        load_operation(row.op),
        Policy(row.policy),
        OutState(row.state),
        row.attempts,
        row.again,
        row.tried_at,
        row.created_at,
    )
