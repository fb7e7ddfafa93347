"""What the offline adapter tells from `<past_decisions>`: the remembered line that a question is about. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from bot.kernel.values import dataclass
from bot.llm import exact, lexical
from bot.llm.layout import Words, plain
from bot.llm.model import Message, Text

MOST = 6
"""Lines of a list."""
_BLOCK = re.compile(r"\s*<past_decisions\b[^>]*>(.*?)</past_decisions>", re.DOTALL)
_NOT_TRUE = re.compile(r"\s*<no_longer_true\b[^>]*>(.*?)</no_longer_true>", re.DOTALL)
_LINE = re.compile(r"- \[(\w+) (\d{4}-\d\d-\d\d) (\w+), ([^\]]*)\] (.*)")
_NO_LONGER = re.compile(r"- at (\S+): “(.*)” \((?:taken back|replaced|corrected) (\S+?)(?:; see (\w+))?\)")
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


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """Words of the conversation that no longer hold, as a request tells them."""

    quote: str
    said_at: datetime
    at: datetime
    instead: str | None
    """The handle of the line that holds."""


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    share: float
    """Of the question that it carries."""
    line: Line
    """The first of them."""


def withdrawn(message: Message) -> tuple[Withdrawn, ...]:
    """What a message begins with and says is no longer true."""
    found = (_NO_LONGER.fullmatch(plain(line.strip())) for line in _block(message, _NOT_TRUE).splitlines())
    return tuple(
        Withdrawn(each[2], datetime.fromisoformat(each[1]), datetime.fromisoformat(each[3]), each[4])
        for each in found
        if each
    )


def holds(sentence: str, by: Words, gone: Sequence[Withdrawn]) -> bool:
    """Whether a sentence of the conversation is not among the words that no longer hold."""
    flat = " ".join(sentence.split())
    return not any(by.at == each.said_at and _same(flat, each.quote) for each in gone)


def _same(sentence: str, quote: str) -> bool:
    return sentence.startswith(quote[:-1]) if quote.endswith("…") else quote in sentence or sentence in quote


def remembered(message: Message) -> tuple[Line, ...]:
    """The lines of the block that a message begins with. Only a block of its own counts, never people's words."""
    return tuple(_lines(_block(message, _BLOCK)))


def _block(message: Message, element: re.Pattern[str]) -> str:
    for block in message.content:
        if isinstance(block, Text) and (match := element.fullmatch(block.text.rstrip())):
            return match[1]
    return ""


def told(question: str, lines: Sequence[Line]) -> Answer | None:
    """What is remembered of it; None if too little, or if none of it has the names and numbers of the question."""
    places, whole = exact.fitting(question, [line.statement for line in lines], [line.details for line in lines])
    if not whole:
        return None
    lines = [lines[place] for place in places]
    kind = next((name for name, words in _KINDS if re.search(rf"\b({words})\b", question, re.IGNORECASE)), None)
    fitting = [line for line in lines if kind is None or line.kind == kind]
    if kind is not None and fitting and not _subject(question):
        return Answer("\n".join(_said(line) for line in fitting[:MOST]), 1.0, fitting[0])
    for among in (fitting, lines):
        asked = _subject(question) if among is fitting and kind else question
        match = lexical.best(asked, [line.statement for line in among])
        if match is not None:
            return Answer(_said(among[match.index]), match.share, among[match.index])
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
