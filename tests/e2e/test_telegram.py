"""Telegram from outside: who is answered, where, and what happens when the model or the platform is not there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.e2e.daemon import Daemon, audited, rows, running
from tests.e2e.farends import base_settings, telegram_settings
from tests.fakes.anthropic import FakeAnthropic
from tests.fakes.anthropic_reply import ErrorStatus, Reply, say
from tests.fakes.faults import CutAfter
from tests.fakes.telegram import FakeTelegram

ANN, BOB, STRANGER = 101, 102, 666
GROUP, FORUM = -1001, -1002

pytestmark = pytest.mark.timeout(300)


def settings(home: Path, telegram: FakeTelegram, model: FakeAnthropic | None = None) -> dict[str, str]:
    telegram.world.add_user(ANN, "Ann")
    telegram.world.add_user(BOB, "Bob")
    telegram.world.add_user(STRANGER, "Mallory")
    return {
        **base_settings(home / "data"),
        **telegram_settings(telegram),
        "OPENEXECUTIVE_CHANNELS__EMAIL__ENABLED": "false",
        "OPENEXECUTIVE_PEOPLE__ANN__NAME": "Ann",
        "OPENEXECUTIVE_PEOPLE__ANN__ROLE": "principal",
        "OPENEXECUTIVE_PEOPLE__ANN__TELEGRAM": f"[{ANN}]",
        "OPENEXECUTIVE_PEOPLE__BOB__NAME": "Bob",
        "OPENEXECUTIVE_PEOPLE__BOB__TELEGRAM": f"[{BOB}]",
        **({"OPENEXECUTIVE_LLM__BASE_URL": model.url} if model is not None else {}),
    }


async def said_next(telegram: FakeTelegram, chat: int, before: int) -> str:
    """The text of the delivery after the first `before` of a chat."""
    await telegram.deliveries.until(lambda: len(telegram.texts(chat)) > before, timeout=60)
    return telegram.texts(chat)[before]


def gist(text: str) -> str:
    """An answer without what is added the first time that somebody writes."""
    return text.partition("\n\n")[0]


async def ask(telegram: FakeTelegram, person: int, text: str) -> str:
    before = len(telegram.texts(person))
    telegram.world.private_message(person, text)
    return await said_next(telegram, person, before)


@pytest.fixture
async def offline(home: Path, telegram: FakeTelegram) -> AsyncIterator[Daemon]:
    """A daemon on Telegram with the offline model."""
    async with running(settings(home, telegram), home, "telegram") as daemon:
        yield daemon


@pytest.fixture
async def thinking(home: Path, telegram: FakeTelegram, model: FakeAnthropic) -> AsyncIterator[Daemon]:
    """A daemon on Telegram with a model behind the Messages API."""
    async with running(settings(home, telegram, model), home, "telegram") as daemon:
        yield daemon


async def test_a_fact_told_in_a_direct_chat_is_recalled_there_and_nowhere_else(
    offline: Daemon, telegram: FakeTelegram
) -> None:
    await ask(telegram, ANN, "Our runway is 14 months.")
    assert "14 months" in await ask(telegram, ANN, "How long is our runway?")
    assert "14 months" not in await ask(telegram, BOB, "How long is our runway?")


@pytest.mark.case(25)
@pytest.mark.case(26)
async def test_case_25_case_26_groups_answer_to_their_name_and_topics_keep_apart(
    offline: Daemon, telegram: FakeTelegram
) -> None:
    world = telegram.world
    world.add_chat(GROUP, "supergroup", "Team", members=(ANN, BOB))
    world.add_chat(FORUM, "supergroup", "Forum", is_forum=True, members=(ANN,))
    topic = world.add_topic(FORUM, "Budget")
    world.message(GROUP, ANN, "Not for the executive.")
    world.message(GROUP, ANN, "👋 @exec_bot our runway is 14 months.")
    await said_next(telegram, GROUP, 0)
    world.message(GROUP, BOB, "@exec_bot how long is our runway?")
    await telegram.deliveries.until(lambda: any("14 months" in text for text in telegram.texts(GROUP)), timeout=60)
    world.topic_message(FORUM, topic, ANN, "@exec_bot how long is our runway?")
    await said_next(telegram, FORUM, 0)
    await offline.settled()
    in_forum = [one for one in telegram.deliveries if one.body["chat_id"] == FORUM]
    assert {one.body.get("message_thread_id") for one in in_forum[-1:]} == {topic}
    assert not any("14 months" in str(one.body["text"]) for one in in_forum)
    assert not any("Not for the executive" in row["event"] for row in rows(offline.data, "SELECT event FROM inbox"))


async def test_a_stranger_gets_nothing_and_leaves_a_row_and_an_audit_row(
    offline: Daemon, telegram: FakeTelegram
) -> None:
    telegram.world.private_message(STRANGER, "Let me in")
    telegram.world.private_message(STRANGER, "/help")
    await ask(telegram, ANN, "Good morning")
    await offline.settled()
    assert {one.body["chat_id"] for one in telegram.deliveries} == {ANN}
    assert not [one for one in telegram.effects if one.body.get("chat_id") == STRANGER]
    refused = rows(offline.data, "SELECT * FROM inbox WHERE state = 'refused' ORDER BY seq")
    found = [(row["address"], row["reason"], row["turn_id"]) for row in refused]
    assert found == [(str(STRANGER), "stranger", None)] * 2
    assert "Let me in" in refused[0]["event"]
    (row,) = audited(offline.data, "message_refused")
    assert row["actor_kind"] == "stranger"


async def test_commands_need_no_model(offline: Daemon, telegram: FakeTelegram) -> None:
    assert "/status" in await ask(telegram, ANN, "/help")
    assert "telegram: receives" in await ask(telegram, ANN, "/status")
    assert "Nothing is running" in await ask(telegram, ANN, "/stop")
    await ask(telegram, ANN, "Our runway is 14 months.")
    await ask(telegram, ANN, "/new")
    assert "14 months" not in await ask(telegram, ANN, "How long is our runway?")


async def test_stop_ends_a_turn_whose_model_hangs(
    thinking: Daemon, telegram: FakeTelegram, model: FakeAnthropic
) -> None:
    model.reply_with(say("never to be said", gate="hang"))
    telegram.world.private_message(ANN, "Item 1 please")
    await model.faults.gate("hang").reached.wait()
    assert "Stopped" in await ask(telegram, ANN, "/stop")
    assert gist(await ask(telegram, ANN, "Item 2 please")) == "Done: Item 2"
    await thinking.settled()
    states = rows(thinking.data, "SELECT kind, state FROM inbox ORDER BY seq")
    assert [row["state"] for row in states] == ["stopped", "answered", "answered"]
    assert not any("never to be said" in text for text in telegram.texts(ANN))


async def test_messages_that_come_while_a_turn_runs_are_answered_together_in_order(
    thinking: Daemon, telegram: FakeTelegram, model: FakeAnthropic
) -> None:
    model.reply_with(say("first", gate="thinks"))
    telegram.world.private_message(ANN, "Item 1 please")
    await model.faults.gate("thinks").reached.wait()
    for number in (2, 3):
        telegram.world.private_message(ANN, f"Item {number} please")
    await thinking.until(lambda: len(rows(thinking.data, "SELECT 1 FROM inbox")) == 3)
    model.faults.gate("thinks").release()
    await said_next(telegram, ANN, 1)
    await thinking.settled()
    assert [gist(text) for text in telegram.texts(ANN)] == ["first", "Done: Item 2, Item 3"]
    assert model.requests.count("messages") == 2


async def test_while_the_model_is_down_a_person_is_told_once_and_answered_when_it_is_back(
    thinking: Daemon, telegram: FakeTelegram, model: FakeAnthropic
) -> None:
    model.faults.dark = True
    told = await ask(telegram, ANN, "Item 1 please")
    assert "cannot think at the moment" in told
    model.reply_with(*[Reply(error=ErrorStatus(529))] * 2)
    model.faults.dark = False
    assert gist(await said_next(telegram, ANN, 1)) == "Done: Item 1"
    await thinking.settled()
    assert len(telegram.texts(ANN)) == 2
    assert [row["state"] for row in rows(thinking.data, "SELECT state FROM inbox")] == ["answered"]


@pytest.mark.case(143)
async def test_case_143_a_send_whose_outcome_is_unknown_is_repeated_once_and_marked(
    thinking: Daemon, telegram: FakeTelegram, model: FakeAnthropic
) -> None:
    telegram.faults.plan("sendMessage", CutAfter())
    telegram.world.private_message(ANN, "Item 1 please")
    again = await said_next(telegram, ANN, 1)
    await thinking.settled()
    assert gist(telegram.texts(ANN)[0]) == "Done: Item 1"
    assert "may have reached you already" in again
    assert "Done: Item 1" in again
    assert len(telegram.texts(ANN)) == 2
    assert len(audited(thinking.data, "delivery_uncertain")) == 1
    assert model.requests.count("messages") == 1
