from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from bot.control.client import Connection, ControlError, GoneError, NotRunningError, call, stream
from bot.control.peer import may_enter
from bot.control.server import Server
from bot.control.wire import MAX_LINE, MalformedError, decode, encode
from bot.gateway.channel import LocalPeer
from bot.kernel.errors import PermanentError, TransientError
from tests.control.serving import ask, serving


async def echo(peer: LocalPeer, first: Mapping[str, object]) -> None:
    await peer.send({"ok": True, "got": first.get("word")})


async def echo_all(peer: LocalPeer, first: Mapping[str, object]) -> None:
    while (message := await peer.receive()) is not None:
        await peer.send(message)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "control.sock"


async def raw(path: Path, data: bytes) -> dict[str, object]:
    """What the server answers to these bytes."""
    reader, writer = await asyncio.open_unix_connection(path)
    writer.write(data)
    line = await reader.readline()
    writer.close()
    await writer.wait_closed()
    answer: dict[str, object] = json.loads(line)
    return answer


async def test_an_operation_is_answered(path: Path) -> None:
    async with serving(path, {"echo": echo}):
        assert await ask(path, "echo", word="grüße ☃") == {"ok": True, "got": "grüße ☃"}


async def test_the_socket_is_closed_to_other_accounts_from_the_first_moment(path: Path) -> None:
    async with serving(path, {}):
        mode = path.stat().st_mode  # noqa: ASYNC240
        assert stat.S_ISSOCK(mode)
        assert stat.S_IMODE(mode) == 0o600


@pytest.mark.parametrize(("uid", "owner", "enters"), [(1000, 1000, True), (0, 1000, True), (1001, 1000, False)])
def test_only_the_owner_and_root_may_enter(uid: int, owner: int, enters: bool) -> None:
    assert may_enter(uid, owner) is enters


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can connect as somebody else")
async def test_a_process_of_another_user_is_turned_away_and_counted(path: Path) -> None:
    script = (
        "import os, socket, sys\n"
        "os.chdir(sys.argv[1]); os.setgid(65534); os.setuid(65534)\n"
        "s = socket.socket(socket.AF_UNIX)\ns.connect('control.sock')\n"
        "print(s.makefile().readline())"
    )
    command = [sys.executable, "-I", "-S", "-c", script, str(path.parent)]
    path.parent.chmod(0o711)
    refused: list[str] = []
    async with serving(path, {"echo": echo}, refused):
        path.chmod(0o666)  # noqa: ASYNC240 - as if somebody had opened the socket by mistake
        done = await asyncio.to_thread(
            lambda: subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
        )
    assert json.loads(done.stdout)["error"] == "forbidden"
    assert refused == ["foreign_user"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may always enter")
async def test_a_user_who_is_not_the_owner_is_turned_away(path: Path) -> None:
    refused: list[str] = []
    async with serving(path, {"echo": echo}, refused, owner=os.geteuid() + 1):
        with pytest.raises(ControlError):
            await ask(path, "echo")
    assert refused == ["foreign_user"]


async def test_unknown_operations_are_refused(path: Path) -> None:
    async with serving(path, {"echo": echo}):
        with pytest.raises(ControlError, match="does not know"):
            await ask(path, "__class__")


@pytest.mark.parametrize("line", [b"\n", b"[]\n", b"nonsense\n", b"\xff\xfe\n", b'{"op": 1}\n', b"[" * 9_000 + b"\n"])
async def test_what_is_no_request_gets_an_error_and_harms_nobody(path: Path, line: bytes) -> None:
    async with serving(path, {"echo": echo}):
        assert (await raw(path, line))["error"] in ("bad_request", "unknown_op")
        assert await ask(path, "echo", word="x") == {"ok": True, "got": "x"}


async def test_a_line_without_end_is_cut_off_at_the_limit(path: Path) -> None:
    async with serving(path, {"echo": echo}):
        assert (await raw(path, b"x" * (MAX_LINE + 1)))["error"] == "bad_request"


def test_too_long_a_message_is_refused_before_it_is_sent() -> None:
    with pytest.raises(PermanentError, match="too long"):
        encode({"text": "x" * MAX_LINE})


def test_lone_surrogates_do_not_stop_a_message() -> None:
    assert decode(encode({"text": "a\ud800b"})) == {"text": "a?b"}


@pytest.mark.parametrize("line", [rb'{"a":"\ud800"}', rb'{"a":[{"\uDFFF":1}]}', rb'{"a":"\udc00\ud800"}'])
def test_half_characters_are_malformed_before_any_handler_stumbles_over_them(line: bytes) -> None:
    with pytest.raises(MalformedError):
        decode(line + b"\n")


def test_whole_characters_may_be_written_as_two_halves() -> None:
    assert decode(rb'{"a":"\ud83d\ude00 \\ud800"}' + b"\n") == {"a": "\U0001f600 \\ud800"}


def test_lines_that_are_no_objects_are_malformed() -> None:
    with pytest.raises(MalformedError):
        decode(b'"text"\n')


async def test_a_bug_in_a_handler_shows_nothing_of_the_inside(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def broken(peer: LocalPeer, first: Mapping[str, object]) -> None:
        raise ValueError("secret inside")

    async with serving(path, {"broken": broken, "echo": echo}):
        answer = await raw(path, b'{"op":"broken"}\n')
        assert answer["error"] == "failed"
        assert "secret inside" not in json.dumps(answer)
        assert "secret inside" in caplog.text
        assert await ask(path, "echo", word="x") == {"ok": True, "got": "x"}


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (PermanentError("never"), "refused"),
        (TransientError("later"), "unavailable"),
        (MalformedError("?"), "bad_request"),
    ],
)
async def test_foreseen_failures_reach_the_person_in_words(path: Path, failure: Exception, code: str) -> None:
    async def failing(peer: LocalPeer, first: Mapping[str, object]) -> None:
        raise failure

    async with serving(path, {"failing": failing}):
        assert await raw(path, b'{"op":"failing"}\n') == {"error": code, "message": str(failure)}


