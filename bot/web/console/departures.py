"""Somebody leaves: what ends, what another takes over, and the way back."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.routing import Route

from bot.erasure.people import PersonErasure
from bot.kernel.errors import PermanentError
from bot.kernel.ids import ClaimId, JobId, PersonId
from bot.memory.service import Acting
from bot.orchestrator.leaving import Departures, HandedOver
from bot.orchestrator.roster import Roster
from bot.people import store
from bot.people.model import Origin
from bot.scheduler import wording
from bot.storage.database import Database
from bot.web.console.people import deciding, seen
from bot.web.console.site import Moved, Page, Site
from bot.web.console.visits import Notice, Undo, Visit
from bot.web.refusals import Refusal


class DeparturePages:
    def __init__(self, database: Database, roster: Roster, departures: Departures, erasing: PersonErasure) -> None:
        self._erasing = erasing
        self._database = database
        self._roster = roster
        self._departures = departures

    def routes(self, site: Site) -> list[Route]:
        return [
            site.page("/people/{id}/leaving", self.preview),
            site.page("/people/{id}/leaving", self.leave, method="POST"),
            site.page("/people/{id}/hand-over", self.hand_over, method="POST"),
            site.page("/people/{id}/readmit", self.readmit, method="POST"),
            site.page("/people/{id}/erase", self.held),
            site.page("/people/{id}/erase", self.erase, method="POST"),
        ]

    async def preview(self, visit: Visit) -> Page:
        deciding(visit)
        found = await seen(self._database, visit)
        leaving = await self._departures.preview(found.id, _acting(visit))
        everyone = await self._database.read(store.everyone)
        heirs = [each for each in everyone if each.internal and each.named and each.id != found.id]
        values = {
            "of": found,
            "leaving": leaving,
            "heirs": sorted(heirs, key=lambda each: each.name),
            "fixed": found.origin is Origin.SETTINGS,
            "rules": {each.id: wording.described(each.rule, each.zone) for each in leaving.schedules},
        }
        return Page("people/leaving.html", values)

    async def leave(self, visit: Visit) -> Moved:
        actor = deciding(visit)
        found = await seen(self._database, visit)
        await self._departures.leave(found.id, actor)
        undo = Undo(f"/people/{found.id}/readmit")
        told = f"{found.name} has left: nothing of theirs is let in any more."
        if not visit.field("to"):
            return Moved(f"/people/{found.id}/leaving", Notice(told, undo))
        try:
            handed = _told(await self._handed(visit, found.id))
        except PermanentError as error:  # they have left all the same
            handed = f"Nothing was handed over: {error.message}."
        return Moved(f"/people/{found.id}/leaving", Notice(f"{told} {handed}", undo))

    async def hand_over(self, visit: Visit) -> Moved:
        deciding(visit)
        found = await seen(self._database, visit)
        return Moved(f"/people/{found.id}/leaving", Notice(_told(await self._handed(visit, found.id))))

    async def readmit(self, visit: Visit) -> Moved:
        actor = deciding(visit)
        found = await seen(self._database, visit)
        after = await self._roster.readmit(found.id, actor)
        text = f"{after.name} may speak again. They sign in anew; what they had scheduled rests until it is resumed."
        return Moved(f"/people/{after.id}", Notice(text))

    async def held(self, visit: Visit) -> Page:
        """What would be erased of somebody who has left: how many of what, none of its words."""
        deciding(visit)
        found = await seen(self._database, visit)
        held = await self._database.read(lambda c: self._erasing.preview(c, found.id), long=True)
        backups = len(self._erasing.forgetting.copies())
        return Page("people/erase.html", {"of": found, "held": held, "backups": backups})

    async def erase(self, visit: Visit) -> Moved:
        actor = deciding(visit)
        found = await seen(self._database, visit)
        await self._erasing.begin(found.id, actor, company_too=visit.field("company_too") == "on")
        text = f"What is held of {found.name} is being erased. It goes on by itself, also after a restart."
        return Moved("/people", Notice(text))

    async def _handed(self, visit: Visit, person: PersonId) -> HandedOver:
        to = visit.field("to")
        if not to:
            raise Refusal(422, "unclear", "Say who takes over.")
        return await self._departures.hand_over(
            person,
            PersonId(to),
            _acting(visit),
            initiatives=[ClaimId(each) for each in visit.fields("initiative")],
            schedules=[JobId(each) for each in visit.fields("schedule")],
        )


def _acting(visit: Visit) -> Acting:
    return Acting(deciding(visit), visit.scope, visit.person)


def _told(handed: HandedOver) -> str:
    counts: Mapping[str, int] = {"initiative": len(handed.initiatives), "schedule": len(handed.schedules)}
    parts = [f"{number} {what}{'' if number == 1 else 's'}" for what, number in counts.items()]
    hidden = f" {handed.hidden} stayed: {handed.to.name} was not there when they were told." if handed.hidden else ""
    return f"{handed.to.name} has {' and '.join(parts)} now; schedules rest until resumed.{hidden}"
