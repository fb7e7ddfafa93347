"""The daemon as a child process: started, watched, stopped, killed."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sqlite3
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.control.address import socket_path
from bot.control.client import ControlError, call
from bot.kernel.supervise import cancel, start

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = (str(Path(sys.executable).parent / "openexecutive"),)
LAUNCHER = (sys.executable, "-m", "tests.e2e.launcher")
PATIENCE = 60.0
"""Seconds for anything that should take one: the machine may be slow and shared."""
LOOK_AGAIN = 0.05
TRACEBACK = "Traceback (most recent call last)"

Status = dict[str, Any]


@dataclass(frozen=True)
class Ended:
    """How a short command ended."""

    code: int
    out: str
    err: str


def environment(settings: Mapping[str, str], home: Path) -> dict[str, str]:
    """What the program sees: its settings and nothing of this account's own."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "TZ") if name in os.environ}
    return {**kept, "HOME": str(home), "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", **settings}


async def command(
    *arguments: str, settings: Mapping[str, str], home: Path, stdin: str = "", timeout: float = PATIENCE
) -> Ended:
    """Run `openexecutive <arguments>` to its end."""
    process = await asyncio.create_subprocess_exec(
        *PROGRAM, *arguments, cwd=home, env=environment(settings, home), stdin=PIPE, stdout=PIPE, stderr=PIPE
    )
    try:
        async with asyncio.timeout(timeout):
            out, err = await process.communicate(stdin.encode())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return Ended(process.returncode or 0, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


class Daemon:
    """One run of the program. `lines` is everything that it wrote, standard output and error together."""

    def __init__(self, process: Process, data: Path) -> None:
        self.process = process
        self.data = data
        self.lines: list[str] = []
        self._changed = asyncio.Event()
        self._readers = [start(f"read:{n}", self._read(s)) for n, s in enumerate((process.stdout, process.stderr)) if s]

    @classmethod
    async def spawn(
        cls, settings: Mapping[str, str], home: Path, *, launcher: Mapping[str, str] | None = None
    ) -> Daemon:
        """Start `openexecutive run` in `home`, and return at once. `launcher`: through the test launcher, with these
        variables of its own."""
        data = Path(settings["OPENEXECUTIVE_DATA_DIR"])
        program = PROGRAM if launcher is None else LAUNCHER
        process = await asyncio.create_subprocess_exec(
            *program,
            "run",
            cwd=home,
            env=environment({**settings, **(launcher or {})}, home),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            limit=1 << 20,
        )
        return cls(process, data)

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    @property
    def running(self) -> bool:
        return self.process.returncode is None

    # --- watching --------------------------------------------------------------------------------------------------

    async def until(self, holds: Callable[[], bool], timeout: float = PATIENCE) -> None:
        """Return once `holds()`; it is looked at after every line that the daemon writes, and now and then. Raises
        `TimeoutError`, and `AssertionError` if the daemon ends meanwhile."""
        async with asyncio.timeout(timeout):
            while not holds():
                assert self.running, f"the daemon ended with {self.process.returncode}:\n{self.output}"
                await self._a_moment()

    async def line(self, pattern: str, timeout: float = PATIENCE) -> re.Match[str]:
        """The first line so far, or to come, that matches."""
        await self.until(lambda: self._match(pattern) is not None, timeout)
        match = self._match(pattern)
        assert match is not None
        return match

    async def status(self) -> Status | None:
        """What `openexecutive status` reads; None while the daemon does not answer."""
        try:
            return await asyncio.to_thread(call, socket_path(self.data), "status", timeout=PATIENCE)
        except (ControlError, OSError):
            return None

    async def ready(self, *channels: str, timeout: float = PATIENCE) -> Status:
        """Wait until these channels receive (none named: until the daemon answers)."""
        async with asyncio.timeout(timeout):
            while True:
                found = await self.status()
                if found is not None and all(found["channels"][name]["receiving"] for name in channels):
                    return found
                assert self.running, f"the daemon ended with {self.process.returncode}:\n{self.output}"
                await self._a_moment()

    async def settled(self, timeout: float = PATIENCE) -> Status:
        """Wait until no turn runs and nothing waits to be sent."""
        async with asyncio.timeout(timeout):
            while True:
                found = await self.status()
                if found is not None and not found["lanes"] and not set(found["outbox"]) - {"parked"}:
                    return found
                assert self.running, f"the daemon ended with {self.process.returncode}:\n{self.output}"
                await self._a_moment()

    async def smtp_port(self) -> int:
        status = await self.ready("email")
        return int(str(status["channels"]["email"]["where"]).rpartition(":")[2])

    # --- ending ----------------------------------------------------------------------------------------------------

    def signal(self, number: signal.Signals) -> None:
        if self.running:
            self.process.send_signal(number)

    async def ended(self, timeout: float = PATIENCE) -> int:
        """Wait for the end that comes by itself; the return code (negative: the signal)."""
        async with asyncio.timeout(timeout):
            code = await self.process.wait()
            await asyncio.gather(*self._readers)
        return code

    async def kill(self) -> None:
        """SIGKILL, and nothing else: no cleaning up."""
        self.signal(signal.SIGKILL)
        await self.ended()
        self.assert_clean()

    async def stop(self, within: float = PATIENCE) -> None:
        """SIGTERM; it must end with 0 within the bound, without a traceback."""
        self.signal(signal.SIGTERM)
        code = await self.ended(within)
        assert code == 0, f"the daemon ended with {code}:\n{self.output}"
        self.assert_clean()

    async def abandon(self) -> None:
        """Whatever state it is in: gone."""
        self.signal(signal.SIGKILL)
        await self.process.wait()
        for reader in self._readers:
            await cancel(reader)

    def assert_clean(self) -> None:
        assert TRACEBACK not in self.output, self.output

    # --- parts -----------------------------------------------------------------------------------------------------

    def _match(self, pattern: str) -> re.Match[str] | None:
        return next((match for line in self.lines if (match := re.search(pattern, line))), None)

    async def _a_moment(self) -> None:
        """Until the daemon writes something, or a little while."""
        self._changed.clear()
        try:
            async with asyncio.timeout(LOOK_AGAIN):
                await self._changed.wait()
        except TimeoutError:
            pass

    async def _read(self, stream: asyncio.StreamReader) -> None:
        while line := await stream.readline():
            self.lines.append(line.decode("utf-8", "replace").rstrip("\n"))
            self._changed.set()
        self._changed.set()


class Ahead:
    """Moves the clock of daemons that are started with `launcher` ahead: what is due in a while is due at once."""

    def __init__(self, home: Path) -> None:
        self._file = home / "ahead"
        self.by(0)

    @property
    def launcher(self) -> dict[str, str]:
        return {"E2E_CLOCK": str(self._file)}

    def by(self, seconds: float) -> None:
        """Whole or not at all: the daemon reads it at any moment."""
        written = self._file.with_suffix(".new")
        written.write_text(str(seconds), encoding="ascii")
        written.replace(self._file)


@asynccontextmanager
async def running(
    settings: Mapping[str, str],
    home: Path,
    *channels: str,
    launcher: Mapping[str, str] | None = None,
) -> AsyncIterator[Daemon]:
    """A daemon that is ready; it is stopped with the block (or killed if the block fails) and must end well."""
    daemon = await Daemon.spawn(settings, home, launcher=launcher)
    try:
        await daemon.ready(*channels)
        yield daemon
        if daemon.running:
            await daemon.stop()
    finally:
        await daemon.abandon()


# --- what it left --------------------------------------------------------------------------------------------------


def rows(data: Path, query: str, parameters: Sequence[object] = ()) -> list[dict[str, Any]]:
    """Read the store as anybody could: from the file, without the program."""
    with closing(sqlite3.connect(f"file:{data / 'openexecutive.db'}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(query, parameters)]


def audited(data: Path, kind: str) -> list[dict[str, Any]]:
    """Audit rows of one type, oldest first."""
    return rows(data, "SELECT * FROM audit WHERE type = ? ORDER BY id", [kind])
