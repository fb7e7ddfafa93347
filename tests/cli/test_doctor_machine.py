from __future__ import annotations

import os
import shutil
import socket
import stat
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
import trustme

from bot.cli.checks import machine
from bot.cli.checks.finding import Finding, Level
from bot.storage.lock import hold
from config.loader import load
from config.schema import Settings


def levels(findings: list[Finding]) -> set[Level]:
    return {finding.level for finding in findings}


def worst(findings: list[Finding]) -> Finding:
    (found,) = [finding for finding in findings if finding.level is not Level.OK]
    assert found.where
    assert found.mend
    return found


@pytest.mark.parametrize(
    ("version", "level"), [((3, 10, 9), Level.FAIL), ((3, 11, 0), Level.OK), ((4, 0, 0), Level.OK)]
)
def test_python_version(version: tuple[int, ...], level: Level) -> None:
    assert machine.python(version).level is level


def test_sqlite() -> None:
    assert machine.sqlite().level is Level.OK
    assert machine.sqlite((3, 34, 1)).level is Level.FAIL


def test_time_zones() -> None:
    assert machine.time_zones(["UTC", "Asia/Tokyo"]).level is Level.OK
    assert "tzdata" in machine.time_zones(["Mars/Olympus"]).mend


def test_clock() -> None:
    assert machine.clock(datetime(1970, 1, 1, tzinfo=UTC)).level is Level.FAIL
    assert machine.clock(datetime(2027, 1, 1, tzinfo=UTC)).level is Level.OK


# --- data folder ----------------------------------------------------------------------------------------------------


def test_a_folder_that_is_not_there_yet_is_fine(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    assert Level.FAIL not in levels(list(machine.data_folder(folder)))
    assert list(tmp_path.iterdir()) == [], "a check makes nothing"


def test_a_private_folder_is_fine_and_left_as_it_was(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    assert Level.FAIL not in levels(list(machine.data_folder(tmp_path)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o701])
def test_a_folder_that_is_open_to_others(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    folder.chmod(mode)
    found = [finding for finding in machine.data_folder(folder) if "other accounts" in finding.what]
    assert [finding.mend for finding in found] == [f"chmod 700 {folder}"]
    assert stat.S_IMODE(folder.stat().st_mode) == mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_account(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    os.chown(folder, 12345, 12345)
    found = [finding for finding in machine.data_folder(folder) if finding.level is Level.FAIL]
    assert "uid 12345" in found[0].mend


def test_a_file_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    assert "is not a folder" in worst(list(machine.data_folder(tmp_path / "data"))).what
    assert "is not a folder" in worst(list(machine.data_folder(tmp_path / "data" / "below"))).what


MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /home rw,relatime - nfs4 server:/home rw
31 30 8:2 / /home/local rw - xfs /dev/sdb rw
32 22 0:41 / /mnt/with\\040space rw - tmpfs tmpfs rw
33 22 0:42 / /homework rw - btrfs /dev/sdc rw
a broken line
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/lib/x", "ext4"),
        ("/home/anna/x", "nfs4"),
        ("/home/local/x", "xfs"),
        ("/homework/x", "btrfs"),
        ("/mnt/with space/x", "tmpfs"),
    ],
)
def test_which_file_system_a_folder_is_on(tmp_path: Path, path: str, kind: str) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS)
    assert machine.file_system(Path(path), mounts) == kind
    assert machine.file_system(Path(path), tmp_path / "none") is None


@pytest.mark.parametrize(
    ("kind", "level"),
    [
        ("ext4", Level.OK),
        ("nfs4", Level.FAIL),
        ("fuse.sshfs", Level.FAIL),
        ("tmpfs", Level.WARN),
        ("overlay", Level.WARN),
    ],
)
def test_file_systems_that_lose_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str, level: Level) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setattr(machine, "file_system", lambda path, mountinfo: kind)
    findings = list(machine.data_folder(tmp_path))
    assert findings[-1].level is level
    assert kind in findings[-1].what


