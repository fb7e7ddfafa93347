"""An SMTP sink on aiosmtpd: takes mail, keeps envelope and raw bytes, and misbehaves as told.

`mails` is what was really taken, counted by arrival; `requests` every command. Endpoints for faults are the verbs
(`EHLO`, `MAIL`, `RCPT`, `DATA`, `AUTH`, `STARTTLS`, `QUIT`...), `CONNECT` for the greeting and `MESSAGE` for the
moment after the final dot: `CutBefore` there loses the mail without an answer, `CutAfter` keeps it and cuts before
the 250, `Answer(451)` refuses it, `Twice` keeps it twice. Source: RFC 5321, RFC 3207 (STARTTLS), RFC 4954 (AUTH).
"""

from __future__ import annotations

import asyncio
import base64
import email
import email.policy
import re
import ssl
import warnings
from collections.abc import Awaitable, Callable, Mapping
from email.message import EmailMessage
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, NoReturn, Self

import trustme
from aiohttp import web
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from tests.fakes.faults import Answer, CutAfter, CutBefore, Fault, FaultPlan, Record, Recorded, Twice
from tests.fakes.httpserver import HttpFake, arguments, record_route, serve_until_stopped

REFUSAL = {
    421: "4.3.2 Service not available, closing transmission channel",
    450: "4.2.0 Mailbox unavailable",
    451: "4.3.0 Local error in processing",
    452: "4.3.1 Insufficient system storage",
    535: "5.7.8 Authentication credentials invalid",
    550: "5.1.1 Mailbox unavailable",
    552: "5.3.4 Message too big",
    554: "5.7.1 Transaction failed",
}
GREYLISTED = Answer(451, "4.7.1 Greylisted, please try again later")


def parsed(mail: Recorded) -> EmailMessage:
    """The message of an entry of `mails`."""
    return email.message_from_bytes(mail.raw, policy=email.policy.default)


