"""The lane of a session: at most one turn that is running or waits to be run again, by a unique index."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from bot.kernel.ids import BootId, SessionId, TurnId, new_id
from bot.kernel.values import dataclass
from bot.sessions.tables import OCCUPYING, TurnState, session
from bot.sessions.tables import turn as turn_table
from bot.storage.database import Tx
from bot.storage.metadata import among

_OCCUPIED = among(turn_table.c.state, OCCUPYING)
_RUNNING = sa.and_(_OCCUPIED, turn_table.c.state == TurnState.RUNNING.value)
_INTERRUPTED = sa.and_(_OCCUPIED, turn_table.c.state == TurnState.INTERRUPTED.value)

# Statements on the path of every message are built once: building one anew takes longer than running it.
_BEGIN = turn_table.insert()
_FINISH = (
    turn_table.update()
    .where(
        turn_table.c.id == sa.bindparam("turn"),
        _RUNNING,
        turn_table.c.boot == sa.bindparam("by"),
        turn_table.c.audience_epoch
        == sa.select(session.c.audience_epoch).where(session.c.id == sa.bindparam("session")).scalar_subquery(),
    )
    .values(
        state=TurnState.FINISHED.value,
        outcome=sa.bindparam("how"),
        model=sa.bindparam("by_model"),
        untrusted=sa.bindparam("read_others"),
        finished_at=sa.bindparam("now"),
    )
)
_EPOCHS = sa.select(session.c.history_epoch, session.c.audience_epoch).where(session.c.id == sa.bindparam("session"))


@dataclass(frozen=True, slots=True)
class Turn:
    id: TurnId
    session: SessionId
    attempt: int
    """From 1."""
    history_epoch: int
    audience_epoch: int
    started_at: datetime


def begin(tx: Tx, lanes: Sequence[tuple[SessionId, tuple[int, int]]], boot: BootId, now: datetime) -> list[Turn]:
    """Take the lanes of these sessions (with their history and audience epochs). The caller has seen in this
    transaction that they are free; the unique index holds it to that."""
    begun = [Turn(TurnId(new_id(now)), session_id, 1, *epochs, now) for session_id, epochs in lanes]
    if begun:
        tx.execute(
            _BEGIN,
            [
                {
                    "id": new.id,
                    "session_id": new.session,
                    "state": TurnState.RUNNING.value,
                    "boot": boot,
                    "attempt": 1,
                    "history_epoch": new.history_epoch,
                    "audience_epoch": new.audience_epoch,
                    "started_at": now,
                }
                for new in begun
            ],
        )
    return begun


def note(tx: Tx, session_id: SessionId, boot: BootId, now: datetime, *, untrusted: bool) -> Turn:
    """A turn that has ended already: nobody's message began it, and it takes no lane."""
    new = Turn(TurnId(new_id(now)), session_id, 1, *current_epochs(tx.connection, session_id), now)
    tx.execute(
        turn_table.insert().values(
            id=new.id,
            session_id=session_id,
            state=TurnState.FINISHED.value,
            outcome="answered",
            boot=boot,
            attempt=1,
            history_epoch=new.history_epoch,
            audience_epoch=new.audience_epoch,
            untrusted=untrusted,
            started_at=now,
            finished_at=now,
        )
    )
    return new


def resume(tx: Tx, session_id: SessionId, boot: BootId, now: datetime) -> Turn | None:
    """Take up the session's interrupted turn, counting the attempt. None if it has none."""
    row = tx.execute(
        turn_table.update()
        .where(turn_table.c.session_id == session_id, _INTERRUPTED)
        .values(
            state=TurnState.RUNNING.value,
            boot=boot,
            attempt=turn_table.c.attempt + 1,
            started_at=now,
            history_epoch=sa.select(session.c.history_epoch).where(session.c.id == session_id).scalar_subquery(),
            audience_epoch=sa.select(session.c.audience_epoch).where(session.c.id == session_id).scalar_subquery(),
        )
        .returning(turn_table)
    ).first()
    if row is None:
        return None
    return Turn(
        TurnId(row.id), SessionId(row.session_id), row.attempt, row.history_epoch, row.audience_epoch, row.started_at
    )


def finish(
    tx: Tx, turn: Turn, boot: BootId, outcome: str, model: str | None, now: datetime, *, untrusted: bool
) -> bool:
    """End a running turn of this boot. `untrusted`: it read what others wrote. False if it is not that any more, or if
    the audience of its session has been widened since it began: then nothing of its result may be stored or said."""
    values = {
        "turn": turn.id,
        "session": turn.session,
        "by": boot,
        "how": outcome,
        "by_model": model,
        "read_others": untrusted,
        "now": now,
    }
    return bool(tx.execute(_FINISH, values).rowcount)


def park(tx: Tx, turn_id: TurnId, now: datetime) -> None:
    """Give the turn up; its rows are parked with it."""
    tx.execute(
        turn_table.update()
        .where(turn_table.c.id == turn_id, _OCCUPIED)
        .values(state=TurnState.PARKED.value, finished_at=now)
    )


def interrupt(tx: Tx, turn_id: TurnId, boot: BootId) -> bool:
    """Give a running turn back to be run again (an attempt failed by a bug)."""
    done = tx.execute(
        turn_table.update()
        .where(
            turn_table.c.id == turn_id,
            _RUNNING,
            turn_table.c.boot == boot,
        )
        .values(state=TurnState.INTERRUPTED.value)
    )
    return bool(done.rowcount)


def release(tx: Tx, turn_id: TurnId, boot: BootId) -> bool:
    """Give a running turn back without having it count as an attempt: it only waited (for the model, for a start)."""
    done = tx.execute(
        turn_table.update()
        .where(
            turn_table.c.id == turn_id,
            _RUNNING,
            turn_table.c.boot == boot,
        )
        .values(state=TurnState.INTERRUPTED.value, attempt=turn_table.c.attempt - 1)
    )
    return bool(done.rowcount)


def sessions_interrupted(connection: sa.Connection) -> list[SessionId]:
    rows = connection.execute(sa.select(turn_table.c.session_id).where(_INTERRUPTED))
    return [SessionId(row.session_id) for row in rows]


def void_older_boots(tx: Tx, boot: BootId) -> Sequence[SessionId]:
    """At start, under the data folder's lock: turns that an earlier process left running wait to be run again."""
    rows = tx.execute(
        turn_table.update()
        .where(_RUNNING, turn_table.c.boot != boot)
        .values(state=TurnState.INTERRUPTED.value)
        .returning(turn_table.c.session_id)
    )
    return [SessionId(row.session_id) for row in rows]


def is_running(connection: sa.Connection, turn: Turn, boot: BootId) -> bool:
    """Whether the turn still runs, under this boot."""
    return bool(
        connection.execute(
            sa.select(
                sa.exists().where(
                    turn_table.c.id == turn.id,
                    turn_table.c.state == TurnState.RUNNING.value,
                    turn_table.c.boot == boot,
                )
            )
        ).scalar()
    )


def session_of(connection: sa.Connection, turn_id: TurnId) -> SessionId | None:
    found = connection.execute(sa.select(turn_table.c.session_id).where(turn_table.c.id == turn_id)).scalar()
    return None if found is None else SessionId(found)


def current_epochs(connection: sa.Connection, session_id: SessionId) -> tuple[int, int]:
    row = connection.execute(_EPOCHS, {"session": session_id}).one()
    return row.history_epoch, row.audience_epoch
