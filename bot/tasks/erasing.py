"""What goes of tasks because words are forgotten: the sentences of their payloads and errors that tell them."""

from __future__ import annotations

import json
from datetime import datetime

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
        left = {"payload": words.value(payload), "error": words.line(row.error) if row.error else row.error}
        if left != {"payload": payload, "error": row.error}:
            statement = task.update().where(task.c.seq == row.seq).values(**left)
            found += Redaction(Erased((("tasks", 1),)), (statement,))
    return found
