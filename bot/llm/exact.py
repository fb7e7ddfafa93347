"""Which sentences can answer a question that names somebody or something: its numbers and proper names stand in them.

Shared words alone do not tell room 4 from room 12, nor Paris from Munich. Pure; names are told in English only (German
writes every noun like one), numbers in any language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bot.kernel.values import dataclass
from bot.llm import lexical

_TOKEN = re.compile(r"[^\W_]+(?:[.,]\d+)*(?:['’]s\b)?")
_GERMAN = re.compile(
    r"\W*(wer|wen|wem|was|wann|wo|warum|wieso|wie|welche[rsmn]?|ist|sind|war|hat|haben|unser\w*|der|die|das)\b",
    re.IGNORECASE,
)
_NOBODY = re.compile(
    r"(mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september|october"
    r"|november|december|i|i['’]\w+",
    re.IGNORECASE,
)


_LONGEST = 600
"""Characters that names are looked for in: of more, the beginning and the end."""


@dataclass(frozen=True, slots=True)
class Named:
    """What a question names, as `lexical.terms` writes it."""

    names: frozenset[str]
    numbers: frozenset[tuple[str, str | None]]
    """Each with the word right before it that it belongs to (`room 12`), if there is one."""

    def __bool__(self) -> bool:
        return bool(self.names or self.numbers)


def named(question: str) -> Named:
    question = _clipped(question)
    numbers: set[tuple[str, str | None]] = set()
    before: str | None = None
    for token in _TOKEN.findall(question):
        found = lexical.terms(token)
        if found and token[0].isdigit():
            numbers.add((found[0], before))
        before = found[0] if found and not token[0].isdigit() else None
    return Named(frozenset(_names(question)), frozenset(numbers))


def fitting(question: str, sentences: Sequence[str], tellers: Sequence[str | None] = ()) -> tuple[list[int], bool]:
    """Places of the sentences that may be told to `question`, and whether all that it names stands in them. If not,
    they are the sentences that name nothing else in its place. `tellers`: who said each, a name as good as others."""
    of = named(question)
    if not of:
        return list(range(len(sentences))), True
    by = [*tellers, *([None] * (len(sentences) - len(tellers)))]
    whole = [place for place, each in enumerate(sentences) if _holds(of, each, by[place])]
    if whole:
        return whole, True
    return [place for place, each in enumerate(sentences) if not _names_another(of, each, by[place])], False


def _holds(of: Named, sentence: str, teller: str | None) -> bool:
    return not _missing_names(of, sentence, teller) and not _missing_numbers(of, sentence)


def _names_another(of: Named, sentence: str, teller: str | None) -> bool:
    """It misses a name or a number of the question and has one of its own."""
    if _missing_numbers(of, sentence) and re.search(r"\d", sentence):
        return True
    return bool(_missing_names(of, sentence, teller)) and bool(set(_names(sentence)) - of.names)


def _missing_names(of: Named, sentence: str, teller: str | None) -> frozenset[str]:
    return of.names - {*lexical.terms(sentence), *lexical.terms(teller or "")} if of.names else frozenset()


def _missing_numbers(of: Named, sentence: str) -> bool:
    words = lexical.terms(sentence) if of.numbers else ()
    return any(not _has(words, number, before) for number, before in of.numbers)


def _has(words: Sequence[str], number: str, before: str | None) -> bool:
    places = [place for place, word in enumerate(words) if word == number]
    if before is None:
        return bool(places)
    return any(before in (*words[max(0, place - 1) : place], *words[place + 1 : place + 2]) for place in places)


def _names(sentence: str) -> Iterator[str]:
    """Words with a capital letter that do not begin the sentence."""
    sentence = _clipped(sentence)
    if _GERMAN.match(sentence) or not any(letter.islower() for letter in sentence):
        return
    for place, token in enumerate(_TOKEN.findall(sentence)):
        if place and token[0].isupper() and not _NOBODY.fullmatch(token):
            yield from lexical.terms(token)[:1]


def _clipped(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} {text[-_LONGEST // 2 :]}"
