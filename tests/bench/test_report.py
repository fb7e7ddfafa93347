"""The judge of the benchmark: what it must notice, and how aims are read."""

from __future__ import annotations

import pytest

from tests.bench.report import Aim, Figure, as_json, covered, judge_order, percentile, table


def test_percentile_is_a_measured_value() -> None:
    values = [float(number) for number in range(100, 0, -1)]
    assert percentile(values, 0.5) == 50
    assert percentile(values, 0.95) == 95
    assert percentile([7.0], 0.5) == percentile([7.0], 0.95) == 7.0


def test_answers_together_and_one_by_one_are_both_in_order() -> None:
    assert judge_order({1: [1, 3], 2: [2, 4]}, [(1, [1, 3]), (2, [2]), (2, [4])]) == []


@pytest.mark.parametrize(
    "answers",
    [
        [(1, [1]), (2, [2])],  # lost
        [(1, [1, 3]), (2, [2]), (1, [3])],  # doubled
        [(1, [3]), (1, [1]), (2, [2])],  # turned round
        [(1, [1, 3, 2])],  # said to somebody else
        [(1, [1, 3]), (2, [2]), (3, [])],  # nobody asked
    ],
)
def test_what_is_wrong_is_found(answers: list[tuple[int, list[int]]]) -> None:
    assert judge_order({1: [1, 3], 2: [2]}, answers)


def test_numbers_of_an_answer_and_of_an_echo_are_read() -> None:
    assert covered("Noted: #7 #12") == [7, 12]
    assert covered("Hello.") == []


def test_aims_are_of_the_value_or_of_the_ratio() -> None:
    assert Figure("trip", "ms", 9.0, 3.0, Aim("at most", 3, "ratio")).met is True
    assert Figure("trip", "ms", 9.1, 3.0, Aim("at most", 3, "ratio")).met is False
    assert Figure("speed", "msg/s", 149.0, 300.0, Aim("at least", 150)).met is False
    assert Figure("size", "bytes", 1.0).met is None


def test_the_table_and_the_json_say_what_was_not_met() -> None:
    figures = [Figure("speed", "msg/s", 149.0, 300.0, Aim("at least", 150), "cold")]
    assert "NOT MET · cold" in table(figures)
    assert as_json(figures)[0]["met"] is False
