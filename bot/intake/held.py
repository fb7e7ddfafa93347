"""What came in and waited for an answer when a backup was made: after a restore it starts nothing by itself, for it may
have been answered since, in the life that was lost."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import sqlalchemy as sa

from bot.intake.tables import InState, inbox
from bot.kernel.ids import InboxId, SessionId
from bot.kernel.values import dataclass
from bot.sessions.tables import OCCUPYING, TurnState, turn
from bot.storage.database import Tx
from bot.storage.metadata import exactly

RESTORED = "restored"
_WAITING = (InState.QUEUED.value, InState.CLAIMED.value)
_HELD = sa.and_(exactly(inbox.c.state, InState.PARKED.value), inbox.c.reason == RESTORED)


@dataclass(frozen=True, slots=True)
class Held:
    id: InboxId
    channel: str
    session: SessionId | None
    kind: str
    received_at: datetime


def hold(tx: Tx, now: datetime) -> int:
    """Park what waits, and the turns that had begun with it. Returns how many rows."""
    tx.execute(turn.update().where(turn.c.state.in_(OCCUPYING)).values(state=TurnState.PARKED.value, finished_at=now))
    done = tx.execute(
        inbox.update()
        .where(inbox.c.state.in_(_WAITING))
        .values(state=InState.PARKED.value, reason=RESTORED, ended_at=now)
    )
    return done.rowcount


def held(connection: sa.Connection) -> list[Held]:
    """Oldest first."""
    rows = connection.execute(
        sa.select(inbox.c.id, inbox.c.channel, inbox.c.session_id, inbox.c.kind, inbox.c.received_at)
        .where(_HELD)
        .order_by(inbox.c.seq)
    )
    return [
        Held(
            InboxId(row.id),
            row.channel,
            SessionId(row.session_id) if row.session_id else None,
            row.kind,
            row.received_at,
        )
        for row in rows
    ]


def release(tx: Tx, ids: Collection[InboxId], now: datetime) -> list[SessionId]:
    """Have held rows answered after all. Returns the sessions in which something waits now; rows of no session are let
    be. The caller wakes their lanes."""
    rows = tx.execute(
        inbox.update()
        .where(inbox.c.id.in_(sorted(ids)), _HELD, inbox.c.session_id.is_not(None))
        .values(state=InState.QUEUED.value, reason=None, ended_at=None, turn_id=None, ready_at=now)
        .returning(inbox.c.session_id)
    ).all()
    return [SessionId(row.session_id) for row in rows]
