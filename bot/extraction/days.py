"""Days and periods that words name, reckoned from a day. Pure."""

from __future__ import annotations

import re
from datetime import date, timedelta

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january januar jänner jan",
            "february februar feb",
            "march märz maerz mar mär",
            "april apr",
            "may mai",
            "june juni jun",
            "july juli jul",
            "august aug",
            "september sept sep",
            "october oktober oct okt",
            "november nov",
            "december dezember dec dez",
        ),
        start=1,
    )
    for name in names.split()
}
DAYS = {
    name: number
    for number, names in enumerate(
        (
            "monday montag mon",
            "tuesday dienstag tue tues",
            "wednesday mittwoch wed",
            "thursday donnerstag thu thurs thur",
            "friday freitag fri",
            "saturday samstag sonnabend sat",
            "sunday sonntag",
        )
    )
    for name in names.split()
}
COUNTS = {
    name: number
    for number, names in enumerate(
        (
            "a an one ein eine einem einer",
            "two zwei",
            "three drei",
            "four vier",
            "five fünf",
            "six sechs",
            "seven sieben",
            "eight acht",
            "nine neun",
            "ten zehn",
        ),
        start=1,
    )
    for name in names.split()
}


def named(name: str, match: re.Match[str], today: date, *, past: bool) -> tuple[date, date] | None:
    match name:
        case "iso":
            day = date(int(match["y"]), int(match["m"]), int(match["d"]))
            return day, day
        case "dotted":
            return _single(int(match["d"]), int(match["m"]), _year(match["y"]), today, past=past)
        case "day_month" | "month_day":
            month = MONTHS[match["month"].lower()]
            return _single(int(match["d"]), month, _year(match["y"]), today, past=past)
        case "edge":
            return _edge(match, today)
        case "quarter":
            return _quarter(int(match["q"]), _year(match["y"]), today, past=past)
        case "week_number":
            monday = date.fromisocalendar(today.isocalendar().year, int(match["w"]), 1)
            if monday + timedelta(days=6) < today and not past:
                monday = date.fromisocalendar(today.isocalendar().year + 1, int(match["w"]), 1)
            return monday, monday + timedelta(days=4)
        case "month":
            return _month(MONTHS[match["month"].lower()], _year(match["y"]), today, past=past)
        case "weekday":
            return _weekday(DAYS[match["day"].lower()], (match["rel"] or "").lower(), today, past=past)
        case "word":
            return _word(match["word"].lower(), today)
        case "period":
            return _period(match["period"].lower(), _shift(match["rel"]), today)
        case "in":
            return _ahead(match["n"].lower(), match["unit"].lower(), today)
        case "ordinal":
            return _ordinal(int(match["d"] or match["d2"]), today, past=past)
        case _:
            year = int(match["y"])
            return date(year, 1, 1), date(year, 12, 31)


def _year(text: str | None) -> int | None:
    if text is None:
        return None
    return int(text) if len(text) == 4 else 2000 + int(text)


def _single(day: int, month: int, year: int | None, today: date, *, past: bool) -> tuple[date, date]:
    if year is None:
        year = _nearest_year(month, day, today, past=past)
    found = date(year, month, day)
    return found, found


def _nearest_year(month: int, day: int, today: date, *, past: bool) -> int:
    """The next such day, or one of the last four weeks; looking back, the last one."""
    if past:
        return today.year if (month, day) <= (today.month, today.day) else today.year - 1
    recent = today - timedelta(days=28)
    return recent.year if (month, day) >= (recent.month, recent.day) else recent.year + 1


def _month(month: int, year: int | None, today: date, *, past: bool) -> tuple[date, date]:
    if year is None:
        year = today.year
        if past and month > today.month:
            year -= 1
        elif not past and month < today.month:
            year += 1
    return date(year, month, 1), _last_of(year, month)


def _last_of(year: int, month: int) -> date:
    return date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)


def _quarter(number: int, year: int | None, today: date, *, past: bool) -> tuple[date, date]:
    last = 3 * number
    if year is None:
        year = today.year
        if not past and last < today.month:
            year += 1
        elif past and last - 2 > today.month:
            year -= 1
    return date(year, last - 2, 1), _last_of(year, last)


