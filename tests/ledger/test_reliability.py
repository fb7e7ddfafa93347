"""The card of a class: silence is no rejection, automatic is no approval, and what was reversed reads as reversed."""

from __future__ import annotations

import dataclasses

import pytest

from bot.kernel.ids import ProposalId
from bot.ledger import deciding, store
from bot.ledger.model import Severity, Verdict
from bot.ledger.reliability import GOOD, Card, Rate, card, recommended, tripped
from tests.ledger.test_moves import ANN, MODEL, NOW, Ledger, ledger, made


def _run(own: Ledger, number: int, *acts: str) -> None:
    new = dataclasses.replace(made(), id=ProposalId(f"p{number}"), key=f"k{number}")
    assert store.add(own.tx, own, new, MODEL, automatic=False)  # type: ignore[arg-type]
    for act in acts:
        seen = store.get(own.connection, new.id)
        assert seen is not None
        if act == "silence":
            to = deciding.expired(seen, seen.expires_at)
            assert to is not None
        elif act == "edit":
            to = deciding.revised(seen, ANN, {"text": "Other"}, seen.hash, NOW, approve=True)
        elif act in ("approve", "reject"):
            to = deciding.voted(seen, ANN, Verdict(act), seen.hash, NOW)
        elif act == "auto":
            to = deciding.automatic(seen)
        elif act == "do":
            own.move(seen, deciding.begun(seen))
            seen = store.get(own.connection, new.id)
            assert seen is not None
            to = deciding.done(seen, "x")
        else:
            to = deciding.reversed_(seen, ANN, Severity(act), undone=True)
        own.move(seen, to)


def _card(*stories: tuple[str, ...]) -> Card:
    with ledger() as own:
        for number, acts in enumerate(stories):
            _run(own, number, *acts)
        return card(own.connection, "send_email")


def test_each_end_is_counted_apart() -> None:
    found = _card(
        ("approve", "do"), ("approve", "do"), ("edit", "do"), ("reject",), ("silence",), ("silence",), ("auto", "do")
    )
    assert found.unchanged == Rate(2, 4)
    assert found.edited == Rate(1, 4)
    assert found.rejected == Rate(1, 4)
    assert found.no_response == Rate(2, 6)
    assert found.automatic == 1
    assert found.reversed == Rate(0, 4)


def test_a_class_in_which_everything_was_reversed_reads_wholly_reversed() -> None:
    found = _card(*[("approve", "do", "serious")] * 3)
    assert found.reversed == Rate(3, 3)
    assert found.reversed.share == 1.0
    assert found.unchanged == Rate(3, 3)


def test_two_reversals_or_a_grave_one_trip_the_breaker() -> None:
    fine = [("auto", "do")] * 5
    assert tripped(_card(*fine, ("auto", "do", "minor"))) is None
    assert "2 of its last 7" in (tripped(_card(*fine, *[("auto", "do", "minor")] * 2)) or "")
    assert "grave" in (tripped(_card(*fine, ("auto", "do", "grave"))) or "")


def test_old_reversals_are_no_reason_any_more_and_the_card_keeps_them() -> None:
    found = _card(*[("auto", "do", "minor")] * 2, *[("auto", "do")] * 20)
    assert tripped(found) is None
    assert found.reversed == Rate(2, 22)


def test_automatic_mode_is_recommended_from_evidence_and_not_from_a_few_cases() -> None:
    assert recommended(_card(*[("approve", "do")] * 10)) is None
    assert "30 of 30 were approved unchanged" in (recommended(_card(*[("approve", "do")] * 30)) or "")
    assert recommended(_card(*[("approve", "do")] * 29, ("approve", "do", "minor"))) is None
    assert recommended(_card(*[("approve", "do")] * 20, *[("reject",)] * 10)) is None
    assert recommended(_card(*[("auto", "do")] * 40)) is None


@pytest.mark.parametrize(
    ("rate", "low", "high"),
    [(Rate(0, 0), 0.0, 1.0), (Rate(0, 10), 0.0, 0.2775), (Rate(10, 10), 0.7225, 1.0), (Rate(8, 10), 0.4902, 0.9433)],
)
def test_wilson_s_interval(rate: Rate, low: float, high: float) -> None:
    assert rate.interval == pytest.approx((low, high), abs=1e-4)


def test_confidence_is_held_against_what_people_said() -> None:
    found = _card(("approve",), ("reject",), ("edit",))
    within = next(each for each in found.calibration if each.low == 0.7)
    assert within.right == Rate(1, 3)
    assert sum(each.right.of for each in found.calibration) == 3


def test_the_bound_is_what_it_says() -> None:
    assert Rate(30, 30).interval[0] > GOOD > Rate(20, 21).interval[0]
