"""Requests in a person's own words: what they mean, in their zone, and what is asked back instead of guessed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from bot.scheduler.model import Cron, Every, Kind, Once
from bot.scheduler.phrases import wanted
from bot.scheduler.triggers import checked
from bot.scheduler.when_rule import UnclearError

BERLIN = "Europe/Berlin"
NOW = datetime(2026, 12, 1, 9, 30, tzinfo=UTC)
"""Tuesday, 10:30 in Berlin."""


def berlin(*parts: int) -> Once:
    return Once(datetime(*parts, tzinfo=ZoneInfo(BERLIN)).astimezone(UTC))  # type: ignore[misc, arg-type]


ONE_SHOT = [
    ("remind me in two minutes to call Ben", "call Ben", berlin(2026, 12, 1, 10, 32)),
    ("Please remind me in half an hour that the oven is on.", "the oven is on", berlin(2026, 12, 1, 11, 0)),
    ("remind me in 3 days to sign", "sign", berlin(2026, 12, 4, 10, 30)),
    ("remind me in 3 days at 9:15 to sign", "sign", berlin(2026, 12, 4, 9, 15)),
    ("remind me on the 3rd to pay the rent", "pay the rent", berlin(2026, 12, 3, 9)),
    ("Remind me to pay the rent on the 1st!", "pay the rent", berlin(2027, 1, 1, 9)),
    ("remind me on the 31st to close the books", "close the books", berlin(2026, 12, 31, 9)),
    ("remind me on Friday at 9 to sign", "sign", berlin(2026, 12, 4, 9)),
    ("remind me on Tuesday at 12 to sign", "sign", berlin(2026, 12, 1, 12)),
    ("remind me on Tuesday to sign", "sign", berlin(2026, 12, 8, 9)),
    ("remind me tomorrow morning to sign", "sign", berlin(2026, 12, 2, 9)),
    ("remind me tomorrow at 2 pm to sign", "sign", berlin(2026, 12, 2, 14)),
    ("remind me tomorrow afternoon at 3 to sign", "sign", berlin(2026, 12, 2, 15)),
    ("remind me tonight to lock up", "lock up", berlin(2026, 12, 1, 20)),
    ("remind me the day after tomorrow at noon to eat", "eat", berlin(2026, 12, 3, 12)),
    ("remind me on December 24 at 18:00 to stop", "stop", berlin(2026, 12, 24, 18)),
    ("remind me on 2 March to file taxes", "file taxes", berlin(2027, 3, 2, 9)),
    ("remind me on 2027-01-05 at 8.30am to file taxes", "file taxes", berlin(2027, 1, 5, 8, 30)),
    ("remind me on Friday 4 December to sign", "sign", berlin(2026, 12, 4, 9)),
    ("tomorrow at 9 remind me to sign", "sign", berlin(2026, 12, 2, 9)),
    ("remind me about the lease on Friday", "the lease", berlin(2026, 12, 4, 9)),
    ("remind me tomorrow to read it at the weekend", "read it at the weekend", berlin(2026, 12, 2, 9)),
    ("erinnere mich in zwei Minuten an den Tee", "den Tee", berlin(2026, 12, 1, 10, 32)),
    ("erinnere mich morgen um 9 an die Miete", "die Miete", berlin(2026, 12, 2, 9)),
    ("Erinnere mich morgen früh daran, Ben anzurufen.", "Ben anzurufen", berlin(2026, 12, 2, 9)),
    ("Erinner mich heute Abend an die Heizung", "die Heizung", berlin(2026, 12, 1, 18)),
    ("erinnere mich am 3. an die Miete", "die Miete", berlin(2026, 12, 3, 9)),
    ("erinnere mich am 24.12. um 18 Uhr an die Kerzen", "die Kerzen", berlin(2026, 12, 24, 18)),
    ("erinnere mich um halb zwölf an das Essen", "das Essen", berlin(2026, 12, 1, 11, 30)),
    ("Kannst du mich übermorgen um 9 an die Miete erinnern?", "die Miete", berlin(2026, 12, 3, 9)),
]


@pytest.mark.parametrize(("said", "text", "rule"), ONE_SHOT, ids=[each[0] for each in ONE_SHOT])
def test_a_reminder_at_a_time(said: str, text: str, rule: Once) -> None:
    found = wanted(said, NOW, BERLIN)
    assert found is not None
    assert (found.kind, found.text, found.rule, found.to) == (Kind.REMINDER, text, rule, None)


RECURRING = [
    ("every weekday at 8:30 send me the brief", Kind.MORNING_BRIEF, "", "30 8 * * 1-5"),
    ("send me the brief every weekday at 8:30", Kind.MORNING_BRIEF, "", "30 8 * * 1-5"),
    ("Every day at 6pm, give me the brief.", Kind.EVENING_BRIEF, "", "0 18 * * *"),
    ("send me the evening brief every day at 12:00", Kind.EVENING_BRIEF, "", "0 12 * * *"),
    ("send me the weekly review every Friday at 16:00", Kind.WEEKLY_REVIEW, "", "0 16 * * 5"),
    ("every Monday at 10 ask me what I plan", Kind.REMINDER, "what I plan", "0 10 * * 1"),
    ("remind me every Monday and Thursday at 7:15 to run", Kind.REMINDER, "run", "15 7 * * 1,4"),
    ("remind me on Sundays at 18:00 to rest", Kind.REMINDER, "rest", "0 18 * * 0"),
    ("every month on the 3rd remind me to pay", Kind.REMINDER, "pay", "0 9 3 * *"),
    ("every Monday at 10 tell me how sales go", Kind.QUESTION, "tell me how sales go", "0 10 * * 1"),
    ("tell me how sales go every Monday at 10", Kind.QUESTION, "tell me how sales go", "0 10 * * 1"),
    ("jeden Werktag um 8:30 schick mir das Briefing", Kind.MORNING_BRIEF, "", "30 8 * * 1-5"),
    ("Jeden Montag um 10 frag mich, was ich plane", Kind.REMINDER, "was ich plane", "0 10 * * 1"),
    ("erinnere mich montags um 7 an den Müll", Kind.REMINDER, "den Müll", "0 7 * * 1"),
    ("jeden Morgen um 7 erinnere mich an Sport", Kind.REMINDER, "Sport", "0 7 * * *"),
]


@pytest.mark.parametrize(("said", "kind", "text", "cron"), RECURRING, ids=[each[0] for each in RECURRING])
def test_what_comes_again_and_again(said: str, kind: Kind, text: str, cron: str) -> None:
    found = wanted(said, NOW, BERLIN)
    assert found is not None
    assert (found.kind, found.text, found.rule) == (kind, text, Cron(cron))
    assert checked(found.rule, BERLIN) == found.rule


def test_a_question_at_one_time_names_the_time_first() -> None:
    found = wanted("tell me tomorrow at 9 how sales go", NOW, BERLIN)
    assert found is not None
    assert (found.kind, found.text, found.rule) == (Kind.QUESTION, "tell me how sales go", berlin(2026, 12, 2, 9))


def test_every_few_hours_follows_elapsed_time() -> None:
    found = wanted("remind me every 3 hours to drink", NOW, BERLIN)
    assert found is not None
    assert found.rule == Every(timedelta(hours=3), NOW)


@pytest.mark.parametrize(
    ("said", "text", "to"),
    [
        ("ask Ben on Friday whether the lease is signed", "whether the lease is signed", "Ben"),
        ("ask Ben Miller on Friday if it is signed", "if it is signed", "Ben Miller"),
        ("remind Ben on Friday to sign", "sign", "Ben"),
        ("Frag Ben am Freitag, ob der Vertrag da ist", "ob der Vertrag da ist", "Ben"),
    ],
)
def test_what_is_for_somebody_else_names_them(said: str, text: str, to: str) -> None:
    found = wanted(said, NOW, BERLIN)
    assert found is not None
    assert (found.text, found.to, found.rule) == (text, to, berlin(2026, 12, 4, 9))


@pytest.mark.parametrize(
    ("now", "at"),
    [
        ((2026, 12, 1, 8, 59), (2026, 12, 1, 9)),
        ((2026, 12, 1, 9, 0), (2026, 12, 2, 9)),
        ((2026, 12, 1, 23, 0), (2026, 12, 2, 9)),
    ],
)
def test_at_nine_is_the_next_nine_o_clock(now: tuple[int, ...], at: tuple[int, ...]) -> None:
    found = wanted("remind me at 9 to sign", berlin(*now).at, BERLIN)
    assert found is not None
    assert found.rule == berlin(*at)


def test_hours_that_pass_are_counted_over_a_change_of_the_clock() -> None:
    found = wanted("remind me in 3 hours to sign", datetime(2026, 3, 29, 0, 0, tzinfo=UTC), BERLIN)
    assert found is not None
    assert found.rule == Once(datetime(2026, 3, 29, 3, 0, tzinfo=UTC))


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kolkata"])
def test_the_clock_is_that_of_whoever_asks(zone: str) -> None:
    found = wanted("remind me tomorrow at 9 to sign", NOW, zone)
    assert found is not None
    assert found.rule == Once(datetime(2026, 12, 2, 9, tzinfo=ZoneInfo(zone)).astimezone(UTC))


UNCLEAR = [
    ("remind me at 3 to eat", "03:00 or 15:00"),
    ("remind me to call Ben at 3 tomorrow", "03:00 or 15:00"),
    ("remind me next Friday to eat", "4 December, or 11 December"),
    ("erinnere mich nächsten Freitag an das Essen", "4 December, or 11 December"),
    ("remind me on 3/4 to eat", "either order"),
    ("remind me to eat", "When"),
    ("remind me tomorrow", "Of what"),
    ("remind me next week to eat", "Name the day"),
    ("remind me today at 8:00 to eat", "is past"),
    ("remind me on 2026-11-30 to eat", "is past"),
    ("remind me on the 31st of November to eat", "no such date"),
    ("remind me tomorrow on Friday to eat", "is a Wednesday"),
    ("remind me on Friday 3 December to eat", "is a Thursday"),
    ("remind me tomorrow on 4 December to eat", "two days"),
    ("remind me in two hours at 9 to eat", "duration and a time"),
    ("remind me in 5 months to eat", "Months differ"),
    ("every other Monday remind me to eat", "every 14 days"),
    ("every month on the 31st remind me to pay", "Not every month"),
    ("every week remind me to pay", "Name the day"),
]


@pytest.mark.parametrize(("said", "asked"), UNCLEAR, ids=[each[0] for each in UNCLEAR])
def test_what_is_unclear_is_asked_back(said: str, asked: str) -> None:
    with pytest.raises(UnclearError, match=asked):
        wanted(said, NOW, BERLIN)


@pytest.mark.parametrize(
    "said",
    [
        "remind me what we decided about the lease",
        "remind me about the lease",
        "remind the team about the launch",
        "We meet on Friday at 9.",
        "On Friday we launch, remind everybody of that",
        "on the 3rd Ben asks me whether the lease is signed",
        "tell me about Ben",
        "tell me what we decided on Friday",
        "show me the figures of 3 March",
        "check what was said on Monday",
        "ask Ben whether the lease is signed",
        "every other Monday we meet",
        "wir erinnern uns am Freitag",
        "",
        "remind me tomorrow to " + "very " * 200 + "much eat",
    ],
)
def test_other_sentences_are_no_requests(said: str) -> None:
    assert wanted(said, NOW, BERLIN) is None


def test_next_friday_is_plain_when_this_weeks_is_over() -> None:
    found = wanted("remind me next Friday to eat", berlin(2026, 12, 5, 10).at, BERLIN)
    assert found is not None
    assert found.rule == berlin(2026, 12, 11, 9)