@pytest.mark.parametrize(
    ("free", "level"), [(10_000_000, Level.FAIL), (500_000_000, Level.WARN), (5_000_000_000, Level.OK)]
)
def test_room_on_the_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free: int, level: Level) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    (found,) = [
        finding for finding in machine.data_folder(tmp_path) if "MB free" in finding.what or "GB" in finding.what
    ]
    assert found.level is level


# --- settings file --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "mode", "level"),
    [
        ('[llm]\napi_key = "k-12345"', 0o600, Level.OK),
        ('[llm]\napi_key = "k-12345"', 0o640, Level.WARN),
        ('[llm]\napi_key = "k-12345"', 0o644, Level.FAIL),
        ('log_level = "info"', 0o644, Level.OK),
    ],
)
def test_a_settings_file_with_secrets_is_closed(tmp_path: Path, text: str, mode: int, level: Level) -> None:
    file = tmp_path / "openexecutive.toml"
    file.write_text(text)
    file.chmod(mode)
    found = machine.settings_file(load({}, None, tmp_path, system_file=tmp_path / "x", docker_secrets=tmp_path / "x"))
    assert found.level is level
    assert "k-12345" not in repr(found)


def test_a_secret_from_the_environment_does_not_close_the_file(tmp_path: Path) -> None:
    file = tmp_path / "openexecutive.toml"
    file.write_text("")
    file.chmod(0o644)
    environ = {"OPENEXECUTIVE_LLM__API_KEY": "k-12345"}
    loaded = load(environ, None, tmp_path, system_file=tmp_path / "x", docker_secrets=tmp_path / "x")
    assert machine.settings_file(loaded).level is Level.OK


# --- certificate ----------------------------------------------------------------------------------------------------


def with_certificate(chain: Path, key: Path) -> Settings:
    return Settings.model_validate({"channels": {"email": {"smtp": {"certificate": chain, "key": key}}}})


def test_certificates(tmp_path: Path) -> None:
    issued = trustme.CA().issue_cert("localhost")
    other = trustme.CA().issue_cert("localhost")
    chain, key, wrong = tmp_path / "chain.pem", tmp_path / "key.pem", tmp_path / "wrong.pem"
    issued.cert_chain_pems[0].write_to_path(str(chain))
    issued.private_key_pem.write_to_path(str(key))
    other.private_key_pem.write_to_path(str(wrong))
    assert levels(list(machine.certificate(with_certificate(chain, key)))) == {Level.OK}
    assert "cannot be used" in worst(list(machine.certificate(with_certificate(chain, wrong)))).what
    assert "cannot be read" in worst(list(machine.certificate(with_certificate(chain, tmp_path / "gone")))).what
    key.write_text("no PEM")
    assert "cannot be used" in worst(list(machine.certificate(with_certificate(chain, key)))).what
    assert list(machine.certificate(Settings())) == []


# --- ports ----------------------------------------------------------------------------------------------------------


def listening_on(port: int, host: str = "127.0.0.1") -> Settings:
    return Settings.model_validate({"web": {"port": port, "host": host}, "channels": {"email": {"smtp": {"port": 0}}}})


def test_a_free_port_and_a_port_to_be_picked() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert levels(list(machine.ports(listening_on(port), running=False))) == {Level.OK}
    assert list(machine.ports(listening_on(0), running=False)) == []


def test_a_port_that_is_taken_by_another_or_by_the_daemon() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        settings = listening_on(server.getsockname()[1])
        found = worst(list(machine.ports(settings, running=False)))
        assert "another program" in found.what
        assert "web.port" in found.where
        assert levels(list(machine.ports(settings, running=True))) == {Level.OK}


@pytest.mark.parametrize(("host", "word"), [("203.0.113.7", "no such address"), ("nowhere.invalid", "no address")])
def test_an_address_that_is_not_ours(host: str, word: str) -> None:
    found = worst(list(machine.ports(listening_on(65000, host), running=False)))
    assert word in found.what
    assert "web.host" in found.mend


def test_whether_a_daemon_runs(tmp_path: Path) -> None:
    assert not machine.daemon_running(tmp_path)
    with hold(tmp_path):
        assert machine.daemon_running(tmp_path)
    assert not machine.daemon_running(tmp_path)
