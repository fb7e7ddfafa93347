"""The specialists as tools of the orchestrator: one field asked at a time, isolated, in its own calls of the model.

A specialist sees its charter, what may be known of the company, and what the orchestrator hands it, and nothing else
of the conversation. What it found bubbles up with its sources and with whether others' text was read on the way; that
it fails or takes too long is a result like any other, never the end of the turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field

from bot.audit.events import SpecialistConsulted
from bot.kernel.clock import Clock
from bot.kernel.errors import OpenExecutiveError
from bot.kernel.supervise import Bug, attempt
from bot.kernel.values import dataclass
from bot.llm.model import CacheMark, Effort, Message, Model, Request, StopReason, Text, Usage
from bot.orchestrator import loop
from bot.orchestrator.tools import Asker, Outcome, Registry, Tool

AT_MOST = 3
"""Consults of a turn, unless the person asked for more."""
NEVER_MORE = 8
ROOM_TO_THINK = 16_000
"""Least tokens of an answer that thinks first: thinking counts among them."""
MARGIN = timedelta(seconds=5)
"""The consult's own time-out comes before that of the tool."""
LIMIT = (
    "{count} fields were consulted for this answer already. Answer with what you have; more are consulted only when "
    "the person asked for more views."
)
CUT = "\n[… cut here: this view reached its permitted length]"

TALLY = "consults"
Lookups = Callable[[tuple[str, ...]], Sequence[Tool[Any]]]
"""Tools for looking into these domains of knowledge only."""
Result = Literal["answered", "cut", "refused", "empty", "timed_out", "failed", "over_limit"]


@dataclass(frozen=True, slots=True)
class Specialist:
    """A field and who thinks about it. `charter` is the first cached block."""

    name: str
    title: str
    when: str
    model: str
    deep: bool
    domains: tuple[str, ...]
    charter: str

    @property
    def area(self) -> str:
        """As it stands within a sentence; abbreviations stay as they are."""
        return self.title if self.title.isupper() else self.title[:1].lower() + self.title[1:]


class Consult(BaseModel):
    question: str = Field(description="what is to be judged, in one or a few sentences", min_length=1, max_length=4_000)
    facts: str = Field(
        description="everything that the answer depends on: figures with date and unit, what was decided, constraints, "
        "words of documents. Nothing of the conversation is seen but this.",
        max_length=20_000,
    )
    more_was_asked_for: bool = Field(
        False, description=f"true only if the person asked for more than {AT_MOST} views in their own words"
    )


class Specialists:
    def __init__(
        self,
        model: Model,
        clock: Clock,
        everyone: Sequence[Specialist],
        tools: Sequence[Tool[Any]],
        lookups: Lookups,
        deadline: timedelta,
        max_tokens: int,
    ) -> None:
        """`tools`: what each of them may use besides looking into its own domains."""
        self._model = model
        self._clock = clock
        self._deadline = deadline
        self._max_tokens = max_tokens
        self._registries = {who.name: Registry([*tools, *lookups(who.domains)]) for who in everyone}
        self._everyone = tuple(everyone)

    def tools(self) -> list[Tool[Any]]:
        return [
            Tool(
                f"consult_{who.name}",
                f"Prepare the {who.area} side of a question. About: {who.when}.",
                Consult,
                partial(self._consult, who),
                self._deadline + MARGIN,
            )
            for who in self._everyone
        ]

    async def _consult(self, who: Specialist, asker: Asker, arguments: Consult) -> Outcome:
        most = NEVER_MORE if arguments.more_was_asked_for else AT_MOST
        if asker.tally[TALLY] >= most:
            told = _told(who, Usage(), who.model, 0, "over_limit")
            return Outcome(LIMIT.format(count=asker.tally[TALLY]), is_error=True, records=(told,))
        asker.tally[TALLY] += 1
        started = self._clock.monotonic()

        def unavailable(why: str, outcome: Result, usage: Usage = Usage(), model: str = who.model) -> Outcome:  # noqa: B008 - frozen
            told = _told(who, usage, model, self._clock.monotonic() - started, outcome)
            return Outcome(f"The {who.area} view is unavailable: {why}", is_error=True, records=(told,))

        request = self._request(who, asker, arguments)
        registry = self._registries[who.name]
        try:
            async with asyncio.timeout(self._deadline.total_seconds()):
                thinking = loop.answer(self._model, request, registry, asker, lambda _: None)
                answered = await attempt(thinking, f"consult {who.name}")
        except TimeoutError:
            return unavailable("no answer came in time.", "timed_out")
        except OpenExecutiveError as error:
            return unavailable(error.message, "failed")
        if isinstance(answered, Bug):
            return unavailable("something in it broke.", "failed")
        finished = answered.finished
        text = "".join(block.text for block in finished.content if isinstance(block, Text)).strip()
        if finished.stop is StopReason.REFUSAL:
            return unavailable("the model declined the question.", "refused", finished.usage, finished.model)
        if not text:
            return unavailable("nothing came back.", "empty", finished.usage, finished.model)
        whole = finished.stop in (StopReason.END_TURN, StopReason.STOP_SEQUENCE)
        taken = self._clock.monotonic() - started
        told = _told(who, finished.usage, finished.model, taken, "answered" if whole else "cut")
        return Outcome(
            text if whole else text + CUT,
            untrusted=answered.untrusted,
            sources=answered.sources,
            records=(*answered.records, told),
            links=answered.links,
        )

    def _request(self, who: Specialist, asker: Asker, arguments: Consult) -> Request:
        local = asker.now.astimezone(ZoneInfo(asker.time_zone))
        asked = (
            f"<context>now: {local:%A %Y-%m-%d %H:%M} ({asker.time_zone})</context>\n"
            f"<facts>\n{_escape(arguments.facts.strip())}\n</facts>\n"
            f"<question>\n{_escape(arguments.question.strip())}\n</question>"
        )
        return Request(
            who.model,
            (Text(who.charter, CacheMark.LONG), Text(asker.company, CacheMark.SHORT)),
            (Message("user", (Text(asked),)),),
            max_tokens=max(self._max_tokens, ROOM_TO_THINK) if who.deep else self._max_tokens,
            thinking=who.deep,
            effort=Effort.HIGH if who.deep else None,
            deadline=self._deadline,
        )


def _told(who: Specialist, usage: Usage, model: str, seconds: float, outcome: Result) -> SpecialistConsulted:
    return SpecialistConsulted(
        who.name,
        model,
        usage.input,
        usage.output,
        usage.cache_read,
        usage.cache_written,
        round(seconds * 1000),
        outcome,
    )


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
