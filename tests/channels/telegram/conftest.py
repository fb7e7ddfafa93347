from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from telegram import Bot

from bot.gateway.channel import Channel
from bot.kernel.supervise import Supervisor
from channels.telegram import build
from config.schema import Telegram
from tests.channels.inbox import MemoryInbox
from tests.channels.support import Bench
from tests.fakes.telegram import FakeTelegram

ANN, BEN = 11, 12
GROUP, FORUM, BASIC = -1001, -1002, -50


class Rig:
    """The channel against the stand-in: `start` lets it receive."""

    def __init__(self, server: FakeTelegram, bench: Bench) -> None:
        self.server = server
        self.bench = bench
        self.clock = bench.clock
        self.inbox = MemoryInbox()
        self.channel: Channel = self.built()
        self._running = Supervisor()

    def built(self, **settings: object) -> Channel:
        given = {"enabled": True, "token": self.server.token, "base_url": self.server.url, **settings}
        return build(Telegram.model_validate(given), self.bench.context)

    async def replace(self, **settings: object) -> None:
        """The channel with other settings, or as after a restart."""
        await self.stop()
        self.bench.rung = 0
        self.channel = self.built(**settings)
        self._running = Supervisor()

    def server_bot(self) -> Bot:
        """Somebody else with the same token."""
        return Bot(self.server.token, base_url=self.server.base_url)

    def run(self) -> None:
        self._running.service("telegram", self.channel.run(self.inbox))

    async def start(self) -> None:
        """Receive; return once the channel is ready to send."""
        self.run()
        await self.bench.ready()

    async def stop(self) -> None:
        await self._running.stop()
        await self.channel.close()


@pytest.fixture
async def server() -> AsyncIterator[FakeTelegram]:
    async with FakeTelegram() as running:
        world = running.world
        world.add_user(ANN, "Ann", "ann")
        world.add_user(BEN, "Ben")
        world.add_chat(GROUP, "supergroup", "Team", members=(ANN, BEN))
        world.add_chat(FORUM, "supergroup", "Forum", is_forum=True, members=(ANN,))
        world.add_topic(FORUM, "Plans", 77)
        world.add_chat(BASIC, "group", "Small", members=(ANN,))
        world.chat(ANN)
        world.chat(BEN)
        yield running


@pytest.fixture
async def rig(server: FakeTelegram, tmp_path: Path) -> AsyncIterator[Rig]:
    bench = Bench(tmp_path)
    found = Rig(server, bench)
    yield found
    await found.stop()
    await bench.supervisor.stop()
