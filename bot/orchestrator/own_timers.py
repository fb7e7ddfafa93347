"""What the daemon does by itself at a time of its own, for whoever wants to see all that will fire: its regular upkeep,
which is durable tasks, and the next approval to run out. None of it is a schedule: nobody changes it here, and stopping
schedules does not stop it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import sqlalchemy as sa

from bot.kernel.values import dataclass
from bot.ledger import store as ledger
from bot.tasks import store as tasks

UPKEEP: Mapping[str, str] = {
    "audit.verify": "the audit's chain is checked",
    "backup.nightly": "the nightly backup",
    "erasure.retention": "what is older than it may be kept is erased",
    "knowledge.check": "documents are compared with their search",
    "knowledge.corpus": "the built-in notes are taken in",
    "knowledge.watch": "watched folders are looked through",
    "memory.check": "memories are compared with their search",
    "memory.consolidate": "initiatives that say the same are merged",
    "memory.preflight": "memories are compared with the messages that they rest on",
    "upkeep": "small upkeep of the store",
}
"""Kinds of tasks that queue themselves again, in words."""
EXPIRY = "approvals"


@dataclass(frozen=True, slots=True)
class Timer:
    name: str
    title: str
    next_at: datetime


def own_timers(connection: sa.Connection) -> list[Timer]:
    """The next to fire first."""
    found = [Timer(kind, UPKEEP[kind], at) for kind, at in tasks.next_of(connection, UPKEEP).items()]
    expiry = ledger.next_expiry(connection)
    if expiry is not None:
        found.append(Timer(EXPIRY, "the next approval ends as not answered", expiry))
    return sorted(found, key=lambda each: each.next_at)
