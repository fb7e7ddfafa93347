"""One channel does not receive: status and health say which one and why, and the others go on."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp
import pytest

from bot.app.daemon import Daemon
from bot.app.opening import adopt_roster, open_store
from bot.control.address import socket_path
from bot.control.client import call
from bot.kernel.clock import SystemClock
from bot.kernel.logs import Redactor
from bot.kernel.supervise import start
from channels.slack import link as slack_link
from config.schema import Settings
from tests.contracts.bench import FarEnd, Talk, Who, until, until_true
from tests.contracts.benches import FAR_ENDS
from tests.contracts.benches.discord import DiscordEnd
from tests.contracts.benches.slack import SlackEnd
from tests.contracts.benches.telegram import TelegramEnd
from tests.contracts.core import ROLES, Brain
from tests.fakes.faults import Answer

NAMES = ("telegram", "discord", "slack", "email")
MINUTE = 60.0


class Company:
    """The daemon with all channels on, and its doors."""

    def __init__(self, data: Path, port: int, ends: dict[str, FarEnd]) -> None:
        self._data = data
        self._port = port
        self.ends = ends

    @property
    def telegram(self) -> TelegramEnd:
        end = self.ends["telegram"]
        assert isinstance(end, TelegramEnd)
        return end

    @property
    def discord(self) -> DiscordEnd:
        end = self.ends["discord"]
        assert isinstance(end, DiscordEnd)
        return end

    @property
    def slack(self) -> SlackEnd:
        end = self.ends["slack"]
        assert isinstance(end, SlackEnd)
        return end

    async def status(self) -> dict[str, Any]:
        return await asyncio.to_thread(lambda: dict(call(socket_path(self._data), "status", timeout=10)))

    async def health(self) -> tuple[int, dict[str, Any]]:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{self._port}/health") as answer,
        ):
            return answer.status, json.loads(await answer.text())

    async def reason(self, name: str) -> str:
        """Why a channel does not receive, once status says that it does not; health says the same, of it alone."""

        async def told() -> bool:
            return not (await self.status())["channels"][name]["receiving"]

        await until_true(told, MINUTE)
        code, page = await self.health()
        assert code in (200, 503)
        assert page["status"] == "degraded"
        found = (await self.status())["channels"]
        assert [other for other in NAMES if other != name and not found[other]["receiving"]] == []
        return str(found[name]["reason"])

    async def all_receive(self) -> None:
        async def hold() -> bool:
            return all(one["receiving"] for one in (await self.status())["channels"].values())

        await until_true(hold, MINUTE)

    async def others_answer(self, name: str) -> None:
        for other in NAMES:
            if other != name:
                await self.answers(other)

    async def answers(self, name: str) -> None:
        end = self.ends[name]
        before = len(end.shown())
        await end.writes(Who.ANN, "Are you there?")
        await until(lambda: len(end.shown(Talk.DIRECT)) > before)


@pytest.fixture
async def company(unused_tcp_port: int, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Company]:
    monkeypatch.setattr(slack_link, "PING_EVERY", timedelta(milliseconds=200))
    monkeypatch.setattr(slack_link, "STALE", timedelta(seconds=1))
    with TemporaryDirectory(prefix="oe-") as folder:
        data, brain = Path(folder), Brain()
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(brain.server)
            ends = {name: await stack.enter_async_context(FAR_ENDS[name](data)) for name in NAMES}
            people = {
                who.value: {
                    "name": who.value.title(),
                    "role": role,
                    **{end.channel: [end.handle(who)] for end in ends.values()},
                }
                for who, role in ROLES.items()
            }
            settings = Settings.model_validate(
                {
                    "data_dir": str(data),
                    "web": {"port": unused_tcp_port},
                    "people": people,
                    "llm": {"provider": "anthropic", "api_key": "key", "base_url": brain.server.url},
                    "channels": {end.channel: {**end.settings(), "enabled": True} for end in ends.values()},
                }
            )
            store = await stack.enter_async_context(open_store(settings, Redactor([]), SystemClock()))
            await adopt_roster(store, settings, accept=True)
            daemon = await Daemon.build(store, settings)
            life = start("daemon", daemon.live())
            try:
                found = Company(data, unused_tcp_port, ends)
                await until(lambda: life.done() or all(c.health().receiving for c in daemon.rooms.channels.values()))
                for end in ends.values():
                    await end.meet(daemon.rooms.channels[end.channel], data)
                yield found
            finally:
                for end in ends.values():
                    await end.part()
                if not life.done():
                    os.kill(os.getpid(), signal.SIGTERM)
                code = await asyncio.wait_for(life, 60)
            assert code == 0


@pytest.mark.case(33)
async def test_case_33_somebody_else_polls_with_the_same_token(company: Company) -> None:
    company.telegram.fake.faults.plan("getUpdates", Answer(409), times=1000)
    assert "another program receives with the same token" in await company.reason("telegram")
    await company.others_answer("telegram")
    company.telegram.fake.faults.clear()
    await company.all_receive()
    await company.answers("telegram")


@pytest.mark.case(61)
async def test_case_61_a_revoked_token_is_named_and_the_other_channels_go_on(company: Company) -> None:
    company.slack.fake.revoke()
    assert "channels.slack.bot_token" in await company.reason("slack")
    await company.others_answer("slack")


async def test_a_token_that_discord_no_longer_takes_is_named(company: Company) -> None:
    company.discord.fake.token = "another"
    company.discord.fake.gateway.close(4004)
    assert "channels.discord.token" in await company.reason("discord")
    await company.others_answer("discord")


@pytest.mark.case(59)
async def test_case_59_a_deaf_socket_is_noticed_and_replaced(company: Company) -> None:
    slack = company.slack.fake
    slack.faults.plan("apps.connections.open", Answer(500), times=1000)
    slack.sockets.deafen()
    assert await company.reason("slack")
    await company.others_answer("slack")
    slack.faults.clear()
    await company.all_receive()
    await company.answers("slack")


@pytest.mark.case(60)
async def test_case_60_a_storm_of_restarts_leaves_one_link_each_and_everything_answered(company: Company) -> None:
    ends: list[FarEnd] = [company.telegram, company.discord, company.slack]
    for _ in range(5):
        for end in ends:
            await end.down()
        for end in ends:
            await end.up()
        await asyncio.sleep(0.2)  # the storm's own pace
    await company.all_receive()
    for name in NAMES:
        await company.answers(name)
    assert len(company.slack.fake.sockets.links) == 1
    assert len(company.discord.fake.gateway.connected) == 1
