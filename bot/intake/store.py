"""SQL of the inbox: every move of a row is one function here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert as upsert

from bot.gateway.codec import dump_event, load_event
from bot.gateway.events import InboundEvent, MessageEdited
from bot.intake.tables import Hold, InState, cursor, inbox, refusal, seen
from bot.kernel.ids import InboxId, PersonId, SessionId, TurnId
from bot.kernel.values import dataclass
from bot.storage.database import Tx
from bot.storage.metadata import exactly

_QUEUED = exactly(inbox.c.state, InState.QUEUED.value)

# Statements on the path of every message are built once: building one anew takes longer than running it.
_SEEN = sa.select(seen).where(seen.c.key.in_(sa.bindparam("keys", expanding=True)))
_REMEMBER = seen.insert()
_INSERT = inbox.insert()
_WAITING = (
    sa.select(inbox.c.id, inbox.c.kind, inbox.c.ready_at, inbox.c.hold)
    .where(inbox.c.session_id == sa.bindparam("session"), _QUEUED, inbox.c.lane)
    .order_by(inbox.c.seq)
)
_HAVE_WAITING = (
    sa.select(inbox.c.session_id)
    .distinct()
    .where(inbox.c.session_id.in_(sa.bindparam("sessions", expanding=True)), _QUEUED, inbox.c.lane)
)
_END_TURN = (
    inbox.update()
    .where(inbox.c.turn_id == sa.bindparam("turn"), inbox.c.state == InState.CLAIMED.value)
    .values(state=sa.bindparam("to"), ended_at=sa.bindparam("now"), reason=sa.bindparam("why"))
    .returning(inbox)
)


@dataclass(frozen=True, slots=True)
class Row:
    id: InboxId
    channel: str
    session: SessionId | None
    turn: TurnId | None
    person: PersonId | None
    event: InboundEvent
    edit: MessageEdited | None
    """What the writer made of it while its turn was running already."""
    hold: Hold
    state: InState
    received_at: datetime


def seen_before(connection: sa.Connection, keys: Collection[str]) -> dict[str, InboxId]:
    """Which of these identities were accepted before, and as which row."""
    rows = connection.execute(_SEEN, {"keys": sorted(set(keys))})
    return {row.key: InboxId(row.inbox_id) for row in rows}


def remember(tx: Tx, keys: Mapping[str, InboxId]) -> None:
    if keys:
        tx.execute(_REMEMBER, [{"key": key, "inbox_id": row} for key, row in keys.items()])


def insert(tx: Tx, rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        tx.execute(_INSERT, list(rows))


@dataclass(frozen=True, slots=True)
class Waiting:
    """The oldest waiting rows of a session that belong into one turn."""

    ids: tuple[InboxId, ...]
    ready_at: datetime
    holds: frozenset[Hold]


def waiting(connection: sa.Connection, session: SessionId) -> Waiting | None:
    """Rows that the session's next turn will take: all messages up to the first command, or one command alone."""
    rows = connection.execute(_WAITING, {"session": session}).all()
    if not rows:
        return None
    if rows[0].kind == "command":
        rows = rows[:1]
    else:
        first_command = next((i for i, row in enumerate(rows) if row.kind == "command"), len(rows))
        rows = rows[:first_command]
    return Waiting(
        tuple(InboxId(row.id) for row in rows),
        max(row.ready_at for row in rows),
        frozenset(Hold(row.hold) for row in rows),
    )


def has_waiting(connection: sa.Connection, sessions: Collection[SessionId]) -> set[SessionId]:
    rows = connection.execute(_HAVE_WAITING, {"sessions": sorted(sessions)})
    return {SessionId(row.session_id) for row in rows}


def sessions_waiting(connection: sa.Connection) -> list[SessionId]:
    rows = connection.execute(
        sa.select(inbox.c.session_id)
        .where(_QUEUED, inbox.c.session_id.is_not(None), inbox.c.lane)
        .group_by(inbox.c.session_id)
        .order_by(sa.func.min(inbox.c.seq))
    )
    return [SessionId(row.session_id) for row in rows]


def claim(tx: Tx, ids: Collection[InboxId], turn: TurnId) -> list[Row]:
    """Give queued rows to a turn; returns them in order."""
    tx.execute(
        inbox.update().where(inbox.c.id.in_(sorted(ids)), _QUEUED).values(state=InState.CLAIMED.value, turn_id=turn)
    )
    return of_turn(tx.connection, turn)


def of_turn(connection: sa.Connection, turn: TurnId) -> list[Row]:
    rows = connection.execute(
        sa.select(inbox).where(inbox.c.turn_id == turn, inbox.c.state == InState.CLAIMED.value).order_by(inbox.c.seq)
    )
    return [_row(row) for row in rows]


def end_turn(tx: Tx, turn: TurnId, state: InState, now: datetime, reason: str | None = None) -> list[Row]:
    """End all rows of a turn; returns them in order as they were ended, late edits included."""
    rows = tx.execute(_END_TURN, {"turn": turn, "to": state.value, "now": now, "why": reason}).all()
    return [_row(row) for row in sorted(rows, key=lambda row: row.seq)]


def end(tx: Tx, row: InboxId, state: InState, now: datetime, reason: str | None = None) -> bool:
    """End one row that waits."""
    done = tx.execute(
        inbox.update().where(inbox.c.id == row, _QUEUED).values(state=state.value, ended_at=now, reason=reason)
    )
    return bool(done.rowcount)


def by_ids(connection: sa.Connection, ids: Collection[InboxId]) -> list[Row]:
    rows = connection.execute(sa.select(inbox).where(inbox.c.id.in_(sorted(ids))).order_by(inbox.c.seq))
    return [_row(row) for row in rows]


