"""What the offline adapter tells from `<past_decisions>`: the remembered line that a question is about. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bot.llm import lexical
from bot.llm.layout import plain
from bot.llm.model import Message, Text

MOST = 6
"""Lines of a list."""
_BLOCK = re.compile(r"\s*<past_decisions\b[^>]*>(.*?)</past_decisions>", re.DOTALL)
_LINE = re.compile(r"- \[(\w+) (\d{4}-\d\d-\d\d) (\w+), ([^\]]*)\] (.*)")
_KINDS = (
    ("initiative", r"initiatives?|projects?|working on|under way|vorhaben|initiativen|projekte?"),
    ("advice", r"advis\w*|advice|recommend\w*|suggest\w*|geraten|empfohlen|empfehl\w*"),
    ("decision", r"deci\w+|agreed|chosen?|chose|entschieden|beschlossen|entscheidung(en)?"),
    ("preference", r"prefer\w*|preferences?|bevorzug\w*"),
)


@dataclass(frozen=True, slots=True)
class Line:
    handle: str
    day: str
    kind: str
    state: str
    statement: str
    details: str
    """Who, why, validity, as the block tells them."""


def remembered(message: Message) -> tuple[Line, ...]:
    """The lines of the block that a message begins with. Only a block of its own counts, never people's words."""
    for block in message.content:
        if isinstance(block, Text) and (match := _BLOCK.fullmatch(block.text.rstrip())):
            return tuple(_lines(match[1]))
    return ()


def told(question: str, lines: Sequence[Line]) -> tuple[str, float] | None:
    """What is remembered of it, and which share of the question that carries; None if too little."""
    kind = next((name for name, words in _KINDS if re.search(rf"\b({words})\b", question, re.IGNORECASE)), None)
    fitting = [line for line in lines if kind is None or line.kind == kind]
    if kind is not None and fitting and not _subject(question):
        return "\n".join(_said(line) for line in fitting[:MOST]), 1.0
    for among in (fitting, lines):
        asked = _subject(question) if among is fitting and kind else question
        match = lexical.best(asked, [line.statement for line in among])
        if match is not None:
            return _said(among[match.index]), match.share
    return None


def _subject(question: str) -> str:
    """The question without the words that only say which kind is asked for."""
    for _, words in _KINDS:
        question = re.sub(rf"\b({words})\b", " ", question, flags=re.IGNORECASE)
    return " ".join(lexical.terms(question))


def _lines(text: str) -> Iterator[Line]:
    for line in text.splitlines():
        if match := _LINE.fullmatch(plain(line.strip())):
            statement, details = _parted(match[5])
            yield Line(match[1], match[2], match[3], match[4], statement, details)


def _parted(text: str) -> tuple[str, str]:
    """The statement, and what stands in the brackets at its end."""
    if not text.endswith(")"):
        return text, ""
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += (text[at] == ")") - (text[at] == "(")
        if depth == 0:
            return text[:at].rstrip(), text[at + 1 : -1]
    return text, ""


def _said(line: Line) -> str:
    details = f" ({line.details})" if line.details else ""
    state = "" if line.state == "active" else f", {line.state}"
    return f"Remembered, {line.kind} of {line.day}{state}: “{line.statement}”{details}"
