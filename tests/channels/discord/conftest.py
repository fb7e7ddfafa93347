from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import pytest

from bot.gateway.channel import Channel
from bot.gateway.events import CommandInvoked, InboundEvent, MembershipChanged, MessageReceived, ReplyPath
from bot.gateway.operations import OutboundOp, Receipt, Reply, Send
from bot.kernel.ids import OutboxId, new_id
from bot.kernel.supervise import Supervisor, cancel, start
from channels.discord import build
from channels.discord.link import LOOK
from config.schema import Discord
from tests.channels.inbox import MemoryInbox
from tests.channels.support import START, Bench
from tests.fakes.discord import FakeDiscord
from tests.fakes.discord_world import FORUM as FORUM_TYPE

BOT, ANN, BEN, EVE = 9001, 11, 12, 13
GUILD, GENERAL, FORUM, SECRET, LOBBY = 100, 200, 210, 220, 290
ME = f"<@{BOT}>"


T = TypeVar("T")


class Rig:
    """The channel against the stand-in: `start` lets it receive."""

    def __init__(self, server: FakeDiscord, bench: Bench) -> None:
        self.server = server
        self.world = server.world
        self.bench = bench
        self.clock = bench.clock
        self.inbox = MemoryInbox()
        self.channel: Channel = self.built()
        self._running = Supervisor()
        self._marks = 0

    def built(self, **settings: object) -> Channel:
        given = {"enabled": True, "token": self.server.token, "base_url": self.server.base_url, **settings}
        return build(Discord.model_validate(given), self.bench.context)

    async def replace(self, **settings: object) -> None:
        """The channel with other settings, or as after a restart."""
        await self.stop()
        self.bench.rung = 0
        self.bench._ready.clear()
        self.channel = self.built(**settings)
        self._running = Supervisor()

    def run(self) -> None:
        self._running.service("discord", self.channel.run(self.inbox))

    async def start(self) -> None:
        """Receive; return once the gateway has told all guilds, and who is in them where it may."""
        listed = self.server.frames.count("request_members")
        await self.begin()
        if self.world.members_intent:
            await self.server.frames.wait(listed + 1, "request_members")
            await self.settled()  # the list was read
            await self.settled()  # and is behind us

    async def begin(self) -> None:
        """Receive; return once the gateway has told all guilds."""
        before = self.server.frames.count("identify")
        self.run()
        await self.bench.ready()
        await self.server.frames.wait(before + 1, "identify")
        await self.settled()

    async def settled(self) -> None:
        """Return once everything that was dispatched so far was taken in. A channel that is read back may wait."""
        self._marks += 1
        self.world.message(LOBBY, EVE, sticker=f"mark {self._marks}")  # shown whatever the intents are
        mark = f"[sticker mark {self._marks}]"
        await self.inbox.until(lambda: any(mark in texts(list(batch)) for batch in self.inbox.batches))

    @asynccontextmanager
    async def hurrying(self) -> AsyncIterator[None]:
        """Whoever waits for a while has waited long enough; the watch over the link keeps its own pace."""

        async def hurry() -> None:
            while True:
                duration = await self.clock.sleeper(timeout=3600)
                if duration != LOOK:
                    self.clock.advance(duration)

        task = start("hurry", hurry())
        yield
        await cancel(task)

    async def stop(self) -> None:
        await self._running.stop()
        await self.channel.close()

    async def send(self, op: OutboundOp, *, key: OutboxId | None = None, again: bool = False) -> Receipt:
        return await self.channel.send(op, key or self.key(), again)

    def key(self) -> OutboxId:
        return OutboxId(new_id(self.clock.now()))

    async def say(self, path: ReplyPath, markdown: str) -> list[Receipt]:
        """All that a reply takes, as the outbox would do it."""
        return [await self.send(op) for op in self.channel.plan(Reply(path, markdown))]

    async def messages(self, count: int = 1) -> list[MessageReceived]:
        await self.inbox.until(lambda: len(self.of(MessageReceived)) >= count)
        return self.of(MessageReceived)

    async def commands(self, count: int = 1) -> list[CommandInvoked]:
        await self.inbox.until(lambda: len(self.of(CommandInvoked)) >= count)
        return self.of(CommandInvoked)

    async def memberships(self, count: int = 1) -> list[MembershipChanged]:
        await self.inbox.until(lambda: len(self.of(MembershipChanged)) >= count)
        return self.of(MembershipChanged)

    def of(self, kind: type[T]) -> list[T]:
        return [event for event in self.inbox.events if isinstance(event, kind)]


def texts(events: list[InboundEvent]) -> list[str]:
    return [event.body.text for event in events if isinstance(event, MessageReceived)]


def direct(user: int = ANN, ref: str | None = None) -> ReplyPath:
    return ReplyPath(f"discord:dm:{user}", str(user), ref)


def channel(number: int | str = GENERAL, ref: str | None = None) -> ReplyPath:
    return ReplyPath(f"discord:{GUILD}:{number}", str(ANN), ref)


def words(path: ReplyPath, text: str = "hello") -> Send:
    return Send(path, text, text)


@pytest.fixture
async def server() -> AsyncIterator[FakeDiscord]:
    async with FakeDiscord(bot=BOT) as running:
        world = running.world
        # The far end's clock is the test's, some days on: it is never behind the daemon's.
        world.now = lambda: (START + timedelta(seconds=1)).timestamp()
        world.add_user(ANN, "Ann")
        world.add_user(BEN, "Ben")
        world.add_user(EVE, "Eve")
        world.add_guild(GUILD, "Acme", [ANN, BEN])
        world.add_channel(GENERAL, GUILD, "general")
        world.add_channel(FORUM, GUILD, "ideas", type=FORUM_TYPE)
        world.add_channel(LOBBY, GUILD, "lobby")
        world.add_channel(SECRET, GUILD, "board", private_to=[ANN])
        yield running


@pytest.fixture
async def rig(server: FakeDiscord, tmp_path: Path) -> AsyncIterator[Rig]:
    bench = Bench(tmp_path)
    found = Rig(server, bench)
    yield found
    await found.stop()
    await bench.supervisor.stop()
