from __future__ import annotations

import os
import socket
from datetime import timedelta
from pathlib import Path

import pytest

from bot.kernel.notify import notify, watchdog_interval


@pytest.mark.parametrize("abstract", [False, True])
def test_the_manager_is_told(tmp_path: Path, abstract: bool) -> None:
    name = f"@openexecutive-test-{os.getpid()}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind("\0" + name[1:] if abstract else name)
        manager.settimeout(5)
        assert notify({"NOTIFY_SOCKET": name}, "READY=1\nSTATUS=here")
        assert manager.recv(100) == b"READY=1\nSTATUS=here"


@pytest.mark.parametrize("address", [None, "", "vsock:2:1234", "relative"])
def test_nobody_to_tell(address: str | None) -> None:
    assert not notify({} if address is None else {"NOTIFY_SOCKET": address}, "READY=1")


def test_a_manager_that_is_gone_is_no_failure(tmp_path: Path) -> None:
    assert not notify({"NOTIFY_SOCKET": str(tmp_path / "gone")}, "READY=1")
    assert not notify({"NOTIFY_SOCKET": "/" + "x" * 200}, "READY=1")


@pytest.mark.parametrize(
    ("environ", "every"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "30000000"}, timedelta(seconds=15)),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "7"}, timedelta(seconds=15)),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "8"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
    ],
)
def test_how_often_the_watchdog_is_due(environ: dict[str, str], every: timedelta | None) -> None:
    assert watchdog_interval(environ, pid=7) == every
