"""Whether quoted words carry a statement: its names, numbers, dates and negation stand in them. Pure.

Nothing here understands language. What it cannot see in the words is not denied but held for a person.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation

from bot.extraction import dates
from bot.extraction.sentences import Mood, mood
from bot.kernel.values import dataclass
from bot.llm.lexical import terms
from bot.memory.normal import normal

ENOUGH = 0.5
"""Share of a statement's words that the quote has to have."""
ALL = 0.9
"""What is put together from several messages has to stand in one of them nearly word for word."""
NOTHING = 0.25
"""Below it, the quote is about something else."""

_WORD = re.compile(r"[^\W\d_][\w’'-]*")
_NUMBER = re.compile(
    r"(?<![\w.,])[-+]?(?P<whole>\d+(?:[.,'’\u202f\u00a0 ]\d{3})*(?:[.,]\d+)?|\d+)\s*"
    r"(?P<scale>k|m|mn|mio|bn|thousand|million|billion|tausend|tsd|millionen|milliarden|mrd)?\b\.?",
    re.IGNORECASE,
)
_SCALES = {
    **dict.fromkeys(("k", "thousand", "tausend", "tsd"), 1_000),
    **dict.fromkeys(("m", "mn", "mio", "million", "millionen"), 1_000_000),
    **dict.fromkeys(("bn", "billion", "milliarden", "mrd"), 1_000_000_000),
}
_SPELT = {
    word: number
    for number, words in {
        0: "zero null",
        2: "two zwei both",
        3: "three drei",
        4: "four vier",
        5: "five fünf",
        6: "six sechs",
        7: "seven sieben",
        8: "eight acht",
        9: "nine neun",
        10: "ten zehn",
        11: "eleven elf",
        12: "twelve zwölf dozen dutzend",
        15: "fifteen fünfzehn",
        20: "twenty zwanzig",
        30: "thirty dreißig",
        40: "forty vierzig",
        50: "fifty fünfzig",
        100: "hundred hundert",
    }.items()
    for word in words.split()
}
_NEGATION = re.compile(
    r"\b(?:not|never|no(?! later| more than| less than| fewer than)|none|nobody|nothing|neither|nor|cannot|without"
    r"|against"
    r"|refuse[ds]?|reject(?:s|ed)?|nicht(?! später)|kein\w*|nie|niemals|nichts|niemand|ohne|weder)\b|n[’']t\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,;:—–]\s|\s[—–-]\s")
_COMMON_WORDS = """
    a all also an and any as at company decision der die das during each ein eine every for from he her his i if in
    initiative it its next no not now on our project she since starting team that the their there they this to under
    until we when will wir with you your he's i'm it's mr ms mrs ich im am ab bis unser unsere unser das es sie er
"""
_COMMON = frozenset(_COMMON_WORDS.split())
"""Words that may begin a sentence without being a name."""


@dataclass(frozen=True, slots=True)
class Words:
    """What a statement may lean on."""

    quote: str
    around: str
    """The sentences that the quote stands in."""
    at: datetime
    zone: str
    allowed: Sequence[str] = ()
    """The speaker's name, and the statement that it corrects."""
    together: bool = True
    """All quotes are of one message."""


@dataclass(frozen=True, slots=True)
class Support:
    share: float
    """Of the statement's words."""
    lacks: tuple[str, ...]
    """What the statement has and the words do not: `name`, `number`, `date`, `negation`, `mood`, `words`."""

    @property
    def whole(self) -> bool:
        return not self.lacks


def support(statement: str, words: Words, *, wish: bool = False) -> Support:
    """`wish`: it may be put as a supposition."""
    meant = mood(words.around)
    said = " ".join((words.quote, *words.allowed))
    share = overlap(_undated(statement, words), f"{said} {words.around}")
    lacks = [
        name
        for name, missing in (
            ("words", share < (ENOUGH if words.together else ALL)),
            ("name", not _names(statement) <= _tokens(said)),
            ("number", not numbers_stand(_undated(statement, words), said)),
            ("date", not _dates_stand(statement, words)),
            ("negation", negated(statement) != negated(_clauses_of(words))),
            ("mood", meant is not Mood.SAID and not (wish and meant is Mood.SUPPOSED)),
        )
        if missing
    ]
    return Support(share, tuple(lacks))


