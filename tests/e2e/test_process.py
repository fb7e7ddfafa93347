"""The process itself: exit codes, one daemon to a folder, signals."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.daemon import PATIENCE, TRACEBACK, Daemon, audited, command, running
from tests.e2e.farends import TelegramEnd, base_settings, counts
from tests.fakes.anthropic import FakeAnthropic
from tests.fakes.anthropic_reply import say
from tests.fakes.faults import Delay
from tests.fakes.telegram import FakeTelegram

pytestmark = pytest.mark.timeout(300)


@contextmanager
def manager(path: Path) -> Iterator[socket.socket]:
    """The service manager's end of sd_notify(3)."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.bind(str(path))
        told.setblocking(False)
        yield told


async def heard(told: socket.socket, message: bytes) -> None:
    """Return when the daemon has said `message` to the service manager."""
    async with asyncio.timeout(PATIENCE):
        while message not in await asyncio.get_running_loop().sock_recv(told, 4096):
            pass


async def test_a_second_daemon_on_the_same_folder_is_refused(home: Path) -> None:
    settings = base_settings(home / "data")
    async with running(settings, home, "email") as daemon:
        second = await command("run", settings=settings, home=home)
        assert second.code == 1
        assert f"in use by another daemon (process {daemon.process.pid})" in second.err
        assert TRACEBACK not in second.err
        await daemon.ready("email")


async def test_wrong_settings_are_all_told_and_nothing_is_started(home: Path) -> None:
    wrong = {
        **base_settings(home / "data"),
        "OPENEXECUTIVE_CHANNELS__TELEGRAM__ENABLED": "true",
        "OPENEXECUTIVE_LOG_LEVEL": "loud",
        "OPENEXECUTIVE_WEB__PROT": "1",
    }
    ended = await command("run", settings=wrong, home=home)
    assert ended.code == 2
    for key in ("channels.telegram.token", "log_level", "web__prot"):
        assert key in ended.err.lower(), ended.err
    assert TRACEBACK not in ended.err
    assert not (home / "data").exists()


async def test_a_roster_that_loses_its_last_principal_is_not_taken_over_unasked(home: Path) -> None:
    settings = base_settings(home / "data")
    async with running(settings, home, "email"):
        pass
    other = {**settings, "OPENEXECUTIVE_PEOPLE__ANN__NAME": "Ann", "OPENEXECUTIVE_PEOPLE__ANN__ROLE": "member"}
    ended = await command("run", settings=other, home=home)
    assert ended.code == 2, ended
    assert "--accept" in ended.err


async def test_status_without_a_daemon_says_so(home: Path) -> None:
    ended = await command("status", settings=base_settings(home / "data"), home=home)
    assert ended.code == 1
    assert "not running" in ended.err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_during_the_start_ends_it_cleanly(home: Path, number: signal.Signals) -> None:
    daemon = await Daemon.spawn(base_settings(home / "data"), home)
    try:
        await daemon.line(r"started, version")
        daemon.signal(number)
        code = await daemon.ended()
        assert code == 0, daemon.output
        daemon.assert_clean()
    finally:
        await daemon.abandon()


async def test_a_closed_terminal_stops_it_in_order(home: Path) -> None:
    async with running(base_settings(home / "data"), home) as daemon:
        daemon.signal(signal.SIGHUP)
        assert await daemon.ended() == 0
        assert "stopped, drained: True" in daemon.output


@pytest.mark.case(145)
async def test_case_145_sigterm_waits_for_a_send_that_is_under_way(home: Path, telegram: FakeTelegram) -> None:
    end = TelegramEnd(telegram)
    settings = {**base_settings(home / "data"), **end.settings()}
    telegram.faults.plan("sendMessage", Delay(gate="wire", when="before"))
    with manager(home / "notify") as told:
        settings["NOTIFY_SOCKET"] = str(home / "notify")
        async with running(settings, home, "telegram", launcher={"E2E_MODEL": "numbers"}) as daemon:
            await end.send(daemon, 1)
            await telegram.faults.gate("wire").reached.wait()
            daemon.signal(signal.SIGTERM)
            await heard(told, b"STOPPING=1")
            assert daemon.running
            telegram.faults.gate("wire").release()
            assert await daemon.ended() == 0
            daemon.assert_clean()
    (stopped,) = audited(home / "data", "daemon_stopped")
    assert '"drained":true' in stopped["payload"].replace(" ", "")
    async with running(settings, home, "telegram", launcher={"E2E_MODEL": "numbers"}) as daemon:
        await daemon.settled()
    assert [(count.plain, count.marked) for count in counts(end).values()] == [(1, 0)]


async def test_sigterm_does_not_wait_longer_than_its_bound_and_the_turn_is_run_again(
    home: Path, telegram: FakeTelegram, model: FakeAnthropic
) -> None:
    end = TelegramEnd(telegram)
    settings = {
        **base_settings(home / "data"),
        **end.settings(),
        "OPENEXECUTIVE_LLM__BASE_URL": model.url,
        "OPENEXECUTIVE_LIMITS__DRAIN": "1s",
    }
    model.reply_with(say("never to be said", gate="hang"))
    async with running(settings, home, "telegram") as daemon:
        await end.send(daemon, 1)
        await model.faults.gate("hang").reached.wait()
        await daemon.stop(within=30)
    async with running(settings, home, "telegram") as daemon:
        await daemon.until(lambda: 1 in counts(end))
        await daemon.settled()
    assert [(count.plain, count.marked) for count in counts(end).values()] == [(1, 0)]
    assert audited(home / "data", "turn_failed") == []