def outside_lanes(connection: sa.Connection) -> list[Row]:
    """Immediate rows that an earlier process left unanswered."""
    # Sorted here: asked to sort, SQLite reads the whole table in that order instead of the few rows of the index.
    rows = connection.execute(sa.select(inbox).where(_QUEUED, ~inbox.c.lane)).all()
    return [_row(row) for row in sorted(rows, key=lambda row: row.seq)]


def mark_told(tx: Tx, ids: Collection[InboxId]) -> None:
    tx.execute(inbox.update().where(inbox.c.id.in_(sorted(ids))).values(hold=Hold.TOLD.value))


def by_ref(connection: sa.Connection, ref: str) -> Row | None:
    row = connection.execute(sa.select(inbox).where(inbox.c.ref == ref).order_by(inbox.c.seq.desc()).limit(1)).first()
    return None if row is None else _row(row)


def sessions_of_refs(connection: sa.Connection, refs: Collection[str]) -> dict[str, SessionId]:
    if not refs:
        return {}
    rows = connection.execute(
        sa.select(inbox.c.ref, inbox.c.session_id).where(
            inbox.c.ref.in_(sorted(set(refs))), inbox.c.session_id.is_not(None)
        )
    )
    return {row.ref: SessionId(row.session_id) for row in rows}


def replace_event(tx: Tx, row: InboxId, event: InboundEvent) -> bool:
    """The writer changed a message that no turn has taken yet."""
    done = tx.execute(inbox.update().where(inbox.c.id == row, _QUEUED).values(event=dump_event(event)))
    return bool(done.rowcount)


def note_edit(tx: Tx, row: InboxId, edit: MessageEdited) -> bool:
    """The writer changed (or emptied) a message whose turn is running."""
    done = tx.execute(
        inbox.update().where(inbox.c.id == row, inbox.c.state == InState.CLAIMED.value).values(edit=dump_event(edit))
    )
    return bool(done.rowcount)


def album_waits(tx: Tx, session: SessionId, album: str, until: datetime) -> None:
    """Another part of an album has come: its earlier parts wait for it."""
    tx.execute(
        inbox.update().where(inbox.c.session_id == session, inbox.c.album == album, _QUEUED).values(ready_at=until)
    )


def set_cursor(tx: Tx, channel: str, name: str, value: str) -> None:
    statement = upsert(cursor).values(channel=channel, name=name, value=value)
    tx.execute(statement.on_conflict_do_update(index_elements=["channel", "name"], set_={"value": value}))


def get_cursor(connection: sa.Connection, channel: str, name: str) -> str | None:
    value: str | None = connection.execute(
        sa.select(cursor.c.value).where(cursor.c.channel == channel, cursor.c.name == name)
    ).scalar()
    return value


def count_refusal(tx: Tx, channel: str, address: str, reason: str, now: datetime) -> int:
    """Count one refusal; returns how many of this sender there were in this hour, for this reason."""
    hour = now.replace(minute=0, second=0, microsecond=0)
    statement = upsert(refusal).values(channel=channel, address=address, reason=reason, hour=hour, count=1, reported=1)
    number: int = tx.execute(
        statement.on_conflict_do_update(
            index_elements=["channel", "address", "reason", "hour"], set_={"count": refusal.c.count + 1}
        ).returning(refusal.c.count)
    ).scalar_one()
    return number


@dataclass(frozen=True, slots=True)
class Unreported:
    channel: str
    address: str
    reason: str
    count: int


def take_unreported(tx: Tx, now: datetime) -> list[Unreported]:
    """Refusals of past hours that the audit does not have yet; forgets the counts."""
    before = now.replace(minute=0, second=0, microsecond=0)
    rows = tx.execute(refusal.delete().where(refusal.c.hour < before).returning(refusal)).all()
    return [
        Unreported(row.channel, row.address, row.reason, row.count - row.reported)
        for row in rows
        if row.count > row.reported
    ]


@dataclass(frozen=True, slots=True)
class ParkedRow:
    id: InboxId
    channel: str
    reason: str
    at: datetime


def parked(connection: sa.Connection, limit: int) -> list[ParkedRow]:
    rows = connection.execute(
        sa.select(inbox.c.id, inbox.c.channel, inbox.c.reason, inbox.c.ended_at)
        .where(exactly(inbox.c.state, InState.PARKED.value))
        .order_by(inbox.c.seq.desc())
        .limit(limit)
    )
    return [ParkedRow(InboxId(r.id), r.channel, r.reason or "", r.ended_at) for r in rows]


def counts(connection: sa.Connection, since: datetime) -> dict[str, int]:
    """Rows by state: all that wait, and those that ended since."""
    rows = connection.execute(
        sa.select(inbox.c.state, sa.func.count().label("number"))
        .where(sa.or_(inbox.c.ended_at.is_(None), inbox.c.ended_at >= since))
        .group_by(inbox.c.state)
    )
    return {row.state: row.number for row in rows}


def soonest(connection: sa.Connection, session: SessionId, now: datetime) -> timedelta | None:
    """How long until the session's waiting rows are ready; None if none waits."""
    found = waiting(connection, session)
    return None if found is None else max(timedelta(), found.ready_at - now)


def _row(row: Any) -> Row:
    edit = load_event(row.edit) if row.edit else None
    return Row(
        InboxId(row.id),
        row.channel,
        SessionId(row.session_id) if row.session_id else None,
        TurnId(row.turn_id) if row.turn_id else None,
        PersonId(row.person_id) if row.person_id else None,
        load_event(row.event),
        edit if isinstance(edit, MessageEdited) else None,
        Hold(row.hold),
        InState(row.state),
        row.received_at,
    )
