"""Writing: every record joins the transaction of the change it tells of. A failed audit write fails the change."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from datetime import datetime
from enum import StrEnum

import sqlalchemy as sa

from bot.audit.chain import GENESIS, row_hash, text_mac
from bot.audit.events import Record, payload_fields
from bot.audit.tables import audit, content
from bot.audit.vocabulary import VOCABULARY
from bot.kernel.clock import Clock
from bot.kernel.ids import new_id
from bot.kernel.logs import Redactor
from bot.kernel.values import dataclass
from bot.storage.database import Database, Tx
from bot.storage.metadata import UtcDateTime

_INSERT = audit.insert()
_INSERT_TEXT = content.insert()
_INSTANT = UtcDateTime()


@dataclass(frozen=True, slots=True)
class Head:
    """The newest row of the chain."""

    id: int
    hash: str


class UndeclaredEventError(TypeError):
    """The payload's type does not stand in the vocabulary."""


class Recorder:
    """The one writer of the audit table. Rows are chained when the transaction is about to commit."""

    def __init__(self, clock: Clock, key: bytes, redactor: Redactor, head: Head) -> None:
        self._clock = clock
        self._key = key
        self._redactor = redactor
        self._head = head
        self._next = head
        self._types: list[str] = []
        self._heard: list[Callable[[Sequence[str]], None]] = []

    @classmethod
    async def open(cls, database: Database, clock: Clock, key: bytes, redactor: Redactor) -> Recorder:
        recorder = cls(clock, key, redactor, await database.read(read_head))
        database.add_hook(recorder)
        return recorder

    @property
    def head(self) -> Head:
        return self._head

    def listen(self, hear: Callable[[Sequence[str]], None]) -> None:
        """`hear` is told the types of what was written, after each commit."""
        self._heard.append(hear)

    def record(self, tx: Tx, record: Record) -> None:
        """Add a record to the transaction. Raises `UndeclaredEventError`."""
        if VOCABULARY.get(record.payload.type) is not type(record.payload):
            raise UndeclaredEventError(f"{type(record.payload).__name__} is not in the audit vocabulary")
        tx.defer(self, (record, self._clock.now()))

    def flush(self, tx: Tx, items: Sequence[tuple[Record, datetime]]) -> None:
        rows, texts = [], []
        head = self._head
        for record, at in items:
            row, text = self._row(head.id + 1, record, at)
            digest = row_hash(self._key, head.hash, row)
            rows.append({**row, "at": at, "previous": head.hash, "hash": digest})
            head = Head(head.id + 1, digest)
            if text is not None:
                texts.append(text)
        if texts:
            tx.execute(_INSERT_TEXT, texts)
        tx.execute(_INSERT, rows)
        self._next = head
        self._types += [record.payload.type for record, _ in items]

    def committed(self) -> None:
        self._head = self._next
        types, self._types = self._types, []
        for hear in self._heard if types else ():
            hear(types)

    def rolled_back(self) -> None:
        self._next = self._head
        self._types = []

    def _row(self, number: int, record: Record, at: datetime) -> tuple[dict[str, object], dict[str, object] | None]:
        text: dict[str, object] | None = None
        mac: str | None = None
        if record.text is not None:
            clean, salt = self._redactor.clean(record.text), os.urandom(16)
            mac = text_mac(salt, clean)
            text = {"id": new_id(at), "salt": salt, "text": clean, "erased_at": None}
        fields = _storable(payload_fields(record.payload), self._redactor)
        row: dict[str, object] = {
            "id": number,
            "at": stored_instant(at),
            "type": record.payload.type,
            "actor_kind": record.actor.kind,
            "actor": record.actor.id,
            "session_id": record.session,
            "turn_id": record.turn,
            "payload": json.dumps(fields, separators=(",", ":"), sort_keys=True),
            "content_id": text["id"] if text else None,
            "content_mac": mac,
        }
        return row, text


def read_head(connection: sa.Connection) -> Head:
    row = connection.execute(sa.select(audit.c.id, audit.c.hash).order_by(audit.c.id.desc()).limit(1)).first()
    return Head(row.id, row.hash) if row else Head(0, GENESIS)


def stored_instant(at: datetime) -> int | None:
    return _INSTANT.process_bind_param(at, None)  # type: ignore[arg-type]


def _storable(value: object, redactor: Redactor) -> object:
    """A payload's value for JSON. Secrets are masked string by string: written as JSON first, a secret with a quote or
    an accent would no longer be recognised."""
    match value:
        case StrEnum():
            return value.value
        case str():
            return redactor.clean(value)
        case None | bool() | int():
            return value
        case dict():
            return {name: _storable(each, redactor) for name, each in value.items()}
        case tuple():
            return [_storable(each, redactor) for each in value]
        case _:
            raise TypeError(f"{type(value).__name__} has no place in an audit payload")
