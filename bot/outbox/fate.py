"""What became of a whole message: of all the rows that it was cut into."""

from __future__ import annotations

from enum import Enum, auto

import sqlalchemy as sa

from bot.kernel.ids import OutboxId
from bot.kernel.values import dataclass
from bot.outbox.tables import OutState, outbox

_UNKNOWABLE = ("uncertain", "restored")


class Fate(Enum):
    UNDER_WAY = auto()
    SENT = auto()
    REFUSED = auto()
    """None of it has arrived, and none will."""
    UNCERTAIN = auto()
    """It cannot be known, or a part of it has arrived and the rest will not."""
    UNKNOWN = auto()
    """There is no such message."""


@dataclass(frozen=True, slots=True)
class Message:
    fate: Fate
    reason: str | None
    """Why it was given up."""
    refs: tuple[str | None, ...]
    """What the platform calls its parts; None while a part has no name there."""


def of_message(connection: sa.Connection, first: OutboxId) -> Message:
    """`first`: the id of its first row."""
    rows = connection.execute(
        sa.select(outbox.c.state, outbox.c.reason, outbox.c.ref)
        .where(outbox.c.reply_id == first)
        .order_by(outbox.c.part)
    ).all()
    states = {row.state for row in rows}
    parked = [row.reason for row in rows if row.state == OutState.PARKED.value]
    refs = tuple(row.ref for row in rows)
    if not rows:
        return Message(Fate.UNKNOWN, None, refs)
    if states == {OutState.SENT.value}:
        return Message(Fate.SENT, None, refs)
    if states - {OutState.SENT.value, OutState.PARKED.value}:
        return Message(Fate.UNDER_WAY, None, refs)
    doubtful = OutState.SENT.value in states or any(reason in _UNKNOWABLE for reason in parked)
    return Message(Fate.UNCERTAIN if doubtful else Fate.REFUSED, parked[0], refs)
