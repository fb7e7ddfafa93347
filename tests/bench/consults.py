"""What a fan-out of eight consults adds to a turn, counted in round trips to the model.

`python -m tests.bench.consults` prints it; `… serve DELAY` is the model's server, a process of its own. A turn that
calls one small tool makes two round trips; one that consults eight fields makes these two and eight others side by
side, so it may take one round trip more. With a model that thinks for no time at all, eight requests at once are held
up by the processor that they share with the server; there the measure is what eight bare requests at once take.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from bot.kernel.clock import SystemClock
from bot.kernel.ids import SessionId, TurnId
from bot.kernel.scope import SessionScope
from bot.llm import anthropic
from bot.llm.model import Message, Model, Request, Text
from bot.orchestrator import basics, loop
from bot.orchestrator.specialists import Specialist, Specialists
from bot.orchestrator.tools import Asker, Registry
from bot.sessions.audience import Audience
from config.charters import built_in
from tests.bench.report import Aim, Figure, median
from tests.fakes.anthropic import FakeAnthropic
from tests.fakes.anthropic_reply import Reply, ToolUse, say
from tests.fakes.anthropic_script import ModelRequest

INSTANT, PACED = 0.0, 0.25
"""Seconds that the model thinks: not at all, and a small part of what a real one does."""
ROUNDS = 20
ONE_ROUND = Aim("at most", 1)


@dataclass(frozen=True)
class Consults:
    """Medians in seconds."""

    trip: float
    two_trips: float
    eight: float
    bare: float
    """Eight requests at once and nothing else."""

    @property
    def trips(self) -> float:
        """Added by the eight consults, in round trips."""
        return (self.eight - self.two_trips) / self.trip

    @property
    def bares(self) -> float:
        """The same, as a multiple of eight bare requests at once."""
        return (self.eight - self.two_trips) / self.bare


def script(request: ModelRequest) -> Reply:
    """Does what the message names: one small call, or eight consults in one step."""
    if request.tool_results or not request.tools:
        return say("Done.")
    if "eight" in request.last_text:
        call = {"question": "Shall we?", "facts": "Cash 3 m EUR, burn 200 k.", "more_was_asked_for": True}
        return Reply(tuple(ToolUse(name, call) for name in request.tools if name.startswith("consult_")))
    if "sum" in request.last_text:
        return Reply((ToolUse("calculate", {"expression": "1 + 1"}),))
    return say("Hello.")


async def measure(delay: float, rounds: int = ROUNDS) -> Consults:
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.bench.consults", "serve", str(delay),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        url = json.loads(await server.stdout.readline())["url"]
        model = anthropic.build("key", url, {}, SystemClock())
        try:
            return await _measure(model, rounds)
        finally:
            await model.close()
    finally:
        assert server.stdin is not None
        server.stdin.close()
        await server.wait()


async def _measure(model: Model, rounds: int) -> Consults:
    everyone = [Specialist(c.name, c.title, c.when, "m", False, (), c.text) for c in built_in().values()]
    small = basics.arithmetic()
    team = Specialists(model, SystemClock(), everyone, small, lambda _: (), timedelta(minutes=1), 1_000)
    registry = Registry([*small, *team.tools()])

    async def turn(text: str) -> float:
        now = datetime(2026, 1, 1, tzinfo=UTC)
        asker = Asker(TurnId("t"), SessionScope(SessionId("s")), Audience.PERSON, None, now, "UTC", "# The company\n")
        asker = replace(asker, tally=Counter())
        request = Request("m", (Text("You are the executive."),), (Message("user", (Text(text),)),), max_tokens=1_000)
        begun = time.perf_counter()
        answered = await loop.answer(model, request, registry, asker, lambda _: None)
        assert not any("unavailable" in repr(block) for block in answered.finished.content)
        return time.perf_counter() - begun

    async def bare() -> float:
        begun = time.perf_counter()
        await asyncio.gather(*(turn("hello") for _ in range(len(everyone))))
        return time.perf_counter() - begun

    taken: dict[str, list[float]] = {"hello": [], "sum": [], "eight": [], "bare": []}
    for number in range(rounds + 1):
        for text, seconds in taken.items():
            took = await (bare() if text == "bare" else turn(text))
            if number:  # the first opens the connections
                seconds.append(took)
    return Consults(*(median(taken[text]) for text in ("hello", "sum", "eight", "bare")))


async def figures() -> list[Figure]:
    """The rows of the benchmark's table."""
    instant, paced = await measure(INSTANT), await measure(PACED)
    note = f"added to a turn of two round trips; one is {1000 * paced.trip:.0f} ms"
    return [
        Figure(
            "eight consults, instant model", "× eight bare requests", instant.bares, None, ONE_ROUND,
            f"{1000 * instant.bare:.0f} ms for these",
        ),
        Figure(
            "eight consults, instant model", "idle round trips", instant.trips, None, None,
            f"one alone is {1000 * instant.trip:.1f} ms; eight at once share a core",
        ),
        Figure("eight consults, model thinks 0.25 s", "round trips", paced.trips, None, None, note),
    ]  # fmt: skip


async def serve(delay: float) -> None:
    def paced(request: ModelRequest) -> Reply:
        return replace(script(request), delay=delay)

    async with FakeAnthropic(paced, keep=10) as server:
        print(json.dumps({"url": server.url}), flush=True)
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        await reader.read()


def main(arguments: Sequence[str]) -> None:
    if arguments[:1] == ["serve"]:
        asyncio.run(serve(float(arguments[1])))
        return
    for delay in (INSTANT, PACED):
        found = asyncio.run(measure(delay))
        print(
            f"model thinks {delay:g} s: round trip {1000 * found.trip:.1f} ms, two {1000 * found.two_trips:.1f} ms, "
            f"with eight consults {1000 * found.eight:.1f} ms: {found.trips:.2f} round trips added, "
            f"{found.bares:.2f} times eight bare requests at once ({1000 * found.bare:.1f} ms)"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
