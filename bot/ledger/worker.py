"""What happens to proposals by itself: silence ends them, what was approved is done, what was sent is followed.

One transaction a proposal, so that one that trips over a bug does not hold up the others. The tables are the queue: a
bell wakes the worker, a look at the tables finds everything. An action's effect and the move that says so are one
transaction, so a process that dies leaves an approved proposal (done after the next start), or one whose message stands
in the outbox (followed from there); there is nothing between.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

import sqlalchemy as sa

from bot.kernel.clock import Clock
from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.ids import OutboxId, ProposalId
from bot.kernel.retry import Backoff
from bot.kernel.supervise import Bell, Bug, attempt, to_the_end
from bot.ledger import store
from bot.ledger.model import ConflictError, Proposal, State
from bot.ledger.service import Ledger, Left
from bot.outbox import fate
from bot.outbox.fate import Fate
from bot.storage.database import Database, Tx

log = logging.getLogger(__name__)

IDLE_POLL = timedelta(minutes=1)
FOLLOW = timedelta(seconds=1)
"""How often what is being sent is looked at."""
BATCH = 50
MOST_BUGS = 3


class Worker:
    def __init__(
        self, database: Database, clock: Clock, ledger: Ledger, backoff: Backoff, changed: Callable[[], None]
    ) -> None:
        """`changed` is called after proposals have moved: somebody may have to be told."""
        self._database = database
        self._clock = clock
        self._ledger = ledger
        self._backoff = backoff
        self._changed = changed
        self._bell = Bell(clock)
        self._waiting: dict[ProposalId, datetime] = {}
        self._bugs: dict[ProposalId, int] = {}

    def ring(self) -> None:
        """Something was decided, and its transaction is committed."""
        self._bell.ring()

    async def run(self) -> None:
        """For ever."""
        failures = 0
        while True:
            try:
                wait = await self.once()
            except TransientError as error:
                failures += 1
                log.warning("the ledger waits for the store: %s", error.message)
                await self._clock.sleep(self._backoff.delay(failures))
                continue
            failures = 0
            await self._bell.wait(max(wait, timedelta(milliseconds=20)))

    async def once(self) -> timedelta:
        """Do what there is to do now; returns how long there is nothing more. Raises `TransientError`."""
        ended = await self._database.write(lambda tx: self._ledger.expire(tx, self._clock.now()))
        moved = bool(ended)
        for each in await self._database.read(store.executing):
            moved = await self._follow(each) or moved
        now = self._clock.now()
        self._waiting = {key: at for key, at in self._waiting.items() if at > now}
        for each in await self._database.read(lambda c: store.to_execute(c, BATCH, list(self._waiting))):
            moved = await self._execute(each) or moved
        if moved:
            self._changed()
        return await self._database.read(self._until)

    def _until(self, connection: sa.Connection) -> timedelta:
        now = self._clock.now()
        if store.to_execute(connection, 1, list(self._waiting)):
            return timedelta()
        wait = FOLLOW if store.executing(connection) else IDLE_POLL
        times = [*self._waiting.values()]
        expiry = store.next_expiry(connection)
        if expiry is not None:
            times.append(expiry)
        return min([wait, *(each - now for each in times)])

    async def _execute(self, seen: Proposal) -> bool:
        """Do one; True if it moved."""
        unit = self._database.write(lambda tx: self._begin(tx, seen.id))
        left = await attempt(to_the_end(unit, "ledger"), f"action {seen.action} of {seen.id}")
        if isinstance(left, Bug):
            return await self._stumbled(seen, left)
        if left is None:
            return False
        if left.until is not None:
            self._waiting[seen.id] = left.until
            return False
        if left.after is not None:
            left.after()
        return True

    def _begin(self, tx: Tx, of: ProposalId) -> Left | None:
        """As it is now: somebody may have withdrawn it, or the breaker returned it."""
        current = store.get(tx.connection, of)
        if current is None:
            return None
        try:
            return self._ledger.execute(tx, current, self._clock.now())
        except ConflictError:
            return None
        except PermanentError as error:
            return Left(self._ledger.broken(tx, current, self._clock.now(), error.message))

    async def _stumbled(self, seen: Proposal, bug: Bug) -> bool:
        """Nothing was done: its transaction was taken back."""
        self._bugs[seen.id] = self._bugs.get(seen.id, 0) + 1
        if self._bugs[seen.id] < MOST_BUGS:
            self._waiting[seen.id] = self._clock.now() + self._backoff.delay(self._bugs[seen.id])
            return False

        def unit(tx: Tx) -> bool:
            current = store.get(tx.connection, seen.id)
            if current is None or current.version != seen.version:
                return False
            self._ledger.broken(tx, current, self._clock.now(), f"internal error ({bug})")
            return True

        del self._bugs[seen.id]
        return await self._database.write(unit)

    async def _follow(self, seen: Proposal) -> bool:
        """What became of the message that carries it."""

        def unit(tx: Tx) -> bool:
            current = store.get(tx.connection, seen.id)
            if current is None or current.state is not State.EXECUTING:
                return False
            now, message = self._clock.now(), fate.of_message(tx.connection, OutboxId(current.result or ""))
            match message.fate:
                case Fate.UNDER_WAY:
                    return False
                case Fate.SENT:
                    self._ledger.arrived(tx, current, now)
                case Fate.REFUSED:
                    self._ledger.lost(tx, current, now, message.reason or "", uncertain=False)
                case Fate.UNCERTAIN | Fate.UNKNOWN:
                    self._ledger.lost(tx, current, now, message.reason or "its message is gone", uncertain=True)
            return True

        message = await self._database.read(lambda c: fate.of_message(c, OutboxId(seen.result or "")))
        return message.fate is not Fate.UNDER_WAY and await self._database.write(unit)
