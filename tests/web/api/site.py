"""The API on a real socket, over a store with people, rooms and memories."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import aiohttp

from bot.audit.events import Actor
from bot.kernel.ids import PersonId
from bot.kernel.supervise import Supervisor, cancel, start
from bot.ledger.sealing import Sealer
from bot.orchestrator.clerk import Clerk
from bot.orchestrator.schedule_desk import ScheduleDesk
from bot.orchestrator.verdicts import Verdicts
from bot.people import tokens
from bot.web import api
from bot.web.server import Server
from tests.ledger.workshop import Workshop
from tests.memory.desk import CountingEraser, Desk
from tests.outbox.post import Post

OPERATOR = Actor("system", "operator")


@dataclass
class Answer:
    status: int
    body: Any
    headers: Mapping[str, str]


@dataclass
class Site:
    desk: Desk
    url: str
    client: aiohttp.ClientSession
    eraser: CountingEraser
    refused: list[str]
    secrets: dict[str, str]
    shop: Workshop
    """The ledger that is asked."""

    async def ask(self, method: str, path: str, body: object = None, *, by: str | None = "ada", **more: Any) -> Answer:
        headers = dict(more.pop("headers", {}))
        if by is not None:
            headers.setdefault("Authorization", f"Bearer {self.secrets[by]}")
        if body is not None:
            more["json"] = body
        async with self.client.request(method, self.url + path, headers=headers, **more) as response:
            kind = response.headers.get("Content-Type", "")
            return Answer(
                response.status,
                await response.json() if kind == "application/json" else await response.read(),
                response.headers,
            )

    async def token(self, who: str, days: int = 30) -> tuple[str, str]:
        """Id and secret."""
        token, secret = await self.desk.write(
            lambda tx: tokens.make(
                tx, self.desk.rooms.recorder, PersonId(who), "test", timedelta(days=days), OPERATOR, self.desk.now
            )
        )
        return token.id, secret

    async def statements(self, by: str, query: str = "") -> list[str]:
        answer = await self.ask("GET", f"/api/memories{query}", by=by)
        assert answer.status == 200, answer.body
        return [each["statement"] for each in answer.body["memories"]]


async def healthy() -> Mapping[str, object]:
    return {"status": "ok"}


@asynccontextmanager
async def serving(desk: Desk) -> AsyncIterator[Site]:
    refused: list[str] = []
    eraser = CountingEraser()
    rooms = desk.rooms
    supervisor = Supervisor()
    shop = Workshop(Post(rooms.database, rooms.recorder, rooms.clock, supervisor))
    verdicts = Verdicts(rooms.database, rooms.clock, shop.ledger, {}, lambda: None, Sealer(b"k" * 32))
    clerk = Clerk(rooms.database, rooms.clock, verdicts, "api")
    schedules = ScheduleDesk(rooms.database, rooms.recorder, rooms.clock, shop.ledger, lambda: None)
    routes = api.routes(rooms.database, rooms.recorder, rooms.clock, eraser, "1.2.3", refused.append, clerk, schedules)
    server = Server("127.0.0.1", 0, (), healthy, (), refused.append, routes)
    server.listen()
    running = start("web", server.run())
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(20)) as client:
        site = Site(desk, f"http://127.0.0.1:{server.port}", client, eraser, refused, {}, shop)
        for who in ("boss", "ada", "bob", "guest"):
            site.secrets[who] = (await site.token(who))[1]
        try:
            yield site
        finally:
            await client.close()
            await cancel(running)
            server.close()
            await supervisor.stop()
