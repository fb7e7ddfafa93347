"""The console on a real socket, over a store with people and rooms; each person has a browser of their own."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
from lxml import html
from yarl import URL

from bot.app.erasing import forgetting, of_people
from bot.app.opening import Store
from bot.erasure.copies import Copy
from bot.kernel.ids import PersonId
from bot.kernel.supervise import Supervisor, cancel, start
from bot.ledger.sealing import Sealer
from bot.llm.budget import MICROS, Limit, Limits
from bot.llm.metered import Meter
from bot.memory.recall import Recall
from bot.orchestrator.chain_check import ChainCheck
from bot.orchestrator.clerk import Clerk
from bot.orchestrator.linking import Linking
from bot.orchestrator.roster import Roster
from bot.orchestrator.schedule_desk import ScheduleDesk
from bot.orchestrator.verdicts import Verdicts
from bot.people import browsers
from bot.web import api
from bot.web.console.chat_lists import Chats
from bot.web.console.house import House
from bot.web.console.hub import Hub
from bot.web.console.knowledge import Documents
from bot.web.console.memory_desk import Remembered
from bot.web.console.routes import Rooms, routes
from bot.web.console.sign_in import SendLink
from bot.web.console.visits import Visitors
from bot.web.server import Server
from tests.conftest import KEY
from tests.ledger.workshop import Workshop
from tests.memory.desk import CountingEraser, Desk
from tests.memory.ranker import Words
from tests.outbox.post import Post
from tests.web.console.shelves import shelves

SECRET = b"s" * 32

Fields = Mapping[str, Any]


@dataclass(frozen=True)
class Answer:
    status: int
    text: str
    headers: Mapping[str, str]
    url: str
    """Its path and query, after redirects."""

    @property
    def tree(self) -> Any:
        return html.fromstring(self.text)

    @property
    def words(self) -> str:
        """What a person reads, with single spaces."""
        return " ".join(self.tree.text_content().split())

    def all(self, css: str) -> list[Any]:
        found: list[Any] = self.tree.cssselect(css)
        return found


@dataclass
class Browser:
    """A browser with its cookies. `go` and `post` follow redirects unless told otherwise."""

    base: str
    session: aiohttp.ClientSession

    async def go(self, path: str, **more: Any) -> Answer:
        return await self._ask("GET", path, **more)

    async def post(
        self, path: str, fields: Mapping[str, Any] | None = None, *, csrf: str | None = None, **more: Any
    ) -> Answer:
        """With the guard of forms that the last page held, or the one given."""
        given = self.csrf if csrf is None else csrf
        return await self._ask("POST", path, data={"csrf": given, **(fields or {})}, **more)

    async def part(self, path: str, *, method: str = "GET", **more: Any) -> Answer:
        """As htmx asks for a part of a page."""
        return await self._ask(method, path, headers={"HX-Request": "true", "X-CSRF": self.csrf}, **more)

    csrf: str = ""

    async def _ask(self, method: str, path: str, **more: Any) -> Answer:
        async with self.session.request(method, self.base + path, **more) as response:
            text = await response.text()
            if found := re.search(r'name="csrf" value="([^"]+)"', text):
                self.csrf = found[1]
            return Answer(response.status, text, response.headers, response.url.path_qs)

    def cookie(self, name: str) -> str | None:
        found = self.session.cookie_jar.filter_cookies(URL(self.base)).get(name)
        return None if found is None else found.value


@dataclass
class Site:
    desk: Desk
    url: str
    refused: list[str]
    hub: Hub
    documents: Documents
    shop: Workshop
    """The ledger behind the pages."""
    meter: Meter
    _browsers: list[Browser] = field(default_factory=list)

    def browser(self) -> Browser:
        """A new one, with no cookies."""
        made = Browser(self.url, aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)))
        self._browsers.append(made)
        return made

    async def link(self, who: str, asking: str | None = None) -> str:
        """The token of a one-time link."""
        return await self.desk.write(lambda tx: browsers.make_link(tx, PersonId(who), asking, self.desk.now))

    async def enter(self, who: str) -> Browser:
        """A browser in which this person is signed in."""
        browser = self.browser()
        path = f"/sign-in/{await self.link(who)}"
        await browser.go(path)
        answer = await browser.post(path, allow_redirects=False)
        assert answer.status == 303, answer.text
        return browser

    async def close(self) -> None:
        for each in self._browsers:
            await each.session.close()


def home(data_dir: Path) -> House:
    """A machine with one backup, and a few settings."""
    backup = ("openexecutive-20261201T030000Z.oebackup", datetime(2026, 12, 1, 3, tzinfo=UTC), None)
    told = [("company.name", '"Analytical Engines"', "file"), ("llm.api_key", "set", "environment")]
    return House(data_dir, data_dir / "backups", lambda: [backup], "Europe/Oslo", told, lambda: None)


def remembered(desk: Desk) -> Remembered:
    """Rooms of memory: shared words rank, and what is forgotten is gone."""
    rooms = desk.rooms
    copies = [Copy("a", rooms.clock.now(), None)]
    eraser = forgetting(Store(rooms.database, rooms.recorder, rooms.clock, KEY), lambda: None, lambda: copies)
    return Remembered(Recall(rooms.database, Words(rooms.database), 1_000), eraser, ("finance", "people"))


async def healthy() -> Mapping[str, object]:
    channels = {
        "slack": {"receiving": True, "sending": True, "reason": None, "where": "a socket"},
        "email": {"receiving": False, "sending": True, "reason": "the password is <wrong>", "where": None},
    }
    told = {"status": "degraded", "version": "1.2.3", "uptime_seconds": 90, "outbox": {"parked": 2}}
    return {**told, "channels": channels}


@asynccontextmanager
async def serving(desk: Desk, send: SendLink | None = None, secure: bool = False) -> AsyncIterator[Site]:
    async with shelves(desk.rooms) as documents, _serving(desk, send, documents, secure=secure) as site:
        yield site


@asynccontextmanager
async def _serving(desk: Desk, send: SendLink | None, documents: Documents, *, secure: bool) -> AsyncIterator[Site]:
    refused: list[str] = []
    rooms, hub = desk.rooms, Hub()
    rooms.recorder.listen(hub.written)
    visitors = Visitors(rooms.database, rooms.recorder, rooms.clock, SECRET, secure)
    supervisor = Supervisor()
    shop = Workshop(Post(rooms.database, rooms.recorder, rooms.clock, supervisor))
    verdicts = Verdicts(rooms.database, rooms.clock, shop.ledger, {}, lambda: None, Sealer(b"k" * 32))
    clerk = Clerk(rooms.database, rooms.clock, verdicts, "web")
    schedules = ScheduleDesk(rooms.database, rooms.recorder, rooms.clock, shop.ledger, lambda: None)
    chain = ChainCheck(rooms.database, rooms.recorder, rooms.clock, KEY, lambda: None)
    limits = {Limit.COMPANY: 10 * MICROS, Limit.PERSON: 2 * MICROS}
    meter = Meter(rooms.clock, "UTC", {}, Limits(limits, 0.8), {}, free=False)
    house = home(rooms.database.path.parent)
    roster = Roster(rooms.database, rooms.recorder, rooms.clock, "UTC", lambda: None, None)
    made = Rooms(
        rooms.database,
        rooms.recorder,
        rooms.clock,
        hub,
        send,
        healthy,
        remembered(desk),
        documents,
        Linking(roster, lambda: None),
        of_people(Store(rooms.database, rooms.recorder, rooms.clock, KEY), lambda: None),
        clerk,
        schedules,
        chain,
        house,
        meter,
        Chats(None, "web", lambda op: op, documents.blobs, 0, healthy),
    )
    served = [
        *api.routes(
            rooms.database, rooms.recorder, rooms.clock, CountingEraser(), "1.2.3", refused.append, visitors=visitors
        ),
        *routes(made, visitors, "Analytical Engines", "1.2.3", refused.append),
    ]
    server = Server("127.0.0.1", 0, (), healthy, (), refused.append, served)
    server.listen()
    running = start("web", server.run())
    site = Site(desk, f"http://127.0.0.1:{server.port}", refused, hub, documents, shop, meter)
    try:
        yield site
    finally:
        hub.close()
        await site.close()
        await cancel(running)
        server.close()
        await supervisor.stop()
