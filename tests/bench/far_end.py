"""The far ends as processes of their own, and the load that they make.

`python -m tests.bench.far_end CHANNEL NAME…` holds one platform for each subject, writes messages and takes the time
of what is delivered; `… model` is the Messages API with an instant model. Both read commands from standard input and
answer each with one line of JSON: nothing of the load goes through a connection that the subjects use.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import re
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from bot.kernel.supervise import cancel, start
from tests.bench.crowds import CROWDS, KEEP, Crowd, since
from tests.bench.report import covered, judge_order
from tests.fakes.anthropic import FakeAnthropic
from tests.fakes.anthropic_reply import Reply, ToolUse, say
from tests.fakes.anthropic_script import ModelRequest
from tests.fakes.faults import JsonObject, Record

PATIENCE = 60.0
LOOK = 0.001

Command = Callable[[JsonObject], Awaitable[JsonObject]]


def instant(request: ModelRequest) -> Reply:
    """Answers at once and names the numbers of all messages that it was asked to answer. Asked what is to be remembered
    of them, it finds nothing."""
    if request.tools == ("remember",):
        return Reply((ToolUse("remember", {"items": []}),))
    asked = re.findall(r"#\d+", request.turns[-1][1])
    return say("Noted: " + " ".join(asked) if asked else "Hello.")


@dataclass(frozen=True)
class Written:
    """A message that somebody has written. `answered` gets the time of its answer."""

    number: int
    at: float
    answered: asyncio.Future[float]


class Load:
    """People who write to one subject. All times are `time.monotonic()`."""

    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd
        self._open: dict[int, asyncio.Future[float]] = {}
        self._number = 0
        self._sequence: list[tuple[int, list[int]]] = []
        self._said: dict[str, list[int]] = {}
        """What messages say that may still be edited."""
        self._first: asyncio.Future[float] | None = None

    async def watch(self, record: Record) -> None:
        """Tell those who wait of everything that is said in `record`."""
        seen = 0
        while True:
            await record.until(lambda: record.count() > seen, timeout=86_400)  # noqa: B023 - awaited here
            for entry in since(record, seen):
                seen = entry.seq
                shown = self._crowd.shown(entry)
                if shown is None:
                    continue
                chat, message, text = shown
                if self._first is not None and not self._first.done():
                    self._first.set_result(entry.at)
                numbers = covered(text)
                earlier = self._said.get(message)
                if earlier is not None and numbers[: len(earlier)] == earlier:
                    numbers = numbers[len(earlier) :]  # an edit says again what it adds to
                    if not numbers:
                        continue
                self._said[message] = [*(earlier or ()), *numbers]
                self._sequence.append((chat, numbers))
                for number in numbers:
                    future = self._open.pop(number, None)
                    if future is not None:
                        future.set_result(entry.at)

    async def first(self, command: JsonObject) -> JsonObject:
        """Write `text` to `chat`, perhaps before the subject is started; when was it answered?"""
        self._first = asyncio.get_running_loop().create_future()
        async with asyncio.timeout(PATIENCE):
            while not self._crowd.listening():  # noqa: ASYNC110 - a new connection rings no bell
                await asyncio.sleep(LOOK)
            at = time.monotonic()
            self._crowd.write(command["chat"], command["text"])
            return {"written": at, "answered": await self._first}

    async def one_by_one(self, command: JsonObject) -> JsonObject:
        """`count` messages over `chats`, each `pause` seconds after the answer to the one before: round trips."""
        seconds: list[float] = []
        chats: Sequence[int] = command["chats"]
        for index in range(command["count"]):
            written = self._write(chats[index % len(chats)])
            seconds.append(await self._answer(written) - written.at)
            if command["pause"]:
                await asyncio.sleep(command["pause"])
        return {"seconds": seconds}

    async def burst(self, command: JsonObject) -> JsonObject:
        """Every chat writes `each` messages before anything is answered."""
        self._forget()
        written: dict[int, list[Written]] = {chat: [] for chat in command["chats"]}
        for _ in range(command["each"]):
            for chat, list_of in written.items():
                list_of.append(self._write(chat))
        return await self._judged(written)

    async def side_by_side(self, command: JsonObject) -> JsonObject:
        """Every chat writes `each` messages, one after the answer to the other; all chats at the same time."""
        self._forget()
        written: dict[int, list[Written]] = {chat: [] for chat in command["chats"]}

        async def person(chat: int) -> None:
            for _ in range(command["each"]):
                written[chat].append(self._write(chat))
                await self._answer(written[chat][-1])

        await asyncio.gather(*(person(chat) for chat in written))
        return await self._judged(written)

    def _write(self, chat: int) -> Written:
        self._number += 1
        written = Written(self._number, time.monotonic(), asyncio.get_running_loop().create_future())
        self._open[self._number] = written.answered
        self._crowd.write(chat, f"This is message #{self._number} of the run.")
        return written

    def _forget(self) -> None:
        self._sequence.clear()
        self._said.clear()

    async def _answer(self, written: Written) -> float:
        async with asyncio.timeout(PATIENCE):
            return await written.answered

    async def _judged(self, written: Mapping[int, Sequence[Written]]) -> JsonObject:
        everything = [one for list_of in written.values() for one in list_of]
        answered = [await self._answer(one) for one in everything]
        faults = judge_order(
            {chat: [one.number for one in list_of] for chat, list_of in written.items()}, self._sequence
        )
        return {
            "messages": len(everything),
            "answers": len(self._sequence),
            "seconds": max(answered) - min(one.at for one in everything),
            "faults": faults,
        }


async def serve(hello: JsonObject, commands: Mapping[str, Command]) -> None:
    """Answer the commands of standard input, in order, until it ends."""
    reader = asyncio.StreamReader(limit=1 << 24)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    print(json.dumps(hello), flush=True)
    while line := await reader.readline():
        command = json.loads(line)
        print(json.dumps(await commands[command["do"]](command)), flush=True)


async def platform(channel: str, names: Sequence[str]) -> None:
    async with AsyncExitStack() as stack:
        crowds = {name: CROWDS[channel]() for name in names}
        for crowd in crowds.values():
            await stack.enter_async_context(crowd.server)
        loads = {name: Load(crowd) for name, crowd in crowds.items()}
        for name, load in loads.items():
            for record in crowds[name].records:
                stack.push_async_callback(cancel, start(f"watch:{name}", load.watch(record)))

        def command(kind: str) -> Command:
            async def run(asked: JsonObject) -> JsonObject:
                result: JsonObject = await getattr(loads[asked["subject"]], kind)(asked)
                return result

            return run

        hello = {name: crowd.hello() for name, crowd in crowds.items()}
        await serve(hello, {kind: command(kind) for kind in ("first", "one_by_one", "burst", "side_by_side")})


async def model() -> None:
    async with FakeAnthropic(instant, keep=KEEP) as server:

        async def request_bytes(_: JsonObject) -> JsonObject:
            """Size of the body of the newest request."""
            return {"bytes": len(server.requests.of("messages")[-1].raw)}

        await serve({"url": server.url}, {"request_bytes": request_bytes})


def _tells_something(record: logging.LogRecord) -> bool:
    """A subject that was stopped in the middle of a request is no news."""
    return record.exc_info is None or not isinstance(record.exc_info[1], ConnectionResetError)


def main() -> None:
    logging.getLogger("aiohttp.server").addFilter(_tells_something)
    parser = argparse.ArgumentParser(description="A far end of the benchmark.")
    parser.add_argument("kind", choices=[*CROWDS, "model"])
    parser.add_argument("subjects", nargs="*")
    options = parser.parse_args()
    asyncio.run(model() if options.kind == "model" else platform(options.kind, options.subjects))


if __name__ == "__main__":
    main()
