"""What is said becomes memories in the whole program: by rules without a model, by the light model with one, and once a
turn though the process is killed while it reads."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.e2e.daemon import Daemon, audited, command, rows, running
from tests.e2e.farends import base_settings
from tests.fakes.anthropic import FakeAnthropic
from tests.fakes.anthropic_reply import Reply, ToolUse
from tests.fakes.anthropic_script import ModelRequest

pytestmark = pytest.mark.timeout(300)

RUNWAY = "Our runway is 14 months."


def read(daemon: Daemon, count: int) -> bool:
    return len(rows(daemon.data, "SELECT * FROM extraction")) >= count


async def test_without_a_model_rules_read_what_is_said(home: Path) -> None:
    settings = base_settings(home / "data")
    async with running(settings, home, "email") as daemon:
        for number, text in enumerate((RUNWAY, "Actually, it is 16 months.", "Should we hire?"), 1):
            said = await command("chat", "-m", text, settings=settings, home=home)
            assert said.code == 0, said
            await daemon.until(lambda number=number: read(daemon, number))  # type: ignore[misc]
        listed = await command("tasks", "list", "--kind", "memory.extract", "--json", settings=settings, home=home)
    states = [task["state"] for task in json.loads(listed.out)["tasks"]]
    assert sorted(states) == ["done", "done", "done_empty"]
    told = rows(home / "data", "SELECT statement, status, author FROM claim ORDER BY seq")
    assert [(row["statement"], row["status"]) for row in told] == [
        (RUNWAY, "superseded"),
        ("Our runway is 16 months.", "active"),
    ]
    assert {row["author"] for row in told} == {"rules/1"}


def remembers(request: ModelRequest) -> Reply:
    quote = {"message": "m1", "text": RUNWAY}
    items = [{"kind": "fact", "statement": RUNWAY, "quotes": [quote], "subject": "company/runway"}]
    return Reply((ToolUse("remember", {"items": items}),))


async def test_a_kill_while_it_reads_leaves_one_result_a_turn(home: Path, model: FakeAnthropic) -> None:
    settings = {**base_settings(home / "data"), "OPENEXECUTIVE_LLM__BASE_URL": model.url}
    model.reader = lambda request: Reply(remembers(request).blocks, gate="read")
    async with running(settings, home, "email") as daemon:
        said = await command("chat", "-m", RUNWAY, settings=settings, home=home)
        assert said.code == 0, said
        await daemon.until(lambda: bool(model.readings))
        daemon.process.send_signal(signal.SIGKILL)
        await daemon.process.wait()
    assert rows(home / "data", "SELECT * FROM claim") == []
    model.reader = remembers
    async with running(settings, home, "email") as daemon:
        await daemon.until(lambda: read(daemon, 1))
    assert len(rows(home / "data", "SELECT * FROM extraction")) == 1
    (claim,) = rows(home / "data", "SELECT statement, status, author FROM claim")
    assert (claim["statement"], claim["status"], claim["author"]) == (RUNWAY, "active", "claude-haiku-5-5/1")
    assert len(audited(home / "data", "extraction_queued")) == len(audited(home / "data", "extraction_finished")) == 1
    assert len(model.readings) == 2
