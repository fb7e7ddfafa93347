"""A channel in memory that does what a test tells it, and remembers what it was asked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.gateway.channel import Channel, Health, HttpRoute, Inbox, LocalHandler
from bot.gateway.events import Attachment, ReplyPath
from bot.gateway.forms import Form
from bot.gateway.operations import CannotTell, Edit, Found, OutboundOp, Receipt, Reply, Send
from bot.kernel.ids import BlobHash, OutboxId, TurnId
from tests.clock import FakeClock


class Gate:
    """A send that stays under way until the test lets it end."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.open = asyncio.Event()


@dataclass(frozen=True, slots=True)
class Sent:
    thread: str
    text: str
    key: OutboxId
    again: bool
    at: datetime


Step = Exception | Gate | None
"""What a send does: raise, wait, or succeed (None)."""


class ScriptedChannel:
    """`sends` and `finds` give the answers in order, per text; without one, a send succeeds and a find cannot tell."""

    def __init__(self, clock: FakeClock, name: str = "test") -> None:
        self._clock = clock
        self._name = name
        self.sends: dict[str, list[Step]] = {}
        self.finds: dict[str, list[Found | Exception]] = {}
        self.tried: list[Sent] = []
        self.ops: list[OutboundOp] = []
        self.asked: list[str] = []
        self.connected = True
        self.receives = True
        self._called = asyncio.Event()

    @property
    def name(self) -> str:
        return self._name

    @property
    def texts(self) -> list[str]:
        """Texts of all tries, in order; a try that says that it may be the second one ends in `*`."""
        return [sent.text + "*" * sent.again for sent in self.tried]

    async def until(self, *, tried: int = 0, asked: int = 0) -> None:
        """Wait until so many sends were tried and finds asked."""
        while len(self.tried) < tried or len(self.asked) < asked:
            self._called.clear()
            await self._called.wait()

    def plan(self, reply: Reply) -> Sequence[OutboundOp]:
        """One part per line."""
        return [Send(reply.path, line, line) for line in reply.markdown.splitlines()]

    async def send(self, op: OutboundOp, key: OutboxId, again: bool) -> Receipt:
        text = op.text if isinstance(op, Send | Edit) else op.kind
        self.tried.append(Sent(op.path.thread, text, key, again, self._clock.now()))
        self.ops.append(op)
        self._called.set()
        script = self.sends.get(text)
        step = script.pop(0) if script else None
        if isinstance(step, Gate):
            step.entered.set()
            await step.open.wait()
        elif step is not None:
            raise step
        return Receipt(f"{self._name}:{len(self.tried)}", self._clock.now())

    async def find(self, op: OutboundOp, key: OutboxId, tried_at: datetime) -> Found:
        assert isinstance(op, Send)
        self.asked.append(op.text)
        self._called.set()
        script = self.finds.get(op.text)
        answer = script.pop(0) if script else CannotTell()
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def run(self, inbox: Inbox) -> None:
        raise NotImplementedError

    @property
    def placeholder(self) -> str | None:
        return None

    @property
    def has_buttons(self) -> bool:
        return False

    @property
    def form_fields(self) -> int:
        return 0

    async def direct(self, address: str) -> ReplyPath:
        raise NotImplementedError

    async def draft(self, path: ReplyPath, turn: TurnId, text: str | None, ref: str | None = None) -> None:
        raise NotImplementedError

    async def fetch(self, attachment: Attachment) -> BlobHash:
        raise NotImplementedError

    async def respond(self, response: str, answer: str | Form) -> None:
        raise NotImplementedError

    async def erase(self, path: ReplyPath, ref: str) -> bool:
        raise NotImplementedError

    def health(self) -> Health:
        return Health(receiving=self.receives, sending=self.connected)

    def routes(self) -> Sequence[HttpRoute]:
        return ()

    def local(self) -> Mapping[str, LocalHandler]:
        return {}

    async def close(self) -> None:
        pass


def _is_a_channel(channel: ScriptedChannel) -> Channel:
    return channel
