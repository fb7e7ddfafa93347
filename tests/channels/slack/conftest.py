from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from bot.gateway.channel import Accepted, Channel, Cursor
from bot.gateway.events import InboundEvent
from bot.kernel.supervise import Supervisor
from channels.slack import build
from channels.slack.catchup import IDLE
from config.schema import Slack
from tests.channels.inbox import MemoryInbox
from tests.channels.support import Bench
from tests.fakes.slack import APP_TOKEN, BOT_TOKEN, FakeSlack
from tests.fakes.slack_world import OTHER_TEAM

ANN, BEN, EVE = "U0ANN00001", "U0BEN00001", "U0EVE00001"
OTHER_BOT = "U0OTHERBOT"
ROOM, CLOSED, ELSEWHERE = "C0ROOM0001", "C0CLOSED01", "C0ELSEWHER"


class Inbox(MemoryInbox):
    """Remembers only what was accepted, like the real one: what was ignored may still come in another form."""

    async def accept(self, events: Sequence[InboundEvent], cursor: Cursor | None = None) -> Sequence[Accepted]:
        before = set(self._seen)
        answers = await super().accept(events, cursor)
        for event, answer in zip(events, answers, strict=True):
            if answer is Accepted.IGNORED:
                self._seen -= set(event.keys) - before
        return answers


class Rig:
    """The channel against the stand-in: `start` lets it receive."""

    def __init__(self, server: FakeSlack, bench: Bench) -> None:
        self.server = server
        self.bench = bench
        self.clock = bench.clock
        self.inbox: MemoryInbox = Inbox()
        self.channel: Channel = self.built()
        self._running = Supervisor()

    def built(self, **settings: object) -> Channel:
        given = {
            "enabled": True,
            "bot_token": BOT_TOKEN,
            "app_token": APP_TOKEN,
            "base_url": self.server.base_url,
            **settings,
        }
        return build(Slack.model_validate(given), self.bench.context)

    async def replace(self, **settings: object) -> None:
        """The channel with other settings, or as after a restart."""
        await self.stop()
        self.bench.rung = 0
        self.bench._ready.clear()
        self.channel = self.built(**settings)
        self._running = Supervisor()

    def run(self) -> None:
        self._running.service("slack", self.channel.run(self.inbox))

    async def start(self) -> None:
        """Receive; return once the socket is up."""
        opened = self.server.sockets.opened
        self.run()
        await self.server.sockets.connected(1, opened=opened + 1)
        await self.bench.ready()

    async def sleeper(self) -> timedelta:
        """The next one that sleeps, but for who only waits to be rung for."""
        while (duration := await self.clock.sleeper()) == IDLE:
            pass
        return duration

    async def skip(self) -> timedelta:
        """Let the next sleeper have its time at once."""
        duration = await self.sleeper()
        self.clock.advance(duration)
        return duration

    async def skip_until(self, holds: Callable[[], bool]) -> None:
        """Give every sleeper its time at once until something holds."""
        while not holds():
            await self.skip()

    async def stop(self) -> None:
        await self._running.stop()
        await self.channel.close()


@pytest.fixture
async def server() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as running:
        world = running.world
        world.add_user(ANN, "Ann")
        world.add_user(BEN, "Ben")
        world.add_user(EVE, "Eve", team=OTHER_TEAM)
        world.add_user(OTHER_BOT, "Other", is_bot=True)
        world.add_conversation(ROOM, "channel", "general", [ANN, BEN])
        world.add_conversation(CLOSED, "group", "board", [ANN])
        world.add_conversation(ELSEWHERE, "channel", "elsewhere", [BEN], bot=False)
        yield running


@pytest.fixture
async def rig(server: FakeSlack, tmp_path: Path) -> AsyncIterator[Rig]:
    bench = Bench(tmp_path)
    server.world.now = lambda: bench.clock.now().timestamp()
    found = Rig(server, bench)
    yield found
    await found.stop()
    await bench.supervisor.stop()
