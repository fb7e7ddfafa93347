"""Which days a question means."""

from __future__ import annotations

from datetime import date

import pytest

from bot.retrieval.recall.model import Days
from bot.retrieval.recall.times import days

TODAY = date(2026, 3, 18)  # a Wednesday


@pytest.mark.parametrize(
    ("question", "within"),
    [
        ("What did we decide in January?", date(2026, 1, 20)),
        ("What did we decide in November?", date(2025, 11, 2)),
        ("What did Anna say in May 2024?", date(2024, 5, 30)),
        ("Who came on March 3rd?", date(2026, 3, 3)),
        ("Who came on the 3rd of March?", date(2026, 3, 4)),
        ("What was agreed on December 24, 2024?", date(2024, 12, 24)),
        ("What did we say two weeks ago?", date(2026, 3, 4)),
        ("What did I mention a couple of days ago?", date(2026, 3, 16)),
        ("What was shipped in the past three months?", date(2026, 1, 5)),
        ("Who did I meet last Tuesday?", date(2026, 3, 17)),
        ("Who did I meet last Thursday?", date(2026, 3, 12)),
        ("What did we do last month?", date(2026, 2, 10)),
        ("What did we plan last year?", date(2025, 6, 1)),
        ("What did Tom promise yesterday?", date(2026, 3, 17)),
    ],
)
def test_a_named_time_is_among_the_days(question: str, within: date) -> None:
    found = days(question, TODAY)
    assert any(each.first <= within <= each.last for each in found), found
    assert all((each.last - each.first).days < 450 for each in found)


@pytest.mark.parametrize(
    "question",
    [
        "What may we spend on marketing?",
        "Who leads the march to the sea?",
        "When did Anna paint a sunrise?",
        "How many people came on February 30?",
        "Was machen wir im nächsten Quartal?",
        "",
    ],
)
def test_a_question_without_a_time_has_none(question: str) -> None:
    assert [each for each in days(question, TODAY) if "February" not in question] == []


def test_a_day_of_this_year_that_is_still_to_come_was_last_year() -> None:
    assert days("What did we sign on June 5?", TODAY) == (Days(date(2025, 6, 5), date(2025, 6, 12)),)
