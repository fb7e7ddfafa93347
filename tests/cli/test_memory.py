"""`openexecutive memory` and `token`: what is asked of the daemon, what is printed, and the same without one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.audit.chain import load_key
from bot.audit.recorder import Recorder
from bot.cli.memory import _instant
from bot.kernel import days
from bot.kernel.clock import SystemClock
from bot.kernel.errors import PermanentError
from bot.kernel.logs import Redactor
from bot.memory import store
from bot.storage.database import Database, Tx
from tests.cli.program import answering, command, daemon
from tests.memory.claims import MODEL, claim, evidence

MEMORY: dict[str, Any] = {
    "id": "06h2yzq1g4nxqa278paq3kgh",
    "handle": "q3kgh1",
    "kind": "decision",
    "status": "disputed",
    "statement": "We launch\x1b[31m in\nMarch.",
    "speaker_name": "Ada",
    "work": None,
    "source": "fresh",
    "visibility": "company",
    "promotion_by": None,
    "said_at": "2026-03-01T10:00:00+00:00",
    "withheld": False,
}


@pytest.fixture
def started(folder: Path) -> Path:
    """A data folder, as a daemon that ran once has left it."""
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
async def remembered(started: Path, all_tables: list[str]) -> str:
    """A data folder with one memory; its id."""
    folder = started
    clock = SystemClock()
    async with Database.open(folder / "openexecutive.db") as database:
        recorder = await Recorder.open(database, clock, load_key(folder / "keys" / "audit.key"), Redactor())
        new = claim(clock.now() - timedelta(days=1), statement="We launch in March.")

        def unit(tx: Tx) -> None:
            store.add(tx, recorder, new, [evidence(new.statement, new.said_at)], MODEL)

        await database.write(unit)
    return new.id


def test_a_day_is_meant_in_the_companys_zone() -> None:
    berlin = "Europe/Berlin"
    assert _instant("2026-03-01", berlin, days.begins) == "2026-02-28T23:00:00+00:00"
    assert _instant("2026-03-01", berlin, days.follows) == "2026-03-01T23:00:00+00:00"
    assert _instant("2026-03-01T12:00", berlin, days.ends) == "2026-03-01T11:00:00+00:00"
    assert _instant("2026-03-01T12:00+00:00", berlin, days.ends) == "2026-03-01T12:00:00+00:00"
    assert _instant(None, berlin, days.ends) is None
    for wrong in ("yesterday", "2026-02-30", "9999-12-31"):
        with pytest.raises(PermanentError):
            _instant(wrong, berlin, days.ends)


async def test_a_list_steers_no_terminal_and_takes_one_line_each(folder: Path) -> None:
    asked: list[Mapping[str, object]] = []
    async with daemon(folder, {"memory.list": answering({"memories": [MEMORY]}, asked)}):
        done = await command("memory", "as-of", "2026-03-01", "launch", "--kind", "decision", "--last", "5")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    assert "\x1b" not in done.stdout
    assert "(disputed, company)" in done.stdout
    assert asked[0]["known"] == "2026-03-01T23:59:59.999999+00:00"
    assert (asked[0]["words"], asked[0]["kind"], asked[0]["last"]) == (["launch"], ["decision"], 5)
    assert "pending" not in asked[0]


async def test_verify_ends_with_1_when_something_is_wrong(folder: Path) -> None:
    faults: dict[str, list[str]] = {name: [] for name in ("orphans", "stray", "unfounded", "talkative")}
    answer = {"sound": False, "claims": 3, **faults, "gaps": ["a", "b"], "index": {"missing": 2}}
    async with daemon(folder, {"memory.verify": answering(answer)}):
        done = await command("memory", "verify")
    assert done.returncode == 1
    assert "a version without its event: 2 (a, b)" in done.stdout
    assert "missing: 2" in done.stdout


async def test_verify_tells_of_the_index_only_when_it_differs(folder: Path) -> None:
    faults: dict[str, list[str]] = {name: [] for name in ("orphans", "stray", "unfounded", "talkative", "gaps")}
    answer = {"sound": True, "claims": 3, **faults, "index": {"rows": 0}}
    async with daemon(folder, {"memory.verify": answering(answer)}):
        done = await command("memory", "verify")
    assert (done.returncode, done.stdout) == (0, "3 memories: all is well\n")


async def test_without_a_daemon_a_memory_is_found_corrected_and_forgotten(remembered: str) -> None:
    why = ("--reason", "a look")
    listed = await command("memory", "list", "launch", *why)
    assert "We launch in March." in listed.stdout, listed.stderr
    edited = await command("memory", "edit", remembered[-6:], "--statement", "We launch in May.", "--reason", "a call")
    assert edited.returncode == 0, edited.stderr
    known = await command("memory", "as-of", "2020-01-01", *why)
    assert known.stdout == "nothing\n"
    shown = await command("memory", "show", remembered, *why)
    assert "edited by operator: a call" in shown.stdout
    assert "statement: We launch in March. -> We launch in May." in shown.stdout
    exported = await command("memory", "export", *why)
    assert json.loads(exported.stdout)["statement"] == "We launch in May."
    told = await command("memory", "forget", remembered, "--reason", "asked for")
    assert "memories: 1" in told.stdout
    gone = await command("memory", "forget", remembered, "--reason", "asked for", "--yes")
    assert gone.stdout.startswith("forgotten: "), gone.stderr
    assert (await command("memory", "list")).stdout == "nothing\n"
    assert (await command("memory", "show", remembered)).returncode == 1


async def test_a_change_without_a_reason_is_no_command(folder: Path) -> None:
    assert (await command("memory", "retract", "abcdef")).returncode == 2


async def test_a_token_is_made_for_people_only(remembered: str) -> None:
    refused = await command("token", "create", "nobody")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "no active person nobody" in refused.stderr
    assert (await command("token", "list")).stdout == "no tokens\n"
