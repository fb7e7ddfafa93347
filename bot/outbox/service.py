"""Queueing replies, and the worker that sends them.

A thread is a lane: part n+1 waits for part n, a row that is not due holds those behind it, and threads do not wait for
each other. `queue` belongs into the transaction that decided the reply; what it returns is handed to `sending` after
the commit, so that the first part leaves without another transaction in between.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TypeVar

import sqlalchemy as sa

from bot.audit.events import (
    DeliveryFailed,
    DeliveryParked,
    DeliverySent,
    DeliveryUncertain,
    Payload,
    Record,
)
from bot.audit.recorder import Recorder
from bot.gateway.channel import Channel
from bot.gateway.operations import Delete, Edit, OutboundOp, Receipt, Reply, Send
from bot.kernel.clock import Clock
from bot.kernel.errors import TransientError
from bot.kernel.ids import BootId, OutboxId
from bot.kernel.retry import Backoff
from bot.kernel.supervise import Bell, Bug, Supervisor, attempt, to_the_end
from bot.kernel.values import dataclass
from bot.outbox import growth, store
from bot.outbox.store import NOT_READY, Origin, Row
from bot.outbox.tables import OutState, Policy
from bot.outbox.worker import (
    NOT_ARRIVED,
    Arrived,
    Broken,
    Doubtful,
    Gone,
    Later,
    Never,
    NotTried,
    Outcome,
    attempt_send,
    look_up,
)
from bot.storage.database import Database, Tx

log = logging.getLogger(__name__)

T = TypeVar("T")

GIVE_UP_AFTER = timedelta(hours=72)
MAX_BUGS = 3
NOT_READY_WAIT = timedelta(seconds=60)
IDLE_POLL = timedelta(seconds=30)
BATCH = 200
PLANNED_AT_ONCE = 2_000
"""Characters of a reply that are planned on the event loop."""

Guard = Callable[[sa.Connection, Row], str | None]
"""Looks again at a row that is about to be claimed; returns why it must not be sent, in a short name
(`audience_changed`): it goes into the audit as it stands."""


@dataclass(frozen=True, slots=True)
class Queued:
    ids: tuple[OutboxId, ...]
    first: Row | None
    """Claimed already, if the thread was free."""


class Outbox:
    def __init__(
        self,
        database: Database,
        recorder: Recorder,
        clock: Clock,
        supervisor: Supervisor,
        channels: Mapping[str, Channel],
        boot: BootId,
        guard: Guard,
        backoff: Backoff,
        dress: Callable[[OutboundOp], OutboundOp] = lambda op: op,
    ) -> None:
        """`dress`: adds, as it leaves, what must not stand in the file."""
        self._dress = dress
        self._database = database
        self._recorder = recorder
        self._clock = clock
        self._supervisor = supervisor
        self._channels = channels
        self._boot = boot
        self._guard = guard
        self._backoff = backoff
        self._bell = Bell(clock)
        self._idle = asyncio.Event()
        self._idle.set()
        self._sending = 0

    def queue(self, tx: Tx, channel: str, reply: Reply, origin: Origin, policy: Policy = Policy.RESEND_ONCE) -> Queued:
        """Plan a reply and queue its parts in this transaction."""
        return self.queue_operations(tx, channel, self._channels[channel].plan(reply), origin, policy)

    async def plan(self, channel: str, reply: Reply) -> Sequence[OutboundOp]:
        """Plan a reply before the transaction: cutting a long one takes time that the event loop does not have."""
        if len(reply.markdown) <= PLANNED_AT_ONCE:
            return self._channels[channel].plan(reply)
        return await asyncio.to_thread(self._channels[channel].plan, reply)

    async def ref_of(self, row_id: OutboxId) -> str | None:
        """What the platform calls the message that a row became; None while it is not sent."""
        return await self._database.read(lambda c: store.ref_of(c, row_id))

    def queue_operations(
        self,
        tx: Tx,
        channel: str,
        ops: Sequence[OutboundOp],
        origin: Origin,
        policy: Policy = Policy.RESEND_ONCE,
    ) -> Queued:
        if not ops:
            raise ValueError(f"{channel} planned nothing for a reply that has text")
        ids, first = store.insert(
            tx, channel, ops, origin, policy, self._boot, self._clock.now(), may_leave=self._can_send(channel)
        )
        return Queued(tuple(ids), first)

    def sending(self, queued: Iterable[Queued]) -> None:
        """After the commit: send what was claimed in it."""
        for each in queued:
            if each.first is not None:
                self._drive(each.first)

    def recover(self, tx: Tx) -> int:
        """At start: what an older process was sending is in doubt. Returns how many rows."""
        return store.void_older_boots(tx, self._boot)

    async def channel_ready(self, channel: str) -> None:
        """A channel can send again."""
        await self._write(lambda tx: store.wake_channel(tx, channel, self._clock.now()))
        self._bell.ring()

    async def run(self) -> None:
        """Send what is due, for ever. Rows in doubt come first."""
        for row in await self._patiently(lambda: self._database.read(lambda c: store.in_doubt(c, self._boot))):
            self._drive(row)
        while True:
            wait = await self._patiently(self._claim_due)
            if wait is not None:
                await self._bell.wait(max(wait, timedelta(milliseconds=20)))

    async def _claim_due(self) -> timedelta | None:
        """Claim the next row of every thread where one is due. Returns how long there is nothing more to do; None if
        there may be more at once. A thread whose row trips over a bug does not hold up the others."""
        now = self._clock.now()
        resting = [name for name in self._channels if not self._can_send(name)]
        threads = await self._database.read(lambda c: store.due_threads(c, now, BATCH, resting))
        # Together, so that they share a commit.
        claims = await asyncio.gather(
            *(attempt(self._claim(*thread), f"claim in {thread[0]}") for thread in threads), return_exceptions=True
        )
        for claim in claims:
            if isinstance(claim, BaseException):
                raise claim
        stuck = sum(isinstance(claim, Bug) for claim in claims)
        if len(threads) - stuck == BATCH:
            return None
        due = await self._database.read(lambda c: store.next_due(c, now))
        return IDLE_POLL if due is None else min(IDLE_POLL, due - now)

    async def drain(self, within: timedelta) -> bool:
        """Wait until nothing is being sent, `within` at most. True if so."""
        try:
            async with asyncio.timeout(within.total_seconds()):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True

    def _can_send(self, channel: str) -> bool:
        """A row is claimed only then: a claim that a dying process leaves behind counts as tried."""
        known = self._channels.get(channel)
        return known is None or known.health().sending

    async def _claim(self, thread: str, channel: str) -> None:
        row = await self._database.write(lambda tx: self._claim_checked(tx, thread, channel))
        if row is not None:
            self._drive(row)

    def _claim_checked(self, tx: Tx, thread: str, channel: str) -> Row | None:
        """Claim the next row that may still be sent; those that may not are parked on the way."""
        if not self._can_send(channel):
            return None
        while (row := store.claim_next(tx, thread, self._boot, self._clock.now())) is not None:
            reason = self._guard(tx.connection, row)
            if reason is None:
                return row
            self._park(tx, row, reason)
        return None

    def _drive(self, row: Row) -> None:
        self._enter()
        self._supervisor.job(f"send:{row.thread_key}", self._lane(row))

    async def _lane(self, row: Row) -> None:
        try:
            current: Row | None = row
            while current is not None:
                current = await self._deliver(current)
        finally:
            self._leave()

    async def _deliver(self, row: Row) -> Row | None:
        """Send one claimed row (or find out about one in doubt), write the outcome, claim the next of the thread."""
        channel = self._channels.get(row.channel)
        if channel is None:
            return await self._settle(row, Never("the channel is switched off", "channel_off"))
        if growth.own_target(row.op) is not None:
            aimed = await self._patiently(lambda: self._database.read(lambda c: _aimed(c, row)))
            if aimed is None:
                return await self._settle(row, Arrived(Receipt(None, self._clock.now()), found=False))
            row = aimed
        leaving = replace(row, op=self._dress(row.op))
        outcome = await attempt_send(channel, leaving) if row.state is OutState.CLAIMED else Doubtful()
        if not isinstance(outcome, Doubtful):
            return await self._settle(row, outcome)
        await self._write(lambda tx: store.uncertain(tx, row, self._boot))
        failures = 0
        while isinstance(outcome := await look_up(channel, row), Later) and outcome.reason != NOT_ARRIVED:
            failures += 1
            with self._resting():
                await self._clock.sleep(self._backoff.delay(failures, outcome.after))
        return await self._settle(row, outcome)

    def _enter(self) -> None:
        self._sending += 1
        self._idle.clear()

    def _leave(self) -> None:
        self._sending -= 1
        if not self._sending:
            self._idle.set()

    @contextmanager
    def _resting(self) -> Iterator[None]:
        """A stop waits for what is being sent, not for what waits for a platform to come back."""
        self._leave()
        try:
            yield
        finally:
            self._enter()

    async def _settle(self, row: Row, outcome: Outcome) -> Row | None:
        """Write a row's outcome and claim the next of its thread, in one transaction."""

        def unit(tx: Tx) -> Row | None:
            self._apply(tx, row, outcome)
            return self._claim_checked(tx, row.thread_key, row.channel)

        following: Row | None = None
        result = await attempt(self._write(unit), f"outcome of {row.id}")
        if isinstance(result, Bug):  # the next row is at fault: this one's outcome must not be lost with it
            await self._write(lambda tx: self._apply(tx, row, outcome))
        else:
            following = result
        if following is None and not isinstance(outcome, Arrived | Never):
            self._bell.ring()  # it waits in the table now: the poll must learn until when
        return following

    def _apply(self, tx: Tx, row: Row, outcome: Outcome) -> None:
        match outcome:
            case Arrived(receipt, found):
                if store.sent(tx, row, self._boot, receipt.ref, self._clock.now()):
                    self._record(tx, row, DeliverySent(row.id, row.channel, row.attempts, found))
            case NotTried():
                until = self._clock.now() + NOT_READY_WAIT
                store.requeue(tx, row, self._boot, until, NOT_READY, again=row.again, uncount=True)
            case Gone() if isinstance(row.op, Edit):
                again = Send(row.op.path, row.op.text, row.op.plain)
                store.rewrite(tx, row, self._boot, again, self._clock.now())
            case Gone():
                self._apply(tx, row, Arrived(Receipt(None, self._clock.now()), found=True))
            case Later(reason, after):
                self._retry(tx, row, reason, after)
            case Doubtful():
                self._in_doubt(tx, row)
            case Never(reason, code):
                self._park(tx, row, code, reason)
            case Broken(reason) if row.attempts >= MAX_BUGS:
                self._park(tx, row, "internal_error", reason)
            case Broken(reason):
                self._retry(tx, row, reason, None)

    async def _patiently(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run `work` again until the store can take it."""
        failures = 0
        while True:
            try:
                return await work()
            except TransientError as error:
                failures += 1
                log.warning("the outbox waits for the store: %s", error.message)
                await self._clock.sleep(self._backoff.delay(failures))

    async def _write(self, unit: Callable[[Tx], T]) -> T:
        """The effect has happened: its outcome must be written, however often the store refuses."""
        return await self._patiently(lambda: to_the_end(self._database.write(unit), "outbox-outcome"))

    def _retry(self, tx: Tx, row: Row, reason: str, retry_after: timedelta | None) -> None:
        now = self._clock.now()
        if now - row.created_at > GIVE_UP_AFTER:
            self._park(tx, row, "gave_up", f"not sent within {GIVE_UP_AFTER.days} days: {reason}")
            return
        wait = self._backoff.delay(row.attempts, retry_after)
        if store.requeue(tx, row, self._boot, now + wait, reason, again=row.again):
            self._record(tx, row, DeliveryFailed(row.id, row.channel, row.attempts, round(wait.total_seconds())))

    def _in_doubt(self, tx: Tx, row: Row) -> None:
        """The platform cannot tell. A reply goes out once more, marked; whatever is in doubt a second time parks."""
        resend = row.policy is Policy.RESEND_ONCE and not row.again
        self._record(tx, row, DeliveryUncertain(row.id, row.channel, row.attempts, "resend_once" if resend else "park"))
        if resend:
            store.requeue(tx, row, self._boot, self._clock.now(), "uncertain", again=True)
        else:
            self._park(tx, row, "uncertain")

    def _park(self, tx: Tx, row: Row, code: str, explanation: str | None = None) -> None:
        """`explanation` may hold words of the platform: in the audit it is erasable text, the code is not."""
        for parked in store.park(tx, row, self._boot, explanation or code, self._clock.now()):
            text = explanation if parked == row.id else None
            self._record(tx, row, DeliveryParked(parked, row.channel, code), text)

    def _record(self, tx: Tx, row: Row, payload: Payload, text: str | None = None) -> None:
        self._recorder.record(tx, Record(payload, session=row.session, turn=row.turn, text=text))


def _aimed(connection: sa.Connection, row: Row) -> Row | None:
    """The row with its operation aimed at the message that it names by its outbox row; None if nothing is to do."""
    target = growth.own_target(row.op)
    if target is None or not isinstance(row.op, Edit | Delete):
        return row
    op = growth.aimed(row.op, store.ref_of(connection, target))
    return None if op is None else replace(row, op=op)
