"""Fakes as processes of their own, and the client of their control endpoint.

`running_telegram()` starts `python -m tests.fakes.telegram` and yields a `TelegramControl`; the process ends with the
block, or with the test that held its standard input, and outlives any daemon that is killed meanwhile. All calls
raise `ControlError` when the fake refuses, `TimeoutError` when what is waited for does not come.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp

from tests.fakes.anthropic_reply import REPLIES, Reply
from tests.fakes.faults import ANY, FAULTS, Fault, JsonObject, Recorded

ROOT = Path(__file__).resolve().parents[2]


class ControlError(Exception):
    """The fake did not understand, or has no such thing."""


class Control:
    """What every fake offers. `hello` is the line that it printed: kind, port, url and more."""

    def __init__(self, url: str, hello: JsonObject | None = None) -> None:
        self.url = url
        self.hello: JsonObject = hello or {}
        self._session: aiohttp.ClientSession | None = None

    @property
    def port(self) -> int:
        """The port of the service itself (for SMTP not that of `url`)."""
        return int(self.hello["port"])

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(self.url, timeout=aiohttp.ClientTimeout(total=None))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def _call(
        self,
        method: str,
        path: str,
        *,
        body: JsonObject | None = None,
        data: bytes | None = None,
        query: dict[str, str] | None = None,
    ) -> Any:
        if self._session is None:
            raise ControlError("use it as an async context manager")
        async with self._session.request(method, f"/_control/{path}", json=body, data=data, params=query) as answer:
            if answer.status == 408:
                raise TimeoutError(await answer.text())
            if answer.status != 200:
                raise ControlError(f"{path}: {answer.status} {await answer.text()}")
            return await answer.json()

    async def plan(self, endpoint: str, *faults: Fault, times: int = 1) -> None:
        """Let each of the next `times` calls of `endpoint` meet `faults`."""
        shown = FAULTS.dump_python(faults, mode="json")
        await self._call("POST", "faults", body={"endpoint": endpoint, "faults": shown, "times": times})

    async def clear(self) -> None:
        """Forget the faults that are planned and let waiting calls through."""
        await self._call("DELETE", "faults")

    async def dark(self, dark: bool = True) -> None:
        """Cut every new call before it is recorded, until `dark(False)` or `clear()`."""
        await self._call("POST", "dark", body={"dark": dark})

    async def release(self, gate: str) -> None:
        await self._call("POST", f"gates/{gate}/release")

    async def reached(self, gate: str, timeout: float = 10.0) -> None:
        """Return when a call waits at `gate`."""
        await self._call("GET", f"gates/{gate}/reached", query={"timeout": str(timeout)})

    async def requests(self, endpoint: str = ANY, *, at_least: int = 0, timeout: float = 10.0) -> tuple[Recorded, ...]:
        return await self._entries("requests", endpoint, at_least, timeout)

    async def _entries(self, what: str, endpoint: str, at_least: int, timeout: float) -> tuple[Recorded, ...]:
        query = {"endpoint": endpoint, "at_least": str(at_least), "timeout": str(timeout)}
        return tuple(Recorded.from_json(entry) for entry in await self._call("GET", what, query=query))


class AnthropicControl(Control):
    async def script(self, name: str) -> None:
        """`instant echo`, `recite history` or `numbered`."""
        await self._call("POST", "script", body={"name": name})

    async def reply_with(self, *replies: Reply) -> None:
        """Queue replies; they go before the script."""
        await self._call("POST", "replies", body={"replies": REPLIES.dump_python(replies, mode="json")})

    async def answers(self, *, at_least: int = 0, timeout: float = 10.0) -> tuple[Recorded, ...]:
        return await self._entries("answers", ANY, at_least, timeout)


class TelegramControl(Control):
    @property
    def token(self) -> str:
        return str(self.hello["token"])

    @property
    def base_url(self) -> str:
        return f"{self.url}/bot"

    @property
    def base_file_url(self) -> str:
        return f"{self.url}/file/bot"

    async def act(self, name: str, /, **arguments: Any) -> Any:
        """Call a method of the fake's world by name, with its keyword arguments; returns the update(s) it made."""
        return await self._call("POST", f"world/{name}", body=arguments)

    async def private_message(self, sender: int, text: str, **more: Any) -> JsonObject:
        update: JsonObject = await self.act("private_message", sender=sender, text=text, **more)
        return update

    async def message(self, chat_id: int, sender: int, text: str | None = None, **more: Any) -> JsonObject:
        update: JsonObject = await self.act("message", chat_id=chat_id, sender=sender, text=text, **more)
        return update

    async def add_file(
        self, data: bytes, name: str, mime: str = "application/octet-stream", size: int | None = None
    ) -> str:
        """Hold a file for messages to carry; returns its file_id."""
        query = {"name": name, "mime": mime} | ({} if size is None else {"size": str(size)})
        return str((await self._call("POST", "files", data=data, query=query))["file_id"])

    async def pending(self) -> list[JsonObject]:
        """Updates that the bot has not confirmed."""
        return list(await self._call("GET", "pending"))

    async def deliveries(
        self, endpoint: str = ANY, *, at_least: int = 0, timeout: float = 10.0
    ) -> tuple[Recorded, ...]:
        return await self._entries("deliveries", endpoint, at_least, timeout)

    async def effects(self, endpoint: str = ANY, *, at_least: int = 0, timeout: float = 10.0) -> tuple[Recorded, ...]:
        return await self._entries("effects", endpoint, at_least, timeout)


