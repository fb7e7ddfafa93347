"""What goes of schedules because words are forgotten: the sentences of their titles, payloads and notes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import sqlalchemy as sa

from bot.audit.events import Actor
from bot.audit.recorder import Recorder
from bot.kernel.erasing import FORGOTTEN, Erased, Words
from bot.people.model import Person
from bot.scheduler import store
from bot.scheduler.model import JobState
from bot.scheduler.tables import job, occurrence
from bot.storage.database import Tx
from bot.storage.redaction import Redaction

ACTOR = Actor("system", "erasure")


def of_owner(recorder: Recorder) -> Callable[[Tx, Person, datetime], Erased]:
    """Removes what somebody had scheduled, with its words."""

    def erase(tx: Tx, owner: Person, now: datetime) -> Erased:
        found = store.of_owner(tx.connection, owner.id, list(JobState))
        for each in found:
            if each.state is not JobState.REMOVED:
                each = store.change(tx, recorder, each, "removed", ACTOR, now)
            words = {"title": FORGOTTEN, "payload": {"text": FORGOTTEN}, "session_id": None, "paused_because": None}
            tx.execute(job.update().where(job.c.id == each.id).values(version=each.version + 1, **words))
            tx.execute(occurrence.update().where(occurrence.c.job_id == each.id).values(note=None))
        return Erased((("schedules", len(found)),))

    return erase


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
