"""The child against parsers that misbehave: it is reported, nothing survives it, and the daemon stays well."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from bot.files.lockdown import Protection
from bot.files.model import Limits, Unreadable
from bot.files.sandbox import Job, Sandbox
from bot.files.wire import Garbled, Output, Reason, Refused, frame_output, frame_refusal, read_answer
from bot.kernel.supervise import Supervisor
from tests.files.loopwatch import watched

MIB = 1024 * 1024
QUICK = Limits(wall=timedelta(milliseconds=700))
linux = pytest.mark.skipif(sys.platform != "linux", reason="the protections are Linux's")


def rogue(name: str, **arguments: int) -> Job:
    return Job(f"tests.files.rogue:{name}", arguments=arguments)


def children() -> set[int]:
    """Live (not zombie) children of this process."""
    found: set[int] = set()
    for thread in Path("/proc/self/task").iterdir():
        found |= {int(each) for each in (thread / "children").read_text().split()}
    return {pid for pid in found if alive(pid)}


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def group(leader: int) -> set[int]:
    """Live processes of a process group."""
    found = set()
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            try:
                fields = (each / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(fields[2]) == leader and fields[0] != "Z":
                found.add(int(each.name))
    return found


@pytest.fixture(autouse=True)
def _leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = children() if sys.platform == "linux" else set()
    yield
    assert list(tmp_path.glob("openexecutive-*")) == []
    if sys.platform == "linux":
        assert children() <= before


@pytest.mark.parametrize(
    ("name", "limits", "reason", "cause"),
    [
        ("loop", QUICK, Reason.TIMEOUT, "wall clock"),
        ("hang", QUICK, Reason.TIMEOUT, "wall clock"),
        ("loop", Limits(cpu=timedelta(seconds=1)), Reason.TIMEOUT, "CPU time"),
        ("hog", Limits(memory_bytes=256 * MIB), Reason.OUT_OF_MEMORY, ""),
        ("recurse", Limits(), Reason.DAMAGED, ""),
        ("fault", Limits(), Reason.CRASHED, "LookupError"),
        ("abort", Limits(), Reason.CRASHED, "exit code -6"),
        ("flood", Limits(output_bytes=MIB), Reason.TOO_LARGE, "output limit"),
        ("lie", Limits(), Reason.CRASHED, "a fact of a wrong type"),
        ("half", Limits(), Reason.CRASHED, "answer is not whole"),
        ("no_such_parser", Limits(), Reason.CRASHED, "AttributeError"),
    ],
)
async def test_misbehaviour_is_reported_in_words(name: str, limits: Limits, reason: Reason, cause: str) -> None:
    result = await Sandbox(limits).run(rogue(name), b"some bytes")
    assert isinstance(result, Unreadable)
    assert (result.reason, result.cause) == (reason, cause)
    assert result.detail.endswith(".")
    assert "words of the file" not in result.detail + result.cause


async def test_input_over_the_limit_starts_no_child() -> None:
    result = await Sandbox(Limits(input_bytes=MIB)).run(rogue("hang"), bytes(MIB + 1))
    assert isinstance(result, Unreadable)
    assert result.reason is Reason.TOO_LARGE
    assert "1 MB" in result.detail


async def test_output_is_bounded_to_the_byte() -> None:
    sandbox = Sandbox(Limits(output_bytes=MIB))
    fits = await sandbox.run(rogue("big", size=MIB), b"")
    assert isinstance(fits, Output)
    assert len(fits.body) == MIB
    over = await sandbox.run(rogue("big", size=2 * MIB), b"")
    assert isinstance(over, Unreadable)
    assert over.reason is Reason.TOO_LARGE


async def test_a_child_that_never_reads_its_input_does_not_hang_the_daemon() -> None:
    # The parser's module is missing, so the child answers and ends before it reads 20 MB.
    result = await Sandbox().run(Job("bot.files.parsers.missing:extract"), bytes(20 * MIB))
    assert isinstance(result, Unreadable)
    assert result.reason is Reason.CRASHED


@linux
async def test_kill_reaches_what_the_child_started() -> None:
    sandbox = Sandbox(Limits(wall=timedelta(seconds=1)))
    supervisor = Supervisor()
    before = children()
    job = supervisor.job("fork", sandbox.run(rogue("fork_and_hang"), b""))
    leaders: set[int] = set()
    most = 0
    while not job.done():
        leaders |= children() - before
        most = max(most, *(len(group(each)) for each in leaders), 0)
        await asyncio.wait({job}, timeout=0.02)
    result = await job
    assert isinstance(result, Unreadable)
    # Where the process limit binds (not for root), the fork itself is refused.
    assert (result.reason, most) in {(Reason.TIMEOUT, 2), (Reason.CRASHED, 1)}
    assert leaders
    assert all(group(each) == set() for each in leaders)


@linux
async def test_cancelling_kills_the_child_at_once() -> None:
    supervisor = Supervisor()
    before = children()
    job = supervisor.job("hang", Sandbox().run(rogue("hang"), b"x"))
    while not (started := children() - before):
        await asyncio.wait({job}, timeout=0.01)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert not any(alive(pid) for pid in started)


@linux
async def test_parser_sees_no_secret_file_network_or_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = tmp_path / "store.sqlite"
    secret.write_bytes(b"the company")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    inherited = os.open(secret, os.O_RDONLY)
    os.set_inheritable(inherited, True)
    sandbox = Sandbox()
    protections = await sandbox.protections()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        output = await sandbox.run(rogue("look_around", port=port, parent=os.getpid()), str(secret).encode())
    os.close(inherited)
    assert isinstance(output, Output)
    seen = output.facts
    # Enforced everywhere.
    assert Protection.LIMITS in protections
    assert seen["environment"] in {"", "LC_CTYPE"}  # the interpreter itself sets LC_CTYPE when there is no locale
    assert seen["descriptors"] == ""
    assert seen["folder"] in {"", "denied"}
    assert seen["write"] != "done"
    assert seen["asyncio"] == "False"
    # Enforced where the kernel offers it.
    if Protection.FILES_CLOSED in protections:
        assert seen["read"] == "PermissionError"
        assert seen["folder"] == "denied"
    if Protection.NO_NETWORK in protections:
        assert seen["datagram"] != "done"
    if protections & {Protection.NO_NETWORK, Protection.NO_TCP}:
        assert seen["connect"] != "done"


@linux
async def test_this_kind_of_machine_offers_every_protection_or_says_which_not() -> None:
    protections = await Sandbox().protections()
    assert {Protection.LIMITS, Protection.DIES_WITH_DAEMON} <= protections
    if Protection.FILES_CLOSED not in protections:
        pytest.skip("no Landlock here")
    output = await Sandbox().run(rogue("look_around", port=1, parent=os.getpid()), b"/etc/passwd")
    assert isinstance(output, Output)
    assert output.facts["read"] == "PermissionError"


@linux
async def test_no_signal_leaves_the_child_where_landlock_keeps_it_in() -> None:
    sandbox = Sandbox()
    if Protection.NO_SIGNALS not in await sandbox.protections():
        pytest.skip("no Landlock of ABI 6 or later here")
    output = await sandbox.run(rogue("look_around", port=1, parent=os.getpid()), b"/etc/passwd")
    assert isinstance(output, Output)
    assert output.facts["signal"] == "PermissionError"


async def test_a_file_handed_by_its_path_is_read_only_and_all_that_is_open(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_bytes(b"content")
    before = set(os.listdir("/proc/self/fd")) if sys.platform == "linux" else set()
    job = Job("tests.files.rogue:look_at_own_file", streams=True)
    output = await Sandbox().run(job, path)
    assert isinstance(output, Output)
    assert output.facts["content"] == "content"
    assert output.facts["write"] != "done"
    assert output.facts["others"] == ""
    if Protection.FILES_CLOSED in await Sandbox().protections():
        assert output.facts["again"] != "done"
    assert path.read_bytes() == b"content"
    if sys.platform == "linux":
        assert set(os.listdir("/proc/self/fd")) <= before


async def test_a_file_that_went_away_or_is_a_link_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    for name in ("gone", "link"):
        result = await Sandbox().run(Job("tests.files.rogue:look_at_own_file", streams=True), tmp_path / name)
        assert isinstance(result, Unreadable)
        assert (result.reason, result.detail) == (Reason.CRASHED, "The file is no longer kept here.")


async def test_the_limit_is_for_the_way_a_parser_reads(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_bytes(b"a" * 3000)
    sandbox = Sandbox(Limits(input_bytes=2000, stream_bytes=4000))
    whole = await sandbox.run(Job("bot.files.parsers.html:extract", ("lxml",)), path)
    assert isinstance(whole, Unreadable)
    assert whole.detail == "The file is larger than the 2,000 bytes that can be read."
    job = Job("bot.files.parsers.text:extract", arguments={"max_chars": 10}, streams=True)
    for source in (path, b"a" * 3000):
        assert isinstance(await sandbox.run(job, source), Output)
    path.write_bytes(b"a" * 4001)
    assert isinstance(await sandbox.run(job, path), Unreadable)


async def test_at_most_two_children_run_at_a_time() -> None:
    sandbox = Sandbox(QUICK, at_once=2)
    started = asyncio.get_running_loop().time()
    results = await asyncio.gather(*(sandbox.run(rogue("hang"), b"") for _ in range(4)))
    # Two rounds of 0.7 s: waiting for a turn does not count against the wall clock of the second pair.
    assert asyncio.get_running_loop().time() - started >= 1.4
    assert {each.cause for each in results if isinstance(each, Unreadable)} == {"wall clock"}


async def test_the_loop_is_not_held_up_by_a_looping_child_or_a_large_file() -> None:
    with watched() as gaps:
        await asyncio.gather(
            Sandbox(QUICK).run(rogue("loop"), bytes(24 * MIB)), Sandbox(QUICK).run(rogue("big", size=7 * MIB), b"")
        )
    assert gaps.ticks > 20
    assert gaps.longest < 0.1


@pytest.mark.parametrize(
    "raw",
    [b"", b"{}", b"no json\n", b"[]\n", b'{"ok":true}\n', b'{"ok":false}\n', b"[" * 60_000 + b"\n",
     b'{"ok":false,"reason":"bored","detail":""}\n', b'{"ok":true,"facts":{},"size":1}\nab', b"\xff\xfe\n"],
)  # fmt: skip
def test_answers_that_are_none_are_told(raw: bytes) -> None:
    with pytest.raises(Garbled):
        read_answer(raw)


def test_answers_survive_the_wire() -> None:
    output = Output({"pages": 3, "note": "naïve\n", "truncated": True}, b"\n\0\xff body")
    assert read_answer(frame_output(output)) == output
    with pytest.raises(Refused, match="please send") as refused:
        read_answer(frame_refusal(Reason.ENCRYPTED, "locked; please send another"))
    assert refused.value.reason is Reason.ENCRYPTED
