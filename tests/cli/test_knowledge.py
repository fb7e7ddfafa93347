"""`openexecutive knowledge`, with a daemon and without one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bot.cli.status import lines
from bot.gateway.channel import LocalPeer
from tests.cli.program import command, daemon


@pytest.fixture
def started(folder: Path) -> Path:
    """A data folder, as a daemon that ran once has left it."""
    folder.mkdir(mode=0o700)
    return folder


async def test_without_a_daemon_a_document_is_added_found_and_removed(started: Path, tmp_path: Path) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "plan.md").write_text("# Plan\n\nthe quagga project\n")
    (tmp_path / "papers" / "photo.raw").write_bytes(b"\0\1")
    added = await command("knowledge", "add", str(tmp_path / "papers"), "--audience", "department:board")
    assert added.returncode == 0, added.stderr
    match = re.search(r"^(\S+) approved +department:board plan\.md \(version 1, 1 passages\)", added.stdout)
    assert match is not None, added.stdout
    found = await command("knowledge", "search", "quagga")
    assert "plan.md: Plan" in found.stdout
    assert "Found by words alone" in found.stdout
    removed = await command("knowledge", "remove", match[1])
    assert removed.stdout == "removed: plan.md\n"
    assert "nothing was found" in (await command("knowledge", "search", "quagga")).stdout
    assert (await command("knowledge", "list")).stdout == "no documents\n"


async def test_an_unreadable_file_is_named_and_counts_as_a_failure(started: Path, tmp_path: Path) -> None:
    (tmp_path / "scan.bin").write_bytes(bytes(range(256)) * 20)
    added = await command("knowledge", "add", str(tmp_path / "scan.bin"))
    assert added.returncode == 1
    assert "This kind of file cannot be read" in added.stdout
    gone = await command("knowledge", "add", str(tmp_path / "nothing.pdf"))
    assert gone.returncode == 1
    assert "is no file" in gone.stderr


async def test_before_the_first_start_there_is_nothing_to_add_to(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_text("x")
    added = await command("knowledge", "add", str(tmp_path / "plan.md"))
    assert added.returncode == 1
    assert "openexecutive run" in added.stderr


async def test_with_a_daemon_the_file_is_named_by_its_hash(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_text("zebra")
    asked: list[dict[str, object]] = []

    async def take(peer: LocalPeer, first: object) -> None:
        assert isinstance(first, dict)
        asked.append(first)
        await peer.send({"step": "reading", "done": 0, "of": 1})
        await peer.send(
            {
                "document": {
                    "id": "d1", "status": "pending", "audience": "company", "name": "plan\x1b[2J.md", "version": 2,
                    "chunks": 1, "note": None,
                },
                "ok": True,
            }
        )  # fmt: skip

    async with daemon(folder, {"knowledge.add": take}):
        added = await command("knowledge", "add", str(tmp_path / "plan.md"), "--department", "sales", "--yes")
    assert added.returncode == 0, added.stderr
    assert "openexecutive knowledge approve d1" in added.stdout
    assert "\x1b" not in added.stdout
    (request,) = asked
    assert (request["departments"], request["yes"], request["name"]) == (["sales"], True, "plan.md")
    blob = str(request["blob"])
    assert (folder / "blobs" / blob[:2] / blob).read_text() == "zebra"


@pytest.mark.parametrize(
    ("state", "reason", "words"),
    [
        ("serving", None, "search by meaning serves (4 of 5 passages)"),
        ("cold", "it was not needed yet", "is loaded when it is needed"),
        ("off", "the sentence model is not installed", "words only, the sentence model is not installed"),
        ("behind", "its folder is damaged and is being rebuilt", "words only, its folder is damaged"),
    ],
)
def test_status_says_how_documents_are_found(state: str, reason: str | None, words: str) -> None:
    vectors = {"state": state, "reason": reason, "items": 5, "embedded": 4}
    said = lines({"knowledge": {"documents": {"approved": 2, "pending": 1}, "vectors": vectors}})
    (line,) = [line for line in said if line.startswith("documents")]
    assert line.startswith("documents 2 approved, 1 pending; ")
    assert words in line
