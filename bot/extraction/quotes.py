"""Whether a quote stands in a message, and where: letter for letter but for Unicode's forms, quotation marks, dashes,
invisible characters and white space. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from enum import Enum, auto

from bot.memory.normal import invisible

SHORTEST = 3
"""Characters of a quote, white space left out: a shorter one stands everywhere."""

_SAME = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4`", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        "\u2026": "...",
    }
)


class Missing(Enum):
    NOT_SAID = auto()
    NOT_OWN = auto()
    """It stands in the message, but not in its writer's own words."""


def place(quote: str, text: str, own: Sequence[tuple[int, int]]) -> tuple[int, int] | Missing:
    """The span of `text`, half-open, that the quote repeats: whole words, within one span of own words."""
    wanted = "".join(part for part, _, _ in _folded(quote)).strip()
    if len(wanted.replace(" ", "")) < SHORTEST:
        return Missing.NOT_SAID
    pieces = _folded(text)
    said = "".join(part for part, _, _ in pieces)
    found, at = False, said.find(wanted)
    while at >= 0:
        if _whole(said, at, at + len(wanted)):
            found = True
            start, end = pieces[at][1], pieces[at + len(wanted) - 1][2]
            if any(first <= start and end <= last for first, last in own):
                return start, end
        at = said.find(wanted, at + 1)
    return Missing.NOT_OWN if found else Missing.NOT_SAID


def _whole(said: str, start: int, end: int) -> bool:
    """No word or number is cut: "20k" does not stand in "120k"."""
    before = start > 0 and said[start - 1].isalnum() and said[start].isalnum()
    after = end < len(said) and said[end].isalnum() and said[end - 1].isalnum()
    return not before and not after


def _folded(text: str) -> list[tuple[str, int, int]]:
    """Characters of the compared form, each with the span of `text` that it comes from."""
    pieces: list[tuple[str, int, int]] = []
    blank = True
    for start, end in _clusters(text):
        for character in unicodedata.normalize("NFKC", text[start:end]).translate(_SAME).casefold():
            if invisible(character):
                continue
            if not character.isspace():
                pieces.append((character, start, end))
            elif not blank:
                pieces.append((" ", start, end))
            blank = character.isspace()
    return pieces


def _clusters(text: str) -> list[tuple[int, int]]:
    """A character with the marks that follow it: they compose only together."""
    found: list[tuple[int, int]] = []
    for at, character in enumerate(text):
        if found and unicodedata.combining(character):
            found[-1] = (found[-1][0], at + 1)
        else:
            found.append((at, at + 1))
    return found
