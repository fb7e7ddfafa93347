"""Merging rankings by reciprocal rank (Cormack, Clarke and Büttcher, SIGIR 2009), with a weight for each. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

from bot.kernel.values import dataclass

K = TypeVar("K", bound=Hashable)

SMOOTHING = 60
"""The constant of the paper: how little the first ranks differ from those that follow."""


@dataclass(frozen=True, slots=True)
class Ranking(Generic[K]):
    """Keys, best first, each once."""

    keys: Sequence[K]
    weight: float


def fuse(*rankings: Ranking[K], smoothing: int = SMOOTHING) -> list[tuple[K, float]]:
    """All keys with the sum of weight / (smoothing + rank) over the rankings that have them (ranks from 1), best first;
    of equal ones the one that an earlier ranking had first."""
    scores: dict[K, float] = {}
    for ranking in rankings:
        for rank, key in enumerate(ranking.keys, 1):
            scores[key] = scores.get(key, 0.0) + ranking.weight / (smoothing + rank)
    return sorted(scores.items(), key=lambda item: -item[1])
