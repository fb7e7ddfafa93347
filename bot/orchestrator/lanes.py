"""The lanes: at most one turn of a session at a time, many sessions side by side under a bound.

A lane lives while its session has something to do and then ends. What it works on stands in the tables; a lane that is
lost with its process is found there by the next start.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import field, replace
from datetime import timedelta
from typing import Any, TypeVar

from bot.gateway.events import CommandInvoked
from bot.intake import store as inbox
from bot.kernel.clock import Clock
from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.ids import PersonId, SessionId
from bot.kernel.retry import Backoff
from bot.kernel.supervise import Bug, Supervisor, attempt, cancel, start
from bot.kernel.values import dataclass
from bot.llm.budget import OverBudgetError
from bot.llm.metered import spending
from bot.llm.model import ContextTooLongError, CredentialsError
from bot.orchestrator.decide import Decision, Silent
from bot.orchestrator.ends import Ends
from bot.orchestrator.gate import unaddressed
from bot.orchestrator.keeping import Told
from bot.orchestrator.steps import Steps
from bot.orchestrator.values import Begun, Completed, Free, Later, Next, Overtaken, spender
from bot.sessions.turns import Turn
from bot.storage.database import StoreBusyError

log = logging.getLogger(__name__)

T = TypeVar("T")

UNAVAILABLE = "I cannot think at the moment: {why} Your message is safe; I will answer as soon as I can."
CREDENTIALS = "the model does not accept this daemon's access, which whoever runs it must mend."
OVERLOADED = "the model cannot be reached."
TOO_LONG = "This is more than I can read in one go. Please send it in smaller pieces."
GAVE_UP = (
    "I could not answer this message: something in me broke each time I tried. "
    "It is kept, and whoever runs me can see it."
)
REFUSED_FORM = (
    "I could not answer this message: the model refused it as it stands. It is kept, and whoever runs me can see it."
)


class Stopped(Exception):
    """A person stopped the turn."""


@dataclass(slots=True)
class Lane:
    """One session's work in progress."""

    pending: deque[Begun] = field(default_factory=deque)
    look_again: bool = False
    stopped: bool = False
    """A person stopped the turn that the lane is at."""
    doing: asyncio.Task[Any] | None = None
    """What a stop cancels: the thinking, or the pause before another attempt."""
    running: bool = False
    """A turn is being worked on, not merely waiting for another attempt."""
    task: asyncio.Task[None] | None = None


