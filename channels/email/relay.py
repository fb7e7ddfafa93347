"""Delivery to a relay over SMTP (RFC 5321, RFC 6409): one connection per mail, no retries, errors told apart.

What happened is known exactly up to the moment when the text has been written; a connection that breaks after that, and
before the reply, leaves it open.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Awaitable, Callable

import aiosmtplib

from bot.gateway.channel import NotReadyError
from bot.kernel.errors import OpenExecutiveError, PermanentError, TransientError, UncertainError
from channels.email.charset import one_line
from config.schema import Relay


class RelaySender:
    def __init__(
        self,
        settings: Relay,
        local_hostname: str,
        tls: Callable[[], ssl.SSLContext] | None = None,
        access_token: Callable[[], Awaitable[str]] | None = None,
    ) -> None:
        """`access_token`: where the login is by token, gives a fresh one. `tls`: for tests, the trust to use instead of
        the system's."""
        self._settings = settings
        self._local_hostname = local_hostname
        self._tls = tls
        self._access_token = access_token if settings.auth == "oauth" else None

    async def deliver(self, sender: str, recipient: str, content: bytes) -> None:
        """Hand the mail over. `content` has CRLF line ends and no bare LF.

        Raises `NotReadyError` if no session was reached (nothing was tried), `TransientError` for a 4xx reply,
        `PermanentError` for a 5xx reply, `UncertainError` if the end of the text got no reply.
        """
        client = await self._connect()
        try:
            await self._transfer(client, sender, recipient, content)
        finally:
            client.close()

    async def reach(self) -> None:
        """Open a session and end it. Raises `NotReadyError` if that cannot be done."""
        client = await self._connect()
        client.close()

    async def _connect(self) -> aiosmtplib.SMTP:
        settings = self._settings
        by_token = await self._login_by_token()
        client = aiosmtplib.SMTP(
            hostname=settings.host,
            port=settings.port,
            use_tls=settings.security == "tls",
            start_tls=settings.security == "starttls",
            username=settings.username,
            password=settings.password.get_secret_value() if settings.password is not None and not by_token else None,
            oauth_token_generator=by_token,
            timeout=settings.timeout.total_seconds(),
            local_hostname=self._local_hostname,
            tls_context=self._tls() if self._tls is not None and settings.security != "none" else None,
        )
        try:
            await client.connect()
        except aiosmtplib.SMTPAuthenticationError as error:
            check = "relay.username and relay.password" if by_token is None else "`openexecutive mail login`"
            raise NotReadyError(f"the relay refuses the login: check {check}") from error
        except (aiosmtplib.SMTPException, ssl.SSLError, OSError) as error:
            raise NotReadyError(
                f"no session with the relay {settings.host}:{settings.port} ({_words(error)})"
            ) from error
        return client

    async def _login_by_token(self) -> Callable[[], Awaitable[str]] | None:
        """The token is got before the connection is made: the relay need not wait for the provider."""
        if self._access_token is None:
            return None
        try:
            token = await self._access_token()
        except OpenExecutiveError as error:
            raise NotReadyError(f"no login at the relay: {error.message}") from error

        async def give() -> str:
            return token

        return give

    async def _transfer(self, client: aiosmtplib.SMTP, sender: str, recipient: str, content: bytes) -> None:
        ascii_only = sender.isascii() and recipient.isascii()
        options, encoding = ([], "ascii") if ascii_only else (["SMTPUTF8"], "utf-8")
        written = False
        try:
            await client.ehlo()
            if not ascii_only and not client.supports_extension("smtputf8"):
                raise PermanentError(f"the relay cannot carry the address {recipient}: it is not ASCII")
            await client.mail(sender, options=options, encoding=encoding)
            await client.rcpt(recipient, encoding=encoding)
            reply = await client.execute_command(b"DATA")
            if reply.code != aiosmtplib.SMTPStatus.start_input:
                raise _refused(reply.code, reply.message, "the mail")
            written = True
            reply = await _write(client, content)
            if not 200 <= reply.code < 300:
                raise _refused(reply.code, reply.message, "the mail")
        except aiosmtplib.SMTPResponseException as error:
            if written and not 400 <= error.code < 600:
                raise UncertainError("the relay's reply to the mail was not readable") from error
            raise _refused(error.code, error.message, f"the recipient {recipient}") from error
        except (aiosmtplib.SMTPException, OSError) as error:
            if written:
                raise UncertainError("the relay got the mail but did not confirm it") from error
            raise TransientError(f"the relay broke off before the mail was sent ({_words(error)})") from error


async def _write(client: aiosmtplib.SMTP, content: bytes) -> aiosmtplib.SMTPResponse:
    """The text with dots doubled (RFC 5321 s4.5.2), its end, and the reply. The library's own `data` does the same but
    does not tell whether it broke before or after the text."""
    protocol = client.protocol
    if protocol is None:
        raise aiosmtplib.SMTPServerDisconnected("the relay closed the connection")
    end = b".\r\n" if content.endswith(b"\r\n") else b"\r\n.\r\n"
    protocol.write(re.sub(rb"(?m)^\.", b"..", content) + end)
    return await protocol.read_response(timeout=client.timeout)


def _refused(code: int, message: str, what: str) -> OpenExecutiveError:
    words = f"the relay refused {what}: {code} {one_line(message)[:200]}"
    return PermanentError(words) if 500 <= code < 600 else TransientError(words)


def _words(error: BaseException) -> str:
    return one_line(str(error))[:200] or type(error).__name__
