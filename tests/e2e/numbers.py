"""Messages that carry a number, and a model that answers with the numbers it was asked: what was lost or doubled shows
in the text that arrives, whatever ids say."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator

from bot.llm.model import Event, Finished, ModelHealth, Request, StopReason, Text, TextDelta, Usage
from tests.fakes.anthropic_reply import Reply, say
from tests.fakes.anthropic_script import ModelRequest

_NUMBER = re.compile(r"\bItem (\d+)\b")


def words(number: int) -> str:
    """The text of a message."""
    return f"Item {number} please"


def numbers_in(text: str) -> list[int]:
    return [int(found) for found in _NUMBER.findall(text)]


PARAGRAPHS = 16
AT_LEISURE = "at leisure"
"""In a message: the model in the process says half of its answer and takes a while over the rest, so that a channel
that shows drafts has time to put up its placeholder."""
LEISURE = 1.0
"""Seconds."""


def answer(text: str) -> str:
    """What the model says to `text`: the numbers in it, in order; to "at length", that many numbered paragraphs; to the
    gate, that it is being spoken to."""
    if text.endswith("yes or no"):
        return "yes"
    if "at length" in text:
        return "\n\n".join(f"Paragraph {number}. {'word ' * 150}" for number in range(1, PARAGRAPHS + 1))
    return "Done: " + ", ".join(f"Item {number}" for number in numbers_in(text))


def last_words(request: Request) -> str:
    """The text of the turn's own message: what people wrote, after the context."""
    return "\n".join(block.text for block in request.messages[-1].content if isinstance(block, Text))


def script(request: ModelRequest) -> Reply:
    """The same, as a script of the Messages API stand-in."""
    return say(answer(request.turns[-1][1]))


class NumbersModel:
    """`bot.llm.model.Model` in the daemon's own process, for runs in which the model's adapter is not the question."""

    provider = "offline"

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        text = answer(last_words(request))
        half = len(text) // 2
        yield TextDelta(text[:half])
        if AT_LEISURE in last_words(request):
            await asyncio.sleep(LEISURE)  # the model's pace, not a wait
        yield TextDelta(text[half:])
        yield Finished((Text(text),), StopReason.END_TURN, Usage(), "numbers")

    def health(self) -> ModelHealth:
        return ModelHealth(True)

    async def close(self) -> None:
        """Nothing to close."""
