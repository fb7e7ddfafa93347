"""Dates in plain English and German sentences, as their writer meant them at the time of writing. Pure.

"by Friday", "from 1 March", "until the end of the year", "im April", "bis zum 15.": each becomes a span of days, and
what the sentence makes of it. What is ambiguous is read the usual way: a day without a year is the next one (after
"since": the last one); a period given as a deadline ends on its last day, a week on its Friday.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from bot.extraction.days import COUNTS, DAYS, MONTHS, named
from bot.kernel.values import dataclass


class Sense(StrEnum):
    BY = "by"
    FROM = "from"
    SINCE = "since"
    UNTIL = "until"
    ON = "on"
    """On that day, or within that period."""


@dataclass(frozen=True, slots=True)
class When:
    sense: Sense
    first: date
    last: date
    """Inclusive."""
    start: int
    end: int
    """Where it stands, with its preposition; half-open."""


def _any(names: dict[str, int]) -> str:
    return "(?:" + "|".join(sorted(names, key=len, reverse=True)) + ")"


_MONTH, _DAY, _COUNT = _any(MONTHS), _any(DAYS), _any(COUNTS)
_DOT = r"(?:\.(?!\s*$))?"
"""Of an abbreviation, not of the sentence."""
_SENSES = {
    Sense.BY: r"(?:no later than|not later than|due(?: date)?(?: is| on| by)?:?|by|before|deadline(?: is)?:?|spätestens"
    r"(?: bis| am)?(?: zum| zur)?|bis spätestens(?: zum| am)?)",
    Sense.UNTIL: r"(?:until|till|til|through|up to)",
    Sense.FROM: r"(?:as of|as from|starting(?: from| on| in)?|beginning(?: on| in)?|effective(?: from| as of)?|from|ab"
    r"(?: dem| der)?|beginnend(?: am| im)?|after|nach(?: dem| der)?)",
    Sense.SINCE: r"(?:ever since|since|seit(?: dem| der)?)",
    Sense.ON: r"(?:on|in|at|during|within|am|im|innerhalb von|an|zum|zur|for|to|auf)",
}
_UNTIL_DE = r"(?:bis(?: zum| zur| zu)?(?: einschließlich)?)"
_THE = r"(?:(?:the|den|dem|der|das|die|zum|zur|am|im|of) )*"
_UNIT = r"(?:working days?|business days?|days?|weeks?|months?|years?|tage?n?|wochen?|monate?n?|jahre?n?)"

_FORMS = [
    (name, re.compile(form, re.IGNORECASE))
    for name, form in (
        ("iso", r"(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})(?!\d)"),
        ("dotted", r"(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?:(?P<y>\d{4}|\d{2})(?!\d))?"),
        (
            "day_month",
            rf"(?P<d>\d{{1,2}})(?:st|nd|rd|th|\.)?(?: of)? (?P<month>{_MONTH})\b{_DOT}(?:,? (?P<y>\d{{4}}))?",
        ),
        ("month_day", rf"(?P<month>{_MONTH})\b{_DOT} (?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:|\d)(?:,? (?P<y>\d{{4}}))?"),
        (
            "edge",
            (
                r"(?P<edge>end|beginning|start|middle|mid|ende|anfang|mitte)(?: |-)(?:of |des |der )?(?:the )?"
                rf"(?:(?P<rel>this|next|dieses|dieser|nächsten|nächster|kommenden) )?"
                rf"(?:(?P<month>{_MONTH})\b(?: (?P<y>\d{{4}}))?|(?P<period>week|month|quarter|year|woche|monats?"
                rf"|quartals?"
                rf"|jahres?|der woche)\b|(?P<year>\d{{4}})\b)"
            ),
        ),
        ("quarter", r"(?:q|quarter |quartal )(?P<q>[1-4])\b(?:[ /]*(?P<y>\d{4}))?"),
        ("week_number", r"(?:kw|cw|calendar week|kalenderwoche) ?(?P<w>\d{1,2})\b"),
        ("month", rf"(?P<month>{_MONTH})\b{_DOT}(?: (?P<y>\d{{4}}))?"),
        (
            "weekday",
            (
                rf"(?:(?P<rel>this|next|coming|last|diesen|diesem|nächsten|nächstem|kommenden|letzten) )?"
                rf"(?P<day>{_DAY})\b{_DOT}(?: (?P<morning>morning|afternoon|evening|noon|night))?"
            ),
        ),
        (
            "word",
            (
                r"(?P<word>the day after tomorrow|übermorgen|tomorrow|tonight|today|yesterday|heute|gestern|morgen"
                r"|eod|eow|eom|eoy|cob)\b"
            ),
        ),
        (
            "period",
            (
                r"(?P<rel>this|next|the coming|coming|last|diese[nsmr]?|nächste[nsmr]?|kommende[nsmr]?|letzte[nsmr]?) "
                r"(?P<period>week|month|quarter|year|summer|woche|monat|quartal|jahr)\b"
            ),
        ),
        ("in", rf"(?P<n>\d{{1,3}}|{_COUNT}) (?P<unit>{_UNIT})\b(?: time)?"),
        ("ordinal", r"(?P<d>\d{1,2})(?:st|nd|rd|th)\b|(?P<d2>\d{1,2})\.(?=[\s,;!)]|$)"),
        ("year", r"(?P<y>20\d\d)\b(?!-)"),
    )
]
_PREPOSITION = re.compile(
    rf"\b(?:(?P<by>{_SENSES[Sense.BY]})|(?P<until>{_SENSES[Sense.UNTIL]}|{_UNTIL_DE})"
    rf"|(?P<since>{_SENSES[Sense.SINCE]})"
    rf"|(?P<from>{_SENSES[Sense.FROM]})|(?P<on>{_SENSES[Sense.ON]})) {_THE}$",
    re.IGNORECASE,
)
_BARE = frozenset({"month", "ordinal", "year", "in"})
"""Forms that mean a date only after a preposition ("may", "the 2nd", "2030", "two weeks")."""
_BEFORE = 40
"""Characters before a date in which its preposition is looked for."""


def find(text: str, at: datetime, zone: str, *, bare: bool = False) -> list[When]:
    """Every date of the text, in order; `at`: when it was written (aware). `bare`: also what is a date only in company
    ("make it May"), for looking whether a date was named at all."""
    today = at.astimezone(ZoneInfo(zone)).date()
    found: list[When] = []
    end = 0
    for match in _matches(text):
        if match[1].start() < end:
            continue
        when = _one(text, match[0], match[1], today, bare=bare)
        if when is not None and when.start >= end:
            found.append(when)
            end = when.end
    return _paired(text, found)


_MOVED = re.compile(
    r"\b(?:mov|shift|push|postpon|delay|slip|chang|reschedul|bring|brought|verschob|verschieb|verleg)\w*[^.!?]*$",
    re.IGNORECASE,
)


def _paired(text: str, found: list[When]) -> list[When]:
    """ "From Monday to Friday" is a span of time; "moved from May to June" names the new time only."""
    kept: list[When] = []
    for when in found:
        before = kept[-1] if kept else None
        ends = re.match(r"(?:to|auf)\b", text[when.start :], re.IGNORECASE) is not None
        if ends and before is not None and before.sense is Sense.FROM and not text[before.end : when.start].strip():
            if _MOVED.search(text[: before.start]):
                kept.pop()
            else:
                when = replace(when, sense=Sense.UNTIL)
        kept.append(when)
    return kept


def due(whens: list[When], *, loosely: bool = True) -> date | None:
    """The day by which something is promised: a deadline, the end of "until", or `loosely` any day that is named."""
    for sense in (Sense.BY, Sense.UNTIL, Sense.ON)[: 3 if loosely else 2]:
        days = [each for each in whens if each.sense is sense]
        if days:
            return days[0].last
    return None


def validity(whens: list[When], zone: str) -> tuple[datetime | None, datetime | None]:
    """From and to (exclusive) in UTC, as the text bounds what it says."""
    begins = next((each.first for each in whens if each.sense in (Sense.FROM, Sense.SINCE)), None)
    ends = next((each.last for each in whens if each.sense is Sense.UNTIL), None)
    start = None if begins is None else _midnight(begins, zone)
    end = None if ends is None else _midnight(ends + timedelta(days=1), zone)
    if start is not None and end is not None and end < start:
        return start, None
    return start, end


def _midnight(day: date, zone: str) -> datetime:
    return datetime.combine(day, time(), ZoneInfo(zone)).astimezone(UTC)


def _matches(text: str) -> Iterator[tuple[str, re.Match[str]]]:
    """By place; of those at one place the form that stands first in the list."""
    found = [
        (match.start(), order, name, match)
        for order, (name, form) in enumerate(_FORMS)
        for match in form.finditer(text)
        if match.start() == 0 or not (text[match.start() - 1].isalnum() or text[match.start() - 1] in ".,-/€$£")
    ]
    for _, _, name, match in sorted(found, key=lambda each: each[:2]):
        yield name, match


def _one(text: str, name: str, match: re.Match[str], today: date, *, bare: bool) -> When | None:
    head = text[max(0, match.start() - _BEFORE) : match.start()]
    preposition = _PREPOSITION.search(head)
    sense, start = Sense.ON, match.start()
    if preposition is not None:
        sense = next(each for each in Sense if preposition.group(each.value) is not None)
        start = max(0, match.start() - _BEFORE) + preposition.start()
    elif not bare and name in _BARE and not (name == "month" and match["y"]):
        return None
    if name == "in" and (preposition is None or preposition[0].split()[0].lower() not in _AHEAD):
        return None
    if name == "year" and sense is Sense.ON and preposition is not None and preposition[0].split()[0].lower() != "in":
        return None
    try:
        days = named(name, match, today, past=sense is Sense.SINCE)
    except (ValueError, OverflowError):  # 31 April; a thousand years
        return None
    if days is None:
        return None
    if sense is Sense.BY and preposition is not None and preposition[0].lower().startswith("before"):
        days = (days[0] - timedelta(days=1), days[0] - timedelta(days=1))
    if sense is Sense.FROM and preposition is not None and preposition[0].lower().startswith(("after", "nach")):
        days = (days[1] + timedelta(days=1), days[1] + timedelta(days=1))
    if sense is Sense.ON and preposition is not None and preposition[0].lower().startswith(("within", "innerhalb")):
        sense = Sense.BY
    return When(sense, *days, start, match.end())


_AHEAD = frozenset({"in", "within", "innerhalb", "by", "after", "nach"})
