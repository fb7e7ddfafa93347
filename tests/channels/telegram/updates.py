"""Updates as the platform words them, for the tests of mapping."""

from __future__ import annotations

from typing import Any

from telegram import Update

from bot.gateway.events import InboundEvent
from channels.telegram.client import build_client
from channels.telegram.content import Me
from channels.telegram.mapping import map_update
from tests.channels.support import START

ME = Me(42, "Exec_Bot")
DATE = int(START.timestamp())
ALICE = {"id": 7, "is_bot": False, "first_name": "Alice", "last_name": "A"}
BOT = {"id": 42, "is_bot": True, "first_name": "Executive", "username": "exec_bot"}
PRIVATE = {"id": 7, "type": "private", "first_name": "Alice"}
GROUP = {"id": -100, "type": "supergroup", "title": "Team"}
FORUM = {**GROUP, "is_forum": True}
CLIENT = build_client("1:x", "http://127.0.0.1:9")


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def entity(text: str, part: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "offset": units(text[: text.index(part)]), "length": units(part), **more}


def message(chat: dict[str, Any] = PRIVATE, sender: dict[str, Any] | None = ALICE, **content: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"message_id": 10, "date": DATE, "chat": chat, **content}
    if sender is not None:
        found["from"] = sender
    return found


def events(kind: str, payload: dict[str, Any], members: int | None = 3) -> tuple[InboundEvent, ...]:
    update = Update.de_json({"update_id": 1, kind: payload}, CLIENT)
    return map_update(update, ME, lambda _: members, 20_000_000, START)


def event(payload: dict[str, Any], kind: str = "message") -> InboundEvent:
    (found,) = events(kind, payload)
    return found
