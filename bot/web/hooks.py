"""Requests for channels: read within bounds, handed over, answered; a channel's failure never shows its inside."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bot.gateway.channel import HttpRequest, HttpResponse, HttpRoute
from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.supervise import Bug, attempt

BODY_WITHIN = 30.0
"""Seconds that a request may take to arrive."""
AGAIN_AFTER = 30
"""Seconds until whoever calls should try again, when a channel does not say."""


class BodyRefusedError(Exception):
    """`status` is what is answered, `reason` a short name for the audit."""

    def __init__(self, status: int, reason: str) -> None:
        self.status = status
        self.reason = reason


def routes(hooks: Sequence[HttpRoute], on_refused: Callable[[str], None]) -> list[Route]:
    """One route per hook, for its own method only."""
    return [_route(hook, on_refused) for hook in hooks]


def _route(hook: HttpRoute, on_refused: Callable[[str], None]) -> Route:
    async def endpoint(request: Request) -> Response:
        try:
            body = await read_body(request, hook.limit)
        except BodyRefusedError as refused:
            on_refused(refused.reason)
            return PlainTextResponse("", refused.status, headers={"Connection": "close"})
        asked = HttpRequest(request.method, request.url.path, dict(request.headers), body)
        answer = await _handled(hook, asked)
        if answer.status in (401, 403):
            on_refused("webhook_unauthenticated")
        headers = {"Retry-After": str(AGAIN_AFTER)} if answer.status == 503 else None
        return Response(answer.body, answer.status, headers=headers, media_type=answer.media_type)

    return Route(hook.path, endpoint, methods=[hook.method])


async def _handled(hook: HttpRoute, asked: HttpRequest) -> HttpResponse:
    try:
        answer = await attempt(hook.handle(asked), f"{hook.method} {hook.path}")
    except TransientError:
        return HttpResponse(503)  # nothing was stored: the platform calls again
    except PermanentError:
        return HttpResponse(400)
    return HttpResponse(500) if isinstance(answer, Bug) else answer


async def read_body(request: Request, limit: int) -> bytes:
    """The body, of at most `limit` bytes whatever its declared length. Raises `BodyRefusedError`."""
    declared = request.headers.get("content-length", "0")
    if declared.isascii() and declared.isdigit() and int(declared) > limit:
        raise BodyRefusedError(413, "body_too_large")
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_WITHIN):
            async for chunk in request.stream():
                body += chunk
                if len(body) > limit:
                    raise BodyRefusedError(413, "body_too_large")
    except TimeoutError as error:
        raise BodyRefusedError(408, "body_too_slow") from error
    except ClientDisconnect as error:
        raise BodyRefusedError(400, "body_cut_off") from error
    return bytes(body)
