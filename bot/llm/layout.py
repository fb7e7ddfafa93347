"""Reads back the layout of user messages: who said what, and when. Pure and tolerant.

A user message may begin with blocks of context in tags (`<context>…</context>`), which are data and nobody's words;
what people said stands in `<message from="Ann" at="2026-11-30T21:40Z">…</message>`, one element a message, with
`&`, `<` and `>` written as entities. Text without any element is taken for one message of an unnamed person.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from bot.kernel.values import dataclass
from bot.llm.model import Message, Text

_OPENING = re.compile(r"\s*<([A-Za-z][\w.-]*)((?:\s+[\w.-]+=\"[^\"]*\")*)\s*>")
_ATTRIBUTE = re.compile(r"([\w.-]+)=\"([^\"]*)\"")
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#x27;", "'"), ("&#39;", "'"), ("&apos;", "'"))
_MESSAGE = "message"
_WITHIN = re.compile(r"\s*<(quoted|forwarded|file)\b[^>]*?(?:/>|>.*?</\1>)\s*", re.DOTALL)
"""Others' words and files within a message: material, not what its writer says. Text cannot forge them, since its own
`<` and `>` are entities."""


@dataclass(frozen=True, slots=True)
class Words:
    """One message of a person; `speaker` and `at` (aware) as far as the layout says them."""

    text: str
    speaker: str | None = None
    at: datetime | None = None


def words(message: Message) -> tuple[Words, ...]:
    """The messages of people in a user message, in order; none for an assistant's."""
    if message.role != "user":
        return ()
    said: list[Words] = []
    loose: list[str] = []
    for block in message.content:
        if isinstance(block, Text):
            for found in _parts(block.text):
                if isinstance(found, Words):
                    said.append(found)
                else:
                    loose.append(found)
    if said or not loose:
        return tuple(said)
    return (Words("\n".join(loose)),)


def _parts(text: str) -> Iterator[Words | str]:
    """Elements from the start of `text` on, as long as it consists of elements; what follows is loose text."""
    at = 0
    while opening := _OPENING.match(text, at):
        name = opening[1]
        closing = text.find(f"</{name}>", opening.end())
        if closing < 0:
            break
        inner = text[opening.end() : closing]
        at = closing + len(name) + 3
        if name == _MESSAGE:
            given = {key: plain(value) for key, value in _ATTRIBUTE.findall(opening[2])}
            own = _WITHIN.sub("", inner)
            yield Words(plain(own).strip(), given.get("from") or None, _instant(given.get("at", "")))
    if rest := text[at:].strip():
        yield plain(rest) if at else rest


def plain(text: str) -> str:
    """Undo the five entities of XML; `&amp;` last, so that nothing is undone twice."""
    for entity, char in (
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", '"'),
        ("&#x27;", "'"),
        ("&#39;", "'"),
        ("&apos;", "'"),
    ):
        text = text.replace(entity, char)
    return text.replace("&amp;", "&")


def _instant(text: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
