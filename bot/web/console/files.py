"""A file that comes as the body of a request, piece by piece. It holds a connection for as long as it comes, so nobody
is waited for long, nor for many of their files at once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

from starlette.requests import ClientDisconnect, Request

from bot.kernel.ids import PersonId
from bot.web.refusals import Refusal

PIECE_WITHIN = 30.0
"""Seconds between two pieces: a large file may take long, a silent browser may not."""
MOST = 40
"""Files that come at a time. With all streams of open pages they leave connections free (`bot.web.server`)."""
MOST_OF_ONE = 20
"""Of one person: what a message may take along."""


class Arriving:
    """The files that are on their way, of all people."""

    def __init__(self) -> None:
        self._of: Counter[PersonId] = Counter()

    @contextmanager
    def one(self, person: PersonId) -> Iterator[None]:
        """While one more comes. Raises `Refusal` when that is too many."""
        if self._of[person] >= MOST_OF_ONE or self._of.total() >= MOST:
            raise Refusal(503, "later", "Many files are coming just now: bring it in a moment.", "too_many_files")
        self._of[person] += 1
        try:
            yield
        finally:
            self._of[person] -= 1
            self._of += Counter()  # forgets who has none


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
