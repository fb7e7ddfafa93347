"""What was said into a thread as it reads now, for a page that is drawn from these rows: edits and deletions are
carried out, what was not sent is not there."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import sqlalchemy as sa

from bot.gateway.codec import load_operation
from bot.gateway.operations import Ask, Delete, Edit, OutboundOp, Send
from bot.kernel.ids import OutboxId, TurnId
from bot.kernel.scope import PersonScope
from bot.kernel.values import dataclass
from bot.outbox import growth
from bot.outbox.tables import OutState, outbox
from bot.people.tables import handle

_SAID = (OutState.CLAIMED.value, OutState.UNCERTAIN.value, OutState.SENT.value)
"""What is claimed is as good as there: it needs nobody's help to arrive."""
_kind = sa.func.json_extract(outbox.c.op, "$.kind")


@dataclass(frozen=True, slots=True)
class Answer:
    id: OutboxId
    turn: TurnId | None
    op: Send | Ask
    """As it reads now; an answered question has no choices."""
    edited: bool
    at: datetime


def in_thread(
    connection: sa.Connection, scope: PersonScope, thread: str, limit: int, before: str | None = None
) -> list[Answer]:
    """To this person alone, the newest first; `before` is an id, which sorts by time."""
    rows = connection.execute(
        sa.select(outbox.c.id, outbox.c.turn_id, outbox.c.op, outbox.c.created_at)
        .where(
            *_of(scope, thread),
            outbox.c.id < before if before is not None else sa.true(),
            _kind.in_(("send", "ask")),
        )
        .order_by(outbox.c.id.desc())
        .limit(limit)
    ).all()
    said = [(row, load_operation(row.op)) for row in rows]
    changes = _changes(connection, scope, thread, [row.id for row, _ in said]) if said else {}
    found: list[Answer] = []
    for row, op in said:
        change = changes.get(row.id)
        if isinstance(change, Delete) or not isinstance(op, Send | Ask):
            continue
        shown: Send | Ask = op
        if isinstance(change, Edit):
            shown = Send(op.path, change.text, change.plain, getattr(op, "files", ()))
        turn = TurnId(row.turn_id) if row.turn_id else None
        found.append(Answer(OutboxId(row.id), turn, shown, change is not None, row.created_at))
    return found


def one(connection: sa.Connection, scope: PersonScope, thread: str, wanted: OutboxId) -> OutboundOp | None:
    """As it was planned."""
    op = connection.execute(sa.select(outbox.c.op).where(*_of(scope, thread), outbox.c.id == wanted)).scalar()
    return None if op is None else load_operation(op)


def _of(scope: PersonScope, thread: str) -> tuple[sa.ColumnElement[bool], ...]:
    owned = sa.select(handle.c.address).where(handle.c.channel == outbox.c.channel, handle.c.person_id == scope.person)
    return (outbox.c.thread_key == thread, outbox.c.state.in_(_SAID), outbox.c.address.in_(owned))


def _changes(
    connection: sa.Connection, scope: PersonScope, thread: str, ids: Collection[str]
) -> dict[str, Edit | Delete]:
    """The newest change of each, by the row that it changes."""
    rows = connection.execute(
        sa.select(outbox.c.op)
        .where(
            *_of(scope, thread),
            outbox.c.id > min(ids),
            _kind.in_(("edit", "delete")),
        )
        .order_by(outbox.c.id)
    )
    found: dict[str, Edit | Delete] = {}
    for row in rows:
        op = load_operation(row.op)
        if isinstance(op, Edit | Delete):
            found[growth.own_target(op) or op.target.rpartition(":")[2]] = op
    return found
