from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.gateway.text_units import boundary_before, columns, graphemes, is_boundary, longest, utf16_len, utf16_span

CLUSTERS = [
    "a",
    "é",
    "e\u0301",
    "👨‍👩‍👧‍👦",
    "🇩🇪",
    "👍🏽",
    "❤️",
    "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "각",
    "\u1100\u1161\u11a8",
    "क्ष",
    "\r\n",
    "1️⃣",
    "🏳️‍🌈",
]


@pytest.mark.case(2)
def test_case_02_clusters_are_never_cut() -> None:
    text = "".join(CLUSTERS)
    assert graphemes(text) == CLUSTERS


def test_flags_pair_from_the_left() -> None:
    assert graphemes("🇩🇪🇫🇷🇮") == ["🇩🇪", "🇫🇷", "🇮"]


@given(st.text())
def test_graphemes_hold_the_whole_text(text: str) -> None:
    assert "".join(graphemes(text)) == text


@given(st.text(), st.integers(min_value=0, max_value=50))
def test_a_boundary_before_is_a_boundary_and_not_after(text: str, index: int) -> None:
    found = boundary_before(text, index)
    assert found <= index
    assert is_boundary(text, found)


@given(st.text())
def test_utf16_len_is_what_an_encoder_says(text: str) -> None:
    assert utf16_len(text) == len(text.encode("utf-16-le", "surrogatepass")) // 2


@pytest.mark.case(25)
@given(st.text(alphabet="a😀é🎩 "), st.data())
def test_case_25_a_utf16_range_names_the_same_characters(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    assert utf16_span(text, utf16_len(text[:start]), utf16_len(text[start:end])) == (start, end)


@pytest.mark.case(25)
@pytest.mark.parametrize(("offset", "length"), [(-1, 1), (0, 99), (1, 2), (0, 1), (3, -1), (99, 1)])
def test_case_25_ranges_outside_or_through_a_character_are_none(offset: int, length: int) -> None:
    assert utf16_span("😀ab", offset, length) is None


def test_columns_counts_wide_characters_twice_and_marks_not() -> None:
    assert [columns(t) for t in ("abc", "表格", "e\u0301", "👨‍👩‍👧", "🇩🇪", "ｱ", "")] == [3, 4, 1, 2, 2, 1, 0]


@given(st.integers(0, 500), st.integers(0, 600))
def test_longest_finds_the_last_that_fits(count: int, bound: int) -> None:
    assert longest(count, lambda n: n <= bound) == min(count, bound)
