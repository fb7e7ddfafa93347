"""What the tests of this room share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.llm.model import Event, Finished, Message, Request, Restarted, Text, TextDelta, Tool

MODEL = "claude-opus-5-5"
FALLBACK = "claude-sonnet-5-5"
NOW = datetime(2026, 11, 30, 21, 40, tzinfo=UTC)
LOOK_UP = Tool("look_up", "Looks a word up.", {"type": "object", "properties": {"q": {"type": "string"}}})


@dataclass
class FakeClock:
    """Time that passes only by sleeping; sleeping takes none."""

    seconds: float = 0.0
    slept: list[float] = field(default_factory=list)

    def now(self) -> datetime:
        return NOW + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, duration: timedelta) -> None:
        self.slept.append(duration.total_seconds())
        self.seconds += duration.total_seconds()


@dataclass
class Heard:
    """What a reader of a stream has in hand at its end."""

    shown: str = ""
    restarts: int = 0
    pieces: int = 0
    finished: list[Finished] = field(default_factory=list)

    def take(self, event: Event) -> None:
        assert not self.finished, "Finished must be the last event"
        match event:
            case TextDelta():
                self.shown += event.text
                self.pieces += 1
            case Restarted():
                self.shown = ""
                self.restarts += 1
            case Finished():
                self.finished.append(event)

    @property
    def last(self) -> Finished:
        (finished,) = self.finished
        return finished

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.last.content if isinstance(block, Text))


async def listen(events: AsyncIterator[Event], heard: Heard | None = None) -> Heard:
    heard = heard or Heard()
    async for event in events:
        heard.take(event)
    return heard


def user(*texts: str) -> Message:
    return Message("user", tuple(Text(text) for text in texts))


def assistant(*texts: str) -> Message:
    return Message("assistant", tuple(Text(text) for text in texts))


def request(*messages: Message, **more: Any) -> Request:
    base = Request(model=MODEL, system=(Text("You are the executive."),), messages=messages or (user("hi"),))
    return replace(base, **more)
