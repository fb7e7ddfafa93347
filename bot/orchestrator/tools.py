"""Tools of the model: a small registry, so that later rooms add theirs without touching the loop.

A tool reads, or returns an outcome that the turn's commit writes down; it has no effect outside by itself. Who asks,
and what they may see, comes from the turn (`Asker`), never from the arguments that the model wrote.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime, timedelta
from typing import Any, Generic, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from bot.audit.events import Payload, ToolCalled
from bot.kernel.errors import OpenExecutiveError
from bot.kernel.ids import TurnId
from bot.kernel.scope import SessionScope
from bot.kernel.supervise import Bug, attempt
from bot.kernel.values import dataclass
from bot.llm.model import Tool as Spec
from bot.llm.model import ToolResult, ToolUse
from bot.orchestrator.intents import Intent
from bot.people.model import Person
from bot.sessions.audience import Audience

RESULT_CAP = 24_000
"""Most characters of one result that the model is shown."""
CUT = "\n[… cut here: the result has {total} characters]"
AT_ONCE = 8

A = TypeVar("A", bound=BaseModel)
A_contra = TypeVar("A_contra", bound=BaseModel, contravariant=True)


@dataclass(frozen=True, slots=True)
class Asker:
    """On whose behalf a tool is used, and when."""

    turn: TurnId
    scope: SessionScope
    audience: Audience
    person: Person | None
    now: datetime
    time_zone: str
    company: str = ""
    """What those who read in the session may know of the company: the second cached block."""
    tally: Counter[str] = field(default_factory=Counter, compare=False)
    """How often something was done in this turn, for tools that have a bound."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where something that was shown comes from, for the person: short, in words."""

    id: str
    label: str
    read: bool = True
    """False: an excerpt was shown by a search, no more."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a tool found. `untrusted`: the text was written by others and may try to give orders."""

    text: str
    is_error: bool = False
    untrusted: bool = False
    sources: tuple[Source, ...] = ()
    records: tuple[Payload, ...] = ()
    links: frozenset[str] | None = None
    """Addresses of the sources, which may be told; None: those that stand in `text`, if it has sources."""
    intents: tuple[Intent, ...] = ()


class Handler(Protocol[A_contra]):
    async def __call__(self, asker: Asker, arguments: A_contra) -> Outcome:
        """Raises `TransientError` or `PermanentError` with words that the model may read."""
        ...


@dataclass(frozen=True, slots=True)
class Tool(Generic[A]):
    """`arguments` is the model of what the tool takes; its schema is what the language model is shown."""

    name: str
    description: str
    arguments: type[A]
    handler: Handler[A]
    within: timedelta = timedelta(seconds=60)

    def spec(self) -> Spec:
        return Spec(self.name, self.description, self.arguments.model_json_schema())

    async def run(self, asker: Asker, given: Mapping[str, object]) -> Outcome:
        try:
            arguments = self.arguments.model_validate(given)
        except ValidationError as error:
            faults = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'input'}: {e['msg']}" for e in error.errors())
            return Outcome(f"The call does not fit {self.name}: {faults}.", is_error=True)
        try:
            async with asyncio.timeout(self.within.total_seconds()):
                result = await attempt(self.handler(asker, arguments), f"tool {self.name}")
        except TimeoutError:
            return Outcome(f"{self.name} did not answer in time.", is_error=True)
        except OpenExecutiveError as error:
            return Outcome(f"{self.name} is not available: {error.message}", is_error=True)
        return Outcome(f"{self.name} failed.", is_error=True) if isinstance(result, Bug) else result


class Registry:
    """Tools by name, offered in one order always: the order is part of the cached prompt."""

    def __init__(self, tools: Iterable[Tool[Any]]) -> None:
        self._tools = {tool.name: tool for tool in sorted(tools, key=lambda tool: tool.name)}
        self._specs: tuple[Spec, ...] | None = None

    def specs(self) -> tuple[Spec, ...]:
        """What the model is shown; made once, since a schema takes a millisecond and stays the same."""
        if self._specs is None:
            self._specs = tuple(tool.spec() for tool in self._tools.values())
        return self._specs

    def __len__(self) -> int:
        return len(self._tools)

    async def run(self, asker: Asker, calls: Sequence[ToolUse]) -> list[Outcome]:
        """Run the calls of one answer side by side, each isolated from the others; outcomes in order."""
        places = asyncio.Semaphore(AT_ONCE)

        async def one(call: ToolUse) -> Outcome:
            tool = self._tools.get(call.name)
            if tool is None:
                return Outcome(f"There is no tool {call.name!r}.", is_error=True)
            async with places:
                return await tool.run(asker, call.input)

        return list(await asyncio.gather(*(one(call) for call in calls)))


def result(call: ToolUse, outcome: Outcome) -> ToolResult:
    """What the model is shown, cut visibly."""
    text = outcome.text
    if len(text) > RESULT_CAP:
        text = text[:RESULT_CAP] + CUT.format(total=len(outcome.text))
    if outcome.untrusted and not outcome.is_error:
        text = f"<material>\n{text.replace('</material', '&lt;/material')}\n</material>"
    return ToolResult(call.id, text or "(nothing)", outcome.is_error)


def called(call: ToolUse) -> ToolCalled:
    """The audit's word of a call: its name and a digest of its arguments, not the arguments."""
    canonical = json.dumps(call.input, sort_keys=True, default=str).encode()
    return ToolCalled(call.name, hashlib.sha256(canonical).hexdigest(), replayed=False)
