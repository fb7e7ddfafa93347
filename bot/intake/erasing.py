"""What this room deletes of a session: the events. Rows stay as shells without words, names and addresses; so do the
identities of what was accepted (`seen`): an erased message that a platform delivers again stays out."""

from __future__ import annotations

from collections.abc import Iterator
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
from bot.intake.tables import InState, inbox
from bot.kernel.erasing import Erased, Span
from bot.kernel.ids import BlobHash
from bot.storage.database import Tx

_WAITING = (InState.QUEUED.value, InState.CLAIMED.value)
ERASED = "erased"


def erase(tx: Tx, span: Span, now: datetime) -> Erased:
    """What waits for a turn, or has one, is stopped; of an older part it is left alone."""
    where = [inbox.c.session_id == span.session, inbox.c.address.is_distinct_from(ERASED)]
    if span.before is not None:
        where += [inbox.c.received_at < span.before, inbox.c.state.not_in(_WAITING)]
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
