"""A person's own conversations: the sessions in whose rooms they were, what was said there while they were, and the
words of it found again. Times of membership decide, message by message; a session that they were never in is not there.

A message is theirs to read if they were in its room when it was said and when it was answered; of what they wrote
themselves, when it was answered (their first word in a room is said before they are known to be in it).
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from bot.gateway.events import PlaceKind
from bot.kernel.ids import MessageId, SessionId
from bot.kernel.scope import PersonScope
from bot.kernel.values import dataclass
from bot.people.tables import handle
from bot.retrieval.fulltext import every, words
from bot.retrieval.tables import RECALL_TEXT, recall_row
from bot.sessions.tables import message, place, presence, session, thread, turn
from bot.sessions.transcript import Said, said_of
from bot.sessions.visible import visible

MOST_WORDS = 8
"""Of a question; all of them must be there."""


@dataclass(frozen=True, slots=True)
class Own:
    id: SessionId
    channel: str
    kind: PlaceKind
    title: str
    """Of its place; often empty for a conversation of two."""
    thread: str
    """Its newest key."""
    newest: str
    """Id of the newest turn that began while they were there; its own before the first. Sorts by time."""
    at: datetime
    """When that was."""
    begins: str | None
    """What they said first there, cut."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A message that was found."""

    session: SessionId
    channel: str
    place: str
    said: Said
    key: int
    """Where a search goes on after it."""


def sessions(
    connection: sa.Connection, scope: PersonScope, limit: int, before: str | None = None, channel: str | None = None
) -> list[Own]:
    """Those in which something happened last come first; `before` is the `newest` of an earlier one."""
    there = sa.and_(
        turn.c.started_at >= presence.c.since,
        sa.or_(presence.c.until.is_(None), turn.c.started_at < presence.c.until),
    )
    last = (
        sa.select(turn.c.id)
        .where(turn.c.session_id == session.c.id, there)
        .order_by(turn.c.id.desc())
        .limit(1)
        .correlate(session, presence)
        .scalar_subquery()
    )
    opened = sa.and_(
        session.c.opened_at >= presence.c.since,
        sa.or_(presence.c.until.is_(None), session.c.opened_at < presence.c.until),
    )
    newest = sa.func.max(sa.func.coalesce(last, sa.case((opened, session.c.id))))
    mine = (
        sa.select(session.c.id, newest.label("newest"))
        .select_from(_rooms())
        .where(handle.c.person_id == scope.person, session.c.channel == channel if channel else sa.true())
        .group_by(session.c.id)
        .having(newest < before if before is not None else newest.is_not(None))
        .order_by(sa.desc("newest"))
        .limit(limit)
    ).subquery("mine")
    query = _described(scope).add_columns(mine.c.newest, sa.func.coalesce(turn.c.started_at, session.c.opened_at,
        type_=session.c.opened_at.type).label("at"))  # fmt: skip
    rows = connection.execute(
        query.join(mine, mine.c.id == session.c.id)
        .outerjoin(turn, turn.c.id == mine.c.newest)
        .order_by(mine.c.newest.desc())
    )
    return [_own(row, row.newest, row.at) for row in rows]


def get(connection: sa.Connection, scope: PersonScope, session_id: SessionId) -> Own | None:
    """None where they never were."""
    row = connection.execute(
        _described(scope).where(
            session.c.id == session_id,
            session.c.id.in_(sa.select(session.c.id).select_from(_rooms()).where(handle.c.person_id == scope.person)),
        )
    ).first()
    return None if row is None else _own(row, row.id, row.opened_at)


def of_thread(connection: sa.Connection, scope: PersonScope, key: str) -> SessionId | None:
    """The session that a thread key leads to, if the person is in its room."""
    found = connection.execute(
        sa.select(session.c.id)
        .select_from(_rooms().join(thread, thread.c.session_id == session.c.id))
        .where(thread.c.key == key, handle.c.person_id == scope.person, presence.c.until.is_(None))
    ).scalar()
    return None if found is None else SessionId(found)