def overlap(statement: str, said: str) -> float:
    wanted = {term for term in terms(statement) if not any(map(str.isdigit, term))}
    if not wanted:
        return 1.0 if normal(statement) and normal(statement) in normal(said) else 0.0
    held = {term[:6] for term in terms(said)}
    return sum(term[:6] in held for term in wanted) / len(wanted)


def negated(text: str) -> bool:
    return bool(_NEGATION.search(_ANSWER.sub("", text)))


_ANSWER = re.compile(
    r"^\W*(?:no|nope|nein|doch nicht)\s*[,:;.!–—-]|\b(?:not|nicht)\s[^,;]{1,40}?,?\s+(?:but|sondern)\b"
    r"|,\s*(?:and )?(?:not|nicht)\s[^,;.]{1,40}[.!]*$",
    re.IGNORECASE,
)
"""A no to what was said before, and what is named only to be set aside ("not Berlin but Munich"), negate nothing of the
sentence itself."""


def numbers(text: str) -> list[frozenset[Decimal]]:
    """Every number with its possible readings: "20.000" is twenty, or twenty thousand."""
    found = [_readings(match["whole"], match["scale"]) for match in _NUMBER.finditer(text)]
    found += [frozenset({Decimal(_SPELT[word])}) for word in re.findall(r"[^\W\d_]+", text.lower()) if word in _SPELT]
    return [readings for readings in found if readings]


def numbers_stand(statement: str, said: str) -> bool:
    known = frozenset().union(*numbers(said))
    return all(readings & known for readings in numbers(statement))


def _readings(whole: str, scale: str | None) -> frozenset[Decimal]:
    times = _SCALES[scale.lower()] if scale else 1
    bare = re.sub(r"['’\u202f\u00a0 ]", "", whole)
    forms = {bare.replace(",", ""), bare.replace(".", "").replace(",", ".")}
    found: set[Decimal] = set()
    for form in forms:
        try:
            found.add((Decimal(form) * times).normalize())
        except InvalidOperation:
            continue
    return frozenset(found)


def _undated(text: str, words: Words) -> str:
    for when in reversed(dates.find(text, words.at, words.zone)):
        text = f"{text[: when.start]} {text[when.end :]}"
    return text


def _dates_stand(statement: str, words: Words) -> bool:
    said = {
        (each.first, each.last)
        for text in (words.quote, *words.allowed)
        for each in dates.find(text, words.at, words.zone, bare=True)
    }
    return all((each.first, each.last) in said for each in dates.find(statement, words.at, words.zone))


def _names(statement: str) -> set[str]:
    """Words with a capital, those that begin the statement only if they are no common ones."""
    found: set[str] = set()
    for number, match in enumerate(_WORD.finditer(statement)):
        word = re.sub(r"['’]s$|['’](?=\s|$)", "", match[0])
        if not any(character.isupper() for character in word):
            continue
        if word.casefold() in _COMMON and (number == 0 or len(word) == 1 or word.istitle()):
            continue
        if dates.find(f"on {word}", _ANY_DAY, "UTC"):
            continue  # a month or a day: compared as a date
        found.add(_stem(word))
    return found


_ANY_DAY = datetime.fromisoformat("2026-01-01T00:00:00+00:00")


def _tokens(text: str) -> set[str]:
    return {_stem(re.sub(r"['’]s$", "", match[0])) for match in _WORD.finditer(text)}


def _stem(word: str) -> str:
    """Without what inflection adds in German and English."""
    bare = normal(word).replace(" ", "")
    for ending in ("en", "es", "er", "e", "s", "n"):
        if len(bare) > len(ending) + 3 and bare.endswith(ending):
            return bare[: -len(ending)]
    return bare


def _clauses_of(words: Words) -> str:
    """The clauses of the sentence that the quote touches."""
    at = words.around.find(words.quote)
    if at < 0:
        return words.around
    end = at + len(words.quote)
    first = max((cut.end() for cut in _CLAUSE.finditer(words.around, 0, at)), default=0)
    last = min((cut.start() for cut in _CLAUSE.finditer(words.around, end)), default=len(words.around))
    return words.around[first:last]
