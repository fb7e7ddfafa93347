"""Dates as people write them, read as they were meant on Wednesday, 14 October 2026, in Berlin."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.extraction.dates import Sense, due, find, validity

ZONE = "Europe/Berlin"
NOW = datetime(2026, 10, 14, 9, 30, tzinfo=UTC)


def days(text: str) -> list[tuple[str, str, str]]:
    return [(each.sense.value, each.first.isoformat(), each.last.isoformat()) for each in find(text, NOW, ZONE)]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("I will send the deck by Friday", "2026-10-16"),
        ("Maria will send it by next Friday.", "2026-10-23"),
        ("by Wednesday", "2026-10-21"),  # said on a Wednesday
        ("by the 15th", "2026-10-15"),
        ("by the 3rd", "2026-11-03"),
        ("by 15 November", "2026-11-15"),
        ("by November 15th, 2027", "2027-11-15"),
        ("no later than 2026-12-01", "2026-12-01"),
        ("by tomorrow", "2026-10-15"),
        ("by the end of the month", "2026-10-31"),
        ("by end of next month", "2026-11-30"),
        ("by the end of the week", "2026-10-16"),
        ("by EOW", "2026-10-16"),
        ("by next week", "2026-10-23"),
        ("by the end of March", "2027-03-31"),
        ("by March", "2027-03-31"),
        ("by Q1 2027", "2027-03-31"),
        ("by the end of the year", "2026-12-31"),
        ("within two weeks", "2026-10-28"),
        ("in 10 days", "2026-10-24"),
        ("within 3 business days", "2026-10-19"),
        ("before 1 December", "2026-11-30"),
        ("due: 2 November", "2026-11-02"),
        ("Maria kümmert sich bis Freitag um das Angebot", "2026-10-16"),
        ("bis zum 15.", "2026-10-15"),
        ("bis zum 3. November", "2026-11-03"),
        ("bis 01.12.", "2026-12-01"),
        ("bis zum 01.12.2027", "2027-12-01"),
        ("bis Ende des Monats", "2026-10-31"),
        ("bis Ende März", "2027-03-31"),
        ("bis nächste Woche", "2026-10-23"),
        ("bis morgen", "2026-10-15"),
        ("in zwei Wochen", "2026-10-28"),
        ("spätestens am Montag", "2026-10-19"),
        ("in KW 45", "2026-11-06"),
        ("I will call them on Monday", "2026-10-19"),
        ("Jonas will present it today", "2026-10-14"),
    ],
)
def test_deadlines(text: str, day: str) -> None:
    assert due(find(text, NOW, ZONE)) == date.fromisoformat(day)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from 1 March", [("from", "2027-03-01", "2027-03-01")]),
        ("as of next month we bill monthly", [("from", "2026-11-01", "2026-11-30")]),
        (
            "from 1 November until 31 March",
            [("from", "2026-11-01", "2026-11-01"), ("until", "2027-03-31", "2027-03-31")],
        ),
        ("until Friday the office is closed", [("until", "2026-10-16", "2026-10-16")]),
        ("since May we have had two offices", [("since", "2026-05-01", "2026-05-31")]),
        ("ab 1. März gilt der neue Preis", [("from", "2027-03-01", "2027-03-01")]),
        ("seit Mai", [("since", "2026-05-01", "2026-05-31")]),
        ("The launch is on 3 March 2027.", [("on", "2027-03-03", "2027-03-03")]),
        ("We launch in March", [("on", "2027-03-01", "2027-03-31")]),
        ("The board meets on the 28th", [("on", "2026-10-28", "2026-10-28")]),
        ("from 1 October on", [("from", "2026-10-01", "2026-10-01")]),  # two weeks ago
    ],
)
def test_what_a_sentence_makes_of_its_dates(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert days(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "we may hire two engineers",
        "the budget is 20k",
        "version 2.10 is out",
        "our runway is 14 months",
        "the second of three",
        "it costs 2026 euros",
        "31 April",
        "we mar the paint",
        "the sun is out",
        "we have 12 days of holiday",
    ],
)
def test_what_is_no_date(text: str) -> None:
    assert days(text) == []


def test_validity_is_in_utc_from_midnight_to_midnight_of_the_writer() -> None:
    start, end = validity(find("from 1 November until 31 March", NOW, ZONE), ZONE)
    assert start == datetime(2026, 10, 31, 23, tzinfo=UTC)
    assert end == datetime(2027, 3, 31, 22, tzinfo=UTC)  # summer time by then


def test_the_day_is_the_writers_own() -> None:
    late = datetime(2026, 10, 14, 23, 30, tzinfo=UTC)  # already Thursday in Berlin
    assert due(find("by tomorrow", late, ZONE)) == date(2026, 10, 16)
    assert due(find("by tomorrow", late, "America/New_York")) == date(2026, 10, 15)


@given(st.text(), st.integers(0, 4_000_000_000).map(lambda seconds: datetime.fromtimestamp(seconds, UTC)))
def test_any_text_is_read_without_failing(text: str, at: datetime) -> None:
    for when in find(text, at, ZONE):
        assert when.first <= when.last
        assert 0 <= when.start < when.end <= len(text)


@given(st.dates(date(2000, 1, 1), date(2099, 12, 31)), st.sampled_from(["by {:%-d %B %Y}", "bis {:%d.%m.%Y}", "by {}"]))
def test_a_whole_date_is_itself(day: date, form: str) -> None:
    assert due(find(form.format(day), NOW, ZONE)) == day


@given(st.dates(date(2026, 1, 1), date(2026, 12, 31)))
def test_a_deadline_without_a_year_lies_ahead_or_less_than_a_month_back(day: date) -> None:
    found = due(find(f"by {day:%-d %B}", NOW, ZONE))
    assert found is not None
    assert timedelta(days=-28) <= found - NOW.date() < timedelta(days=366)


def test_senses_are_named_as_their_groups() -> None:
    assert {each.value for each in Sense} == {"by", "from", "since", "until", "on"}
