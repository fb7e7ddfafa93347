"""Checking the chain from its first row to its last."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from bot.audit.chain import GENESIS, row_hash, text_mac
from bot.audit.recorder import Head
from bot.audit.tables import audit, content
from bot.kernel.values import dataclass

PAGE = 2_000
_HASHED = ("id", "type", "actor_kind", "actor", "session_id", "turn_id", "payload", "content_id", "content_mac")


@dataclass(frozen=True, slots=True)
class Verdict:
    """`broken` tells where the chain does not hold, in words; empty means sound. `erased` counts texts that were
    erased on purpose, which breaks nothing."""

    rows: int
    erased: int
    head: Head
    broken: tuple[str, ...]


def verify(connection: sa.Connection, key: bytes, expected: Head | None = None) -> Verdict:
    """Recompute every hash. `expected` is a head noted earlier (a log line, a backup): rows cut off at the end are
    seen only against such a head."""
    broken: list[str] = []
    head = Head(0, GENESIS)
    erased = 0
    noted: str | None = GENESIS if expected is not None and expected.id == 0 else None
    while rows := _page(connection, head.id):
        for row in rows:
            if row.id != head.id + 1:
                broken.append(f"rows {head.id + 1} to {row.id - 1} are missing")
            if row.previous != head.hash and row.id == head.id + 1:
                broken.append(f"row {row.id} does not continue row {head.id}")
            fields = {name: getattr(row, name) for name in _HASHED} | {"at": row.instant}
            if row_hash(key, row.previous, fields) != row.hash:
                broken.append(f"row {row.id} was changed")
            if row.content_id is not None:
                state = _text_state(row)
                erased += state == "erased"
                if state not in ("whole", "erased"):
                    broken.append(f"the text of row {row.id} {state}")
            head = Head(row.id, row.hash)
            if expected is not None and expected.id == row.id:
                noted = row.hash
    if expected is not None and noted != expected.hash:
        broken.append(f"row {expected.id} is not the one that was noted: rows were cut off or replaced")
    return Verdict(head.id, erased, head, tuple(broken))


def verify_file(path: Path, key: bytes, noted: Head) -> Verdict:
    """As `verify`, on a connection of its own. For a thread: a long chain must not hold up the daemon."""
    engine = sa.create_engine(f"sqlite:///{path}", poolclass=sa.pool.NullPool)
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA query_only = ON")
            return verify(connection, key, noted)
    finally:
        engine.dispose()


def stands(connection: sa.Connection, key: bytes, head: Head) -> bool:
    """Whether the row that was written last is there as it was written. Tells nothing of the rows before it."""
    if head.id == 0:
        return True
    rows = _page(connection, head.id - 1, 1)
    if not rows or rows[0].id != head.id:
        return False
    fields = {name: getattr(rows[0], name) for name in _HASHED} | {"at": rows[0].instant}
    return bool(rows[0].hash == head.hash == row_hash(key, rows[0].previous, fields))


def _page(connection: sa.Connection, after: int, limit: int = PAGE) -> Sequence[Any]:
    statement = (
        sa.select(
            *(audit.c[name] for name in _HASHED),
            sa.type_coerce(audit.c.at, sa.BigInteger).label("instant"),
            audit.c.previous,
            audit.c.hash,
            content.c.id.label("text_id"),
            content.c.salt,
            content.c.text.label("text"),
            content.c.erased_at,
        )
        .select_from(audit.outerjoin(content, content.c.id == audit.c.content_id))
        .where(audit.c.id > after)
        .order_by(audit.c.id)
        .limit(limit)
    )
    return connection.execute(statement).all()


def _text_state(row: Any) -> str:
    if row.text_id is None:
        return "is gone without having been erased"
    if row.erased_at is not None:
        return "erased"
    return "whole" if text_mac(row.salt, row.text) == row.content_mac else "was changed"
