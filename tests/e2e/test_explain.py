"""The prompt of a turn as `openexecutive explain` tells it, against what the model's server received."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import sqlalchemy as sa

from bot.kernel.ids import TurnId
from bot.llm.anthropic_wire import written
from bot.orchestrator import kept
from tests.e2e.daemon import audited, command, rows, running
from tests.e2e.farends import base_settings
from tests.fakes.anthropic import FakeAnthropic
from tests.fakes.anthropic_reply import Reply, ToolUse

pytestmark = pytest.mark.timeout(300)


async def test_the_prompt_that_is_told_is_byte_for_byte_what_was_sent(home: Path, model: FakeAnthropic) -> None:
    settings = {**base_settings(home / "data"), "OPENEXECUTIVE_LLM__BASE_URL": model.url}
    async with running(settings, home, "email"):
        told = await command("chat", "-m", "Item 1: we pay <b>4</b> ü", settings=settings, home=home)
        assert told.code == 0, told
        model.reply_with(
            Reply((ToolUse("calculate", {"expression": "2 + 3"}),)),
            Reply((ToolUse("consult_finance", {"question": "Enough?", "facts": "2 + 3"}),)),
        )
        told = await command("chat", "-m", "Item 2", settings=settings, home=home)
        assert told.code == 0, told
        *_, last = rows(home / "data", "SELECT turn_id, session_id FROM turn_prompt ORDER BY turn_id")
        session = str(last["session_id"])
        silent = await command("explain", session, settings=settings, home=home)
        assert silent.code == 0, silent
        shown = await command("explain", session, "--reason", "a check", settings=settings, home=home)
        missing = await command("explain", session, "--turn", "9", settings=settings, home=home)
    assert missing.code == 1
    assert "Item 2" not in silent.out
    assert "Texts are withheld" in silent.out
    persona = r"--- system 1 \| about [\d,]+ tokens \| config/persona.md \| cached up to here for an hour"
    assert re.search(persona, silent.out)
    assert "result of calculate in this turn" in silent.out
    assert "Item 2" in shown.out
    assert "(consult)" in shown.out
    assert [json.loads(row["payload"])["session"] for row in audited(home / "data", "content_viewed")] == [session]

    engine = sa.create_engine(f"sqlite:///{home / 'data' / 'openexecutive.db'}")
    with engine.connect() as connection:
        found = kept.of_turn(connection, TurnId(last["turn_id"]))
    engine.dispose()
    sent = [json.dumps(request.body, sort_keys=True) for request in model.model_requests]
    for one in found:
        assert kept.exact(one)
        assert json.dumps(json.loads(written(one.request, one.request.model)), sort_keys=True) in sent
    assert sorted(one.purpose for one in found) == ["answer", "consult"]
    # What is printed is the same text again.
    for message in json.loads(written(found[-1].request, "m"))["messages"]:
        for block in message["content"]:
            assert isinstance(block, dict)
            if block["type"] == "text":
                assert str(block["text"]) in shown.out
