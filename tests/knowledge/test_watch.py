"""A watched folder: what is new or changed in it is offered, and waits."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bot.kernel.errors import TransientError
from bot.knowledge.model import Origin, Status
from bot.knowledge.watch import Watcher
from tests.knowledge.desk import ANNA, OPERATOR, Desk


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "watched"
    (folder / "below").mkdir(parents=True)
    return folder


def watcher(desk: Desk, folder: Path, limit: int = 1_000_000) -> Watcher:
    return Watcher(folder, "company", desk.database, desk.library, desk.blobs, desk.clock, limit)


def put(desk: Desk, path: Path, text: str, seconds_ago: float = 60) -> None:
    path.write_text(text, encoding="utf-8")
    when = desk.clock.now().timestamp() - seconds_ago
    os.utime(path, (when, when))


async def test_new_and_changed_files_wait_for_a_yes_and_others_are_left_alone(desk: Desk, folder: Path) -> None:
    put(desk, folder / "a.md", "zebra one")
    put(desk, folder / "below" / "b.txt", "zebra two")
    looking = watcher(desk, folder)
    taken = await looking.look()
    assert [(each.name, each.status, each.origin) for each in taken] == [
        ("a.md", Status.PENDING, Origin.WATCHED),
        ("below - b.txt", Status.PENDING, Origin.WATCHED),
    ]
    assert await desk.found("zebra") == []
    assert await looking.look() == []
    await desk.library.approve(taken[0].id, ANNA)
    put(desk, folder / "a.md", "zebra changed", 30)
    (changed,) = await looking.look()
    assert (changed.version, changed.status) == (2, Status.PENDING)
    (stub,) = (await desk.search.search(OPERATOR, "zebra")).stubs
    assert stub.snippet == "zebra one", "the old one serves"


async def test_a_restart_offers_nothing_again(desk: Desk, folder: Path) -> None:
    put(desk, folder / "a.md", "zebra one")
    (taken,) = await watcher(desk, folder).look()
    await desk.library.reject(taken.id, ANNA)
    assert await watcher(desk, folder).look() == []


async def test_what_is_still_being_written_is_left_for_the_next_look(desk: Desk, folder: Path) -> None:
    put(desk, folder / "a.md", "zebra on", seconds_ago=1)
    looking = watcher(desk, folder)
    assert await looking.look() == []
    put(desk, folder / "a.md", "zebra one", seconds_ago=6)
    assert len(await looking.look()) == 1


async def test_links_hidden_files_and_large_ones_are_not_taken(desk: Desk, folder: Path, tmp_path: Path) -> None:
    put(desk, tmp_path / "outside.md", "zebra outside")
    (folder / "link.md").symlink_to(tmp_path / "outside.md")
    (folder / "linked").symlink_to(tmp_path, target_is_directory=True)
    put(desk, folder / ".hidden.md", "zebra hidden")
    put(desk, folder / "~$lock.docx", "zebra lock")
    put(desk, folder / "large.txt", "zebra " * 100)
    os.mkfifo(folder / "pipe.md")
    assert await watcher(desk, folder, limit=100).look() == []


async def test_a_folder_that_is_not_there_is_looked_at_again_later(desk: Desk, tmp_path: Path) -> None:
    with pytest.raises(TransientError, match="cannot be read"):
        await watcher(desk, tmp_path / "nowhere").look()