def _weekday(day: int, relative: str, today: date, *, past: bool) -> tuple[date, date]:
    ahead = (day - today.weekday()) % 7
    if past or relative in ("last", "letzten"):
        found = today - timedelta(days=(today.weekday() - day) % 7 or 7)
    elif relative in ("next", "nächsten", "nächstem"):
        # The one of next week: "next Friday" said on a Monday is not this week's.
        found = today - timedelta(days=today.weekday()) + timedelta(days=7 + day)
    else:
        found = today + timedelta(days=ahead or 7)
    return found, found


def _word(word: str, today: date) -> tuple[date, date]:
    ends = {"eow": "week", "eom": "month", "eoy": "year"}
    if word in ends:
        last = _period(ends[word], 0, today)[1]
        return last, last
    ahead = {"tomorrow": 1, "morgen": 1, "the day after tomorrow": 2, "übermorgen": 2, "yesterday": -1, "gestern": -1}
    day = today + timedelta(days=ahead.get(word, 0))
    return day, day


def _shift(relative: str | None) -> int:
    word = (relative or "").lower().removeprefix("the ")
    if word.startswith(("next", "nächst", "coming", "kommend")):
        return 1
    return -1 if word.startswith(("last", "letzt")) else 0


def _period(period: str, shift: int, today: date) -> tuple[date, date]:
    """A week is its working days."""
    if period in ("week", "woche", "der woche"):
        monday = today - timedelta(days=today.weekday()) + timedelta(days=7 * shift)
        return monday, monday + timedelta(days=4)
    if period == "summer":
        return date(today.year + shift, 6, 1), date(today.year + shift, 8, 31)
    if period.startswith(("month", "monat")):
        number = today.year * 12 + today.month - 1 + shift
        return date(number // 12, number % 12 + 1, 1), _last_of(number // 12, number % 12 + 1)
    if period.startswith("quart"):
        number = today.year * 4 + (today.month - 1) // 3 + shift
        return _quarter(number % 4 + 1, number // 4, today, past=False)
    return date(today.year + shift, 1, 1), date(today.year + shift, 12, 31)


def _edge(match: re.Match[str], today: date) -> tuple[date, date]:
    if match["month"]:
        first, last = _month(MONTHS[match["month"].lower()], _year(match["y"]), today, past=False)
    elif match["year"]:
        first, last = date(int(match["year"]), 1, 1), date(int(match["year"]), 12, 31)
    else:
        first, last = _period(match["period"].lower(), _shift(match["rel"]), today)
    edge = match["edge"].lower()
    if edge in ("end", "ende"):
        return last, last
    if edge in ("mid", "middle", "mitte"):
        middle = first + (last - first) / 2
        return middle, middle
    return first, first


def _ahead(number: str, unit: str, today: date) -> tuple[date, date]:
    count = COUNTS.get(number) or int(number)
    if unit.startswith(("week", "woche")):
        found = today + timedelta(weeks=count)
    elif unit.startswith(("month", "monat")):
        months = today.year * 12 + today.month - 1 + count
        year, month = months // 12, months % 12 + 1
        found = date(year, month, min(today.day, _last_of(year, month).day))
    elif unit.startswith(("year", "jahr")):
        found = date(today.year + count, today.month, min(today.day, _last_of(today.year + count, today.month).day))
    elif unit.startswith(("working", "business")):
        found = today
        for _ in range(count):
            found += timedelta(days=1 if found.weekday() < 4 else 7 - found.weekday())
    else:
        found = today + timedelta(days=count)
    return found, found


def _ordinal(day: int, today: date, *, past: bool) -> tuple[date, date] | None:
    if not 1 <= day <= 31:
        return None
    year, month = today.year, today.month
    for _ in range(12):
        if day <= _last_of(year, month).day:
            found = date(year, month, day)
            if (found <= today) if past else (found >= today):
                return found, found
        month += -1 if past else 1
        if month in (0, 13):
            year, month = (year - 1, 12) if past else (year + 1, 1)
    return None
