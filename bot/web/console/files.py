"""A file that comes as the body of a request, piece by piece; nobody is waited for long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from starlette.requests import ClientDisconnect, Request

from bot.web.refusals import Refusal

PIECE_WITHIN = 30.0
"""Seconds between two pieces: a large file may take long, a silent browser may not."""


async def pieces(request: Request) -> AsyncIterator[bytes]:
    """Raises `Refusal` when the body stops coming; how large it may be is bounded by whoever keeps it."""
    stream = request.stream()
    while True:
        try:
            async with asyncio.timeout(PIECE_WITHIN):
                piece = await anext(stream, None)
        except TimeoutError as error:
            raise Refusal(408, "body_too_slow", "The file came too slowly.", "body_too_slow") from error
        except ClientDisconnect as error:
            raise Refusal(400, "body_cut_off", "The file was cut off.", "body_cut_off") from error
        if piece is None:
            return
        yield piece
