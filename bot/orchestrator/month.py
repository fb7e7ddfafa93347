"""When schedules fire on the days of a span: what came of past instants, and which ones come."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from bot.kernel.days import follows
from bot.kernel.values import dataclass
from bot.people.model import Person
from bot.scheduler import store
from bot.scheduler.model import Job, JobState, Occurrence
from bot.scheduler.triggers import instants

MOST_A_DAY = 3
"""Instants of one job that are shown on a day; of one that fires more often, only the first."""
MOST_PAST = 1_000
_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Entry:
    job: Job
    at: datetime
    occurrence: Occurrence | None
    """What came of it; None: it is still to come."""
    again: bool = False
    """It fires more often on that day than is shown: again and again."""


def days(
    connection: sa.Connection, person: Person, since: datetime, until: datetime, now: datetime
) -> dict[date, list[Entry]]:
    """Of a person's own schedules, by day of their zone, in order."""
    zone = person.time_zone
    found = [Entry(job, each.at, each) for job, each in store.between(connection, person.id, since, until, MOST_PAST)]
    for job in store.of_owner(connection, person.id, (JobState.ACTIVE,)):
        found += coming(job, max(since, now), until, zone)
    by_day: dict[date, list[Entry]] = {}
    for entry in sorted(found, key=lambda each: (each.at, each.job.id)):
        by_day.setdefault(_day(entry.at, zone), []).append(entry)
    return by_day


def coming(job: Job, since: datetime, until: datetime, zone: str) -> Iterator[Entry]:
    """At which instants of the span it fires."""
    for each in _by_day(job, since, until, zone):
        if len(each) > MOST_A_DAY:
            yield Entry(job, each[0], None, again=True)
        else:
            yield from (Entry(job, at, None) for at in each)


def _by_day(job: Job, since: datetime, until: datetime, zone: str) -> Iterator[list[datetime]]:
    """The first instants of each day: one more than are shown at most."""
    if job.state is not JobState.ACTIVE or job.next_at is None:
        return
    # `next_at` is an instant of its own if somebody wants it to fire besides its times.
    first = [job.next_at] if since <= job.next_at < until else []
    found, ahead = first, instants(job.rule, job.zone, max(since - _TICK, job.next_at))
    while (at := next(ahead, None)) is not None and at < until:
        if found and _day(at, zone) != _day(found[0], zone):
            yield found
            found = []
        found = [*found, at]
        if len(found) > MOST_A_DAY:
            yield found
            ahead, found = instants(job.rule, job.zone, follows(_day(at, zone), zone) - _TICK), []
    if found:
        yield found


def _day(at: datetime, zone: str) -> date:
    return at.astimezone(ZoneInfo(zone)).date()
