"""What is read in a question, and what of a turn is embedded."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bot.retrieval.recall.keys import MOST_CONTEXT, ROOM, key
from bot.retrieval.recall.question import MOST_WORDS, read

NOW = datetime(2026, 3, 18, 12, tzinfo=UTC)
SPEAKERS = {"Anna Berg", "Will Stone", "executive"}


def test_a_named_speaker_speaks_in_the_first_person_and_is_no_word_to_look_for() -> None:
    question = read("When did Anna move Anna's team to Oslo?", SPEAKERS, NOW)
    assert question.named == {"Anna Berg"}
    assert question.spoken == "When did I move my team to Oslo?"
    assert set(question.words) == {"move", "team", "oslo"}


def test_a_question_in_small_letters_names_speakers_too() -> None:
    assert read("what did anna say about oslo", SPEAKERS, NOW).named == {"Anna Berg"}


@pytest.mark.parametrize("text", ["Will we ship in Oslo?", "What will we ship?", "Which stone is in the Oslo office?"])
def test_a_common_word_is_not_taken_for_a_name(text: str) -> None:
    question = read(text, SPEAKERS, NOW)
    assert question.named == frozenset()
    assert question.spoken == text


def test_a_name_that_is_a_common_word_is_one_with_a_capital() -> None:
    assert read("What did Will promise?", SPEAKERS, NOW).named == {"Will Stone"}


def test_a_role_is_not_a_name() -> None:
    assert read("What does the executive say?", SPEAKERS, NOW).named == frozenset()


def test_a_question_of_nothing_but_a_name_looks_for_the_name() -> None:
    assert read("Anna?", SPEAKERS, NOW).words == ("anna",)


def test_words_beside_each_other_are_a_phrase() -> None:
    question = read("What is the launch date of the mobile app?", SPEAKERS, NOW)
    assert question.phrases == ("launch date", "mobile app")


def test_a_long_question_is_cut() -> None:
    assert len(read(" ".join(f"word{number}" for number in range(40)), SPEAKERS, NOW).words) == MOST_WORDS


def test_a_short_text_is_embedded_after_the_end_of_what_stood_before() -> None:
    before = "a" * 300 + " Shall we launch in May?"
    assert key("Yes, do that.", before) == "Shall we launch in May?\nYes, do that."
    assert key("Yes.", "") == "Yes."


def test_a_long_text_is_embedded_alone() -> None:
    text = "word " * (ROOM // 5)
    assert key(text, "before") == text.strip()
    assert len(key("x", "y " * 1000)) <= MOST_CONTEXT + 2


def test_code_is_not_embedded_unless_there_is_nothing_else() -> None:
    assert key("Look:\n```py\nprint(1)\n```\nWhy?", "") == "Look: Why?"
    assert key("```print(1)```", "") == "print(1)"
    assert key("Look: ```never closed", "") == "Look:"
