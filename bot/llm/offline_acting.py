"""The offline adapter's grammar for having something done: a mail to an address, a message to a person. Pure.

`Send a mail to kim@example.com about the fair: We come on Tuesday.` and `Tell Ben that the lease is signed.` as a whole
message; whatever is put in another way is no wish. What becomes of it is the tool's: a proposal that a person decides.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from bot.kernel.values import dataclass
from bot.llm.layout import Words
from bot.llm.model import Request, ToolResult, ToolUse

MAIL, MESSAGE = "send_email", "send_message"
ASKED = "asked for in so many words"
DONE = "I have put that forward."
REFUSED = "I could not put that forward: {why}"

_START = r"(?:@\S+\s+)?(?:(?:please|kindly|bitte|can you|could you|would you|kannst du)[\s,]+)*"
_ADDRESS = r"<?(?P<to>[^\s@<>:,;]+@[^\s@<>:,;]+)>?"
_SUBJECT = (
    r"(?:[\s,]+(?:about|with the subject|subject|über|betreff)[\s:]+[\"“„]?(?P<subject>[^:\n\"”“]{1,200}?)[\"”“]?)?"
)
_MAILS = tuple(
    _START + form + r"[\s,]*" + _ADDRESS + _SUBJECT + r"\s*:\s*(?P<text>\S.*)"
    for form in (
        r"(?:send|write|schick\w*|schreib\w*|sende)\s+(?:(?:a|an|one|eine)\s+)?(?:e-?mail|mail)\s+(?:to|an)",
        r"(?:e-?mail|mail)(?:\s+(?:to|an))?",
    )
)
_NAME = r"(?P<to>[^\W\d_][\w.'’-]{0,39}(?:\s+(?!(?:that|dass|a|eine)\b)[^\W\d_][\w.'’-]{0,39})?)"
_MESSAGES = tuple(
    _START + form
    for form in (
        rf"(?:tell|message|ping|sag|sage)\s+{_NAME}\s*(?::|,?\s+(?:that|dass)\s)\s*(?P<text>\S.*)",
        rf"(?:send|write|schick\w*|schreib\w*)\s+{_NAME}\s+(?:a|eine)\s+(?:message|nachricht)\s*:\s*(?P<text>\S.*)",
        rf"(?:send|write)\s+(?:a\s+)?message\s+to\s+{_NAME}\s*:\s*(?P<text>\S.*)",
    )
)
_NOBODY = ("me", "us", "you", "him", "her", "it", "them", "everyone", "everybody", "all", "someone", "somebody", "mir",
           "uns", "ihm", "ihr", "ihnen", "allen")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Wished:
    """What is to be called, or what is said because it was called."""

    calls: tuple[ToolUse, ...]
    said: str


def wished(request: Request, asked: Sequence[Words]) -> Wished | None:
    """`asked`: what people wrote last. None if it is no such wish, or nothing here could do it."""
    if len(asked) != 1:
        return None
    found = read(asked[0].text)
    if found is None or not (
        any(tool.name == found[0] for tool in request.tools) or _result(request, found[0]) is not None
    ):
        return None
    name, arguments = found
    result = _result(request, name)
    if result is None:
        return Wished((ToolUse("offline_act", name, arguments),), "")
    return Wished((), REFUSED.format(why=result.text) if result.is_error else DONE)


def _of(text: str) -> str:
    """A subject for words that were given none: how they begin."""
    return textwrap.shorten(text.strip().splitlines()[0].rstrip("."), 60, placeholder=" …")


def read(text: str) -> tuple[str, dict[str, object]] | None:
    """The tool that a message asks for, with its arguments."""
    text = text.strip()
    for pattern in _MAILS:
        if match := _whole(pattern, text):
            subject = " ".join((match["subject"] or _of(match["text"])).split())
            subject = subject[:1].upper() + subject[1:]
            return MAIL, {"to": match["to"], "subject": subject, "text": match["text"].strip(), "reason": ASKED}
    for pattern in _MESSAGES:
        match = _whole(pattern, text)
        if match and match["to"].split()[0].lower() not in _NOBODY:
            said = match["text"].strip()
            return MESSAGE, {"to": match["to"], "text": said[:1].upper() + said[1:], "reason": ASKED}
    return None


def _whole(pattern: str, text: str) -> re.Match[str] | None:
    return re.fullmatch(pattern, text, re.IGNORECASE | re.DOTALL)


def _result(request: Request, name: str) -> ToolResult | None:
    """Of a call in this turn."""
    calls: set[str] = set()
    found: ToolResult | None = None
    for message in request.messages:
        for block in message.content:
            if isinstance(block, ToolUse) and block.name == name:
                calls.add(block.id)
            elif isinstance(block, ToolResult) and block.tool_use_id in calls:
                found = block
    return found
