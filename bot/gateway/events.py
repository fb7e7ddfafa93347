"""What a platform can tell us: the closed union `InboundEvent`, frozen and storable.

Every event carries `keys`: the platform's own identities of it. An event is a duplicate if any of its keys was
accepted before, so a platform that delivers one thing under two ids (Slack: event id and channel/ts) gives both.
Keys and refs start with the channel's name and a colon. Times are aware UTC.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal

from bot.kernel.ids import BlobHash
from bot.kernel.values import dataclass


class Proof(StrEnum):
    """How we know that the sender is who the address says."""

    PLATFORM = "platform"  # the platform signed the person in and hands us its immutable id
    DOMAIN = "domain"  # mail: an aligned DMARC pass of the From domain
    TOKEN = "token"  # noqa: S105 - mail: the thread's reply token came back
    LOCAL = "local"  # a process on this machine (terminal: peer uid checked; mail: local mode)
    NONE = "none"


class Nature(StrEnum):
    """What the sender is."""

    PERSON = "person"
    BOT = "bot"
    SELF = "self"
    ANONYMOUS = "anonymous"  # an admin writing as the group, a channel writing as itself: nobody we can know


@dataclass(frozen=True, slots=True)
class Sender:
    address: str
    """The platform's immutable id of the account (mail: the lower-cased address), without the channel's name."""
    name: str
    """What the platform shows; cleaned of controls, at most 64 characters; never used to identify."""
    nature: Nature
    proof: Proof
    note: str = ""
    """Why nothing is proven, in plain words, where that can be said; it stands in the audit's erasable text."""
    colleague: bool | None = None
    """Whether the platform vouches that the account is a full member of the workspace that settings declare to be the
    company's. None: nothing is declared, or it has not told."""


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread whose key the platform determines."""

    key: str
    """Deterministic thread key, for example `telegram:<chat>[:<topic>]`."""
    place: str
    """Key of the room it stands in, for example `telegram:<chat>`; equal to `key` for direct messages."""


@dataclass(frozen=True, slots=True)
class Chain:
    """A thread that is found by the messages it answers (mail). Intake joins the event to the thread `key`, else to the
    session of the first known ref in which the proven sender takes part; otherwise a new thread begins."""

    channel: str
    refs: tuple[str, ...]
    """Refs of earlier messages, nearest first."""
    key: str | None = None
    """Key of the thread itself. Set only if the event proves that we wrote to this very sender in it (mail: the reply
    token came back): that is as good as having taken part."""


class PlaceKind(StrEnum):
    DIRECT = "direct"  # one person and the executive
    GROUP = "group"  # a closed group
    CHANNEL = "channel"  # a place that more people may enter
    MAIL = "mail"


@dataclass(frozen=True, slots=True)
class Place:
    """What the platform tells about the room at the time of the event."""

    kind: PlaceKind
    title: str
    members: int | None = None
    """Number of members, the executive included, if the platform has just told it."""
    others: tuple[Sender, ...] = ()
    """Everyone else who is known to read along (mail: the other recipients)."""
    insiders: bool | None = None
    """Whether everybody here is of the company: on the roster (and no guest), or a full member of the workspace that
    settings declare to be the company's. None: nothing is declared, or the platform has not told."""


class SpanKind(StrEnum):
    OWN = "own"
    QUOTED = "quoted"
    FORWARDED = "forwarded"
    SIGNATURE = "signature"


@dataclass(frozen=True, slots=True)
class Span:
    start: int
    end: int
    """Half-open, in code points of `Body.text`."""
    kind: SpanKind


