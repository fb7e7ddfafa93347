"""The whole path of a message on a store of its own: intake, lanes, a model under the test's hand, outbox, a scripted
channel, and a clock moved by hand. A `restart` is the next process on the same store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast

import sqlalchemy as sa

from bot.app.erasing import tombstone_key
from bot.app.guard import may_still_be_sent
from bot.app.ledger import Room
from bot.audit import timeline
from bot.audit.recorder import Recorder
from bot.audit.timeline import Entry
from bot.extraction.tasks import Extractions
from bot.extraction.work import Extractor
from bot.files.service import Files
from bot.gateway.channel import Accepted, Channel
from bot.gateway.events import Attachment, InboundEvent, ReplyPath
from bot.gateway.forms import Form
from bot.gateway.operations import OutboundOp, Reply, Send
from bot.intake.model import Rules
from bot.intake.service import Intake
from bot.intake.tables import inbox
from bot.kernel.ids import BlobHash, BootId, TurnId
from bot.kernel.retry import Backoff
from bot.kernel.supervise import Supervisor, cancel
from bot.knowledge.service import Library
from bot.llm.budget import Limits, Price, Purpose
from bot.llm.metered import Meter, Metered
from bot.llm.model import (
    Block,
    Event,
    Finished,
    ModelHealth,
    Request,
    StopReason,
    Text,
    TextDelta,
    ToolUse,
    Usage,
)
from bot.memory.recall import Recall
from bot.memory.service import Eraser
from bot.orchestrator import prompt
from bot.orchestrator.compactions import Compactions, Compactor
from bot.orchestrator.ends import Ends
from bot.orchestrator.immediate import Immediate
from bot.orchestrator.introductions import Introductions
from bot.orchestrator.keeping import Keeping
from bot.orchestrator.lanes import Lanes
from bot.orchestrator.placeholder import Placeholders
from bot.orchestrator.service import Orchestrator
from bot.orchestrator.steps import Steps
from bot.orchestrator.tools import Registry
from bot.orchestrator.values import Parts
from bot.outbox.service import Outbox
from bot.storage.database import Database, Tx
from tests.clock import FakeClock
from tests.conftest import KEY
from tests.intake.desk import text_of
from tests.outbox.channel import ScriptedChannel
from tests.sessions.rooms import CHANNEL, Rooms

PATIENCE = 20.0
RULES = Rules(stale_after=timedelta(hours=2), album_wait=timedelta(seconds=1.5), max_text=9_000, pairing_requests=False)
PERSONA = "You are the executive.\n"
PRICES = {"m": Price(5.0, 25.0, 0.5, 10.0, 200_000), "light": Price(1.0, 5.0, 0.1, 2.0, 200_000)}
Said = str | Exception | Sequence[Block]


class Thinker:
    """A model that answers as `answer` says. While `gate` is closed it has shown its first words and thinks on."""

    provider = "scripted"

    def __init__(self) -> None:
        self.answer: Callable[[Request], Said] = lambda request: f"Answer {len(self.asked)}."
        self.asked: list[Request] = []
        self.usage = Usage(10, 2)
        self.gate = asyncio.Event()
        self.gate.set()
        self.thinking = 0
        self._changed = asyncio.Event()

    async def until(self, *, asked: int = 0, thinking: int | None = None) -> None:
        async with asyncio.timeout(PATIENCE):
            while len(self.asked) < asked or (thinking is not None and self.thinking != thinking):
                self._changed.clear()
                await self._changed.wait()

    async def stream(self, request: Request) -> AsyncGenerator[Event, None]:
        self.asked.append(request)
        self.thinking += 1
        self._changed.set()
        try:
            said = self.answer(request)
            if isinstance(said, Exception):
                raise said
            content = (Text(said),) if isinstance(said, str) else tuple(said)
            for block in content:
                if isinstance(block, Text):
                    yield TextDelta(block.text)
            await self.gate.wait()
        finally:
            self.thinking -= 1
            self._changed.set()
        calls = any(isinstance(block, ToolUse) for block in content)
        stop = StopReason.TOOL_USE if calls else StopReason.END_TURN
        yield Finished(content, stop, self.usage, "m")

    def health(self) -> ModelHealth:
        return ModelHealth(True)

    async def close(self) -> None: ...


class OfficeChannel(ScriptedChannel):
    """With a placeholder, if the test gives it one; drafts are kept."""

    stands_in: str | None = None
    buttons = False
    forms = 0
    in_one = False
    """A reply is one message, whatever its lines."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock, CHANNEL)
        self.drafts: list[str | None] = []
        self.responded: list[str | Form] = []
        self.answered = asyncio.Event()

    @property
    def has_buttons(self) -> bool:
        return self.buttons

    @property
    def form_fields(self) -> int:
        return self.forms

    def plan(self, reply: Reply) -> Sequence[OutboundOp]:
        return [Send(reply.path, reply.markdown, reply.markdown)] if self.in_one else super().plan(reply)

    @property
    def placeholder(self) -> str | None:
        return self.stands_in

    async def draft(self, path: ReplyPath, turn: TurnId, text: str | None, ref: str | None = None) -> None:
        self.drafts.append(text)

    async def direct(self, address: str) -> ReplyPath:
        return ReplyPath(f"test:dm:{address}", address)

    async def fetch(self, attachment: Attachment) -> BlobHash:
        raise AssertionError("no file is fetched here")

    async def respond(self, response: str, answer: str | Form) -> None:
        self.responded.append(answer)
        self.answered.set()


