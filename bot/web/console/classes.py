"""How reliable each class of actions was, and whether it may act without being asked each time."""

from __future__ import annotations

from starlette.routing import Route

from bot.kernel.errors import PermanentError
from bot.ledger import reliability
from bot.ledger.model import Mode
from bot.orchestrator.clerk import Clerk
from bot.people.model import Role
from bot.web.console import plots
from bot.web.console.site import Answer, Moved, Page, Site
from bot.web.console.visits import Notice, Visit
from bot.web.refusals import Refusal, UnknownThingError

SAID = {Mode.PROPOSE: "asks each time", Mode.AUTO_EXECUTE: "acts by itself"}
ONLY_PRINCIPALS = "Only a principal can say that a class acts by itself."


class ClassPages:
    def __init__(self, clerk: Clerk) -> None:
        self._clerk = clerk

    def routes(self, site: Site) -> list[Route]:
        one = "/approvals/classes/{action}"
        return [
            site.page("/approvals/classes", self.listed),
            site.page(one, self.one),
            site.page(f"{one}/mode", self.set_mode, method="POST"),
        ]

    async def listed(self, visit: Visit) -> Page:
        found = await self._clerk.cards(visit.person)
        return Page("approvals/classes.html", {"found": found, "said": SAID}, "rows")

    async def one(self, visit: Visit) -> Page:
        return await self._shown(visit)

    async def _shown(self, visit: Visit, trouble: str | None = None, status: int = 200) -> Page:
        action = visit.request.path_params["action"]
        if action not in self._clerk.classes:
            raise UnknownThingError("There is no such class.")
        found = await self._clerk.card(visit.person, action)
        values = {
            "found": found,
            "action": action,
            "card": found.card,
            "said": SAID,
            "modes": tuple(Mode),
            "bars": plots.bars(found.card),
            "dots": plots.dots(found.card),
            "scale": plots.SCALE,
            "tripped": reliability.tripped(found.card),
            "breaker": (reliability.MOST_REVERSED, reliability.LAST),
            "enough": reliability.ENOUGH,
            "may_change": visit.person.role is Role.PRINCIPAL,
            "trouble": trouble,
            "reason": visit.field("reason"),
        }
        return Page("approvals/class.html", values, "card", status)

    async def set_mode(self, visit: Visit) -> Answer:
        action, wanted = visit.request.path_params["action"], visit.field("mode")
        if visit.person.role is not Role.PRINCIPAL:
            raise Refusal(403, "not_allowed", ONLY_PRINCIPALS, "not_allowed")
        if wanted not in {each.value for each in Mode}:
            return await self._shown(visit, "Choose one of the modes.", 400)
        try:
            await self._clerk.set_mode(visit.person, action, Mode(wanted), visit.field("reason"))
        except PermanentError as error:
            return await self._shown(visit, f"{error.message[:1].upper()}{error.message[1:]}.", 409)
        return Moved(f"/approvals/classes/{action}", Notice(f"It {SAID[Mode(wanted)]} from now on."))
