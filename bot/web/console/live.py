"""What changes while a page is open: one stream of server-sent events a page, of topics only.

An event says that something of a topic changed, never what: the page asks for its parts again, under its person's own
scope. Topics come from the audit, since no state changes without a row of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from datetime import timedelta

from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from bot.kernel.clock import Clock
from bot.web.console.site import Site
from bot.web.console.visits import Visit

TOPICS = {
    "memory": ("memory_", "extraction_"),
    "ledger": ("proposal_", "action_", "breaker_", "class_mode_"),
    "schedule": ("schedule_",),
    "session": ("message_", "turn_", "delivery_"),
    "knowledge": ("knowledge_",),
    "people": ("person_", "auth_", "room_", "token_", "pairing_"),
}
"""By the first letters of the types of audit events."""
READ = frozenset({"memory_viewed", "memory_snapshot"})
"""What was only looked at: a page that asks again because of it would never stop."""
BEAT = timedelta(seconds=20)
"""A line is sent at least this often, so that a connection that broke is noticed."""
LASTS = timedelta(minutes=15)
"""Then a stream ends, and the page asks again, with the cookie it has by then."""
GATHERED = timedelta(milliseconds=300)
"""Events that come within it are told together."""
MOST = 64
"""Streams at a time; a page without one shows what was so when it was loaded."""


class Hub:
    """Told by the audit what was written; wakes the streams."""

    def __init__(self) -> None:
        self._waiting: set[Ear] = set()

    def written(self, types: Iterable[str]) -> None:
        """Types of audit events that were committed just now."""
        changed = [each for each in types if each not in READ]
        topics = {topic for each in changed for topic, starts in TOPICS.items() if each.startswith(starts)}
        if topics:
            for ear in self._waiting:
                ear.hear(topics)

    @property
    def listening(self) -> int:
        return len(self._waiting)

    def listen(self) -> Ear | None:
        """None when there are too many already."""
        if len(self._waiting) >= MOST:
            return None
        ear = Ear(self._waiting.discard)
        self._waiting.add(ear)
        return ear

    def close(self) -> None:
        """End all streams: the server stops."""
        for ear in tuple(self._waiting):
            ear.end()


class Ear:
    def __init__(self, gone: Callable[[Ear], None]) -> None:
        self._gone = gone
        self._topics: set[str] = set()
        self._rung = asyncio.Event()
        self.ended = False

    def hear(self, topics: set[str]) -> None:
        self._topics |= topics
        self._rung.set()

    def end(self) -> None:
        self.ended = True
        self._rung.set()

    async def next(self, within: timedelta) -> set[str]:
        """Topics that changed; none when nothing did `within` that time."""
        try:
            async with asyncio.timeout(within.total_seconds()):
                await self._rung.wait()
        except TimeoutError:
            return set()
        if not self.ended:
            await asyncio.sleep(GATHERED.total_seconds())
        self._rung.clear()
        heard, self._topics = self._topics, set()
        return heard

    def close(self) -> None:
        self._gone(self)


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
    def __init__(self, hub: Hub, clock: Clock) -> None:
        self._hub = hub
        self._clock = clock

    def routes(self, site: Site) -> list[Route]:
        return [site.page("/events", self.events)]

    async def events(self, visit: Visit) -> Response:
        ear = self._hub.listen()
        if ear is None:
            return Response("", 503, {"Retry-After": "60"})
        return EventStream(self._events(ear), ear.close)

    async def _events(self, ear: Ear) -> AsyncIterator[str]:
        until = self._clock.monotonic() + LASTS.total_seconds()
        yield "retry: 3000\n\n"
        while not ear.ended and self._clock.monotonic() < until:
            topics = await ear.next(BEAT)
            yield f"data: {' '.join(sorted(topics))}\n\n" if topics else ": \n\n"
