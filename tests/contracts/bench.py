"""A far end as the suite sees it, and the real adapter in front of it."""

from __future__ import annotations

import asyncio
import hashlib
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from importlib import import_module
from pathlib import Path

from bot.gateway.channel import Channel, ChannelContext
from bot.gateway.events import MessageReceived, PlaceKind, ReplyPath
from bot.gateway.operations import Receipt, Reply
from bot.kernel.clock import SystemClock
from bot.kernel.errors import PermanentError
from bot.kernel.ids import BlobHash, OutboxId, new_id
from bot.kernel.supervise import Supervisor
from config.schema import Channels
from tests.contracts.inbox import GatedInbox
from tests.control.serving import serving

WITHIN = 15.0
LOOK_AGAIN = 0.02


class Who(StrEnum):
    """The same five everywhere. Nobody knows Eve; Gil is a guest; the executive is not among them."""

    ANN = "ann"
    BEN = "ben"
    GIL = "gil"
    EVE = "eve"


class Talk(StrEnum):
    """Conversations: with one person alone, among several, and a second one beside the first."""

    DIRECT = "direct"
    GROUP = "group"
    OTHER = "other"


class Draft(StrEnum):
    """How a person sees that an answer is being written."""

    PLACEHOLDER = "placeholder"
    OWN = "own"
    NONE = "none"


@dataclass(frozen=True)
class Can:
    """What a platform can do. Everything else must fail honestly."""

    ops: frozenset[str]
    """Kinds of `OutboundOp` that are carried out."""
    edits: bool = False
    """A person's edits are told."""
    deletes: bool = False
    groups: bool = True
    strangers: bool = True
    bots: bool = True
    buttons: bool = False
    form_fields: int = 0
    """How many fields a form may have."""
    draft: Draft = Draft.NONE
    network: bool = True
    """Sends cross a network that can be cut, slowed and refused."""
    pauses: bool = False
    """The far end says for how long it wants quiet."""
    certain: bool = False
    """After a cut it can be known whether a send happened, or doing it again is doing it once."""
    erases: bool = False
    depends: bool = False
    """Receiving needs the far end to be there."""
    stored: bool = False
    """What is sent is there once it is stored: nothing has to be connected."""
    limit: int | None = None
    """Most units in one message, by `FarEnd.units`."""


ALL_OPS = frozenset({"send", "edit", "delete", "react", "open_thread", "ask"})