class Lanes:
    """Implements the turns' half of `intake.service.Listener`."""

    def __init__(
        self,
        steps: Steps,
        ends: Ends,
        clock: Clock,
        supervisor: Supervisor,
        backoff: Backoff,
        *,
        at_once: int,
        per_person: int,
        max_attempts: int,
    ) -> None:
        self._steps = steps
        self._ends = ends
        self._clock = clock
        self._supervisor = supervisor
        self._backoff = backoff
        self._slots = asyncio.Semaphore(at_once)
        self._per_person = per_person
        self._people: dict[PersonId, asyncio.Semaphore] = {}
        self._max_attempts = max_attempts
        self._lanes: dict[SessionId, Lane] = {}
        self._closing = False

    @property
    def active(self) -> int:
        return len(self._lanes)

    def begin(self, turn: Turn, rows: Sequence[inbox.Row]) -> None:
        lane = self._lane(turn.session)
        lane.pending.append(Begun(turn, tuple(rows)))
        self._run(turn.session, lane)

    def waiting(self, session: SessionId) -> None:
        lane = self._lane(session)
        lane.look_again = True
        self._run(session, lane)

    def stop(self, session: SessionId) -> bool:
        """Stop the session's running turn. False if none runs."""
        lane = self._lanes.get(session)
        if lane is None or lane.doing is None:
            return False
        lane.stopped = True
        lane.doing.cancel()
        return True

    async def drain(self, within: timedelta) -> bool:
        """Begin no turn any more and wait for those that run, `within` at most; what still runs then is given back
        without counting as an attempt. True if all ended by themselves."""
        self._closing = True
        tasks = {lane.task for lane in self._lanes.values() if lane.task is not None and lane.running}
        done: set[asyncio.Task[None]] = set()
        if tasks:
            done, _ = await asyncio.wait(tasks, timeout=within.total_seconds())
        for lane in list(self._lanes.values()):
            if lane.task is not None:
                await cancel(lane.task)
        return len(done) == len(tasks)

    def _lane(self, session: SessionId) -> Lane:
        return self._lanes.setdefault(session, Lane())

    def _run(self, session: SessionId, lane: Lane) -> None:
        if lane.task is None and not self._closing:
            lane.task = self._supervisor.job(f"lane:{session}", self._work(session, lane))

    async def _work(self, session: SessionId, lane: Lane) -> None:
        """Turn after turn until nothing waits. Between the last look and the end of the lane nothing is awaited, so
        that no row can slip in between."""
        try:
            following: Next = Free()
            while True:
                match following:
                    case Begun(turn, rows):
                        ended = await attempt(self._one(lane, turn, rows), f"end of turn {turn.id}")
                        if isinstance(ended, Bug):  # its end cannot be written; the next start finds it
                            return
                        following = ended
                    case Later(at):
                        await self._clock.sleep(at - self._clock.now())
                        following = await self._ends.claim(session)
                    case Free() if lane.pending:
                        following = lane.pending.popleft()
                    case Free() if lane.look_again and not self._closing:
                        lane.look_again = False
                        following = await self._ends.resume(session) or await self._ends.claim(session)
                    case Free():
                        return
        finally:
            self._lanes.pop(session, None)

    async def _one(self, lane: Lane, turn: Turn, rows: Sequence[inbox.Row]) -> Next:
        """Bring one turn to an end of its own, whatever it takes."""
        failures = overtaken = 0
        lane.stopped = False
        while True:
            if self._closing:
                await self._ends.waits(turn, rows, None)
                return Free()
            if not rows:
                return await self._given_up(await self._ends.park(turn, rows, "no message left", ""), turn)
            if turn.attempt >= self._max_attempts:
                return await self._given_up(await self._ends.park(turn, rows, "failed too often", GAVE_UP), turn)
            result = await self._try(lane, turn, rows)
            match result:
                case Begun() | Later() | Free():
                    return result
                case Overtaken():
                    overtaken += 1
                    if overtaken > 2:
                        return await self._given_up(
                            await self._ends.park(turn, rows, "audience_changed", GAVE_UP), turn
                        )
                    await self._ends.waits(turn, rows, None)
                case Bug():
                    failures += 1
                    await self._ends.failed(turn, str(result))
                    await self._pause(lane, self._backoff.delay(turn.attempt))
                case TransientError():
                    failures += 1
                    told = None if isinstance(result, StoreBusyError) else UNAVAILABLE.format(why=OVERLOADED)
                    await self._ends.waits(turn, rows, told)
                    await self._pause(lane, self._backoff.delay(failures, result.retry_after))
                case CredentialsError():
                    failures += 1
                    await self._ends.waits(turn, rows, UNAVAILABLE.format(why=CREDENTIALS))
                    await self._pause(lane, self._backoff.cap)
                case PermanentError():
                    text = TOO_LONG if isinstance(result, ContextTooLongError) else REFUSED_FORM
                    return await self._given_up(await self._ends.park(turn, rows, result.message, text), turn)
            resumed = await self._ends.resume(turn.session)
            if resumed is None:
                return Free()
            turn, rows = resumed.turn, resumed.rows

    async def _try(
        self, lane: Lane, turn: Turn, rows: Sequence[inbox.Row]
    ) -> Next | Overtaken | Bug | TransientError | PermanentError:
        """One attempt, its failures as values."""
        lane.running = True
        try:
            return await attempt(self._attempt(lane, turn, rows), f"turn {turn.id}")
        except (TransientError, PermanentError) as error:
            return error
        except asyncio.CancelledError:
            await self._ends.waits(turn, rows, None)
            raise
        finally:
            lane.running = False

    async def _attempt(self, lane: Lane, turn: Turn, rows: Sequence[inbox.Row]) -> Next | Overtaken:
        if isinstance(rows[0].event, CommandInvoked):
            return await self._ends.command(turn, rows[0])
        if not lane.stopped:
            thought = await self._unless_stopped(lane, self._think(turn, rows), f"think:{turn.id}")
            if thought is not None:
                return await self._ends.commit(turn, rows, *thought)
        return await self._ends.stopped(turn, rows)

    async def _think(self, turn: Turn, rows: Sequence[inbox.Row]) -> tuple[Completed, Decision]:
        """Recall, prompt, complete: within a place. The person's own places come first, so that one person cannot
        take them all."""
        async with AsyncExitStack() as stack:
            if (person := rows[-1].person) is not None:
                own = self._people.setdefault(person, asyncio.Semaphore(self._per_person))
                await stack.enter_async_context(own)
            await stack.enter_async_context(self._slots)
            stack.enter_context(spending(spender(turn, rows)))
            recalled = await self._steps.recall(turn, rows)
            errand = await self._steps.errand(turn, rows, recalled)
            if errand is not None and (isinstance(errand, Told) or errand.alone):
                return await self._steps.without_model(turn, rows, recalled, errand)
            prompted = await self._steps.prompt(turn, rows, recalled)
            if unaddressed(rows) and (no := await self._steps.not_spoken_to(recalled, prompted)) is not None:
                return no, Silent()
            try:
                completed = await self._steps.complete(turn, rows, recalled, prompted)
            except OverBudgetError as error:
                refused, said = self._steps.over_budget(prompted, error)
                return replace(refused, keep=errand), said
            return replace(completed, keep=errand), self._steps.decide(completed.answered.finished)

    async def _unless_stopped(self, lane: Lane, work: Coroutine[Any, Any, T], name: str) -> T | None:
        """Await `work`; None if a person stopped it."""
        lane.doing = task = start(name, work)
        try:
            await asyncio.wait({task})
        finally:
            lane.doing = None
            await cancel(task)
        return None if task.cancelled() else task.result()

    async def _pause(self, lane: Lane, wait: timedelta) -> None:
        """Wait before the next attempt; a stop ends the waiting, and the next attempt sees it."""
        await self._unless_stopped(lane, self._sleep(wait), "pause")

    async def _sleep(self, wait: timedelta) -> None:
        await self._clock.sleep(wait)

    async def _given_up(self, result: Next | Overtaken, turn: Turn) -> Next:
        log.error("turn %s is parked", turn.id)
        return Free() if isinstance(result, Overtaken) else result
