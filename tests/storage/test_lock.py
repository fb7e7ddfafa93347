"""One daemon to a data folder, seen from another process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bot.kernel.errors import PermanentError
from bot.storage import lock

HOLD = """
import sys
from pathlib import Path
from bot.kernel.errors import PermanentError
from bot.storage import lock
try:
    with lock.hold(Path(sys.argv[1])):
        print("held", flush=True)
        sys.stdin.readline()
except lock.FolderInUseError as error:
    print(error.message, flush=True)
    sys.exit(1)
"""


def _start(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def _first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def test_a_second_process_is_refused_with_the_folder_the_process_and_the_way_out(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with _start(folder) as first:
        assert _first_line(first) == "held\n"
        with _start(folder) as second:
            told = _first_line(second)
            assert second.wait(timeout=30) == 1
        assert str(folder) in told
        assert str(first.pid) in told
        assert "OPENEXECUTIVE_DATA_DIR" in told
        first.communicate("\n", timeout=30)
    assert first.returncode == 0


def test_a_killed_process_lets_go(tmp_path: Path) -> None:
    with _start(tmp_path) as first:
        assert _first_line(first) == "held\n"
        first.kill()
        first.communicate(timeout=30)
    with lock.hold(tmp_path):
        assert (tmp_path / "daemon.lock").read_text() == f"{os.getpid()}\n"


def test_the_same_process_cannot_hold_a_folder_twice(tmp_path: Path) -> None:
    with lock.hold(tmp_path), pytest.raises(lock.FolderInUseError, match=str(os.getpid())), lock.hold(tmp_path):
        pass
    with lock.hold(tmp_path):
        pass


def test_the_folder_is_made_for_its_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "data"
    with lock.hold(folder):
        assert folder.stat().st_mode & 0o777 == 0o700
        assert (folder / "daemon.lock").stat().st_mode & 0o777 == 0o600
    folder.chmod(0o755)
    with lock.hold(folder):
        assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("where", ["a file", "a file/below"])
def test_what_cannot_be_a_folder_is_named_with_the_way_out(tmp_path: Path, where: str) -> None:
    (tmp_path / "a file").touch()
    with pytest.raises(PermanentError, match="OPENEXECUTIVE_DATA_DIR"), lock.hold(tmp_path / where):
        pass


def test_a_folder_without_room_for_the_lock_is_named_too(tmp_path: Path) -> None:
    (tmp_path / "daemon.lock").mkdir()
    with pytest.raises(PermanentError, match="OPENEXECUTIVE_DATA_DIR"), lock.hold(tmp_path):
        pass
