"""Discord's payloads as events of the gateway. Pure.

Live events and messages that were read back go through the same functions. Every payload is judged by its own fields
and by `Where`, what is known about the room; without the bot's own verified account (`Me`) nothing can be mapped.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from bot.gateway.commands import ParsedCommand, typed
from bot.gateway.events import (
    Addressed,
    Body,
    CommandInvoked,
    InboundEvent,
    MessageDeleted,
    MessageEdited,
    MessageReceived,
    Nature,
    ReplyPath,
    Sender,
    SpanKind,
    Thread,
)
from channels.discord.content import (
    FORWARD,
    Lookup,
    Payload,
    attachments_of,
    body_of,
    mentions,
    quotes_of,
    readable,
    without_mention,
    without_mentions,
)
from channels.discord.keys import message_key, ref, thread_key
from channels.discord.where import Me, Rules, Where, account

SPOKEN = (0, 19)
"""Message types that people write: a message and an answer. All others are the platform's own announcements."""
MAX_TITLE = 60


def message(payload: Payload, where: Where, rules: Rules, lookup: Lookup) -> tuple[InboundEvent, ...]:
    """What a new message says; nothing if it is not a person's or truly empty."""
    sender = _sender(payload, rules.me)
    if int(payload.get("type", 0)) not in SPOKEN or sender.nature is not Nature.PERSON:
        return ()
    body = body_of(payload, lookup)
    attachments = attachments_of(payload, rules.max_download)
    if not (body.text or attachments):
        return ()
    message_id = int(payload["id"])
    own_ref = ref(where.channel, message_id)
    addressed = _addressed(payload, where, rules.me)
    command = _command(payload, body, rules.me)
    if command is not None and addressed is not Addressed.NOT:
        return (
            CommandInvoked(
                keys=(message_key(message_id),),
                ref=own_ref,
                thread=where.thread,
                place=where.place,
                sender=sender,
                name=command.name,
                arguments=command.arguments,
                sent_at=_time(payload["timestamp"]),
                reply_path=ReplyPath(where.thread.key, sender.address, own_ref),
            ),
        )
    words = readable(without_mentions(str(payload["content"]), rules.me.id), payload.get("mentions", ()), lookup)
    thread, path = _answering(where, message_id, sender, words, addressed, rules)
    return (
        MessageReceived(
            keys=(message_key(message_id),),
            ref=own_ref,
            thread=thread,
            place=where.place,
            sender=sender,
            body=body,
            sent_at=_time(payload["timestamp"]),
            addressed=addressed,
            reply_path=path,
            attachments=attachments,
            answers=_answered(payload, where),
            quotes=quotes_of(payload, lookup),
        ),
    )


def edited(payload: Payload, where: Where, rules: Rules, lookup: Lookup) -> tuple[InboundEvent, ...]:
    """A message that its writer changed. Updates without a time of editing are previews, pins and the like."""
    if not payload.get("edited_timestamp") or "author" not in payload or "content" not in payload:
        return ()
    sender = _sender(payload, rules.me)
    if int(payload.get("type", 0)) not in SPOKEN or sender.nature is not Nature.PERSON:
        return ()
    message_id = int(payload["id"])
    at = _time(payload["edited_timestamp"])
    body = body_of(payload, lookup)
    addressed = _addressed(payload, where, rules.me)
    words = readable(without_mentions(str(payload["content"]), rules.me.id), payload.get("mentions", ()), lookup)
    thread, path = _answering(where, message_id, sender, words, addressed, rules)
    return (
        MessageEdited(
            keys=(f"{message_key(message_id)}:edit:{int(at.timestamp() * 1_000_000)}",),
            ref=ref(where.channel, message_id),
            thread=thread,
            place=where.place,
            sender=sender,
            body=body,
            edited_at=at,
            addressed=addressed,
            reply_path=path,
        ),
    )


def deleted(payload: Payload, where: Where, now: datetime) -> tuple[InboundEvent, ...]:
    """One message, or many at once. The platform says neither who nor when."""
    ids = [payload["id"]] if "id" in payload else list(payload.get("ids", ()))
    return tuple(
        MessageDeleted(
            keys=(f"{message_key(int(message_id))}:deleted",),
            ref=ref(where.channel, int(message_id)),
            thread=where.thread,
            deleted_at=now,
        )
        for message_id in ids
    )


def title_of(text: str, sender: Sender) -> str:
    """A thread's name: the first words of the message (Discord: 1 to 100 characters)."""
    words = " ".join(text.split())
    if len(words) > MAX_TITLE:
        cut = words[: MAX_TITLE - 1]
        words = (cut.rpartition(" ")[0] if " " in cut[20:] else cut).rstrip(" ,;:.") + "…"
    return words or f"Conversation with {sender.name or 'you'}"


def _answering(
    where: Where, message_id: int, sender: Sender, words: str, addressed: Addressed, rules: Rules
) -> tuple[Thread, ReplyPath]:
    """The thread of a message and where its answer goes. A thread that is still to be opened has its starter's id
    (Discord, Start Thread from Message)."""
    own_ref = ref(where.channel, message_id)
    here = where.thread
    opens = rules.open_threads and where.can_open and addressed in (Addressed.MENTION, Addressed.REPLY)
    if not opens or where.guild is None:
        return here, ReplyPath(here.key, sender.address, own_ref)
    thread = replace(here, key=thread_key(where.guild, message_id))
    path = ReplyPath(thread.key, sender.address, own_ref, opens=title_of(words, sender), fallback=here.key)
    return thread, path


def _addressed(payload: Payload, where: Where, me: Me) -> Addressed:
    if where.guild is None:
        return Addressed.DIRECT
    roles = {int(role) for role in payload.get("mention_roles") or ()}
    if mentions(str(payload.get("content") or ""), me.id) or (where.own_role is not None and where.own_role in roles):
        return Addressed.MENTION
    answered = payload.get("referenced_message")
    kind = (payload.get("message_reference") or {}).get("type", 0)
    if answered and kind != FORWARD and int(answered["author"]["id"]) == me.id:
        return Addressed.REPLY
    return Addressed.THREAD if where.ours else Addressed.NOT


def _answered(payload: Payload, where: Where) -> str | None:
    reference = payload.get("message_reference") or {}
    if reference.get("type", 0) == FORWARD or not reference.get("message_id"):
        return None
    return ref(int(reference.get("channel_id") or where.channel), int(reference["message_id"]))


def _command(payload: Payload, body: Body, me: Me) -> ParsedCommand | None:
    """A command in the sender's own words, at the start or behind our name."""
    if payload.get("message_snapshots") or any(s.start == 0 and s.kind is not SpanKind.OWN for s in body.spans):
        return None
    written = str(payload.get("content") or "")
    words = readable(without_mention(written, me.id), payload.get("mentions", ()), lambda _kind, _id: None)
    return typed(words)


def _sender(payload: Payload, me: Me) -> Sender:
    author: Payload = payload["author"]
    sender = account(author, payload.get("member"), me)
    machine = payload.get("webhook_id") is not None or author.get("system")
    return replace(sender, nature=Nature.BOT) if machine and sender.nature is Nature.PERSON else sender


def _time(stamp: object) -> datetime:
    return datetime.fromisoformat(str(stamp))
