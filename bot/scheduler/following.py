"""What became of the message of an occurrence: a fact apart from its run, copied from the outbox once it is known."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

import sqlalchemy as sa

from bot.kernel.clock import Clock
from bot.kernel.ids import JobId, OutboxId
from bot.kernel.values import dataclass
from bot.outbox import fate
from bot.outbox.fate import Fate
from bot.scheduler.model import Delivery
from bot.scheduler.tables import occurrence
from bot.storage.database import Database, StoreBusyError, Tx
from bot.storage.metadata import exactly

log = logging.getLogger(__name__)

LOOK_EVERY = timedelta(seconds=5)
AT_ONCE = 200
_DELIVERED = {
    Fate.SENT: Delivery.SENT,
    Fate.REFUSED: Delivery.FAILED,
    Fate.UNCERTAIN: Delivery.UNCERTAIN,
    Fate.UNKNOWN: Delivery.UNCERTAIN,
}


# Asked every few seconds for ever: built once.
_OPEN = sa.select(sa.exists().where(exactly(occurrence.c.delivery, Delivery.QUEUED.value)))


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


@dataclass(frozen=True, slots=True)
class Awaited:
    """An occurrence whose answer is being written by somebody else."""

    job: JobId
    at: datetime


def awaited(connection: sa.Connection) -> list[Awaited]:
    rows = connection.execute(
        sa.select(occurrence.c.job_id, occurrence.c.at)
        .where(exactly(occurrence.c.delivery, Delivery.QUEUED.value), occurrence.c.outbox_id.is_(None))
        .order_by(occurrence.c.at)
        .limit(AT_ONCE)
    )
    return [Awaited(JobId(row.job_id), row.at) for row in rows]


def answered(tx: Tx, of: Awaited, outbox: OutboxId | None, delivery: Delivery, note: str | None) -> None:
    """Its answer is queued (`outbox`), or there will be none."""
    where = sa.and_(occurrence.c.job_id == of.job, occurrence.c.at == of.at)
    tx.execute(occurrence.update().where(where).values(outbox_id=outbox, delivery=delivery.value, note=note))


async def run(database: Database, clock: Clock, before: Callable[[Tx], None]) -> None:
    """For ever. `before`: looks what became of those that are awaited, and calls `answered`."""

    def unit(tx: Tx) -> None:
        before(tx)
        follow(tx)

    while True:
        try:
            if await database.read(lambda c: c.execute(_OPEN).scalar()):
                await database.write(unit)
        except StoreBusyError as error:
            log.warning("what became of scheduled messages is looked at later: %s", error.message)
        await clock.sleep(LOOK_EVERY)
