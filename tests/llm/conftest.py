"""The Messages API stand-in and the adapter that talks to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from bot.llm import anthropic
from bot.llm.anthropic_adapter import AnthropicModel
from tests.fakes.anthropic import FakeAnthropic
from tests.llm.support import FALLBACK, MODEL, FakeClock

KEY = "sk-ant-test-0123456789abcdef"

Make = Callable[..., AnthropicModel]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def server() -> AsyncIterator[FakeAnthropic]:
    async with FakeAnthropic() as running:
        yield running


@pytest.fixture
async def make(server: FakeAnthropic, clock: FakeClock) -> AsyncIterator[Make]:
    """Builds models that are closed at the end."""
    built: list[AnthropicModel] = []

    def one(key: str | None = KEY, fallback: str | None = None, url: str | None = None) -> AnthropicModel:
        built.append(anthropic.build(key, url or server.url, {MODEL: fallback}, clock))
        return built[-1]

    yield one
    for model in built:
        await model.close()


@pytest.fixture
def model(make: Make) -> AnthropicModel:
    """Without a fallback."""
    return make()


@pytest.fixture
def backed(make: Make) -> AnthropicModel:
    """With a fallback."""
    return make(fallback=FALLBACK)
