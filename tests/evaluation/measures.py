"""How good a ranking is. Pure; definitions as in Järvelin and Kekäläinen, TOIS 2002 (nDCG with gain 1 for each
relevant key and the discount 1/log2(rank + 1))."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence


def recall(ranked: Sequence[str], relevant: Collection[str], at: int) -> float:
    """The share of the relevant keys that stand among the first `at`."""
    return len(set(ranked[:at]) & set(relevant)) / len(set(relevant))


def ndcg(ranked: Sequence[str], relevant: Collection[str], at: int) -> float:
    """1 when the relevant keys stand first."""
    gained = sum(1 / math.log2(rank + 1) for rank, key in enumerate(ranked[:at], 1) if key in relevant)
    return gained / sum(1 / math.log2(rank + 1) for rank in range(1, min(len(set(relevant)), at) + 1))


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
