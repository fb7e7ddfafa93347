from __future__ import annotations

import pytest

from bot.gateway.codec import dump_event, load_event
from bot.gateway.events import Addressed, CommandInvoked, MessageReceived, Nature, PlaceKind, Proof
from bot.kernel.errors import PermanentError
from channels.terminal.mapping import Ack, Say, answers, event, read, read_hello, thread_key
from tests.channels.support import START

MAIN = "cli:anna:main"


def test_a_say_is_a_message_of_the_person_in_their_own_thread() -> None:
    said = event(Say("id1", "hello"), MAIN, "anna", START)
    assert isinstance(said, MessageReceived)
    assert said.keys == ("terminal:cli:anna:main:id1",)
    assert said.ref == said.keys[0]
    assert (said.sender.address, said.sender.nature, said.sender.proof) == ("anna", Nature.PERSON, Proof.LOCAL)
    assert (said.place.kind, said.addressed) == (PlaceKind.DIRECT, Addressed.DIRECT)
    assert said.reply_path.thread == MAIN
    assert said.reply_path.address == "anna"
    assert load_event(dump_event(said)) == said


@pytest.mark.parametrize(
    "text", ["/help", "  /NEW  ", "/room company", "/stop", "/status", "/unknown", "/unknown words"]
)
def test_known_and_unknown_words_after_a_slash_are_commands(text: str) -> None:
    said = event(Say("id1", text), MAIN, "anna", START)
    assert isinstance(said, CommandInvoked)
    assert said.name == text.strip().split()[0][1:].lower()
    assert load_event(dump_event(said)) == said


@pytest.mark.parametrize("text", ["/etc/passwd is wrong", "/keep this", "say /help"])
def test_paths_and_words_about_files_are_text(text: str) -> None:
    assert isinstance(event(Say("id1", text), MAIN, "anna", START), MessageReceived)


@pytest.mark.parametrize(("text", "alone"), [("hello", False), ("/help", False), ("/stop", True), ("/status", True)])
def test_an_answer_tells_whether_it_covers_what_was_said_before(text: str, alone: bool) -> None:
    said = event(Say("id1", text), MAIN, "anna", START)
    assert isinstance(said, MessageReceived | CommandInvoked)
    assert answers(said.reply_path.ref) == ("id1", alone)


def test_what_answers_nothing_stands_alone() -> None:
    assert answers(None) == (None, True)


@pytest.mark.parametrize("name", ["", "Main", "a:b", "a/b", "../x", "a b", "x" * 41, "ü", "a\n"])
def test_bad_thread_names_are_refused(name: str) -> None:
    with pytest.raises(PermanentError, match="no name for a thread"):
        thread_key("anna", name)


def test_two_people_never_share_a_thread() -> None:
    assert thread_key("a", "b-main") != thread_key("a-b", "main")


@pytest.mark.parametrize(
    "first",
    [
        {},
        {"client": 1},
        {"client": ""},
        {"client": "c", "thread": 5},
        {"client": "c", "shown": "k"},
        {"client": "c", "shown": [1]},
    ],
)
def test_a_hello_that_is_none_is_refused(first: dict[str, object]) -> None:
    with pytest.raises(PermanentError):
        read_hello(first, "anna")


def test_a_hello_names_thread_client_and_what_was_shown() -> None:
    hello = read_hello({"client": "c1", "shown": ["k1", "k2"]}, "anna")
    assert (hello.thread, hello.client, hello.shown) == (MAIN, "c1", ("k1", "k2"))


def test_what_clients_say_is_read() -> None:
    assert read({"type": "say", "id": "x", "text": "t"}) == Say("x", "t")
    assert read({"type": "ack", "key": "k"}) == Ack("k")


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"type": "say"},
        {"type": "say", "id": "a:b", "text": "t"},
        {"type": "say", "id": "x", "text": 1},
        {"type": "?"},
    ],
)
def test_anything_else_ends_the_conversation(message: dict[str, object]) -> None:
    with pytest.raises(PermanentError, match="one version"):
        read(message)
