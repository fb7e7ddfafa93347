"""The offline adapter's eye for requests to schedule something: it hands the person's sentence to the tool as it is,
and the tool reads the time out of it or asks back. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.llm.layout import Words
from bot.llm.model import Request, ToolResult, ToolUse
from bot.llm.offline_acting import Wished

SCHEDULE = "schedule"
DONE = "I have noted it."
LONGEST = 500
_SIDE = 5
"""Words of a line beside the request: a greeting, a name."""

_START = (
    r"(?:@\S+\s+)?(?:(?:please|kindly|and|hi|hello|hey|bitte|und|hallo|can you|could you|would you|will you|kannst du)"
    r"[\s,]+)*"
)
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?|sonnabends?"
_UNIT = r"(?:minut\w*|hours?|stunden?|days?|tag\w*|weeks?|wochen?)"
_AGAIN = rf"(?:every|each|daily|weekly|jede[nrs]?|täglich|werktags|montags|freitags|on\s+(?:{_DAY})s)"
_TIME = (
    rf"(?:{_AGAIN}|tomorrow|today|tonight|morgen|übermorgen|heute|(?:on|am|this|next)\s+(?:the\s+)?(?:{_DAY}|\d)"
    rf"|(?:at|um)\s+\d|in\s+(?:\S+\s+){{1,2}}{_UNIT})\b"
)
_WHO = r"(?:me|us|mich|mir|uns|[^\W\d_][\w.'’-]*)"
_RECALL = r"(?:again\s+)?(?:what|who|whom|when|where|why|which|how|was|wer|wann|wo|warum|wie|welche\w*)"
_ABOUT = rf"(?:about|of|an)\b(?!.*\b{_TIME})"
_VERB = r"(?:remind|ask|send|give|tell|show|erinner\w*|frag\w*|schick\w*|sag\w*|gib|zeig\w*)"
_FORMS = (
    rf"(?:remind|erinner\w*)\s+{_WHO}(?:\s+(?:please|bitte))?\s+(?!{_RECALL}\b|{_ABOUT}).+",
    rf"(?:ask|frag\w*)\s+{_WHO}\s.*\b{_TIME}.*",
    rf"(?:send|give|tell|show|schick\w*|sag\w*|gib|zeig\w*)\s+(?:me|us|mir|uns)\s.*\b{_AGAIN}\b.*",
    rf"(?:tell|show|sag\w*|zeig\w*)\s+(?:me|us|mir|uns)\s+{_TIME}.*",
    rf"{_TIME}.{{0,60}}?\b{_VERB}\s+{_WHO}\b.*",
    rf"(?:mich|uns)\s.*\b{_TIME}.*\berinnern\W*",
)


def wished(request: Request, asked: Sequence[Words]) -> Wished | None:
    """`asked`: what people wrote last. None if nothing is to be scheduled, or nothing here could do it."""
    if len(asked) != 1:
        return None
    sentence = read(asked[0].text)
    result = _result(request)
    if sentence is None or not (result is not None or any(tool.name == SCHEDULE for tool in request.tools)):
        return None
    if result is None:
        return Wished((ToolUse("offline_schedule", SCHEDULE, {"request": sentence}),), "")
    return Wished((), f"{result.text[:1].upper()}{result.text[1:]}" if result.is_error else DONE)


def read(text: str) -> str | None:
    """The one line of a message that asks for it; what stands beside it is short."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    found = [line for line in lines if len(line) <= LONGEST and _asks(line)]
    if len(found) != 1 or any(len(line.split()) > _SIDE for line in lines if line != found[0]):
        return None
    return found[0]


def _asks(line: str) -> bool:
    return any(re.fullmatch(_START + form, line, re.IGNORECASE) for form in _FORMS)


def _result(request: Request) -> ToolResult | None:
    """Of the call in this turn."""
    calls: set[str] = set()
    found: ToolResult | None = None
    for message in request.messages:
        for block in message.content:
            if isinstance(block, ToolUse) and block.name == SCHEDULE:
                calls.add(block.id)
            elif isinstance(block, ToolResult) and block.tool_use_id in calls:
                found = block
    return found
