"""Firing: who holds the gate claims what is due, has it done, and stores what came of it.

The effect of an occurrence (its message in the outbox, a proposal) is written in the transaction that ends it, under
the gate's token. So a process that dies before leaves nothing behind, and the next holder runs it again; one that was
paused past its lease finds its outcome refused.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from typing import Protocol

from bot.audit.events import Record
from bot.audit.events_ledger import SchedulerGateLost
from bot.audit.recorder import Recorder
from bot.kernel.clock import Clock
from bot.kernel.errors import OpenExecutiveError
from bot.kernel.supervise import Bell, Bug, Supervisor, attempt, to_the_end
from bot.kernel.values import dataclass
from bot.scheduler import gate, store
from bot.scheduler.catching_up import due
from bot.scheduler.model import Kind, Run
from bot.scheduler.store import MOST_ATTEMPTS, Claimed, Outcome
from bot.storage.database import Database, StoreBusyError, Tx

log = logging.getLogger(__name__)

AT_ONCE = 40
"""Jobs that one transaction claims: about 30 ms. What is left is claimed in the next one, at once."""
RENEW = gate.LEASE / 3


@dataclass(frozen=True, slots=True)
class Fired:
    """What came of an occurrence. `apply` is run in the transaction that ends it and says what was queued."""

    apply: Callable[[Tx], Outcome]
    after: Callable[[], None] | None = None
    """Called once that is committed: what was queued leaves."""


Handler = Callable[[Claimed], Awaitable[Fired]]
"""Does the work of an occurrence outside any transaction. Raises `TransientError` or `PermanentError`."""
Tell = Callable[[Tx, Claimed, Outcome], None]
"""Lets the owner of a job know that it failed, in the transaction that stores it."""


class Alarm(Protocol):
    """Rings at an instant: the clock that drives the worker."""

    def set(self, at: datetime | None) -> None: ...


class Worker:
    def __init__(
        self,
        database: Database,
        recorder: Recorder,
        clock: Clock,
        supervisor: Supervisor,
        holder: str,
        handlers: Mapping[Kind, Handler],
        tell: Tell,
        *,
        at_once: int = 4,
    ) -> None:
        self._database = database
        self._recorder = recorder
        self._clock = clock
        self._supervisor = supervisor
        self._holder = holder
        self._handlers = handlers
        self._tell = tell
        self._at_once = at_once
        self._bell = Bell(clock)
        self._waiting: list[Claimed] = []
        self._running = 0
        self._held = False

    def ring(self) -> None:
        """A job was added or changed, or an instant has come."""
        self._bell.ring()

    @property
    def holds(self) -> bool:
        """Whether this process fired last; another may hold the gate."""
        return self._held

    async def run(self, alarm: Alarm) -> None:
        """Fire what is due, for ever."""
        while True:
            try:
                claimed, next_at = await self.look()
            except StoreBusyError as error:
                log.warning("scheduler waits for the store: %s", error.message)
                claimed, next_at = [], None
            self._waiting += claimed
            self._start()
            if claimed:
                self._bell.ring()
            alarm.set(next_at)
            await self._bell.wait(RENEW)

    async def look(self) -> tuple[list[Claimed], datetime | None]:
        """Hold the gate and claim what is due; when the next instant comes. Nothing while another holds it."""

        def unit(tx: Tx) -> tuple[bool, list[Claimed], datetime | None]:
            now = self._clock.now()
            held = gate.hold(tx, self._recorder, self._holder, now)
            if held is None:
                return False, [], None
            claimed = store.take_over(tx, held.fence, now) if held.taken else []
            paused = store.stopped(tx.connection) is not None
            for job in store.due(tx.connection, now, AT_ONCE, upkeep_only=paused):
                found = due(job, now)
                if found is not None:
                    one = store.claim(tx, self._recorder, job, found, held.fence, now)
                    claimed += [one] if one is not None else []
            return True, claimed, store.next_due(tx.connection)

        self._held, claimed, next_at = await self._database.write(unit)
        return claimed, next_at

    async def stop(self) -> None:
        """Let another have the gate at once."""
        await self._database.write(lambda tx: gate.give_up(tx, self._holder, self._clock.now()))

    def _start(self) -> None:
        while self._waiting and self._running < self._at_once:
            claimed = self._waiting.pop(0)
            self._running += 1
            self._supervisor.job(f"firing:{claimed.job.id}", self._one(claimed))

    async def _one(self, claimed: Claimed) -> None:
        try:
            await self.fire(claimed)
        finally:
            self._running -= 1
            self._start()
            self._bell.ring()

    async def fire(self, claimed: Claimed) -> None:
        """Do one occurrence and store what came of it."""
        result = await self._done(claimed)
        if isinstance(result, str):
            await self._failed(claimed, result)
        else:
            await self._store(claimed, result)

    async def _done(self, claimed: Claimed) -> Fired | str:
        """What its handler made of it, or why that failed."""
        handler = self._handlers.get(claimed.job.kind)
        if handler is None:
            return "nothing handles this kind of schedule"
        if claimed.occurrence.attempts > MOST_ATTEMPTS:
            return "its process died each time"
        try:
            result = await attempt(handler(claimed), f"firing {claimed.job.id}")
        except OpenExecutiveError as error:
            return error.message
        return f"internal error ({result})" if isinstance(result, Bug) else result

    async def _store(self, claimed: Claimed, fired: Fired) -> None:

        def unit(tx: Tx) -> bool:
            if not store.is_ours(tx.connection, claimed):
                return False
            return store.end(tx, self._recorder, claimed, fired.apply(tx), self._clock.now())

        ended = await attempt(self._write(unit), f"outcome of {claimed.job.id}")
        if isinstance(ended, Bug):
            await self._failed(claimed, f"its outcome cannot be stored ({ended})")
        elif not ended:
            await self._too_late(claimed)
        elif fired.after is not None:
            fired.after()

    async def _failed(self, claimed: Claimed, note: str) -> None:
        outcome = Outcome(Run.FAILED, note=note)

        def unit(tx: Tx) -> bool:
            if not store.end(tx, self._recorder, claimed, outcome, self._clock.now()):
                return False
            self._tell(tx, claimed, outcome)
            return True

        if not await self._write(unit):
            await self._too_late(claimed)

    async def _too_late(self, claimed: Claimed) -> None:
        """Another has taken the gate: this outcome does not count."""
        log.warning("the outcome of schedule %s came too late and is dropped", claimed.job.id)
        lost = SchedulerGateLost(self._holder, claimed.occurrence.fence, 1)
        await self._database.write(lambda tx: self._recorder.record(tx, Record(lost, gate.ACTOR, claimed.job.session)))

    async def _write(self, unit: Callable[[Tx], bool]) -> bool:
        while True:
            try:
                return await to_the_end(self._database.write(unit), "firing-outcome")
            except StoreBusyError as error:
                log.warning("outcome of a schedule waits for the store: %s", error.message)
                await self._clock.sleep(timedelta(seconds=2))
