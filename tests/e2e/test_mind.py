"""What the model is really sent and what comes of it, through the whole program: the cached blocks byte for byte, the
company as those who read may know it, consults, and links."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.daemon import Daemon, audited, command, running
from tests.e2e.test_telegram import ANN, BOB, GROUP, ask, gist, said_next, settings
from tests.fakes.anthropic import FakeAnthropic
from tests.fakes.anthropic_reply import Reply, Text, ToolUse, say
from tests.fakes.anthropic_script import ModelRequest
from tests.fakes.telegram import FakeTelegram

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
async def thinking(home: Path, telegram: FakeTelegram, model: FakeAnthropic) -> AsyncIterator[Daemon]:
    model.script = lambda request: say(f"Answer {len(model.requests.of('messages'))}.")
    async with running(settings(home, telegram, model), home, "telegram") as daemon:
        yield daemon


def parts(raw: bytes) -> dict[str, str]:
    """The values of a request's body as they were sent, character by character."""
    text, decoder = raw.decode(), json.JSONDecoder()
    found: dict[str, str] = {}
    at = 1
    while text[at - 1] != "}":
        key, at = decoder.raw_decode(text, at)
        at = text.index(":", at) + 1
        while text[at].isspace():
            at += 1
        _, end = decoder.raw_decode(text, at)
        found[key] = text[at:end]
        at = end + 1
        while at < len(text) and text[at].isspace():
            at += 1
    return found