class FarEnd(ABC):
    """One platform, with its people. Started as an async context manager."""

    name: str
    channel: str
    can: Can

    def __init__(self) -> None:
        self.front: Channel | None = None

    @abstractmethod
    def settings(self) -> Mapping[str, object]:
        """The channel's section of the settings."""

    @abstractmethod
    def address(self, who: Who) -> str:
        """The account as the gateway names it."""

    def handle(self, who: Who) -> object:
        """The account as settings name it."""
        return self.address(who)

    async def __aenter__(self) -> FarEnd:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def meet(self, channel: Channel, data_dir: Path) -> None:
        """The adapter is there (again)."""
        self.front = channel

    async def part(self) -> None:
        """The adapter goes away."""
        return

    # --- what people do ---

    @abstractmethod
    async def writes(self, who: Who, text: str, talk: Talk = Talk.DIRECT, *, mention: bool = True) -> str:
        """Somebody writes; it need not have been taken when this returns. Returns the message's ref."""

    async def edits(self, ref: str, text: str) -> None:
        raise NotImplementedError

    async def deletes(self, ref: str) -> None:
        raise NotImplementedError

    async def bot_writes(self, text: str) -> None:
        """A machine writes where the executive hears it."""
        raise NotImplementedError

    async def own_words(self, text: str) -> None:
        """What the executive said comes back to it. Does nothing where the platform does that by itself."""
        return

    @abstractmethod
    async def repeats(self, ref: str) -> None:
        """The platform delivers a message that was taken once more."""

    async def insist(self) -> None:
        """Hand over again whatever was not taken, as this platform does sooner or later."""
        return

    @abstractmethod
    async def taken(self, ref: str, inbox: GatedInbox) -> bool:
        """Whether the platform will not deliver the message again: it was acknowledged."""

    async def joins(self, who: Who, talk: Talk = Talk.GROUP) -> None:
        """Somebody appears in a conversation."""
        raise NotImplementedError

    # --- what goes wrong ---

    async def down(self) -> None:
        raise NotImplementedError

    async def up(self) -> None:
        raise NotImplementedError

    def pause(self, seconds: int) -> None:
        """Ask the next send for quiet."""
        raise NotImplementedError

    def cut(self, *, after: bool) -> None:
        """Break the next send's connection before or after its effect."""
        raise NotImplementedError

    def refuse(self) -> None:
        """Refuse the next send for good."""
        raise NotImplementedError

    # --- what arrived ---

    @abstractmethod
    def shown(self, talk: Talk = Talk.DIRECT, who: Who = Who.ANN) -> list[str]:
        """Our messages in a conversation as people see them now, oldest first."""

    def drafts(self) -> list[str]:
        """What people have seen of answers that are being written, where drafts have a form of their own."""
        return []

    def signs(self) -> int:
        """How many calls there were that show an answer being written."""
        return 0

    def units(self, text: str) -> int:
        return len(text)

    async def presses(self, who: Who, ref: str, token: str) -> None:
        raise NotImplementedError

    def buttons(self, ref: str) -> list[str]:
        """What stands on the buttons beneath a message now."""
        raise NotImplementedError

    def form(self, who: Who, talk: Talk = Talk.DIRECT) -> dict[str, str] | None:
        """The form that was opened last, if one was: what each field holds, by its label."""
        raise NotImplementedError

    async def sends_form(self, who: Who, values: Mapping[str, str], talk: Talk = Talk.DIRECT) -> None:
        """Somebody fills in the form that was opened last, by the fields' names."""
        raise NotImplementedError

    def responses(self) -> list[str]:
        """What pressers were told at once."""
        return []

    # --- what is expected ---

    @abstractmethod
    def thread_of(self, ref: str, talk: Talk) -> str | None:
        """The thread key of a message; None where intake decides."""

    @abstractmethod
    def place_of(self, talk: Talk) -> tuple[str | None, PlaceKind]:
        """Key and kind of the room."""

    def plain(self, text: str) -> str:
        """Text as the gateway should see it: without the mention that this platform needed."""
        return text


class JumpClock(SystemClock):
    """The machine's clock, which a test can put forward. Sleepers are not woken by that."""

    def __init__(self) -> None:
        self._ahead = timedelta()

    def jump(self, duration: timedelta) -> None:
        self._ahead += duration

    def now(self) -> datetime:
        return super().now() + self._ahead

    def monotonic(self) -> float:
        return super().monotonic() + self._ahead.total_seconds()


class MemoryFiles:
    def __init__(self) -> None:
        self.blobs: dict[BlobHash, bytes] = {}

    async def put(self, chunks: AsyncIterator[bytes] | bytes, limit: int) -> BlobHash:
        data = chunks if isinstance(chunks, bytes) else b"".join([chunk async for chunk in chunks])
        if len(data) > limit:
            raise PermanentError("too large")
        blob = BlobHash(hashlib.sha256(data).hexdigest())
        self.blobs[blob] = data
        return blob

    async def read(self, blob: BlobHash) -> bytes:
        return self.blobs[blob]