class SmtpControl(Control):
    async def mails(self, *, at_least: int = 0, timeout: float = 10.0) -> tuple[Recorded, ...]:
        return await self._entries("mails", ANY, at_least, timeout)


class ImapControl(Control):
    async def deliver(self, raw: bytes, folder: str = "INBOX", at: str | None = None) -> int:
        """New mail; `at` is its arrival in ISO 8601, default now. Returns its UID."""
        query = {"folder": folder} | ({} if at is None else {"at": at})
        return int((await self._call("POST", "deliver", data=raw, query=query))["uid"])

    async def act(self, what: str, **arguments: Any) -> None:
        """`rebuild` (a new UIDVALIDITY), `remove` (`uid`), `bye` or `cut`."""
        await self._call("POST", "act", body={"what": what, **arguments})

    async def folder(self, name: str = "INBOX") -> list[JsonObject]:
        """Its messages: `uid`, `raw` (base64) and `flags`."""
        return list(await self._call("GET", "folder", query={"name": name}))


class OAuthControl(Control):
    async def answer(self, what: str) -> None:
        """What the person does in the browser: `allow`, or an error code such as `access_denied`."""
        await self._call("POST", "answer", body={"answer": what})


@asynccontextmanager
async def started(module: str, *arguments: str) -> AsyncIterator[JsonObject]:
    """Run `python -m tests.fakes.<module>` and yield what it said at its start."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        f"tests.fakes.{module}",
        "--exit-with-stdin",
        *arguments,
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        if process.stdout is None or process.stdin is None:
            raise ControlError("no pipes")
        async with asyncio.timeout(30):
            line = await process.stdout.readline()
        if not line:
            raise ControlError(f"tests.fakes.{module} did not start")
        yield json.loads(line)
        process.stdin.close()
        async with asyncio.timeout(10):
            await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _options(log: Path | None, keep: int | None, more: Sequence[str]) -> list[str]:
    options = list(more)
    if log is not None:
        options += ["--log", str(log)]
    if keep is not None:
        options += ["--keep", str(keep)]
    return options


@asynccontextmanager
async def running_anthropic(
    *more: str, log: Path | None = None, keep: int | None = None
) -> AsyncIterator[AnthropicControl]:
    """The Messages API in its own process; `more` are command line options such as `--script`."""
    async with (
        started("anthropic", *_options(log, keep, more)) as hello,
        AnthropicControl(hello["url"], hello) as control,
    ):
        yield control


@asynccontextmanager
async def running_telegram(
    *more: str, log: Path | None = None, keep: int | None = None
) -> AsyncIterator[TelegramControl]:
    """The Bot API in its own process; `more` are command line options such as `--token`."""
    async with (
        started("telegram", *_options(log, keep, more)) as hello,
        TelegramControl(hello["url"], hello) as control,
    ):
        yield control


@asynccontextmanager
async def running_smtp(*more: str, log: Path | None = None, keep: int | None = None) -> AsyncIterator[SmtpControl]:
    """The SMTP sink in its own process; `more` are command line options such as `--greylist`."""
    async with (
        started("smtp", *_options(log, keep, more)) as hello,
        SmtpControl(hello["url"], hello) as control,
    ):
        yield control


@asynccontextmanager
async def running_imap(*more: str, log: Path | None = None, keep: int | None = None) -> AsyncIterator[ImapControl]:
    """The IMAP server in its own process; `more` are command line options such as `--user NAME:PASSWORD`."""
    async with (
        started("imap", *_options(log, keep, more)) as hello,
        ImapControl(hello["url"], hello) as control,
    ):
        yield control


@asynccontextmanager
async def running_oauth(*more: str) -> AsyncIterator[OAuthControl]:
    """The provider of logins in its own process."""
    async with started("oauth", *more) as hello, OAuthControl(hello["url"], hello) as control:
        yield control
