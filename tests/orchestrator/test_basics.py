"""Exact arithmetic and dates."""

from __future__ import annotations

from contextlib import suppress
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.kernel.errors import PermanentError
from bot.kernel.ids import SessionId, TurnId
from bot.kernel.scope import SessionScope
from bot.orchestrator.basics import DateSum, When, current_time, evaluate, sum_dates
from bot.orchestrator.tools import Asker
from bot.sessions.audience import Audience
from tests.clock import START

ASKER = Asker(TurnId("t"), SessionScope(SessionId("s")), Audience.PERSON, None, START, "Europe/Berlin")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("0.1 + 0.2", "0.3"),
        ("(1_200_000 - 310_000) / 74_000", "12.027027027027"),
        ("round(2.675, 2)", "2.68"),
        ("round(0.5)", "1"),
        ("-7 // 2", "-4"),
        ("-7 % 3", "2"),
        ("2 ** 10", "1024"),
        ("1.07 ^ 2", "1.1449"),
        ("sum(1, 2, 3.5) - min(4, 2)", "4.5"),
        ("abs(-3) * max(1, 2)", "6"),
        ("1e3 / 8", "125"),
        ("123456789012345678901234567890 + 1", "123456789012345678901234567891"),
    ],
)
def test_arithmetic_is_exact(expression: str, value: str) -> None:
    assert evaluate(expression) == Decimal(value)


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os')",
        "1 if 1 else 2",
        "a + 1",
        "'x' * 3",
        "[1]",
        "1 / 0",
        "9 ** 9999",
        "round()",
        "1 +",
        "True",
        "f(1)",
    ],
)
def test_what_is_no_arithmetic_is_refused_in_words(expression: str) -> None:
    with pytest.raises(PermanentError):
        evaluate(expression)


@given(st.text(max_size=60))
def test_any_text_gives_a_number_or_a_refusal(text: str) -> None:
    with suppress(PermanentError):
        assert isinstance(evaluate(text), Decimal)


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9))
def test_whole_numbers_agree_with_pythons(a: int, b: int) -> None:
    assert evaluate(f"({a}) * ({b}) + ({a})") == a * b + a
    if b:
        assert evaluate(f"({a}) // ({b})") == a // b
        assert evaluate(f"({a}) % ({b})") == a % b


@pytest.mark.parametrize(
    ("given_sum", "text"),
    [
        (DateSum(start=date(2026, 1, 31), add_months=1), "2026-02-28 (Saturday)"),
        (DateSum(start=date(2028, 1, 31), add_months=1), "2028-02-29 (Tuesday)"),
        (DateSum(start=date(2026, 3, 1), add_months=-3, add_days=1), "2025-12-02 (Tuesday)"),
        (DateSum(start=date(2026, 12, 31), add_months=12), "2027-12-31 (Friday)"),
    ],
)
async def test_dates_move_by_months_and_days(given_sum: DateSum, text: str) -> None:
    assert (await sum_dates(ASKER, given_sum)).text == text


async def test_days_between_two_dates() -> None:
    outcome = await sum_dates(ASKER, DateSum(start=date(2026, 2, 1), until=date(2026, 3, 1)))
    assert outcome.text == "From 2026-02-01 (Sunday) to 2026-03-01 (Sunday): 28 days."


async def test_a_date_outside_of_the_calendar_is_refused() -> None:
    with pytest.raises(PermanentError, match="calendar"):
        await sum_dates(ASKER, DateSum(start=date(9999, 12, 31), add_days=1))


async def test_the_time_is_the_askers_unless_another_zone_is_named() -> None:
    assert (await current_time(ASKER, When())).text == "Monday 2026-03-02 10:00 in Europe/Berlin (UTC+0100)"
    assert "18:00 in Asia/Tokyo" in (await current_time(ASKER, When(time_zone="Asia/Tokyo"))).text
    with pytest.raises(PermanentError, match="IANA"):
        await current_time(ASKER, When(time_zone="Mars/Base"))
