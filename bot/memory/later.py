"""In which turns a claim stood before the model, from the first on."""

from __future__ import annotations

import sqlalchemy as sa

from bot.kernel.ids import ClaimId, SessionId, TurnId
from bot.memory.reading import Purpose, Shown, by_ids
from bot.memory.tables import claim_shown
from bot.sessions.tables import turn
from bot.sessions.visible import Visible

LOOKED_AT = 2_000


def first_shown(connection: sa.Connection, visible: Visible, claim_id: ClaimId, limit: int) -> list[Shown]:
    """The first turns, in order, of those whose sessions the scope may see. Looks at the first `LOOKED_AT` times only:
    some claims stand in every prompt."""
    if not by_ids(connection, visible, Purpose.REVIEW, [claim_id]):
        return []
    first = (
        sa.select(claim_shown)
        .where(claim_shown.c.claim_id == claim_id, (claim_shown.c.way + "").in_(("block", "recall", "read")))
        .order_by(sa.literal_column("claim_shown.rowid"))  # as they were written: the index has them so
        .limit(LOOKED_AT)
        .subquery()
    )
    rows = connection.execute(
        sa.select(first, turn.c.session_id)
        .select_from(first.join(turn, turn.c.id == first.c.turn_id))
        .where(visible.within(turn.c.session_id, turn.c.audience_epoch, first.c.at))
        .order_by(first.c.at, first.c.turn_id)
        .limit(limit)
    )
    return [Shown(TurnId(row.turn_id), SessionId(row.session_id), row.version, row.way, row.at) for row in rows]
