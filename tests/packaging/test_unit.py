from __future__ import annotations

import configparser
import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from config import keys
from config.schema import Settings
from tests.packaging.dockerfile import ROOT

UNIT = ROOT / "systemd" / "openexecutive.service"
ANALYZE = shutil.which("systemd-analyze")


def service() -> configparser.SectionProxy:
    parser = configparser.ConfigParser(interpolation=None, strict=False, delimiters=("=",), comment_prefixes=("#",))
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(UNIT)
    return parser["Service"]


@pytest.fixture
def runnable(tmp_path: Path) -> Path:
    """The unit with a program that exists here, and with its credentials asked for."""
    text = UNIT.read_text().replace("/opt/openexecutive/bin/openexecutive", sys.executable)
    copy = tmp_path / UNIT.name
    copy.write_text(text.replace("#LoadCredential", "LoadCredential"))
    return copy


@pytest.mark.skipif(ANALYZE is None, reason="systemd is not installed")
def test_systemd_understands_every_line(runnable: Path) -> None:
    assert ANALYZE is not None
    done = subprocess.run([ANALYZE, "verify", str(runnable)], capture_output=True, text=True, check=False)
    ours = [line for line in done.stderr.splitlines() if UNIT.name in line]
    assert (done.returncode, ours) == (0, [])


@pytest.mark.skipif(ANALYZE is None, reason="systemd is not installed")
def test_systemd_rates_it_as_little_exposed(runnable: Path) -> None:
    assert ANALYZE is not None
    command = [ANALYZE, "security", "--offline=true", "--threshold=25", str(runnable)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-500:]


def test_the_state_folder_is_the_data_folder() -> None:
    unit = service()
    assert unit["StateDirectory"] == "openexecutive"
    assert unit["Environment"] == "OPENEXECUTIVE_DATA_DIR=%S/openexecutive"
    assert unit["StateDirectoryMode"] == "0700"


def test_a_stop_is_given_longer_than_the_daemon_takes() -> None:
    assert int(service()["TimeoutStopSec"]) > 2 * Settings().limits.drain.total_seconds()


def test_wrong_settings_are_not_tried_again_and_again() -> None:
    unit = service()
    assert unit["Restart"] == "on-failure"
    assert unit["RestartPreventExitStatus"] == "2"
    assert unit["Type"] == "notify"


def test_credentials_are_named_like_the_secrets() -> None:
    lines = [line for line in UNIT.read_text().splitlines() if line.startswith("#LoadCredential=")]
    names = [line.partition("=")[2].partition(":")[0] for line in lines]
    assert len(names) == 3
    assert set(names) <= {key.dotted for key in keys.secrets()}


# prctl(2): PR_SET_MDWE (Linux 6.3) is what MemoryDenyWriteExecute= does by a system call filter.
PROBE = """
import ctypes
libc = ctypes.CDLL(None)
if libc.prctl(65, 1, 0, 0, 0) != 0:
    raise SystemExit(77)
code = "import ctypes, ssl, sqlite3, lxml.etree, PIL.Image, pydantic, sqlalchemy, cryptography.hazmat.bindings._rust"
import subprocess, sys
raise SystemExit(subprocess.run([sys.executable, "-c", code]).returncode)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "prctl"), reason="Linux only")
def test_the_native_libraries_run_without_writable_code() -> None:
    assert service()["MemoryDenyWriteExecute"] == "yes"
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip("this kernel cannot deny it")
    assert done.returncode == 0, done.stderr
