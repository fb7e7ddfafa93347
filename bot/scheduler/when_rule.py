"""From the pieces of a time that a person said to a rule. Pure."""

from __future__ import annotations

from calendar import monthrange
from dataclasses import field
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from bot.kernel.errors import PermanentError
from bot.kernel.values import dataclass
from bot.scheduler.model import Cron, Every, Once, Rule
from bot.scheduler.triggers import instant_of

MORNING = time(9)
"""Of a day that is named without a clock time."""
_NIGHT = 5
"""Hours up to this one, said without anything else, are of the night or of the afternoon: one has to say so."""


class UnclearError(PermanentError):
    """The words may mean two things, or nothing that can be done: says what is to be said instead."""


@dataclass(slots=True)
class Draft:
    now: datetime
    """Local, aware."""
    delta: timedelta | None = None
    day: date | None = None
    today_only: bool = False
    monthday: int | None = None
    weekday: int | None = None
    clock: time | None = None
    afternoon: bool | None = None
    """What was said of the day's half: a bare hour is read within it."""
    default: time | None = None
    bare: int | None = None
    """An hour that was said alone (`at 3`)."""
    every: str | None = None
    """`day`, `weekday`, `week`, `month`, or `interval`."""
    interval: timedelta | None = None
    weekdays: set[int] = field(default_factory=set)


def rule_of(draft: Draft, zone: ZoneInfo) -> Rule:
    clock = _time(draft)
    if draft.every is not None:
        return _recurring(draft, clock)
    if draft.delta is not None:
        return _after(draft, clock, zone)
    return Once(instant_of(_moment(draft, clock), zone))


def _named(draft: Draft) -> bool:
    return draft.monthday is not None or draft.weekday is not None


def _time(draft: Draft) -> time | None:
    clock = draft.clock
    if clock is None:
        return draft.default
    if draft.bare is None:
        return clock
    hour = draft.bare
    if draft.afternoon is True:
        return clock.replace(hour=hour % 12 + 12)
    if draft.afternoon is False or hour > _NIGHT:
        return clock
    raise UnclearError(f"Do you mean {hour:02d}:00 or {hour + 12}:00? Say it like that.")


def _recurring(draft: Draft, clock: time | None) -> Rule:
    if draft.every == "interval":
        if clock is not None or draft.day is not None or _named(draft) or draft.interval is None:
            raise UnclearError("Every so often, or at a time of named days: say one of the two.")
        return Every(draft.interval, draft.now.astimezone(UTC))
    if draft.day is not None or draft.weekday is not None or draft.delta is not None:
        raise UnclearError("Once, or again and again? Say one of the two.")
    at = clock or MORNING
    days = ",".join(str((each + 1) % 7) for each in sorted(draft.weekdays)) or "*"
    if draft.weekdays == {0, 1, 2, 3, 4}:
        days = "1-5"
    return Cron(f"{at.minute} {at.hour} {draft.monthday or '*'} * {days}")


def _after(draft: Draft, clock: time | None, zone: ZoneInfo) -> Rule:
    """Minutes and hours are elapsed time; days end at a clock time of their own if one is said."""
    delta = draft.delta or timedelta()
    if draft.day is not None or _named(draft):
        raise UnclearError("You name a duration and a day. Say one of the two.")
    if delta % timedelta(days=1):
        if clock is not None:
            raise UnclearError("You name a duration and a time. Say one of the two.")
        return Once(draft.now.astimezone(UTC) + delta)
    day = draft.now.date() + timedelta(days=delta.days)
    local = datetime.combine(day, clock or draft.now.time().replace(tzinfo=None))
    return Once(instant_of(local, zone))


def _moment(draft: Draft, clock: time | None) -> datetime:
    """Local and naive."""
    at, now = clock or MORNING, draft.now.replace(tzinfo=None)
    if draft.day is not None:
        if draft.weekday is not None and draft.day.weekday() != draft.weekday:
            raise UnclearError(f"{draft.day.isoformat()} is a {draft.day:%A}.")
        found = datetime.combine(draft.day, at)
        if found <= now:
            said = "today" if draft.today_only else draft.day.isoformat()
            raise UnclearError(f"{at:%H:%M} {said} is past." if clock else "At what time today?")
        return found
    if draft.monthday is not None:
        return _next_monthday(draft, at, now)
    if draft.weekday is not None:
        ahead = (draft.weekday - now.weekday()) % 7
        found = datetime.combine(now.date() + timedelta(days=ahead), at)
        return found if found > now and (ahead or clock) else found + timedelta(days=0 if ahead else 7)
    found = datetime.combine(now.date(), at)
    return found if found > now else found + timedelta(days=1)


def _next_monthday(draft: Draft, at: time, now: datetime) -> datetime:
    """The next month that has the day, and in which it still lies ahead."""
    year, month = now.year, now.month
    for _ in range(24):
        if (draft.monthday or 0) <= monthrange(year, month)[1]:
            found = datetime.combine(date(year, month, draft.monthday or 1), at)
            fits = draft.weekday is None or found.weekday() == draft.weekday
            if found > now and not fits:
                raise UnclearError(f"The next one, {found.date().isoformat()}, is a {found:%A}.")
            if found > now:
                return found
        year, month = (year, month + 1) if month < 12 else (year + 1, 1)
    raise UnclearError("There is no such day.")
