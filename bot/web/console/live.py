"""What changes while a page is open: one stream of server-sent events a page, of topics only.

An event says that something of a topic changed, never what: the page asks for its parts again, under its person's own
scope. Topics come from the audit, since no state changes without a row of it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import timedelta

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from bot.kernel.clock import Clock
from bot.web.console.hub import Ear, Hub
from bot.web.console.site import Site
from bot.web.console.visits import NotSignedIn, Visit, Visitors

BEAT = timedelta(seconds=20)
"""A line is sent at least this often, so that a connection that broke is noticed."""
LASTS = timedelta(minutes=15)
"""Then a stream ends, and the page asks again, with the cookie it has by then."""


class EventStream(StreamingResponse):
    """Server-sent events. `close` is called at the end of it, also of one that ended before its first event: who has
    left the page by then never starts `events`, and nothing in it would be closed."""

    def __init__(self, events: AsyncIterator[str], close: Callable[[], None]) -> None:
        # A proxy in front must not gather what is to be seen at once (nginx, proxy_buffering).
        super().__init__(events, headers={"X-Accel-Buffering": "no"}, media_type="text/event-stream")
        self._close = close

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._close()


class Live:
    def __init__(self, hub: Hub, visitors: Visitors, clock: Clock) -> None:
        self._hub = hub
        self._visitors = visitors
        self._clock = clock

    def routes(self, site: Site) -> list[Route]:
        return [site.page("/events", self.events)]

    async def events(self, visit: Visit) -> Response:
        ear = self._hub.listen(visit.person.id)
        if ear is None:
            return Response("", 503, {"Retry-After": "60"})
        return EventStream(self._events(ear, visit.request), ear.close)

    async def _events(self, ear: Ear, request: Request) -> AsyncIterator[str]:
        """A browser that is signed out meanwhile hears nothing more."""
        until = self._clock.monotonic() + LASTS.total_seconds()
        yield "retry: 3000\n\n"
        while not ear.ended and self._clock.monotonic() < until:
            topics = await ear.next(BEAT)
            if isinstance(await self._visitors.of(request), NotSignedIn):
                return
            yield f"data: {' '.join(sorted(topics))}\n\n" if topics else ": \n\n"
