"""Stands before every route: turns away who does not ask for us by name, and puts the security headers on answers."""

from __future__ import annotations

from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.web.hosts import Allowed

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """ASGI middleware. `on_refused` hears why a request was turned away."""

    def __init__(self, app: ASGIApp, allowed: Allowed, on_refused: Callable[[str], None]) -> None:
        self._app = app
        self._allowed = allowed
        self._on_refused = on_refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(Headers(scope=scope))
        if refusal is None:
            await self._app(scope, receive, with_headers)
            return
        status, reason, text = refusal
        self._on_refused(reason)
        response = PlainTextResponse(text, status, headers={"Connection": "close"})
        await response(scope, receive, with_headers)

    def _refusal(self, headers: Headers) -> tuple[int, str, str] | None:
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not self._allowed.host(hosts[0]):
            return 421, "bad_host", "This server does not answer to that name.\n"  # RFC 9110 s15.5.20
        if any(not self._allowed.origin(origin) for origin in origins):
            return 403, "bad_origin", "Not from that page.\n"
        return None
