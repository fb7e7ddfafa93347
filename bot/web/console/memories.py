"""Memories: what the executive knows, as far as its visitor may see it. Finding, filtering, looking back in time; the
pages of one memory, of what waits, and what is done there stand in modules of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sqlalchemy as sa
from starlette.routing import Route

from bot.audit.recorder import Recorder
from bot.kernel.clock import Clock
from bot.memory import reading, service
from bot.memory.model import EXECUTIVE, Claim, Kind, Work
from bot.memory.reading import Purpose
from bot.memory.recall import names_of
from bot.people import store as people
from bot.people.model import Person
from bot.sessions.visible import visible
from bot.storage.database import Database
from bot.web.console import memory_query, memory_words
from bot.web.console.memory_acts import MemoryActs
from bot.web.console.memory_desk import MOST_WAITING, MemoryDesk, Remembered
from bot.web.console.memory_page import MemoryPage
from bot.web.console.memory_query import Query, Shown
from bot.web.console.review import ReviewPage
from bot.web.console.site import Page, Site
from bot.web.console.visits import Visit

LISTED = 50
BEST = 20
"""Of a ranking: what is further down is hardly about it."""


class MemoryPages:
    def __init__(self, database: Database, recorder: Recorder, clock: Clock, remembered: Remembered) -> None:
        self._desk = MemoryDesk(database, recorder, clock, remembered)

    def routes(self, site: Site) -> list[Route]:
        one = MemoryPage(self._desk)
        acts = MemoryActs(self._desk, one)
        return [
            site.page("/memories", self.listed),
            site.page("/memories/waiting", self.waiting),
            *ReviewPage(self._desk, acts).routes(site),
            *acts.routes(site),
            *one.routes(site),
        ]

    async def listed(self, visit: Visit) -> Page:
        wanted = memory_query.read(visit.asked)
        found = await (self._best(visit, wanted) if wanted.ranked else self._newest(visit, wanted))
        claims = [claim for _, claim in found[:LISTED]]
        more = found[LISTED - 1][0] if len(found) > LISTED else None

        def query(connection: sa.Connection) -> Mapping[str, object]:
            return {
                "names": names_of(connection, claims),
                "roster": _roster(connection, visit.person),
                "waiting": service.count(connection, visible(connection, visit.scope), MOST_WAITING),
            }

        told = await self._desk.database.read(query, long=True)
        await self._desk.viewed(visit, claims)
        values = {
            **told,
            "claims": claims,
            "wanted": wanted,
            "more": None if more is None else wanted.path(before=more),
            "here": wanted.path(before=wanted.before),
            "kinds": memory_words.KINDS,
            "statuses": tuple(Shown),
            "works": tuple(Work),
            "initiatives": wanted.kind is Kind.INITIATIVE or wanted.work is not None,
            "domains": self._desk.domains,
            "words": memory_words,
            "most_waiting": MOST_WAITING,
        }
        return Page("memories/list.html", values, part="rows")

    async def waiting(self, visit: Visit) -> Page:
        """How many wait for a yes or no: asked for again whenever memories change."""
        count = await self._desk.database.read(
            lambda c: service.count(c, visible(c, visit.scope), MOST_WAITING), long=True
        )
        return Page("memories/waiting.html", {"waiting": count, "most_waiting": MOST_WAITING}, part="count")

    async def _newest(self, visit: Visit, wanted: Query) -> Sequence[tuple[int, Claim]]:
        chosen = wanted.filter(visit.person.time_zone)
        return await self._desk.database.read(
            lambda c: reading.find(
                c, visible(c, visit.scope), Purpose.REVIEW, chosen, LISTED + 1, before=wanted.before
            ),
            long=True,
        )

    async def _best(self, visit: Visit, wanted: Query) -> Sequence[tuple[int, Claim]]:
        """The best matches, each with its rank; no page follows."""
        chosen = wanted.filter(visit.person.time_zone)
        found = await self._desk.recall.best(visit.scope, wanted.q, chosen, BEST)
        return [(rank, each.claim) for rank, each in enumerate(found, 1)]


def _roster(connection: sa.Connection, asking: Person) -> Mapping[str, object]:
    """Who and what can be chosen: the people and departments of the company; a guest is told of none."""
    known = (
        [each for each in people.everyone(connection) if each.active and each.named] if asking.internal else [asking]
    )
    return {
        "people": [(each.id, each.name) for each in known] + [(EXECUTIVE, "the executive")],
        "departments": sorted({department for each in known for department in each.departments}),
    }
