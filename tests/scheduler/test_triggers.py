"""When jobs are due: every zone with a change of its clock between 2025 and 2030, and what people write in cron."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from itertools import islice, pairwise, takewhile
from zoneinfo import ZoneInfo, available_timezones

import pytest

from bot.scheduler.model import Cron, Every, Once
from bot.scheduler.triggers import RuleError, checked, instant_of, instants, next_after

YEARS = range(2025, 2031)


@cache
def changes(name: str) -> tuple[tuple[datetime, timedelta], ...]:
    """The instants at which the zone's offset changes, and by how much."""
    zone = ZoneInfo(name)
    found = []
    hour = datetime(YEARS.start, 1, 1, tzinfo=UTC)
    end = datetime(YEARS.stop, 1, 1, tzinfo=UTC)
    while hour < end:
        later = hour + timedelta(days=1)
        if hour.astimezone(zone).utcoffset() != later.astimezone(zone).utcoffset():
            low, high = hour, later
            while high - low > timedelta(seconds=1):
                middle = low + (high - low) // 2
                middle -= timedelta(microseconds=middle.microsecond)
                if middle.astimezone(zone).utcoffset() == low.astimezone(zone).utcoffset():
                    low = middle
                else:
                    high = middle
            before, after = low.astimezone(zone).utcoffset(), high.astimezone(zone).utcoffset()
            assert before is not None
            assert after is not None
            found.append((high, after - before))
        hour = later
    return tuple(found)


@cache
def zones() -> tuple[str, ...]:
    """One zone for each set of changes: many names are the same clock."""
    seen: dict[object, str] = {}
    for name in sorted(available_timezones()):
        if name.startswith(("Etc/", "SystemV/", "posix", "right")):
            continue
        if key := changes(name):
            seen.setdefault((key, datetime(2025, 1, 15, tzinfo=UTC).astimezone(ZoneInfo(name)).utcoffset()), name)
    return tuple(seen.values())


def test_there_are_zones_that_change() -> None:
    assert len(zones()) > 20
    assert {"Europe/Berlin", "Australia/Lord_Howe"} <= {name for name in available_timezones() if changes(name)}


def test_a_fixed_time_is_due_once_a_date_in_every_gap_and_overlap() -> None:
    wrong: list[tuple[str, datetime, list[datetime]]] = []
    for name in zones():
        zone = ZoneInfo(name)
        for change, by in changes(name):
            inside = _inside(change, by, zone)
            rule = Cron(f"{inside.minute} {inside.hour} * * *")
            due = _between(rule, name, change - timedelta(days=3.5), change + timedelta(days=3.5))
            gaps = [later - earlier for earlier, later in pairwise(due)]
            fixed = by > timedelta(0) and change in due
            fixed |= by < timedelta(0) and inside.replace(tzinfo=zone).astimezone(UTC) in due
            if len(due) != 7 or not fixed or any(abs(gap - timedelta(days=1)) > abs(by) for gap in gaps):
                wrong.append((name, change, due))
    assert wrong == []


def _between(rule: Cron, zone: str, start: datetime, end: datetime) -> list[datetime]:
    return list(takewhile(lambda each: each < end, instants(rule, zone, start)))


def _inside(change: datetime, by: timedelta, zone: ZoneInfo) -> datetime:
    """A local time in the middle of the gap or of the overlap."""
    local = change.astimezone(zone).replace(tzinfo=None)
    inside = local - by / 2 if by > timedelta(0) else local + -by / 2
    return inside.replace(second=0, microsecond=0)


def _rules(inside: datetime) -> dict[str, Callable[[date], bool]]:
    """Rules at a fixed local time, and the dates on which each is due."""
    at = f"{inside.minute} {inside.hour}"
    weekday = (inside.weekday() + 1) % 7
    return {
        f"{at} * * *": lambda day: True,
        f"{at} * * {weekday}": lambda day: day.weekday() == inside.weekday(),
        f"{at} {inside.day} * *": lambda day: day.day == inside.day,
        f"{at} L * *": lambda day: (day + timedelta(days=1)).day == 1,
        f"{at} * {inside.month} 1-5": lambda day: day.month == inside.month and day.weekday() < 5,
    }


def test_daily_weekly_and_monthly_rules_are_due_once_a_date_around_every_change_also_after_a_restart() -> None:
    wrong: list[tuple[str, datetime, str]] = []
    looked_at = 0
    for name in zones():
        zone = ZoneInfo(name)
        for change, by in changes(name):
            inside = _inside(change, by, zone)
            start = datetime.combine(inside.date() - timedelta(days=32), time(12), zone).astimezone(UTC)
            end = datetime.combine(inside.date() + timedelta(days=32), time(12), zone).astimezone(UTC)
            days = [inside.date() + timedelta(days=each) for each in range(-31, 33)]
            for text, due_on in _rules(inside).items():
                due = _between(Cron(text), name, start, end)
                wanted = [day for day in days if due_on(day)]
                # The windows begin and end at noon: of their first and last day, what is due depends on the hour.
                # A gap may reach over midnight (Greenland): what fell into it is due at its end, for the day before.
                dates = [inside.date() if each == change else each.astimezone(zone).date() for each in due]
                inner = [day for day in dates if days[0] < day < days[-1]]
                looked_at += 1
                again = list(_one_by_one(Cron(text), name, start, end))
                if inner != [day for day in wanted if days[0] < day < days[-1]] or again != due:
                    wrong.append((name, change, text))
    assert wrong == []
    assert looked_at > 1_000


