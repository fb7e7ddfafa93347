"""The whole core, in this process, between a far end and the stand-in of the model: what the model is shown is read
from the bytes that reached its server."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from bot.app.daemon import Daemon
from bot.app.opening import adopt_roster, open_store
from bot.kernel.clock import SystemClock
from bot.kernel.logs import Redactor
from bot.kernel.supervise import start
from config.schema import Settings
from tests.contracts.bench import FarEnd, Talk, Who, until
from tests.fakes.anthropic import FakeAnthropic
from tests.fakes.anthropic_reply import Reply, say
from tests.fakes.anthropic_script import ModelRequest

LIGHT = "claude-haiku-5-5"
ROLES = {Who.ANN: "principal", Who.BEN: "member", Who.GIL: "guest"}


class Brain:
    """The model: answers are numbered, so that each can be waited for; the light model says what it is told to."""

    def __init__(self) -> None:
        self.server = FakeAnthropic(self._script)
        self.says_yes = False
        self._answers = 0

    def _script(self, request: ModelRequest) -> Reply:
        if request.model == LIGHT:
            return say("yes" if self.says_yes else "no")
        self._answers += 1
        return say(f"Answer {self._answers}.")

    def asked(self, model: str | None = None) -> list[bytes]:
        """Requests as they came over the wire: of the answering model, or of the one named."""
        return [
            one.raw
            for one in self.server.requests.of("messages")
            if (one.body["model"] == model if model is not None else one.body["model"] != LIGHT)
        ]

    @property
    def everything(self) -> bytes:
        return b"".join(one.raw for one in self.server.requests.of("messages"))


class Core:
    def __init__(self, far: FarEnd, data: Path, brain: Brain, daemon: Daemon) -> None:
        self.far = far
        self.data = data
        self.brain = brain
        self.daemon = daemon

    async def turn(self, who: Who, text: str, talk: Talk = Talk.DIRECT, *, mention: bool = True) -> bytes:
        """Somebody says something and is answered. Returns the request by which the model was asked."""
        number = len(self.brain.asked()) + 1
        await self.far.writes(who, text, talk, mention=mention)
        await self.shows(f"Answer {number}.", talk, who)
        return self.brain.asked()[number - 1]

    async def command(self, who: Who, text: str, shows: str, talk: Talk = Talk.DIRECT) -> str:
        """A command, and what is answered."""
        await self.far.writes(who, text, talk)
        return await self.shows(shows, talk, who)

    async def shows(self, text: str, talk: Talk = Talk.DIRECT, who: Who = Who.ANN) -> str:
        """The message of ours that holds `text`, once it is there."""
        await until(lambda: any(text in one for one in self.shown(talk, who)))
        return next(one for one in self.shown(talk, who) if text in one)

    def shown(self, talk: Talk = Talk.DIRECT, who: Who = Who.ANN) -> list[str]:
        """Our messages as text: where a platform keeps the marks of emphasis in it, without them."""
        return [one.replace("*", "").replace("`", "") for one in self.far.shown(talk, who)]

    def rows(self, query: str, *parameters: object) -> list[dict[str, Any]]:
        with closing(sqlite3.connect(f"file:{self.data / 'openexecutive.db'}?mode=ro", uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(query, parameters)]

    def keeps(self, word: str) -> bool:
        """Whether a word stands anywhere in the store."""
        with closing(sqlite3.connect(f"file:{self.data / 'openexecutive.db'}?mode=ro", uri=True)) as connection:
            return any(word in line for line in connection.iterdump())

    async def settled(self) -> None:
        """No row waits and no turn runs."""
        await until(lambda: not self.rows("SELECT 1 FROM inbox WHERE state IN ('queued', 'claimed')"))
        await until(lambda: not self.rows("SELECT 1 FROM outbox WHERE state NOT IN ('sent', 'parked')"))


def settings_of(far: FarEnd, data: Path, brain: Brain) -> Settings:
    people = {}
    for who, role in ROLES.items():
        people[who.value] = {"name": who.value.title(), "role": role}
        if far.channel not in ("terminal", "web"):  # there everyone is called by their id
            people[who.value][far.channel] = [far.handle(who)]  # type: ignore[assignment]
    channels: dict[str, Any] = {"email": {"enabled": False}, "terminal": {"enabled": False}}
    channels[far.channel] = {**far.settings(), "enabled": True}
    return Settings.model_validate(
        {
            "data_dir": str(data),
            "web": {"enabled": far.channel == "web", "port": 0},
            "people": people,
            "llm": {"provider": "anthropic", "api_key": "key", "base_url": brain.server.url},
            "channels": channels,
        }
    )


@asynccontextmanager
async def living(far: FarEnd, data: Path) -> AsyncIterator[Core]:
    """The daemon, from its start to the clean stop that a signal brings."""
    brain = Brain()
    async with brain.server:
        settings = settings_of(far, data, brain)
        async with open_store(settings, Redactor([]), SystemClock()) as store:
            await adopt_roster(store, settings, accept=True)
            daemon = await Daemon.build(store, settings)
            life = start("daemon", daemon.live())
            try:
                channel = daemon.rooms.channels[far.channel]
                await until(lambda: life.done() or channel.health().receiving)
                await far.meet(channel, data)
                yield Core(far, data, brain, daemon)
            finally:
                await far.part()
                if not life.done():
                    os.kill(os.getpid(), signal.SIGTERM)
                code = await asyncio.wait_for(life, 60)
            assert code == 0
