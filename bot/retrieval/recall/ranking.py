"""The order of a view's rows: full text and meaning, what stands beside a turn, who is named, what time is meant. Pure;
imports numpy. Chosen and measured by `python -m tests.evaluation --recall`.

Both arms give every row a score. That of full text is bm25, as a share of the best; that of meaning is how far the
cosine stands above the view's mean, in deviations. Their weighted sum was better than fused ranks, which forget how
much better the first was. A turn that says little by itself (`Yes, in May`) is about what its neighbours are about, so
it takes a part of their scores, the more the shorter it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bot.kernel.values import dataclass
from bot.retrieval.recall.quantised import Floats

Flags = NDArray[np.bool_]
Numbers = NDArray[np.int64]

MEANING = 0.65
NAMED = 0.15
TIMED = 0.7
DEVIATIONS = 4.0
TEXT_BESIDE: Mapping[int, float] = {-1: 0.4, 1: 0.2, -2: 0.2, 2: 0.1}
"""What a turn takes of the one before (-1), after (1), and so on."""
MEANING_BESIDE: Mapping[int, float] = {-1: 0.3, 1: 0.2, -2: 0.2, 2: 0.1}
SELF_CONTAINED = 400
"""Characters from which on a turn takes less than half of that."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The visible rows, those of one space together, in the order in which they were said; all arrays of one length."""

    space: Numbers
    said_at: Numbers
    """Microseconds."""
    length: Numbers
    """Characters."""


@dataclass(frozen=True, slots=True)
class Scored:
    total: Floats
    text: Floats
    meaning: Floats


def score(
    rows: Rows, text: Floats, cosines: Sequence[Floats], named: Flags, timed: Flags, *, beside: bool, gap: int
) -> Scored:
    """`text`: bm25, higher is better, 0 for no match; `cosines`: for each model, NaN for rows without a vector.
    `beside`: whether rows are about what their neighbours are; rows more than `gap` microseconds apart are none."""
    by_text = text / max(float(text.max(initial=0.0)), 1e-9)
    by_meaning = np.zeros_like(by_text)
    for each in cosines:
        by_meaning += above_mean(each) / len(cosines)
    if beside:
        share: Floats = np.float32(SELF_CONTAINED) / (SELF_CONTAINED + rows.length.astype(np.float32))
        by_text = _with_neighbours(rows, by_text, share, TEXT_BESIDE, gap)
        by_meaning = _with_neighbours(rows, by_meaning, share, MEANING_BESIDE, gap)
    total = by_text + MEANING * by_meaning + NAMED * _telling(named) + TIMED * _telling(timed)
    total[(by_text <= 0) & (by_meaning <= 0)] = 0
    return Scored(total, by_text, by_meaning)


def above_mean(cosines: Floats) -> Floats:
    """0 for what is no nearer than the mean, and for rows without a vector."""
    known = ~np.isnan(cosines)
    if not known.any():
        return np.zeros_like(cosines)
    values = cosines[known]
    spread = max(float(values.std()), 1e-6)
    found = np.zeros_like(cosines)
    found[known] = np.maximum(values - values.mean(), 0) / (DEVIATIONS * spread)
    return found


def _with_neighbours(rows: Rows, scores: Floats, share: Floats, weights: Mapping[int, float], gap: int) -> Floats:
    found = scores.copy()
    for step, weight in weights.items():
        far = abs(step)
        if far >= len(scores):
            continue
        near = (rows.space[far:] == rows.space[:-far]) & (rows.said_at[far:] - rows.said_at[:-far] <= far * gap)
        if step < 0:
            found[far:] += weight * scores[:-far] * share[far:] * near
        else:
            found[:-far] += weight * scores[far:] * share[:-far] * near
    return found


def _telling(flags: Flags) -> Floats:
    """What is true of nearly all rows says nothing."""
    mostly = flags.mean() > 0.7 if len(flags) else False
    return np.zeros(len(flags), dtype=np.float32) if mostly else flags.astype(np.float32)


def best(scores: Floats, limit: int) -> list[int]:
    """Places of the best positive scores, best first; of equal ones the first."""
    if limit < len(scores):
        at_least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        places = np.flatnonzero((scores >= at_least) & (scores > 0))
    else:
        places = np.flatnonzero(scores > 0)
    order = np.argsort(-scores[places], kind="stable")
    return [int(place) for place in places[order][:limit]]


def ranks(scores: Floats, places: Sequence[int]) -> list[int | None]:
    """The rank of each of these places, from 1; None if it has no score."""
    return [int((scores > scores[place]).sum()) + 1 if scores[place] > 0 else None for place in places]


def apart(rows: Rows, places: Sequence[int], gap: int, limit: int) -> list[int]:
    """The first `limit` of these places of which none is shown beside an earlier one anyway."""
    chosen: list[int] = []
    for place in places:
        if not any(beside(rows, place, other, gap) for other in chosen):
            chosen.append(place)
        if len(chosen) == limit:
            break
    return chosen


def beside(rows: Rows, one: int, other: int, gap: int) -> bool:
    """Whether two different rows follow each other."""
    first, second = min(one, other), max(one, other)
    if second - first != 1 or rows.space[first] != rows.space[second]:
        return False
    return bool(rows.said_at[second] - rows.said_at[first] <= gap)
