"""The document names exactly what the code asks for."""

from __future__ import annotations

import re

import discord

from bot.gateway.commands import COMMANDS
from channels.discord.client import wanted_intents
from channels.discord.interactions import definitions
from tests.conftest import ROOT

TEXT = (ROOT / "docs" / "channels" / "discord.md").read_text(encoding="utf-8")


def listed(heading: str) -> set[str]:
    section = TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return set(re.findall(r"^\| `([a-z_]+)` \|", section, re.MULTILINE))


def test_the_invitation_asks_for_the_permissions_that_are_listed() -> None:
    match = re.search(r"permissions=(\d+)", TEXT)
    assert match is not None
    assert {name for name, on in discord.Permissions(int(match[1])) if on} == {
        _alias(name) for name in listed("Permissions")
    }


def _alias(name: str) -> str:
    """The library lists some permissions by an older name."""
    return {"view_channel": "read_messages"}.get(name, name)


def test_the_intents_are_those_that_are_listed() -> None:
    intents = wanted_intents(content=True, members=True)
    assert {name for name, on in intents if on} == listed("Intents")
    assert {name for name, on in wanted_intents(content=False, members=False) if on} == listed("Intents") - {
        "message_content",
        "members",
    }


def test_every_command_is_named_and_fits() -> None:
    assert {command["name"] for command in definitions()} == {"ask", *COMMANDS}
    assert all(1 <= len(command["description"]) <= 100 for command in definitions())
    for name in ("ask", *COMMANDS):
        assert f"`/{name}`" in TEXT
