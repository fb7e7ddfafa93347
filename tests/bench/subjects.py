"""What is measured: processes of their own, with what the system knows of them."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.crowds import handle

JsonObject = dict[str, Any]

ROOT = Path(__file__).resolve().parents[2]
STOP_WITHIN = 30.0
KEYS: Mapping[str, Mapping[str, str]] = {
    "telegram": {"url": "base_url", "token": "token"},
    "discord": {"url": "base_url", "gateway": "gateway_url", "token": "token"},
    "slack": {"url": "base_url", "token": "bot_token", "app_token": "app_token"},
}
"""What a far end says of itself, and the setting that takes it."""
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Subject:
    """A command with its environment; `name` is also that of its Bot API."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]


@dataclass
class Running:
    process: asyncio.subprocess.Process
    started: float

    def cpu(self) -> float:
        """Seconds of processor time so far, in user and system mode (proc(5), stat: utime, stime), children that
        have ended included."""
        fields = self._read("stat").rpartition(")")[2].split()
        return sum(int(field) for field in fields[11:15]) / _TICK

    def cpu_exact(self) -> float:
        """The same to the nanosecond, of the threads that live (proc(5), schedstat)."""
        total = 0
        for thread in Path(f"/proc/{self.process.pid}/task").iterdir():
            total += int((thread / "schedstat").read_text().split()[0])
        return total / 1e9

    def rss(self) -> float:
        """Resident memory in MB (2^20 bytes)."""
        line = next(line for line in self._read("status").splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) / 1024

    def _read(self, name: str) -> str:
        return Path(f"/proc/{self.process.pid}/{name}").read_text()


@asynccontextmanager
async def running(subject: Subject, log: Path) -> AsyncIterator[Running]:
    """Run a subject; what it prints goes to `log`. It is asked to stop at the end, and made to if it does not."""
    with log.open("ab") as out:
        started = time.monotonic()
        process = await asyncio.create_subprocess_exec(
            *subject.command,
            cwd=ROOT,
            env=environment(subject.environment),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )
        try:
            yield Running(process, started)
        finally:
            if process.returncode is None:
                process.terminate()
                try:
                    async with asyncio.timeout(STOP_WITHIN):
                        await process.wait()
                except TimeoutError:
                    process.kill()
                    await process.wait()


def environment(own: Mapping[str, str]) -> dict[str, str]:
    """Only what a subject is given: no setting of the caller's shell reaches it."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    return {**kept, **own}


class FarEnd:
    """A `tests.bench.far_end` process. `hello` is what it said at its start."""

    def __init__(self, process: asyncio.subprocess.Process, hello: JsonObject) -> None:
        self._process = process
        self.hello = hello

    async def do(self, what: str, **arguments: Any) -> JsonObject:
        """Run a command there. Raises `EOFError` if the far end has ended (its traceback is on standard error)."""
        if self._process.stdin is None or self._process.stdout is None:
            raise EOFError("no pipes")
        self._process.stdin.write(json.dumps({"do": what, **arguments}).encode() + b"\n")
        line = await self._process.stdout.readline()
        if not line:
            raise EOFError("the far end has ended")
        answer: JsonObject = json.loads(line)
        return answer


@asynccontextmanager
async def far_end(*arguments: str) -> AsyncIterator[FarEnd]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.bench.far_end",
        *arguments,
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=1 << 24,
    )
    try:
        if process.stdout is None:
            raise EOFError("no pipes")
        yield FarEnd(process, json.loads(await process.stdout.readline()))
    finally:
        process.kill()  # it holds nothing that has to be written
        await process.wait()


def plain(channel: str, there: Mapping[str, str], model_url: str) -> Subject:
    """The yardstick of a channel. `there`: what the far end said of itself."""
    module = "plain_bot" if channel == "telegram" else f"plain_{channel}"
    return Subject(
        "plain",
        (sys.executable, "-m", f"tests.bench.{module}"),
        {
            **{f"{channel.upper()}_{key.upper()}": value for key, value in there.items()},
            "ANTHROPIC_BASE_URL": model_url,
            "ANTHROPIC_API_KEY": "sk-ant-bench",
        },
    )


def daemon(
    command: Sequence[str],
    folder: Path,
    channel: str,
    people: Sequence[int],
    there: Mapping[str, str],
    model_url: str | None,
) -> Subject:
    """The daemon with one channel, everything else at its defaults; `model_url` None: the embedded model."""
    settings = [
        f'data_dir = "{folder / "data"}"',
        "[web]",
        "port = 0",
        "[channels.email.smtp]",
        "port = 0",
        f"[channels.{channel}]",
        "enabled = true",
        *(f'{KEYS[channel][key]} = "{value}"' for key, value in there.items()),
        "[llm]",
        *(['provider = "offline"'] if model_url is None else ['api_key = "sk-ant-bench"', f'base_url = "{model_url}"']),
    ]
    for number in people:
        role = "principal" if number == people[0] else "member"
        settings += [f"[people.person{number}]", f'name = "Person {number}"', f'role = "{role}"']
        settings += [f"{channel} = [{handle(channel, number)}]"]
    return _configured("daemon", command, folder, settings)


def embedded(command: Sequence[str], folder: Path, smtp_port: int) -> Subject:
    """The daemon as it is before anybody has set anything: mail on this machine, a model of its own."""
    settings = [f'data_dir = "{folder / "data"}"', "[web]", "port = 0", "[channels.email.smtp]", f"port = {smtp_port}"]
    return _configured("embedded", command, folder, settings)


def _configured(name: str, command: Sequence[str], folder: Path, settings: Sequence[str]) -> Subject:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "openexecutive.toml"
    file.write_text("\n".join(settings) + "\n")
    file.chmod(0o600)
    return Subject(name, (*command,), {"OPENEXECUTIVE_CONFIG": str(file)})
