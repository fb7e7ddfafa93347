"""When schedules fire on the days of a span: what came of past instants, and which ones come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from bot.kernel.days import follows
from bot.kernel.ids import PersonId
from bot.kernel.values import dataclass
from bot.scheduler import store
from bot.scheduler.model import Job, JobState, Occurrence
from bot.scheduler.triggers import instants

MOST_A_DAY = 4
"""Instants of one job that are shown on a day."""
MOST_PAST = 1_000
_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Entry:
    job: Job
    at: datetime
    occurrence: Occurrence | None
    """What came of it; None: it is still to come."""
    again: bool = False
    """It fires more often on that day than is shown."""


def days(
    connection: sa.Connection,
    owner: PersonId | None,
    jobs: Sequence[Job],
    since: datetime,
    until: datetime,
    now: datetime,
    zone: str,
) -> dict[date, list[Entry]]:
    """By day of the reader's `zone`, in order; `jobs` of the owner, or (None) of everybody, are those that may fire."""
    found = [Entry(job, each.at, each) for job, each in store.between(connection, owner, since, until, MOST_PAST)]
    for job in jobs:
        found += coming(job, max(since, now), until, zone)
    by_day: dict[date, list[Entry]] = {}
    for entry in sorted(found, key=lambda each: (each.at, each.job.id)):
        by_day.setdefault(entry.at.astimezone(ZoneInfo(zone)).date(), []).append(entry)
    return by_day


def coming(job: Job, since: datetime, until: datetime, zone: str) -> Iterator[Entry]:
    """At which instants of the span it fires, a few for each day."""
    if job.state is not JobState.ACTIVE or job.next_at is None:
        return
    start, shown, day = max(since, job.next_at), 0, None
    rule_from = start - _TICK
    if job.next_at >= since and job.next_at < until:  # also one that somebody wants to fire besides its times
        yield Entry(job, job.next_at, None)
        rule_from, shown, day = job.next_at, 1, _day(job.next_at, zone)
    ahead = instants(job.rule, job.zone, rule_from)
    while (at := next(ahead, None)) is not None and at < until:
        shown = shown + 1 if _day(at, zone) == day else 1
        day = _day(at, zone)
        yield Entry(job, at, None, again=shown == MOST_A_DAY)
        if shown == MOST_A_DAY:
            ahead = instants(job.rule, job.zone, follows(day, zone) - _TICK)


def _day(at: datetime, zone: str) -> date:
    return at.astimezone(ZoneInfo(zone)).date()
