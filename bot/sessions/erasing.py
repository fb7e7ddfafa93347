"""What this room deletes of a session: messages, summaries, who took part. The session, its threads and its turns stay
as empty shells, so that the place goes on working and the audit's ids mean something."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from bot.gateway.events import PlaceKind
from bot.kernel.erasing import Erased, Span
from bot.kernel.ids import BlobHash, SessionId
from bot.sessions.tables import OCCUPYING, TurnState, message, participant, place, session, summary, turn
from bot.storage.database import Tx


def erase(tx: Tx, span: Span, now: datetime) -> Erased:
    """A turn that is running is parked: nothing of its answer can be stored any more."""
    where = [message.c.session_id == span.session]
    if span.before is not None:
        where.append(message.c.recorded_at < span.before)
    files = tx.execute(sa.select(message.c.files).where(*where)).scalars()
    blobs = frozenset(BlobHash(file["blob"]) for row in files for file in row if file["blob"])
    messages = tx.execute(message.delete().where(*where)).rowcount
    summaries = 0
    if span.whole or messages:
        summaries = tx.execute(summary.delete().where(summary.c.session_id == span.session)).rowcount
    if span.before is None:
        _empty(tx, span.session, now)
    else:
        tx.execute(session.update().where(session.c.id == span.session).values(erased_before=span.before))
    return Erased((("messages", messages), ("summaries", summaries)), blobs)


def _empty(tx: Tx, session_id: SessionId, now: datetime) -> None:
    tx.execute(
        turn.update()
        .where(turn.c.session_id == session_id, turn.c.state.in_(OCCUPYING))
        .values(state=TurnState.PARKED.value, finished_at=now)
    )
    tx.execute(participant.delete().where(participant.c.session_id == session_id))
    tx.execute(
        session.update()
        .where(session.c.id == session_id)
        .values(history_epoch=session.c.history_epoch + 1, history_start=None, erased_before=now)
    )
    # A mail thread is a place of its own, and its title is the subject that somebody wrote.
    own = sa.select(session.c.place_key).where(session.c.id == session_id).scalar_subquery()
    tx.execute(place.update().where(place.c.key == own, place.c.kind == PlaceKind.MAIL.value).values(title=""))


def older_than(connection: sa.Connection, channel: str, before: datetime, limit: int) -> list[SessionId]:
    """Sessions of a channel in which something happened before an instant that is not erased yet."""
    old = sa.exists().where(
        turn.c.session_id == session.c.id,
        turn.c.started_at < before,
        sa.or_(session.c.erased_before.is_(None), turn.c.started_at >= session.c.erased_before),
    )
    rows = connection.execute(
        sa.select(session.c.id).where(session.c.channel == channel, old).order_by(session.c.id).limit(limit)
    )
    return [SessionId(each) for each in rows.scalars()]
