"""One IMAP connection (RFC 3501 with IDLE, MOVE, UIDPLUS where the server has them), as far as a mailbox needs it.

Every wait ends: with the answer, with the settings' timeout, or at once when the connection breaks. What the server
says unasked (new mail, BYE) is never lost between two commands. See docs/adr/0014 for why no library does this here.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import re
import socket
import ssl
from collections.abc import Awaitable, Sequence
from datetime import datetime, timedelta
from typing import Literal, NoReturn, Self

from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.supervise import cancel, start
from bot.kernel.values import dataclass
from channels.email.charset import one_line
from channels.email.imap_wire import Line, mailbox_name, quoted, read_line

Security = Literal["tls", "starttls", "none"]

LINE_LIMIT = 1 << 24
"""Bytes of one line: a search over a million messages fits."""
QUEUE = 256
_PROBES = {"TCP_KEEPIDLE": 30, "TCP_KEEPALIVE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
"""The second is macOS's name of the first. Seconds, and the number of probes that may stay unanswered."""
_EXISTS = re.compile(rb"\* (\d+) EXISTS", re.IGNORECASE)
_CODE = re.compile(rb"\[(UIDVALIDITY|UIDNEXT) (\d+)\]", re.IGNORECASE)


class LostError(TransientError):
    """The connection is gone, or the server does not speak as it should."""


class LoginRefusedError(PermanentError):
    """Name, password or token are not taken."""


