"""After a memory was forgotten its words are in no byte of the data folder, in no encoding, whenever the daemon was
killed on the way; what was said and remembered besides still is."""

from __future__ import annotations

import base64
import json
import sqlite3
import sys
import zlib
from asyncio import create_subprocess_exec
from asyncio.subprocess import PIPE
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e import daemon as programs
from tests.e2e.daemon import Daemon, audited, command, environment, rows
from tests.e2e.farends import base_settings
from tests.e2e.test_embedded import answer, mail, submit
from tests.erasure.launcher import OF_FORGETTING

WORDS = ("zanzibarmerger", "quillfeatherdeal", "gr\u00fcngewandt")
OTHER = "lisbonchairs"
TOLD = f"We settle the {WORDS[0]} with the {WORDS[1]} and the {WORDS[2]} in May."
KEPT = f"The {OTHER} are ordered for the new office in June."

pytestmark = pytest.mark.timeout(300)


def variants(word: str) -> Iterator[bytes]:
    for form in {word, word.upper(), word.title()}:
        yield form.encode()
        yield form.encode("utf-16-le")
        yield form.encode("utf-16-be")
        yield json.dumps(form)[1:-1].encode()
        yield form.encode().replace("\u00fc".encode(), b"=C3=BC")
        for shift in range(3):  # base64, wherever the word begins in its group of three
            encoded = base64.b64encode(b"\0" * shift + form.encode())
            yield encoded[4 if shift else 0 : -4]


def files_with(data: Path, word: str) -> list[str]:
    """Files of the data folder in whose bytes a word stands, in whatever encoding, the logs of the database included;
    and columns of it in which it stands compressed."""
    forms = set(variants(word))
    found = {
        str(path.relative_to(data))
        for path in data.rglob("*")
        if path.is_file() and any(form in (path.read_bytes()) for form in forms)
    }
    with closing(sqlite3.connect(f"file:{data / 'openexecutive.db'}?mode=ro", uri=True)) as connection:
        for (body,) in connection.execute("SELECT body FROM turn_prompt UNION ALL SELECT body FROM prompt_part"):
            if word.casefold() in zlib.decompress(body).decode().casefold():
                found.add("compressed")
    return sorted(found)


