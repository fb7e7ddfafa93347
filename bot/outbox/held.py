"""What is held after a restore until a person has looked: it may have been sent since, in the life that was lost."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import sqlalchemy as sa

from bot.audit.events import Actor, DeliveryParked, DeliveryReleased, Record
from bot.audit.recorder import Recorder
from bot.kernel.ids import OutboxId
from bot.kernel.values import dataclass
from bot.outbox.store import PARKED, QUEUED, WAITING
from bot.outbox.tables import OutState, outbox
from bot.storage.database import Tx

RESTORED = "restored"
_HELD = sa.and_(PARKED, outbox.c.reason == RESTORED)


@dataclass(frozen=True, slots=True)
class Held:
    id: OutboxId
    channel: str
    thread: str
    kind: str
    created_at: datetime


def hold(tx: Tx, recorder: Recorder, now: datetime) -> int:
    """Park whatever waits, or was about to be sent. Returns how many rows."""
    rows = tx.execute(
        outbox.update()
        .where(WAITING)
        .values(state=OutState.PARKED.value, reason=RESTORED, ended_at=now, boot=None)
        .returning(outbox.c.id, outbox.c.channel)
    ).all()
    for row in rows:
        recorder.record(tx, Record(DeliveryParked(OutboxId(row.id), row.channel, RESTORED)))
    return len(rows)


def withdraw(tx: Tx, recorder: Recorder, channel: str, address: str, reason: str, actor: Actor, now: datetime) -> int:
    """What waits to be sent to an account is not sent any more. Returns how many rows. What is being sent just now
    cannot be called back."""
    waits = sa.and_(WAITING, QUEUED, outbox.c.channel == channel, outbox.c.address == address)
    rows = tx.execute(
        outbox.update()
        .where(waits)
        .values(state=OutState.PARKED.value, reason=reason, ended_at=now, boot=None)
        .returning(outbox.c.id)
    ).all()
    for row in rows:
        recorder.record(tx, Record(DeliveryParked(OutboxId(row.id), channel, reason), actor))
    return len(rows)


def waiting_for(connection: sa.Connection, channel: str, address: str) -> int:
    """How many rows `withdraw` would stop."""
    waits = sa.and_(WAITING, QUEUED, outbox.c.channel == channel, outbox.c.address == address)
    return int(connection.execute(sa.select(sa.func.count()).where(waits)).scalar_one())


def held(connection: sa.Connection) -> list[Held]:
    """Oldest first."""
    kind = sa.func.json_extract(outbox.c.op, "$.kind").label("kind")
    rows = connection.execute(
        sa.select(outbox.c.id, outbox.c.channel, outbox.c.thread_key, kind, outbox.c.created_at)
        .where(_HELD)
        .order_by(outbox.c.seq)
    )
    return [Held(OutboxId(row.id), row.channel, row.thread_key, row.kind, row.created_at) for row in rows]


def release(tx: Tx, recorder: Recorder, ids: Collection[OutboxId], actor: Actor, now: datetime) -> list[OutboxId]:
    """Have held rows sent after all, as if they had only just been queued; whether they still may be is looked at
    again, as for every row. Returns which; others were not held."""
    rows = tx.execute(
        outbox.update()
        .where(outbox.c.id.in_(sorted(ids)), _HELD)
        .values(state=OutState.QUEUED.value, reason=None, ended_at=None, not_before=now)
        .returning(outbox.c.id, outbox.c.channel)
    ).all()
    for row in rows:
        recorder.record(tx, Record(DeliveryReleased(OutboxId(row.id), row.channel), actor))
    return [OutboxId(row.id) for row in rows]
