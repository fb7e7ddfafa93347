"""People: who may speak, by which accounts and as what; whoever asks to be let in; and what places count as. Everybody
of the company sees the roster and their own accounts; only principals see others' accounts, and change anything."""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa
from starlette.routing import Route

from bot.audit.events import Actor
from bot.kernel.errors import PermanentError
from bot.kernel.ids import PersonId
from bot.orchestrator.linking import Linking
from bot.orchestrator.roster import Entry, Habits, Roster
from bot.people import pairing, store
from bot.people.model import Origin, Person, Role
from bot.sessions import known_places
from bot.sessions.audience import Audience
from bot.storage.database import Database
from bot.web.console.site import Moved, Page, Site
from bot.web.console.visits import Notice, Visit
from bot.web.refusals import Refusal, UnknownThingError

MOST = 50
"""People, or places, on a page."""
NO_ONE = "There is nobody like that here."
DECLARABLE = {
    Audience.ROOM: "only people of ours",
    Audience.COMPANY: "the whole company",
    Audience.EXTERNAL: "outsiders read along",
}


class PeoplePages:
    def __init__(self, database: Database, roster: Roster, linking: Linking) -> None:
        self._database = database
        self._roster = roster
        self._linking = linking

    def routes(self, site: Site) -> list[Route]:
        return [
            site.page("/people", self.listed),
            site.page("/people/places", self.places),
            site.page("/people/places", self.declare, method="POST"),
            site.page("/people/requests/{id}", self.decide, method="POST"),
            site.page("/people/codes/{id}", self.code),
            site.page("/people/codes/{id}/confirm", self.confirm, method="POST"),
            site.page("/people/codes/{id}/refuse", self.refuse, method="POST"),
            site.page("/people/{id}", self.one),
            site.page("/people/{id}/edit", self.edit, method="POST"),
            site.page("/people/{id}/habits", self.habits, method="POST"),
            site.page("/people/{id}/code", self.make_code, method="POST"),
            site.page("/people/{id}/unlink", self.unlink, method="POST"),
        ]

    # --- looking ---------------------------------------------------------------------------------------------------

    async def listed(self, visit: Visit) -> Page | Moved:
        if not visit.person.internal:
            return Moved(f"/people/{visit.person.id}")
        words, after, shown = visit.asked("q")[:80], visit.asked("after"), visit.asked("show")
        decides = principal(visit)
        named, active = shown != "vouched", shown != "gone"
        if not active and not decides:
            raise UnknownThingError(NO_ONE)

        def query(connection: sa.Connection) -> Mapping[str, object]:
            behind = PersonId(after) if after else None
            found = store.page(connection, words, behind, MOST + 1, active=active, named=named or not active)
            return {
                "people": found[:MOST],
                "more": found[MOST - 1].id if len(found) > MOST else None,
                "requests": pairing.open_requests(connection) if decides and not (after or words or shown) else [],
            }

        values = await self._database.read(query)
        asked = {"q": words, "after": after, "show": shown}
        return Page("people/list.html", {**values, "asked": asked, "decides": decides, "roles": list(Role)}, "rows")

    async def one(self, visit: Visit) -> Page:
        found = await self._seen(visit)
        own, decides = found.id == visit.person.id, principal(visit)
        values = {
            "of": found,
            "own": own,
            "decides": decides,
            "accounts": sorted(found.handles, key=lambda each: (each.channel, each.address))
            if own or decides
            else None,
            "fixed": found.origin is Origin.SETTINGS,
            "roles": list(Role),
        }
        return Page("people/person.html", values, "person_card")

    async def places(self, visit: Visit) -> Page:
        after = visit.asked("after")
        found = await self._database.read(lambda c: known_places.listed(c, visit.scope, after, MOST + 1), long=True)
        by = {PersonId(each.declared_by) for each in found if each.declared_by}
        names = await self._database.read(lambda c: store.by_ids(c, sorted(by)))
        values = {
            "places": found[:MOST],
            "more": found[MOST - 1].known.key if len(found) > MOST else None,
            "after": after,
            "names": {each.id: each.name for each in names.values()},
            "decides": principal(visit),
            "declarable": DECLARABLE,
        }
        return Page("people/places.html", values, "rows")

    # --- places and requests ---------------------------------------------------------------------------------------

    async def declare(self, visit: Visit) -> Moved:
        actor, key = deciding(visit), visit.field("key")
        if not await self._database.read(lambda c: known_places.is_seen(c, visit.scope, key)):
            raise UnknownThingError("There is no such place.")
        wanted = [each for each in DECLARABLE if each.value == visit.field("audience")]
        if not wanted:
            raise PermanentError("Say which: room, company or external.")
        after = await self._roster.declare(key, wanted[0], actor)
        return Moved("/people/places", Notice(f"It now counts as {after.audience.value}: {after.because}."))

    async def decide(self, visit: Visit) -> Moved:
        actor, request, role = deciding(visit), visit.request.path_params["id"], visit.field("role")
        if role == "decline":
            await self._roster.decline(request, actor)
            return Moved("/people", Notice("Declined. The account is told nothing, and cannot ask again."))
        new = await self._roster.accept(request, _role(role), actor)
        return Moved(f"/people/{new.id}", Notice(f"{new.name} may speak from now on, as {new.role.value}."))

    # --- one person ------------------------------------------------------------------------------------------------

    async def edit(self, visit: Visit) -> Moved:
        actor, found = deciding(visit), await self._seen(visit)
        departments = tuple(visit.field("departments").split(","))
        entry = Entry(visit.field("name"), _role(visit.field("role")), departments)
        after = await self._roster.edit(found.id, entry, actor)
        return Moved(f"/people/{after.id}", Notice(f"{after.name} is {after.role.value} from now on."))

    async def habits(self, visit: Visit) -> Moved:
        """One's own, or, by a principal, anybody's."""
        found = await self._seen(visit)
        if found.id != visit.person.id:
            deciding(visit)
        hours = visit.field("begin").strip(), visit.field("end").strip()
        wanted = Habits(visit.field("time_zone").strip(), hours if any(hours) else None)
        await self._roster.prefer(found.id, wanted, Actor("person", visit.person.id))
        return Moved(f"/people/{found.id}", Notice("Kept."))

    # --- accounts --------------------------------------------------------------------------------------------------

    async def make_code(self, visit: Visit) -> Page:
        """It is shown in this answer, and never again."""
        actor, found = deciding(visit), await self._seen(visit)
        made = await self._linking.code(found.id, actor)
        claim = await self._linking.look(made.id)
        return Page("people/code.html", {"claim": claim, "code": made.words, "late": False})

    async def code(self, visit: Visit) -> Page:
        """What became of a code."""
        deciding(visit)
        claim = await self._linking.look(visit.request.path_params["id"])
        return Page("people/code.html", {"claim": claim, "code": None, "late": claim.until <= visit.now}, "claim")

    async def confirm(self, visit: Visit) -> Moved:
        person = await self._linking.link(visit.request.path_params["id"], deciding(visit))
        return Moved(f"/people/{person.id}", Notice(f"Linked. All accounts of {person.name} are told."))

    async def refuse(self, visit: Visit) -> Moved:
        actor, code = deciding(visit), visit.request.path_params["id"]
        person = (await self._linking.look(code)).person
        await self._linking.refuse(code, actor)
        return Moved(f"/people/{person.id}", Notice("The code holds no more, and nothing was linked."))

    async def unlink(self, visit: Visit) -> Moved:
        actor, found = deciding(visit), await self._seen(visit)
        await self._linking.unlink(found.id, visit.field("channel"), visit.field("address"), actor)
        text = f"Unlinked. {found.name} is signed out of every browser, and all their accounts are told."
        return Moved(f"/people/{found.id}", Notice(text))

    # --- inside ----------------------------------------------------------------------------------------------------

    async def _seen(self, visit: Visit) -> Person:
        return await seen(self._database, visit)


def principal(visit: Visit) -> bool:
    return visit.person.role is Role.PRINCIPAL


def deciding(visit: Visit) -> Actor:
    """Raises `Refusal` for who is no principal."""
    if not principal(visit):
        raise Refusal(403, "not_allowed", "Only a principal can change this.", "not_allowed")
    return Actor("person", visit.person.id)


async def seen(database: Database, visit: Visit) -> Person:
    """The person that the path names: a guest sees themselves, a member whoever is there, a principal all. Raises
    `UnknownThingError`."""
    wanted = PersonId(visit.request.path_params["id"])
    found = await database.read(lambda c: store.get(c, wanted))
    own = wanted == visit.person.id
    if found is None or not (own or principal(visit) or (visit.person.internal and found.active)):
        raise UnknownThingError(NO_ONE)
    return found


def _role(given: str) -> Role:
    if given not in {each.value for each in Role}:
        raise PermanentError("Say as what: principal, member or guest.")
    return Role(given)
