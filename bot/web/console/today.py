"""Today: the first page of the morning. What waits for its person, what is due, what happened and what comes next."""

from __future__ import annotations

from starlette.routing import Route

from bot.llm.budget import local_day
from bot.orchestrator import today
from bot.storage.database import Database
from bot.web.console.site import Page, Site
from bot.web.console.visits import Visit


class TodayPage:
    def __init__(self, database: Database) -> None:
        self._database = database

    def routes(self, site: Site) -> list[Route]:
        return [site.page("/", self.show)]

    async def show(self, visit: Visit) -> Page:
        found = await self._database.read(lambda c: today.today(c, visit.person, visit.now), long=True)
        return Page("today/today.html", {"of": found, "day": local_day(visit.now, visit.person.time_zone)})
