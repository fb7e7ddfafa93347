"""Starts the parsing child, feeds it, bounds it and judges what comes back. The daemon's side of `child`."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import shutil
import signal
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from types import MappingProxyType

from bot.files.blobs import in_words
from bot.files.lockdown import Protection
from bot.files.model import Limits, Source, Unreadable
from bot.files.wire import HEADER_BYTES, Garbled, Output, Reason, Refused, read_answer
from bot.kernel.values import dataclass

_ROOT = Path(__file__).resolve().parents[2]
_CHILD = Path(__file__).resolve().with_name("child.py")
_SLICE = 256 * 1024
_REAP_SECONDS = 5.0

_DETAILS = {
    Reason.TIMEOUT: "Reading the file took too long and was stopped.",
    Reason.OUT_OF_MEMORY: "Reading the file needed more memory than is allowed.",
    Reason.CRASHED: "The file could not be read; it may be damaged.",
    Reason.TOO_LARGE: "The file is too large to be read.",
}


@dataclass(frozen=True, slots=True)
class Job:
    """One parser: `entry` is `module:function`, `needs` the top-level packages it imports from outside `bot`.

    One that `streams` takes an open binary file, which can be sought in, instead of the bytes.
    """

    entry: str
    needs: tuple[str, ...] = ()
    arguments: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    streams: bool = False


class Sandbox:
    """Runs jobs, `at_once` of them at a time, each in a child of its own that does not outlive its call."""

    def __init__(self, limits: Limits | None = None, at_once: int = 2) -> None:
        self.limits = limits or Limits()
        self._turns = asyncio.Semaphore(at_once)

    async def run(self, job: Job, data: Source) -> Output | Unreadable:
        """The parser's output, or why there is none. Never raises for what a file does to its parser.

        The wall-clock limit starts when the child does, not while waiting for a turn. A file given by its path is
        opened here and read by the child alone.
        """
        return await self._run(job, data, tell=False)

    async def protections(self) -> frozenset[Protection]:
        """What this machine really enforces on the child, found out by starting one."""
        output = await self._run(Job("bot.files.parsers.probe:probe"), b"", tell=True)
        if isinstance(output, Unreadable):
            return frozenset()
        return frozenset(each for each in Protection if output.facts.get(each.value))

    async def _run(self, job: Job, data: Source, *, tell: bool) -> Output | Unreadable:
        async with self._turns:
            if isinstance(data, bytes):
                return await self._bounded(job, data, len(data), -1, tell=tell)
            try:
                descriptor = os.open(data, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            except OSError as error:
                return Unreadable(Reason.CRASHED, "The file is no longer kept here.", type(error).__name__)
            try:
                return await self._bounded(job, b"", os.fstat(descriptor).st_size, descriptor, tell=tell)
            finally:
                os.close(descriptor)

    async def _bounded(self, job: Job, data: bytes, size: int, descriptor: int, *, tell: bool) -> Output | Unreadable:
        """`descriptor` is -1 where `data` is all."""
        most = self.limits.stream_bytes if job.streams else self.limits.input_bytes
        if size > most:
            return Unreadable(Reason.TOO_LARGE, f"The file is larger than the {in_words(most)} that can be read.")
        folder = await asyncio.to_thread(tempfile.mkdtemp, prefix="openexecutive-")
        try:
            header = _header(job, size, descriptor, self.limits, tell=tell)
            return await self._in_folder(folder, header, data, descriptor)
        finally:
            # In a thread: where the kernel lacks Landlock the child may have made (empty) files in it.
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def _in_folder(self, folder: str, header: bytes, data: bytes, descriptor: int) -> Output | Unreadable:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", "-B", str(_CHILD),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            env={}, cwd=folder, close_fds=True, start_new_session=True, limit=_SLICE,
            pass_fds=() if descriptor < 0 else (descriptor,),
        )  # fmt: skip
        raw: bytes | None = None
        timed_out = False
        try:
            async with asyncio.timeout(self.limits.wall.total_seconds()):
                await _feed(process, header, data)
                raw = await _collect(process, self.limits.output_bytes + HEADER_BYTES)
                if raw is not None:
                    await process.wait()
        except TimeoutError:
            timed_out = True
        finally:
            await _end(process)
        if timed_out:
            return _unreadable(Reason.TIMEOUT, "wall clock")
        return _judge(raw, process.returncode)


def _header(job: Job, size: int, descriptor: int, limits: Limits, *, tell: bool) -> bytes:
    """The child's orders. The project's folder may be listed, but only the packages that are needed can be read:
    in a source checkout the data folder may lie next to them."""
    own = {"bot", job.entry.partition(".")[0]}
    libraries = [each for each in _library_folders(job.needs) if each != str(_ROOT)]
    return (
        json.dumps(
            {
                "entry": job.entry,
                "arguments": dict(job.arguments),
                "size": size,
                "file": descriptor,
                "streams": job.streams,
                "tell": tell,
                "path": [str(_ROOT), *libraries],
                "read": [*(str(_ROOT / name) for name in sorted(own)), *libraries],
                "list": [str(_ROOT)],
                "memory": limits.memory_bytes,
                "cpu": max(1, round(limits.cpu.total_seconds())),
                "files": limits.open_files,
            }
        ).encode()
        + b"\n"
    )


def _library_folders(packages: tuple[str, ...]) -> list[str]:
    """Folders that hold installed packages: the usual ones, and wherever the needed ones are really found."""
    if not packages:
        return []
    folders = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    for package in packages:
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin is not None:
            folders.append(str(Path(spec.origin).resolve().parent.parent))
    return list(dict.fromkeys(folders))


async def _feed(process: asyncio.subprocess.Process, header: bytes, data: bytes) -> None:
    """Write in slices, so that the transport never buffers the whole file a second time."""
    pipe = process.stdin
    if pipe is None:
        raise ValueError("the child has no standard input")
    view = memoryview(data)
    # A child that died early says so by its silence.
    with suppress(BrokenPipeError, ConnectionResetError):
        pipe.write(header)
        for at in range(0, len(view), _SLICE):
            pipe.write(view[at : at + _SLICE])
            await pipe.drain()
        await pipe.drain()
    pipe.close()


async def _collect(process: asyncio.subprocess.Process, most: int) -> bytes | None:
    """All that the child writes, or None when it writes more than `most` bytes."""
    pipe = process.stdout
    if pipe is None:
        raise ValueError("the child has no standard output")
    parts: list[bytes] = []
    size = 0
    while part := await pipe.read(_SLICE):
        size += len(part)
        if size > most:
            return None
        parts.append(part)
    return b"".join(parts)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill the child's whole process group and reap the child. Also on cancellation; bounded."""
    # Not only while it runs: what the child started must not outlive it either.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.stdin is not None:
        process.stdin.close()
    with suppress(TimeoutError):
        async with asyncio.timeout(_REAP_SECONDS):
            # Unread output would keep the pipe, and so the process object, open.
            while process.stdout is not None and await process.stdout.read(_SLICE):
                pass
            await process.wait()


def _judge(raw: bytes | None, code: int | None) -> Output | Unreadable:
    if raw is None:
        return _unreadable(Reason.TOO_LARGE, "output limit")
    if code == -signal.SIGXCPU:
        return _unreadable(Reason.TIMEOUT, "CPU time")
    if code != 0:
        return _unreadable(Reason.CRASHED, f"exit code {code}")
    try:
        return read_answer(raw)
    except Refused as refusal:
        if refusal.reason is Reason.CRASHED:
            return _unreadable(Reason.CRASHED, refusal.detail)
        return Unreadable(refusal.reason, refusal.detail or _DETAILS.get(refusal.reason, ""))
    except Garbled as error:
        return _unreadable(Reason.CRASHED, str(error))


def _unreadable(reason: Reason, cause: str) -> Unreadable:
    return Unreadable(reason, _DETAILS[reason], cause)