async def test_connections_do_not_wait_for_each_other(path: Path) -> None:
    gate = asyncio.Barrier(20)

    async def together(peer: LocalPeer, first: Mapping[str, object]) -> None:
        await gate.wait()
        await peer.send({"ok": True})

    async with serving(path, {"together": together}):
        answers = await asyncio.gather(*(raw(path, b'{"op":"together"}\n') for _ in range(20)))
    assert answers == [{"ok": True}] * 20


async def test_a_handler_that_sends_to_a_peer_that_left_does_no_harm(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ended = asyncio.Event()

    async def talkative(peer: LocalPeer, first: Mapping[str, object]) -> None:
        try:
            while True:
                await peer.send({"text": "x" * 10_000})
        finally:
            ended.set()

    async with serving(path, {"talkative": talkative, "echo": echo}):
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(b'{"op":"talkative"}\n')
        await reader.readline()
        writer.transport.abort()
        async with asyncio.timeout(10):
            await ended.wait()
        assert await ask(path, "echo", word="x") == {"ok": True, "got": "x"}
    assert "Traceback" not in caplog.text


async def test_a_peer_that_does_not_read_is_given_up(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.control.peer.STALLED_AFTER", 0.05)
    given_up = asyncio.Event()

    async def talkative(peer: LocalPeer, first: Mapping[str, object]) -> None:
        try:
            while True:
                await peer.send({"text": "x" * 100_000})
        except TransientError:
            given_up.set()

    async with serving(path, {"talkative": talkative}):
        _, writer = await asyncio.open_unix_connection(path)
        writer.write(b'{"op":"talkative"}\n')
        async with asyncio.timeout(10):
            await given_up.wait()
        writer.close()


async def test_a_stop_cuts_connections_and_takes_the_file_away(path: Path) -> None:
    async with serving(path, {"echo_all": echo_all}):
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(b'{"op":"echo_all"}\n{"n":1}\n')
        assert await reader.readline() == b'{"n":1}\n'
    async with asyncio.timeout(10):
        assert await reader.read() == b""
    writer.close()
    assert not path.exists()  # noqa: ASYNC240


async def test_a_file_left_by_a_dead_daemon_is_replaced(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with pytest.raises(NotRunningError):
        call(path, "echo")
    async with serving(path, {"echo": echo}):
        assert (await ask(path, "echo"))["ok"] is True


def test_something_else_in_the_way_is_left_alone_and_named(path: Path) -> None:
    path.write_text("mine")
    with pytest.raises(PermanentError, match="in the way"):
        Server(path, {}, lambda _: None).listen()
    assert path.read_text() == "mine"


async def test_a_path_longer_than_a_socket_address_works(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30) / ("deep" * 30)
    folder.mkdir(parents=True)
    path = folder / "control.sock"
    assert len(bytes(path)) > 200
    async with serving(path, {"echo": echo}):
        assert path.exists()
        assert (await ask(path, "echo"))["ok"] is True
    assert not path.exists()
    with pytest.raises(NotRunningError):
        call(path, "echo")


def test_without_a_daemon_the_person_is_told_how_to_start_it(path: Path) -> None:
    with pytest.raises(NotRunningError, match=r"not running \(no socket at .*\): start it with `openexecutive run`"):
        call(path, "status")
    with pytest.raises(NotRunningError):
        call(path.parent / "no" / "folder" / "control.sock", "status")


async def test_a_daemon_that_hangs_up_is_told_apart_from_one_that_is_not_there(path: Path) -> None:
    async def silent(peer: LocalPeer, first: Mapping[str, object]) -> None:
        return

    async with serving(path, {"silent": silent}):
        with pytest.raises(GoneError):
            await ask(path, "silent")


async def test_many_answers_of_one_operation_are_streamed(path: Path) -> None:
    async def numbers(peer: LocalPeer, first: Mapping[str, object]) -> None:
        for n in range(1_000):
            await peer.send({"n": n})
        await peer.send({"ok": True})

    async with serving(path, {"numbers": numbers}):
        answers = await asyncio.to_thread(lambda: list(stream(path, "numbers", {}, timeout=10)))
    assert answers == [*({"n": n} for n in range(1_000)), {"ok": True}]


async def test_what_was_said_before_the_end_is_read_by_the_daemon(path: Path) -> None:
    """`finish` returns only when the daemon has taken everything."""
    heard: list[object] = []

    async def listener(peer: LocalPeer, first: Mapping[str, object]) -> None:
        while (message := await peer.receive()) is not None:
            heard.append(message["n"])

    def talk() -> None:
        with Connection(path) as connection:
            connection.send({"op": "listener"})
            for n in range(500):
                connection.send({"n": n})
            connection.finish()

    async with serving(path, {"listener": listener}):
        await asyncio.to_thread(talk)
        assert heard == list(range(500))


def test_the_client_loads_nothing_heavy() -> None:
    script = (
        "import sys, bot.control.client\n"
        "print([m for m in ('pydantic', 'sqlalchemy', 'asyncio', 'starlette') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
