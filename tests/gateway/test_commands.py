"""What is a command in what people type."""

from __future__ import annotations

import pytest

from bot.gateway.commands import COMMANDS, ParsedCommand, immediate, parse, typed


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/help", ParsedCommand("help", "", None)),
        (" /Help@some_bot \n", ParsedCommand("help", "", "some_bot")),
        ("/room company", ParsedCommand("room", "company", None)),
        ("/foo", ParsedCommand("foo", "", None)),
        (" /Foo@some_bot\n", ParsedCommand("foo", "", "some_bot")),
        ("/foo bar", None),
        ("/usr/bin", None),
        ("/usr", ParsedCommand("usr", "", None)),
        ("/etc/", None),
        ("/2024", None),
        ("/v2", None),
        ("/", None),
        ("/s", None),
        ("//foo", None),
        ("/foo.", None),
        ("/größe", None),
        ("foo", None),
        ("and/or", None),
        ("/" + "a" * 33, None),
        ("", None),
    ],
)
def test_typed(text: str, command: ParsedCommand | None) -> None:
    assert typed(text, alone=True) == command


def test_an_unknown_word_that_does_not_stand_alone_is_text() -> None:
    assert typed("/foo", alone=False) is None
    assert typed("/help", alone=False) == parse("/help") == ParsedCommand("help", "", None)
    assert parse("/foo") is None


def test_nothing_unknown_is_immediate() -> None:
    assert not immediate("foo")
    assert [name for name in COMMANDS if immediate(name)] == ["status", "stop"]


def test_a_lone_keep_is_a_message_about_the_file_before_it() -> None:
    assert typed("/keep", alone=True) is None
    assert typed("/Learn", alone=True) is None
