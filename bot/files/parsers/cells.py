"""What a number in a spreadsheet cell means: a plain number, a day, a time of day, both, or a duration. Pure."""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta
from enum import Enum


class Form(Enum):
    NUMBER = "number"
    DATE = "date"
    TIME = "time"
    DATE_TIME = "date and time"
    DURATION = "duration"


# ISO 29500-1 s18.8.30; 27-36 and 50-58 are dates in East Asian editions.
_BUILT_IN = {
    **dict.fromkeys([14, 15, 16, 17, *range(27, 32), 36, *range(50, 59)], Form.DATE),
    **dict.fromkeys([18, 19, 20, 21, 32, 33, 34, 35, 45, 47], Form.TIME),
    22: Form.DATE_TIME,
    46: Form.DURATION,
}
_LITERALS = re.compile(r'"[^"]*"|\\.|_.|\*.')
_ELAPSED = re.compile(r"\[(?:h+|m+|s+)\]", re.IGNORECASE)
_BRACKETS = re.compile(r"\[[^\]]*\]")
_LAST_DAY = 2_958_466  # 9999-12-31 is 2,958,465 in the 1900 system


def form_of_number(format_id: int) -> Form:
    return _BUILT_IN.get(format_id, Form.NUMBER)


def form_of_code(code: str) -> Form:
    """The form by a format code such as `yyyy\\-mm\\-dd` (ISO 29500-1 s18.8.31); its first section decides."""
    plain = _LITERALS.sub("", code).partition(";")[0]
    if _ELAPSED.search(plain):
        return Form.DURATION
    letters = set(re.sub(r"am/pm|a/p|general", "", _BRACKETS.sub("", plain).lower()))
    day, clock = bool(letters & set("dy")), bool(letters & set("hs"))
    if "m" in letters and not clock:
        day = True
    if letters & set("0#?") and not clock:  # `0.0 "days"` unquoted by a careless hand
        return Form.NUMBER
    if day:
        return Form.DATE_TIME if clock else Form.DATE
    return Form.TIME if clock else Form.NUMBER


def shown_number(text: str, form: Form, *, from_1904: bool) -> str:
    """The stored number as text. What is no date after all (negative, too far, not a number) stays as it is stored.

    Serial days of the 1900 system count a 29 February 1900 that never was (ISO 29500-1 s18.17.4.1).
    """
    try:
        stored = float(text)
    except ValueError:
        return text
    if not math.isfinite(stored):
        return text
    if form is Form.NUMBER:
        return _plain(text, stored)
    if not 0 <= stored < _LAST_DAY:
        return _plain(text, stored)
    seconds = round(stored * 86_400)
    if form is Form.DURATION:
        return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if form is Form.TIME and stored < 1:
        return f"{seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    start = datetime(1904, 1, 1) if from_1904 else datetime(1899, 12, 30 if stored >= 60 else 31)  # noqa: DTZ001
    try:
        moment = start + timedelta(seconds=seconds)  # a sheet's times have no zone
    except OverflowError:
        return _plain(text, stored)
    if form is Form.DATE and seconds % 86_400 == 0:
        return moment.date().isoformat()
    return moment.isoformat()


def _plain(text: str, stored: float) -> str:
    """0.1 is stored as 0.10000000000000001: the shortest text that means the same number."""
    if stored.is_integer() and abs(stored) < 1e15:
        return str(int(stored))
    return repr(stored) if len(text) > 15 or "e" in text.lower() else text.strip()
