"""What this room deletes of a session: what was said, and to whom. Rows stay as shells; what still waits to be sent is
not sent any more. Of words that are forgotten: the sentences that tell them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import sqlalchemy as sa

from bot.gateway.codec import dump_operation, load_operation
from bot.gateway.events import ReplyPath
from bot.gateway.operations import Ask, Delete, Edit, OpenThread, OutboundOp, React, Send
from bot.kernel.erasing import Erased, Span, Words, without
from bot.kernel.ids import BlobHash, OutboxId
from bot.outbox.tables import OutState, outbox
from bot.people.model import Person
from bot.storage.database import Tx
from bot.storage.redaction import Redaction

_ENDED = (OutState.SENT.value, OutState.PARKED.value)
ERASED = "erased"


def erase(tx: Tx, span: Span, now: datetime) -> Erased:
    where = [outbox.c.session_id == span.session, outbox.c.address != ERASED]
    if span.before is not None:
        where += [outbox.c.created_at < span.before, outbox.c.state.in_(_ENDED)]
    rows = tx.execute(sa.select(outbox).where(*where)).all()
    blobs: set[BlobHash] = set()
    for row in rows:
        op = load_operation(row.op)
        if isinstance(op, Send):
            blobs |= {file.blob for file in op.files}
        waits = row.state not in _ENDED
        ending = {"state": OutState.PARKED.value, "ended_at": now, "reason": ERASED} if waits else {}
        tx.execute(
            outbox.update()
            .where(outbox.c.seq == row.seq)
            .values(op=dump_operation(emptied(op)), address=ERASED, **ending)
        )
    sent = tuple((row.channel, OutboxId(row.id)) for row in rows)
    return Erased((("replies", len(rows)),), frozenset(blobs), sent)


def of_person(tx: Tx, person: Person, now: datetime) -> Erased:
    """What was said to their accounts, and what waits to be: in a conversation only to whom it was."""
    theirs = [sa.and_(outbox.c.channel == each.channel, outbox.c.address == each.address) for each in person.handles]
    rows = tx.execute(sa.select(outbox).where(sa.or_(sa.false(), *theirs))).all()
    for row in rows:
        waits = row.state not in _ENDED
        ending = {"state": OutState.PARKED.value, "ended_at": now, "reason": ERASED} if waits else {}
        op = load_operation(row.op)
        alone = row.session_id is None
        # What was said among others goes on being looked through when words are forgotten: it is no empty shell.
        left = emptied(op) if alone else replace(op, path=ReplyPath(op.path.thread, ""))
        statement = outbox.update().where(outbox.c.seq == row.seq)
        tx.execute(statement.values(op=dump_operation(left), address=left.path.address, **ending))
    gone = [(row.channel, OutboxId(row.id)) for row in rows if row.session_id is None]
    return Erased((("replies", len(gone)),), sent=tuple(gone))


def emptied(op: OutboundOp) -> OutboundOp:
    """The operation without its words."""
    path = ReplyPath(op.path.thread, ERASED)
    match op:
        case Send():
            return replace(op, path=path, text="", plain="", files=())
        case Edit():
            return replace(op, path=path, text="", plain="")
        case Ask():
            return replace(op, path=path, text="", plain="", choices=())
        case OpenThread():
            return replace(op, path=path, title="")
        case Delete() | React():
            return replace(op, path=path)


FORGOTTEN = "forgotten"
"""Reason of a row that waited and would have told the words."""


def redact(connection: sa.Connection, words: Words, now: datetime) -> Redaction:
    """What was sent loses the words; what only waits is not sent any more."""
    looked: list[sa.ColumnElement[bool]] = [outbox.c.session_id.in_(sorted(words.own))]
    looked += [
        sa.and_(outbox.c.session_id == session, outbox.c.turn_id >= first) for session, first in words.shown.items()
    ]
    looked += [outbox.c.op.contains(each, autoescape=True) for each in sorted(words.names)]
    found = Redaction()
    for row in connection.execute(sa.select(outbox).where(sa.or_(*looked), outbox.c.address != ERASED)):
        if not words.may_tell(row.op):
            continue
        op = load_operation(row.op)
        left = without_words(op, words)
        if left == op:
            continue
        waits = row.state == OutState.QUEUED.value
        ending = {"state": OutState.PARKED.value, "ended_at": now, "reason": FORGOTTEN} if waits else {}
        statement = outbox.update().where(outbox.c.seq == row.seq).values(op=dump_operation(left), **ending)
        # Its name is that of the copy which a channel may have kept: that goes as a whole.
        found += Redaction(Erased((("replies", 1),), sent=((row.channel, OutboxId(row.id)),)), (statement,))
    return found


def without_words(op: OutboundOp, words: Words) -> OutboundOp:
    subject = op.path.subject
    path = op.path if subject is None else replace(op.path, subject=words.line(subject))
    path = path if path.opens is None else replace(path, opens=words.line(path.opens))
    match op:
        case Send() | Edit() | Ask():
            spans = words.tells(op.plain)
            if not spans and not words.tells(op.text):
                return replace(op, path=path)
            # Cutting a text in the platform's own form would break its marks.
            plain = without(op.plain, spans) if spans else words.line(op.text)
            return replace(op, path=path, text=plain, plain=plain)
        case OpenThread():
            return replace(op, path=path, title=words.line(op.title))
        case Delete() | React():
            return replace(op, path=path)
