"""An IMAP4rev1 server on loopback: one account, its folders in `world`, and it misbehaves as told.

`requests` is every command; endpoints for faults are the commands (`LOGIN`, `SELECT`, `UID FETCH`, `UID MOVE`,
`APPEND`, `IDLE`, ...) and `CONNECT` for the greeting. `CutBefore` resets the connection without effect, `CutAfter` with
it, `Answer(n, "NO [CODE] words")` refuses with these words. Sources: RFC 3501, RFC 2177 (IDLE), RFC 6851 (MOVE), RFC
4315 (UIDPLUS), RFC 4959 (SASL-IR); XOAUTH2 as Google and Microsoft describe it, the error challenge included.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

import trustme
from aiohttp import web

from tests.fakes.faults import Answer, FaultPlan, Record
from tests.fakes.httpserver import HttpFake, arguments, json_body, serve_until_stopped
from tests.fakes.imap_session import ImapSession
from tests.fakes.imap_world import ImapWorld

CAPABILITIES = ("IMAP4REV1", "IDLE", "MOVE", "UIDPLUS", "SASL-IR", "AUTH=PLAIN", "AUTH=XOAUTH2")


class FakeImap:
    """The server, as an async context manager.

    `users`: name to password; `tokens`: name to access token. `security`: `tls` and `starttls` use a certificate of
    `ca` for localhost (`client_context` trusts it). `without`: capabilities that it does not have.
    """

    def __init__(
        self,
        *,
        users: Mapping[str, str] | None = None,
        tokens: Mapping[str, str] | None = None,
        security: str = "none",
        without: tuple[str, ...] = (),
        port: int = 0,
        log: Path | None = None,
        keep: int | None = None,
    ) -> None:
        self.host, self.port = "127.0.0.1", port
        self.users = dict({"executive@bot.example": "pass word"} if users is None else users)
        self.tokens = dict(tokens or {})
        self.security = security
        self.capabilities = [c for c in CAPABILITIES if c not in without]
        self.world = ImapWorld()
        self.faults = FaultPlan()
        self.requests = Record("request", log, keep)
        self.sessions: set[ImapSession] = set()
        self.ca = trustme.CA() if security != "none" else None
        self.tls: ssl.SSLContext | None = None
        self._server: asyncio.Server | None = None
        if self.ca is not None:
            self.tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            self.ca.issue_cert("localhost", "127.0.0.1").configure_cert(self.tls)

    def client_context(self) -> ssl.SSLContext:
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
        tasks = [session.task for session in self.sessions if session.task is not None]
        for session in tuple(self.sessions):
            session.cut()
        if tasks:
            await asyncio.wait(tasks)

    async def up(self) -> None:
        """Listen (again, on the same port)."""
        if self._server is None:
            self._server = await asyncio.start_server(
                self._serve, self.host, self.port, ssl=self.tls if self.security == "tls" else None, limit=1 << 26
            )
            self.port = self._server.sockets[0].getsockname()[1]

    async def down(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    def cut_all(self) -> None:
        """Reset every connection."""
        for session in tuple(self.sessions):
            session.cut()

    def bye(self, words: str = "Server going down") -> None:
        """End every session as a server does that stops."""
        for session in tuple(self.sessions):
            session.say(f"* BYE {words}".encode())
            session.hang_up()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        session = ImapSession(self, reader, writer)
        self.sessions.add(session)
        try:
            await session.serve()
        except (OSError, EOFError, asyncio.CancelledError):
            pass
        finally:
            self.sessions.discard(session)
            session.leave()
            writer.close()


class ImapControl(HttpFake):
    """The control endpoint of an IMAP fake, for the standalone mode."""

    kind: ClassVar[str] = "imap control"

    def __init__(self, fake: FakeImap) -> None:
        super().__init__()
        self._fake = fake
        self.faults = fake.faults
        self.requests = fake.requests

    def add_routes(self, router: web.UrlDispatcher) -> None:
        router.add_post("/_control/deliver", self._deliver)
        router.add_post("/_control/act", self._act)
        router.add_get("/_control/folder", self._show)

    def refusal(self, answer: Answer) -> web.Response:
        return web.Response(status=answer.status)

    async def _deliver(self, request: web.Request) -> web.Response:
        at = request.query.get("at")
        when = datetime.fromisoformat(at) if at else None
        message = self._fake.world.deliver(await request.read(), request.query.get("folder", "INBOX"), when)
        return web.json_response({"uid": message.uid})

    async def _act(self, request: web.Request) -> web.Response:
        body = await json_body(request)
        folder = str(body.get("folder", "INBOX"))
        match body["what"]:
            case "rebuild":
                self._fake.world.rebuild(folder)
                self._fake.bye("rebuilt")
            case "remove":
                self._fake.world.remove(int(body["uid"]), folder)
            case "bye":
                self._fake.bye()
            case "cut":
                self._fake.cut_all()
            case _:
                raise web.HTTPBadRequest
        return web.json_response({})

    async def _show(self, request: web.Request) -> web.Response:
        name = request.query.get("name", "INBOX")
        messages = self._fake.world.folders[name].messages if name in self._fake.world.folders else []
        shown = [{"uid": m.uid, "raw": base64.b64encode(m.raw).decode(), "flags": sorted(m.flags)} for m in messages]
        return web.json_response(shown)


async def main() -> None:
    parser = arguments("an IMAP server with one account")
    parser.add_argument("--user", action="append", default=None, metavar="NAME:PASSWORD")
    parser.add_argument("--token", action="append", default=None, metavar="NAME:TOKEN")
    parser.add_argument("--without", action="append", default=[], metavar="CAPABILITY")
    options = parser.parse_args()
    pairs = [dict(e.split(":", 1) for e in given) if given else None for given in (options.user, options.token)]
    fake = FakeImap(
        users=pairs[0], tokens=pairs[1], without=tuple(options.without), port=options.port, log=options.log,
        keep=options.keep,
    )  # fmt: skip
    async with fake, ImapControl(fake) as control:
        await serve_until_stopped({"kind": "imap", "port": fake.port, "url": control.url}, options.exit_with_stdin)


if __name__ == "__main__":
    asyncio.run(main())
