"""Days of a zone as instants, over a change of its clocks too."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from bot.kernel import days

BERLIN = "Europe/Berlin"


def test_a_day_begins_and_ends_in_its_zone() -> None:
    assert days.begins(date(2026, 6, 2), BERLIN).isoformat() == "2026-06-01T22:00:00+00:00"
    assert days.follows(date(2026, 6, 2), BERLIN).isoformat() == "2026-06-02T22:00:00+00:00"
    assert days.ends(date(2026, 6, 2), BERLIN).isoformat() == "2026-06-02T21:59:59.999999+00:00"


@pytest.mark.parametrize(("day", "hours"), [(date(2026, 3, 29), 23), (date(2026, 10, 25), 25)])
def test_a_day_on_which_the_clocks_are_set_is_as_long_as_it_is(day: date, hours: int) -> None:
    assert days.follows(day, BERLIN) - days.begins(day, BERLIN) == timedelta(hours=hours)


def test_after_the_last_day_there_is_none() -> None:
    with pytest.raises(OverflowError):
        days.ends(date.max, "UTC")