@dataclass(frozen=True, slots=True)
class Body:
    """The text of a message and whose words each part of it is. Spans cover the text without gap or overlap."""

    text: str
    spans: tuple[Span, ...] = ()
    """Empty means: all own."""

    def own(self) -> str:
        """The sender's own words only."""
        if not self.spans:
            return self.text
        return "".join(self.text[s.start : s.end] for s in self.spans if s.kind is SpanKind.OWN).strip()


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that came with a message. Either its bytes are stored already (`blob`) or the channel fetches them by
    `source` when the turn needs them. `fault` says why it cannot be had (too large, of a kind that is not read)."""

    name: str
    declared_type: str
    size: int | None
    """Bytes, as declared."""
    source: str | None = None
    blob: BlobHash | None = None
    fault: str | None = None


class Addressed(StrEnum):
    """Why the executive is being spoken to."""

    DIRECT = "direct"
    MENTION = "mention"
    REPLY = "reply"  # an answer to one of our own messages
    THREAD = "thread"  # in a thread that is the executive's own
    NOT = "not"


@dataclass(frozen=True, slots=True)
class ReplyPath:
    """Where an answer to this event goes. Filled by the channel's mapping, handed back to its `plan`; the core only
    stores it."""

    thread: str
    """Thread key. Empty for a `Chain` until intake has resolved it."""
    address: str
    """Account the answer is for."""
    ref: str | None = None
    """Message to answer to, if the platform shows answers as such."""
    subject: str | None = None
    chain: tuple[str, ...] = ()
    """Refs of the conversation so far, oldest first (mail: References plus the message itself)."""
    opens: str | None = None
    """Title of the thread that has to be opened before anything can be said in `thread` (its starter is `ref`)."""
    fallback: str | None = None
    """Thread key to answer in when that thread cannot be opened."""
    also: tuple[str, ...] = ()
    """Other accounts of the roster that get the answer too, because the asker asked them as well (mail: Cc)."""


@dataclass(frozen=True, slots=True)
class MessageReceived:
    keys: tuple[str, ...]
    ref: str
    """The message itself, as later edits, deletes and answers name it."""
    thread: Thread | Chain
    place: Place
    sender: Sender
    body: Body
    sent_at: datetime
    addressed: Addressed
    reply_path: ReplyPath
    attachments: tuple[Attachment, ...] = ()
    answers: str | None = None
    """Ref of the message this one answers, if the platform says so."""
    quotes: str | None = None
    """Text of the message this one answers, if the platform hands it along; data, not the sender's words."""
    group: str | None = None
    """Album id: events of one group that arrive close together are one message."""
    automatic: str | None = None
    """Why this was written by a machine, if it was (`auto_reply`, `bounce`, `list`...): never answered."""
    live: bool = True
    """A chat, where an answer after hours would surprise; mail is not live."""
    raw: BlobHash | None = None
    """The message as it came over the wire, if the channel keeps it."""
    invited: tuple[str, ...] = ()
    """Accounts that the sender asked into the thread, as surely as the sender is proven (mail: To and Cc). Those of the
    roster take part in it from now on."""
    kind: Literal["message"] = "message"


@dataclass(frozen=True, slots=True)
class MessageEdited:
    keys: tuple[str, ...]
    ref: str
    thread: Thread
    place: Place
    sender: Sender
    body: Body
    edited_at: datetime
    addressed: Addressed
    reply_path: ReplyPath
    kind: Literal["edit"] = "edit"


@dataclass(frozen=True, slots=True)
class MessageDeleted:
    keys: tuple[str, ...]
    ref: str
    thread: Thread
    deleted_at: datetime
    by: Sender | None = None
    kind: Literal["delete"] = "delete"


@dataclass(frozen=True, slots=True)
class ButtonPressed:
    keys: tuple[str, ...]
    ref: str
    """The message that carries the button."""
    thread: Thread
    place: Place
    sender: Sender
    token: str
    """What we put into the button."""
    pressed_at: datetime
    response: str | None = None
    """Handle for an immediate, not durable response (`Channel.respond`)."""
    kind: Literal["press"] = "press"


@dataclass(frozen=True, slots=True)
class FormSubmitted:
    keys: tuple[str, ...]
    thread: Thread
    place: Place
    sender: Sender
    token: str
    values: tuple[tuple[str, str], ...]
    submitted_at: datetime
    response: str | None = None
    ref: str | None = None
    """The message whose button opened the form."""
    kind: Literal["submit"] = "submit"


@dataclass(frozen=True, slots=True)
class CommandInvoked:
    """A word of `commands.COMMANDS`, typed or by the platform's own menu; or a lone word that was typed like one."""

    keys: tuple[str, ...]
    ref: str | None
    thread: Thread | Chain
    place: Place
    sender: Sender
    name: str
    """Without the slash, lower case."""
    arguments: str
    sent_at: datetime
    reply_path: ReplyPath
    response: str | None = None
    live: bool = True
    raw: BlobHash | None = None
    kind: Literal["command"] = "command"


class Change(StrEnum):
    JOINED = "joined"
    LEFT = "left"
    BLOCKED = "blocked"  # the person no longer accepts messages from us
    UNBLOCKED = "unblocked"
    MOVED = "moved"  # the place got a new key (`moved_to`)
    REMOVED = "removed"  # the executive was put out of the place


@dataclass(frozen=True, slots=True)
class MembershipChanged:
    keys: tuple[str, ...]
    place_key: str
    place: Place
    change: Change
    at: datetime
    who: Sender | None = None
    """None when it is about the place or the executive itself."""
    moved_to: str | None = None
    kind: Literal["membership"] = "membership"


class Outcome(StrEnum):
    FAILED = "failed"
    DELAYED = "delayed"
    DELIVERED = "delivered"


@dataclass(frozen=True, slots=True)
class DeliveryReported:
    """News about a message of ours that arrives after it was sent (mail: DSN)."""

    keys: tuple[str, ...]
    of: tuple[str, ...]
    """Refs that the report names."""
    outcome: Outcome
    detail: str
    at: datetime
    kind: Literal["delivery_report"] = "delivery_report"


InboundEvent = (
    MessageReceived
    | MessageEdited
    | MessageDeleted
    | ButtonPressed
    | FormSubmitted
    | CommandInvoked
    | MembershipChanged
    | DeliveryReported
)
