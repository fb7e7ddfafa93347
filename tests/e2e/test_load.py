"""Many people at once: every message is covered by exactly one answer, in order, and nobody waits for anybody."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.daemon import Daemon, audited, running
from tests.e2e.farends import base_settings, telegram_settings
from tests.e2e.numbers import numbers_in, script, words
from tests.fakes.anthropic import FakeAnthropic
from tests.fakes.anthropic_reply import Reply
from tests.fakes.anthropic_script import ModelRequest
from tests.fakes.telegram import FakeTelegram

SESSIONS, EACH = 50, 4
FIRST = 1001
GATE = "held"

pytestmark = pytest.mark.timeout(400)


def settings(home: Path, telegram: FakeTelegram, model: FakeAnthropic) -> dict[str, str]:
    people = {
        f"OPENEXECUTIVE_PEOPLE__P{number}__{key}": value
        for number in range(SESSIONS)
        for key, value in {
            "NAME": f"P{number}",
            "ROLE": "principal" if number == 0 else "member",
            "TELEGRAM": f"[{FIRST + number}]",
        }.items()
    }
    return {
        **base_settings(home / "data"),
        **telegram_settings(telegram),
        **people,
        "OPENEXECUTIVE_CHANNELS__EMAIL__ENABLED": "false",
        "OPENEXECUTIVE_LLM__BASE_URL": model.url,
    }


@pytest.fixture
async def daemon(home: Path, telegram: FakeTelegram, model: FakeAnthropic) -> AsyncIterator[Daemon]:
    async with running(settings(home, telegram, model), home, "telegram") as daemon:
        yield daemon


def numbers_of(session: int) -> list[int]:
    return [session * EACH + place + 1 for place in range(EACH)]


def answered(telegram: FakeTelegram, session: int) -> list[int]:
    """Numbers that were answered in a session, in order of arrival."""
    return [number for text in telegram.texts(FIRST + session) for number in numbers_in(text)]


def write_all(telegram: FakeTelegram) -> None:
    """Everyone's first message, then everyone's second, ..."""
    for place in range(EACH):
        for session in range(SESSIONS):
            telegram.world.private_message(FIRST + session, words(numbers_of(session)[place]))


async def test_fifty_sessions_with_four_messages_each_at_once(daemon: Daemon, telegram: FakeTelegram) -> None:
    write_all(telegram)
    sessions = range(SESSIONS)
    await telegram.deliveries.until(
        lambda: all(answered(telegram, session)[-1:] == numbers_of(session)[-1:] for session in sessions), timeout=120
    )
    await daemon.settled()
    assert {session: answered(telegram, session) for session in sessions} == {
        session: numbers_of(session) for session in sessions
    }
    sent_to = [one.body["chat_id"] for one in telegram.deliveries]
    assert set(sent_to) == {FIRST + session for session in sessions}


async def test_no_session_waits_for_one_whose_model_hangs(
    daemon: Daemon, telegram: FakeTelegram, model: FakeAnthropic
) -> None:
    slow = SESSIONS - 1

    def held(request: ModelRequest) -> Reply:
        reply = script(request)
        mine = re.search(rf"\bfrom=\"P{slow}\"", request.turns[-1][1])
        return replace(reply, gate=GATE) if mine else reply

    model.script = held
    write_all(telegram)
    await model.faults.gate(GATE).reached.wait()
    others = range(SESSIONS - 1)
    await telegram.deliveries.until(
        lambda: all(answered(telegram, session) == numbers_of(session) for session in others), timeout=120
    )
    assert answered(telegram, slow) == []
    model.faults.gate(GATE).release()
    await telegram.deliveries.until(lambda: answered(telegram, slow) == numbers_of(slow), timeout=60)
    await daemon.settled()
    assert {session: answered(telegram, session) for session in others} == {s: numbers_of(s) for s in others}


@pytest.mark.case(145)
async def test_case_145_a_stop_in_the_middle_of_the_rush_neither_loses_nor_repeats_anything(
    home: Path, telegram: FakeTelegram, model: FakeAnthropic
) -> None:
    sessions = range(SESSIONS)
    async with running(settings(home, telegram, model), home, "telegram") as daemon:
        write_all(telegram)
        await telegram.deliveries.wait(SESSIONS // 2, timeout=60)
        await daemon.stop()
    assert audited(home / "data", "delivery_uncertain") == []
    async with running(settings(home, telegram, model), home, "telegram") as daemon:
        await telegram.deliveries.until(
            lambda: all(answered(telegram, session)[-1:] == numbers_of(session)[-1:] for session in sessions),
            timeout=120,
        )
        await daemon.settled()
    assert {session: answered(telegram, session) for session in sessions} == {s: numbers_of(s) for s in sessions}
    assert audited(home / "data", "delivery_uncertain") == []
