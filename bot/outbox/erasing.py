"""What this room deletes of a session: what was said, and to whom. Rows stay as shells; what still waits to be sent is
not sent any more."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import sqlalchemy as sa

from bot.gateway.codec import dump_operation, load_operation
from bot.gateway.events import ReplyPath
from bot.gateway.operations import Ask, Delete, Edit, OpenThread, OutboundOp, React, Send
from bot.kernel.erasing import Erased, Span
from bot.kernel.ids import BlobHash, OutboxId
from bot.outbox.tables import OutState, outbox
from bot.storage.database import Tx

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