async def run(*arguments: str, settings: Mapping[str, str], home: Path, die_at: str = "") -> tuple[int, str]:
    process = await create_subprocess_exec(
        sys.executable, "-m", "tests.erasure.forgetter", *arguments, cwd=home,
        env=environment({**settings, "FORGET_DIE_AT": die_at}, home), stdout=PIPE, stderr=PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    assert process.returncode in (0, -9), err.decode()
    return process.returncode, out.decode()


async def spawn(settings: Mapping[str, str], home: Path, monkeypatch: pytest.MonkeyPatch, die_at: str = "") -> Daemon:
    monkeypatch.setattr(programs, "LAUNCHER", (sys.executable, "-m", "tests.erasure.launcher"))
    return await Daemon.spawn(settings, home, launcher={"ERASE_DIE_AT": die_at})


async def talk(settings: Mapping[str, str], home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    daemon = await spawn(settings, home, monkeypatch)
    try:
        await daemon.ready("email")
        about = mail(f"Good morning.\n\n{TOLD}\n\n{KEPT}")
        about.add_attachment(f"Minutes: {TOLD}".encode(), maintype="text", subtype="plain", filename="minutes.txt")
        assert await submit(daemon, about) == 250
        first = await answer(daemon, about)
        again = mail(f"When do we settle the {WORDS[0]} with the {WORDS[1]}?", answers=first)
        assert await submit(daemon, again) == 250
        second = await answer(daemon, again)
        chairs = mail("What about the chairs?", answers=second)
        assert await submit(daemon, chairs) == 250
        await answer(daemon, chairs)
        await daemon.settled()
        await daemon.stop()
        return daemon.data
    finally:
        await daemon.abandon()


def check(data: Path) -> None:
    assert {word: found for word in WORDS if (found := files_with(data, word))} == {}
    assert "openexecutive.db" in files_with(data, OTHER)
    statements = rows(data, "SELECT status, statement FROM claim ORDER BY seq")
    assert {"status": "erased", "statement": None} in statements
    assert {"status": "active", "statement": KEPT} in statements
    (done,) = audited(data, "erasure_done")
    payload = json.loads(done["payload"])
    assert (payload["why"], payload["rewritten"]) == ("memory", True)
    assert payload["memories"] >= 1
    assert payload["messages"] >= 2


async def test_the_words_are_in_no_byte_of_the_data_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = base_settings(home / "data")
    data = await talk(settings, home, monkeypatch)
    _, out = await run("remember", WORDS[0], OTHER, settings=settings, home=home)
    made, _ = json.loads(out)
    for word in WORDS:
        before = files_with(data, word)
        assert any(name.startswith("blobs/") for name in before), before
        assert "openexecutive.db" in before or "openexecutive.db-wal" in before
    assert any(name.startswith("maildir/") for name in files_with(data, WORDS[0]))
    await run("forget", made, settings=settings, home=home)
    daemon = await spawn(settings, home, monkeypatch)
    try:
        await daemon.ready("email")
        await daemon.until(lambda: bool(audited(data, "erasure_done")))
        await daemon.stop()
    finally:
        await daemon.abandon()
    check(data)
    (done,) = audited(data, "erasure_done")
    assert json.loads(done["payload"])["files"] >= 2, "the mail as it came, and what was attached to it"
    verified = await command("audit", "verify", settings=settings, home=home)
    assert verified.code == 0, verified


async def test_the_running_daemon_reads_remembers_and_forgets_and_its_backup_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole way, by commands: a mail, the memory that is made of it, a backup, the forgetting, the receipt, and the
    backup put back."""
    settings = base_settings(home / "data")
    daemon = await spawn(settings, home, monkeypatch)
    data = daemon.data
    decided = f"We decided to sell the {WORDS[0]} to {WORDS[1]} in May."
    kept = f"We decided to order the {OTHER} for the new office."

    def remembered() -> dict[str, str]:
        return {str(row["statement"]): str(row["id"]) for row in rows(data, "SELECT id, statement FROM claim")}

    try:
        await daemon.ready("email")
        for text in (decided, kept):
            one = mail(text)
            assert await submit(daemon, one) == 250
            await answer(daemon, one)
        await daemon.until(lambda: sum(any(w in each for w in (WORDS[0], OTHER)) for each in remembered()) >= 2)
        (claim,) = [id_ for statement, id_ in remembered().items() if WORDS[0] in statement]
        assert (await command("backup", settings=settings, home=home)).code == 0
        forgot = await command("memory", "forget", claim, "--reason", "private", "--yes", settings=settings, home=home)
        assert forgot.code == 0, forgot
        await daemon.until(lambda: bool(audited(data, "erasure_done")))
        await daemon.stop()
    finally:
        await daemon.abandon()
    (done,) = audited(data, "erasure_done")
    payload = json.loads(done["payload"])
    assert (payload["why"], payload["backups"]) == ("memory", 1)
    assert payload["until"] is not None
    assert {word: found for word in WORDS[:2] if (found := files_with(data, word))} == {}
    assert any(OTHER in statement for statement in remembered())
    (backup,) = (data / "backups").glob("*.oebackup")
    into = home / "again"
    done_again = await command("restore", str(backup), "--into", str(into), settings=settings, home=home)
    assert "erased again: 1 memories" in done_again.out, done_again
    assert rows(into, "SELECT 1 FROM message WHERE text LIKE ?", [f"%{WORDS[0]}%"]) == []
    assert rows(into, "SELECT 1 FROM claim WHERE statement LIKE ?", [f"%{OTHER}%"]) != []


POINTS = ["after_transaction", OF_FORGETTING[-1], "in_transaction", *OF_FORGETTING[:-1]]
"""The first two are always tried; the others, half a minute each, by `make test-slow`."""


@pytest.mark.parametrize("point", [*POINTS[:2], *(pytest.param(each, marks=pytest.mark.slow) for each in POINTS[2:])])
async def test_a_kill_anywhere_on_the_way_is_made_good(home: Path, monkeypatch: pytest.MonkeyPatch, point: str) -> None:
    settings = base_settings(home / "data")
    data = await talk(settings, home, monkeypatch)
    _, out = await run("remember", WORDS[0], OTHER, settings=settings, home=home)
    made, _ = json.loads(out)
    code, _ = await run("forget", made, settings=settings, home=home, die_at=point)
    if point == "in_transaction":
        assert code == -9
        assert files_with(data, WORDS[0]), "nothing had happened"
        code, _ = await run("forget", made, settings=settings, home=home)
    assert code == (-9 if point == "after_transaction" else 0)
    if point in OF_FORGETTING:
        daemon = await spawn(settings, home, monkeypatch, point)
        try:
            assert await daemon.ended() == -9, daemon.output
        finally:
            await daemon.abandon()
        assert audited(data, "erasure_done") == []
    daemon = await spawn(settings, home, monkeypatch)
    try:
        await daemon.until(lambda: (data / "openexecutive.db").exists() and bool(audited(data, "erasure_done")))
        await daemon.stop()
    finally:
        await daemon.abandon()
    check(data)