class RefusedError(TransientError):
    """The server said NO or BAD to one command; the connection goes on. `code` is its response code, if any."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Selected:
    validity: int
    next_uid: int | None


@dataclass(frozen=True, slots=True)
class Facts:
    uid: int
    size: int
    arrived: datetime | None


class ImapClient:
    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, timeout: timedelta, max_literal: int
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._timeout = timeout.total_seconds()
        self._max_literal = max_literal
        self._lines: asyncio.Queue[Line | LostError] = asyncio.Queue(QUEUE)
        self._pump: asyncio.Task[None] | None = None
        self._tags = 0
        self._bye: str | None = None
        self.capabilities: frozenset[str] = frozenset()
        self.changed = False
        """The server announced mail since this was last set to False."""

    @classmethod
    async def connect(
        cls, host: str, port: int, security: Security, timeout: timedelta, max_literal: int, tls: ssl.SSLContext | None
    ) -> Self:
        """Connect, greet, encrypt. `tls`: trust to use instead of the system's. Raises `LostError`."""
        try:
            context = None if security == "none" else tls or await asyncio.to_thread(ssl.create_default_context)
            async with asyncio.timeout(timeout.total_seconds()):
                reader, writer = await asyncio.open_connection(
                    host, port, ssl=context if security == "tls" else None, limit=LINE_LIMIT
                )
        except (OSError, TimeoutError) as error:
            raise LostError(f"{host}:{port} cannot be reached ({_words(error)})") from error
        _keep_alive(writer.get_extra_info("socket"))
        client = cls(reader, writer, timeout, max_literal)
        try:
            await client._greet(context if security == "starttls" else None, host)
        except BaseException:
            await client.close()
            raise
        return client

    async def _greet(self, tls: ssl.SSLContext | None, host: str) -> None:
        self._pump = start("imap reader", self._read())
        greeting = await self._next()
        if not greeting.text.upper().startswith((b"* OK", b"* PREAUTH")):
            raise LostError(f"the server does not greet: {greeting.shown}")
        if tls is not None:
            await self._command(b"STARTTLS")
            if self._pump is not None:
                await cancel(self._pump)
            try:
                async with asyncio.timeout(self._timeout):
                    await self._writer.start_tls(tls, server_hostname=host)
            except (OSError, TimeoutError) as error:
                raise LostError(f"no encrypted connection to {host} ({_words(error)})") from error
            if not self._lines.empty():  # injected in the clear before encryption began
                raise LostError("the server spoke out of turn before encryption")
            self._pump = start("imap reader", self._read())
        await self._ask_capabilities()

    async def close(self) -> None:
        if self._pump is not None:
            await cancel(self._pump)
        self._writer.close()

    async def logout(self) -> None:
        """A polite end; errors do not matter."""
        with contextlib.suppress(TransientError):
            await self._command(b"LOGOUT")

    # --- logging in ------------------------------------------------------------------------------------------------

    async def login(self, username: str, password: str) -> None:
        """Raises `LoginRefusedError`."""
        try:
            await self._command(b"LOGIN", username, password)
        except RefusedError as error:
            raise _login_refused(error) from error
        await self._ask_capabilities()

    async def login_by_token(self, username: str, token: str) -> None:
        """SASL XOAUTH2. Raises `LoginRefusedError`."""
        response = base64.b64encode(f"user={username}\1auth=Bearer {token}\1\1".encode())
        try:
            sent = "SASL-IR" in self.capabilities
            tag = self._send(b"AUTHENTICATE XOAUTH2 " + response if sent else b"AUTHENTICATE XOAUTH2")
            while True:
                line = await self._next()
                if line.text.startswith(b"+"):
                    # The first `+` of a server without SASL-IR asks for the response; any other carries an error that
                    # has to be acknowledged before the server says NO.
                    self._write(b"" if sent else response)
                    sent = True
                elif self._is_end(line, tag, b"AUTHENTICATE"):
                    break
        except RefusedError as error:
            raise _login_refused(error) from error
        await self._ask_capabilities()

    async def _ask_capabilities(self) -> None:
        lines = await self._command(b"CAPABILITY")
        words = [w for line in lines if line.text.upper().startswith(b"* CAPABILITY ") for w in line.text.split()[2:]]
        self.capabilities = frozenset(word.decode("ascii", "replace").upper() for word in words)

    # --- the mailbox -----------------------------------------------------------------------------------------------

    async def select(self, folder: str) -> Selected:
        lines = await self._command(b"SELECT", mailbox_name(folder))
        found = {m[1].upper(): int(m[2]) for line in lines if (m := _CODE.search(line.text))}
        if b"UIDVALIDITY" not in found:
            raise LostError(f"the server gives no UIDVALIDITY for {folder}: such a mailbox cannot be read safely")
        return Selected(found[b"UIDVALIDITY"], found.get(b"UIDNEXT"))

    async def search(self, criteria: str) -> tuple[int, ...]:
        """UIDs, ascending."""
        lines = await self._command(b"UID SEARCH " + criteria.encode("ascii"))
        found = {
            int(word)
            for line in lines
            if line.text.upper().startswith(b"* SEARCH")
            for word in line.text.split()[2:]
            if word.isdigit()
        }
        return tuple(sorted(found))

    async def facts(self, uids: Sequence[int]) -> tuple[Facts, ...]:
        """Of the messages that are still there, by UID."""
        if not uids:
            return ()
        wanted = ",".join(str(uid) for uid in uids)
        lines = await self._command(f"UID FETCH {wanted} (UID RFC822.SIZE INTERNALDATE)".encode())
        found = {facts.uid: facts for line in lines if (facts := _facts(line)) is not None}
        return tuple(found[uid] for uid in sorted(found.keys() & set(uids)))

    async def fetch(self, uid: int, *, header_only: bool = False) -> bytes | None:
        """The message as it is stored, unmarked as read; None if it is not there any more."""
        part = "BODY.PEEK[HEADER]" if header_only else "BODY.PEEK[]"
        lines = await self._command(f"UID FETCH {uid} (UID {part})".encode())
        for line in lines:
            match = re.search(rb"\bUID (\d+)", line.text)
            if match is not None and int(match[1]) == uid and b"BODY[" in line.text.upper():
                return line.body()
        return None

    async def move(self, uid: int, folder: str) -> None:
        """Into a folder, which is made if it is missing. Without MOVE (RFC 6851) by copy and deletion; without UIDPLUS
        the original stays behind, marked as deleted: a plain EXPUNGE would take other people's deletions along."""
        name = mailbox_name(folder)
        command = b"UID MOVE" if "MOVE" in self.capabilities else b"UID COPY"
        try:
            await self._command(command, str(uid), name)
        except RefusedError as error:
            if error.code != "TRYCREATE":
                raise
            await self._command(b"CREATE", name)
            await self._command(command, str(uid), name)
        if "MOVE" not in self.capabilities:
            await self._command(f"UID STORE {uid} +FLAGS.SILENT (\\Deleted)".encode())
            if "UIDPLUS" in self.capabilities:
                await self._command(f"UID EXPUNGE {uid}".encode())

    async def append(self, folder: str, content: bytes) -> None:
        """A copy, marked as read, into a folder, which is made if it is missing."""
        name = mailbox_name(folder)
        try:
            await self._command(b"APPEND", name, b"(\\Seen)", content)
        except RefusedError as error:
            if error.code != "TRYCREATE":
                raise
            await self._command(b"CREATE", name)
            await self._command(b"APPEND", name, b"(\\Seen)", content)

    async def noop(self) -> None:
        """Lets the server say what is new."""
        await self._command(b"NOOP")

    async def idle(self, at_most: Awaitable[object]) -> None:
        """Wait until mail is announced or `at_most` is done (RFC 2177). Raises `LostError`."""
        tag = self._send(b"IDLE")
        timer = start("imap idle timer", _awaited(at_most))
        try:
            await self._go_ahead(tag, b"IDLE")
            while not self.changed and not timer.done():
                coming = start("imap idle", self._next(patient=True))
                try:
                    await asyncio.wait({coming, timer}, return_when=asyncio.FIRST_COMPLETED)
                    if coming.done():
                        coming.result()
                finally:
                    await cancel(coming)
        finally:
            await cancel(timer)
        self._write(b"DONE")
        while not self._is_end(await self._next(), tag, b"IDLE"):
            pass

    # --- the wire --------------------------------------------------------------------------------------------------

    async def _command(self, name: bytes, *arguments: str | bytes) -> list[Line]:
        """Send it and return what the server said until its end. Text is quoted; text that cannot be quoted, and bytes
        with line ends, go as literals; other bytes go as they are. Raises `RefusedError` and `LostError`."""
        parts: list[bytes] = [name]
        tag: bytes | None = None
        for argument in arguments:
            simple = quoted(argument) if isinstance(argument, str) else argument
            if simple is not None and b"\n" not in simple:
                parts.append(simple)
                continue
            literal = argument.encode() if isinstance(argument, str) else argument
            announced = b" ".join([*parts, b"{%d}" % len(literal)])
            if tag is None:
                tag = self._send(announced)
            else:
                self._write(announced)
            await self._go_ahead(tag, name)
            self._writer.write(literal)
            parts = [b""]
        if tag is None:
            tag = self._send(b" ".join(parts))
        else:
            self._write(b" ".join(parts))
        lines: list[Line] = []
        while not self._is_end(line := await self._next(), tag, name):
            lines.append(line)
        return lines

    async def _go_ahead(self, tag: bytes, name: bytes) -> None:
        while not (line := await self._next()).text.startswith(b"+"):
            if self._is_end(line, tag, name):
                raise LostError("the server ended a command before it was whole")

    def _send(self, command: bytes) -> bytes:
        self._tags += 1
        tag = b"A%d" % self._tags
        self._write(tag + b" " + command)
        return tag

    def _write(self, line: bytes) -> None:
        self._writer.write(line + b"\r\n")

    def _is_end(self, line: Line, tag: bytes, name: bytes) -> bool:
        """Whether the line ends the command. Raises `RefusedError` if it ends badly."""
        if not line.text.startswith(tag + b" "):
            return False
        status, _, words = line.text[len(tag) + 1 :].partition(b" ")
        if status.upper() == b"OK":
            return True
        code = re.match(rb"\[([A-Z-]+)", words.upper())
        said = one_line(words.decode("utf-8", "replace"))[:200]
        verb = name.split()[-1].decode()
        raise RefusedError(f"the mailbox server refuses {verb}: {said}", "" if code is None else code[1].decode())

    async def _next(self, *, patient: bool = False) -> Line:
        """The next line. `patient`: without a limit of time. Raises `LostError`."""
        try:
            async with asyncio.timeout(None if patient else self._timeout):
                line = await self._lines.get()
        except TimeoutError as error:
            raise LostError("the mailbox server does not answer") from error
        if isinstance(line, LostError):
            self._lines.put_nowait(line)
            raise line
        return line

    async def _read(self) -> None:
        """Everything the server says, into the queue; the last entry says why there is no more."""
        try:
            await self._read_on()
        except (OSError, EOFError, asyncio.LimitOverrunError):
            why = "the connection to the mailbox broke"
            if self._bye:
                why = f"the mailbox server ended the session: {self._bye}"
        except ValueError as error:
            why = f"the mailbox server cannot be understood: {error}"
        await self._lines.put(LostError(why))

    async def _read_on(self) -> NoReturn:
        while True:
            line = await read_line(self._reader, self._max_literal)
            if _EXISTS.match(line.text):
                self.changed = True
            if line.text.upper().startswith(b"* BYE"):
                self._bye = line.shown.removeprefix("* BYE").strip()
            await self._lines.put(line)


