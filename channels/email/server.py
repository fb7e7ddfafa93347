"""The SMTP server's own manners, on aiosmtpd. No mail is understood here: a mail is handed on, a reply comes back.

Differences from the library, each for a fault that was met in the field: lines of any length are taken within the size
limit and the text is gathered in one buffer (a mail of empty lines cost a hundred times its size); only CRLF.CRLF ends
the text, and bare line feeds stay inside it; one answer after the text when it is too large; no exception's words in a
reply; connections are counted; AUTH is not offered.
"""

from __future__ import annotations

import asyncio
import collections
import ipaddress
import logging
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field
from datetime import timedelta

from aiosmtpd.smtp import SMTP
from aiosmtpd.smtp import Envelope as SmtpEnvelope
from aiosmtpd.smtp import Session as SmtpSession

from bot.kernel.errors import TransientError
from bot.kernel.values import dataclass

log = logging.getLogger(__name__)

OK = "250 2.0.0 OK, kept"
LATER = "451 4.3.0 This cannot be taken now, try again later"
STRANGER = "550 5.7.1 This address reads mail only from people it knows and can verify"
NO_SUCH_RECIPIENT = "550 5.1.1 There is no such address here"
TOO_LARGE = "552 5.3.4 The mail is larger than this server takes"
BAD_SENDER = "553 5.1.7 The sender's address is not valid UTF-8"
TOO_MANY_RECIPIENTS = "452 4.5.3 Too many recipients"
BUSY = "421 4.3.2 Too many connections, try again later"
LEAVING = "421 4.3.2 Shutting down, try again later"

IDLE = timedelta(minutes=5)
"""RFC 5321 s4.5.3.2.7."""
TEXT = timedelta(minutes=10)
"""For the whole text of one mail (s4.5.3.2.6) and the answer to it."""
MAX_CONNECTIONS = 256
MAX_PER_PEER = 32
"""From one address that is not this machine's."""
MAX_TEXTS = 32
"""Mails whose text is being received at the same time: bounds the memory to this many times the size limit."""
MAX_RECIPIENTS = 100


@dataclass(frozen=True, slots=True)
class Delivery:
    """One mail as it came over the wire, dots undoubled, line ends as sent."""

    peer: str
    helo: str
    mail_from: str
    recipients: tuple[str, ...]
    content: bytes


@dataclass(frozen=True, slots=True)
class Options:
    hostname: str
    max_size: int
    tls: ssl.SSLContext | None = None
    idle: timedelta = IDLE
    text: timedelta = TEXT
    max_connections: int = MAX_CONNECTIONS
    max_per_peer: int = MAX_PER_PEER


@dataclass
class Connections:
    """Who is connected."""

    open: dict[SmtpConnection, str] = field(default_factory=dict)
    texts: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_TEXTS))

    def has_room(self, peer: str, options: Options) -> bool:
        if len(self.open) > options.max_connections:
            return False
        return _is_loopback(peer) or list(self.open.values()).count(peer) <= options.max_per_peer

    async def close(self, within: timedelta) -> None:
        """End all: at once those that wait for a command, the others when their mail is answered or time is up."""
        tasks = [c.task for c in self.open if c.task is not None]
        for connection in list(self.open):
            connection.leave()
        if tasks:
            await asyncio.wait(tasks, timeout=within.total_seconds())
        for connection in list(self.open):
            connection.abort()
        if tasks:
            await asyncio.wait(tasks)


Deliver = Callable[[Delivery], Awaitable[str]]
"""Returns the SMTP reply. `TransientError` and bugs become `LATER`."""


class Handler:
    """aiosmtpd's hooks."""

    def __init__(self, deliver: Deliver, is_recipient: Callable[[str], bool]) -> None:
        self._deliver = deliver
        self._is_recipient = is_recipient

    async def handle_EHLO(  # noqa: N802 - aiosmtpd's name
        self, server: SMTP, session: SmtpSession, envelope: SmtpEnvelope, hostname: str, responses: list[str]
    ) -> Sequence[str]:
        session.host_name = hostname
        return [line for line in responses if not line.startswith("250-AUTH")]

    async def handle_MAIL(  # noqa: N802
        self, server: SMTP, session: SmtpSession, envelope: SmtpEnvelope, address: str, options: list[str]
    ) -> str:
        if not _is_utf8(address):
            return BAD_SENDER
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 2.1.0 OK"

    async def handle_RCPT(  # noqa: N802
        self, server: SMTP, session: SmtpSession, envelope: SmtpEnvelope, address: str, options: list[str]
    ) -> str:
        if not _is_utf8(address) or not self._is_recipient(address):
            return NO_SUCH_RECIPIENT
        if len(envelope.rcpt_tos) >= MAX_RECIPIENTS:
            return TOO_MANY_RECIPIENTS
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 OK"

    async def handle_DATA(self, server: SMTP, session: SmtpSession, envelope: SmtpEnvelope) -> str:  # noqa: N802
        content = envelope.content
        return await self._deliver(
            Delivery(
                _peer(session.peer),
                session.host_name or "",
                envelope.mail_from or "",
                tuple(envelope.rcpt_tos),
                content if isinstance(content, bytes) else b"",
            )
        )

    async def handle_exception(self, error: Exception) -> str:
        if isinstance(error, TransientError):
            log.warning("a mail was put off: %s", error.message)
        else:
            log.error("a mail or a command failed", exc_info=error)
        return LATER