@dataclass
class Office:
    database: Database
    recorder: Recorder
    clock: FakeClock
    rooms: Rooms
    registry: Registry = field(default_factory=lambda: Registry([]))
    at_once: int = 4
    per_person: int = 2
    model: Thinker = field(default_factory=Thinker)
    history_tokens: int = 10_000
    files: Files | None = None
    library: Library | None = None
    """Where documents are handed over to; None: nowhere."""
    recall: Recall | None = None
    eraser: Eraser | None = None
    decides: Callable[[Outbox, Mapping[str, Channel]], Room] | None = None
    """Makes the ledger; None: nothing is put to anybody."""
    dress: Callable[[OutboundOp], OutboundOp] = lambda op: op
    """What is added to an operation as it leaves."""
    more: dict[str, Channel] = field(default_factory=dict)
    """Other channels by name."""
    reads: bool = False
    """What is said is read for what is worth remembering, whenever the test says `read`."""
    """None: nothing is remembered."""
    limits: Limits = field(default_factory=lambda: Limits({}, 0.8))

    def __post_init__(self) -> None:
        self.channel = OfficeChannel(self.clock)
        self._committed = asyncio.Event()
        self._boots = 0
        self._services: list[asyncio.Task[None]] = []
        self.database.add_hook(self)
        self.supervisor = Supervisor()

    async def open(self) -> Office:
        """A process starts: the first, or one after `kill` or `close`."""
        self._boots += 1
        boot = self.lanes_boot = BootId(f"boot-{self._boots}")
        self.supervisor = Supervisor()
        channels: dict[str, Channel] = {CHANNEL: self.channel, **self.more}
        self.outbox = Outbox(
            self.database, self.recorder, self.clock, self.supervisor, channels, boot, may_still_be_sent, Backoff(),
            self.dress,
        )  # fmt: skip
        frame = prompt.Frame("m", "light", PERSONA, 1_000, self.history_tokens, timedelta(minutes=1))
        self.meter = Meter(self.clock, "UTC", PRICES, self.limits, {}, free=False)
        await self.meter.open(self.database)
        model = Metered(self.model, self.meter, Purpose.ANSWER)
        self.compact = Compactions(lambda: None)
        self.compactor = Compactor(
            self.database, self.recorder, self.clock, model.to(Purpose.COMPACTION), self.meter, "light", self.compact
        )  # fmt: skip
        self.extract = Extractions(self.recorder, lambda _: None)
        self.extractor = Extractor(
            self.database, self.recorder, self.clock, model.to(Purpose.EXTRACTION), self.meter, "light",
            tombstone_key(KEY), "UTC", frozenset({"finance"}),
        )  # fmt: skip
        self.room = None if self.decides is None else self.decides(self.outbox, channels)
        verdicts = None if self.room is None else self.room.verdicts
        if self.room is not None:
            self.registry = Registry(self.room.tools)
        parts = Parts(
            self.database, self.recorder, self.clock, self.outbox, cast("Files", self.files), model, frame,
            self.registry, channels, boot, "UTC", "Acme", self.meter, model.to(Purpose.GATE),
            self.compact, self.recall, self.eraser, self.extract if self.reads else None,
            verdicts,
        )  # fmt: skip
        placeholders = Placeholders(parts)
        keeping = None if self.library is None else Keeping(self.database, self.library)
        self.lanes = Lanes(
            Steps(parts, placeholders, keeping, verdicts),
            Ends(parts, placeholders),
            self.clock,
            self.supervisor,
            Backoff(),
            at_once=self.at_once,
            per_person=self.per_person,
            max_attempts=3,
        )
        introductions = Introductions(self.database, self.recorder, self.clock, self.outbox, channels)
        immediate = Immediate(
            self.database, self.clock, self.outbox, self.supervisor, self.lanes, channels, introductions, _status,
            verdicts,
        )  # fmt: skip
        self.orchestrator = Orchestrator(self.database, self.lanes, immediate, boot)
        self.intake = Intake(
            self.database, self.recorder, self.clock, self.outbox, boot, RULES, self.orchestrator,
            self.extract if self.reads else None, None if self.room is None else self.room.bounces,
        )  # fmt: skip

        def recover(tx: Tx) -> None:
            self.orchestrator.recover(tx)
            self.outbox.recover(tx)
            if self.room is not None:
                self.room.recover(tx)

        await self.database.write(recover)
        self.supervisor.service("outbox", self.outbox.run())
        if self.room is not None:
            self.room.start(self.supervisor)
        await self.orchestrator.start()
        return self

    async def kill(self) -> None:
        """Everything ends where it stands. (Turns are given back as a cancelled lane does it.)"""
        await self.supervisor.stop()

    async def close(self) -> None:
        self.model.gate.set()
        await self.supervisor.stop()

    # --- what comes in and what comes of it -------------------------------------------------------------------------

    async def hear(self, *events: InboundEvent) -> Sequence[Accepted]:
        return await self.intake.port(CHANNEL).accept(events, None)

    async def until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        """Look again after every commit."""
        async with asyncio.timeout(PATIENCE):
            while True:
                self._committed.clear()
                if await holds():
                    return
                await self._committed.wait()

    async def ended(self, *states: str) -> None:
        """Wait until the inbox's rows, in order, are in these states."""

        async def holds() -> bool:
            return [state for _, state in await self.rows()] == list(states)

        await self.until(holds)

    async def said(self, count: int) -> list[str]:
        """The texts of the first `count` sends (and edits), once there are so many."""
        async with asyncio.timeout(PATIENCE):
            await self.channel.until(tried=count)
        assert await self.outbox.drain(timedelta(seconds=PATIENCE))
        return self.channel.texts

    async def ops(self, count: int) -> list[OutboundOp]:
        await self.said(count)
        return self.channel.ops

    async def rows(self) -> list[tuple[str, str]]:
        """Text and state of everything that came in."""
        from bot.gateway.codec import load_event

        def query(connection: sa.Connection) -> list[tuple[str, str]]:
            found = connection.execute(sa.select(inbox.c.event, inbox.c.state).order_by(inbox.c.seq))
            return [(text_of(load_event(row.event)), row.state) for row in found]

        return await self.database.read(query)

    async def audited(self, *types: str) -> list[Entry]:
        entries = await self.database.read(lambda c: timeline.newest(c, 1_000))
        return [entry for entry in entries if not types or entry.type in types]

    def prompted(self, number: int = -1) -> str:
        """All text of a request that the model got."""
        return whole(self.model.asked[number])

    # --- for `CommitHook` --------------------------------------------------------------------------------------------

    def flush(self, tx: Tx, items: Sequence[Any]) -> None: ...

    def committed(self) -> None:
        self._committed.set()

    def rolled_back(self) -> None: ...


def whole(request: Request) -> str:
    parts = [block.text for block in request.system]
    for message in request.messages:
        for block in message.content:
            text = getattr(block, "text", None)
            parts.append(text if isinstance(text, str) else repr(block))
    return "\n".join(parts)


async def _status() -> str:
    return "fine"


__all__ = ["Office", "OfficeChannel", "Thinker", "cancel", "whole"]
