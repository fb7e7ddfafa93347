"""The roster as people change it: who is let in and as what, and what a place is. `linking` is about whose account is
whose, `leaving` about the end.

Who may do this is asked by whoever calls: the socket's peers and principals may. People of the settings are changed
there, and nowhere else. Each change is one unit with its audit row, and the rooms are judged anew in the same unit, so
that no answer leaves for a room that is no longer what it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bot.audit.events import Actor
from bot.audit.recorder import Recorder
from bot.gateway.events import PlaceKind
from bot.gateway.operations import Reply
from bot.kernel.clock import Clock
from bot.kernel.errors import PermanentError
from bot.kernel.ids import PersonId
from bot.kernel.values import dataclass
from bot.outbox.service import Outbox, Queued
from bot.outbox.store import Origin as Cause
from bot.people import pairing, store
from bot.people.model import Origin, Person, Role, checked_quiet_hours
from bot.sessions import places
from bot.sessions.audience import Audience
from bot.sessions.places import Known, Shift
from bot.storage.database import Database, Tx

T = TypeVar("T")

LONGEST_NAME = 80
MOST_DEPARTMENTS = 20


class UnknownPersonError(PermanentError):
    """There is nobody of this id."""


class UnknownRequestError(PermanentError):
    """There is no such request that is open, no such code, no such place."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What may be changed of a person who does not stand in the settings."""

    name: str
    role: Role
    departments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Habits:
    """What a person says of themselves. `quiet_hours`: begin and end, `HH:MM` in their time zone."""

    time_zone: str
    quiet_hours: tuple[str, str] | None


