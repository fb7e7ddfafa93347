"""Rules as text: what is kept is read again as the same rule, and people read what it means."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bot.scheduler.model import Cron, Every, Once, Rule
from bot.scheduler.when_rule import UnclearError
from bot.scheduler.wording import dates, described, rule_of, text_of, told

BERLIN = "Europe/Berlin"
NOW = datetime(2026, 12, 1, 9, 30, tzinfo=UTC)
RULES: list[Rule] = [
    Once(datetime(2026, 12, 24, 17, 0, tzinfo=UTC)),
    Once(datetime(2026, 12, 24, 17, 0, 30, tzinfo=UTC)),
    Cron("30 8 * * 1-5"),
    Cron("*/20 9-17 * * 1-5"),
    Every(timedelta(hours=3), NOW),
]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_rule_is_read_again_as_it_was_written(rule: Rule) -> None:
    assert rule_of(text_of(rule, BERLIN), NOW + timedelta(days=1), BERLIN) == rule


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ("2026-12-24T18:00", Once(datetime(2026, 12, 24, 17, tzinfo=UTC))),
        ("2026-12-24 18:00+00:00", Once(datetime(2026, 12, 24, 18, tzinfo=UTC))),
        ("every weekday at 8:30", Cron("30 8 * * 1-5")),
        ("tomorrow at 9.", Once(datetime(2026, 12, 2, 8, tzinfo=UTC))),
    ],
)
def test_a_time_may_be_said_in_several_ways(said: str, rule: Rule) -> None:
    assert rule_of(said, NOW, BERLIN) == rule


@pytest.mark.parametrize("said", ["soon", "", "tomorrow or so", "2026-13-45T18:00"])
def test_what_is_no_time_is_refused(said: str) -> None:
    with pytest.raises(UnclearError):
        rule_of(said, NOW, BERLIN)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (Cron("30 8 * * 1-5"), "every weekday at 08:30 (Europe/Berlin)"),
        (Cron("0 10 * * 1,4"), "every Monday and Thursday at 10:00 (Europe/Berlin)"),
        (Cron("0 9 * * *"), "every day at 09:00 (Europe/Berlin)"),
        (Cron("0 9 3 * *"), "every month on day 3 at 09:00 (Europe/Berlin)"),
        (Cron("0 9 3 1 *"), "by the rule `0 9 3 1 *` (Europe/Berlin)"),
        (Cron("*/5 9 * * *"), "by the rule `*/5 9 * * *` (Europe/Berlin)"),
        (Every(timedelta(hours=3), NOW), "every 3 hours"),
        (Every(timedelta(days=1), NOW), "every day"),
        (Once(NOW), "once, Tuesday 2026-12-01 10:30 (Europe/Berlin)"),
    ],
    ids=str,
)
def test_a_rule_in_words(rule: Rule, words: str) -> None:
    assert described(rule, BERLIN) == words


def test_the_next_three_dates_are_told_in_the_zone() -> None:
    at = dates(Cron("30 8 * * 1-5"), BERLIN, datetime(2026, 12, 3, 9, tzinfo=UTC))
    assert told(at, BERLIN) == (
        "Friday 2026-12-04 08:30, Monday 2026-12-07 08:30, Tuesday 2026-12-08 08:30 (Europe/Berlin)"
    )
    assert told([], BERLIN) == "never"
