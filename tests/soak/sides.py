"""One platform each: how people write there, what they see in the end, and everything that can go wrong on the way."""

from __future__ import annotations

import asyncio
import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.kernel.supervise import cancel
from tests.e2e.numbers import numbers_in
from tests.fakes.faults import Answer, CutAfter, CutBefore, Delay, Fault, Twice
from tests.soak import errands
from tests.soak.people import PEOPLE, Planned

REPETITION = "may have reached you already"


@dataclass(frozen=True)
class Seen:
    """One message of ours as people see it in the end."""

    numbers: tuple[int, ...]
    marked: bool
    """It says that it may be a repetition."""


def seen(text: str) -> Seen:
    return Seen(tuple(dict.fromkeys(numbers_in(text))), REPETITION in text)


Mishap = Callable[[], Awaitable[None] | None]


class Side(ABC):
    """`hard`: long outages too, which only a long run has the time for."""

    name: str

    def __init__(self, seed: int, *, hard: bool) -> None:
        self.random = random.Random(f"{seed} {self.name}")
        self.hard = hard
        self.mishaps: Counter[str] = Counter()

    @abstractmethod
    def settings(self) -> Mapping[str, str]: ...

    @abstractmethod
    def handles(self) -> Mapping[int, str]:
        """What settings hold of each person."""

    @abstractmethod
    async def write(self, planned: Planned) -> None:
        """A person writes. It need not have been taken when this returns."""

    @abstractmethod
    def in_the_end(self) -> Iterator[Seen]:
        """All messages of ours."""

    @abstractmethod
    def weather(self) -> Mapping[str, Mishap]:
        """What can go wrong, by name."""

    async def begin(self, data: Path, port: Callable[[], Awaitable[int]]) -> None:
        """The daemon runs (again)."""
        return

    async def insist(self) -> None:
        """Hand over again what was not taken: what the platform would do sooner or later."""
        return

    async def calm(self) -> None:
        """End everything that goes wrong."""
        return

    async def end(self) -> None:
        return

    def decider(self) -> errands.Decider | None:
        """Who says yes or no here; None: nobody."""
        return None

    async def mishap(self) -> None:
        """One thing goes wrong."""
        name, happen = self.random.choice(list(self.weather().items()))
        self.mishaps[name] += 1
        waiting = happen()
        if waiting is not None:
            await waiting

    async def moment(self, least: float, most: float) -> None:
        await asyncio.sleep(self.random.uniform(least, most))  # the length of the mishap, not a wait

    def text(self, planned: Planned) -> str:
        return errands.words(planned.number)

    def person(self) -> int:
        return self.random.randrange(PEOPLE)


async def ended(task: asyncio.Task[None]) -> None:
    """End a task that should still run; what it died of before is raised."""
    died = task.done()
    await cancel(task)
    if died:
        task.result()


def cut_before() -> Fault:
    return CutBefore()


def cut_after() -> Fault:
    return CutAfter()


def pause(seconds: int) -> Fault:
    return Answer(429, retry_after=seconds)


def failure(status: int = 500) -> Fault:
    return Answer(status)


def slow(seconds: float) -> Fault:
    return Delay(seconds)


def twice() -> Fault:
    return Twice()
