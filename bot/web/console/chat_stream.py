"""What an open conversation hears: the answer as far as it is written, that there is something new to be read, and that
what has become of some message somewhere changed, which may be one of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta

from starlette.responses import Response

from bot.gateway.pages import Drafted, Listening
from bot.gateway.text import parse
from bot.gateway.text_html import html
from bot.kernel.clock import Clock
from bot.kernel.supervise import cancel, start
from bot.web.console.hub import Ear
from bot.web.console.live import EventStream

BEAT = timedelta(seconds=20)
"""A line is sent at least this often, so that a connection that broke is noticed."""
LASTS = timedelta(minutes=15)
"""Then a stream ends, and the page asks again, with the cookie it has by then."""
AT_ONCE = 1_000
"""Characters of a draft that are read on the event loop."""
TOPIC = "session"
DRAFT = "event: draft\n"
CHANGED = "event: changed\ndata:\n\n"
STATE = "event: state\ndata:\n\n"
STILL = ": \n\n"

StillIn = Callable[[], Awaitable[bool]]


def stream(listening: Listening, ear: Ear | None, clock: Clock, still_in: StillIn) -> Response:
    """`ear`: None where too many listen; what ends without a word is then seen late. `still_in`: whether the browser is
    signed in yet; who is not hears nothing more."""

    def close() -> None:
        listening.close()
        if ear is not None:
            ear.close()

    return EventStream(_events(listening, ear, clock, still_in), close)


async def _events(listening: Listening, ear: Ear | None, clock: Clock, still_in: StillIn) -> AsyncIterator[str]:
    until = clock.monotonic() + LASTS.total_seconds()
    lines: asyncio.Queue[str] = asyncio.Queue(maxsize=1)
    sources = [_news(listening), *(() if ear is None else (_states(ear),))]
    pumps = [start("chat-stream", _pump(each, lines)) for each in sources]
    try:
        # Whatever came between the drawing of the page and now.
        yield f"retry: 2000\n{CHANGED}"
        while not listening.ended and clock.monotonic() < until:
            line = await lines.get()
            if line not in (STATE, STILL) and not await still_in():
                return
            yield line
    finally:
        for pump in pumps:
            await cancel(pump)


async def _pump(source: AsyncIterator[str], lines: asyncio.Queue[str]) -> None:
    async for line in source:
        await lines.put(line)


async def _news(listening: Listening) -> AsyncIterator[str]:
    while not listening.ended:
        news = await listening.next(BEAT)
        if isinstance(news, Drafted):
            yield f"{DRAFT}data: {json.dumps(await _drawn(news.text))}\n\n"
        else:
            yield STILL if news is None else CHANGED


async def _states(ear: Ear) -> AsyncIterator[str]:
    while not ear.ended:
        if TOPIC in await ear.next(BEAT):
            yield STATE


async def _drawn(text: str | None) -> str | None:
    """None: there are no words yet, or no new ones."""
    if text is None:
        return None
    return html(parse(text)) if len(text) <= AT_ONCE else await asyncio.to_thread(lambda: html(parse(text)))