class Bench:
    """The real adapter, built as the daemon builds it, between a far end and an inbox that can be held."""

    def __init__(self, far: FarEnd, data_dir: Path) -> None:
        self.far = far
        self.can = far.can
        self.data_dir = data_dir
        self.clock = JumpClock()
        self.files = MemoryFiles()
        self.inbox = GatedInbox({far.address(who) for who in (Who.ANN, Who.BEN, Who.GIL)})
        self.rung = asyncio.Event()
        self._life: AsyncExitStack | None = None
        self._receivers = Supervisor()
        self.channel = self._built()

    def _built(self) -> Channel:
        context = ChannelContext(
            self.clock,
            self._receivers,
            self.files,
            self.data_dir,
            self.rung.set,
            "0.0.0",
            Who.ANN.value,
            bytes(32),
            local_trust=False,
        )
        section = getattr(Channels.model_validate({self.far.channel: dict(self.far.settings())}), self.far.channel)
        channel: Channel = import_module(f"channels.{self.far.channel}").build(section, context)
        return channel

    async def start(self) -> None:
        """Receive; return once the channel does."""
        self.rung.clear()
        self._life = AsyncExitStack()
        handlers = self.channel.local()
        if handlers:
            await self._life.enter_async_context(serving(self.data_dir / "control.sock", handlers))
        self._receivers.service(self.far.channel, self.channel.run(self.inbox))
        await until(lambda: self.channel.health().receiving)
        await self.far.meet(self.channel, self.data_dir)
        await self.settled()

    async def settled(self) -> None:
        """Nothing to wait for on most platforms."""
        await asyncio.wait_for(self.rung.wait(), WITHIN)

    async def stop(self) -> None:
        await self.far.part()
        await self._receivers.stop()
        if self._life is not None:
            await self._life.aclose()
            self._life = None
        await self.channel.close()

    async def restart(self) -> None:
        """As a new process would begin: a new adapter, the same store."""
        await self.stop()
        self._receivers = Supervisor()
        self.channel = self._built()
        await self.start()

    def assert_alive(self) -> None:
        assert self._receivers.failure is None, self._receivers.failure

    # --- talking ---

    async def heard(self, who: Who = Who.ANN, text: str = "hello", talk: Talk = Talk.DIRECT) -> MessageReceived:
        """Somebody writes, and the adapter has handed it over."""
        ref = await self.far.writes(who, text, talk)
        return await self.message(ref)

    async def message(self, ref: str) -> MessageReceived:
        def found() -> MessageReceived | None:
            return next((m for m in self.inbox.messages() if m.ref == ref), None)

        await until(lambda: found() is not None)
        message = found()
        assert message is not None
        return message

    async def path(self, talk: Talk = Talk.DIRECT, text: str = "hello") -> ReplyPath:
        """Where an answer to a person goes; a thread that intake makes gets a key of its own."""
        event = await self.heard(text=text, talk=talk)
        path = event.reply_path
        return path if path.thread else ReplyPath(
            f"{self.far.channel}:{new_id(self.clock.now())}", path.address, path.ref, path.subject, path.chain
        )  # fmt: skip

    def key(self) -> OutboxId:
        return OutboxId(new_id(self.clock.now()))

    async def say(self, path: ReplyPath, markdown: str) -> list[Receipt]:
        """All that a reply takes, one after the other."""
        return [await self.channel.send(op, self.key(), again=False) for op in self.channel.plan(Reply(path, markdown))]

    async def until_shown(self, text: str, talk: Talk = Talk.DIRECT) -> None:
        await until(lambda: any(text in one for one in self.far.shown(talk)))


def marked(text: str) -> bool:
    """Whether a message says that it may be a repetition."""
    return "may have reached you already" in text


async def until(holds: Callable[[], bool], timeout: float = WITHIN) -> None:
    """Return once `holds()`, which is looked at again and again: far ends have no bell of one kind."""
    async with asyncio.timeout(timeout):
        while not holds():  # noqa: ASYNC110 - see above
            await asyncio.sleep(LOOK_AGAIN)


async def until_true(holds: Callable[[], Awaitable[bool]], timeout: float = WITHIN) -> None:
    async with asyncio.timeout(timeout):
        while not await holds():  # noqa: ASYNC110 - as in `until`
            await asyncio.sleep(LOOK_AGAIN)