def _one_by_one(rule: Cron, zone: str, start: datetime, end: datetime) -> Iterator[datetime]:
    """As a process computes it that was started anew after each."""
    found = next_after(rule, zone, start)
    while found is not None and found < end:
        yield found
        found = next_after(rule, zone, found)


def test_wildcards_follow_elapsed_time_around_every_change() -> None:
    wrong: list[tuple[str, datetime]] = []
    for name in zones():
        for change, _ in changes(name):
            due = _between(Cron("*/15 * * * *"), name, change - timedelta(hours=5), change + timedelta(hours=5))
            if {later - earlier for earlier, later in pairwise(due)} != {timedelta(minutes=15)}:
                wrong.append((name, change))
    assert wrong == []


@pytest.mark.parametrize("text", ["30 2 * * 0", "30 2 L * *", "30 2 29-31 3,10 *", "15,45 2 * * *"])
def test_weekly_and_monthly_rules_are_due_at_most_once_for_each_time_of_a_date(text: str) -> None:
    zone = ZoneInfo("Europe/Berlin")
    due = list(
        takewhile(lambda each: each.year < 2031, instants(Cron(text), zone.key, datetime(2025, 1, 1, tzinfo=UTC)))
    )
    local = [each.astimezone(zone) for each in due]
    assert len(due) == len(set(due))
    most = 2 if "," in text.split()[0] else 1
    assert max(Counter(each.date() for each in local).values()) == most


@pytest.mark.case(114)
@pytest.mark.case(115)
def test_the_autumn_hour_fires_once_and_the_gap_at_its_end() -> None:
    def local(day: date) -> list[str]:
        after = datetime(day.year, day.month, day.day, tzinfo=ZoneInfo("Europe/Berlin")) - timedelta(seconds=1)
        due = takewhile(
            lambda each: each < after + timedelta(days=1),
            instants(Cron("30 2 * * *"), "Europe/Berlin", after),
        )
        return [f"{each.astimezone(ZoneInfo('Europe/Berlin')):%H:%M%z}" for each in due]

    assert local(date(2026, 3, 29)) == ["03:00+0200"]
    assert local(date(2026, 10, 25)) == ["02:30+0200"]


def test_a_pattern_with_a_wildcard_follows_elapsed_time() -> None:
    night = datetime(2026, 10, 25, 0, 0, tzinfo=ZoneInfo("Europe/Berlin"))
    due = list(islice(instants(Cron("*/30 * * * *"), "Europe/Berlin", night), 10))
    assert {b - a for a, b in pairwise(due)} == {timedelta(minutes=30)}


def test_zero_and_seven_are_sunday() -> None:
    for text in ("0 9 * * 0", "0 9 * * 7", "0 9 * * SUN"):
        due = next_after(Cron(text), "Europe/Berlin", datetime(2026, 11, 30, tzinfo=UTC))
        assert due is not None
        assert due.astimezone(ZoneInfo("Europe/Berlin")).strftime("%A %d") == "Sunday 06"


def test_what_is_computed_after_a_restart_is_the_same() -> None:
    after = datetime(2026, 3, 27, tzinfo=UTC)
    straight = list(islice(instants(Cron("30 2 * * *"), "Europe/Berlin", after), 6))
    again, last = [], after
    for _ in range(6):
        found = next_after(Cron("30 2 * * *"), "Europe/Berlin", last)
        assert found is not None
        again.append(found)
        last = found
    assert straight == again


def test_once_and_every() -> None:
    at = datetime(2026, 5, 1, 9, tzinfo=UTC)
    assert next_after(Once(at), "UTC", at - timedelta(seconds=1)) == at
    assert next_after(Once(at), "UTC", at) is None
    every = Every(timedelta(hours=6), at)
    assert next_after(every, "UTC", at - timedelta(days=1)) == at
    assert next_after(every, "UTC", at) == at + timedelta(hours=6)
    assert next_after(every, "UTC", at + timedelta(hours=7)) == at + timedelta(hours=12)


@pytest.mark.parametrize(
    ("text", "zone", "says"),
    [
        ("30 8 * *", "UTC", "minute, hour, day, month and weekday are needed"),
        ("0 30 8 * * *", "UTC", "minute, hour, day, month and weekday are needed"),
        ("61 8 * * *", "UTC", "bad minute"),
        ("0 8 31 2 *", "UTC", "bad day-of-month"),
        ("0 8 * * *", "Berlin", "is no time zone"),
        ("0 8 * * *", "../etc/passwd", "is no time zone"),
    ],
)
def test_a_rule_that_is_none_is_refused_in_words(text: str, zone: str, says: str) -> None:
    with pytest.raises(RuleError, match=says):
        checked(Cron(text), zone)


def test_a_local_time_that_is_there_once_is_that_instant() -> None:
    noon = datetime(2026, 7, 1, 12)  # noqa: DTZ001 - a local time
    assert instant_of(noon, ZoneInfo("Europe/Berlin")) == datetime(2026, 7, 1, 10, tzinfo=UTC)
