from __future__ import annotations

import argparse
import asyncio
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import pytest

from bot.cli import COMMANDS, main
from bot.cli.examples import EXAMPLES
from bot.cli.status import lines
from bot.gateway.channel import LocalPeer
from tests.cli.program import PROGRAM, answering, command, daemon

ROOT = Path(__file__).parents[2]
NOON = "2026-11-30T12:00:00+00:00"
SLOWEST_HELP = 0.15
"""Seconds."""

STATUS: dict[str, object] = {
    "status": "degraded",
    "version": "1.2.3",
    "boot": "boot1",
    "uptime_seconds": 3_700,
    "store": {"ok": True, "audit_rows": 5},
    "model": {"provider": "anthropic", "ok": False, "reason": "the key was refused"},
    "channels": {
        "email": {"receiving": True, "reason": None, "where": "127.0.0.1:2525"},
        "telegram": {"receiving": False, "reason": "token refused"},
    },
    "inbox_last_day": {"queued": 2, "answered": 40},
    "outbox": {"parked": 1},
    "parked": [{"way": "out", "id": "o1", "channel": "telegram", "reason": "uncertain\x1b[2J", "at": "2026-11-30"}],
}


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("words", ["version", "chat", "status"])
def test_closed_standard_streams_are_no_accident(folder: Path, closed: str, words: str) -> None:
    ended = subprocess.run(
        ["/bin/sh", "-c", f"exec {shlex.join([*PROGRAM, words])} {closed}"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert b"Traceback" not in ended.stderr
    assert ended.returncode == (0 if words == "version" else 1)


def test_output_that_cannot_be_written_is_a_failure_and_said(folder: Path) -> None:
    with open("/dev/full", "wb") as full:
        ended = subprocess.run([*PROGRAM, "version"], stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (
        1,
        b"openexecutive: what was to be written could not be: No space left on device\n",
    )


# --- the program -----------------------------------------------------------------------------------------------------


def fastest(arguments: list[str], tries: int = 5) -> float:
    times = []
    for _ in range(tries):
        began = time.perf_counter()
        subprocess.run(arguments, check=True, capture_output=True)
        times.append(time.perf_counter() - began)
    return min(times)


def test_help_is_there_at_once() -> None:
    assert fastest([*PROGRAM, "--help"]) < SLOWEST_HELP


def test_help_loads_nothing_heavy() -> None:
    script = (
        "import sys\nfrom bot.cli import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = ('pydantic', 'sqlalchemy', 'asyncio', 'starlette', 'config.loader', 'bot.app')\n"
        "print([m for m in heavy if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert all(name in done.stdout for name in COMMANDS)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert f"openexecutive {name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [["bogus"], ["status", "--bogus"], ["people"], ["audit", "verify", "--head", "x"]]
)
def test_wrong_arguments_end_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: openexecutive" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["explain", "rooms", "company", "audit", "people", "sessions"])
def test_a_command_that_needs_more_shows_its_help_with_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert COMMANDS[name].capitalize()[:20] in said
    assert f"  openexecutive {EXAMPLES[name][0][0]}" in said
    assert said.rstrip().splitlines()[-1].startswith(f"openexecutive {name}: the following arguments are required")


@pytest.mark.parametrize("line", [line for lines in EXAMPLES.values() for line, _ in lines])
def test_the_examples_are_right(line: str) -> None:
    name, *rest = shlex.split(line)
    parser = argparse.ArgumentParser(exit_on_error=False)
    import_module(f"bot.cli.{name}").add_arguments(parser)
    parser.parse_args(rest)


def test_no_command_at_all_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "usage: openexecutive" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    assert capsys.readouterr().out.strip()[0].isdigit()


@pytest.mark.parametrize("arguments", [["status"], ["chat", "-m", "x"], ["run"], ["people", "list"], ["pair"]])
def test_wrong_settings_print_all_faults_and_end_with_2(
    folder: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENEXECUTIVE_WEB__PORT", "many")
    monkeypatch.setenv("OPENEXECUTIVE_LLM__PROVIDER", "oracle")
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert "web.port" in told
    assert "llm.provider" in told
    assert not folder.exists()


def test_a_settings_file_may_be_named(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("surplus = 1\n")
    with pytest.raises(SystemExit) as ended:
        main(["--config", str(file), "status"])
    assert ended.value.code == 2
    assert "surplus" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["status"], ["status", "--quick"], ["chat", "-m", "x"], ["pair"]])
def test_without_a_daemon_it_is_said_how_to_start_it(
    folder: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 1
    assert "is not running" in (told := capsys.readouterr().err)
    assert "openexecutive run" in told
    assert not folder.exists()


async def test_a_reader_that_has_had_enough_is_no_accident(folder: Path) -> None:
    async def many(peer: LocalPeer, first: Mapping[str, object]) -> None:
        entry = {"id": 1, "at": NOON, "type": "x", "actor": "person:a", "payload": {}}
        for _ in range(5_000):
            await peer.send({"entry": entry})
        await peer.send({"ok": True})

    async with daemon(folder, {"audit.show": many}):
        pipe = f"{' '.join([sys.executable, '-c', repr(PROGRAM[2])])} audit show | head -1"
        root = str(Path(__file__).parents[2])
        done = await asyncio.to_thread(
            lambda: subprocess.run(
                ["bash", "-c", pipe], capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONPATH": root}
            )
        )
    assert done.stderr == ""
    assert done.stdout.startswith("1  2026-1")
    assert done.stdout.rstrip().endswith("a  x")


# --- status ----------------------------------------------------------------------------------------------------------


async def test_status_tells_what_receives_and_why_not(folder: Path) -> None:
    async with daemon(folder, {"status": answering(STATUS)}):
        done = await command("status")
        quick = await command("status", "--quick")
        full = await command("status", "--json")
    assert done.returncode == quick.returncode == full.returncode == 0
    assert "receives at 127.0.0.1:2525" in done.stdout
    assert "does not receive: token refused" in done.stdout
    assert "the key was refused" in done.stdout
    assert "40 answered, 2 queued" in done.stdout
    assert "uncertain" in done.stdout
    assert "\x1b" not in done.stdout
    assert quick.stdout == "degraded\n"
    assert json.loads(full.stdout) == STATUS


def test_a_status_of_another_version_is_shown_as_far_as_it_goes() -> None:
    assert lines({}) == lines({"channels": 5, "parked": "x", "store": None})


# --- people, rooms, audit --------------------------------------------------------------------------------------------


async def test_operations_are_asked_of_the_running_daemon(folder: Path) -> None:
    asked: list[Mapping[str, object]] = []
    person = {"id": "p1", "name": "Ben", "role": "guest", "active": False, "handles": ["telegram:7"]}
    handlers = {
        "people.list": answering({"people": [person]}, asked),
        "people.accept": answering({"person": person}, asked),
        "people.deactivate": answering({}, asked),
    }
    async with daemon(folder, handlers):
        listed = await command("people", "list")
        await command("people", "accept", "r1", "--role", "guest")
        gone = await command("people", "deactivate", "p1")
    assert "Ben (deactivated): telegram:7" in listed.stdout
    assert gone.stdout == "deactivated\n"
    assert asked == [
        {"op": "people.list"},
        {"op": "people.accept", "id": "r1", "role": "guest"},
        {"op": "people.deactivate", "id": "p1"},
    ]


async def test_what_the_daemon_says_against_it_is_printed_and_ends_with_1(folder: Path) -> None:
    async def no(peer: LocalPeer, first: Mapping[str, object]) -> None:
        await peer.send({"error": "refused", "message": "there is no open request r1"})

    async with daemon(folder, {"people.accept": no}):
        done = await command("people", "accept", "r1")
    assert (done.returncode, done.stderr) == (1, "openexecutive: there is no open request r1\n")


async def test_a_chain_that_does_not_hold_ends_with_1(folder: Path) -> None:
    broken = {"rows": 9, "erased": 0, "broken": ["row 4 was changed"], "head": {"row": 9, "hash": "h"}}
    asked: list[Mapping[str, object]] = []
    async with daemon(folder, {"audit.verify": answering(broken, asked)}):
        done = await command("audit", "verify", "--head", "7:abc")
    assert done.returncode == 1
    assert "row 4 was changed" in done.stdout
    assert asked == [{"op": "audit.verify", "row": 7, "hash": "abc"}]


async def test_entries_are_shown_with_their_texts_or_a_word_that_they_are_withheld(folder: Path) -> None:
    entry = {"id": 3, "at": NOON, "type": "message_received", "actor": "person:anna", "session": "s1"}

    async def show(peer: LocalPeer, first: Mapping[str, object]) -> None:
        allowed = "reason" in first
        await peer.send({"entry": {**entry, "payload": {"n": 1}, "text": "two\nlines\x1b[2J" if allowed else None}})
        await peer.send({"ok": True, "texts": allowed})

    async with daemon(folder, {"audit.show": show}):
        without = await command("audit", "show", "s1")
        given = await command("audit", "show", "s1", "--reason", "complaint")
        as_json = await command("audit", "show", "s1", "--json", "--reason", "complaint")
    assert "withheld" in without.stdout
    assert "message received: n 1  [s1]\n   | two\n   | lines" in given.stdout
    assert "\x1b" not in given.stdout
    assert json.loads(as_json.stdout)["text"].startswith("two")


async def test_without_a_daemon_the_store_is_used_under_its_lock(folder: Path) -> None:
    nothing = await command("people", "list")
    assert (nothing.returncode, "nothing in" in nothing.stderr) == (1, True)
    await asyncio.to_thread(folder.mkdir, mode=0o700)
    listed = await command("people", "list")
    assert (listed.returncode, listed.stdout) == (0, "nobody\n")
    assert (await command("audit", "verify")).stdout.startswith("sound: 0 rows")
    assert (await command("people", "accept", "r1")).returncode == 1


async def test_a_folder_that_another_daemon_holds_is_named(folder: Path) -> None:
    from bot.storage.lock import hold

    with hold(folder):
        done = await command("people", "list")
    assert done.returncode == 1
    assert "is in use by another daemon" in done.stderr


# --- pairing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "typed", "confirmed", "code"),
    [
        ("claimed", "y\n", [True], 0),
        ("claimed", "n\n", [False], 1),
        ("claimed", "\n", [False], 1),
        ("claimed", "", [False], 1),
        ("burned", "y\n", [], 1),
        ("expired", "y\n", [], 1),
    ],
)
async def test_pairing_shows_the_immutable_id_and_asks(
    folder: Path, state: str, typed: str, confirmed: list[bool], code: int
) -> None:
    asked: list[Mapping[str, object]] = []
    made = {"code_id": "c1", "code": "abcd-efgh-jkmn", "person": {"name": "Anna", "role": "principal"}}
    claim = {"state": state, "channel": "telegram", "address": "4711", "name": "Anna \u202eadmin"}
    handlers = {
        "pair.make": answering(made),
        "pair.wait": answering(claim),
        "pair.confirm": answering({}, asked),
    }
    async with daemon(folder, handlers):
        done = await command("pair", say=typed)
    assert done.returncode == code
    assert "abcd-efgh-jkmn" in done.stdout
    assert "\u202e" not in done.stdout
    assert ("4711" in done.stdout) is (state == "claimed")
    assert [answer["yes"] for answer in asked] == confirmed
