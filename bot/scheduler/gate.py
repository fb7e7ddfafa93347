"""The gate: a lease that one process holds, with a token that counts up whenever another one takes it.

Who fires checks the lease in the transaction that claims; who stores an outcome checks the token in the transaction
that stores it. A process that was paused past its lease, or whose clock jumped, therefore cannot store what another has
taken over: its outcome is refused.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert as upsert

from bot.audit.events import Actor, Record
from bot.audit.events_ledger import SchedulerGateTaken
from bot.audit.recorder import Recorder
from bot.kernel.values import dataclass
from bot.scheduler.tables import gate
from bot.storage.database import Tx

NAME = "scheduler"
LEASE = timedelta(seconds=30)
ACTOR = Actor("system", "scheduler")


@dataclass(frozen=True, slots=True)
class Held:
    fence: int
    until: datetime
    taken: bool
    """Just now, from another or from nobody."""


def hold(tx: Tx, recorder: Recorder, holder: str, now: datetime) -> Held | None:
    """Take the gate if it is free or its lease is over, or prolong one's own; None while another holds it."""
    row = tx.execute(sa.select(gate).where(gate.c.name == NAME)).first()
    until = now + LEASE
    if row is not None and row.holder == holder and row.until > now:
        tx.execute(gate.update().where(gate.c.name == NAME).values(until=until))
        return Held(row.fence, until, taken=False)
    if row is not None and row.until > now:
        return None
    fence = 1 if row is None else row.fence + 1
    values = {"holder": holder, "fence": fence, "until": until}
    tx.execute(upsert(gate).values(name=NAME, **values).on_conflict_do_update(index_elements=["name"], set_=values))
    recorder.record(tx, Record(SchedulerGateTaken(holder, fence), ACTOR))
    return Held(fence, until, taken=True)


def holds(connection: sa.Connection, fence: int) -> bool:
    """Whether the token is still the newest. What it guards may be stored even after the lease, as long as nobody else
    has taken the gate."""
    current = connection.execute(sa.select(gate.c.fence).where(gate.c.name == NAME)).scalar()
    return current == fence


def left(connection: sa.Connection) -> datetime | None:
    """Until when, at the latest, whoever held the gate last was there; None if nobody ever did."""
    until: datetime | None = connection.execute(sa.select(gate.c.until).where(gate.c.name == NAME)).scalar()
    return until


def give_up(tx: Tx, holder: str, now: datetime) -> None:
    """At a clean stop: another may take it at once."""
    tx.execute(gate.update().where(gate.c.name == NAME, gate.c.holder == holder).values(until=now))
