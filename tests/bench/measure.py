"""The order of the measurements: both subjects live side by side and work in turn."""

from __future__ import annotations

import asyncio
import socket
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from bot.kernel.supervise import cancel, start
from tests.bench import consults, mail, report, subjects
from tests.bench.report import Figure, median, percentile
from tests.bench.subjects import FarEnd, Running, Subject

CHATS_AT_ONCE = 50
NEW_CHATS = tuple(range(2001, 2006))
"""People whose chats stay empty until a first message is needed."""
AT_REST = 0.02
"""Seconds of the processor per second: below it, nothing is left to do."""
AFTERMATH = 180.0
"""So long it may take, in seconds."""
SETTLE = 1.0
ONCE = 10.0
"""Seconds within which a first start has done what it does once and then never again: from five seconds on it takes the
built-in notes into the store."""


@dataclass(frozen=True)
class Plan:
    """How much is done."""

    rounds: int
    messages: int
    """One by one, in each round and by each subject."""
    pause: float
    starts: int
    growth: int
    idle: float


FULL = Plan(rounds=6, messages=100, pause=0.01, starts=5, growth=2_000, idle=30.0)
QUICK = Plan(rounds=2, messages=50, pause=0.01, starts=2, growth=400, idle=5.0)


@dataclass
class Taken:
    """What was measured of one subject."""

    trips: list[float] = field(default_factory=list)
    late_trips: list[float] = field(default_factory=list)
    close_trips: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    bursts: list[float] = field(default_factory=list)
    side_by_side: list[float] = field(default_factory=list)
    side_cpu: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    answers: int = 0
    starts: list[float] = field(default_factory=list)
    hello_bytes: int = 0
    rss_idle: float = 0.0
    rss_before: float = 0.0
    rss_after: float = 0.0
    idle: float = 0.0


async def run(
    command: Sequence[str], plan: Plan, say: Callable[[str], None], channels: Sequence[str] = ("telegram",)
) -> list[Figure]:
    """Measure everything. `command` starts the daemon; `say` is told how it goes."""
    found: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        for channel in channels:
            folder = Path(name) / channel
            folder.mkdir()
            subjects_of = ("plain", "daemon", *(("embedded",) if channel == "telegram" else ()))
            async with AsyncExitStack() as stack:
                model = await stack.enter_async_context(subjects.far_end("model"))
                far_end = await stack.enter_async_context(subjects.far_end(channel, *subjects_of))
                taken = {name: Taken() for name in subjects_of}
                bench = _Bench(command, plan, say, folder, channel, far_end, model, taken)
                await bench.starts()
                await bench.side_by_side()
                if channel == "telegram":
                    found += [*figures(taken, await bench.embedded(), plan), *await consults.figures()]
                else:
                    found += figures_of(channel, taken)
    return found