async def test_the_cached_blocks_are_the_same_bytes_from_turn_to_turn_and_from_person_to_person(
    thinking: Daemon, telegram: FakeTelegram, model: FakeAnthropic, home: Path
) -> None:
    for text in ("One.", "Two.", "Three."):
        await ask(telegram, ANN, text)
    await ask(telegram, BOB, "Four.")
    sent = model.requests.of("messages")
    assert len(sent) == 4
    first = parts(sent[0].raw)
    for entry in sent:
        here = parts(entry.raw)
        assert (here["tools"], here["system"]) == (first["tools"], first["system"])
        assert 1 <= entry.raw.count(b'"cache_control"') <= 4
    names = [tool["name"] for tool in sent[0].body["tools"]]
    assert names == sorted(names)
    assert {"search_knowledge", "read_section", "calculate", "consult_finance"} <= set(names)
    persona, company = sent[0].body["system"]
    assert persona["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert company["cache_control"]["type"] == "ephemeral"
    # What was said before stands unchanged at the front of what is sent next.
    before, after = (without_marks(entry.body["messages"]) for entry in sent[1:3])
    assert after[: len(before) - 1] == before[:-1]
    await thinking.settled()
    used = [json.loads(row["payload"]) for row in audited(thinking.data, "cache_used")]
    assert len(used) == 4
    assert used[0]["written_tokens"] > 0
    assert all(each["read_tokens"] > 0 for each in used[1:])
    assert all(each["read_tokens"] >= used[0]["written_tokens"] * 0.9 for each in used[1:])


def without_marks(messages: list[dict[str, Any]]) -> list[Any]:
    return [
        [{k: v for k, v in block.items() if k != "cache_control"} for block in message["content"]]
        for message in messages
    ]


async def test_the_company_is_told_to_those_who_may_know_it_and_changes_when_it_is_changed(
    thinking: Daemon, telegram: FakeTelegram, model: FakeAnthropic, home: Path
) -> None:
    own = settings(home, telegram, model)

    async def company(*arguments: str) -> str:
        ended = await command("company", *arguments, settings=own, home=home)
        assert ended.code == 0, ended
        return ended.out

    await company("set", "name", "Acme")
    await company("set", "goals", "Break even", "Two new markets")
    telegram.world.add_chat(GROUP, "supergroup", "Team", members=(ANN, BOB))
    await ask(telegram, ANN, "One.")
    telegram.world.message(GROUP, ANN, "@exec_bot two")  # nobody has said what this place is: people from outside
    await said_next(telegram, GROUP, 0)
    await ask(telegram, ANN, "Three.")
    blocks = [entry.body["system"][1]["text"] for entry in model.requests.of("messages")]
    assert blocks == [
        "# The company\n\nName: Acme\nGoals:\n- Break even\n- Two new markets\n",
        "# The company\n\nName: Acme\n",
        "# The company\n\nName: Acme\nGoals:\n- Break even\n- Two new markets\n",
    ]
    exported = await company("export")
    assert 'name = "Acme"' in exported
    (home / "profile.toml").write_text(exported.replace("Break even", "Grow"), encoding="utf-8")
    assert "changed: goals" in await company("import", "profile.toml")
    await ask(telegram, ANN, "Four.")
    assert "- Grow\n" in model.requests.of("messages")[-1].body["system"][1]["text"]
    assert "Break even" in await company("show", "--history", "goals")
    assert "Goals" not in await company("show", "--public")
    assert len(audited(thinking.data, "company_changed")) == 3


async def test_several_fields_are_consulted_at_once_and_the_person_hears_one_voice(
    thinking: Daemon, telegram: FakeTelegram, model: FakeAnthropic
) -> None:
    fields = ("finance", "people", "counsel")
    together: set[str] = set()

    def script(request: ModelRequest) -> Reply:
        if "You prepare one field" in request.system:
            together.add(re.findall(r"# Your field: (\w+)", request.system)[0].lower())
            failing = "Your field: Counsel" in request.system
            return Reply((Text(""),), stop_reason="refusal") if failing else say("Hire in March.")
        if request.tool_results:
            return say(f"One answer. {len(request.tool_results)} views.")
        call = {"question": "Shall we hire?", "facts": "Cash 3 m EUR."}
        return Reply(tuple(ToolUse(f"consult_{field}", call) for field in fields))

    model.script = script
    answer = await ask(telegram, ANN, "Shall we hire? My secret is 4711.")
    assert gist(answer) == "One answer. 3 views."
    assert together == set(fields)
    consults = [one for one in model.model_requests if "You prepare one field" in one.system]
    assert len(consults) == 3
    for one in consults:
        assert "4711" not in json.dumps(one.body), "a consult sees nothing of the conversation but what it is handed"
        assert "consult_finance" not in one.tools
        assert "search_knowledge" in one.tools
    results = model.model_requests[-1].tool_results
    assert any(text.startswith("The counsel view is unavailable:") for text in results.values())
    await thinking.settled()
    rows = [json.loads(row["payload"]) for row in audited(thinking.data, "specialist_consulted")]
    assert sorted((row["name"], row["outcome"]) for row in rows) == [
        ("counsel", "refused"),
        ("finance", "answered"),
        ("people", "answered"),
    ]


async def test_a_link_that_nobody_gave_is_not_sent_as_one(
    thinking: Daemon, telegram: FakeTelegram, model: FakeAnthropic
) -> None:
    model.script = lambda request: say("See https://evil.example/?d=4711 and https://good.example/a")
    answer = await ask(telegram, ANN, "What of https://good.example/a ?")
    assert "https://evil.example" not in answer
    assert "https[:]//evil[.]example/?d=4711" in answer
    assert "https://good.example/a" in answer


async def test_a_charter_file_that_is_not_there_is_a_fault_of_the_settings(
    home: Path, telegram: FakeTelegram, model: FakeAnthropic
) -> None:
    wrong = {**settings(home, telegram, model), "OPENEXECUTIVE_SPECIALISTS__BOARD__CHARTER_FILE": "nowhere.md"}
    ended = await asyncio.wait_for(command("run", settings=wrong, home=home), 60)
    assert ended.code == 2
    assert "specialists.board.charter_file: cannot be read" in ended.err


async def test_a_specialist_that_is_switched_off_is_not_offered(
    home: Path, telegram: FakeTelegram, model: FakeAnthropic
) -> None:
    own = {**settings(home, telegram, model), "OPENEXECUTIVE_SPECIALISTS__BOARD__ENABLED": "false"}
    model.script = lambda request: say("Hello.")
    async with running(own, home, "telegram"):
        await ask(telegram, ANN, "Hello.")
    tools = model.model_requests[0].tools
    assert "consult_board" not in tools
    assert "consult_finance" in tools


async def test_without_a_model_a_management_question_is_answered_from_the_notes_with_their_source(
    home: Path, telegram: FakeTelegram
) -> None:
    async with running(settings(home, telegram), home, "telegram") as daemon:
        await ask(telegram, ANN, "Our runway is 14 months.")
        answer = await ask(telegram, ANN, "How do we decide on the price of a new product?")
        assert "From documents and notes that I can read:" in answer
        assert "(built-in note)" in answer
        assert "Sources: " in answer
        assert "14 months" in await ask(telegram, ANN, "How long is our runway?")
        await daemon.settled()
        shown = [json.loads(row["payload"])["tool"] for row in audited(daemon.data, "knowledge_retrieved")]
        assert shown[:2] == ["search", "read"]
        called = [json.loads(row["payload"])["name"] for row in audited(daemon.data, "tool_called")]
        assert called[:2] == ["search_knowledge", "read_section"]