def _keep_alive(connection: socket.socket) -> None:
    """A server that is gone without a word is noticed within a minute, even while nothing is said."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _PROBES.items():
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


async def _awaited(work: Awaitable[object]) -> None:
    await work


def _facts(line: Line) -> Facts | None:
    uid, size = re.search(rb"\bUID (\d+)", line.text), re.search(rb"\bRFC822\.SIZE (\d+)", line.text, re.IGNORECASE)
    if uid is None or size is None:
        return None
    date = re.search(rb'\bINTERNALDATE "([^"]+)"', line.text, re.IGNORECASE)
    return Facts(int(uid[1]), int(size[1]), None if date is None else _date(date[1].decode("ascii", "replace")))


def _date(text: str) -> datetime | None:
    """RFC 3501 `date-time`, such as `30-Nov-2026 12:00:00 +0000`."""
    try:
        return datetime.strptime(text.strip(), "%d-%b-%Y %H:%M:%S %z")
    except ValueError:
        return None


def _login_refused(error: RefusedError) -> LoginRefusedError | RefusedError:
    """Some servers are out of order and say so in the login's answer (RFC 5530)."""
    return error if error.code in {"UNAVAILABLE", "INUSE", "LIMIT"} else LoginRefusedError(error.message)


def _words(error: BaseException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message
    if isinstance(error, TimeoutError):
        return "no answer in time"
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return one_line(text)[:200] or type(error).__name__
