"""What an open conversation hears: the answer as far as it is written, and that there is something new to be read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta

from starlette.responses import Response, StreamingResponse

from bot.gateway.pages import Drafted, Listening
from bot.kernel.clock import Clock
from bot.web.console.conversation import formatted

BEAT = timedelta(seconds=20)
"""A line is sent at least this often, so that a connection that broke is noticed."""
LASTS = timedelta(minutes=15)
"""Then a stream ends, and the page asks again, with the cookie it has by then."""
AT_ONCE = 1_000
"""Characters of a draft that are read on the event loop."""
CHANGED = "event: changed\ndata:\n\n"


def stream(listening: Listening, clock: Clock) -> Response:
    return StreamingResponse(_events(listening, clock), media_type="text/event-stream")


async def _events(listening: Listening, clock: Clock) -> AsyncIterator[str]:
    until = clock.monotonic() + LASTS.total_seconds()
    try:
        # Whatever came between the drawing of the page and now.
        yield f"retry: 2000\n{CHANGED}"
        while not listening.ended and clock.monotonic() < until:
            news = await listening.next(BEAT)
            if isinstance(news, Drafted):
                yield f"event: draft\ndata: {json.dumps(await _drawn(news.text))}\n\n"
            else:
                yield ": \n\n" if news is None else CHANGED
    finally:
        listening.close()


async def _drawn(text: str | None) -> str | None:
    """None: there are no words yet, or no new ones."""
    if text is None:
        return None
    return str(formatted(text)) if len(text) <= AT_ONCE else str(await asyncio.to_thread(formatted, text))
