"""Discord's payloads as events of the gateway. Pure.

Live events and messages that were read back go through the same functions. Every payload is judged by its own fields
and by `Where`, what is known about the room; without the bot's own verified account (`Me`) nothing can be mapped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from bot.gateway.commands import COMMANDS, ParsedCommand, parse
from bot.gateway.events import (
    Addressed,
    Body,
    ButtonPressed,
    Change,
    CommandInvoked,
    FormSubmitted,
    InboundEvent,
    MembershipChanged,
    MessageDeleted,
    MessageEdited,
    MessageReceived,
    Nature,
    Place,
    PlaceKind,
    Proof,
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
    name_of,
    quotes_of,
    readable,
    without_mention,
    without_mentions,
)
from channels.discord.keys import NAME, direct_key, message_key, ref, thread_key, time_of

SPOKEN = (0, 19)
"""Message types that people write: a message and an answer. All others are the platform's own announcements."""
ASK = "ask"
MAX_TITLE = 60
_INTERACTIONS = {2: "command", 3: "press", 5: "form"}
"""By interaction type; the rest (pings, completions) is not for us."""


@dataclass(frozen=True, slots=True)
class Me:
    """The bot's own account, as the platform verified it."""

    id: int
    name: str
    application: int


@dataclass(frozen=True, slots=True)
class Where:
    """What is known about the channel of an event."""

    channel: int
    kind: PlaceKind
    title: str
    guild: int | None = None
    members: int | None = None
    parent: int | None = None
    """Of a thread: the channel it stands in."""
    private: bool = False
    """A thread that only its own members see: a room of its own."""
    ours: bool = False
    """A thread that the executive opened or takes part in."""
    can_open: bool = False
    """Whether the channel is of a kind in which messages can start threads."""
    user: int | None = None
    """Of direct messages: the other one."""
    own_role: int | None = None
    """The role that stands for the bot itself in this guild."""

    @property
    def thread(self) -> Thread:
        if self.guild is None:
            key = direct_key(self.user or 0)
            return Thread(key, key)
        return Thread(thread_key(self.guild, self.channel), self.place_key)

    @property
    def place_key(self) -> str:
        if self.guild is None:
            return direct_key(self.user or 0)
        inside = self.parent if self.parent is not None and not self.private else self.channel
        return thread_key(self.guild, inside)

    @property
    def place(self) -> Place:
        return Place(self.kind, self.title, self.members)


@dataclass(frozen=True, slots=True)
class Rules:
    me: Me
    open_threads: bool
    """Whether a mention in a channel opens a thread; otherwise it is answered in the channel."""
    max_download: int


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


def interaction(payload: Payload, where: Where, rules: Rules, lookup: Lookup) -> tuple[InboundEvent, ...]:
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
                    token=str(data["custom_id"]),
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


def member_changed(
    guild: int, user: Payload, member: Payload | None, change: Change, where: Where, me: Me, at: datetime
) -> MembershipChanged:
    """Somebody came into or left a guild, as seen from one of its channels."""
    stamp = str(member["joined_at"]) if member and member.get("joined_at") else str(int(at.timestamp()))
    return MembershipChanged(
        keys=(f"{NAME}:member:{where.channel}:{user['id']}:{change}:{stamp}",),
        place_key=where.place_key,
        place=where.place,
        change=change,
        at=at,
        who=_account(user, member, me),
    )


def removed(guild: int, channel: int, at: datetime) -> MembershipChanged:
    """The executive can no longer be in this channel: it is gone, or the guild put it out."""
    return MembershipChanged(
        keys=(f"{NAME}:removed:{guild}:{channel}:{int(at.timestamp())}",),
        place_key=thread_key(guild, channel),
        place=Place(PlaceKind.CHANNEL, ""),
        change=Change.REMOVED,
        at=at,
    )


def refused_thread(thread: str, fallback: str, at: datetime) -> MembershipChanged:
    """A thread that may not be opened: its conversation goes on in the channel."""
    return MembershipChanged(
        keys=(f"{NAME}:moved:{thread}:{fallback}",),
        place_key=thread,
        place=Place(PlaceKind.CHANNEL, ""),
        change=Change.MOVED,
        at=at,
        moved_to=fallback,
    )


def blocked(user: int, key: str, at: datetime) -> MembershipChanged:
    """A person takes no direct messages from us."""
    return MembershipChanged(
        keys=(f"{NAME}:blocked:{user}:{key}",),
        place_key=direct_key(user),
        place=Place(PlaceKind.DIRECT, ""),
        change=Change.BLOCKED,
        at=at,
        who=Sender(str(user), "", Nature.PERSON, Proof.PLATFORM),
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


def _command(payload: Payload, body: Body, me: Me) -> ParsedCommand | None:
    """A command in the sender's own words, at the start or behind our name."""
    if payload.get("message_snapshots") or any(s.start == 0 and s.kind is not SpanKind.OWN for s in body.spans):
        return None
    written = str(payload.get("content") or "")
    return parse(readable(without_mention(written, me.id), payload.get("mentions", ()), lambda _kind, _id: None))


def _sender(payload: Payload, me: Me) -> Sender:
    author: Payload = payload["author"]
    sender = _account(author, payload.get("member"), me)
    machine = payload.get("webhook_id") is not None or author.get("system")
    return replace(sender, nature=Nature.BOT) if machine and sender.nature is Nature.PERSON else sender


def _account(user: Payload, member: Payload | None, me: Me) -> Sender:
    nature = Nature.SELF if int(user["id"]) == me.id else Nature.BOT if user.get("bot") else Nature.PERSON
    return Sender(str(user["id"]), name_of(user, member), nature, Proof.PLATFORM)


def _time(stamp: object) -> datetime:
    return datetime.fromisoformat(str(stamp))
