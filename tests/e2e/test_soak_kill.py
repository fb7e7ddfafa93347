"""The long series of kills: `KILLS=300 python -m pytest tests/e2e/test_soak_kill.py -m slow -s`. Prints one table.

`KILLS` are shared out among the three far ends; `SEED` repeats a series' choices (not its timing).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.e2e.farends import FarEnd, MaildirEnd, RelayEnd, TelegramEnd
from tests.e2e.kills import HEAD, Dice, Series, points_of, printed
from tests.fakes.anthropic import FakeAnthropic
from tests.fakes.smtp import SmtpSink
from tests.fakes.telegram import FakeTelegram

KILLS = int(os.environ.get("KILLS", "300"))
SEED = int(os.environ.get("SEED", "1"))
IN_PROCESS = {"E2E_MODEL": "numbers"}
"""The model's client takes seconds to load: it is there for the steps, not for the hundreds of random lives."""
PATIENT = {"OPENEXECUTIVE_WEB__ENABLED": "false", "OPENEXECUTIVE_INTAKE__MAX_ATTEMPTS": "10"}
"""The series is about what survives; that a turn is given up in the end has its own test."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(0)]


async def series(far_end: FarEnd, home: Path, launcher: Mapping[str, str], more: Mapping[str, str]) -> None:
    run = Series(far_end, home, launcher, {**PATIENT, **more})
    daemon = await run.start()
    try:
        for point in points_of(far_end):
            await daemon.ready(far_end.channel)
            await run.kill_at(daemon, point)
            daemon = await run.start()
            await run.all_answered(daemon)
        await daemon.stop()
    finally:
        await daemon.abandon()
    run.launcher = IN_PROCESS
    await Dice(run, SEED).run(KILLS // 3, lambda line: print(line, file=sys.stderr, flush=True))
    tallies = run.table()
    uncertain = run.uncertain()
    print(
        f"\n{HEAD}\n{printed(far_end.name, tallies)}\n{far_end.name}: {uncertain} sends in doubt, parked {run.parked()}"
    )
    assert sum(tally.lost for tally in tallies.values()) == 0
    assert sum(tally.doubled for tally in tallies.values()) == 0
    assert sum(tally.repeated for tally in tallies.values()) <= uncertain
    assert set(run.parked()) <= {"uncertain"}


async def test_telegram(home: Path, telegram: FakeTelegram, model: FakeAnthropic) -> None:
    await series(TelegramEnd(telegram), home, {}, {"OPENEXECUTIVE_LLM__BASE_URL": model.url})


async def test_mail_into_a_maildir(home: Path) -> None:
    await series(MaildirEnd(home / "data"), home, IN_PROCESS, {})


async def test_mail_through_a_relay(home: Path, relay: SmtpSink) -> None:
    await series(RelayEnd(relay), home, IN_PROCESS, {})
