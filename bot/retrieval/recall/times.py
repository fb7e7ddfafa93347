"""Which days a question means: `in May`, `last Tuesday`, `two weeks ago`. Pure.

For a soft preference of what was said then, so ranges are wide: people tell of a thing days after it, and a day begins
elsewhere at another hour. English only; a question in another language has no times, and is ranked without.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from datetime import date, timedelta

from bot.retrieval.recall.model import Days

_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name} | {
    name.lower(): number for number, name in enumerate(calendar.month_abbr) if name
}
_WEEKDAYS = {name.lower(): number for number, name in enumerate(calendar.day_name)}
_SMALL = {
    "a": 1, "an": 1, "one": 1, "a couple of": 2, "couple of": 2, "two": 2, "three": 3, "a few": 3, "few": 3, "four": 4,
    "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
}  # fmt: skip
_UNIT = {"day": 1.0, "week": 7.0, "month": 30.4, "year": 365.25}
_TOLD_LATER = timedelta(days=7)


def _any(words: dict[str, int]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_MONTH = _any(_MONTHS)
_COUNT = rf"\d{{1,3}}|{_any(_SMALL)}"
_DAY_OF_MONTH = re.compile(
    rf"\b(?:(?P<m1>{_MONTH})\.? (?P<d1>\d{{1,2}})(?:st|nd|rd|th)?|"
    rf"(?P<d2>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?(?P<m2>{_MONTH}))\b(?:,? (?P<year>\d{{4}})\b)?"
)
_IN_MONTH = re.compile(rf"\b(?P<lead>[a-z]+ )?(?P<month>{_MONTH})\b(?:,? (?P<year>\d{{4}})\b)?")
_LEADS = frozenset({"in", "of", "since", "last", "this", "during", "before", "after", "by", "until", "early", "late"})
"""What may stand before `may` and `march` when they are months."""
_AMBIGUOUS = frozenset({"may", "march", "mar", "dec", "sep", "jan", "jun", "oct"})
_AGO = re.compile(rf"\b(?P<count>{_COUNT}) (?P<unit>day|week|month|year)s? (?:ago|earlier|back)\b")
_PAST = re.compile(rf"\b(?:past|last|previous) (?P<count>{_COUNT}) (?P<unit>day|week|month|year)s?\b")
_THE_LAST = re.compile(r"\b(?P<which>past|last|previous|this) (?P<unit>weekend|week|month|year)\b")
_WEEKDAY = re.compile(rf"\b(?:last|past|previous|on) (?P<day>{_any(_WEEKDAYS)})\b")


def days(question: str, today: date) -> tuple[Days, ...]:
    """The ranges of days that a question asked on `today` means; none if it names no time."""
    text = " ".join(question.lower().split())
    found = list(_dates(text, today)) or list(_months(text, today))
    found += _spans(text, today)
    return tuple(dict.fromkeys(found))


def _dates(text: str, today: date) -> Iterator[Days]:
    for match in _DAY_OF_MONTH.finditer(text):
        month, day = _MONTHS[match["m1"] or match["m2"]], int(match["d1"] or match["d2"])
        years = [int(match["year"])] if match["year"] else [today.year, today.year - 1]
        possible = [at for at in (_date(year, month, day) for year in years) if at is not None]
        meant = next((at for at in possible if at <= today), possible[0] if possible else None)
        if meant is not None:
            yield Days(meant, meant + _TOLD_LATER)


def _months(text: str, today: date) -> Iterator[Days]:
    for match in _IN_MONTH.finditer(text):
        name = match["month"]
        if name in _AMBIGUOUS and not match["year"] and (match["lead"] or "").strip() not in _LEADS:
            continue
        month = _MONTHS[name]
        year = int(match["year"]) if match["year"] else today.year - (month > today.month)
        first = _date(year, month, 1)
        if first is not None:
            yield Days(first, first + timedelta(days=calendar.monthrange(year, month)[1] - 1) + _TOLD_LATER)


def _spans(text: str, today: date) -> Iterator[Days]:
    for match in _AGO.finditer(text):
        length = timedelta(days=_number(match["count"]) * _UNIT[match["unit"]])
        slack = timedelta(days=1 + (length.days > 4)) if match["unit"] == "day" else max(timedelta(days=1), length / 5)
        yield _around(today - length, slack)
    for match in _PAST.finditer(text):
        yield Days(today - timedelta(days=_number(match["count"]) * _UNIT[match["unit"]] + 2), today)
    for match in _THE_LAST.finditer(text):
        length = timedelta(days=_UNIT.get(match["unit"], 7.0))
        if match["which"] == "this":
            yield _around(today, length)
        elif match["unit"] == "year":
            yield Days(date(today.year - 1, 1, 1), today)
        else:
            yield Days(today - 2 * length, today)
    for match in _WEEKDAY.finditer(text):
        ago = (today.weekday() - _WEEKDAYS[match["day"]] - 1) % 7 + 1
        yield Days(today - timedelta(days=ago + 1), today - timedelta(days=ago) + _TOLD_LATER)
    if re.search(r"\b(?:yesterday|today|this morning)\b", text):
        yield Days(today - timedelta(days=2), today)


def _around(middle: date, slack: timedelta) -> Days:
    return Days(middle - slack, middle + slack)


def _number(count: str) -> int:
    return int(count) if count.isdigit() else _SMALL[count]


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
