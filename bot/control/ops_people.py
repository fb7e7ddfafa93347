"""Operations on people and rooms: the roster's use cases, by the operator at the machine."""

from __future__ import annotations

from collections.abc import Mapping

from bot.control.request import OPERATOR, Request, Role
from bot.kernel.errors import PermanentError
from bot.kernel.ids import PersonId
from bot.kernel.scope import OperatorScope
from bot.kernel.values import dataclass
from bot.memory.service import Acting
from bot.orchestrator.leaving import Departures
from bot.orchestrator.linking import Linking
from bot.orchestrator.roster import Entry, Roster
from bot.people import model, pairing, store
from bot.people.model import Person
from bot.sessions import places
from bot.storage.database import Database


class Accept(Request):
    id: str
    role: Role = "member"


class Decline(Request):
    id: str


class Deactivate(Request):
    id: str
    to: str | None = None
    """Who takes over."""


class Edit(Request):
    """None: as it is."""

    id: str
    name: str | None = None
    role: Role | None = None
    departments: tuple[str, ...] | None = None


class Unlink(Request):
    id: str
    channel: str
    address: str


@dataclass(frozen=True, slots=True)
class People:
    database: Database
    roster: Roster
    departures: Departures
    linking: Linking

    async def everyone(self) -> Mapping[str, object]:
        people = await self.database.read(store.everyone)
        return {"people": [described(person) for person in people]}

    async def requests(self) -> Mapping[str, object]:
        rows = await self.database.read(pairing.open_requests)
        return {
            "requests": [
                {
                    "id": row.id,
                    "channel": row.channel,
                    "address": row.address,
                    "name": row.shown_name,
                    "asked_at": row.asked_at.isoformat(),
                }
                for row in rows
            ]
        }

    async def rooms(self) -> Mapping[str, object]:
        known = await self.database.read(places.everywhere)
        return {
            "rooms": [
                {
                    "key": room.key,
                    "kind": room.kind.value,
                    "title": room.title,
                    "members": room.members,
                    "audience": room.audience.value,
                    "because": room.because,
                    "declared": room.declared.value if room.declared else None,
                }
                for room in known
            ]
        }

    async def accept(self, request: Accept) -> Mapping[str, object]:
        return {"person": described(await self.roster.accept(request.id, model.Role(request.role), OPERATOR))}

    async def decline(self, request: Decline) -> Mapping[str, object]:
        await self.roster.decline(request.id, OPERATOR)
        return {}

    async def edit(self, request: Edit) -> Mapping[str, object]:
        known = await self.database.read(lambda c: store.get(c, PersonId(request.id)))
        if known is None:
            raise PermanentError(f"there is nobody called {request.id}: see `openexecutive people list`")
        role = known.role if request.role is None else model.Role(request.role)
        departments = known.departments if request.departments is None else request.departments
        entry = Entry(request.name or known.name, role, departments)
        return {"person": described(await self.roster.edit(known.id, entry, OPERATOR))}

    async def deactivate(self, request: Deactivate) -> Mapping[str, object]:
        """Acts at once; then another takes over what is open, if one is named."""
        person = PersonId(request.id)
        if request.to is None:
            return {"person": described(await self.departures.leave(person, OPERATOR)), "handed_over": None}
        to = PersonId(request.to)
        heir = await self.database.read(lambda c: store.get(c, to))
        if heir is None or not heir.internal or not heir.named or heir.id == person:
            raise PermanentError(f"there is no active person {to} who could take over: see `openexecutive people list`")
        gone = await self.departures.leave(person, OPERATOR)
        handed = await self.departures.hand_over(person, to, Acting(OPERATOR, OperatorScope(None), None))
        counts = {
            "initiatives": len(handed.initiatives),
            "schedules": len(handed.schedules),
            "hidden": handed.hidden,
        }
        return {"person": described(gone), "handed_over": counts}

    async def unlink(self, request: Unlink) -> Mapping[str, object]:
        left = await self.linking.unlink(PersonId(request.id), request.channel, request.address, OPERATOR)
        return {"person": described(left)}


def described(person: Person) -> dict[str, object]:
    return {
        "id": person.id,
        "name": person.name,
        "role": person.role.value,
        "active": person.active,
        "origin": person.origin.value,
        "departments": list(person.departments),
        "time_zone": person.time_zone,
        "handles": sorted(f"{handle.channel}:{handle.address}" for handle in person.handles),
    }
