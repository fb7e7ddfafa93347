"""What goes of schedules because words are forgotten: the sentences of their titles, payloads and notes."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from bot.kernel.erasing import FORGOTTEN, Erased, Words
from bot.scheduler.tables import job, occurrence
from bot.storage.redaction import Redaction


def redact(connection: sa.Connection, words: Words, now: datetime) -> Redaction:
    raw = sa.type_coerce(job.c.payload, sa.Text).label("raw")
    found = Redaction()
    for row in connection.execute(sa.select(job.c.id, job.c.title, job.c.payload, job.c.version, raw)):
        if not words.may_tell(row.raw) and not words.may_tell(row.title) and "\\u" not in row.raw:
            continue
        left = {"title": words.line(row.title) or FORGOTTEN, "payload": words.value(row.payload)}
        if left != {"title": row.title, "payload": row.payload}:
            change = job.update().where(job.c.id == row.id).values(**left, version=row.version + 1)
            found += Redaction(Erased((("schedules", 1),)), (change,))
    notes = sa.select(occurrence.c.job_id, occurrence.c.at, occurrence.c.note).where(occurrence.c.note.is_not(None))
    for row in connection.execute(notes):
        if words.may_tell(row.note) and (note := words.line(row.note)) != row.note:
            this = sa.and_(occurrence.c.job_id == row.job_id, occurrence.c.at == row.at)
            found += Redaction(Erased((("schedules", 1),)), (occurrence.update().where(this).values(note=note),))
    return found
