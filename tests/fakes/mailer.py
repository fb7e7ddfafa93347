"""Sending mail to a server under test: a proper client, and one that sends any bytes.

`send_mail` speaks through aiosmtplib; `RawClient` writes what it is given, so that bare line feeds, wrong commands
and half a conversation can be sent.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from email.message import EmailMessage
from types import TracebackType
from typing import Self

import aiosmtplib


async def send_mail(
    port: int,
    message: bytes | EmailMessage,
    mail_from: str = "ann@example.com",
    rcpt_to: str | Sequence[str] = "executive@localhost",
    *,
    mail_options: Sequence[str] = (),
    tls_context: ssl.SSLContext | None = None,
    login: tuple[str, str] | None = None,
    helo: str = "client.test",
    timeout: float = 10.0,
) -> str:
    """Send one mail and return the server's last words.

    Line ends become CRLF and leading dots are doubled (RFC 5321 s4.5.2); all other bytes go as they are. An empty
    `mail_from` is the null sender. Raises `aiosmtplib.SMTPException` as the library does.
    """
    data = message.as_bytes() if isinstance(message, EmailMessage) else message
    client = aiosmtplib.SMTP(
        hostname="localhost",
        port=port,
        local_hostname=helo,
        timeout=timeout,
        start_tls=tls_context is not None,
        tls_context=tls_context,
    )
    async with client:
        if login is not None:
            await client.login(*login)
        recipients = [rcpt_to] if isinstance(rcpt_to, str) else list(rcpt_to)
        await client.mail(mail_from, options=list(mail_options), encoding="utf-8")
        for recipient in recipients:
            await client.rcpt(recipient, encoding="utf-8")
        return (await client.data(data)).message


class RawClient:
    """A bare SMTP conversation on loopback. Replies are the whole (multi-line) text without the last line end."""

    def __init__(self, port: int, timeout: float = 10.0) -> None:
        self._port = port
        self._timeout = timeout
        self.greeting = ""

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        self.greeting = await self.reply()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def reply(self) -> str:
        """The next reply; empty when the server has closed. Raises `TimeoutError`."""
        lines: list[bytes] = []
        async with asyncio.timeout(self._timeout):
            while line := await self._reader.readline():
                lines.append(line.rstrip(b"\r\n"))
                if line[3:4] != b"-":
                    break
        return b"\n".join(lines).decode("utf-8", "replace")

    async def command(self, line: bytes) -> str:
        """Send one line (CRLF is added) and return the reply."""
        await self.send(line + b"\r\n")
        return await self.reply()

    async def transact(self, mail_from: bytes, rcpt_to: bytes, content: bytes) -> str:
        """EHLO, MAIL, RCPT, DATA with `content` exactly as given (final dot included), and the last reply."""
        for line in (b"EHLO raw.test", b"MAIL FROM:<%b>" % mail_from, b"RCPT TO:<%b>" % rcpt_to, b"DATA"):
            answer = await self.command(line)
            if answer[:1] not in ("2", "3"):
                return answer
        await self.send(content)
        return await self.reply()
