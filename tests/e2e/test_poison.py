"""A message that kills the process each time it is thought about."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.e2e.daemon import Daemon, audited, rows
from tests.e2e.farends import TelegramEnd, base_settings
from tests.e2e.numbers import numbers_in
from tests.fakes.telegram import FakeTelegram

POISON = "arsenic"
PERSON = 101


@pytest.mark.timeout(300)
async def test_a_message_that_kills_the_process_parks_at_its_third_attempt_and_the_next_ones_are_answered(
    home: Path, telegram: FakeTelegram
) -> None:
    settings = {**base_settings(home / "data"), **TelegramEnd(telegram).settings()}
    launcher = {"E2E_POISON": POISON, "E2E_MODEL": "numbers"}
    telegram.world.private_message(PERSON, f"Item 1 {POISON}")
    for _ in range(2):
        daemon = await Daemon.spawn(settings, home, launcher=launcher)
        try:
            assert await daemon.ended() == -signal.SIGKILL
        finally:
            await daemon.abandon()
    daemon = await Daemon.spawn(settings, home, launcher=launcher)
    try:
        await telegram.deliveries.wait(1, "sendMessage", timeout=60)
        telegram.world.private_message(PERSON, "Item 2 please")
        await telegram.deliveries.wait(2, "sendMessage", timeout=60)
        await daemon.settled()
        await daemon.stop()
    finally:
        await daemon.abandon()
    told, answer = telegram.texts(PERSON)
    assert "could not answer this message" in told
    assert numbers_in(answer) == [2]
    states = rows(daemon.data, "SELECT state, reason FROM inbox ORDER BY seq")
    assert [(row["state"], row["reason"]) for row in states] == [("parked", "failed too often"), ("answered", None)]
    failed = [json.loads(row["payload"]) for row in audited(daemon.data, "turn_failed")]
    assert [(one["attempt"], one["parked"]) for one in failed] == [(3, True)]
