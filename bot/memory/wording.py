"""What a text says, boiled down for comparing: its telling words and its runs of five. Pure.

Built on `normal`, so case, accents, punctuation, invisible characters and look-alikes make no difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from bot.memory.normal import normal, plain, solid
from bot.retrieval.stopwords import STOP_WORDS

RUN = 5
"""Words of a run."""
_PIECE = re.compile(r"[^\W_]+")
_ENDINGS = ("lng", "ers", "ed", "es", "en", "er", "e", "n", "s", "d")
"""As `normal` writes them (an i is an l there)."""
_STEM = 4
"""Letters that are left of a word at least."""


@cache
def _empty_words() -> frozenset[str]:
    return frozenset(solid(word) for word in STOP_WORDS)


def telling(text: str) -> frozenset[str]:
    """The words of a text that say something, without their endings: no stop words, nothing of one or two letters
    unless it has a digit."""
    found = set()
    for piece in _PIECE.findall(plain(text)):
        word = solid(piece)
        if word in _empty_words() or (len(word) < 3 and not any(each.isdigit() for each in piece)):
            continue
        found.add(_stem(word, piece))
    return frozenset(found)


def runs(text: str) -> Iterator[str]:
    """Every five words in a row of which two or more say something."""
    words = normal(text).split()
    for start in range(len(words) - RUN + 1):
        run = words[start : start + RUN]
        if sum(word not in _empty_words() and len(word) > 2 for word in run) >= 2:
            yield " ".join(run)


def _stem(word: str, piece: str) -> str:
    if any(each.isdigit() for each in piece):
        return word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _STEM:
            return word[: -len(ending)]
    return word
