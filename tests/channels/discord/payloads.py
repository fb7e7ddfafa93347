"""Payloads as the platform words them, for the tests of mapping."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bot.gateway.events import InboundEvent, MessageReceived, PlaceKind
from channels.discord import mapping
from channels.discord.where import Me, Rules, Where

ME = Me(42, "Exec", 42)
RULES = Rules(ME, open_threads=True, max_download=20_000_000)
ALICE = {"id": "7", "username": "alice", "global_name": "Alice A", "bot": False}
SELF = {"id": "42", "username": "exec", "global_name": None, "bot": True}
DIRECT = Where(5, PlaceKind.DIRECT, "", members=2, user=7)
TEXT = Where(200, PlaceKind.CHANNEL, "#general (Acme)", guild=100, members=4, can_open=True, own_role=101)
THREAD = Where(300, PlaceKind.CHANNEL, "#general (Acme)", guild=100, parent=200, own_role=101)
OURS = replace(THREAD, ours=True)
NAMES = {("user", 42): "Exec", ("role", 55): "Finance", ("channel", 200): "general"}


def payload(content: str = "", **more: Any) -> dict[str, Any]:
    return {
        "id": "1000",
        "channel_id": "200",
        "author": ALICE,
        "content": content,
        "timestamp": "2026-11-30T12:00:00.123000+00:00",
        "edited_timestamp": None,
        "mentions": [],
        "mention_roles": [],
        "attachments": [],
        "embeds": [],
        "type": 0,
        "flags": 0,
        **more,
    }


def lookup(kind: str, number: int) -> str | None:
    return NAMES.get((kind, number))


def events(given: dict[str, Any], where: Where = TEXT, rules: Rules = RULES) -> tuple[InboundEvent, ...]:
    return mapping.message(given, where, rules, lookup)


def received(given: dict[str, Any], where: Where = TEXT, rules: Rules = RULES) -> MessageReceived:
    (found,) = events(given, where, rules)
    assert isinstance(found, MessageReceived)
    return found
