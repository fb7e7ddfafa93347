"""Sessions as the operator sees them: numbers and keys, nothing that was said and no name that somebody chose."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from bot.kernel.ids import SessionId
from bot.kernel.values import dataclass
from bot.sessions.tables import message, place, session, summary, turn


@dataclass(frozen=True, slots=True)
class Listed:
    id: SessionId
    channel: str
    place: str
    kind: str
    audience: str
    turns: int
    messages: int
    summarised: bool
    newest: datetime
    """The start of its newest turn, else its own."""


def newest(connection: sa.Connection, limit: int, channel: str | None = None) -> list[Listed]:
    """The sessions in which something happened last."""
    count = sa.select(sa.func.count()).where
    turns = count(turn.c.session_id == session.c.id).scalar_subquery()
    messages = count(message.c.session_id == session.c.id).scalar_subquery()
    last = sa.select(sa.func.max(turn.c.started_at)).where(turn.c.session_id == session.c.id).scalar_subquery()
    at = sa.func.coalesce(last, session.c.opened_at, type_=session.c.opened_at.type)
    rows = connection.execute(
        sa.select(
            session.c.id,
            session.c.channel,
            session.c.place_key,
            place.c.kind,
            place.c.audience,
            turns.label("turns"),
            messages.label("messages"),
            sa.exists().where(summary.c.session_id == session.c.id).label("summarised"),
            at.label("newest"),
        )
        .select_from(session.join(place, place.c.key == session.c.place_key))
        .where(session.c.channel == channel if channel is not None else sa.true())
        .order_by(sa.desc("newest"))
        .limit(limit)
    )
    return [
        Listed(
            SessionId(r.id),
            r.channel,
            r.place_key,
            r.kind,
            r.audience,
            r.turns,
            r.messages,
            bool(r.summarised),
            r.newest,
        )
        for r in rows
    ]
