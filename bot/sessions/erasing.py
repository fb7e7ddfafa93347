"""What this room deletes of a session: messages, summaries, who took part. The session, its threads and its turns stay
as empty shells, so that the place goes on working and the audit's ids mean something. And of words that are forgotten:
the sentences that tell them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from bot.gateway.events import PlaceKind
from bot.gateway.redacting import body_without
from bot.kernel.erasing import Erased, Span, Words, without
from bot.kernel.ids import BlobHash, SessionId, TurnId
from bot.people.erasing import NAME
from bot.people.model import Person
from bot.sessions.tables import OCCUPYING, TurnState, message, participant, place, presence, session, summary, turn
from bot.sessions.transcript import File, Said, said_of
from bot.storage.database import Tx
from bot.storage.redaction import Redaction


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


def of_person(tx: Tx, person: Person, now: datetime) -> Erased:
    """What they were called where they spoke among others, and by which accounts they took part. That somebody spoke
    there stays, by an id; so does an account in a room, as long as its platform says that it is there."""
    for each in person.handles:
        of_channel = sa.select(session.c.id).where(session.c.channel == each.channel)
        took_part = (participant.c.address == each.address, participant.c.session_id.in_(of_channel))
        tx.execute(participant.delete().where(*took_part))
        alone = sa.select(place.c.key).where(place.c.channel == each.channel, place.c.kind.in_(_ALONE))
        was_there = sa.or_(presence.c.until.is_not(None), presence.c.place_key.in_(alone))
        channel = sa.select(place.c.key).where(place.c.channel == each.channel)
        own = (presence.c.address == each.address, presence.c.place_key.in_(channel), was_there)
        tx.execute(presence.delete().where(*own))
    theirs = message.c.person_id == person.id
    return Erased((("names", tx.execute(message.update().where(theirs).values(speaker=NAME)).rowcount),))


_ALONE = (PlaceKind.DIRECT.value, PlaceKind.MAIL.value)


_AT_ONCE = 500
FILE_FORGOTTEN = "a part of it was forgotten, and the file with it"


def redact(connection: sa.Connection, words: Words, now: datetime) -> Redaction:
    """Messages lose sentences, summaries go and are made anew. A changed message counts as edited, so that a summary
    that is being made of it is not stored."""
    found = Redaction()
    for said in _looked_through(connection, words):
        found += _without(said, words, now)
    changed = set(_sessions(connection, found.turns).values())
    looked = sorted({*words.own, *words.shown, *changed})
    rows = connection.execute(sa.select(summary).where(summary.c.session_id.in_(looked))).all()
    gone = [row.id for row in rows if row.session_id in changed or words.tells(row.text)]
    titles = connection.execute(
        sa.select(place.c.key, place.c.title)
        .select_from(place.join(session, session.c.place_key == place.c.key))
        .where(session.c.id.in_(words.own), place.c.kind == PlaceKind.MAIL.value)
    ).all()
    return found + Redaction(
        Erased((("summaries", len(gone)),)),
        (
            *((summary.delete().where(summary.c.id.in_(gone)),) if gone else ()),
            *(
                place.update().where(place.c.key == row.key).values(title=words.line(row.title))
                for row in titles
                if words.line(row.title) != row.title
            ),
        ),
    )


def _looked_through(connection: sa.Connection, words: Words) -> list[Said]:
    conditions: list[sa.ColumnElement[bool]] = [message.c.session_id.in_(sorted(words.own))]
    conditions += [
        sa.and_(message.c.session_id == each, message.c.turn_id >= first, message.c.role == "assistant")
        for each, first in words.shown.items()
    ]
    if words.quotes:
        conditions.append(message.c.id.in_(sorted(words.quotes)))
    if words.names:
        named = sa.or_(*(message.c.text.contains(each, autoescape=True) for each in sorted(words.names)))
        conditions.append(named)
    # Almost all messages have nothing to do with it: they are not taken apart.
    files = sa.type_coerce(message.c.files, sa.Text).label("files")
    looked = connection.execute(sa.select(message.c.id, message.c.text, files).where(sa.or_(*conditions)))
    ids = [row.id for row in looked if row.files != "[]" or row.id in words.quotes or words.may_tell(row.text)]
    found: list[Said] = []
    for start in range(0, len(ids), _AT_ONCE):
        rows = connection.execute(sa.select(message).where(message.c.id.in_(ids[start : start + _AT_ONCE])))
        found += [said_of(row) for row in rows]
    return found


def _without(said: Said, words: Words, now: datetime) -> Redaction:
    spans = words.within(said.id, said.body.text)
    files = [_file_without(each, words) for each in said.files]
    if not spans and all(new is old for new, old in zip(files, said.files, strict=True)):
        return Redaction()
    body = body_without(said.body, spans)
    values: dict[str, Any] = {
        "text": body.text,
        "spans": [[each.start, each.end, each.kind.value] for each in body.spans],
        "files": [asdict(each) for each in files],
        "edited_at": now,
    }
    blobs = frozenset(old.blob for old, new in zip(said.files, files, strict=True) if old.blob and new is not old)
    return Redaction(
        Erased((("messages", 1),), blobs),
        (message.update().where(message.c.id == said.id).values(**values),),
        frozenset({said.turn}),
        ((said.id, body.text),),
    )


def _file_without(file: File, words: Words) -> File:
    """A file cannot be changed: one in which the words stand goes, and what was read of it loses them."""
    if file.blob is not None and file.blob in words.files:
        return File("", file.media_type, None, None, FILE_FORGOTTEN)
    spans = words.holds(file.text) if file.text and words.may_tell(file.text) else []
    if not spans or file.text is None:
        return file
    return File(words.line(file.name), file.media_type, None, without(file.text, spans), FILE_FORGOTTEN)


def _sessions(connection: sa.Connection, turns: frozenset[TurnId]) -> Mapping[TurnId, SessionId]:
    rows = connection.execute(sa.select(turn.c.id, turn.c.session_id).where(turn.c.id.in_(sorted(turns))))
    return {TurnId(row.id): SessionId(row.session_id) for row in rows}


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
