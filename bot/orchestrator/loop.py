"""The loop of an answer: the model speaks, its tool calls are run, it speaks again, until it is done. Bounded."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace

from bot.audit.events import Payload
from bot.gateway.text_links import addresses
from bot.kernel.values import dataclass
from bot.llm.converse import converse
from bot.llm.model import (
    Finished,
    Message,
    Model,
    Request,
    Restarted,
    StopReason,
    Text,
    TextDelta,
    ToolUse,
    Usage,
)
from bot.orchestrator.intents import Intent
from bot.orchestrator.tools import Asker, Outcome, Registry, Source, called, result

ROUNDS = 8
"""Times that the model may call tools within one answer."""
LAST_ROUND = (
    "No further tool calls are possible in this answer. Answer now with what you have, and say what is missing."
)


@dataclass(frozen=True, slots=True)
class Answered:
    """The last word of the model, and what it took to get there. `finished.usage` is that of all calls."""

    finished: Finished
    sources: tuple[Source, ...]
    records: tuple[Payload, ...]
    untrusted: bool
    """Text of others was read on the way."""
    links: frozenset[str] = frozenset()
    """Addresses that stand in the sources."""
    intents: tuple[Intent, ...] = ()
    """What is written when the turn ends."""


async def answer(
    model: Model,
    request: Request,
    registry: Registry,
    asker: Asker,
    shown: Callable[[str | None], None],
) -> Answered:
    """Ask until the model is done. `shown` hears every piece of text as it comes, and None when what was shown is void.

    Raises like `Model.stream`.
    """
    usage = Usage()
    sources: dict[str, Source] = {}
    records: list[Payload] = []
    intents: list[Intent] = []
    links: frozenset[str] = frozenset()
    untrusted = False
    request = replace(request, tools=registry.specs())
    for round_number in range(ROUNDS + 1):
        if round_number == ROUNDS:
            last = request.messages[-1]
            said = replace(last, content=(*last.content, Text(LAST_ROUND)))
            request = replace(request, tools=(), messages=(*request.messages[:-1], said))
        finished = await _once(model, request, shown)
        usage += finished.usage
        calls = [block for block in finished.content if isinstance(block, ToolUse)]
        if finished.stop is not StopReason.TOOL_USE or not calls or round_number == ROUNDS:
            finished = replace(finished, usage=usage)
            return Answered(finished, tuple(sources.values()), tuple(records), untrusted, links, tuple(intents))
        outcomes = await registry.run(asker, calls)
        for call, outcome in zip(calls, outcomes, strict=True):
            records += [called(call), *outcome.records]
            sources |= {source.id: source for source in outcome.sources if source.read or source.id not in sources}
            untrusted = untrusted or outcome.untrusted
            links |= _links(outcome)
            intents += outcome.intents
        results = Message("user", tuple(result(c, o) for c, o in zip(calls, outcomes, strict=True)))
        request = replace(request, messages=(*request.messages, Message("assistant", finished.content), results))
        shown(None)
    raise AssertionError("the loop returns")


def _links(outcome: Outcome) -> frozenset[str]:
    if outcome.links is not None:
        return outcome.links
    return addresses(outcome.text) if outcome.sources and not outcome.is_error else frozenset()


async def _once(model: Model, request: Request, shown: Callable[[str | None], None]) -> Finished:
    finished: Finished | None = None
    async with aclosing(converse(model, request)) as events:
        async for event in events:
            match event:
                case TextDelta(text):
                    shown(text)
                case Restarted():
                    shown(None)
                case Finished():
                    finished = event
    if finished is None:
        raise RuntimeError("the model's stream ended without its last event")
    return finished
