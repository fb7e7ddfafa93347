"""Reading times out of a person's words, in English and German: days, clock times, durations, recurrences. Pure.

`read` takes as much as it understands from a place in the text. What could mean two things is not guessed: it raises
`UnclearError` with a question in words. A clock time without a day is the next instant at which the clock shows it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from bot.kernel.values import dataclass
from bot.scheduler.model import Rule
from bot.scheduler.when_rule import Draft, UnclearError, rule_of
from bot.scheduler.when_words import ALONE, DAYPARTS, MONTHS, NUMBERS, UNITS, WEEKDAYS, any_of


@dataclass(frozen=True, slots=True)
class Read:
    """A time as it was said: `end` is the place in the text behind it."""

    rule: Rule
    end: int


Match = Mapping[str, str | None]
Take = Callable[[Draft, Match], None]

_N = rf"\d{{1,3}}|{any_of(NUMBERS)}"
_UNIT = any_of(UNITS)
_DAY = any_of(WEEKDAYS)
_DAYS = {f"{name}s": number for name, number in WEEKDAYS.items()}
_MONTH = any_of(MONTHS)
_PART = any_of(DAYPARTS)
_AND = r"(?:\s*,\s*|\s+(?:and|und|&)\s+|\s*,\s*(?:and|und)\s+)"
_ORDINAL = r"(?P<dom>\d{1,2})(?:st|nd|rd|th|\.)"
_YEAR = r"(?:,?\s+(?P<year>20\d\d))?"


def _patterns() -> list[tuple[re.Pattern[str], Take]]:
    """In order: what is longer, and more special, comes first."""
    forms: tuple[tuple[str, Take], ...] = (
        (r"in\s+(?:half\s+an\s+hour|einer\s+halben\s+stunde)", _half_an_hour),
        (rf"in\s+(?P<n>{_N})\s+(?P<unit>{_UNIT})", _later),
        (r"(?:every|each)\s+other\s+\w+|jede[nrs]?\s+zweite[nrs]?\s+\w+|fortnightly", _every_other),
        (rf"(?:every|alle)\s+(?P<n>{_N})\s+(?P<unit>{_UNIT})", _interval),
        (
            (
                r"(?:on\s+)?(?:every|each)\s+(?:weekday|work(?:ing)?\s?day|business day)|(?:on\s+)?weekdays"
                r"|an\s+jedem\s+(?:werk|arbeits)tag|jeden\s+(?:werk|arbeits)tag|werktags|an\s+werktagen"
            ),
            _every_weekday,
        ),
        (
            (
                r"(?:on\s+)?(?:every|each|jede[nrsm]?|an\s+jedem)\s+"
                rf"(?P<days>(?:{_DAY})(?:{_AND}(?:(?:every|jeden)\s+)?(?:{_DAY}))*)"
            ),
            _every_named,
        ),
        (rf"(?:on\s+)?(?P<days>(?:{any_of(_DAYS)})(?:{_AND}(?:{any_of(_DAYS)}))*)", _every_named),
        (rf"(?:every|each|jede[nrs]?)\s+(?P<part>{_PART})", _every_part),
        (r"(?:every\s?day|each day|daily|jeden\s+tag|täglich)", _every_day),
        (r"(?:every\s+hour|hourly|jede\s+stunde|stündlich)", _hourly),
        (
            (
                rf"(?:(?:on\s+)?the\s+{_ORDINAL}\s+(?:of\s+)?(?:every|each)\s+month"
                r"|every\s+month\s+on\s+the\s+(?P<dom2>\d{1,2})(?:st|nd|rd|th)"
                r"|jeden\s+monat\s+am\s+(?P<dom3>\d{1,2})\.|am\s+(?P<dom4>\d{1,2})\.\s+jedes\s+monats)"
            ),
            _every_month,
        ),
        (r"(?:every|jeden?)\s+(?:month|week|monat|woche)", _no_day),
        (r"(?:monthly|weekly|monatlich|wöchentlich)(?=\s*(?:,|$))", _no_day),
        (r"(?:(?:on|am)\s+)?(?P<year>20\d\d)-(?P<month>\d\d)-(?P<dom>\d\d)", _iso),
        (rf"(?:on\s+)?(?:the\s+)?{_ORDINAL}\s+(?:of\s+)?(?P<named>{_MONTH}){_YEAR}", _month_day),
        (rf"(?:on\s+)?(?P<named>{_MONTH})\s+(?P<dom>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:){_YEAR}", _month_day),
        (rf"(?:on\s+)?(?P<dom>\d{{1,2}})\s+(?P<named>{_MONTH}){_YEAR}", _month_day),
        (r"(?:am|on|den)\s+(?P<dom>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>20\d\d)?", _numbers),
        (r"(?:on\s+)?\d{1,2}/\d{1,2}(?:/\d{2,4})?", _slashed),
        (r"(?:on|by)\s+the\s+(?P<dom>\d{1,2})(?:st|nd|rd|th)|am\s+(?P<dom2>\d{1,2})\.(?!\d)", _day_of_month),
        (rf"(?:next|nächste[nrs]?|kommende[nrs]?)\s+(?P<day>{_DAY})", _next_weekday),
        (r"(?:next|nächste[nr]?)\s+(?:week|month|woche|monat)|am\s+wochenende|(?:on|at)\s+the\s+weekend", _no_day),
        (rf"(?:on\s+|am\s+|this\s+|diese[nr]?\s+)?(?P<day>{_DAY})", _weekday),
        (r"(?:the\s+)?day\s+after\s+tomorrow|übermorgen", lambda draft, _: _set_day(draft, 2)),
        (r"tomorrow|morgen(?!s)", lambda draft, _: _set_day(draft, 1)),
        (r"today|heute", lambda draft, _: _set_day(draft, 0)),
        (r"tonight", _tonight),
        (
            rf"(?:(?:in\s+the|at|this|am|in\s+der|zu[rm]?)\s+(?P<part>{_PART})|(?P<alone>{any_of(ALONE)}))",
            _part,
        ),
        (
            (
                r"(?:(?:at|um|by|gegen|ab)\s+)?(?P<h>[01]?\d|2[0-3])[:.](?P<m>[0-5]\d)(?:\s*uhr)?"
                r"(?:\s*(?P<half>[ap])\.?m\b\.?)?"
            ),
            _clock,
        ),
        (r"(?:(?:at|by)\s+)?(?P<h>1[0-2]|0?[1-9])\s*(?P<half>[ap])\.?m\b\.?", _clock),
        (r"(?:(?:um|gegen|ab)\s+)?(?P<h>[01]?\d|2[0-3])\s+uhr(?:\s+(?P<m>[0-5]\d))?", _clock),
        (rf"(?:at|um)\s+(?:half\s+(?P<past>past)|halb)\s+(?P<hw>{any_of(NUMBERS)}|\d{{1,2}})", _half),
        (r"(?:at|um)\s+(?P<h>[01]?\d|2[0-3])(?![\d:.]\d|\d|%)(?:\s+o'clock)?", _hour),
        (rf"(?:at|um)\s+(?P<hw>{any_of(NUMBERS)})(?:\s+o'clock|\s+uhr)?", _hour),
    )
    return [(re.compile(rf"(?:{form})(?!\w)", re.IGNORECASE), take) for form, take in forms]


_PATTERNS: list[tuple[re.Pattern[str], Take]] = []
_PART_BEHIND = re.compile(rf"(?P<part>{_PART})(?!\w)", re.IGNORECASE)
"""`tomorrow morning`: behind something else it needs no preposition."""
_GAP = re.compile(r"[\s,]*")


def read(text: str, start: int, now: datetime, zone: str) -> Read | None:
    """The time that stands at `start`; None if none does. `now` is aware. Raises `UnclearError`."""
    if not _PATTERNS:
        _PATTERNS.extend(_patterns())  # compiled when first needed: the start of the daemon does not pay for them
    draft = Draft(now.astimezone(ZoneInfo(zone)))
    end, position, found = start, start, False
    while True:
        match, take = next(((m, take) for form, take in _PATTERNS if (m := form.match(text, position))), (None, _part))
        if match is None and found:
            match = _PART_BEHIND.match(text, position)
        if match is None:
            break
        take(draft, match.groupdict())
        end, found = match.end(), True
        gap = _GAP.match(text, end)
        position = gap.end() if gap is not None else end
    return Read(rule_of(draft, ZoneInfo(zone)), end) if found else None


# --- what each piece says ---------------------------------------------------------------------------------------------


def _word(match: Match, *names: str) -> str:
    """The first of these groups that took part, in lower case."""
    return next((found.lower() for name in names if (found := match.get(name))), "")


def _once(already: object, what: str) -> None:
    if already is not None:
        raise UnclearError(f"You name two {what}. Say one.")


def _number(said: str) -> int:
    return NUMBERS[said] if said in NUMBERS else int(said)


def _half_an_hour(draft: Draft, _: Match) -> None:
    _once(draft.delta, "durations")
    draft.delta = timedelta(minutes=30)


def _span(match: Match) -> timedelta:
    unit = UNITS[_word(match, "unit")]
    if unit == timedelta(days=30):
        raise UnclearError("Months differ in length: name the day, like `on the 3rd of May`.")
    found = _number(_word(match, "n")) * unit
    if not found:
        raise UnclearError("That is no time at all.")
    return found


def _later(draft: Draft, match: Match) -> None:
    _once(draft.delta, "durations")
    draft.delta = _span(match)


def _every_other(draft: Draft, _: Match) -> None:
    raise UnclearError("I can repeat something each week, not every other one: say `every 14 days`, or each date.")


def _repeats(draft: Draft, every: str) -> None:
    _once(draft.every, "repetitions")
    draft.every = every


def _interval(draft: Draft, match: Match) -> None:
    _repeats(draft, "interval")
    draft.interval = _span(match)


def _hourly(draft: Draft, _: Match) -> None:
    _repeats(draft, "interval")
    draft.interval = timedelta(hours=1)


def _every_day(draft: Draft, _: Match) -> None:
    _repeats(draft, "day")


def _every_weekday(draft: Draft, _: Match) -> None:
    _repeats(draft, "week")
    draft.weekdays = {0, 1, 2, 3, 4}


def _every_named(draft: Draft, match: Match) -> None:
    _repeats(draft, "week")
    words = re.findall(r"[a-zäöü]+", _word(match, "days"))
    draft.weekdays = {number for word in words if (number := WEEKDAYS.get(word, _DAYS.get(word))) is not None}


def _every_part(draft: Draft, match: Match) -> None:
    _repeats(draft, "day")
    _part(draft, match)


def _every_month(draft: Draft, match: Match) -> None:
    _repeats(draft, "month")
    draft.monthday = _day_number(match)
    if draft.monthday > 28:
        raise UnclearError(f"Not every month has a day {draft.monthday}: name one up to the 28th.")


def _no_day(draft: Draft, _: Match) -> None:
    raise UnclearError("Name the day, like `on Monday`, `every Monday` or `every month on the 3rd`.")


def _day_number(match: Match) -> int:
    number = int(_word(match, "dom", "dom2", "dom3", "dom4"))
    if not 1 <= number <= 31:
        raise UnclearError(f"No month has a day {number}.")
    return number


def _date(draft: Draft, match: Match, month: int) -> None:
    _once(draft.day, "days")
    today, day = draft.now.date(), _day_number(match)
    year = int(_word(match, "year") or today.year)
    try:
        found = date(year, month, day)
        if not _word(match, "year") and found < today:
            found = date(year + 1, month, day)
    except ValueError as error:
        raise UnclearError(f"There is no such date: day {day} of month {month}.") from error
    if found < today:
        raise UnclearError(f"{found.isoformat()} is past.")
    draft.day = found


def _iso(draft: Draft, match: Match) -> None:
    _date(draft, match, int(_word(match, "month")))


def _numbers(draft: Draft, match: Match) -> None:
    _date(draft, match, int(_word(match, "month")))


def _month_day(draft: Draft, match: Match) -> None:
    _date(draft, match, MONTHS[_word(match, "named")])


def _slashed(draft: Draft, _: Match) -> None:
    raise UnclearError("Days and months stand in either order between slashes: write the month as a word.")


def _day_of_month(draft: Draft, match: Match) -> None:
    _once(draft.monthday, "days")
    _once(draft.day, "days")
    draft.monthday = _day_number(match)


def _weekday(draft: Draft, match: Match) -> None:
    _once(draft.weekday, "days")
    draft.weekday = WEEKDAYS[_word(match, "day")]


def _next_weekday(draft: Draft, match: Match) -> None:
    """Within this week it may mean this week's or the next one's: people differ."""
    number, today = WEEKDAYS[_word(match, "day")], draft.now.date()
    coming = today + timedelta(days=(number - today.weekday()) % 7 or 7)
    if number > today.weekday():
        later = coming + timedelta(days=7)
        dates = f"{coming:%A}, {_said(coming)}, or {_said(later)}"
        raise UnclearError(f"Do you mean {dates}? Say it again with `on {_said(later)}`.")
    _once(draft.day, "days")
    draft.day = coming


def _said(day: date) -> str:
    return f"{day.day} {day:%B}"


def _set_day(draft: Draft, days: int) -> None:
    _once(draft.day, "days")
    draft.day = draft.now.date() + timedelta(days=days)
    draft.today_only = days == 0


def _tonight(draft: Draft, _: Match) -> None:
    _set_day(draft, 0)
    draft.afternoon, draft.default = True, time(20)


def _part(draft: Draft, match: Match) -> None:
    _once(draft.default, "times of day")
    draft.default, draft.afternoon = DAYPARTS[_word(match, "part", "alone")]


def _set_clock(draft: Draft, hour: int, minute: int) -> None:
    _once(draft.clock, "times")
    if not 0 <= hour <= 23:
        raise UnclearError("Say the time like 9:30.")
    draft.clock = time(hour, minute)


def _clock(draft: Draft, match: Match) -> None:
    hour, half = int(_word(match, "h")), _word(match, "half")
    if half and not 1 <= hour <= 12:
        raise UnclearError(f"There is no {hour} {half}m.")
    _set_clock(draft, hour % 12 + (12 if half == "p" else 0) if half else hour, int(_word(match, "m") or "0"))


def _half(draft: Draft, match: Match) -> None:
    """`half past nine` is 9:30, `halb zehn` too."""
    hour = _number(_word(match, "hw"))
    if not 1 <= hour <= 12:
        raise UnclearError("Say the time like 9:30.")
    _set_clock(draft, hour if match["past"] else (hour - 1) or 12, 30)


def _hour(draft: Draft, match: Match) -> None:
    said = _word(match, "h", "hw")
    hour = _number(said)
    _set_clock(draft, hour, 0)
    if not said.startswith("0") and 1 <= hour <= 12:
        draft.bare = hour
