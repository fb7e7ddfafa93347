"""A quote stands in a message if its words do, letter for letter but for Unicode's forms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.extraction.quotes import Missing, place

TEXT = "We decided: the budget for “Aurora” is 120k — that’s final."
ALL = ((0, len(TEXT)),)


@pytest.mark.parametrize(
    "quote",
    [
        "the budget for “Aurora” is 120k",
        'the budget for "Aurora" is 120k',
        "THE BUDGET for \u201eAurora\u201c is\n120k",
        "the bud\u200bget for “Aurora”",
        "that's final.",
        "is 120k - that's",
        "  the budget  ",
    ],
)
def test_forms_of_one_text_are_the_same_quote(quote: str) -> None:
    span = place(quote, TEXT, ALL)
    assert not isinstance(span, Missing)
    assert span[0] < span[1]


def test_the_place_is_that_of_the_words() -> None:
    span = place('the budget for "Aurora" is 120k', TEXT, ALL)
    assert not isinstance(span, Missing)
    assert TEXT[span[0] : span[1]] == "the budget for “Aurora” is 120k"


@pytest.mark.parametrize("quote", ["the budget for Borealis", "budget is 120k", "20k", "get for", "", "  ", "is", "!!"])
def test_what_does_not_stand_there_letter_for_letter_is_not_said(quote: str) -> None:
    assert place(quote, TEXT, ALL) is Missing.NOT_SAID


def test_words_of_others_within_the_message_are_not_its_writers() -> None:
    text = "> we sell the company\nI disagree."
    assert place("we sell the company", text, ((21, len(text)),)) is Missing.NOT_OWN
    assert place("I disagree.", text, ((21, len(text)),)) == (22, len(text))


def test_a_quote_that_spans_own_and_quoted_words_is_not_own() -> None:
    text = "I say no to this"
    assert place("say no", text, ((0, 5), (6, 16))) is Missing.NOT_OWN


def test_the_writers_own_repetition_counts_though_it_was_quoted_before() -> None:
    text = "> we sell\nYes: we sell"
    assert place("we sell", text, ((10, len(text)),)) == (15, len(text))


@given(st.text(), st.text(min_size=1), st.text())
def test_a_found_span_repeats_the_quote_and_lies_in_own_words(before: str, quote: str, after: str) -> None:
    text = f"{before} {quote} {after}"
    own = ((len(before) + 1, len(before) + 1 + len(quote)),)
    span = place(quote, text, own)
    if not isinstance(span, Missing):
        assert own[0][0] <= span[0] < span[1] <= own[0][1]
