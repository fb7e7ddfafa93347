"""What was changed between two texts, for `<del>` and `<ins>`. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Literal

from bot.kernel.values import dataclass

Kind = Literal["same", "out", "in"]
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
MOST_TOKENS = 800
"""Of one changed stretch that is compared word by word: the time that takes grows with the square."""


@dataclass(frozen=True, slots=True)
class Piece:
    kind: Kind
    text: str


def pieces(before: str, after: str) -> list[Piece]:
    """Both texts in one, word by word within the lines that differ."""
    found: list[Piece] = []
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    for code, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        gone, come = "".join(old[a:b]), "".join(new[c:d])
        found += [Piece("same", gone)] if code == "equal" else _words(gone, come)
    return _joined(found)


def _words(before: str, after: str) -> list[Piece]:
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    if not old or not new or len(old) + len(new) > MOST_TOKENS:
        return [Piece("out", before), Piece("in", after)]
    found: list[Piece] = []
    for code, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        gone, come = "".join(old[a:b]), "".join(new[c:d])
        found += [Piece("same", gone)] if code == "equal" else [Piece("out", gone), Piece("in", come)]
    return found


def _joined(of: Sequence[Piece]) -> list[Piece]:
    """Neighbours of one kind are one piece; empty ones go."""
    found: list[Piece] = []
    for each in of:
        if not each.text:
            continue
        if found and found[-1].kind == each.kind:
            found[-1] = Piece(each.kind, found[-1].text + each.text)
        else:
            found.append(each)
    return found