class SmtpConnection(SMTP):
    line_length_limit = 1 << 16
    """Here only the reader's buffer: commands have their own limit, text may have lines of any length."""

    def __init__(self, handler: Handler, options: Options, connections: Connections) -> None:
        super().__init__(
            handler,
            data_size_limit=options.max_size,
            enable_SMTPUTF8=True,
            hostname=options.hostname,
            ident="ESMTP OpenExecutive",
            tls_context=options.tls,
            timeout=options.idle.total_seconds(),
            auth_exclude_mechanism=("LOGIN", "PLAIN"),
            loop=asyncio.get_running_loop(),
        )
        self.command_size_limits = collections.defaultdict(lambda: self.command_size_limit)
        self._options = options
        self._connections = connections
        self._in_text = False
        self._leaving = False

    @property
    def task(self) -> asyncio.Task[None] | None:
        return self._handler_coroutine

    def leave(self) -> None:
        """End as soon as no mail is under way."""
        self._leaving = True
        if not self._in_text:
            self.abort(LEAVING)

    def abort(self, word: str | None = None) -> None:
        if isinstance(self.transport, asyncio.WriteTransport) and not self.transport.is_closing():
            if word is not None:
                self.transport.write(word.encode() + b"\r\n")
            self.transport.close()
        if self.task is not None:
            self.task.cancel()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._connections.open[self] = _peer(transport.get_extra_info("peername"))

    def connection_lost(self, error: Exception | None) -> None:
        self._connections.open.pop(self, None)
        super().connection_lost(error)

    async def _handle_client(self) -> None:
        try:
            if not self._connections.has_room(self._connections.open.get(self, ""), self._options):
                await self.push(BUSY)
                self._writer.close()
                return
            await super()._handle_client()
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            log.debug("a connection was lost")
            self._writer.close()

    async def smtp_DATA(self, arg: str | None) -> None:  # noqa: N802
        if await self.check_helo_needed():
            return
        envelope = self.envelope
        if envelope is None or not envelope.rcpt_tos:
            await self.push("503 5.5.1 Send RCPT first")
            return
        if arg:
            await self.push("501 5.5.4 Syntax: DATA")
            return
        self._in_text = True
        try:
            self._reset_timeout(self._options.text.total_seconds())
            async with self._connections.texts:
                await self.push("354 End the text with <CR><LF>.<CR><LF>")
                content = await self._read_text()
                if content is None:
                    await self.push(TOO_LARGE)
                    return
                envelope.content = envelope.original_content = content
                await self.push(await self._call_handler_hook("DATA"))
        finally:
            self._in_text = False
            self.envelope = self._create_envelope()
            if self.transport is not None:
                self._reset_timeout()
            if self._leaving:
                self._writer.close()

    async def _read_text(self) -> bytes | None:
        """The text up to its end, dots undoubled (RFC 5321 s4.5.2); None if it is larger than the limit, after all of
        it was read: an answer in the middle would be taken for the answer to something else."""
        text = bytearray()
        size = 0
        at_line_start = True
        while True:
            try:
                piece = await self._reader.readuntil(b"\r\n")
                whole = True
            except asyncio.LimitOverrunError as error:
                piece = await self._reader.readexactly(error.consumed)
                whole = False
            if at_line_start and piece == b".\r\n":
                return None if size > self._options.max_size else bytes(text)
            if at_line_start and piece.startswith(b"."):
                piece = piece[1:]
            at_line_start = whole
            size += len(piece)
            if size > self._options.max_size:
                text.clear()
            else:
                text += piece


def _peer(peername: object) -> str:
    return str(peername[0]) if isinstance(peername, tuple) and peername else ""


def _is_loopback(peer: str) -> bool:
    try:
        return ipaddress.ip_address(peer).is_loopback
    except ValueError:
        return False


def _is_utf8(text: str) -> bool:
    return not any("\ud800" <= c <= "\udfff" for c in text)
