"""The one place that starts tasks: named, held, guarded, stopped in reverse order of their start.

A supervised task that ends with an unexpected exception is logged with its traceback and, if it was started as a
`service`, brings the daemon down in order (a half-alive daemon is worse than a restarted one). A `job` that fails
is logged; its owner has recorded the outcome by then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Coroutine
from datetime import timedelta
from typing import Any, TypeVar

from bot.kernel.clock import Clock
from bot.kernel.errors import OpenExecutiveError
from bot.kernel.values import dataclass

log = logging.getLogger(__name__)

T = TypeVar("T")


class Supervisor:
    def __init__(self) -> None:
        self._services: list[asyncio.Task[None]] = []
        self._jobs: set[asyncio.Task[Any]] = set()
        self._failed = asyncio.Event()
        self.failure: BaseException | None = None

    def service(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a task that lives as long as the daemon; its unexpected end ends the daemon."""
        task: asyncio.Task[None] = asyncio.create_task(work, name=name)  # noqa: TID251
        self._services.append(task)
        task.add_done_callback(self._service_done)
        return task

    def job(self, name: str, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start a task that ends by itself. Held until it has ended; a failure is logged, never lost."""
        task: asyncio.Task[T] = asyncio.create_task(work, name=name)  # noqa: TID251
        self._jobs.add(task)
        task.add_done_callback(self._job_done)
        return task

    @property
    def running_jobs(self) -> int:
        return len(self._jobs)

    async def failed(self) -> None:
        """Return when a service has ended by an unexpected exception (then in `failure`)."""
        await self._failed.wait()

    async def drain(self, within: timedelta) -> bool:
        """Wait until every job has ended, `within` at most. True if all have."""
        deadline = asyncio.get_running_loop().time() + within.total_seconds()
        while self._jobs:
            remaining = deadline - asyncio.get_running_loop().time()
            if remaining <= 0:
                return False
            await asyncio.wait(set(self._jobs), timeout=remaining, return_when=asyncio.FIRST_COMPLETED)
        return True

    async def stop(self) -> None:
        """Cancel and await everything, newest first."""
        for job in list(self._jobs):
            await cancel(job)
        while self._services:
            await cancel(self._services.pop())

    def _service_done(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            log.error("service %s failed", task.get_name(), exc_info=error)
            self.failure = self.failure or error
            self._failed.set()

    def _job_done(self, task: asyncio.Task[Any]) -> None:
        self._jobs.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("job %s failed", task.get_name(), exc_info=error)


def start(name: str, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """A task whose starter holds it and awaits its end by `cancel`, within one block."""
    return asyncio.create_task(work, name=name)  # noqa: TID251


async def cancel(task: asyncio.Task[Any]) -> None:
    """Cancel and wait for the end; what the task raised was already logged by its done callback."""
    if task.cancel():
        await asyncio.wait({task})


async def to_the_end(work: Coroutine[Any, Any, T], name: str) -> T:
    """Run `work` to its end even if the caller is cancelled meanwhile, however often; the cancellation is passed on
    afterwards.

    For outcomes that must be written once the effect has happened.
    """
    task = start(name, work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        if not task.cancelled() and (failure := task.exception()) is not None:
            log.error("%s failed while its caller was stopping", name, exc_info=failure)
        raise cancelled
    return task.result()


@dataclass(frozen=True, slots=True)
class Bug:
    """Something was raised that is neither of the two kinds of failure."""

    error: Exception

    def __str__(self) -> str:
        return type(self.error).__name__


async def attempt(work: Awaitable[T], name: str) -> T | Bug:
    """Await `work`; turn an unforeseen exception into a value, after logging its traceback.

    The broad `except` that rooms use instead of their own: for owners of durable rows, who must record that an attempt
    failed. The two
    foreseen kinds of failure pass through.
    """
    try:
        return await work
    except OpenExecutiveError:
        raise
    except Exception as error:
        log.exception("%s failed", name)
        return Bug(error)


class Bell:
    """Wakes a poller early. The poll is the truth: a lost ring costs time, never work."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._event = asyncio.Event()

    def ring(self) -> None:
        self._event.set()

    async def wait(self, at_most: timedelta) -> None:
        """Return at the next ring (or at once if it rang since the last wait), at the latest after `at_most` of the
        clock's time."""
        if not self._event.is_set():
            ringing, sleeping = start("bell", self._event.wait()), start("bell", self._clock.sleep(at_most))
            try:
                await asyncio.wait({ringing, sleeping}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                await cancel(ringing)
                await cancel(sleeping)
        self._event.clear()
