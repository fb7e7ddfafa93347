"""Nothing of a payload hides from who decides on it."""

from __future__ import annotations

import dataclasses

import pytest

from bot.ledger.actions import Shown
from bot.ledger.showing import difference, outcome, revealed, told
from tests.ledger.test_moves import made

MAIL = Shown("Send an email", (("to", "x@y.example"), ("subject", "Hi")), "Dear *X*,\n\nthe price is 5.")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain – ü 漢字", "plain – ü 漢字"),
        ("a\u202egnp.exe", "a[RIGHT-TO-LEFT OVERRIDE]gnp.exe"),
        ("zero\u200bwidth", "zero[ZERO WIDTH SPACE]width"),
        ("no\u00a0break", "no[NO-BREAK SPACE]break"),
        ("bell\x07", "bell[U+0007]"),
        ("p\u0430ypal", "p\u0430[cyrillic]ypal"),
        ("Привет", "Привет"),
        ("two\nlines\there", "two\nlines\there"),
    ],
)
def test_what_would_hide_is_made_visible(text: str, shown: str) -> None:
    assert revealed(text) == shown


def test_the_whole_payload_stands_there_with_reason_and_end() -> None:
    text = told(made(), MAIL, ["We pay 5 for it."], 2, "Europe/Berlin")
    for part in (
        "Send an email?", "to: x@y.example", "subject: Hi", r"> Dear \*X\*,", "> the price is 5.", "Why: the fair",
        "- We pay 5 for it.", "- 2 more that you may not see", "Mon 2026-03-02 18:00 (Europe/Berlin)",
    ):  # fmt: skip
        assert part in text


def test_what_makes_it_risky_is_said() -> None:
    text = told(dataclasses.replace(made(tainted=True, two_persons=True), final={"text": "x"}), MAIL, [], 0, "UTC")
    assert "may try to give orders" in text
    assert "Two people must approve" in text
    assert "edited since it was proposed" in text


def test_the_outcome_names_who_decided() -> None:
    from bot.ledger.model import State

    done = dataclasses.replace(made(), state=State.REJECTED, decided_at=made().made_at)
    text = outcome(done, MAIL, "Ann", "UTC")
    assert "rejected: it will not be done by Ann on Mon 2026-03-02 09:00" in text


def test_an_edit_is_shown_line_by_line() -> None:
    assert difference("Dear X,\nthe price is 5.\nBye", "Dear X,\nthe price is 6.\nBye").splitlines() == [
        " Dear X,", "-the price is 5.", "+the price is 6.", " Bye"
    ]  # fmt: skip
