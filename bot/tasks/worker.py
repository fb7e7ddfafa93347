"""Running tasks: each through the handler of its kind, a few at a time, lanes in order."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from functools import partial

from bot.audit.recorder import Recorder
from bot.kernel.clock import Clock
from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.ids import BootId
from bot.kernel.retry import Backoff
from bot.kernel.supervise import Bell, Bug, Supervisor, attempt, to_the_end
from bot.kernel.values import dataclass
from bot.storage.database import Database, Tx
from bot.tasks import store
from bot.tasks.store import Task

log = logging.getLogger(__name__)

IDLE_POLL = timedelta(minutes=1)
GIVES_WAY = timedelta(seconds=30)
LOOK_AGAIN = timedelta(seconds=0.25)


@dataclass(frozen=True, slots=True)
class Done:
    """The task is done. `apply` is run in the transaction that ends it, so that its outcome is stored exactly once.
    `empty`: there was nothing to do, which is not the same as having failed to do it."""

    apply: Callable[[Tx], None] | None = None
    empty: bool = False


@dataclass(frozen=True, slots=True)
class Later:
    """It cannot be done before `at`, which is no failure: no attempt is counted, and its lane waits with it."""

    at: datetime
    reason: str
    apply: Callable[[Tx], None] | None = None


Handler = Callable[[Task], Awaitable[Done | Later]]
"""Does the work of a task outside any transaction. Raises `TransientError` (tried again) or `PermanentError` (given
up)."""
Failed = Callable[[Tx, Task, str, bool], None]
"""Hears of a failed attempt in the transaction that notes it: the task, its error, and whether it is given up."""


class Worker:
    def __init__(
        self,
        database: Database,
        recorder: Recorder,
        clock: Clock,
        supervisor: Supervisor,
        boot: BootId,
        handlers: Mapping[str, Handler],
        backoff: Backoff,
        *,
        at_once: int = 2,
        max_attempts: int = 5,
        failed: Mapping[str, Failed] | None = None,
        busy: Callable[[], bool] = lambda: False,
    ) -> None:
        """`failed`: by kind of task, who hears of failures. `busy`: somebody waits for an answer; tasks give way, for
        `GIVES_WAY` at most."""
        self._database = database
        self._recorder = recorder
        self._clock = clock
        self._supervisor = supervisor
        self._boot = boot
        self._handlers = handlers
        self._backoff = backoff
        self._at_once = at_once
        self._max_attempts = max_attempts
        self._failed = failed if failed is not None else {}
        self._busy = busy
        self._running = 0
        self._draining = False
        self._bell = Bell(clock)
        self._due: datetime | None = None
        self._stale = True
        """`_due` is to be looked up."""
        self._looked_at = 0.0

    def ring(self, due: datetime | None = None) -> None:
        """A task was queued and its transaction is committed. `due`: it is not to be run before; a runner that looks by
        then of its own is not woken (after every turn something is queued for a little later)."""
        if due is None or self._stale or self._due is None or due < self._due:
            self._stale = True
            self._bell.ring()

    def recover(self, tx: Tx) -> int:
        return store.void_older_boots(tx, self._boot)

    async def run(self) -> None:
        """Run what is due, for ever."""
        while True:
            wait = await self._until_due()
            claimed = None
            if wait <= timedelta():
                horizon = self._horizon()  # of now: somebody may wait for an answer by the time of the transaction
                claimed = await self._database.write(partial(store.claim_due, boot=self._boot, now=horizon))
                self._stale = True
            if claimed is not None:
                self._running += 1
                self._supervisor.job(f"task:{claimed.kind}:{claimed.id}", self._one(claimed))
                continue
            # What was due and could not be claimed was claimed by somebody, or dropped: the next ring or poll tells.
            await self._bell.wait(wait if wait > timedelta() else IDLE_POLL)

    async def drain(self, timeout: timedelta) -> bool:
        """Claim nothing more, and wait for what runs. True if it ended in time; what did not runs again after the next
        start."""
        self._draining = True
        deadline = self._clock.monotonic() + timeout.total_seconds()
        while self._running and self._clock.monotonic() < deadline:
            await self._bell.wait(timedelta(seconds=max(0.05, deadline - self._clock.monotonic())))
        return not self._running

    async def _until_due(self) -> timedelta:
        """How long until something may be claimed; zero or less: now."""
        if self._running >= self._at_once or self._draining:
            self._stale = True
            return IDLE_POLL
        polled = self._clock.monotonic() - self._looked_at >= IDLE_POLL.total_seconds()
        if self._stale or polled or (self._due is not None and self._due <= self._horizon()):
            self._due, self._stale, self._looked_at = None, False, self._clock.monotonic()
            self._due = await self._database.read(store.next_due)
        if self._due is None:
            return IDLE_POLL
        wait = self._due - self._horizon()
        return min(wait, LOOK_AGAIN if self._busy() else IDLE_POLL)

    def _horizon(self) -> datetime:
        """Tasks that are due by this instant are run."""
        now = self._clock.now()
        return now - GIVES_WAY if self._busy() else now

    async def _one(self, task: Task) -> None:
        try:
            await self._end(task)
        finally:
            self._running -= 1
            self._stale = True  # what was behind it in its lane may be due, and long since
            self._bell.ring()

    async def _end(self, task: Task) -> None:
        handler = self._handlers.get(task.kind)
        if handler is None:
            await self._write(lambda tx: self._give_up(tx, task, "nothing handles this kind of task"))
            return
        if task.attempts > self._max_attempts:
            await self._write(lambda tx: self._give_up(tx, task, task.error or "its process died each time"))
            return
        try:
            result = await attempt(handler(task), f"task {task.kind} {task.id}")
        except TransientError as error:
            message, after = error.message, error.retry_after
            await self._write(lambda tx: self._again(tx, task, message, after))
            return
        except PermanentError as error:
            reason = error.message
            await self._write(lambda tx: self._give_up(tx, task, reason))
            return
        if isinstance(result, Bug):
            bug = f"internal error ({result})"
            await self._write(lambda tx: self._again(tx, task, bug, None))
            return
        done = result
        if isinstance(done, Later):
            later = done
            await self._write(lambda tx: self._postpone(tx, task, later))
            return
        ended = await attempt(self._write(lambda tx: self._finish(tx, task, done)), f"outcome of task {task.id}")
        if isinstance(ended, Bug):
            bug = f"its outcome cannot be stored ({ended})"
            await self._write(lambda tx: self._again(tx, task, bug, None))

    def _finish(self, tx: Tx, task: Task, done: Done) -> None:
        if store.finish(tx, self._recorder, task, self._boot, self._clock.now(), empty=done.empty) and done.apply:
            done.apply(tx)

    def _postpone(self, tx: Tx, task: Task, later: Later) -> None:
        if store.postpone(tx, self._recorder, task, self._boot, later.reason, later.at) and later.apply:
            later.apply(tx)

    def _again(self, tx: Tx, task: Task, error: str, after: timedelta | None) -> None:
        if task.attempts >= self._max_attempts:
            self._give_up(tx, task, error)
            return
        run_at = self._clock.now() + self._backoff.delay(task.attempts, after)
        if store.fail(tx, self._recorder, task, self._boot, error, run_at):
            self._tell(tx, task, error, final=False)

    def _give_up(self, tx: Tx, task: Task, error: str) -> None:
        log.error("task %s of kind %s is dead: %s", task.id, task.kind, error)
        if store.bury(tx, self._recorder, task, self._boot, error, self._clock.now()):
            self._tell(tx, task, error, final=True)

    def _tell(self, tx: Tx, task: Task, error: str, *, final: bool) -> None:
        hears = self._failed.get(task.kind)
        if hears is not None:
            hears(tx, task, error, final)

    async def _write(self, unit: Callable[[Tx], None]) -> None:
        failures = 0
        while True:
            try:
                return await to_the_end(self._database.write(unit), "task-outcome")
            except TransientError as error:
                failures += 1
                log.warning("outcome of a task cannot be written yet: %s", error.message)
                await self._clock.sleep(self._backoff.delay(failures))
