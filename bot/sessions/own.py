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
from bot.retrieval.fulltext import every, some, words
from bot.retrieval.tables import RECALL_TEXT, recall_row
from bot.sessions.tables import message, place, presence, session, thread, turn
from bot.sessions.transcript import Said, said_of

MOST_WORDS = 8
"""Of a question; all of them must be there."""
SHORTEST_BEGINNING = 3
"""Letters of a word that may be one's beginning."""
MOST_LOOKED_AT = 5_000
FEW = 200
"""Conversations that are named in the search itself."""


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


@dataclass(frozen=True, slots=True)
class Found:
    passages: tuple[Passage, ...]
    more: int | None
    """Where the search goes on; None where it has seen everything."""


def sessions(connection: sa.Connection, scope: PersonScope, limit: int, before: str | None = None) -> list[Own]:
    """Those in which something happened last come first; `before` is the `newest` of an earlier one."""
    last = (
        sa.select(turn.c.id)
        .where(turn.c.session_id == session.c.id, _at(turn.c.started_at))
        .order_by(turn.c.id.desc())
        .limit(1)
        .correlate(session, presence)
        .scalar_subquery()
    )
    opened = sa.case((_at(session.c.opened_at), session.c.id))
    # Made once: written into what follows, it would be looked up again wherever it is named.
    each = (
        sa.select(session.c.id, sa.func.coalesce(last, opened).label("newest"))
        .select_from(_rooms())
        .where(handle.c.person_id == scope.person)
        .cte("each_one")
        .prefix_with("MATERIALIZED")
    )
    newest = sa.func.max(each.c.newest)
    mine = (
        sa.select(each.c.id, newest.label("newest"))
        .group_by(each.c.id)
        .having(newest < before if before is not None else newest.is_not(None))
        .order_by(sa.desc("newest"))
        .limit(limit)
        .subquery("mine")
    )
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
        _described(scope).where(session.c.id == session_id, sa.exists(_in_room_of(scope, session.c.id)))
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
    query = sa.select(message).where(message.c.session_id == session_id, _theirs(scope))
    if before is not None:
        at = sa.select(*order).where(message.c.id == before, message.c.session_id == session_id)
        here = sa.tuple_(*order)
        query = query.where(here <= at.scalar_subquery() if itself else here < at.scalar_subquery())
    rows = connection.execute(query.order_by(*(each.desc() for each in order)).limit(limit))
    return [said_of(row) for row in rows]


def find(connection: sa.Connection, scope: PersonScope, question: str, limit: int, before: int | None = None) -> Found:
    """Messages that have all words of the question, or if there are none, all but the last and one that begins like it;
    the newest first. `before` is where an earlier search goes on. At most `MOST_LOOKED_AT` of everybody's are looked
    at; of a person with few conversations only these are searched at all."""
    wanted = list(dict.fromkeys(words(question)))[:MOST_WORDS]
    if not wanted:
        return Found((), None)
    found = _find(connection, scope, every("text", wanted), limit, before)
    if found.passages or found.more is not None or len(wanted[-1]) < SHORTEST_BEGINNING:
        return found
    return _find(connection, scope, every("text", wanted, begun=True), limit, before)


def _find(connection: sa.Connection, scope: PersonScope, asked: str, limit: int, before: int | None) -> Found:
    rooms = sa.select(session.c.id).select_from(_rooms()).where(handle.c.person_id == scope.person).distinct()
    spaces = list(connection.execute(rooms.limit(FEW + 1)).scalars())
    if not spaces:
        return Found((), None)
    if len(spaces) <= FEW:
        asked = f"{some('space', spaces)} AND ({asked})"
    matched = RECALL_TEXT.newest().subquery("matched")
    looked = (
        sa.select(matched.c.key)
        .where(matched.c.key < before if before is not None else sa.true())
        .limit(MOST_LOOKED_AT)
        .cte("looked_at")
        .prefix_with("MATERIALIZED")
    )
    query = (
        sa.select(message, session.c.channel, place.c.title, recall_row.c.seq)
        .select_from(
            looked.join(recall_row, recall_row.c.seq == looked.c.key)
            .join(message, message.c.id == recall_row.c.ref)
            .join(session, session.c.id == message.c.session_id)
            .join(place, place.c.key == session.c.place_key)
        )
        .where(
            recall_row.c.kind == "turn",
            recall_row.c.space.in_(rooms),
            message.c.deleted_at.is_(None),
            _theirs(scope),
        )
        .order_by(looked.c.key.desc())
        .limit(limit + 1)
    )
    rows = connection.execute(query, {"words": asked}).all()
    found = [Passage(SessionId(row.session_id), row.channel, row.title, said_of(row)) for row in rows[:limit]]
    if len(rows) > limit:
        return Found(tuple(found), rows[limit - 1].seq)
    count, last = connection.execute(
        sa.select(sa.func.count(), sa.func.min(looked.c.key)).select_from(looked), {"words": asked}
    ).one()
    return Found(tuple(found), last if count == MOST_LOOKED_AT else None)


def _rooms() -> sa.FromClause:
    return (
        handle.join(presence, presence.c.address == handle.c.address)
        .join(place, sa.and_(place.c.key == presence.c.place_key, place.c.channel == handle.c.channel))
        .join(session, session.c.place_key == place.c.key)
    )


def _at(time: sa.ColumnElement[datetime]) -> sa.ColumnElement[bool]:
    """The account was in the room then."""
    return sa.and_(presence.c.since <= time, sa.or_(presence.c.until.is_(None), presence.c.until > time))


def _in_room_of(scope: PersonScope, session_id: sa.ColumnElement[str]) -> sa.Select[int]:
    """Where an account of the person is or was in a session's room: looked up from the session."""
    return (
        sa.select(sa.literal(1))
        .select_from(
            _session.join(presence, presence.c.place_key == _session.c.place_key).join(
                handle, sa.and_(handle.c.channel == _session.c.channel, handle.c.address == presence.c.address)
            )
        )
        .where(_session.c.id == session_id, handle.c.person_id == scope.person)
    )


_session = session.alias("its_session")


def _theirs(scope: PersonScope) -> sa.ColumnElement[bool]:
    heard = sa.or_(message.c.person_id == scope.person, presence.c.since <= message.c.sent_at)
    return sa.exists(_in_room_of(scope, message.c.session_id).where(_at(message.c.recorded_at), heard))


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
