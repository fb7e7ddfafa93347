"""What was erased, beside the backups: ids and keyed hashes, never words.

A backup that was made before an erasure still holds what was erased. After a restore the erasures of this file are done
again (`bot.erasure.replay`). The file only grows, is written aside and put in place whole, and keeps what it held when
a database that knows less is opened beside it.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from bot.audit.events import KnowledgeRemoved
from bot.audit.tables import audit
from bot.kernel.errors import PermanentError, TransientError
from bot.memory.tables import erase_journal, tombstone
from bot.storage.database import Database

NAME = "erasures.jsonl"
Entry = Mapping[str, Any]
"""`{"what": "claim" | "message" | "session" | "person" | "document", "id", "at"}`, or
`{"what": "tombstone", "id": digest, "space", "of", "at"}`; `at` in microseconds since 1970 (UTC)."""


async def write_out(database: Database, path: Path) -> None:
    """Add what the database knows. Raises `TransientError` if the disk cannot take it now."""
    known = await database.read(entries, long=True)
    await asyncio.to_thread(_write, path, known)


def entries(connection: sa.Connection) -> list[Entry]:
    erased = connection.execute(
        sa.select(
            erase_journal.c.what, erase_journal.c.id, sa.type_coerce(erase_journal.c.at, sa.BigInteger).label("at")
        )
    )
    dead = connection.execute(
        sa.select(
            tombstone.c.digest.label("id"),
            tombstone.c.space,
            tombstone.c.of,
            sa.type_coerce(tombstone.c.forgotten_at, sa.BigInteger).label("at"),
        )
    )
    removed = connection.execute(
        sa.select(audit.c.payload, sa.type_coerce(audit.c.at, sa.BigInteger).label("at")).where(
            audit.c.type == KnowledgeRemoved.type
        )
    )
    documents = [(json.loads(row.payload), row.at) for row in removed]
    return [
        *({"what": "document", "id": told["document"], "at": at} for told, at in documents if not told["erased"]),
        *({"what": row.what, "id": row.id, "at": row.at} for row in erased),
        *({"what": "tombstone", "id": row.id, "space": row.space, "of": row.of, "at": row.at} for row in dead),
    ]


def read(path: Path) -> list[Entry]:
    """Raises `PermanentError` for a file that is not such a journal."""
    try:
        return [_checked(json.loads(line)) for line in path.read_text("utf-8").splitlines() if line]
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, TypeError) as error:
        raise PermanentError(f"{path} is not a journal of erasures: {error}") from error


def instant(entry: Entry) -> datetime:
    return datetime.fromtimestamp(entry["at"] / 1_000_000, UTC)


def _checked(entry: Any) -> Entry:
    if not (isinstance(entry["what"], str) and isinstance(entry["id"], str) and isinstance(entry["at"], int)):
        raise TypeError("an entry has what, id and at")
    return dict(entry)


def _write(path: Path, known: Iterable[Entry]) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lines = {json.dumps(each, sort_keys=True): each["at"] for each in (*read(path), *known)}
        unfinished = path.with_name(f"{path.name}.unfinished")
        with open(os.open(unfinished, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in sorted(lines, key=lambda each: (lines[each], each)))
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise TransientError(f"the journal of erasures {path} cannot be written: {error.strerror}") from error
