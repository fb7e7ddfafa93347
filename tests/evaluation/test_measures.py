"""The measures, on rankings that are counted by hand."""

from __future__ import annotations

import math

import pytest

from tests.evaluation.measures import ndcg, percentile, recall


def test_recall_counts_relevant_keys_among_the_first() -> None:
    assert recall(["a", "b", "c", "d"], ["b", "d"], 3) == 0.5
    assert recall(["a", "b", "c", "d"], ["b", "d"], 4) == 1
    assert recall([], ["b"], 5) == 0


def test_ndcg_is_one_for_the_best_order_and_less_below_it() -> None:
    assert ndcg(["a", "b", "x"], ["b", "a"], 10) == 1
    assert ndcg(["x", "a"], ["a"], 10) == pytest.approx(1 / math.log2(3))
    assert ndcg(["x", "y"], ["a"], 10) == 0


def test_a_percentile_is_one_of_the_values() -> None:
    assert percentile([4, 1, 3, 2], 0.5) == 2
    assert percentile([4, 1, 3, 2], 0.95) == 4
    assert percentile([7], 0.01) == 7
