"""The order of rows, on scores that are counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from bot.retrieval.recall import quantised, ranking
from bot.retrieval.recall.quantised import Floats
from bot.retrieval.recall.ranking import Flags, Rows, Scored

HOUR = 3_600_000_000


def rows(*said_at: int, space: tuple[int, ...] = (), length: int = 40) -> Rows:
    count = len(said_at)
    spaces = np.array(space or [0] * count, dtype=np.int64)
    return Rows(spaces, np.array(said_at, dtype=np.int64), np.full(count, length, dtype=np.int64))


def floats(*values: float) -> Floats:
    return np.array(values, dtype=np.float32)


def flags(*values: bool) -> Flags:
    return np.array(values, dtype=np.bool_)


def scored(of: Rows, text: Floats, *, cosines: tuple[Floats, ...] = (), beside: bool = True, **more: Flags) -> Scored:
    none = np.zeros(len(text), dtype=np.bool_)
    return ranking.score(
        of, text, cosines, more.get("named", none), more.get("timed", none), beside=beside, gap=6 * HOUR
    )


def test_a_turn_takes_a_part_of_what_stands_before_it() -> None:
    found = scored(rows(0, 1, 2, 3, 4), floats(0, 5, 0, 0, 0)).text
    assert found[1] == 1
    assert found[2] > found[0] > 0, "the answer to a question that matches is nearer than what led to it"
    assert found[3] > found[4] == 0


def test_a_long_turn_takes_less() -> None:
    text = floats(5, 0)
    short, long = scored(rows(0, 1), text).text[1], scored(rows(0, 1, length=4000), text).text[1]
    assert short > 5 * long > 0


def test_nothing_is_taken_from_another_space_or_another_day() -> None:
    assert scored(rows(0, 1, space=(0, 1)), floats(5, 0)).text[1] == 0
    assert scored(rows(0, 7 * HOUR), floats(5, 0)).text[1] == 0


def test_claims_stand_alone() -> None:
    assert scored(rows(0, 1), floats(5, 0), beside=False).text[1] == 0


def test_a_row_without_a_vector_is_ranked_by_its_words() -> None:
    found = scored(rows(0, 1, 2), floats(1, 0, 0), cosines=(floats(np.nan, 0.9, 0.1),), beside=False)
    assert found.total[0] == 1
    assert found.total[1] > 0 == found.total[2]


def test_a_named_speaker_and_a_meant_time_prefer_but_bring_nothing_up() -> None:
    text = floats(1, 1, 0, 0)
    named, timed = flags(False, True, False, False), flags(False, False, False, True)
    found = scored(rows(0, 1, 2, 3), text, beside=False, named=named, timed=timed)
    assert found.total[1] == pytest.approx(1 + ranking.NAMED)
    assert found.total[3] == 0


def test_what_is_true_of_all_prefers_none() -> None:
    found = scored(rows(0, 1), floats(1, 1), beside=False, named=flags(True, True))
    assert found.total.tolist() == [1, 1]


def test_the_best_are_positive_and_in_order() -> None:
    assert ranking.best(floats(0, 3, 1, 3, 2), 3) == [1, 3, 4]
    assert ranking.best(floats(0, 3, 1), 10) == [1, 2]
    assert ranking.best(floats(0, 0), 1) == []
    assert ranking.best(floats(), 1) == []


def test_windows_do_not_overlap_by_their_middles() -> None:
    of = rows(0, 1, 2, 3, 9 * HOUR)
    assert ranking.apart(of, [1, 2, 0, 3, 4], 6 * HOUR, 10) == [1, 3, 4]
    assert ranking.apart(of, [1, 3, 4], 6 * HOUR, 2) == [1, 3]


def test_packed_vectors_keep_their_cosines() -> None:
    numbers = np.random.default_rng(1)
    vectors = numbers.standard_normal((3_000, 96)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    packed = quantised.packed(vectors)
    assert {len(each) for each in packed} == {quantised.size(96)}
    codes, scales = quantised.unpacked(packed, 96)
    assert np.abs(quantised.cosines(codes, scales, vectors[7]) - vectors @ vectors[7]).max() < 0.005


def test_what_is_missing_or_of_a_wrong_size_has_no_cosine() -> None:
    vectors = np.eye(4, dtype=np.float32)
    packed: list[bytes | None] = [*quantised.packed(vectors)]
    packed[1], packed[2] = None, b"short"
    found = quantised.cosines(*quantised.unpacked(packed, 4), vectors[0])
    assert np.isnan(found).tolist() == [False, True, True, False]
    assert found[0] == pytest.approx(1, abs=0.01)
