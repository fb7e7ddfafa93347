"""Spending as the whole program does it: nothing when idle, to the limit and no further, told by the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.daemon import audited, command, rows, running
from tests.e2e.farends import base_settings
from tests.fakes.anthropic import FakeAnthropic

pytestmark = pytest.mark.timeout(300)


def settings(home: Path, model: FakeAnthropic, **more: str) -> dict[str, str]:
    return {
        **base_settings(home / "data"),
        "OPENEXECUTIVE_LLM__BASE_URL": model.url,
        **{f"OPENEXECUTIVE_BUDGET__{name.upper()}": value for name, value in more.items()},
    }


async def test_a_daemon_that_nobody_speaks_to_asks_and_spends_nothing(home: Path, model: FakeAnthropic) -> None:
    async with running(settings(home, model), home, "email") as daemon:
        # Every task of the start and an upkeep have run by then.
        await daemon.until(lambda: bool(audited(daemon.data, "task_changed")))
        await daemon.settled()
    assert model.requests.of("messages") == ()
    assert rows(home / "data", "SELECT * FROM spend") == []


async def test_to_the_limit_and_no_further(home: Path, model: FakeAnthropic) -> None:
    given = settings(home, model, person="0.17")
    async with running(given, home, "email"):
        first = await command("chat", "-m", "Item 1", settings=given, home=home)
        assert first.code == 0, first
        asked = len(model.requests.of("messages"))
        assert asked == 1
        while "used up" not in first.out and asked < 60:
            first = await command("chat", "-m", "Item 2", settings=given, home=home)
            asked += 1
        assert "your budget for today is used up" in first.out, first.out
        assert len(model.requests.of("messages")) == asked - 1
        used = await command("usage", "--by", "purpose", "--json", settings=given, home=home)
        (line,) = json.loads(used.out)["lines"]
        assert (line["key"], line["calls"]) == ("answer", asked - 1)
        assert 0 < line["micros"] < 170_000
    without = await command("usage", settings=given, home=home)
    assert without.code == 0, without
    assert "one person a day 0.17 USD" in without.out
    assert len(audited(home / "data", "budget_refused")) == 1


async def test_a_model_without_a_price_does_not_start(home: Path, model: FakeAnthropic) -> None:
    given = settings(home, model) | {"OPENEXECUTIVE_LLM__MODELS__LIGHT": "tiny"}
    ended = await command("run", settings=given, home=home)
    assert ended.code == 2
    assert "llm.models.light: this model has no table in llm.prices" in ended.err
