"""Interactions as events: slash commands, pressed buttons, forms. Pure.

`/ask` is a message that is answered where it was asked; the other commands are those of `bot.gateway.commands`.
"""

from __future__ import annotations

from datetime import datetime

from bot.gateway.commands import COMMANDS
from bot.gateway.events import (
    Addressed,
    Body,
    ButtonPressed,
    CommandInvoked,
    FormSubmitted,
    InboundEvent,
    MessageReceived,
    Nature,
    Proof,
    ReplyPath,
    Sender,
)
from channels.discord.content import Payload, name_of
from channels.discord.keys import NAME, ref, time_of, token_of
from channels.discord.where import Where

ASK = "ask"
_INTERACTIONS = {2: "command", 3: "press", 5: "form"}
"""By interaction type; the rest (pings, completions) is not for us."""


def interaction(payload: Payload, where: Where) -> tuple[InboundEvent, ...]:
    """A slash command, a pressed button or a form. `/ask` is a message that is answered where it was asked."""
    member = payload.get("member")
    user: Payload = member["user"] if member else payload["user"]
    if user.get("bot"):
        return ()
    sender = Sender(str(user["id"]), name_of(user, member), Nature.PERSON, Proof.PLATFORM)
    number = int(payload["id"])
    keys = (f"{NAME}:interaction:{number}",)
    at = time_of(number)
    data: Payload = payload.get("data") or {}
    kind = _INTERACTIONS.get(int(payload["type"]))
    response = f"{kind}:{payload['token']}"
    match kind:
        case "command":
            return _slash(data, where, sender, keys, at, response, number)
        case "press":
            return (
                ButtonPressed(
                    keys=keys,
                    ref=ref(where.channel, int(payload["message"]["id"])),
                    thread=where.thread,
                    place=where.place,
                    sender=sender,
                    token=token_of(str(data["custom_id"])),
                    pressed_at=at,
                    response=response,
                ),
            )
        case "form":
            return (
                FormSubmitted(
                    keys=keys,
                    thread=where.thread,
                    place=where.place,
                    sender=sender,
                    token=str(data["custom_id"]),
                    values=tuple(_fields(data.get("components") or ())),
                    submitted_at=at,
                    response=response,
                    ref=ref(where.channel, int(payload["message"]["id"])) if payload.get("message") else None,
                ),
            )
        case _:
            return ()


def _slash(
    data: Payload, where: Where, sender: Sender, keys: tuple[str, ...], at: datetime, response: str, number: int
) -> tuple[InboundEvent, ...]:
    name = str(data.get("name", "")).lower()
    words = " ".join(str(option.get("value", "")) for option in data.get("options") or ()).strip()
    path = ReplyPath(where.thread.key, sender.address)
    if name == ASK:
        if not words:
            return ()
        return (
            MessageReceived(
                keys=keys,
                ref=ref(where.channel, number),
                thread=where.thread,
                place=where.place,
                sender=sender,
                body=Body(words),
                sent_at=at,
                addressed=Addressed.DIRECT if where.guild is None else Addressed.MENTION,
                reply_path=path,
            ),
        )
    if name not in COMMANDS:
        return ()
    return (
        CommandInvoked(
            keys=keys,
            ref=None,
            thread=where.thread,
            place=where.place,
            sender=sender,
            name=name,
            arguments=words,
            sent_at=at,
            reply_path=path,
            response=response,
        ),
    )


def _fields(components: object) -> list[tuple[str, str]]:
    """Values of a form, in rows or behind labels."""
    found: list[tuple[str, str]] = []
    for one in components if isinstance(components, list | tuple) else ():
        if "custom_id" in one and "value" in one:
            found.append((str(one["custom_id"]), str(one["value"])))
        found += _fields(one.get("components", ()))
        found += _fields((one["component"],)) if "component" in one else []
    return found
