"""Finds the earlier sentence that a question is about: shared words, rarer ones counting more. Pure, English first.

Small and exact rather than clever: it is used over one conversation, by the offline adapter.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

from bot.kernel.values import dataclass

ENOUGH = 0.5
"""Least share of a question's weight that a sentence must carry."""

_WORD = r"[^\W_]+(?:[.,]\d+)*"
_SENTENCE = r"(?<=[.!?…])[\"'”’)\]]*\s+(?=\S)|\n+"
_ABBREVIATION = r"(?:\b(?:[A-Za-z]|e\.g|i\.e|Dr|Mr|Mrs|Ms|St|vs|No|Nr|approx|ca|bzw|z\.B)\.|\b\d{1,2}\.)$"
_LONGEST = 12
"""Characters that are looked at for an abbreviation."""

_WORDLESS = """
    a about again all am an and any are as at be because been before being but by can could did do does doing done
    down for from had has have having he her here him his how i if in into is it its just kindly know let long made
    many may me mention mentioned might more most much my no not now of off often on once one only or other our out
    over own please recall remember remind said same say saying shall she should so some still such talk talked tell
    than that the their them then there these they thing things think this those though through till to told too
    under until up us very was we were what whats when where which while who whom whose why will with would yet you
    your yours s t re ve ll d m aber als also auch auf aus bei bin bis bitte bist da das dass dein dem den denn der
    des die dir doch du ein eine einem einen einer er es fur habe haben hat hatte ich ihr im ist ja kann mein mich
    mir mit nach nicht noch oder sage sagte sein seine sich sie sind uber um und uns unser unsere vom von war warum
    wann wenn wer wie wieviel viel viele lange wir wird wo woruber zu zum zur
    """
_STOP = frozenset(_WORDLESS.split())
"""English and some German words that say nothing about a subject."""

_QUANTITY = (
    r"\b(how (long|many|much|often|old|big|far|high|large)|when|what (date|day|time|year|number)|wie (lange|viele?|oft)"
    r"|wann)\b"
)
_TIME = (
    r"\b(to(day|morrow)|yesterday|tonight|(mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|june"
    r"|july|august|september|october|november|december|next|last|noon|midnight)\b"
)


@dataclass(frozen=True, slots=True)
class Match:
    """`index` into the sentences searched; `share` in (0, 1] of the question that the sentence carries."""

    index: int
    share: float


def sentences(text: str) -> tuple[str, ...]:
    """`text` cut after sentences and at line ends; dots of common abbreviations and ordinal days do not end one."""
    found: list[str] = []
    start = 0
    for gap in re.finditer(_SENTENCE, text):
        before = text[max(start, gap.start() - _LONGEST) : gap.start()]
        if "\n" not in gap[0] and re.search(_ABBREVIATION, before):
            continue
        found.append(text[start : gap.end()].strip())
        start = gap.end()
    found.append(text[start:].strip())
    return tuple(sentence for sentence in found if sentence)


def terms(text: str) -> tuple[str, ...]:
    """Words that carry meaning: lower case, without accents, lightly stemmed, without stop words."""
    plain = "".join(
        char for char in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(char)
    ).replace("’", "'")
    plain = re.sub(r"'s\b", "", plain)
    return tuple(_stem(word) for word in re.findall(_WORD, plain) if word not in _STOP)


def _stem(word: str) -> str:
    """Plural and the commonest endings of verbs, only where a stem of at least three letters is left."""
    if any(char.isdigit() for char in word):
        return word
    for ending, put in (("ies", "y"), ("sses", "ss"), ("ches", "ch"), ("xes", "x")):
        if word.endswith(ending) and len(word) > len(ending) + 1:
            return word[: -len(ending)] + put
    for ending in ("ings", "ing", "ed"):
        if word.endswith(ending) and len(word) >= len(ending) + 3:
            word = word[: -len(ending)]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            return word.removesuffix("e")
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


def best(question: str, searched: Sequence[str]) -> Match | None:
    """The sentence that carries most of `question`, None if none carries enough. Of equal ones, when a quantity or a
    time is asked for, those that hold one; then the newest."""
    match = nearest(question, searched)
    return match if match is not None and match.share >= ENOUGH else None


def nearest(question: str, searched: Sequence[str]) -> Match | None:
    """Like `best`, however little it carries; None only where there is nothing to compare.

    A term weighs log(1 + sentences / sentences that have it); one that occurs nowhere weighs as much as the rarest
    can.
    """
    wanted = set(terms(question))
    held = [frozenset(terms(sentence)) for sentence in searched]
    if not wanted or not held:
        return None
    frequency = Counter(term for one in held for term in one)
    weight = {term: math.log(1 + len(held) / max(1, frequency[term])) for term in wanted}
    whole = sum(weight.values())
    measured = bool(re.search(_QUANTITY, question, re.IGNORECASE))

    def rank(index: int) -> tuple[float, bool, int]:
        share = sum(weight[term] for term in wanted & held[index]) / whole
        fits = measured and bool(re.search(r"\d", searched[index]) or re.search(_TIME, searched[index], re.IGNORECASE))
        return round(share, 3), fits, index

    share, _, index = max(map(rank, range(len(held))))
    return Match(index, share)
