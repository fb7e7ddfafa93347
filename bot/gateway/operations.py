"""What can be asked of a platform: the closed union `OutboundOp`, frozen and storable, one outbox row each.

`Channel.plan` makes them from a `Reply` (pure); `Channel.send` carries one out under its row's key.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from bot.gateway.events import ReplyPath
from bot.kernel.ids import BlobHash
from bot.kernel.values import dataclass


@dataclass(frozen=True, slots=True)
class OutFile:
    name: str
    media_type: str
    blob: BlobHash


@dataclass(frozen=True, slots=True)
class Reply:
    """What the executive says, before any platform's form. `markdown` is CommonMark with tables."""

    path: ReplyPath
    markdown: str
    files: tuple[OutFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Send:
    """One message. `text` is in the platform's own form, `plain` the same without any markup: it is sent instead
    when the platform refuses the form."""

    path: ReplyPath
    text: str
    plain: str
    files: tuple[OutFile, ...] = ()
    kind: Literal["send"] = "send"


@dataclass(frozen=True, slots=True)
class Edit:
    path: ReplyPath
    target: str
    """Ref of our message."""
    text: str
    plain: str
    kind: Literal["edit"] = "edit"


@dataclass(frozen=True, slots=True)
class Delete:
    path: ReplyPath
    target: str
    kind: Literal["delete"] = "delete"


@dataclass(frozen=True, slots=True)
class React:
    path: ReplyPath
    target: str
    emoji: str
    """One of the platform's plain reactions; empty takes ours away."""
    kind: Literal["react"] = "react"


@dataclass(frozen=True, slots=True)
class OpenThread:
    """Open the thread that `path.thread` names. That it exists already is success."""

    path: ReplyPath
    title: str
    starter: str | None
    kind: Literal["open_thread"] = "open_thread"


@dataclass(frozen=True, slots=True)
class Choice:
    token: str
    """Comes back in `ButtonPressed.token`; at most 64 bytes (Bot API callback_data, the tightest platform)."""
    label: str
    opens_form: bool = False
    """A press is answered with a `Form` (see `Channel.respond`): the platform is kept waiting for it a moment."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A question with buttons beneath the whole text."""

    path: ReplyPath
    text: str
    plain: str
    choices: tuple[Choice, ...]
    expires_at: datetime | None = None
    kind: Literal["ask"] = "ask"


OutboundOp = Send | Edit | Delete | React | OpenThread | Ask


def asking(ops: Sequence[OutboundOp], choices: Sequence[Choice], expires_at: datetime | None) -> list[OutboundOp]:
    """A planned text as a question: its last message carries the buttons, beneath the whole text."""
    *before, last = ops
    if not isinstance(last, Send) or last.files:
        raise ValueError("a question ends with its text")
    return [*before, Ask(last.path, last.text, last.plain, tuple(choices), expires_at)]


@dataclass(frozen=True, slots=True)
class Receipt:
    """The platform took it. `ref` is how later events will name the message; None where it has no identity."""

    ref: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class NotSent:
    """The platform was asked and does not have it."""


@dataclass(frozen=True, slots=True)
class CannotTell:
    """The platform cannot be asked, or did not give a certain answer."""


Found = Receipt | NotSent | CannotTell
