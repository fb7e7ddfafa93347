"""What of a view answers a question. Pure; imports numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

import numpy as np

from bot.retrieval.recall import ranking
from bot.retrieval.recall.model import Found, Hit, Kind, Question
from bot.retrieval.recall.quantised import Floats
from bot.retrieval.recall.ranking import Rows
from bot.retrieval.recall.store import GAP
from bot.retrieval.recall.views import View

_GAP = GAP // timedelta(microseconds=1)
_SPARE = 3
"""So many times as many are ranked where some are shown beside others."""


def answer(
    view: View,
    kind: Kind,
    question: Question,
    by_words: Sequence[tuple[int, float]],
    vectors: Mapping[str, Floats],
    limit: int,
    *,
    windows: bool,
) -> Found:
    """The best rows, best first. `by_words`: (seq, bm25) of what full text found; `vectors`: the question by each
    model; `windows`: turns that are shown with those beside them."""
    rows = view.rows()
    cosines = [view.cosines(model, vector) for model, vector in vectors.items()]
    named, timed = view.named(question.named), view.timed(rows, question.times)
    turns = kind is Kind.TURN
    scored = ranking.score(rows, view.text(by_words), cosines, named, timed, beside=turns, gap=_GAP)
    places = ranking.best(scored.total, limit * _SPARE if windows and turns else limit)
    if windows and turns:
        places = ranking.apart(rows, places, _GAP, limit)
    text_ranks, vector_ranks = ranking.ranks(scored.text, places), ranking.ranks(scored.meaning, places)
    hits = [
        Hit(
            view.ref(place),
            float(scored.total[place]),
            text_rank,
            vector_rank,
            _beside(view, rows, place, -1) if turns else None,
            _beside(view, rows, place, 1) if turns else None,
        )
        for place, text_rank, vector_rank in zip(places, text_ranks, vector_ranks, strict=True)
    ]
    return Found(tuple(hits), vectors=any(not bool(np.isnan(each).all()) for each in cosines))


def _beside(view: View, rows: Rows, place: int, step: int) -> str | None:
    other = place + step
    if not 0 <= other < len(rows.space) or not ranking.beside(rows, place, other, _GAP):
        return None
    return view.ref(other)
