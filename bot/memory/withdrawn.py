"""Words that stand in a conversation's history and are believed no more: what they were evidence of was taken back,
replaced, or corrected by a person.

The history of a prompt never changes, so such words go on standing in it; the block that follows it says that they do
not hold. Listed are the messages of the session's current epochs, no others: nothing else can stand in the prompt.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from bot.kernel.scope import SessionScope
from bot.kernel.values import dataclass
from bot.memory import reading
from bot.memory.model import HANDLE, STANDING, Op, Status, Support
from bot.memory.reading import Purpose
from bot.memory.tables import claim, claim_event, evidence
from bot.sessions.tables import message, session
from bot.sessions.visible import Visible
from bot.storage.metadata import among

MOST = 40
"""The last ones to be withdrawn."""

# On the path of every message: built once.
_MAY_BE = sa.select(
    sa.exists().where(
        claim.c.session_id == sa.bindparam("session"),
        claim.c.audience_epoch == sa.bindparam("epoch"),
        sa.or_(among(claim.c.status, (Status.RETRACTED.value, Status.SUPERSEDED.value)), claim.c.by_person),
    )
)


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A quote of a message (said at `said_at`) that held until `at`."""

    quote: str
    said_at: datetime
    at: datetime
    how: Status | None
    """Retracted or superseded; None: a person corrected what it was remembered as."""
    handle: str | None
    """Of the memory that stands in its place."""


def withdrawn(connection: sa.Connection, view: Visible) -> tuple[Withdrawn, ...]:
    """In the order in which they were withdrawn. `view`: a session's."""
    if not isinstance(view.scope, SessionScope):
        raise TypeError("only a session has a history")
    # In most conversations nothing was, and to build the whole question costs more than to answer it.
    if not connection.execute(_MAY_BE, {"session": view.scope.session, "epoch": view.epoch}).scalar():
        return ()
    rows = connection.execute(_query(view, view.scope)).all()
    found = [
        Withdrawn(
            row.quote,
            row.said_at,
            row.retired_at or row.corrected_at,
            Status(row.status) if row.retired_at else None,
            row.instead and row.instead[-HANDLE:],
        )
        for row in rows
    ]
    return tuple(sorted(found, key=lambda each: (each.at, each.said_at)))


def _query(view: Visible, scope: SessionScope) -> sa.Select[Any]:
    own = evidence.join(claim, claim.c.id == evidence.c.claim_id).join(message, message.c.id == evidence.c.message_id)
    own = own.join(session, session.c.id == message.c.session_id)
    corrected_at = (
        sa.select(sa.func.max(claim_event.c.at, type_=claim_event.c.at.type))
        .where(claim_event.c.claim_id == claim.c.id, claim_event.c.op == Op.EDITED.value)
        .scalar_subquery()
    )
    # Of two memories of the same the younger goes into the older: its words hold.
    merged = sa.exists().where(
        claim_event.c.claim_id == claim.c.id,
        claim_event.c.version == claim.c.version,
        claim_event.c.op == Op.MERGED.value,
    )
    retired = sa.and_(among(claim.c.status, (Status.RETRACTED.value, Status.SUPERSEDED.value)), ~merged)
    corrected = sa.and_(
        among(claim.c.status, STANDING),
        claim.c.by_person,
        claim.c.support == Support.PERSON.value,
        corrected_at.is_not(None),
        claim.c.statement != evidence.c.quote,
    )
    other, rests = claim.alias(), evidence.alias()
    still_held = sa.exists().where(
        rests.c.message_id == evidence.c.message_id,
        rests.c.start == evidence.c.start,
        rests.c.end == evidence.c.end,
        other.c.id == rests.c.claim_id,
        other.c.id != claim.c.id,
        among(other.c.status, STANDING),
        ~other.c.by_person,
    )
    return (
        sa.select(
            evidence.c.quote,
            evidence.c.said_at,
            claim.c.status,
            claim.c.retired_at,
            corrected_at.label("corrected_at"),
            sa.case((claim.c.retired_at.is_(None), claim.c.id), else_=claim.c.replaced_by).label("instead"),
        )
        .select_from(own)
        .where(
            message.c.session_id == scope.session,
            message.c.history_epoch == session.c.history_epoch,
            message.c.audience_epoch == session.c.audience_epoch,
            view.within(claim.c.session_id, claim.c.audience_epoch, claim.c.heard_at),
            reading.condition(view, Purpose.REVIEW),
            sa.or_(retired, corrected),
            ~still_held,
        )
        .order_by(sa.func.coalesce(claim.c.retired_at, corrected_at, type_=claim.c.retired_at.type).desc())
        .limit(MOST)
    )