class SmtpSink:
    """The server on loopback, as an async context manager.

    `tls`: offer STARTTLS with a certificate of `ca` for localhost (`client_context` trusts it). `users` (name to
    password), `tokens` (name to access token, for XOAUTH2): ask for AUTH. `greylist`: refuse each (sender, recipient)
    with 451 the first time.
    """

    def __init__(
        self,
        *,
        tls: bool = False,
        users: Mapping[str, str] | None = None,
        tokens: Mapping[str, str] | None = None,
        greylist: bool = False,
        size_limit: int = 64 * 1024 * 1024,
        port: int = 0,
        log: Path | None = None,
        keep: int | None = None,
    ) -> None:
        self.port = port
        self.host = "127.0.0.1"
        self.faults = FaultPlan()
        self.requests = Record("request", log, keep)
        self.mails = Record("mail", log, keep)
        self.users = users
        self.tokens = None if tokens is None else dict(tokens)
        self.greylist = greylist
        self.size_limit = size_limit
        self.ca = trustme.CA() if tls else None
        self.seen: set[tuple[str, str]] = set()
        self.sessions: set[SinkSession] = set()
        self._tls: ssl.SSLContext | None = None
        self._server: asyncio.Server | None = None
        if self.ca is not None:
            self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            self.ca.issue_cert("localhost", "127.0.0.1").configure_cert(self._tls)

    def client_context(self) -> ssl.SSLContext:
        """A context that trusts this sink's certificate. Only with `tls`."""
        context = ssl.create_default_context()
        if self.ca is not None:
            self.ca.configure_trust(context)
        return context

    async def __aenter__(self) -> Self:
        await self.up()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.faults.clear()
        await self.down()
        for session in tuple(self.sessions):
            await session.hang_up()

    async def up(self) -> None:
        """Listen (again, on the same port)."""
        if self._server is None:
            loop = asyncio.get_running_loop()
            self._server = await loop.create_server(self._session, self.host, self.port)
            self.port = self._server.sockets[0].getsockname()[1]

    async def down(self) -> None:
        """Refuse new connections until `up`; those that exist go on."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def _session(self) -> SinkSession:
        with warnings.catch_warnings():
            # aiosmtpd warns of AUTH without TLS, which is just what some tests want.
            warnings.simplefilter("ignore", UserWarning)
            return SinkSession(
                self,
                data_size_limit=self.size_limit,
                enable_SMTPUTF8=True,
                hostname="sink.test",
                ident="sink",
                tls_context=self._tls,
                auth_required=self.users is not None or self.tokens is not None,
                auth_require_tls=self._tls is not None,
                authenticator=self._authenticate,
                loop=asyncio.get_running_loop(),
            )

    def _authenticate(
        self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any
    ) -> AuthResult:
        if not isinstance(data, LoginPassword) or self.users is None:
            return AuthResult(success=False, handled=False)
        name = data.login.decode("utf-8", "replace")
        right = self.users.get(name) == data.password.decode("utf-8", "replace")
        return AuthResult(success=right, handled=False, auth_data=name)


class _Handler:
    """What aiosmtpd calls when a message is complete."""

    def __init__(self, sink: SmtpSink) -> None:
        self._sink = sink

    async def auth_XOAUTH2(self, server: SMTP, args: list[str]) -> AuthResult:  # noqa: N802
        """Google's and Microsoft's SASL mechanism, the token in the first line."""
        text = base64.b64decode(args[1] if len(args) > 1 else "").decode("utf-8", "replace")
        match = re.fullmatch("user=([^\1]*)\1auth=Bearer ([^\1]*)\1\1", text)
        right = match is not None and (self._sink.tokens or {}).get(match[1]) == match[2]
        return AuthResult(success=right, handled=False, auth_data=None if match is None else match[1])

    async def handle_DATA(self, server: SinkSession, session: Session, envelope: Envelope) -> str:  # noqa: N802
        content = envelope.original_content or b""
        faults = self._sink.faults.take("MESSAGE")
        await self._sink.faults.hold(faults, "before")
        if any(isinstance(fault, CutBefore) for fault in faults):
            await server.hang_up()
        for fault in faults:
            if isinstance(fault, Answer):
                return _words(fault)
        times = 2 if any(isinstance(fault, Twice) for fault in faults) else 1
        for _ in range(times):
            self._sink.mails.add("mail", _envelope(session, envelope), content)
        await self._sink.faults.hold(faults, "after")
        if any(isinstance(fault, CutAfter) for fault in faults):
            await server.hang_up()
        return f"250 2.0.0 Ok: queued as {self._sink.mails.count():06d}"


def _envelope(session: Session, envelope: Envelope) -> dict[str, Any]:
    sender = envelope.mail_from or ""
    return {
        "mail_from": "" if sender == "<>" else sender,
        "rcpt_tos": list(envelope.rcpt_tos),
        "mail_options": list(envelope.mail_options),
        "helo": session.host_name,
        "tls": session.ssl is not None,
        "user": session.auth_data if session.authenticated else None,
    }


def _words(answer: Answer) -> str:
    return f"{answer.status} {answer.body or REFUSAL.get(answer.status, 'Refused')}"


Verb = Callable[[str | None], Awaitable[None]]


class SinkSession(SMTP):
    """One connection. Each verb passes the plan of faults before aiosmtpd sees it."""

    line_length_limit = 1024 * 1024

    def __init__(self, sink: SmtpSink, **options: Any) -> None:
        super().__init__(_Handler(sink), **options)
        self._sink = sink
        self._smtp_methods: dict[str, Verb] = {
            verb: self._faulty(verb, method) for verb, method in self._smtp_methods.items()
        }

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._sink.sessions.add(self)
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        self._sink.sessions.discard(self)
        super().connection_lost(error)

    async def hang_up(self) -> None:
        """Reset the connection. Called by the session itself, it does not return: aiosmtpd cancels its task."""
        if isinstance(self.transport, asyncio.WriteTransport):
            self.transport.abort()
        if self._handler_coroutine is asyncio.current_task():
            await _for_ever()

    async def _handle_client(self) -> None:
        if self._sink.faults.dark:
            await self.hang_up()
        faults = self._sink.faults.take("CONNECT")
        await self._sink.faults.hold(faults, "before")
        if any(isinstance(fault, CutBefore) for fault in faults):
            await self.hang_up()
        for fault in faults:
            if isinstance(fault, Answer):
                await self.push(_words(fault))
                if self.transport is not None:
                    self.transport.close()
                return
        await super()._handle_client()

    def _faulty(self, verb: str, method: Verb) -> Verb:
        async def run(argument: str | None) -> None:
            raw = (argument or "").encode("utf-8", "surrogateescape")
            self._sink.requests.add(verb, {"argument": raw.decode("utf-8", "replace")}, raw)
            faults = self._sink.faults.take(verb)
            await self._sink.faults.hold(faults, "before")
            if any(isinstance(fault, CutBefore) for fault in faults):
                await self.hang_up()
            answer = self._answer(verb, raw, faults)
            if answer is not None:
                await self.push(_words(answer))
                if answer.status == 421 and self.transport is not None:
                    self.transport.close()
                return
            await method(argument)
            await self._sink.faults.hold(faults, "after")
            if any(isinstance(fault, CutAfter) for fault in faults):
                await self.hang_up()

        return run

    def _answer(self, verb: str, raw: bytes, faults: tuple[Fault, ...]) -> Answer | None:
        for fault in faults:
            if isinstance(fault, Answer):
                return fault
        if verb == "RCPT" and self._sink.greylist and self.envelope is not None:
            pair = (self.envelope.mail_from or "", raw.decode("utf-8", "replace").lower())
            if pair not in self._sink.seen:
                self._sink.seen.add(pair)
                return GREYLISTED
        return None


async def _for_ever() -> NoReturn:
    await asyncio.get_running_loop().create_future()
    raise AssertionError("unreachable")


class SinkControl(HttpFake):
    """The control endpoint of a sink, for the standalone mode."""

    kind: ClassVar[str] = "smtp control"

    def __init__(self, sink: SmtpSink) -> None:
        super().__init__()
        self._sink = sink
        self.faults = sink.faults
        self.requests = sink.requests

    def add_routes(self, router: web.UrlDispatcher) -> None:
        router.add_get("/_control/mails", record_route(self._sink.mails))

    def refusal(self, answer: Answer) -> web.Response:
        return web.Response(status=answer.status)


async def main() -> None:
    parser = arguments("an SMTP server that keeps all mail")
    parser.add_argument("--tls", type=Path, default=None, help="offer STARTTLS; write the CA certificate there")
    parser.add_argument("--user", action="append", default=None, metavar="NAME:PASSWORD", help="ask for AUTH")
    parser.add_argument("--greylist", action="store_true")
    options = parser.parse_args()
    users = dict(entry.split(":", 1) for entry in options.user) if options.user else None
    sink = SmtpSink(
        tls=options.tls is not None,
        users=users,
        greylist=options.greylist,
        port=options.port,
        log=options.log,
        keep=options.keep,
    )
    if sink.ca is not None:
        sink.ca.cert_pem.write_to_path(str(options.tls))
    async with sink, SinkControl(sink) as control:
        hello = {"kind": "smtp", "port": sink.port, "url": control.url}
        await serve_until_stopped(hello, options.exit_with_stdin)


if __name__ == "__main__":
    asyncio.run(main())
