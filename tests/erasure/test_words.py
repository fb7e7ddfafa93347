"""Which sentences go with what is to be forgotten, and which stay."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.erasure.words import Phrases, says_enough, sentences
from bot.kernel.erasing import FORGOTTEN, joined, without

QUOTE = "we sell the Zanzibar stake to Quillfeather for 4,711 euros in March"
STATEMENT = "Acme sells its stake in Zanzibar to Quillfeather."


def told(text: str, kept: tuple[str, ...] = ()) -> str:
    return without(text, Phrases([QUOTE, STATEMENT], kept=kept).tells(text))


@pytest.mark.parametrize(
    "text",
    [
        QUOTE,
        QUOTE.upper() + "!",
        f"> {QUOTE[:30]}\n> {QUOTE[30:]}",
        "we sell the *Zanzibar* stake to Quill\u200bfeather\nfor 4,711 euros in March",
        "we sell the Zаnzibаr stake to Quillfeather for 4,711 euros in March",  # Cyrillic a
        "In March the Zanzibar stake is to be sold to Quillfeather, for 4,711 euros.",
        "So you are selling the stake in Zanzibar, and Quillfeather buys it.",
        "sell the Zanzibar stake",
    ],
)
def test_a_sentence_that_tells_it_goes(text: str) -> None:
    left = told(f"Good morning. {text}\nThe fair is in June.")
    assert left.startswith("Good morning.")
    assert left.endswith("The fair is in June.")
    assert FORGOTTEN in left
    assert "anz" not in left
    assert "feather" not in left.lower()


@pytest.mark.parametrize(
    "text",
    [
        "The Zanzibar office moves in June.",
        "Quillfeather pays late.",
        "We sell the Nairobi stake to Hornblower for 900 euros in May.",
        "What is a stake?",
        "Yes, do that.",
        "",
    ],
)
def test_a_sentence_about_something_else_stays(text: str) -> None:
    assert told(text) == text


def test_what_another_memory_rests_on_stays_unless_the_very_words_stand_in_it() -> None:
    other = "Marta keeps her own Zanzibar stake and Quillfeather agreed in March."
    assert told(other) == FORGOTTEN
    assert told(other, kept=(other,)) == other
    both = f"{QUOTE}, and Marta keeps hers"
    assert told(both, kept=(both,)) == FORGOTTEN


def test_words_that_say_too_little_are_looked_for_nowhere() -> None:
    assert not says_enough("yes, do that")
    assert not says_enough("in March")
    assert Phrases(["yes, do that"]).tells("I said: yes, do that. And more.") == []


def test_what_goes_only_as_written_does_not_take_what_is_alike() -> None:
    phrases = Phrases([], ["because the margin in Zanzibar is too thin for us"])
    assert phrases.tells("Because the margin in Zanzibar is too thin for us.")
    assert not phrases.tells("Our margin is thin, too thin in Zanzibar.")


def test_a_long_line_of_a_chat_ends_its_sentence() -> None:
    assert told(f"So {QUOTE} as we said before, everybody\nThe fair is in June") == f"{FORGOTTEN}\nThe fair is in June"


def test_what_is_only_a_part_of_the_words_does_not_hold_them() -> None:
    phrases = Phrases([f"{QUOTE}, and Marta leads the handover"])
    assert phrases.tells("Marta leads the handover.")
    assert not phrases.holds("Marta leads the handover.")
    assert phrases.holds(f"So: {QUOTE}, and Marta leads the handover. Good.")


def test_wrapped_lines_are_one_sentence_and_items_of_a_list_are_each_one() -> None:
    wrapped = "a" * 70 + " goes on\nhere. Then\n- one\n- two"
    assert [wrapped[a:b] for a, b in sentences(wrapped)] == ["a" * 70 + " goes on\nhere.", "Then", "- one", "- two"]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)).map(lambda p: (min(p), max(p))), max_size=6))
def test_joined_spans_are_apart_and_cover_the_same(spans: list[tuple[int, int]]) -> None:
    found = joined(spans)
    covered = {n for a, b in spans for n in range(a, b)}
    assert {n for a, b in found for n in range(a, b)} == covered
    assert all(one[1] < other[0] for one, other in pairwise(found))


@given(st.text(max_size=200))
def test_any_text_has_its_letters_in_its_sentences(text: str) -> None:
    found = sentences(text)
    assert "".join("".join(text[a:b].split()) for a, b in found) == "".join(text.split())
    Phrases([QUOTE]).tells(text)
