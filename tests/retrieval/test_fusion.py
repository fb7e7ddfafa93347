"""Reciprocal ranks, added up with weights."""

from __future__ import annotations

import pytest

from bot.retrieval.fusion import Ranking, fuse


def test_a_key_that_both_rankings_have_stands_before_those_of_one() -> None:
    fused = fuse(Ranking(["a", "b", "c"], 1.0), Ranking(["d", "b"], 1.0))
    assert [key for key, _ in fused] == ["b", "a", "d", "c"]


def test_the_score_is_the_weighted_sum_of_reciprocal_ranks() -> None:
    fused = dict(fuse(Ranking(["a", "b"], 1.0), Ranking(["b"], 0.5), smoothing=10))
    assert fused == {"a": pytest.approx(1 / 11), "b": pytest.approx(1 / 12 + 0.5 / 11)}


def test_the_heavier_ranking_wins_where_they_disagree() -> None:
    assert [key for key, _ in fuse(Ranking(["a"], 1.0), Ranking(["b"], 0.9))] == ["a", "b"]
    assert [key for key, _ in fuse(Ranking(["a"], 0.9), Ranking(["b"], 1.0))] == ["b", "a"]


def test_nothing_fused_is_nothing() -> None:
    empty: Ranking[str] = Ranking([], 1.0)
    assert fuse(empty, empty) == []
