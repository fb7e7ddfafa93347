"""A few people, one room, and the moves that tests make in it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeVar

from bot.audit.events import Actor
from bot.audit.recorder import Recorder
from bot.gateway.events import Place, PlaceKind
from bot.kernel.ids import BootId, SessionId
from bot.people import store as people
from bot.people.model import Change, Handle, Origin, Person, Role
from bot.sessions import places, threads
from bot.sessions.audience import Audience
from bot.sessions.places import Known, Shift
from bot.sessions.threads import Session
from bot.storage.database import Database, Tx
from tests.clock import FakeClock
from tests.people.test_model import person

CHANNEL = "test"
ROOM = "test:room"
BOOT = BootId("boot-1")
BOSS = Actor("person", "boss")

T = TypeVar("T")


def _at(address: str) -> list[Handle]:
    return [Handle(CHANNEL, address, Origin.SETTINGS)]


PEOPLE = (
    person("boss", Role.PRINCIPAL, handles=_at("1")),
    person("ada", handles=_at("2")),
    person("bob", handles=_at("3")),
    person("guest", Role.GUEST, handles=_at("4")),
)


class Rooms:
    def __init__(self, database: Database, recorder: Recorder, clock: FakeClock) -> None:
        self.database, self.recorder, self.clock = database, recorder, clock

    async def write(self, unit: Callable[[Tx], T]) -> T:
        return await self.database.write(unit)

    async def add_people(self, *people_: Person) -> None:
        changes = [Change(each, "added") for each in people_]
        await self.write(lambda tx: people.apply(tx, self.recorder, changes, self.clock.now()))

    async def see(
        self,
        present: Collection[str],
        members: int | None = None,
        *,
        key: str = ROOM,
        kind: PlaceKind = PlaceKind.GROUP,
        title: str = "Room",
    ) -> Shift | None:
        seen = Place(kind, title, members)
        return await self.write(lambda tx: places.see(tx, self.recorder, CHANNEL, key, seen, present, self.clock.now()))

    async def leave(self, address: str, members: int | None = None, *, key: str = ROOM) -> Shift | None:
        return await self.write(lambda tx: places.leave(tx, self.recorder, key, address, self.clock.now(), members))

    async def declare(self, audience: Audience, *, key: str = ROOM) -> Shift | None:
        return await self.write(lambda tx: places.declare(tx, self.recorder, key, audience, BOSS, self.clock.now()))

    async def move(self, old: str, new: str) -> Shift | None:
        def unit(tx: Tx) -> Shift | None:
            shift = places.move(tx, self.recorder, old, new, self.clock.now())
            threads.move_threads(tx, self.recorder, old, new, self.clock.now())
            return shift

        return await self.write(unit)

    async def open(self, thread: str = ROOM, *, place: str = ROOM) -> SessionId:
        opened = await self.write(
            lambda tx: threads.open_session(tx, self.recorder, CHANNEL, thread, place, self.clock.now())
        )
        return opened.id

    async def known(self, key: str = ROOM) -> Known:
        found = await self.database.read(lambda c: places.get(c, key))
        assert found is not None
        return found

    async def audience(self, key: str = ROOM) -> Audience:
        return (await self.known(key)).audience

    async def session(self, session: SessionId) -> Session:
        found = await self.database.read(lambda c: threads.get(c, session))
        assert found is not None
        return found

    async def epochs(self, session: SessionId) -> tuple[int, int]:
        found = await self.session(session)
        return found.history_epoch, found.audience_epoch
