"""What the watches of all lives of the daemon measured, together. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

LIMIT = 100
"""Milliseconds for which nobody else may have to wait."""
WORST = 10


def together(lives: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """`lives`: what each `Watch` wrote. Milliseconds, rounded up."""
    sums: dict[str, Counter[int]] = {name: Counter() for name in ("late", "own", "pieces", "garbage")}
    worst: dict[str, list[list[Any]]] = {name: [] for name in ("worst", "passes")}
    objects = 0
    for life in lives:
        objects = max(objects, life["objects"])
        for name, counter in sums.items():
            counter.update({int(ms): count for ms, count in life[name].items()})
        for name, longest in worst.items():
            longest.extend(life[name])
    return {
        "ticks": sums["late"].total(),
        "late": _spread(sums["late"]),
        "own": _spread(sums["own"]),
        "piece": _spread(sums["pieces"]),
        "garbage": _spread(sums["garbage"]),
        "objects": objects,
        **{name: sorted(longest, reverse=True)[:WORST] for name, longest in worst.items()},
    }


def _spread(counter: Counter[int]) -> dict[str, int]:
    return {
        "max_ms": max(counter, default=-1) + 1,
        "p999_ms": _percentile(counter, 0.999),
        "p99_ms": _percentile(counter, 0.99),
        "over": sum(count for ms, count in counter.items() if ms >= LIMIT),
    }


def _percentile(counter: Counter[int], share: float) -> int:
    """The smallest whole number of milliseconds that at least `share` of all do not exceed."""
    left = share * counter.total()
    for ms in sorted(counter):
        left -= counter[ms]
        if left <= 0:
            return ms + 1
    return 0
