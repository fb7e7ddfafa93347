"""A run: the daemon, its far ends, people who write, and the weather."""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bot.kernel.supervise import start
from tests.e2e.daemon import Daemon, environment
from tests.e2e.farends import base_settings
from tests.e2e.numbers import answer
from tests.fakes.anthropic import FakeAnthropic
from tests.fakes.anthropic_reply import CutStream, ErrorInStream, ErrorStatus, Reply
from tests.fakes.anthropic_script import ModelRequest
from tests.soak import errands, loop
from tests.soak.chats import DiscordSide, SlackSide, TelegramSide
from tests.soak.letters import MailSide, TerminalSide
from tests.soak.people import people_settings, planned
from tests.soak.sides import Side, ended
from tests.soak.verdict import Verdict, judge

AHEAD = 500
"""Messages that may wait for their end at a time: beyond that people wait, as people do."""
MEAN_PAUSE = 2.5
"""Seconds of good weather between two mishaps of a channel."""
SETTLE = 240.0
SLOW_PIECES = 6
"""Of an answer that the model takes its time over."""
KILL_EVERY = (5.0, 20.0)
"""Seconds, from one start of the daemon to the next kill."""
LAUNCHER = (sys.executable, "-m", "tests.soak.launcher")


@dataclass(frozen=True)
class Result:
    verdict: Verdict
    mishaps: Mapping[str, Counter[str]]
    watch: Mapping[str, Any]
    seconds: float
    kills: int
    combined_turns: int
    errands: errands.Tally