def said_in(
    connection: sa.Connection,
    scope: PersonScope,
    session_id: SessionId,
    limit: int,
    before: MessageId | None = None,
    *,
    itself: bool = False,
) -> list[Said]:
    """What was said there while they were there, the newest first; `before` is the id of an earlier message, which is
    left out unless `itself`."""
    order = (message.c.history_epoch, message.c.turn_id, message.c.position)
    query = sa.select(message).where(message.c.session_id == session_id, _theirs(connection, scope))
    if before is not None:
        at = sa.select(*order).where(message.c.id == before, message.c.session_id == session_id)
        here = sa.tuple_(*order)
        query = query.where(here <= at.scalar_subquery() if itself else here < at.scalar_subquery())
    rows = connection.execute(query.order_by(*(each.desc() for each in order)).limit(limit))
    return [said_of(row) for row in rows]


def find(
    connection: sa.Connection, scope: PersonScope, question: str, limit: int, before: int | None = None
) -> list[Passage]:
    """Messages that have all words of the question, or words that begin like the last, the newest first."""
    wanted = list(dict.fromkeys(words(question)))[:MOST_WORDS]
    if not wanted:
        return []
    matched = RECALL_TEXT.newest().subquery("matched")
    query = (
        sa.select(message, session.c.channel, place.c.title, recall_row.c.seq)
        .select_from(
            matched.join(recall_row, recall_row.c.seq == matched.c.key)
            .join(message, message.c.id == recall_row.c.ref)
            .join(session, session.c.id == message.c.session_id)
            .join(place, place.c.key == session.c.place_key)
        )
        .where(recall_row.c.kind == "turn", message.c.deleted_at.is_(None), _theirs(connection, scope))
        .order_by(matched.c.key.desc())
        .limit(limit)
    )
    if before is not None:
        query = query.where(matched.c.key < before)
    rows = connection.execute(query, {"words": every("text", wanted)})
    return [Passage(SessionId(row.session_id), row.channel, row.title, said_of(row), row.seq) for row in rows]


def _rooms() -> sa.FromClause:
    return (
        handle.join(presence, presence.c.address == handle.c.address)
        .join(place, sa.and_(place.c.key == presence.c.place_key, place.c.channel == handle.c.channel))
        .join(session, session.c.place_key == place.c.key)
    )


def _theirs(connection: sa.Connection, scope: PersonScope) -> sa.ColumnElement[bool]:
    view = visible(connection, scope)
    answered = view.within(message.c.session_id, message.c.audience_epoch, message.c.recorded_at)
    said = view.within(message.c.session_id, message.c.audience_epoch, message.c.sent_at)
    return sa.and_(answered, sa.or_(message.c.person_id == scope.person, said))


def _described(scope: PersonScope) -> sa.Select[Any]:
    key = (
        sa.select(thread.c.key)
        .where(thread.c.session_id == session.c.id)
        .order_by(thread.c.since.desc())
        .limit(1)
        .scalar_subquery()
    )
    begins = (
        sa.select(sa.func.substr(message.c.text, 1, 120))
        .where(message.c.session_id == session.c.id, message.c.person_id == scope.person)
        .order_by(message.c.history_epoch, message.c.turn_id, message.c.position)
        .limit(1)
        .scalar_subquery()
    )
    return sa.select(
        session.c.id,
        session.c.channel,
        session.c.opened_at,
        place.c.kind,
        place.c.title,
        key.label("thread"),
        begins.label("begins"),
    ).select_from(session.join(place, place.c.key == session.c.place_key))


def _own(row: Any, newest: str, at: datetime) -> Own:
    return Own(
        SessionId(row.id), row.channel, PlaceKind(row.kind), row.title, row.thread or "", newest, at, row.begins
    )  # fmt: skip
