"""After a deletion the words are in no file of the data folder, whenever the daemon was killed on the way; the words of
other conversations still are."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from bot.kernel.supervise import start
from tests.e2e import daemon as programs
from tests.e2e.daemon import Daemon, audited, command, rows
from tests.e2e.farends import base_settings
from tests.e2e.test_embedded import answer, mail, submit
from tests.erasure.launcher import POINTS

SECRET = "zanzibarmerger"
OTHER = "unrelatedplan"

pytestmark = pytest.mark.timeout(300)


def files_with(data: Path, word: str) -> list[str]:
    """Files of the data folder in which a word stands, its logs and the write-ahead log included."""
    return sorted(
        str(path.relative_to(data)) for path in data.rglob("*") if path.is_file() and word.encode() in path.read_bytes()
    )


async def spawn(settings: Mapping[str, str], home: Path, monkeypatch: pytest.MonkeyPatch, die_at: str = "") -> Daemon:
    monkeypatch.setattr(programs, "LAUNCHER", (sys.executable, "-m", "tests.erasure.launcher"))
    daemon = await Daemon.spawn(settings, home, launcher={"ERASE_DIE_AT": die_at})
    await daemon.ready("email")
    return daemon


async def talk(daemon: Daemon) -> None:
    about = mail(f"We plan the {SECRET} for May.")
    about.replace_header("Subject", f"The {SECRET}")
    about.add_attachment(
        f"figures of the {SECRET}".encode(), maintype="text", subtype="plain", filename=f"{SECRET}.txt"
    )
    assert await submit(daemon, about) == 250
    first = await answer(daemon, about)
    again = mail(f"When is the {SECRET}?", answers=first)
    assert await submit(daemon, again) == 250
    await answer(daemon, again)
    other = mail(f"The {OTHER} is for June.")
    assert await submit(daemon, other) == 250
    await answer(daemon, other)
    await daemon.settled()


def session_of(data: Path, word: str) -> str:
    (found,) = rows(data, "SELECT DISTINCT session_id FROM message WHERE text LIKE ?", [f"%{word}%"])
    return str(found["session_id"])


async def erased(daemon: Daemon) -> None:
    await daemon.until(lambda: bool(audited(daemon.data, "erasure_done")))


def check(data: Path) -> None:
    assert files_with(data, SECRET) == []
    assert {"openexecutive.db"} <= set(files_with(data, OTHER))
    assert any(name.startswith("maildir/") for name in files_with(data, OTHER))
    (done,) = audited(data, "erasure_done")
    payload = json.loads(done["payload"])
    assert (payload["messages"], payload["events"], payload["rewritten"]) == (4, 2, True)


async def test_the_words_are_in_no_file_of_the_data_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = base_settings(home / "data")
    daemon = await spawn(settings, home, monkeypatch)
    try:
        await talk(daemon)
        before = files_with(daemon.data, SECRET)
        assert any(name.startswith("blobs/") for name in before)
        assert any(name.startswith("maildir/") for name in before)
        listed = await command("sessions", "list", settings=settings, home=home)
        session = session_of(daemon.data, SECRET)
        assert session in listed.out
        assert SECRET not in listed.out
        refused = await command("sessions", "delete", "nobody", "--reason", "x", settings=settings, home=home)
        assert refused.code == 1
        deleted = await command(
            "sessions", "delete", session, "--reason", "a wish of Ann's", settings=settings, home=home
        )
        assert deleted.code == 0, deleted
        assert "4 messages" in deleted.out
        await erased(daemon)
        await daemon.stop()
        check(daemon.data)
        verified = await command("audit", "verify", settings=settings, home=home)
        assert verified.code == 0, verified
        explained = await command("explain", session, "--reason", "a look", settings=settings, home=home)
        assert "No request of this turn is kept" in explained.out
    finally:
        await daemon.abandon()


@pytest.mark.parametrize("point", POINTS)
async def test_a_kill_anywhere_on_the_way_is_made_good_by_the_next_start(
    home: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    settings = base_settings(home / "data")
    daemon = await spawn(settings, home, monkeypatch, point)
    try:
        await talk(daemon)
        session = session_of(daemon.data, SECRET)
        delete = ("sessions", "delete", session, "--reason", "a wish")
        ended = start("delete", command(*delete, settings=settings, home=home))
        assert await daemon.ended() == -9, daemon.output
        await ended
        daemon = await spawn(settings, home, monkeypatch)
        if point == "in_transaction":
            assert files_with(daemon.data, SECRET) != [], "nothing had happened"
            assert (await command(*delete, settings=settings, home=home)).code == 0
        await erased(daemon)
        await daemon.stop()
        check(daemon.data)
    finally:
        await daemon.abandon()


async def test_without_a_daemon_the_rest_is_done_by_the_next_start(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = base_settings(home / "data")
    daemon = await spawn(settings, home, monkeypatch)
    try:
        await talk(daemon)
        await daemon.stop()
        session = session_of(daemon.data, SECRET)
        deleted = await command("sessions", "delete", session, "--reason", "a wish", settings=settings, home=home)
        assert "when the daemon runs again" in deleted.out, deleted
        daemon = await spawn(settings, home, monkeypatch)
        await erased(daemon)
        await daemon.stop()
        check(daemon.data)
    finally:
        await daemon.abandon()