class Soak:
    def __init__(
        self,
        home: Path,
        *,
        messages: int,
        seconds: float,
        seed: int = 1,
        kill: bool = False,
        hard: bool = True,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._home = home
        self._data = home / "data"
        self._watched = home / "watch"
        self._watched.mkdir()
        self._messages = messages
        self._seconds = seconds
        self._random = random.Random(seed)
        self._kill = kill
        self._say = say
        self._mail = MailSide(seed, hard=hard)
        kinds = (TelegramSide, DiscordSide, SlackSide, TerminalSide)
        self._sides: dict[str, Side] = {kind.name: kind(seed, hard=hard) for kind in kinds}
        self._sides[MailSide.name] = self._mail
        self._deciders = [each for side in self._sides.values() if (each := side.decider()) is not None]
        self._model = FakeAnthropic(self._answer, keep=500)
        self._daemon: Daemon | None = None
        self._written = 0
        self._kills = 0

    # --- the run ---

    async def run(self) -> Result:
        began = time.monotonic()
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._model)
            for side in self._sides.values():
                fake = getattr(side, "fake", None) or getattr(side, "sink", None)
                if fake is not None:
                    await fake.__aenter__()
                stack.push_async_callback(side.end)
            await self._start()
            try:
                await self._storm()
                await self._settle()
                await self._live.stop()
            finally:
                await self._live.abandon()
            verdict = judge(
                self._data, self._written, (one for side in self._sides.values() for one in side.in_the_end())
            )
            done = errands.judge(self._data, self._mail.outgoing())
        watch = loop.together(json.loads(file.read_text(encoding="utf-8")) for file in self._watched.glob("*.json"))
        mishaps = {name: side.mishaps for name, side in self._sides.items()}
        return Result(
            verdict, mishaps, watch, time.monotonic() - began, self._kills, self._model.requests.count("messages"), done
        )

    @property
    def _live(self) -> Daemon:
        assert self._daemon is not None
        return self._daemon

    async def _start(self) -> None:
        settings = {
            **base_settings(self._data),
            "OPENEXECUTIVE_LLM__BASE_URL": self._model.url,
            "OPENEXECUTIVE_LLM__HISTORY_TOKENS": "2000",
            "OPENEXECUTIVE_BUDGET__COMPANY": "1000000",
            "OPENEXECUTIVE_BUDGET__PERSON": "1000000",
            "OPENEXECUTIVE_LOG_LEVEL": "warning",
            **errands.SETTINGS,
            **people_settings({name: side.handles() for name, side in self._sides.items()}),
        }
        for side in self._sides.values():
            settings |= side.settings()
        process = await asyncio.create_subprocess_exec(
            *LAUNCHER,
            "run",
            cwd=self._home,
            env=environment({**settings, "SOAK_WATCH": str(self._watched)}, self._home),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=1 << 20,
        )
        self._daemon = Daemon(process, self._data)
        await self._daemon.ready()
        port: int | None = None

        async def smtp_port() -> int:
            nonlocal port
            if port is None:
                port = await self._live.smtp_port()
            return port

        for side in self._sides.values():
            await side.begin(self._data, smtp_port)

    async def _storm(self) -> None:
        """People write, as fast as the minutes ask for, while the weather is bad."""
        await self._live.ready(*self._sides)
        weather = [start(f"weather {name}", self._weather(side)) for name, side in self._sides.items()]
        over = asyncio.Event()
        killer = start("killer", self._killer(over)) if self._kill else None
        began = time.monotonic()
        try:
            while self._written < self._messages:
                due = min(self._messages, int((time.monotonic() - began) / self._seconds * self._messages) + 1)
                open_now = self._written - await self._ended()
                for _ in range(min(due - self._written, AHEAD - open_now)):
                    self._written += 1
                    plan = planned(self._written)
                    await self._sides[plan.channel].write(plan)
                self._decide()
                self._say(f"{self._written} written, {open_now} open, {time.monotonic() - began:.0f} s")
                await asyncio.sleep(0.25)  # people's pace
        finally:
            over.set()
            if killer is not None:
                await killer  # a restart is seen through: people must find the daemon that runs now
            for task in weather:
                await ended(task)
            for side in self._sides.values():
                await side.calm()

    def _decide(self) -> None:
        for each in self._deciders:
            each.look()

    async def _weather(self, side: Side) -> None:
        while True:
            await asyncio.sleep(self._random.expovariate(1 / MEAN_PAUSE))
            await side.mishap()

    async def _killer(self, over: asyncio.Event) -> None:
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), self._random.uniform(*KILL_EVERY))
                return
            self._kills += 1
            await self._live.kill()
            await self._start()

    async def _ended(self) -> int:
        found = await self._live.status()
        if found is None:
            return self._written
        return sum(count for state, count in found["inbox_last_day"].items() if state not in ("queued", "claimed"))

    async def _settle(self) -> None:
        """The weather is good: let everything that is owed come in and go out."""
        await self._live.ready(*self._sides)

        async def taken() -> bool:
            for side in self._sides.values():
                await side.insist()
            self._decide()
            return not self._untaken() and not errands.undecided(self._data)

        for _ in range(2):  # the last turns may put something forward, which is then to be decided
            with suppress(TimeoutError):  # what is missing then is in the verdict
                await _until(taken, SETTLE, pause=2.0)  # looking takes a while itself
            with suppress(TimeoutError):
                await self._live.settled(SETTLE)

    def _untaken(self) -> bool:
        return any(tally.untaken for tally in judge(self._data, self._written, ()).tallies.values())

    # --- the model ---

    def _answer(self, request: ModelRequest) -> Reply:
        """Answers with the numbers it was asked; now and then slowly, late, broken or not at all."""
        reply = errands.script(request)
        dice = self._random.random()
        if dice < 0.01:
            return replace(reply, error=ErrorStatus(529))
        if dice < 0.02:
            return replace(reply, chunk=3, fault=CutStream(1))
        if dice < 0.03:
            return replace(reply, chunk=3, fault=ErrorInStream())
        if dice < 0.18:
            # In so many pieces however long it is: were it slower for being longer, those who wait meanwhile would make
            # the next answer of their thread longer still, and a turn over twenty messages took twenty seconds.
            return replace(reply, delay=0.3, chunk=max(4, len(answer(request.turns[-1][1])) // SLOW_PIECES), pace=0.3)
        return reply


async def _until(holds: Callable[[], Awaitable[bool]], timeout: float, pause: float) -> None:
    async with asyncio.timeout(timeout):
        while not await holds():  # noqa: ASYNC110 - another process is looked at
            await asyncio.sleep(pause)
