"""Spending: tokens and money by day, model, person, purpose and block of the prompt. Everybody sees their own,
principals the company's."""

from __future__ import annotations

from datetime import timedelta

import sqlalchemy as sa
from starlette.routing import Route

from bot.kernel.ids import PersonId
from bot.llm import spending
from bot.llm.budget import local_day
from bot.llm.spending import By, Sum
from bot.orchestrator import prompt_shares
from bot.people import store as people
from bot.people.model import Role
from bot.storage.database import Database
from bot.web.console import spending_plots as plots
from bot.web.console.house import House
from bot.web.console.site import Page, Site
from bot.web.console.visits import Visit

STRETCHES = (7, 31, 92)
"""Days that can be looked at."""
TURNS = 20
"""Newest turns whose prompts are taken apart."""
PURPOSES = {
    "answer": "Answers",
    "consult": "Specialists",
    "gate": "Whether it is spoken to",
    "compaction": "Summaries",
    "extraction": "Reading for memories",
}


class SpendingPage:
    def __init__(self, database: Database, house: House) -> None:
        self._database = database
        self._house = house

    def routes(self, site: Site) -> list[Route]:
        return [site.page("/settings/spending", self.show), site.page("/settings/spending/blocks", self.blocks)]

    async def show(self, visit: Visit) -> Page:
        of, stretch = _of(visit), _stretch(visit)
        today = local_day(visit.now, self._house.time_zone)
        first = today - timedelta(days=stretch - 1)
        kinds: tuple[By, ...] = ("day", "model", "purpose") if of is not None else ("day", "model", "purpose", "person")

        def query(connection: sa.Connection) -> tuple[dict[By, list[Sum]], dict[str, str]]:
            names = {str(each.id): each.name for each in people.everyone(connection)} if of is None else {}
            return {by: spending.sums(connection, by, first, of) for by in kinds}, names

        found, names = await self._database.read(query, long=True)
        called = {"person": {**names, "": "nobody in particular"}, "purpose": PURPOSES}
        others = ("model", "person", "purpose")
        values = {
            "days": plots.days(found["day"], first, today),
            "scale": {"width": plots.WIDTH, "height": plots.HEIGHT, "left": plots.LEFT, "bottom": plots.BOTTOM},
            "parts": plots.PARTS,
            "tables": [(by, plots.bars(found[by], called.get(by, {}))) for by in others if by in found],
            "stretch": stretch,
            "stretches": STRETCHES,
            "own": of is not None,
        }
        return Page("settings/spending.html", values)

    async def blocks(self, visit: Visit) -> Page:
        """Asked for by the page once it is there: prompts have to be unpacked for it."""
        since = local_day(visit.now, self._house.time_zone) - timedelta(days=_stretch(visit) - 1)

        def query(connection: sa.Connection) -> tuple[int, list[tuple[str, int]]]:
            turns = prompt_shares.newest_turns(connection, _of(visit), since, TURNS)
            return len(turns), prompt_shares.shares(connection, turns)

        turns, found = await self._database.read(query, long=True)
        return Page("settings/blocks.html", {"turns": turns, "shares": plots.shares(found)}, "blocks")


def _of(visit: Visit) -> PersonId | None:
    return None if visit.person.role is Role.PRINCIPAL else visit.person.id


def _stretch(visit: Visit) -> int:
    asked = visit.asked("days")
    return int(asked) if asked in map(str, STRETCHES) else STRETCHES[1]
