"""Folders and far ends for tests of the whole program."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.e2e.desks import Desk, DiscordDesk, SlackDesk, TelegramDesk
from tests.e2e.numbers import script
from tests.fakes.anthropic import FakeAnthropic
from tests.fakes.discord import FakeDiscord
from tests.fakes.imap import FakeImap
from tests.fakes.slack import FakeSlack
from tests.fakes.smtp import SmtpSink
from tests.fakes.telegram import FakeTelegram


@pytest.fixture
def home() -> Iterator[Path]:
    """Where a daemon is started and keeps its things; short, so that its socket's path is."""
    with TemporaryDirectory(prefix="oe-") as folder:
        yield Path(folder)


@pytest.fixture
async def telegram() -> AsyncIterator[FakeTelegram]:
    async with FakeTelegram() as fake:
        yield fake


@pytest.fixture
async def discord() -> AsyncIterator[FakeDiscord]:
    async with FakeDiscord() as fake:
        yield fake


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack(retries=(0.5, 3.0, 10.0)) as fake:
        yield fake


@pytest.fixture
async def imap() -> AsyncIterator[FakeImap]:
    async with FakeImap() as fake:
        yield fake


@pytest.fixture
async def relay() -> AsyncIterator[SmtpSink]:
    async with SmtpSink() as sink:
        yield sink


@pytest.fixture
async def provider() -> AsyncIterator[SmtpSink]:
    """The relay of the mailbox's provider."""
    async with SmtpSink() as sink:
        yield sink


@pytest.fixture
async def model() -> AsyncIterator[FakeAnthropic]:
    """The model's server; it answers with the numbers of the messages it is asked about."""
    async with FakeAnthropic(script) as fake:
        yield fake


@pytest.fixture(params=["discord", "slack", "telegram"])
def desk(
    request: pytest.FixtureRequest, home: Path, discord: FakeDiscord, slack: FakeSlack, telegram: FakeTelegram
) -> Desk:
    """People at each of the chat platforms in turn."""
    desks: dict[str, Desk] = {
        "discord": DiscordDesk(discord, home / "data"),
        "slack": SlackDesk(slack, home / "data"),
        "telegram": TelegramDesk(telegram, home / "data"),
    }
    return desks[request.param]
