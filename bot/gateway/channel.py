"""The ports between a channel and the core, and what a channel is handed when it is built.

A channel package `channels.<name>` offers `build(settings, context) -> Channel`; `bot.app` finds it by name, so the
library of a channel that is switched off is never imported.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Protocol, runtime_checkable

from bot.gateway.events import Attachment, InboundEvent, ReplyPath
from bot.gateway.forms import Form
from bot.gateway.operations import Found, OutboundOp, Receipt, Reply
from bot.kernel.clock import Clock
from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.ids import BlobHash, OutboxId, TurnId
from bot.kernel.supervise import Supervisor
from bot.kernel.values import dataclass


class NotReadyError(TransientError):
    """Nothing was tried: the channel (or the receiving end of this thread) is not connected. The row waits, in order,
    without using up one of its attempts, until the channel rings `context.ready` or a minute has passed."""


class TargetGoneError(PermanentError):
    """The message that should be edited is not there any more; its text is sent as a message of its own."""


class Accepted(StrEnum):
    NEW = "new"
    DUPLICATE = "duplicate"
    IGNORED = "ignored"  # not for the executive: nothing was stored
    REFUSED = "refused"  # audited; no turn


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a channel has read. Committed in the same transaction as the events before it."""

    name: str
    value: str


class Inbox(Protocol):
    async def accept(self, events: Sequence[InboundEvent], cursor: Cursor | None = None) -> Sequence[Accepted]:
        """Commit the events and the cursor together; one answer per event, in order.

        When it returns, the events are durable and the platform may be told so. It raises `TransientError` when the
        store cannot take them now (disk full, locked): then nothing was stored and nothing may be acknowledged.
        """
        ...

    async def cursor(self, name: str) -> str | None:
        """The last committed value."""
        ...

    async def participates(self, refs: Sequence[str], address: str) -> bool:
        """Whether `address` takes part in a thread that holds one of `refs` (for channels that must decide before
        they accept)."""
        ...

    async def is_known(self, address: str) -> bool:
        """Whether an active person of the roster has this address on the asking channel."""
        ...

    async def sides(self, addresses: Sequence[str]) -> Mapping[str, bool]:
        """Of these accounts, those of people of the roster: whether they count as the company's (guests and people who
        were deactivated do not)."""
        ...


class FileStore(Protocol):
    """Content-addressed files."""

    async def put(self, chunks: AsyncIterator[bytes] | bytes, limit: int) -> BlobHash:
        """Store and sync; return the SHA-256. Raises `PermanentError` past `limit` bytes."""
        ...

    async def read(self, blob: BlobHash) -> bytes:
        """Raises `PermanentError` if it is not there."""
        ...


@dataclass(frozen=True, slots=True)
class Health:
    receiving: bool
    reason: str | None = None
    """Why not, and what to do. While receiving: what does not work (nothing can be sent, say), or None."""
    since: datetime | None = None
    """None before it received, or failed to, for the first time."""
    where: str | None = None
    """Where it receives, for whoever starts the daemon (`127.0.0.1:2525`)."""
    sending: bool = True
    """False while nothing can be sent although messages come in."""

    @property
    def starting(self) -> bool:
        return not self.receiving and self.since is None


@dataclass(frozen=True, slots=True)
class HttpRequest:
    method: str
    path: str
    headers: Mapping[str, str]
    """Lower-case names."""
    body: bytes


@dataclass(frozen=True, slots=True)
class HttpResponse:
    status: int
    body: bytes = b""
    media_type: str = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class HttpRoute:
    """A path of the daemon's one HTTP server that belongs to a channel (webhooks)."""

    method: str
    path: str
    handle: Callable[[HttpRequest], Awaitable[HttpResponse]]
    limit: int = 1 << 20
    """Largest body in bytes."""


class LocalPeer(Protocol):
    """One connection on the daemon's own socket, whose other end runs as the daemon's user."""

    async def send(self, message: Mapping[str, object]) -> None:
        """Write one JSON object. Raises `TransientError` if the other end is gone."""
        ...

    async def receive(self) -> Mapping[str, object] | None:
        """Read one JSON object; None at the end."""
        ...


