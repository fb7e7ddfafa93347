"""The long series of kills: `KILLS=300 python -m pytest tests/e2e/test_soak_kill.py -m slow -s`. Prints one table.

`KILLS` are shared out among the far ends (`FAR_ENDS`, by default all: see `ALL`); `SEED` repeats a
series' choices (not its timing).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.e2e.chatends import DiscordEnd, SlackEnd
from tests.e2e.farends import MailboxEnd, MaildirEnd, RelayEnd, TelegramEnd
from tests.e2e.kills import HEAD, Dice, Series, Tally, points_of, printed, total
from tests.e2e.webend import WebEnd
from tests.fakes.anthropic import FakeAnthropic
from tests.fakes.discord import FakeDiscord
from tests.fakes.imap import FakeImap
from tests.fakes.slack import FakeSlack
from tests.fakes.smtp import SmtpSink
from tests.fakes.telegram import FakeTelegram

ALL = "telegram,discord,slack,maildir,relay,mailbox,web"
KILLS = int(os.environ.get("KILLS", "300"))
FAR_ENDS = os.environ.get("FAR_ENDS", ALL).split(",")
SEED = int(os.environ.get("SEED", "1"))
IN_PROCESS = {"E2E_MODEL": "numbers"}
"""The model's client takes seconds to load: it is there for the steps, not for the hundreds of random lives."""
PATIENT = {"OPENEXECUTIVE_WEB__ENABLED": "false", "OPENEXECUTIVE_INTAKE__MAX_ATTEMPTS": "10"}
"""The series is about what survives; that a turn is given up in the end has its own test."""


@pytest.mark.slow
@pytest.mark.timeout(0)
async def test_hundreds_of_kills_lose_nothing_and_double_nothing(
    home: Path,
    telegram: FakeTelegram,
    discord: FakeDiscord,
    slack: FakeSlack,
    relay: SmtpSink,
    imap: FakeImap,
    provider: SmtpSink,
    model: FakeAnthropic,
) -> None:
    folders = {name: home / name for name in FAR_ENDS}
    llm = {**PATIENT, "OPENEXECUTIVE_LLM__BASE_URL": model.url}
    makers = {
        "telegram": lambda folder: Series(TelegramEnd(telegram), folder, {}, llm),
        "discord": lambda folder: Series(DiscordEnd(discord), folder, IN_PROCESS, PATIENT),
        "slack": lambda folder: Series(SlackEnd(slack), folder, IN_PROCESS, PATIENT),
        "maildir": lambda folder: Series(MaildirEnd(folder / "data"), folder, IN_PROCESS, PATIENT),
        "relay": lambda folder: Series(RelayEnd(relay), folder, IN_PROCESS, PATIENT),
        "web": lambda folder: Series(WebEnd(), folder, IN_PROCESS, {**PATIENT, "OPENEXECUTIVE_WEB__ENABLED": "true"}),
        "mailbox": lambda folder: Series(MailboxEnd(imap, provider), folder, IN_PROCESS, PATIENT),
    }
    runs: list[Series] = []
    for name, folder in folders.items():
        folder.mkdir()
        runs.append(makers[name](folder))
        await killed(runs[-1], KILLS // len(folders))
    tables: dict[str, Mapping[str, Tally]] = {run.far_end.name: run.table() for run in runs}
    everything = total(tables.values())
    shown = f"KILLS={KILLS} FAR_ENDS={','.join(FAR_ENDS)} SEED={SEED}"
    print(f"\n$ {shown} python -m pytest tests/e2e/test_soak_kill.py -m slow -s\n{HEAD}")
    for name, tallies in tables.items():
        print(printed(name, tallies))
    print(printed("together", {"": everything}))
    for run in runs:
        print(f"{run.far_end.name}: {run.uncertain()} sends in doubt; given up: {run.parked() or 'nothing'}")
        print(f"{run.far_end.name}: placeholders left behind: {run.far_end.left_behind() or 'none'}")
    assert (everything.lost, everything.doubled) == (0, 0)
    assert [run.far_end.left_behind() for run in runs] == [[]] * len(runs)
    for run in runs:
        assert total([run.table()]).repeated <= (0 if run.far_end.certain else run.uncertain())
        assert set(run.parked()) <= {"uncertain"}


async def killed(run: Series, kills: int) -> None:
    """Every step once, then at random."""
    daemon = await run.start()
    try:
        for point in points_of(run.far_end):
            await daemon.ready(run.far_end.channel)
            await run.kill_at(daemon, point)
            daemon = await run.start()
            await run.all_answered(daemon)
        await daemon.stop()
    finally:
        await daemon.abandon()
    run.launcher = IN_PROCESS
    await Dice(run, SEED).run(kills, lambda line: print(line, file=sys.stderr, flush=True))
