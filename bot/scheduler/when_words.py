"""The words of times, in English and German."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import time, timedelta

_EN = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DE = ("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag")
WEEKDAYS = {
    **{name: number for names in (_EN, _DE) for number, name in enumerate(names)},
    "sonnabend": 5,
}  # fmt: skip
"""0 is Monday."""

MONTHS = {
    "january": 1, "february": 2, "march": 3, "april": 4, "may": 5, "june": 6, "july": 7, "august": 8, "september": 9,
    "october": 10, "november": 11, "december": 12, "jan": 1, "feb": 2, "mar": 3, "apr": 4, "jun": 6, "jul": 7,
    "aug": 8, "sep": 9, "sept": 9, "oct": 10, "nov": 11, "dec": 12, "januar": 1, "jänner": 1, "februar": 2, "märz": 3,
    "mai": 5, "juni": 6, "juli": 7, "oktober": 10, "dezember": 12,
}  # fmt: skip

NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "forty-five": 45, "ein": 1,
    "eine": 1, "einer": 1, "einem": 1, "einen": 1, "eins": 1, "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6,
    "sieben": 7, "acht": 8, "neun": 9, "zehn": 10, "elf": 11, "zwölf": 12, "fünfzehn": 15, "zwanzig": 20,
    "dreißig": 30, "dreissig": 30,
}  # fmt: skip

_MINUTE, _HOUR, _DAY, _WEEK, _MONTH = (
    timedelta(minutes=1), timedelta(hours=1), timedelta(days=1), timedelta(weeks=1), timedelta(days=30),
)  # fmt: skip
UNITS = {
    "minute": _MINUTE, "minutes": _MINUTE, "min": _MINUTE, "mins": _MINUTE, "minuten": _MINUTE,
    "hour": _HOUR, "hours": _HOUR, "hrs": _HOUR, "stunde": _HOUR, "stunden": _HOUR,
    "day": _DAY, "days": _DAY, "tag": _DAY, "tage": _DAY, "tagen": _DAY,
    "week": _WEEK, "weeks": _WEEK, "woche": _WEEK, "wochen": _WEEK,
    "month": _MONTH, "months": _MONTH, "monat": _MONTH, "monate": _MONTH, "monaten": _MONTH,
}  # fmt: skip

DAYPARTS: dict[str, tuple[time, bool]] = {
    "morning": (time(9), False), "noon": (time(12), True), "afternoon": (time(15), True), "evening": (time(18), True),
    "night": (time(20), True), "midnight": (time(0), False), "früh": (time(9), False), "morgens": (time(9), False),
    "morgen": (time(9), False), "vormittag": (time(10), False), "vormittags": (time(10), False),
    "mittag": (time(12), True), "mittags": (time(12), True), "nachmittag": (time(15), True),
    "nachmittags": (time(15), True), "abend": (time(18), True), "abends": (time(18), True),
    "mitternacht": (time(0), False),
}  # fmt: skip
"""When it begins if no clock time is said, and whether its hours are of the day's second half."""
ALONE = ("morgens", "vormittags", "mittags", "nachmittags", "abends")
"""Those that are a time without any preposition."""


def any_of(words: Iterable[str]) -> str:
    """An alternative of them, longest first."""
    return "|".join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word)))
