"""What became of the message of an occurrence: a fact apart from its run, copied from the outbox once it is known."""

from __future__ import annotations

from datetime import timedelta

import sqlalchemy as sa

from bot.kernel.clock import Clock
from bot.kernel.ids import JobId, OutboxId
from bot.outbox import fate
from bot.outbox.fate import Fate
from bot.scheduler.model import Delivery
from bot.scheduler.tables import occurrence
from bot.storage.database import Database, StoreBusyError, Tx
from bot.storage.metadata import exactly

LOOK_EVERY = timedelta(seconds=5)
AT_ONCE = 200
_DELIVERED = {
    Fate.SENT: Delivery.SENT,
    Fate.REFUSED: Delivery.FAILED,
    Fate.UNCERTAIN: Delivery.UNCERTAIN,
    Fate.UNKNOWN: Delivery.UNCERTAIN,
}


def under_way(connection: sa.Connection, job: JobId | None = None) -> bool:
    return bool(connection.execute(_queued(job).limit(1)).first())


def follow(tx: Tx, job: JobId | None = None) -> int:
    """Copy what has become known, of one job or of all. Returns how many."""
    known = 0
    for row in tx.execute(_queued(job).limit(AT_ONCE)).all():
        message = fate.of_message(tx.connection, OutboxId(row.outbox_id))
        delivery = _DELIVERED.get(message.fate)
        if delivery is None:
            continue
        note = row.note if delivery is Delivery.SENT else "; ".join(filter(None, (row.note, message.reason)))
        where = sa.and_(occurrence.c.job_id == row.job_id, occurrence.c.at == row.at)
        tx.execute(occurrence.update().where(where).values(delivery=delivery.value, note=note))
        known += 1
    return known


def _queued(job: JobId | None) -> sa.Select[tuple[str, object, str, str]]:
    query = (
        sa.select(occurrence.c.job_id, occurrence.c.at, occurrence.c.outbox_id, occurrence.c.note)
        .where(exactly(occurrence.c.delivery, Delivery.QUEUED.value), occurrence.c.outbox_id.is_not(None))
        .order_by(occurrence.c.at)
    )
    return query if job is None else query.where(occurrence.c.job_id == job)


async def run(database: Database, clock: Clock) -> None:
    """For ever."""
    while True:
        try:
            if await database.read(under_way):
                await database.write(follow)
        except StoreBusyError:
            pass
        await clock.sleep(LOOK_EVERY)
