"""Reading the audit, within a scope."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from bot.audit.tables import audit, content
from bot.kernel.ids import SessionId, TurnId
from bot.kernel.values import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    id: int
    at: datetime
    type: str
    actor_kind: str
    actor: str
    session: str | None
    turn: str | None
    payload: Mapping[str, object]
    text: str | None
    erased: bool


def of_session(connection: sa.Connection, session: SessionId, after: int = 0, limit: int = 500) -> list[Entry]:
    """A session's events in order, `after` an id, at most `limit`."""
    return _read(connection, sa.and_(audit.c.session_id == session, audit.c.id > after), limit, newest=False)


def of_turn(connection: sa.Connection, turn: TurnId, type_: str) -> list[Entry]:
    """A turn's events of one type, in order, without texts."""
    where = sa.and_(audit.c.turn_id == turn, audit.c.type == type_)
    return [_without_text(entry) for entry in _read(connection, where, 500, newest=False)]


def newest(connection: sa.Connection, limit: int, types: tuple[str, ...] = ()) -> list[Entry]:
    """The newest events of the whole daemon (of some types), oldest first. For the operator: no texts."""
    where = audit.c.type.in_(types) if types else sa.true()
    return [_without_text(entry) for entry in _read(connection, where, limit, newest=True)]


def described(entry: Entry) -> dict[str, object]:
    """As JSON: every field."""
    return {
        "id": entry.id,
        "at": entry.at.isoformat(),
        "type": entry.type,
        "actor": f"{entry.actor_kind}:{entry.actor}",
        "session": entry.session,
        "turn": entry.turn,
        "payload": dict(entry.payload),
        "text": entry.text,
        "erased": entry.erased,
    }


def _read(connection: sa.Connection, where: sa.ColumnElement[bool], limit: int, *, newest: bool) -> list[Entry]:
    statement = (
        sa.select(audit, content.c.text.label("text"), content.c.erased_at)
        .select_from(audit.outerjoin(content, content.c.id == audit.c.content_id))
        .where(where)
        .order_by(audit.c.id.desc() if newest else audit.c.id)
        .limit(limit)
    )
    rows = connection.execute(statement).all()
    entries = [entry_of(row) for row in rows]
    return entries[::-1] if newest else entries


def entry_of(row: Any) -> Entry:
    """A row of the audit table, with the `text` and `erased_at` of its words."""
    return Entry(
        row.id,
        row.at,
        row.type,
        row.actor_kind,
        row.actor,
        row.session_id,
        row.turn_id,
        json.loads(row.payload),
        row.text,
        row.erased_at is not None,
    )


def _without_text(entry: Entry) -> Entry:
    return replace(entry, text=None)
