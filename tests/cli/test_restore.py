"""A restore that cannot be is told what is wrong with it, before it is asked for anything else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.program import command


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "notes.txt"
    path.write_text("This is no backup, though it is long enough to be looked at.\n")
    return path


@pytest.mark.parametrize("more", [[], ["--without-journal"]])
async def test_a_file_that_is_no_backup_is_called_that(text: Path, tmp_path: Path, more: list[str]) -> None:
    done = await command("restore", str(text), "--into", str(tmp_path / "again"), *more)
    assert done.returncode == 1
    assert f"{text}: this is not a backup" in done.stderr
    assert "erasures" not in done.stderr
    assert not (tmp_path / "again").exists()


async def test_a_file_that_is_not_there_or_is_a_folder_is_named(tmp_path: Path) -> None:
    for path, why in ((tmp_path / "gone", "No such file"), (tmp_path, "Is a directory")):
        done = await command("restore", str(path), "--into", str(tmp_path / "again"))
        assert done.returncode == 1
        assert f"{path} cannot be restored: {why}" in done.stderr


async def test_a_folder_that_is_in_use_is_told_before_the_journal_is_asked_for(tmp_path: Path) -> None:
    backup = tmp_path / "one.oebackup"
    backup.write_bytes(b"OEBACK1\n" + bytes(64))
    done = await command("restore", str(backup), "--into", str(tmp_path))
    assert done.returncode == 1
    assert "is not empty" in done.stderr