class Roster:
    def __init__(
        self,
        database: Database,
        recorder: Recorder,
        clock: Clock,
        time_zone: str,
        forget_rooms: Callable[[], None],
        outbox: Outbox | None,
    ) -> None:
        """`time_zone` (the company's) is for people who come in by a request. `forget_rooms`: intake looks at every
        room anew. `outbox` takes what rooms are told of a change; None when no daemon runs."""
        self.database = database
        self.recorder = recorder
        self.clock = clock
        self._time_zone = time_zone
        self._forget_rooms = forget_rooms
        self._outbox = outbox

    # --- being let in ----------------------------------------------------------------------------------------------

    async def accept(self, request: str, role: Role, actor: Actor) -> Person:
        """Raises `UnknownRequestError`."""

        def unit(tx: Tx) -> Person:
            self._waits(tx, request)
            new = pairing.decide(tx, self.recorder, request, role, self._time_zone, actor, self.clock.now())
            if new is None:
                raise UnknownRequestError(f"request {request} was decided already")
            return new

        return await self.changed(unit, actor)

    async def decline(self, request: str, actor: Actor) -> None:
        def unit(tx: Tx) -> None:
            self._waits(tx, request)
            pairing.decide(tx, self.recorder, request, None, self._time_zone, actor, self.clock.now())

        await self.database.write(unit)

    async def readmit(self, person: PersonId, actor: Actor) -> Person:
        """Take back that somebody left. What they had scheduled rests until it is resumed."""

        def unit(tx: Tx) -> Person:
            known = store.get(tx.connection, person)
            if known is None or known.active:
                raise UnknownPersonError(f"there is no {person} who has left")
            _not_of_settings(known)
            store.reactivate(tx, self.recorder, person, actor, self.clock.now())
            return _person(tx, person)

        return await self.changed(unit, actor)

    # --- what stands of a person -----------------------------------------------------------------------------------

    async def edit(self, person: PersonId, entry: Entry, actor: Actor) -> Person:
        """Whoever is edited has been named by somebody from then on. Raises `PermanentError` with words."""
        name = " ".join(entry.name.split())[:LONGEST_NAME]
        departments = tuple(dict.fromkeys(each for one in entry.departments if (each := " ".join(one.split()))))
        if not name:
            raise PermanentError("a person has a name")
        if len(departments) > MOST_DEPARTMENTS or any(len(each) > LONGEST_NAME for each in departments):
            raise PermanentError("these are too many departments, or their names too long")

        def unit(tx: Tx) -> Person:
            known = _person(tx, person)
            _not_of_settings(known)
            if entry.role is not Role.PRINCIPAL:
                not_the_last(tx, known)
            store.edit(tx, self.recorder, known, name, entry.role, departments, actor, self.clock.now())
            return _person(tx, person)

        return await self.changed(unit, actor)

    async def prefer(self, person: PersonId, habits: Habits, actor: Actor) -> Person:
        """Raises `PermanentError` with words."""
        try:
            ZoneInfo(habits.time_zone)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise PermanentError(f"there is no time zone {habits.time_zone}: name one like Europe/Berlin") from error
        hours = None if habits.quiet_hours is None else checked_quiet_hours(*habits.quiet_hours)

        def unit(tx: Tx) -> Person:
            known = _person(tx, person)
            _not_of_settings(known)
            store.prefer(tx, self.recorder, known, habits.time_zone, hours, actor, self.clock.now())
            return _person(tx, person)

        return await self.database.write(unit)

    # --- places ----------------------------------------------------------------------------------------------------

    async def declare(self, key: str, audience: Audience, actor: Actor) -> Known:
        """Say what a place is; evidence still decides whether that can be believed. Raises `UnknownRequestError`."""

        def unit(tx: Tx) -> tuple[Known, list[Queued]]:
            known = places.get(tx.connection, key)
            if known is None or not known.open:
                raise UnknownRequestError("there is no such place")
            if known.kind in (PlaceKind.DIRECT, PlaceKind.MAIL):
                raise PermanentError("who reads there follows from who is there: it cannot be said")
            if audience is Audience.PERSON:
                raise PermanentError("a place of several people is a room, the company's or open to outsiders")
            shift = places.declare(tx, self.recorder, key, audience, actor, self.clock.now())
            return places.get(tx.connection, key) or known, self._announce(tx, [shift])

        after, queued = await self.database.write(unit)
        self._after(queued)
        return after

    # --- inside ----------------------------------------------------------------------------------------------------

    async def changed(self, change: Callable[[Tx], T], actor: Actor) -> T:
        """Run `change`, judge every room anew in the same unit, and say in the rooms what came of it."""

        def unit(tx: Tx) -> tuple[T, list[Queued]]:
            result = change(tx)
            now = self.clock.now()
            known = places.everywhere(tx.connection)
            shifts = [places.rejudge(tx, self.recorder, room.key, now, new=False, actor=actor) for room in known]
            return result, self._announce(tx, shifts)

        result, queued = await self.database.write(unit)
        self._after(queued)
        return result

    def _after(self, queued: Sequence[Queued]) -> None:
        self._forget_rooms()
        if self._outbox is not None:
            self._outbox.sending(queued)

    def _announce(self, tx: Tx, shifts: Sequence[Shift | None]) -> list[Queued]:
        if self._outbox is None:
            return []
        told = [each.place for each in shifts if each is not None]
        return [
            self._outbox.queue(
                tx, place.channel, Reply(places.path_into(place), place.verdict), Cause(None, None, None)
            )
            for place in told
            if place.kind in (PlaceKind.GROUP, PlaceKind.CHANNEL)
        ]

    @staticmethod
    def _waits(tx: Tx, request: str) -> None:
        if all(each.id != request for each in pairing.open_requests(tx.connection)):
            raise UnknownRequestError(f"there is no open request {request}: see `openexecutive people requests`")


def not_the_last(tx: Tx, person: Person) -> None:
    """Raises `PermanentError` for the only principal that there is."""
    if person.role is Role.PRINCIPAL and [each.id for each in store.principals(tx.connection)] == [person.id]:
        raise PermanentError(f"{person.name} is the last principal: name another one first")


def active(tx: Tx, person: PersonId) -> Person:
    """Raises `UnknownPersonError`."""
    found = store.get(tx.connection, person)
    if found is None or not found.active:
        raise UnknownPersonError(f"there is no active person {person}: see `openexecutive people list`")
    return found


def _person(tx: Tx, person: PersonId) -> Person:
    found = store.get(tx.connection, person)
    if found is None:
        raise UnknownPersonError(f"there is nobody called {person}")
    return found


def _not_of_settings(person: Person) -> None:
    if person.origin is Origin.SETTINGS:
        raise PermanentError(f"{person.name} stands in the settings ([people.{person.id}]): change the entry there")
