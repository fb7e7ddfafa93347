"""Names of conversations prove whose they are; what is written in a page becomes one event."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bot.gateway.events import CommandInvoked, MessageReceived, Proof
from bot.gateway.pages import Account, UnknownChatError, Written
from bot.kernel.errors import PermanentError
from bot.kernel.ids import BlobHash
from channels.web import mapping

NOW = datetime(2026, 12, 1, 9, tzinfo=UTC)
SECRET = b"s" * 32
ADA = Account("ada", "Ada")
BLOB = BlobHash("ab" * 32)


def chat(account: str = "ada", number: int = 1) -> str:
    return mapping.chat_of(SECRET, account, number.to_bytes(8, "big"))


def thread(number: int = 1) -> str:
    return mapping.thread_key(SECRET, "ada", chat(number=number))


def test_a_conversation_is_its_own_account_s_and_nobody_else_s() -> None:
    assert mapping.thread_key(SECRET, "ada", chat()) == f"web:{chat()}"
    assert chat() != chat("bob")
    for wrong in (chat("bob"), chat()[:-1], chat()[:-1] + "g", chat().upper(), "", "main", f"{chat()}0", "../" * 11):
        with pytest.raises(UnknownChatError):
            mapping.thread_key(SECRET, "ada", wrong)
    with pytest.raises(UnknownChatError):
        mapping.thread_key(b"t" * 32, "ada", chat())


def test_the_same_words_under_the_same_id_are_one_message_and_others_are_not() -> None:
    first, again, other, later = (
        mapping.event(ADA, thread(), Written(number, text), (), NOW).keys
        for number, text in (("message1", "hello"), ("message1", "hello"), ("message1", "hullo"), ("message2", "hello"))
    )
    assert first == again
    assert len({first, other, later}) == 3
    elsewhere = mapping.event(ADA, thread(2), Written("message1", "hello"), (), NOW).keys
    assert elsewhere != first


def test_a_message_is_the_person_s_own_words_alone_with_the_executive() -> None:
    event = mapping.event(ADA, thread(), Written("message1", "\nOur runway is\n14 months.\n"), (), NOW)
    assert isinstance(event, MessageReceived)
    assert event.body.own() == "Our runway is\n14 months."
    assert (event.sender.address, event.sender.proof) == ("ada", Proof.PLATFORM)
    assert (event.reply_path.thread, event.reply_path.address) == (thread(), "ada")
    assert event.thread.place == event.thread.key == thread()  # type: ignore[union-attr]


@pytest.mark.parametrize(("text", "name"), [("/stop", "stop"), ("/memories runway", "memories"), ("/hepl", "hepl")])
def test_commands_are_read_as_elsewhere(text: str, name: str) -> None:
    event = mapping.event(ADA, thread(), Written("message1", text), (), NOW)
    assert isinstance(event, CommandInvoked)
    assert event.name == name


@pytest.mark.parametrize(("number", "text"), [("message1", " \n "), ("", "hello"), ("a:b:c:d:e", "hello"), ("x", "hi")])
def test_what_says_nothing_or_has_no_usable_id_is_refused(number: str, text: str) -> None:
    with pytest.raises(PermanentError, match=r"\w+ \w+"):
        mapping.event(ADA, thread(), Written(number, text), (), NOW)


def test_a_file_is_known_only_in_the_conversation_that_it_was_added_to() -> None:
    handle = mapping.sign(SECRET, thread(), "Plan <b>.pdf", BLOB, 7)
    found = mapping.attachment(SECRET, thread(), handle)
    assert (found.name, found.size, found.blob) == ("Plan <b>.pdf", 7, BLOB)
    packed, _, proof = handle.partition(".")
    for wrong in (handle[:-1], packed, f".{proof}", "", handle.replace(".", "0.", 1), "é.é"):
        with pytest.raises(PermanentError, match="add it again"):
            mapping.attachment(SECRET, thread(), wrong)
    with pytest.raises(PermanentError, match="add it again"):
        mapping.attachment(SECRET, thread(2), handle)


def test_a_message_may_be_a_file_alone() -> None:
    files = [mapping.attachment(SECRET, thread(), mapping.sign(SECRET, thread(), "a.txt", BLOB, 7))]
    event = mapping.event(ADA, thread(), Written("message1", ""), files, NOW)
    assert isinstance(event, MessageReceived)
    assert event.attachments == tuple(files)
