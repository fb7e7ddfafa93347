"""The daemon's own answers: `/live` for probes, `/health` for people and monitors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from bot.kernel.errors import OpenExecutiveError
from bot.kernel.supervise import Bug, attempt
from bot.web.hosts import is_loopback_address, is_loopback_name

Status = Callable[[], Awaitable[Mapping[str, object]]]
"""What the daemon says of itself; `status` is "ok", "starting" or "degraded"."""

_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")


def routes(status: Status) -> list[Route]:
    async def live(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def health(request: Request) -> Response:
        found = await _asked(status)
        if found is None:
            return JSONResponse({"status": "degraded"}, 503)
        return JSONResponse(dict(found) if is_local(request) else {"status": found.get("status", "degraded")})

    return [Route("/live", live, methods=["GET"]), Route("/health", health, methods=["GET"])]


def is_local(request: Request) -> bool:
    """Whether the request was made on this machine: a proxy on it that passes on another's request is not."""
    peer = request.client.host if request.client is not None else ""
    name = request.url.hostname or ""
    forwarded = any(header in request.headers for header in _FORWARDED)
    return is_loopback_address(peer) and is_loopback_name(name) and not forwarded


async def _asked(status: Status) -> Mapping[str, object] | None:
    """None if the daemon cannot tell."""
    try:
        found = await attempt(status(), "status")
    except OpenExecutiveError:
        return None
    return None if isinstance(found, Bug) else found
