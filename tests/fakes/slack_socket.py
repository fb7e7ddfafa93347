"""Socket Mode: links that are opened with a ticket, envelopes that want an acknowledgement, and what goes wrong.

An event goes to one of the open links, in turn. If its envelope is not acknowledged it is delivered again with
`retry_attempt` and `retry_reason`, on a schedule (`retries`, seconds after the first delivery; the platform's own is at
once, about a minute and about five minutes) or when `redeliver` is called; after the last one it is given up. Commands
and presses are delivered once. Source: the public Socket Mode and Events API documentation.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from aiohttp import WSMsgType, web

from tests.fakes.faults import Record
from tests.fakes.slack_world import APP, BOT_USER, TEAM

JsonObject = dict[str, Any]

MAX_LINKS = 10


@dataclass
class Link:
    number: int
    socket: web.WebSocketResponse
    transport: asyncio.WriteTransport | None
    deaf: bool = False
    """Neither sends nor answers any more, and does not close."""
    pongs: int = 0


@dataclass
class Envelope:
    kind: str
    payload: JsonObject
    attempt: int = 0
    ids: list[str] = field(default_factory=list)
    acknowledged: bool = False


class Sockets:
    """`acks` holds every acknowledgement, `sent` every envelope that was delivered."""

    def __init__(self, acks: Record, sent: Record, retries: Sequence[float]) -> None:
        self.acks = acks
        self.sent = sent
        self.retries = tuple(retries)
        self.links: list[Link] = []
        self.opened = 0
        self.most = 0
        """The largest number of links that were open at once."""
        self.waiting: list[Envelope] = []
        self._tickets: set[str] = set()
        self._numbers = itertools.count(1)
        self._turn = 0
        self._timers: set[asyncio.TimerHandle] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()

    # Opening.

    def ticket(self) -> str:
        ticket = f"ticket-{next(self._numbers)}"
        self._tickets.add(ticket)
        return ticket

    async def serve(self, request: web.Request) -> web.StreamResponse:
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            return web.Response(status=408, text="ticket expired")
        self._tickets.discard(ticket)
        socket = web.WebSocketResponse(autoping=False)
        await socket.prepare(request)
        self.opened += 1
        link = Link(self.opened, socket, cast(asyncio.WriteTransport | None, request.transport))
        self.links.append(link)
        self.most = max(self.most, len(self.links))
        if len(self.links) > MAX_LINKS:
            await socket.send_json({"type": "disconnect", "reason": "too_many_websockets", "debug_info": {}})
            self.links.remove(link)
            await socket.close()
            return socket
        await socket.send_json(
            {
                "type": "hello",
                "num_connections": len(self.links),
                "debug_info": {"host": "applink-1", "build_number": 1, "approximate_connection_time": 18060},
                "connection_info": {"app_id": APP},
            }
        )
        self._ring()
        try:
            await self._listen(link)
        finally:
            if link in self.links:
                self.links.remove(link)
            self._ring()
        return socket

    async def _listen(self, link: Link) -> None:
        async for frame in link.socket:
            if link.deaf:
                continue
            if frame.type is WSMsgType.PING:
                link.pongs += 1
                await link.socket.pong(frame.data)
            elif frame.type is WSMsgType.TEXT:
                self._acknowledge(json.loads(frame.data))

    def _acknowledge(self, body: JsonObject) -> None:
        known = [one for one in self.waiting if body.get("envelope_id") in one.ids]
        for envelope in known:
            envelope.acknowledged = True
            self.waiting.remove(envelope)
        attempt = known[0].attempt if known else None
        self.acks.add("ack", {**body, "known": bool(known), "attempt": attempt})
        self._ring()

    # Delivering.

    def event(self, event: JsonObject) -> None:
        """Deliver an Events API event under a fresh event id."""
        payload = {
            "token": "verification",
            "team_id": TEAM,
            "context_team_id": TEAM,
            "api_app_id": APP,
            "event": event,
            "type": "event_callback",
            "event_id": f"Ev{next(self._numbers):08d}",
            "event_time": int(float(event.get("event_ts", "0"))),
            "authorizations": [{"enterprise_id": None, "team_id": TEAM, "user_id": BOT_USER, "is_bot": True}],
            "is_ext_shared_channel": False,
        }
        self.deliver("events_api", payload)

    def deliver(self, kind: str, payload: JsonObject) -> Envelope:
        """`kind`: `events_api`, `slash_commands` or `interactive`."""
        envelope = Envelope(kind, payload)
        self.waiting.append(envelope)
        self._send(envelope)
        if kind == "events_api":
            loop = asyncio.get_running_loop()
            self._timers |= {loop.call_later(delay, self._retry, envelope) for delay in self.retries}
        return envelope

    def redeliver(self, reason: str = "timeout") -> int:
        """Deliver every event that is not acknowledged again, now. Returns how many."""
        again = [one for one in self.waiting if one.kind == "events_api"]
        for envelope in again:
            self._again(envelope, reason)
        return len(again)

    def repeat(self, event_id: str) -> None:
        """Deliver an event again although it was acknowledged: the acknowledgement was lost on its way."""
        for entry in self.sent.of("events_api"):
            if entry.body["payload"]["event_id"] == event_id:
                envelope = Envelope("events_api", entry.body["payload"])
                self.waiting.append(envelope)
                self._again(envelope, "timeout")
                return
        raise KeyError(event_id)

    def _retry(self, envelope: Envelope) -> None:
        if not envelope.acknowledged:
            self._again(envelope, "timeout")

    def _again(self, envelope: Envelope, reason: str) -> None:
        envelope.attempt += 1
        self._send(envelope, reason)

    def _send(self, envelope: Envelope, reason: str = "") -> None:
        if not self.links:
            return
        link = self.links[self._turn % len(self.links)]
        self._turn += 1
        envelope_id = f"envelope-{next(self._numbers)}"
        envelope.ids.append(envelope_id)
        if link.deaf:
            return
        body: JsonObject = {"type": envelope.kind, "envelope_id": envelope_id, "payload": envelope.payload}
        body["accepts_response_payload"] = envelope.kind != "events_api"
        if envelope.kind == "events_api":
            body |= {"retry_attempt": envelope.attempt, "retry_reason": reason}
        self.sent.add(envelope.kind, body)
        self._start(self._write(link, body))

    async def _write(self, link: Link, body: JsonObject) -> None:
        try:
            await link.socket.send_json(body)
        except (ConnectionError, RuntimeError):
            return  # the link broke under it; the envelope is not acknowledged and comes again

    def _start(self, work: Any) -> None:
        # The far end is not part of the daemon: its tasks are held here and end in `closing`.
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # What goes wrong.

    def deafen(self) -> None:
        """Every open link goes silent without a close."""
        for link in self.links:
            link.deaf = True

    async def disconnect(self, reason: str, close: bool = True) -> None:
        """Tell every open link to go (`warning`, `refresh_requested`, `link_disabled`), then close it."""
        for link in list(self.links):
            await link.socket.send_json({"type": "disconnect", "reason": reason, "debug_info": {"host": "applink-1"}})
            if close:
                await link.socket.close()

    def cut(self) -> None:
        """Reset every open link."""
        for link in list(self.links):
            if link.transport is not None:
                link.transport.abort()

    # Waiting.

    def _ring(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def connected(self, links: int = 1, opened: int = 0, timeout: float = 10.0) -> None:
        """Return once exactly `links` are open and at least `opened` were ever opened."""
        async with asyncio.timeout(timeout):
            while len(self.links) != links or self.opened < opened:
                await self._changed.wait()

    async def settled(self, timeout: float = 10.0) -> None:
        """Return once nothing waits for an acknowledgement."""
        async with asyncio.timeout(timeout):
            while self.waiting:
                await self._changed.wait()

    async def closing(self) -> None:
        for timer in self._timers:
            timer.cancel()
        for link in list(self.links):
            link.deaf = True
        self.cut()
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(set(self._tasks))
