"""The whole program: a backup of a running daemon, put back, is a daemon that goes on; killed anywhere on the way it
leaves nothing that looks whole and is not."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import aiohttp
import pytest

from bot.backup import folder, restoring
from bot.kernel.supervise import start
from tests.backup.launcher import MAKING, RESTORING
from tests.e2e import daemon as programs
from tests.e2e.daemon import Daemon, audited, command, rows
from tests.e2e.farends import base_settings
from tests.e2e.test_embedded import answer, mail, submit

pytestmark = pytest.mark.timeout(300)
TOLD = "Our runway is eleven months."


@pytest.fixture(autouse=True)
def launched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Daemon and commands alike are run by the launcher, which does nothing unless it is told to."""
    launcher = (sys.executable, "-m", "tests.backup.launcher")
    monkeypatch.setattr(programs, "LAUNCHER", launcher)
    monkeypatch.setattr(programs, "PROGRAM", launcher)


async def talk(settings: Mapping[str, str], home: Path, die_at: str = "") -> Daemon:
    daemon = await Daemon.spawn(settings, home, launcher={"BACKUP_DIE_AT": die_at})
    await daemon.ready("email")
    about = mail(TOLD)
    assert await submit(daemon, about) == 250
    await answer(daemon, about)
    await daemon.settled()
    return daemon


async def link(settings: Mapping[str, str], home: Path) -> str:
    """One that signs the principal in at the console."""
    made = await command("console", "--print", "--person", "principal", settings=settings, home=home)
    assert made.code == 0, made
    return made.out.strip()


async def sign_in(link: str) -> None:
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser:
        async with browser.get(link) as page:
            guard = re.search(r'name="csrf" value="([^"]+)"', await page.text())
        assert guard is not None
        async with browser.post(link, data={"csrf": guard[1]}, allow_redirects=False) as answer:
            assert answer.status == 303


def told(data: Path) -> list[str]:
    return [str(row["text"]).strip() for row in rows(data, "SELECT text FROM message WHERE role = 'user'")]


async def test_a_backup_of_a_running_daemon_is_one_that_goes_on(home: Path) -> None:
    settings = base_settings(home / "data") | {"OPENEXECUTIVE_BACKUP__PASSPHRASE": "correct horse battery"}
    daemon = await talk(settings, home)
    try:
        token = await command("token", "create", "principal", settings=settings, home=home)
        assert token.code == 0, token
        await sign_in(await link(settings, home))
        await link(settings, home)
        made = await command("backup", "--json", settings=settings, home=home)
        assert made.code == 0, made
        path = Path(json.loads(made.out)["path"])
        assert path.parent == home / "data" / "backups"
        listed = await command("backup", "--list", settings=settings, home=home)
        assert path.name in listed.out
        elsewhere = await command("backup", "--to", str(home / "usb"), settings=settings, home=home)
        assert str(home / "usb") in elsewhere.out, elsewhere
        later = mail("This comes after the backup.")
        assert await submit(daemon, later) == 250
        await answer(daemon, later)
        await daemon.stop()
    finally:
        await daemon.abandon()
    into = home / "again"
    refused = await command("restore", str(path), "--into", str(into), settings=settings, home=home)
    assert refused.code == 1
    assert "erasures.jsonl" in refused.err
    wrong = {**settings, "OPENEXECUTIVE_BACKUP__PASSPHRASE": "another one entirely"}
    arguments = ("restore", str(path), "--into", str(into), "--without-journal")
    assert (await command(*arguments, settings=wrong, home=home)).code == 1
    assert not into.exists()
    done = await command(*arguments, settings=settings, home=home)
    assert done.code == 0, done
    assert "held for a look: 0" in done.out
    assert told(into) == [TOLD]
    # What is revoked, signed out or used after the backup must not open anything again.
    (holds,) = rows(into, "SELECT revoked_at IS NULL AS holds FROM access_token")
    assert not holds["holds"]
    (browser,) = rows(into, "SELECT ended_at IS NULL AS holds FROM browser_session")
    assert not browser["holds"]
    assert rows(into, "SELECT id FROM sign_in_link WHERE used_at IS NULL") == []
    again = base_settings(into) | {"OPENEXECUTIVE_BACKUP__PASSPHRASE": "correct horse battery"}
    verified = await command("audit", "verify", settings=again, home=home)
    assert verified.code == 0, verified
    daemon = await Daemon.spawn(again, home, launcher={})
    try:
        await daemon.ready("email")
        about = mail("And this after it was put back.")
        assert await submit(daemon, about) == 250
        await answer(daemon, about)
        held = await command("held", "list", settings=again, home=home)
        assert "nothing is held" in held.out
        await daemon.stop()
    finally:
        await daemon.abandon()


@pytest.mark.parametrize("point", MAKING)
async def test_a_kill_while_it_is_made_leaves_no_half_one(home: Path, point: str) -> None:
    settings = base_settings(home / "data")
    daemon = await talk(settings, home, point)
    try:
        asked = start("backup", command("backup", settings=settings, home=home))
        assert await daemon.ended() == -9, daemon.output
        assert (await asked).code != 0
    finally:
        await daemon.abandon()
    backups = home / "data" / "backups"
    before = folder.whole(backups)
    assert len(before) == (0 if point in ("copied", "half") else 1)
    for each in before:
        await restores(each.path, settings, home)
    made = await command("backup", settings=settings, home=home)
    assert made.code == 0, made
    assert len(folder.whole(backups)) == len(before) + 1
    assert all(path.name.endswith(folder.ENDING) for path in backups.iterdir()), "the rest was swept"
    assert len(audited(home / "data", "backup_made")) == (2 if point == "told" else 1)


async def restores(backup: Path, settings: Mapping[str, str], home: Path) -> None:
    into = home / f"check-{backup.stem}"
    done = await command("restore", str(backup), "--into", str(into), "--without-journal", settings=settings, home=home)
    assert done.code == 0, done
    assert told(into) == [TOLD]


@pytest.mark.parametrize("point", RESTORING)
async def test_a_kill_while_it_is_put_back_leaves_the_folder_empty(home: Path, point: str) -> None:
    settings = base_settings(home / "data")
    daemon = await talk(settings, home)
    try:
        await daemon.stop()
    finally:
        await daemon.abandon()
    made = await command("backup", "--json", settings=settings, home=home)
    path = Path(json.loads(made.out)["path"])
    into = home / "again"
    into.mkdir()
    arguments = ("restore", str(path), "--into", str(into), "--without-journal")
    killed = await command(*arguments, settings={**settings, "BACKUP_DIE_AT": point}, home=home)
    assert killed.code == -9, killed
    assert list(into.iterdir()) == []
    done = await command(*arguments, settings=settings, home=home)
    assert done.code == 0, done
    assert told(into) == [TOLD]
    assert not restoring.beside(into).exists()
