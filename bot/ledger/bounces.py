"""A message that was sent and came back (mail: a bounce): the proposal that it carried says so from then on, once, and
whoever asked for it and whoever said yes are told.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from bot.kernel.ids import OutboxId
from bot.ledger import store
from bot.ledger.model import State
from bot.ledger.service import Ledger
from bot.outbox import fate
from bot.outbox import store as outbox
from bot.outbox.fate import Fate
from bot.outbox.store import Row
from bot.storage.database import Tx
from bot.tasks import store as tasks

KIND = "ledger.bounced"
"""Task: one person is told that it came back."""
LONGEST_DETAIL = 200


class Bounces:
    def __init__(self, ledger: Ledger, ring: Callable[[], None]) -> None:
        """`ring` wakes whoever runs tasks."""
        self._ledger = ledger
        self._ring = ring
        self._queued = False

    def came_back(self, tx: Tx, row: Row, detail: str, now: datetime) -> None:
        """The far end gave `row`, which was sent, up. What it says again counts once."""
        if not outbox.came_back(tx, row.id):
            return
        of = store.by_result(tx.connection, row.reply_id)
        if of is None:
            return
        if of.state is State.EXECUTING and fate.of_message(tx.connection, OutboxId(row.reply_id)).fate is Fate.SENT:
            of = self._ledger.arrived(tx, of, now)
        if of.state not in (State.EXECUTING, State.EXECUTED):
            return
        self._ledger.came_back(tx, of, now, detail)
        for person in dict.fromkeys(each for each in (of.asked_by, of.decided_by) if each is not None):
            payload = {"person": person, "proposal": of.id, "to": row.address, "detail": detail[:LONGEST_DETAIL]}
            tasks.enqueue(tx, KIND, f"{row.id}:{person}", payload, now, lane=f"{KIND}:{person}")
        self._queued = True

    def ring(self) -> None:
        """After the commit."""
        if self._queued:
            self._queued = False
            self._ring()
