"""How far everything that was said is known to have been accepted: the point from which a gap is read back.

While events flow the mark follows at a distance, because what Slack redelivers may be minutes old. A gap (start, lost
socket, refused commit) pins it until the reading back has succeeded.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from bot.gateway.channel import Cursor
from channels.slack.keys import instant, stamp

BEHIND = timedelta(minutes=10)
"""Slack's last retry comes after about five minutes (Events API, retries)."""
SKEW = timedelta(minutes=1)
"""The platform's clock and ours may differ by so much."""
STEP = timedelta(minutes=1)
"""How often the mark is written again."""
NAME = "received"


class Mark:
    def __init__(self) -> None:
        self._gap: datetime | None = None
        self._gaps = 0
        self._written: datetime | None = None
        self._complete_until: datetime | None = None

    def start(self, stored: str | None, now: datetime) -> None:
        """Begin where the last process left off; the first start of all begins now and has missed nothing."""
        if stored is None:
            self._complete_until = now - SKEW
            return
        self._gap = self._written = instant(stored)
        self._gaps += 1

    def gap(self, now: datetime) -> None:
        """Something may have been missed from here on."""
        self._gaps += 1
        if self._gap is None:
            self._gap = self.value(now)

    @property
    def open(self) -> tuple[datetime, int] | None:
        """From when to read back, and the number of the gap; None if nothing is missing."""
        return None if self._gap is None else (self._gap, self._gaps)

    def closed(self, number: int, until: datetime) -> None:
        """Everything before `until` was read back. A gap that came meanwhile stays open, from there."""
        self._complete_until = until
        self._gap = None if number == self._gaps else until

    def value(self, now: datetime) -> datetime:
        if self._gap is not None:
            return self._gap
        behind = now - BEHIND
        return behind if self._complete_until is None else max(behind, self._complete_until)

    def due(self, now: datetime) -> Cursor | None:
        """The cursor to commit with the next event, if it is worth it."""
        at = self.value(now)
        if self._written is not None and at - self._written < STEP:
            return None
        return Cursor(NAME, stamp(at))

    def written(self, cursor: Cursor) -> None:
        self._written = instant(cursor.value)
