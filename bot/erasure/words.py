"""Which sentences of a text tell what is to be forgotten. Pure.

A sentence goes if the words stand in it as they were written (case, accents, punctuation, line breaks and invisible
characters make no difference), or if it is a part of them; and, of statements and quotes, if it says the same in other
order and with other small words: most of their telling words stand in it. A sentence that another memory rests on goes
only for the first reason. Words that say too little ("yes, do that") are looked for nowhere: they go from the message
that they were taken from.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise

from bot.kernel.erasing import joined
from bot.memory.normal import solid
from bot.memory.wording import telling

LEAST_LETTERS = 10
LEAST_TERMS = 2
"""Of what says enough to be looked for."""
MOST = 0.6
"""Share of the telling words of a phrase that make a sentence tell the same, three of them at least."""
SHORT = 4
"""Telling words of a sentence that tells the same as a phrase of two, if it has both."""
WRAPPED = 60
"""Letters from which on a line's end is taken for wrapping, not for the end of a sentence."""

_TOKEN = re.compile(r"\S+")
_END = re.compile(r"[.!?…。！？]+[\"'”’)\]*_]*(?=\s)|\n")
_FOLDED: dict[int, str | None] = {code: None for code in range(128) if not chr(code).isalnum()}
_FOLDED |= {ord("i"): "l", ord("1"): "l", ord("|"): "l", ord("0"): "o"}


class Phrases:
    """Of what is to be forgotten. `same`: texts that also go if a sentence says the same otherwise; `written`: texts
    that go only as they were written; `kept`: words that other memories rest on."""

    def __init__(self, same: Sequence[str], written: Sequence[str] = (), kept: Sequence[str] = ()) -> None:
        self._whole = {solid(each) for each in (*same, *written) if says_enough(each)}
        self._terms = {telling(each) for each in same if says_enough(each)}
        self._kept = {each for each in map(solid, kept) if len(each) >= LEAST_LETTERS}
        self._stems = {stem for each in (*same, *written) if says_enough(each) for stem in telling(each)}
        self._known: dict[str, str] = {}

    def holds(self, text: str) -> list[tuple[int, int]]:
        """Sentences in which the words stand as they were written."""
        return self._found(text, alike=False)

    def tells(self, text: str) -> list[tuple[int, int]]:
        """Sentences in which they stand, or which say the same."""
        return self._found(text, alike=True)

    def _found(self, text: str, *, alike: bool) -> list[tuple[int, int]]:
        if not self.may_tell(text):
            return []
        exact = self._exact(text)
        spans = list(exact)
        for start, end in sentences(text):
            within = text[start:end]
            if any(a < end and start < b for a, b in exact) or (alike and self._tells(within)):
                spans.append((start, end))
        return joined(spans)

    def may_tell(self, text: str) -> bool:
        """A quick look: most texts have nothing to do with it."""
        if not self._stems:
            return False
        if not text.isascii():
            return True
        folded = text.lower().translate(_FOLDED)
        return any(stem in folded for stem in self._stems)

    def _exact(self, text: str) -> list[tuple[int, int]]:
        tokens = [match.span() for match in _TOKEN.finditer(text)]
        letters = [self._solid(text[start:end]) for start, end in tokens]
        ends = list(accumulate(map(len, letters)))
        whole = "".join(letters)
        spans = []
        for phrase in self._whole:
            at = whole.find(phrase)
            while at >= 0:
                first, last = bisect_right(ends, at), bisect_right(ends, at + len(phrase) - 1)
                spans.append((tokens[first][0], tokens[last][1]))
                at = whole.find(phrase, at + 1)
        return joined(spans)

    def _tells(self, sentence: str) -> bool:
        return self._is_part(sentence) or self._alike(sentence)

    def _is_part(self, sentence: str) -> bool:
        """What a longer phrase is made of, said on its own."""
        if not says_enough(sentence):
            return False
        letters = solid(sentence)
        return any(letters in phrase for phrase in self._whole) and not self._is_kept(letters)

    def _alike(self, sentence: str) -> bool:
        terms = telling(sentence)
        if not any(_same(terms, each) for each in self._terms):
            return False
        return not self._is_kept(solid(sentence))

    def _is_kept(self, letters: str) -> bool:
        return any(each in letters or (len(letters) >= LEAST_LETTERS and letters in each) for each in self._kept)

    def _solid(self, token: str) -> str:
        found = self._known.get(token)
        if found is None:
            found = self._known[token] = solid(token)
        return found


def says_enough(text: str) -> bool:
    """Whether a text says enough to be told from others by."""
    return len(solid(text)) >= LEAST_LETTERS and len(telling(text)) >= LEAST_TERMS


def _same(terms: frozenset[str], phrase: frozenset[str]) -> bool:
    common = len(terms & phrase)
    if len(phrase) <= LEAST_TERMS:
        return common == len(phrase) and len(terms) <= SHORT
    return common >= 3 and common >= MOST * len(phrase)


def sentences(text: str) -> list[tuple[int, int]]:
    """The sentences of a text, without the space around them. A line's end ends one, unless the line is long enough to
    have been wrapped and goes on in lower case."""
    cuts = [0]
    line = 0
    for match in _END.finditer(text):
        if match[0] == "\n":
            wrapped = match.start() - line >= WRAPPED and text[match.end() : match.end() + 1].islower()
            line = match.end()
            if wrapped:
                continue
        cuts.append(match.end())
    cuts.append(len(text))
    found = []
    for start, end in pairwise(cuts):
        within = text[start:end]
        if stripped := within.strip():
            begin = start + within.index(stripped[0])
            found.append((begin, begin + len(stripped)))
    return found
