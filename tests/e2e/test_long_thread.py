"""A thread that grows past its share, in the whole program: summarised in the background, told once, looked up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.daemon import audited, command, rows, running
from tests.e2e.farends import base_settings
from tests.fakes.anthropic import FakeAnthropic

pytestmark = pytest.mark.timeout(300)


async def test_a_long_thread_is_compacted_by_the_light_model(home: Path, model: FakeAnthropic) -> None:
    settings = {
        **base_settings(home / "data"),
        "OPENEXECUTIVE_LLM__BASE_URL": model.url,
        "OPENEXECUTIVE_LLM__HISTORY_TOKENS": "2000",
    }
    async with running(settings, home, "email") as daemon:
        told = []
        for number in range(1, 6):
            said = await command("chat", "-m", f"Item {number} {'and more ' * 300}", settings=settings, home=home)
            assert said.code == 0, said
            told.append(said.out)
        await daemon.until(lambda: bool(audited(daemon.data, "thread_compacted")))
        for number in (9, 10):
            said = await command("chat", "-m", f"Item {number}", settings=settings, home=home)
            told.append(said.out)
        # Read for memories once the talk rests.
        await daemon.until(lambda: bool(rows(daemon.data, "SELECT 1 FROM spend WHERE purpose = 'extraction'")))
        (summary,) = rows(daemon.data, "SELECT * FROM summary")
        assert sum("grown long" in out for out in told) == 1, told
    assert {request.model for request in model.model_requests} == {"claude-opus-5-5", "claude-haiku-5-5"}
    last = model.model_requests[-1].messages[0]["content"][0]["text"]
    assert last.startswith("<earlier_conversation ")
    assert summary["model"] == "claude-haiku-5-5"
    assert [row["purpose"] for row in rows(home / "data", "SELECT DISTINCT purpose FROM spend ORDER BY 1")] == [
        "answer",
        "compaction",
        "extraction",
    ]
