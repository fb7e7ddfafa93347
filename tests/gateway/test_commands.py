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
        ("/foo bar", ParsedCommand("foo", "bar", None)),
        ("/corect ab12cd Our runway is 12 months.", ParsedCommand("corect", "ab12cd Our runway is 12 months.", None)),
        ("/remember: we launch\nin May", ParsedCommand("remember", "we launch\nin May", None)),
        ("/Stop!", ParsedCommand("stop", "", None)),
        ("/vergiß das", ParsedCommand("vergiß", "das", None)),
        ("/etc/hosts is wrong", None),
        ("etc /foo bar", None),
        ("/usr/bin", None),
        ("/usr", ParsedCommand("usr", "", None)),
        ("/etc/", None),
        ("/2024", None),
        ("/v2", ParsedCommand("v2", "", None)),
        ("/", None),
        ("/s", None),
        ("//foo", None),
        ("/foo.", ParsedCommand("foo", "", None)),
        ("/größe", ParsedCommand("größe", "", None)),
        ("foo", None),
        ("and/or", None),
        ("/" + "a" * 65, None),
        ("", None),
    ],
)
def test_typed(text: str, command: ParsedCommand | None) -> None:
    assert typed(text) == command


def test_only_a_known_one_is_parsed() -> None:
    assert typed("/help") == parse("/help") == ParsedCommand("help", "", None)
    assert parse("/foo") is None


def test_nothing_unknown_is_immediate() -> None:
    assert not immediate("foo")
    assert [name for name in COMMANDS if immediate(name)] == ["status", "stop"]


def test_a_lone_keep_is_a_message_about_the_file_before_it() -> None:
    assert typed("/keep") is None
    assert typed("/Learn these") is None
