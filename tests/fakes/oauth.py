"""A provider of logins by device code (RFC 8628) with refresh (RFC 6749 s6), over HTTP.

`allow()` and `deny()` are what the person does in the browser; until then polls are answered `authorization_pending`.
Endpoints for faults: `device`, `token`. `expires_in` is the life of access tokens; each refresh hands out new ones, and
with `rotate` a new refresh token, which makes the old one void.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar
from urllib.parse import parse_qsl

from aiohttp import web

from tests.fakes.faults import Answer, Fault
from tests.fakes.httpserver import HttpFake, Outcome, arguments, json_body, serve_until_stopped

DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"


class FakeOAuth(HttpFake):
    kind: ClassVar[str] = "oauth"

    def __init__(
        self,
        *,
        client_id: str = "client",
        interval: int = 5,
        expires_in: int = 3600,
        rotate: bool = False,
        port: int = 0,
    ) -> None:
        super().__init__(port=port)
        self.client_id, self.interval, self.expires_in, self.rotate = client_id, interval, expires_in, rotate
        self.user_code = "WDJB-MJHT"
        self.answer: str | None = None
        self.issued: list[str] = []
        """Access tokens, oldest first."""
        self.refresh_tokens: set[str] = set()

    def allow(self) -> None:
        self.answer = "allow"

    def deny(self) -> None:
        self.answer = "access_denied"

    def expire(self) -> None:
        self.answer = "expired_token"

    def revoke(self) -> None:
        """As when the person withdraws the app's rights."""
        self.refresh_tokens.clear()

    def add_routes(self, router: web.UrlDispatcher) -> None:
        router.add_post("/device", self._device)
        router.add_post("/token", self._token)

    def add_control(self, router: web.UrlDispatcher) -> None:
        router.add_post("/_control/answer", self._control)

    def refusal(self, answer: Answer) -> web.Response:
        if answer.status == 400:
            return _error(answer.body or "invalid_request")
        return web.Response(status=answer.status, text=answer.body or "")

    async def _control(self, request: web.Request) -> web.Response:
        self.answer = str((await json_body(request))["answer"])
        return web.json_response({})

    async def _device(self, request: web.Request) -> web.StreamResponse:
        form, raw = await _form(request)

        async def effect(faults: tuple[Fault, ...]) -> Outcome:
            if form.get("client_id") != self.client_id:
                return _error("invalid_client", 401)
            return web.json_response(
                {
                    "device_code": "device-code", "user_code": self.user_code, "interval": self.interval,
                    "verification_uri": f"{self.url}/activate", "expires_in": 900,
                }
            )  # fmt: skip

        return await self.serve(request, "device", dict(form), raw, effect)

    async def _token(self, request: web.Request) -> web.StreamResponse:
        form, raw = await _form(request)

        async def effect(faults: tuple[Fault, ...]) -> Outcome:
            if form.get("client_id") != self.client_id:
                return _error("invalid_client", 401)
            if form.get("grant_type") == "refresh_token":
                given = form.get("refresh_token", "")
                if given not in self.refresh_tokens:
                    return _error("invalid_grant")
                if self.rotate:
                    self.refresh_tokens.discard(given)
                return self._grant(with_refresh=self.rotate)
            if form.get("grant_type") != DEVICE_GRANT or form.get("device_code") != "device-code":
                return _error("invalid_grant")
            if self.answer != "allow":
                return _error(self.answer or "authorization_pending")
            return self._grant(with_refresh=True)

        return await self.serve(request, "token", dict(form), raw, effect)

    def _grant(self, *, with_refresh: bool) -> web.Response:
        number = len(self.issued) + 1
        self.issued.append(f"access-{number}")
        body: dict[str, object] = {
            "access_token": f"access-{number}", "token_type": "Bearer", "expires_in": self.expires_in
        }  # fmt: skip
        if with_refresh:
            body["refresh_token"] = f"refresh-{number}"
            self.refresh_tokens.add(f"refresh-{number}")
        return web.json_response(body)


async def _form(request: web.Request) -> tuple[dict[str, str], bytes]:
    raw = await request.read()
    return dict(parse_qsl(raw.decode(), keep_blank_values=True)), raw


def _error(code: str, status: int = 400) -> web.Response:
    return web.json_response({"error": code, "error_description": "secret details"}, status=status)


async def main() -> None:
    options = arguments("a provider of logins by device code").parse_args()
    async with FakeOAuth(port=options.port) as fake:
        await serve_until_stopped({"kind": "oauth", "port": fake.port, "url": fake.url}, options.exit_with_stdin)


if __name__ == "__main__":
    asyncio.run(main())
