"""What this room deletes of a session: the events. Rows stay as shells without words, names and addresses; so do the
identities of what was accepted (`seen`): an erased message that a platform delivers again stays out. Of words that are
forgotten: the sentences that tell them, and files in which they stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

import sqlalchemy as sa

from bot.gateway.codec import dump_event, load_event
from bot.gateway.events import (
    Body,
    ButtonPressed,
    CommandInvoked,
    DeliveryReported,
    FormSubmitted,
    InboundEvent,
    MembershipChanged,
    MessageDeleted,
    MessageEdited,
    MessageReceived,
    Place,
    ReplyPath,
    Sender,
)
from bot.gateway.redacting import body_without
from bot.intake.tables import InState, inbox
from bot.kernel.erasing import Erased, Span, Words
from bot.kernel.ids import BlobHash
from bot.people.model import Person
from bot.sessions.tables import TurnState, turn
from bot.storage.database import Tx
from bot.storage.redaction import Redaction

_WAITING = (InState.QUEUED.value, InState.CLAIMED.value)
ERASED = "erased"
FILE_FORGOTTEN = "forgotten"
SEEKS = frozenset({"forget", "memories"})
"""Commands that name what is to be forgotten in words of their own, from wherever they were given."""


def erase(tx: Tx, span: Span, now: datetime) -> Erased:
    """What waits for a turn, or has one, is stopped; of an older part it is left alone."""
    where = [inbox.c.session_id == span.session, inbox.c.address.is_distinct_from(ERASED)]
    if span.before is not None:
        where += [inbox.c.received_at < span.before, inbox.c.state.not_in(_WAITING)]
    return _emptied(tx, where, now)


def of_person(tx: Tx, person: Person, now: datetime) -> Erased:
    """What came from them, wherever they said it."""
    return _emptied(tx, [inbox.c.person_id == person.id, inbox.c.address.is_distinct_from(ERASED)], now)


def _emptied(tx: Tx, where: Sequence[sa.ColumnElement[bool]], now: datetime) -> Erased:
    rows = tx.execute(sa.select(inbox.c.seq, inbox.c.event, inbox.c.state, inbox.c.reason).where(*where)).all()
    blobs: set[BlobHash] = set()
    for row in rows:
        event = load_event(row.event)
        blobs |= set(blobs_of(event))
        waits = row.state in _WAITING
        ending = {"state": InState.STOPPED.value, "ended_at": now, "reason": ERASED} if waits else {}
        tx.execute(
            inbox.update()
            .where(inbox.c.seq == row.seq)
            .values(event=dump_event(emptied(event)), edit=None, address=ERASED, person_id=None, **ending)
        )
    return Erased((("events", len(rows)),), frozenset(blobs))


def blobs_of(event: InboundEvent) -> Iterator[BlobHash]:
    """The files that an event refers to, the mail as it came over the wire among them."""
    if isinstance(event, MessageReceived | CommandInvoked) and event.raw is not None:
        yield event.raw
    if isinstance(event, MessageReceived):
        yield from (each.blob for each in event.attachments if each.blob is not None)


def emptied(event: InboundEvent) -> InboundEvent:
    """The event without anything that somebody wrote, is called, or is reached by."""
    match event:
        case MessageReceived():
            return replace(
                event,
                place=_place(event.place),
                sender=_sender(event.sender),
                body=Body(""),
                reply_path=_path(event.reply_path),
                attachments=(),
                quotes=None,
                group=None,
                raw=None,
            )
        case CommandInvoked():
            return replace(
                event,
                place=_place(event.place),
                sender=_sender(event.sender),
                arguments="",
                reply_path=_path(event.reply_path),
                raw=None,
            )
        case MessageEdited():
            return replace(
                event,
                place=_place(event.place),
                sender=_sender(event.sender),
                body=Body(""),
                reply_path=_path(event.reply_path),
            )
        case FormSubmitted():
            return replace(event, place=_place(event.place), sender=_sender(event.sender), values=())
        case ButtonPressed():
            return replace(event, place=_place(event.place), sender=_sender(event.sender))
        case MessageDeleted():
            return replace(event, by=None)
        case MembershipChanged():
            return replace(event, place=_place(event.place), who=None)
        case DeliveryReported():
            return replace(event, detail="")


def _place(place: Place) -> Place:
    return replace(place, title="", others=())


def _sender(sender: Sender) -> Sender:
    return replace(sender, address=ERASED, name="")


def _path(path: ReplyPath) -> ReplyPath:
    return ReplyPath(path.thread, ERASED, path.ref)


def redact(connection: sa.Connection, words: Words, now: datetime) -> Redaction:
    """Events lose the words; a mail as it came over the wire goes as a whole, and so does a file that holds them. Turns
    that may have been shown the words begin anew without them."""
    found = Redaction(statements=(_begin_anew(words),))
    rows = connection.execute(
        sa.select(inbox.c.seq, inbox.c.id, inbox.c.event, inbox.c.edit).where(
            sa.or_(
                inbox.c.session_id.in_(sorted(words.own)),
                inbox.c.id.in_(sorted(words.quotes)),
                inbox.c.kind == "command",
                *(inbox.c.event.contains(each, autoescape=True) for each in sorted(words.names)),
            ),
            inbox.c.address.is_distinct_from(ERASED),
        )
    )
    for row in rows:
        changed = {}
        blobs: set[BlobHash] = set()
        for name in ("event", "edit"):
            stored = getattr(row, name)
            if stored is None or not _concerns(stored, row.id, words):
                continue
            event = load_event(stored)
            left = _without(event, row.id, words)
            if left != event:
                changed[name] = dump_event(left)
                blobs |= set(blobs_of(event)) - set(blobs_of(left))
        if changed:
            statement = inbox.update().where(inbox.c.seq == row.seq).values(**changed)
            found += Redaction(Erased((("events", 1),), frozenset(blobs)), (statement,))
    return found


def _begin_anew(words: Words) -> sa.Executable:
    """The lane sees that its turn is not running any more and takes it up again."""
    thinks = sa.exists().where(inbox.c.turn_id == turn.c.id, inbox.c.kind != "command")
    where = [turn.c.state == TurnState.RUNNING.value, thinks]
    if not words.everywhere:
        where.append(turn.c.session_id.in_(sorted(words.own)))
    return turn.update().where(*where).values(state=TurnState.INTERRUPTED.value)


def _concerns(stored: str, row_id: str, words: Words) -> bool:
    return (
        row_id in words.quotes
        or words.may_tell(stored)
        or any(blob in stored for blob in words.files)
        or '"kind":"command"' in stored
    )


def _without(event: InboundEvent, row_id: str, words: Words) -> InboundEvent:
    match event:
        case MessageReceived() | MessageEdited():
            spans = words.within(row_id, event.body.text)
            left = replace(
                event,
                place=replace(event.place, title=words.line(event.place.title)),
                body=body_without(event.body, spans) if spans else event.body,
                reply_path=_said(event.reply_path, words),
            )
            if not isinstance(left, MessageReceived):
                return left
            files = tuple(
                replace(each, name=words.line(each.name), blob=None, source=None, fault=FILE_FORGOTTEN)
                if each.blob in words.files
                else each
                for each in left.attachments
            )
            quotes = None if left.quotes is None else words.line(left.quotes)
            left = replace(left, attachments=files, quotes=quotes)
            return left if left == event else replace(left, raw=None)
        case CommandInvoked():
            arguments = "" if event.name in SEEKS else words.line(event.arguments)
            left_command = replace(event, arguments=arguments, reply_path=_said(event.reply_path, words))
            return left_command if left_command == event else replace(left_command, raw=None)
        case FormSubmitted():
            return replace(event, values=tuple((name, words.line(value)) for name, value in event.values))
        case DeliveryReported():
            return replace(event, detail=words.line(event.detail))
        case _:
            return event


def _said(path: ReplyPath, words: Words) -> ReplyPath:
    subject, opens = path.subject, path.opens
    return replace(
        path,
        subject=None if subject is None else words.line(subject),
        opens=None if opens is None else words.line(opens),
    )
