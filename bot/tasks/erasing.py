"""What goes of tasks because words are forgotten: the sentences of their payloads and errors that tell them."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from bot.kernel.erasing import Erased, Words
from bot.storage.redaction import Redaction
from bot.tasks.tables import task


def redact(connection: sa.Connection, words: Words, now: datetime) -> Redaction:
    """Of all tasks: they belong to no session."""
    raw = sa.type_coerce(task.c.payload, sa.Text)
    found = Redaction()
    for row in connection.execute(sa.select(task.c.seq, raw.label("payload"), task.c.error)):
        escaped = "\\u" in row.payload  # as JSON writes what is not ASCII
        if not escaped and not words.may_tell(row.payload) and not (row.error and words.may_tell(row.error)):
            continue
        payload = json.loads(row.payload)
        left = {"payload": _left(payload, words), "error": words.line(row.error) if row.error else row.error}
        if left != {"payload": payload, "error": row.error}:
            statement = task.update().where(task.c.seq == row.seq).values(**left)
            found += Redaction(Erased((("tasks", 1),)), (statement,))
    return found


def _left(value: Any, words: Words) -> Any:
    match value:
        case str():
            return words.line(value)
        case list():
            return [_left(each, words) for each in value]
        case dict():
            return {name: _left(each, words) for name, each in value.items()}
        case _:
            return value
