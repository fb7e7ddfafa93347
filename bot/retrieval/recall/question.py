"""Reading a question: its telling words, the speakers that it names, the time that it means. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import datetime
from itertools import pairwise

from bot.retrieval.fulltext import plain, terms, words
from bot.retrieval.recall.model import Question
from bot.retrieval.recall.times import days
from bot.retrieval.stopwords import STOP_WORDS

MOST_WORDS = 12
"""With half as many, long questions found 0.02 less of what they were about."""
MOST_PHRASES = 6
_SHORTEST_NAME = 3
_WORD = re.compile(r"\w+(?:['’]s\b)?")


def read(text: str, speakers: Collection[str], at: datetime) -> Question:
    """A question asked at this instant over what these people said."""
    names = _names(speakers)
    hits = {name for name in _written(text) if plain(name) in names and _is_name(name, text)}
    called = {plain(name) for name in hits}
    named = frozenset(speaker for name in called for speaker in names[name])
    every = terms(text, most=100)
    kept = [word for word in every if word not in called] or list(every)
    kept = kept[:MOST_WORDS]
    return Question(tuple(kept), _phrases(text, kept), _spoken(text, hits), named, days(text, at.date()))


def _names(speakers: Collection[str]) -> dict[str, set[str]]:
    """Speakers by each part of their names that can stand for them. What is written small is a role, not a name."""
    found: dict[str, set[str]] = {}
    for speaker in speakers:
        for part in re.findall(r"\w+", speaker):
            if len(part) >= _SHORTEST_NAME and part[0].isupper():
                found.setdefault(plain(part), set()).add(speaker)
    return found


def _written(text: str) -> list[str]:
    return [re.sub(r"['’]s$", "", word) for word in _WORD.findall(text)]


def _is_name(word: str, text: str) -> bool:
    """Who writes some words with a capital writes names so (`Will`, `Mark`, `Bill`); who writes all small, does not."""
    if plain(word) in STOP_WORDS:
        return word[0].isupper() and not text.lstrip().startswith(word)
    return word[0].isupper() or not any(char.isupper() for char in text.lstrip()[1:])


def _phrases(text: str, kept: Collection[str]) -> tuple[str, ...]:
    """Pairs of kept words that follow each other."""
    row = words(text)
    pairs = [f"{one} {two}" for one, two in pairwise(row) if one in kept and two in kept]
    return tuple(dict.fromkeys(pairs))[:MOST_PHRASES]


def _spoken(text: str, hits: Collection[str]) -> str:
    def turned(match: re.Match[str]) -> str:
        word = match[0]
        bare = re.sub(r"['’]s$", "", word)
        if bare not in hits:
            return word
        return "my" if bare != word else "I"

    return _WORD.sub(turned, text) if hits else text
