"""A question that names something is answered by what names the same, in the history and in what is remembered."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bot.llm import exact
from bot.llm.offline import NOTHING, answer
from tests.llm.support import assistant, request, user

Reader = Callable[..., str]
ROOMS = ("Our room 12 has 36 chairs.", "Our room 4 has 12 chairs.")
MUNICH = "Our Munich office has 40 desks."


def _told(question: str, *told: str) -> str:
    history = [each for one in told for each in (user(one), assistant("Noted."))]
    return answer(request(*history, user(question)))


def _remembered(question: str, *told: str) -> str:
    lines = "\n".join(f"- [ab12c{place} 2026-03-01 fact, active] {each} (Ann)" for place, each in enumerate(told))
    block = f'<past_decisions note="n">\ndecisions and facts:\n{lines}\n</past_decisions>'
    said = f'<message from="Ann" at="2026-03-02T10:00Z">{question}</message>'
    return answer(request(user("hi"), assistant("Hello."), user(block, said)))


READERS = pytest.mark.parametrize("read", [_told, _remembered], ids=["history", "memory"])


@READERS
@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("How many chairs has room 12?", ROOMS[0]),
        ("How many chairs are in room 12?", ROOMS[0]),
        ("How many chairs has room 4?", ROOMS[1]),
        ("Which room has 12 chairs?", ROOMS[1]),
        ("How many desks has our Munich office?", MUNICH),
        ("How many desks are in Munich's office?", MUNICH),
    ],
)
def test_the_sentence_with_the_question_s_numbers_and_names_is_told(question: str, told: str, read: Reader) -> None:
    assert f"“{told}”" in read(question, *ROOMS, MUNICH)


@READERS
@pytest.mark.parametrize(
    "question",
    ["How many chairs has room 7?", "How many chairs has room 36?", "How many desks has our Paris office?"],
)
def test_another_room_s_or_town_s_is_told_to_nobody(question: str, read: Reader) -> None:
    assert read(question, *ROOMS, MUNICH) == NOTHING


def test_what_names_nothing_else_is_told_as_the_closest_of_the_history_and_never_as_remembered() -> None:
    runway = "The cash runway is 14 months."
    assert _told("How long is the runway of Acme?", runway).startswith("The closest that I find: you told me")
    assert _remembered("How long is the runway of Acme?", runway) == NOTHING


@pytest.mark.parametrize(
    ("question", "names", "numbers"),
    [
        ("How many chairs has room 12?", set(), {("12", "room")}),
        ("Which room has 12 chairs?", set(), {("12", None)}),
        ("Did Ann call Kroll in March?", {"ann", "kroll"}, set()),
        ("Wie viele Stühle hat Raum 12 im Haus?", set(), {("12", "raum")}),
        ("WHO IS OUR AUDITOR?", set(), set()),
    ],
)
def test_what_a_question_names(question: str, names: set[str], numbers: set[tuple[str, str | None]]) -> None:
    found = exact.named(question)
    assert found == exact.Named(frozenset(names), frozenset(numbers))