@dataclass
class _Bench:
    command: Sequence[str]
    plan: Plan
    say: Callable[[str], None]
    folder: Path
    channel: str
    far_end: FarEnd
    model: FarEnd
    taken: Mapping[str, Taken]
    _made: int = 0

    def _subject(self, name: str, people: Sequence[int]) -> Subject:
        """The subject with nothing stored yet. `people` are those it knows, if it is one that knows people."""
        self._made += 1
        there = self.far_end.hello[name]
        folder = self.folder / f"{name}-{self._made}"
        if name == "plain":
            return subjects.plain(self.channel, there, self.model.hello["url"])
        model_url = self.model.hello["url"] if name == "daemon" else None
        return subjects.daemon(self.command, folder, self.channel, people, there, model_url)

    async def starts(self) -> None:
        """From the start of the process to the answer to a message that waits already; where a platform tells a new
        client nothing of what was said before, it is written as soon as the client listens."""
        for number in range(self.plan.starts):
            for name in self.taken:
                chat = NEW_CHATS[number % len(NEW_CHATS)]
                waiting = start("first", self.far_end.do("first", subject=name, chat=chat, text="hello"))
                await asyncio.sleep(0.1)
                async with subjects.running(self._subject(name, NEW_CHATS), self.folder / f"{name}.log") as process:
                    ended = start("ended", process.process.wait())
                    await asyncio.wait((waiting, ended), return_when=asyncio.FIRST_COMPLETED)
                    await cancel(ended)
                    await cancel(waiting)
                    if waiting.cancelled() or waiting.exception() is not None:
                        raise RuntimeError((self.folder / f"{name}.log").read_text()[-4_000:])
                    answer = waiting.result()
                    self.taken[name].starts.append(answer["answered"] - process.started)
                    if name != "embedded":
                        self.taken[name].hello_bytes = (await self.model.do("request_bytes"))["bytes"]
                    if name == "embedded":
                        await asyncio.sleep(SETTLE)
                        self.taken[name].rss_idle = process.rss()
                self.say(f"start {number + 1}/{self.plan.starts} {name}: {self.taken[name].starts[-1]:.2f} s")

    async def side_by_side(self) -> None:
        people = [*chats_of(0), *(chat for number in range(self.plan.rounds) for chat in chats_of(number + 1))]
        async with AsyncExitStack() as stack:
            alive = {
                name: await stack.enter_async_context(
                    subjects.running(self._subject(name, people), self.folder / f"{name}.log")
                )
                for name in ("plain", "daemon")
            }
            for name, process in alive.items():
                await self.far_end.do("first", subject=name, chat=people[0], text="hello")
                await asyncio.sleep(SETTLE)
                self.taken[name].rss_idle = process.rss()
                await self.far_end.do("one_by_one", subject=name, chats=chats_of(0), count=100, pause=0)
            await asyncio.sleep(ONCE)
            for number in range(self.plan.rounds):
                order = ("plain", "daemon") if number % 2 else ("daemon", "plain")
                for name in order:
                    await self._round(name, alive[name], chats_of(number + 1))
                self.say(
                    f"round {number + 1}/{self.plan.rounds}: "
                    + ", ".join(
                        f"{name} {1000 * median(self.taken[name].trips):.2f} ms, {self.taken[name].bursts[-1]:.0f}/s"
                        for name in order
                    )
                )
            if self.channel == "telegram":
                await self._growth(alive)
                await self._idle(alive)

    async def _round(self, name: str, process: Running, chats: Sequence[int]) -> None:
        """Every round has chats of its own, so that history stays as short as it mostly is."""
        taken = self.taken[name]
        count = self.plan.messages
        # A first contact costs more: the room is judged, the session opened, the person told who reads what.
        await self.far_end.do("one_by_one", subject=name, chats=chats, count=len(chats), pause=0)
        before = process.cpu()
        paced = await self.far_end.do("one_by_one", subject=name, chats=chats, count=count, pause=self.plan.pause)
        await asyncio.sleep(0.05)  # what follows an answer belongs to it
        taken.trips += paced["seconds"]
        taken.cpu.append((process.cpu() - before) / count)
        close = await self.far_end.do("one_by_one", subject=name, chats=chats, count=count // 2, pause=0)
        taken.close_trips += close["seconds"]
        for kind, speeds in (("burst", taken.bursts), ("side_by_side", taken.side_by_side)):
            before = process.cpu()
            done = await self.far_end.do(kind, subject=name, chats=chats, each=4)
            speeds.append(done["messages"] / done["seconds"])
            taken.faults += done["faults"]
            if kind == "burst":
                taken.answers = done["answers"]
            else:
                await asyncio.sleep(0.05)
                taken.side_cpu.append((process.cpu() - before) / done["messages"])

    async def _growth(self, alive: Mapping[str, Running]) -> None:
        for name, process in alive.items():
            await asyncio.sleep(SETTLE)
            self.taken[name].rss_before = process.rss()
            each = self.plan.growth // CHATS_AT_ONCE
            done = await self.far_end.do("side_by_side", subject=name, chats=chats_of(0), each=each)
            self.taken[name].faults += done["faults"]
            await asyncio.sleep(SETTLE)
            self.taken[name].rss_after = process.rss()
            late = await self.far_end.do("one_by_one", subject=name, chats=chats_of(0), count=50, pause=self.plan.pause)
            self.taken[name].late_trips = late["seconds"]
            self.say(f"{name}: {self.taken[name].rss_before:.1f} MB → {self.taken[name].rss_after:.1f} MB")

    async def _idle(self, alive: Mapping[str, Running]) -> None:
        """Once what the messages left to do is done: they are read for memories in the background."""
        for name, process in alive.items():
            began = time.monotonic()
            used = AT_REST
            while used >= AT_REST and time.monotonic() - began < AFTERMATH:
                earlier = process.cpu_exact()
                await asyncio.sleep(2)
                used = (process.cpu_exact() - earlier) / 2
            self.say(f"{name}: at rest after {time.monotonic() - began:.0f} s")
        before = {name: process.cpu_exact() for name, process in alive.items()}
        await asyncio.sleep(self.plan.idle)
        for name, process in alive.items():
            self.taken[name].idle = 100 * (process.cpu_exact() - before[name]) / self.plan.idle

    async def embedded(self) -> Taken:
        """The default without any setting: the first mail is sent as soon as the port takes it."""
        taken = Taken()
        for number in range(self.plan.starts):
            self._made += 1
            port = free_port()
            subject = subjects.embedded(self.command, self.folder / f"mail-{self._made}", port)
            data = self.folder / f"mail-{self._made}" / "data"
            async with subjects.running(subject, self.folder / "mail.log") as process:
                try:
                    taken.starts.append(await mail.first_answer(port, data / "maildir") - process.started)
                except TimeoutError as error:
                    raise RuntimeError((self.folder / "mail.log").read_text()[-4_000:]) from error
                await asyncio.sleep(SETTLE)
                taken.rss_idle = process.rss()
                if number == self.plan.starts - 1:
                    await asyncio.sleep(ONCE)
                    before = process.cpu_exact()
                    await asyncio.sleep(self.plan.idle)
                    taken.idle = 100 * (process.cpu_exact() - before) / self.plan.idle
            self.say(f"start {number + 1}/{self.plan.starts} by mail: {taken.starts[-1]:.2f} s")
        return taken


def chats_of(number: int) -> tuple[int, ...]:
    """The chats of one round; 0 is the warming up and the long run."""
    return tuple(range(10_000 + 100 * number, 10_000 + 100 * number + CHATS_AT_ONCE))


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def figures(taken: Mapping[str, Taken], by_mail: Taken, plan: Plan) -> list[Figure]:
    daemon, plain, offline = taken["daemon"], taken["plain"], taken["embedded"]

    def both(
        name: str, unit: str, of: Callable[[Taken], float], aim: report.Aim | None = None, note: str = ""
    ) -> Figure:
        return Figure(name, unit, of(daemon), of(plain), aim, note)

    def growth(of: Taken) -> float:
        return (of.rss_after - of.rss_before) * 2_000 / plan.growth

    history = f"{plan.growth // CHATS_AT_ONCE} questions and answers; the plain bot keeps none"
    return [
        both("round trip, p50", "ms", lambda t: 1000 * median(t.trips), report.P50),
        both("round trip, p95", "ms", lambda t: 1000 * percentile(t.trips, 0.95), report.P95),
        both("without a pause, p50", "ms", lambda t: 1000 * median(t.close_trips)),
        both("after a long history, p50", "ms", lambda t: 1000 * median(t.late_trips), None, history),
        both("processor per message", "ms", lambda t: 1000 * median(t.cpu)),
        both(
            "200 messages over 50 chats at once", "msg/s", lambda t: median(t.bursts), report.THROUGHPUT,
            f"{daemon.answers} answers of the daemon, {plain.answers} of the plain bot",
        ),
        both("the same, each after the answer to the last", "msg/s", lambda t: median(t.side_by_side)),
        both("processor per message then", "ms", lambda t: 1000 * median(t.side_cpu)),
        both("lost, doubled or misordered", "chats", lambda t: len(t.faults), report.NONE),
        both("start to first answer", "s", lambda t: median(t.starts), report.FIRST_ANSWER),
        Figure("the same, embedded model", "s", median(offline.starts), None, report.FIRST_ANSWER_EMBEDDED),
        Figure("the same, no settings, by mail", "s", median(by_mail.starts), None, report.FIRST_ANSWER_EMBEDDED),
        both("memory, idle", "MB", lambda t: t.rss_idle, report.RSS),
        Figure("memory, idle, embedded model", "MB", offline.rss_idle, None, report.RSS_EMBEDDED, "with Telegram"),
        Figure("memory, idle, no settings", "MB", by_mail.rss_idle, None, report.RSS_EMBEDDED),
        both("memory, growth in 2,000 messages", "MB", growth, report.GROWTH),
        both("processor, idle", "%", lambda t: t.idle, report.IDLE),
        Figure("processor, idle, no settings", "%", by_mail.idle, None, report.IDLE),
        both("request of a hello", "bytes", lambda t: t.hello_bytes),
    ]  # fmt: skip


def figures_of(channel: str, taken: Mapping[str, Taken]) -> list[Figure]:
    """Of another channel: what depends on it."""
    daemon, plain = taken["daemon"], taken["plain"]

    def both(
        name: str, unit: str, of: Callable[[Taken], float], aim: report.Aim | None = None, note: str = ""
    ) -> Figure:
        return Figure(f"{channel}: {name}", unit, of(daemon), of(plain), aim, note)

    return [
        both("round trip, p50", "ms", lambda t: 1000 * median(t.trips), report.P50),
        both("round trip, p95", "ms", lambda t: 1000 * percentile(t.trips, 0.95), report.P95),
        both("without a pause, p50", "ms", lambda t: 1000 * median(t.close_trips)),
        both("processor per message", "ms", lambda t: 1000 * median(t.cpu)),
        both(
            "200 messages over 50 chats at once", "msg/s", lambda t: median(t.bursts), report.THROUGHPUT,
            f"{daemon.answers} answers of the daemon, {plain.answers} of the plain bot",
        ),
        both("the same, each after the answer to the last", "msg/s", lambda t: median(t.side_by_side)),
        both("processor per message then", "ms", lambda t: 1000 * median(t.side_cpu)),
        both("lost, doubled or misordered", "chats", lambda t: len(t.faults), report.NONE),
        both("start to first answer", "s", lambda t: median(t.starts), report.FIRST_ANSWER),
        both("memory, idle", "MB", lambda t: t.rss_idle, report.RSS),
    ]  # fmt: skip
