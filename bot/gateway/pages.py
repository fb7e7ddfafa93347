"""The port of a channel whose far end are pages of this daemon itself.

What its people do in a page comes in by calls; what is sent to them is not carried anywhere: whoever draws the page
reads it from the store. Open pages hear that there is something new. Nobody else does, so such a channel is the last
way to somebody who has not written there lately.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Protocol, runtime_checkable

from bot.gateway.channel import Accepted
from bot.gateway.events import ReplyPath
from bot.gateway.operations import OutboundOp
from bot.kernel.errors import PermanentError
from bot.kernel.ids import OutboxId, TurnId
from bot.kernel.values import dataclass


class UnknownChatError(PermanentError):
    """There is no such conversation, or it is another account's: the two are one answer."""


@dataclass(frozen=True, slots=True)
class Account:
    """Who is signed in. `id` is the account as handles name it."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Written:
    id: str
    """Made by whoever writes. The same words under the same id are one message, however often they are said."""
    text: str
    files: tuple[str, ...] = ()
    """What `upload` gave, in order."""


@dataclass(frozen=True, slots=True)
class Uploaded:
    handle: str
    """Stands for the file in what its account writes in the same conversation; nobody else can make one."""
    name: str
    size: int
    """Bytes."""


@dataclass(frozen=True, slots=True)
class Drafted:
    """An answer is being written. `text` so far (Markdown); None: a mere sign of life."""

    turn: TurnId
    text: str | None


@dataclass(frozen=True, slots=True)
class Sent:
    """Something was said; the same key may come again."""

    key: OutboxId
    op: OutboundOp


@dataclass(frozen=True, slots=True)
class Erased:
    ref: str


News = Drafted | Sent | Erased


class Listening(Protocol):
    """One open page."""

    @property
    def ended(self) -> bool:
        """The channel stopped: there will be nothing more."""
        ...

    async def next(self, within: timedelta) -> News | None:
        """The next of the news, in order; None when there was none `within` that time, or will be none. Of drafts that
        wait only the newest is kept."""
        ...

    def close(self) -> None: ...


@runtime_checkable
class Pages(Protocol):
    """What a channel also is whose far end are pages. A `chat` is the name of one conversation in addresses of pages.
    All that take one raise `UnknownChatError`."""

    def begin(self, account: str) -> str:
        """A new conversation of this account's. It is nowhere before something is said in it."""
        ...

    def first(self, account: str) -> str:
        """The conversation that is the account's from the beginning."""
        ...

    def thread(self, account: str, chat: str) -> str:
        """Its thread key."""
        ...

    async def current(self, account: str) -> str:
        """Where something is said to the account unasked: where it wrote last, else in its first."""
        ...

    async def say(self, account: Account, chat: str, written: Written) -> Accepted:
        """Durable when it returns. Raises `TransientError` when it has to be said again later, and `PermanentError`
        for what cannot be said."""
        ...

    async def press(self, account: Account, chat: str, ref: str, token: str, press: str) -> str | None:
        """Press a button beneath the message `ref`; `press` is an id as of `Written`. Returns what the presser is told
        at once, None if there is nothing (yet). Raises like `say`."""
        ...

    async def upload(self, account: str, chat: str, name: str, chunks: AsyncIterator[bytes]) -> Uploaded:
        """Store a file that will be sent along. Raises `PermanentError` past the channel's limit."""
        ...

    def listen(self, account: str, chat: str) -> Listening | None:
        """None when too many listen already."""
        ...


def shown_at(path: ReplyPath, key: OutboxId) -> str:
    """Ref of what the row `key` became in a page."""
    return f"{path.thread.partition(':')[0]}:{key}"


def last_resort(channel: object) -> bool:
    """Whether somebody who is written to there hears of it only by looking."""
    return isinstance(channel, Pages)
