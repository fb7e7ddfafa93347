"""Operations on people and rooms. Each change is one unit with its audit row; who reads in which room is judged anew
in the same unit, so that no answer leaves for a room that is no longer what it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from bot.audit.recorder import Recorder
from bot.control.request import OPERATOR, Request, Role
from bot.gateway.events import PlaceKind
from bot.gateway.operations import Reply
from bot.kernel.clock import Clock
from bot.kernel.errors import PermanentError
from bot.kernel.ids import PersonId
from bot.kernel.values import dataclass
from bot.outbox.service import Outbox, Queued
from bot.outbox.store import Origin
from bot.people import model, pairing, store
from bot.people.model import Person
from bot.scheduler.service import Schedules
from bot.sessions import places
from bot.sessions.places import Shift
from bot.storage.database import Database, Tx

T = TypeVar("T")


class Accept(Request):
    id: str
    role: Role = "member"


class Decline(Request):
    id: str


class Deactivate(Request):
    id: str


@dataclass(frozen=True, slots=True)
class People:
    database: Database
    recorder: Recorder
    clock: Clock
    time_zone: str
    forget_rooms: Callable[[], None]
    outbox: Outbox | None

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
        def unit(tx: Tx) -> Person:
            _the_request(tx, request.id)
            role = model.Role(request.role)
            now = self.clock.now()
            new = pairing.decide(tx, self.recorder, request.id, role, self.time_zone, OPERATOR, now)
            if new is None:
                raise PermanentError(f"request {request.id} was decided already")
            return new

        return {"person": described(await self.roster_changed(unit))}

    async def decline(self, request: Decline) -> Mapping[str, object]:
        def unit(tx: Tx) -> None:
            _the_request(tx, request.id)
            pairing.decide(tx, self.recorder, request.id, None, self.time_zone, OPERATOR, self.clock.now())

        await self.database.write(unit)
        return {}

    async def deactivate(self, request: Deactivate) -> Mapping[str, object]:
        """Acts at once: from the commit on nothing of theirs is let in, what they had scheduled rests, their yes counts
        no more, and what was queued for them is stopped by the outbox's own look at the recipient."""

        def unit(tx: Tx) -> Person:
            person = store.get(tx.connection, PersonId(request.id))
            if person is None or not person.active:
                raise PermanentError(f"there is no active person {request.id}: see `openexecutive people list`")
            if person.origin is model.Origin.SETTINGS:
                raise PermanentError(
                    f"{person.name} stands in the settings ([people.{person.id}]): take the entry out and restart"
                )
            if person.role is model.Role.PRINCIPAL and len(store.principals(tx.connection)) == 1:
                raise PermanentError(f"{person.name} is the last principal: name another one first")
            now = self.clock.now()
            store.deactivate(tx, self.recorder, person.id, OPERATOR, now)
            Schedules(self.recorder).of_nobody_any_more(tx, person.id, OPERATOR, now)
            return person

        return {"person": described(await self.roster_changed(unit))}

    async def roster_changed(self, change: Callable[[Tx], T]) -> T:
        """Run `change`, judge every room anew in the same unit, and say in the rooms what came of it."""

        def unit(tx: Tx) -> tuple[T, list[Queued]]:
            result = change(tx)
            now = self.clock.now()
            known = places.everywhere(tx.connection)
            shifts = [places.rejudge(tx, self.recorder, room.key, now, new=False, actor=OPERATOR) for room in known]
            return result, self._announce(tx, [shift for shift in shifts if shift is not None])

        result, queued = await self.database.write(unit)
        self.forget_rooms()
        if self.outbox is not None:
            self.outbox.sending(queued)
        return result

    def _announce(self, tx: Tx, shifts: Sequence[Shift]) -> list[Queued]:
        if self.outbox is None:
            return []
        return [
            self.outbox.queue(
                tx,
                shift.place.channel,
                Reply(
                    places.path_into(shift.place),
                    f"From now on I treat this place as **{shift.place.audience.value}**: {shift.place.because}.",
                ),
                Origin(None, None, None),
            )
            for shift in shifts
            if shift.place.kind in (PlaceKind.GROUP, PlaceKind.CHANNEL)
        ]


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


def _the_request(tx: Tx, request_id: str) -> None:
    if all(row.id != request_id for row in pairing.open_requests(tx.connection)):
        raise PermanentError(f"there is no open request {request_id}: see `openexecutive people requests`")
