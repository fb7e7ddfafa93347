"""Missed instants: one run within the grace, else none, and every one accounted for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bot.kernel.ids import JobId, PersonId
from bot.scheduler.catching_up import Due, due
from bot.scheduler.model import Cron, Every, Job, JobState, Kind, Once, Rule

NINE = datetime(2026, 3, 2, 9, tzinfo=UTC)
DAILY = Cron("0 9 * * *")
DAY = timedelta(days=1)


def job(
    rule: Rule = DAILY, *, next_at: datetime | None = NINE, grace: timedelta = timedelta(hours=2), name: str = "j"
) -> Job:
    return Job(
        JobId(name), Kind.REMINDER, "t", rule, "UTC", PersonId("ann"), None, {}, grace, JobState.ACTIVE, next_at, 0,
        NINE - DAY, None, 1,
    )  # fmt: skip


def test_before_its_instant_nothing_is_due() -> None:
    assert due(job(), NINE - timedelta(seconds=1)) is None
    assert due(job(next_at=None), NINE) is None


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (NINE, Due(NINE, None, 0, NINE + DAY)),
        (NINE + timedelta(hours=2), Due(NINE, None, 0, NINE + DAY)),
        (NINE + timedelta(hours=2, seconds=1), Due(None, NINE, 1, NINE + DAY)),
        (NINE + 3 * DAY + timedelta(hours=1), Due(NINE + 3 * DAY, NINE + 2 * DAY, 3, NINE + 4 * DAY)),
        (NINE + 3 * DAY + timedelta(hours=5), Due(None, NINE + 3 * DAY, 4, NINE + 4 * DAY)),
    ],
    ids=["in time", "at the end of its grace", "too late", "days later, within the grace", "days later, too late"],
)
def test_what_was_missed_runs_once_or_is_skipped(now: datetime, expected: Due) -> None:
    assert due(job(), now) == expected


@pytest.mark.case(113)
def test_a_job_without_grace_runs_when_it_is_only_a_moment_late() -> None:
    now = NINE + timedelta(seconds=59)
    assert due(job(grace=timedelta(0)), now) == Due(NINE, None, 0, NINE + DAY)
    assert due(job(grace=timedelta(0)), NINE + timedelta(seconds=61)) == Due(None, NINE, 1, NINE + DAY)


def test_a_reminder_that_was_missed_is_skipped_for_good() -> None:
    assert due(job(Once(NINE)), NINE + DAY) == Due(None, NINE, 1, None)
    assert due(job(Once(NINE)), NINE) == Due(NINE, None, 0, None)


def test_a_short_interval_after_three_days_is_one_run() -> None:
    every = Every(timedelta(minutes=10), NINE)
    found = due(job(every, grace=timedelta(minutes=5)), NINE + 3 * DAY + timedelta(minutes=3))
    assert found == Due(
        NINE + 3 * DAY, NINE + 3 * DAY - timedelta(minutes=10), 432, NINE + 3 * DAY + timedelta(minutes=10)
    )
