from __future__ import annotations

import pytest

from bot.cli.conversation import Accepted, Conversation, Draft, Message, NotTaken, Refused


def message(key: str, re: str | None, *, alone: bool = False) -> dict[str, object]:
    return {"type": "message", "key": key, "text": f"text {key}", "re": re, "alone": alone}


def covered(conversation: Conversation, key: str, re: str | None, *, alone: bool = False) -> tuple[str, ...]:
    heard = conversation.heard(message(key, re, alone=alone))
    assert isinstance(heard, Message)
    conversation.shown(heard)
    return heard.covers


@pytest.fixture
def talk() -> Conversation:
    return Conversation("main", "c1")


def test_what_was_not_accepted_is_said_again_in_order(talk: Conversation) -> None:
    says = [talk.say("id1", "one"), talk.say("id2", "two"), talk.say("id3", "three")]
    assert talk.unaccepted() == says
    assert talk.heard({"type": "accepted", "id": "id2"}) == Accepted("id2")
    assert talk.unaccepted() == [says[0], says[2]]
    assert talk.heard({"type": "not_taken", "id": "id1", "message": "full"}) == NotTaken("id1", "full")
    assert talk.unaccepted() == [says[0], says[2]]


def test_a_new_connection_is_told_what_was_shown(talk: Conversation) -> None:
    heard = talk.heard(message("k1", None))
    assert isinstance(heard, Message)
    assert talk.hello()["shown"] == []  # it is not shown by being heard
    assert talk.shown(heard) == {"type": "ack", "key": "k1"}
    assert talk.hello() == {"op": "chat", "thread": "main", "client": "c1", "shown": ["k1"]}


def test_a_key_is_shown_once(talk: Conversation) -> None:
    first, second = talk.heard(message("k1", None)), None
    assert isinstance(first, Message)
    talk.shown(first)
    second = talk.heard(message("k1", None))
    assert isinstance(second, Message)
    assert (first.known, second.known) == (False, True)


def test_an_answer_covers_all_that_was_said_up_to_it(talk: Conversation) -> None:
    for say_id in ("id1", "id2", "id3"):
        talk.say(say_id, "text")
    assert covered(talk, "k1", "id2") == ("id1", "id2")
    assert [talk.waits(say_id) for say_id in ("id1", "id2", "id3")] == [False, False, True]
    assert covered(talk, "k2", "id3") == ("id3",)


def test_an_answer_to_another_window_covers_what_was_said_before_it(talk: Conversation) -> None:
    talk.say("id2", "text")
    assert covered(talk, "k1", "id1") == ()
    assert talk.waits("id2")
    assert covered(talk, "k2", "id3") == ("id2",)


def test_the_answer_to_a_status_is_not_the_answer_to_a_question(talk: Conversation) -> None:
    talk.say("id1", "a question")
    talk.say("id2", "/status")
    assert covered(talk, "k1", "id2", alone=True) == ("id2",)
    assert talk.waits("id1")
    talk.say("id3", "/status")
    assert covered(talk, "k2", "id1") == ("id1",)
    assert covered(talk, "k3", "id9") == ()  # a turn does not answer a command that runs outside the lane
    assert talk.waits("id3")


def test_a_foreign_command_answers_nothing_of_ours(talk: Conversation) -> None:
    talk.say("id1", "a question")
    assert covered(talk, "k1", "id9", alone=True) == ()


def test_what_is_said_unasked_answers_nothing(talk: Conversation) -> None:
    talk.say("id1", "a question")
    assert covered(talk, "k1", None) == ()


def test_an_answer_proves_that_it_was_accepted(talk: Conversation) -> None:
    talk.say("id1", "text")
    covered(talk, "k1", "id1")
    assert talk.unaccepted() == []


def test_what_is_refused_is_not_said_again(talk: Conversation) -> None:
    talk.say("id1", "text")
    assert talk.heard({"type": "refused", "id": "id1", "message": "no"}) == Refused("id1", "no")
    assert talk.unaccepted() == []
    assert not talk.waits("id1")


def test_drafts_and_signs_of_life(talk: Conversation) -> None:
    assert talk.heard({"type": "draft", "turn": "t", "text": "so far"}) == Draft("so far")
    assert talk.heard({"type": "draft", "turn": "t", "text": None}) == Draft(None)


@pytest.mark.parametrize("strange", [{}, {"type": "later"}, {"type": "message", "key": 1}, {"type": "draft"}])
def test_what_a_later_version_says_is_passed_over(talk: Conversation, strange: dict[str, object]) -> None:
    assert talk.heard(strange) is None
