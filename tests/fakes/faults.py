"""What a fake server can be told to do wrong, and the record of what reached it.

A plan holds, per endpoint, what the next calls meet; each call takes one entry. An entry is a tuple of faults, so
"wait at a gate, then cut" is one entry. Gates and records wake waiters through events: a test waits for the moment
itself and never sleeps.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter

JsonObject = dict[str, Any]
ANY = "*"


@dataclass(frozen=True)
class Delay:
    """Hold the call: `seconds` long, or until the gate named `gate` is released, before or after its effect."""

    seconds: float = 0.0
    gate: str | None = None
    when: Literal["before", "after"] = "before"
    type: Literal["delay"] = "delay"


@dataclass(frozen=True)
class CutBefore:
    """Reset the connection; the call has no effect."""

    type: Literal["cut_before"] = "cut_before"


@dataclass(frozen=True)
class CutAfter:
    """Let the call take effect, then reset the connection before a byte of the response."""

    type: Literal["cut_after"] = "cut_after"


@dataclass(frozen=True)
class Answer:
    """Answer without effect: an HTTP status or SMTP code.

    `body` None lets the server word it as the platform does; `retry_after` is in seconds.
    """

    status: int
    body: str | None = None
    retry_after: int | None = None
    type: Literal["answer"] = "answer"


@dataclass(frozen=True)
class Twice:
    """Deliver twice: the same update to the bot, or the same mail from the sink's queue."""

    type: Literal["twice"] = "twice"


Fault = Delay | CutBefore | CutAfter | Answer | Twice
FAULTS: TypeAdapter[tuple[Fault, ...]] = TypeAdapter(tuple[Fault, ...])


class Gate:
    """A point where calls wait. `reached` says that one waits there; `release` lets all through, now and later."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self._open = asyncio.Event()

    def release(self) -> None:
        self._open.set()

    async def pass_through(self) -> None:
        self.reached.set()
        await self._open.wait()


class FaultPlan:
    """The faults ahead, per endpoint, and the gates that they name.

    While `dark` is set, every new call is cut before it is even recorded: the platform is not there.
    """

    def __init__(self) -> None:
        self.dark = False
        self._ahead: dict[str, deque[tuple[Fault, ...]]] = {}
        self._gates: dict[str, Gate] = {}

    def plan(self, endpoint: str, *faults: Fault, times: int = 1) -> None:
        """Let each of the next `times` calls of `endpoint` (`*`: of any) meet all of `faults`; none: a plain call."""
        self._ahead.setdefault(endpoint, deque()).extend([faults] * times)

    def take(self, endpoint: str) -> tuple[Fault, ...]:
        for name in (endpoint, ANY):
            if queue := self._ahead.get(name):
                return queue.popleft()
        return ()

    def gate(self, name: str) -> Gate:
        return self._gates.setdefault(name, Gate())

    def clear(self) -> None:
        """Forget all planned faults, let all waiting calls through, be there again."""
        self.dark = False
        self._ahead.clear()
        self.release_all()

    def release_all(self) -> None:
        for gate in self._gates.values():
            gate.release()
        self._gates.clear()

    async def hold(self, faults: tuple[Fault, ...], when: Literal["before", "after"]) -> None:
        for fault in faults:
            if isinstance(fault, Delay) and fault.when == when:
                await self.wait(fault)

    async def wait(self, delay: Delay) -> None:
        if delay.gate is not None:
            await self.gate(delay.gate).pass_through()
        if delay.seconds:
            await asyncio.sleep(delay.seconds)


@dataclass(frozen=True)
class Recorded:
    """One request or effect. `at` is `time.monotonic()`, comparable between processes of one machine."""

    seq: int
    at: float
    endpoint: str
    body: JsonObject
    raw: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> JsonObject:
        raw = base64.b64encode(self.raw).decode("ascii")
        return {
            "seq": self.seq,
            "at": self.at,
            "endpoint": self.endpoint,
            "body": self.body,
            "raw": raw,
            "headers": dict(self.headers),
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> Recorded:
        return cls(**{**value, "raw": base64.b64decode(value["raw"])})


class Record:
    """Everything of one kind that happened, in order; `wait` returns as soon as enough of it did.

    `keep` bounds the memory of long runs (the oldest go first); `count` always counts all.
    """

    def __init__(self, kind: str, log: Path | None = None, keep: int | None = None) -> None:
        self._kind = kind
        self._log = log
        self._seq = itertools.count(1)
        self._entries: deque[Recorded] = deque(maxlen=keep)
        self._counts: dict[str, int] = {}
        self._changed = asyncio.Event()

    def __iter__(self) -> Iterator[Recorded]:
        return iter(tuple(self._entries))

    def __len__(self) -> int:
        return len(self._entries)

    def count(self, endpoint: str = ANY) -> int:
        return sum(self._counts.values()) if endpoint == ANY else self._counts.get(endpoint, 0)

    def of(self, endpoint: str = ANY) -> tuple[Recorded, ...]:
        return tuple(entry for entry in self._entries if endpoint in (ANY, entry.endpoint))

    def add(
        self, endpoint: str, body: JsonObject, raw: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Recorded:
        entry = Recorded(next(self._seq), time.monotonic(), endpoint, body, raw, headers or {})
        self._entries.append(entry)
        self._counts[endpoint] = self._counts.get(endpoint, 0) + 1
        if self._log is not None:
            with self._log.open("a", encoding="utf-8") as out:
                out.write(json.dumps({"kind": self._kind, **entry.to_json()}) + "\n")
        self._changed.set()
        self._changed = asyncio.Event()
        return entry

    async def wait(self, at_least: int = 1, endpoint: str = ANY, timeout: float = 10.0) -> tuple[Recorded, ...]:
        """The entries of `endpoint`, once `at_least` were made. Raises `TimeoutError` after `timeout` seconds."""
        await self.until(lambda: self.count(endpoint) >= at_least, timeout)
        return self.of(endpoint)

    async def until(self, holds: Callable[[], bool], timeout: float = 10.0) -> None:
        """Return once `holds()`, looked at after each new entry. Raises `TimeoutError` after `timeout` seconds."""
        async with asyncio.timeout(timeout):
            while not holds():
                await self._changed.wait()


def wall_seconds() -> int:
    """Unix time. The far end has a clock of its own, which no test of ours moves."""
    return int(time.time())  # noqa: TID251 - not a part of the daemon
