"""Days of a time zone as instants. Pure."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

_LAST = timedelta(microseconds=1)
"""What instants are stored to."""


def begins(day: date, zone: str) -> datetime:
    """Its first instant (UTC)."""
    return datetime.combine(day, time(), ZoneInfo(zone)).astimezone(UTC)


def follows(day: date, zone: str) -> datetime:
    """The first instant after it (UTC): the end of a half-open interval. Raises `OverflowError` after the last day."""
    return begins(day + timedelta(days=1), zone)


def last(end: datetime, zone: str) -> date:
    """The last day of an interval that ends, half-open, at this instant."""
    return (end - _LAST).astimezone(ZoneInfo(zone)).date()


def ends(day: date, zone: str) -> datetime:
    """Its last instant (UTC): what is asked as of a day is asked as of then. What holds through the day still holds,
    and what begins with the next one does not. Raises `OverflowError` for the last day there is."""
    return follows(day, zone) - _LAST