LocalHandler = Callable[[LocalPeer, Mapping[str, object]], Awaitable[None]]
"""Called with the connection and the object that opened it; owns the connection until it returns."""


@dataclass(frozen=True, slots=True)
class ChannelContext:
    """What a channel is handed. `ready` is called by the channel whenever it can send again."""

    clock: Clock
    supervisor: Supervisor
    files: FileStore
    data_dir: Path
    ready: Callable[[], None]
    version: str
    local_person: str
    """Id of the person who speaks at this machine's own terminal."""
    secret: bytes
    """32 bytes of this installation's own, for what a channel must recognise as its own later (reply tokens)."""
    local_trust: bool
    """Whether this machine's own programs are taken at their word about who writes (mail's local mode)."""


class Channel(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def placeholder(self) -> str | None:
        """Markdown of the one message that stands in for an answer while it is being written and grows into it by
        edits; None where drafts have a form of their own (or none)."""
        ...

    @property
    def has_buttons(self) -> bool:
        """Whether `Ask` operations can be sent; elsewhere a question names the words that answer it."""
        ...

    @property
    def form_fields(self) -> int:
        """How many fields a `Form` may have that is shown here; 0 where there are none."""
        ...

    async def direct(self, address: str) -> ReplyPath:
        """Where something is said to this account alone, unasked. Raises like `send` if there is no such place."""
        ...

    async def run(self, inbox: Inbox) -> None:
        """Receive until cancelled. Connects by itself and retries for ever with backoff; what keeps it from receiving
        stands in `health`. Returns never; raises only on a bug."""
        ...

    def plan(self, reply: Reply) -> Sequence[OutboundOp]:
        """Cut a reply into operations, one per message of the platform, in order. Pure; never empty for a reply that
        has text or files."""
        ...

    async def send(self, op: OutboundOp, key: OutboxId, again: bool) -> Receipt:
        """Carry out one operation. `again`: an earlier try may have arrived; say so in the message.

        Raises `NotReadyError` (nothing tried), `UncertainError` (may have happened), `TransientError` (did not happen,
        try later), `TargetGoneError` (nothing to edit or delete), `PermanentError` (never will). Never retries by
        itself. That a message to delete is gone already is success.
        """
        ...

    async def find(self, op: OutboundOp, key: OutboxId, tried_at: datetime) -> Found:
        """Ask the platform whether an operation that was tried at `tried_at` under `key` happened."""
        ...

    async def draft(self, path: ReplyPath, turn: TurnId, text: str | None, ref: str | None = None) -> None:
        """Show that the answer is being written: `text` so far, or None for a mere sign of life. `ref` is the sent
        placeholder, where the channel has one. Best effort, never raises for the platform's failures, returns at once
        when the platform asks for quiet."""
        ...

    async def fetch(self, attachment: Attachment) -> BlobHash:
        """Get an attachment's bytes into the file store. Raises like `send`."""
        ...

    async def respond(self, response: str, answer: str | Form) -> None:
        """Answer a press, form or command at once and not durably, by the event's `response` handle: with words that
        its sender alone sees, where the platform allows that, or (a press only) with a form. Too late is no failure.
        Raises like `send`, and `PermanentError` for a form with more than `form_fields` fields."""
        ...

    async def erase(self, path: ReplyPath, ref: str) -> bool:
        """Delete one of our messages on the platform. False if the platform does not allow it."""
        ...

    def health(self) -> Health: ...

    def routes(self) -> Sequence[HttpRoute]: ...

    def local(self) -> Mapping[str, LocalHandler]:
        """Handlers of the daemon's own socket, by operation name."""
        ...

    async def close(self) -> None:
        """Release connections. Called after `run` was cancelled and the last send has ended."""
        ...


@runtime_checkable
class KeepsCopies(Protocol):
    """What a channel also is that keeps copies of what it sent in this machine's data folder."""

    async def remove_copies(self, keys: Sequence[OutboxId]) -> None:
        """Delete the copies of what was sent under these keys. Raises `TransientError`."""
        ...


DRAFT_INTERVAL = timedelta(milliseconds=700)
"""A draft is offered to a channel at most this often."""
