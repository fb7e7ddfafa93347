"""What a scope sees of the company."""

from __future__ import annotations

import pytest

from bot.audit.recorder import Recorder
from bot.gateway.events import PlaceKind
from bot.kernel.ids import PersonId, SessionId
from bot.kernel.scope import DepartmentScope, OperatorScope, PersonScope, Scope, SessionScope
from bot.people import store as people
from bot.people.model import Change, Handle, Origin, Person, Role
from bot.sessions.audience import Audience
from bot.sessions.tables import place, presence, session
from bot.sessions.visible import PUBLIC_ONLY, CompanyView, company_view, person_view
from bot.storage.database import Database, Tx
from tests.clock import FakeClock

STAFF = CompanyView(company=True)


def someone(key: str, role: Role, *departments: str) -> Person:
    handle = Handle("slack", key, Origin.SETTINGS)
    return Person(PersonId(key), key, role, departments, "UTC", None, Origin.SETTINGS, True, frozenset({handle}))


PEOPLE = {
    "pat": someone("pat", Role.PRINCIPAL, "board", "finance"),
    "fay": someone("fay", Role.MEMBER, "finance"),
    "gus": someone("gus", Role.GUEST, "finance"),
}


@pytest.fixture
async def store(database: Database, recorder: Recorder, clock: FakeClock) -> Database:
    def unit(tx: Tx) -> None:
        people.apply(tx, recorder, [Change(each, "added") for each in PEOPLE.values()], clock.now())

    await database.write(unit)
    return database


async def room(store: Database, clock: FakeClock, audience: Audience, *present: str) -> SessionScope:
    def unit(tx: Tx) -> None:
        now = clock.now()
        tx.execute(
            place.insert().values(
                key="p", channel="slack", kind=PlaceKind.CHANNEL.value, title="p", audience=audience.value,
                because="a test", changed_at=now,
            )
        )  # fmt: skip
        for address in present:
            tx.execute(presence.insert().values(place_key="p", address=address, since=now))
        tx.execute(presence.insert().values(place_key="p", address="left", since=now, until=now))
        tx.execute(session.insert().values(id="s", channel="slack", place_key="p", opened_at=now))

    await store.write(unit)
    return SessionScope(SessionId("s"))


@pytest.mark.parametrize(
    ("scope", "view"),
    [
        (PersonScope(PersonId("pat")), CompanyView(company=True, departments=frozenset({"board", "finance"}))),
        (PersonScope(PersonId("gus")), PUBLIC_ONLY),
        (PersonScope(PersonId("nobody")), PUBLIC_ONLY),
        (DepartmentScope("sales"), CompanyView(company=True, departments=frozenset({"sales"}))),
        (OperatorScope(None), CompanyView(company=True, every_department=True)),
        (SessionScope(SessionId("nothing")), PUBLIC_ONLY),
    ],
    ids=str,
)
async def test_people_departments_and_the_operator(store: Database, scope: Scope, view: CompanyView) -> None:
    assert await store.read(lambda c: company_view(c, scope)) == view


@pytest.mark.parametrize(
    ("audience", "present", "view"),
    [
        (Audience.EXTERNAL, ["pat"], PUBLIC_ONLY),
        (Audience.PERSON, ["pat"], CompanyView(company=True, departments=frozenset({"board", "finance"}))),
        (Audience.ROOM, ["pat", "fay"], CompanyView(company=True, departments=frozenset({"finance"}))),
        (Audience.COMPANY, ["pat", "gus"], PUBLIC_ONLY),  # before the room is judged anew
        (Audience.COMPANY, [], STAFF),
    ],
)
async def test_a_room_sees_what_all_in_it_see(
    store: Database, clock: FakeClock, audience: Audience, present: list[str], view: CompanyView
) -> None:
    scope = await room(store, clock, audience, *present)
    assert await store.read(lambda c: company_view(c, scope)) == view


async def test_a_deactivated_person_in_a_room_takes_its_view_away(
    store: Database, recorder: Recorder, clock: FakeClock
) -> None:
    from bot.audit.events import SYSTEM

    scope = await room(store, clock, Audience.ROOM, "pat", "fay")
    await store.write(lambda tx: people.deactivate(tx, recorder, PersonId("fay"), SYSTEM, clock.now()))
    assert await store.read(lambda c: company_view(c, scope)) == PUBLIC_ONLY
    assert await store.read(lambda c: person_view(c, PersonId("fay"))) == PUBLIC_ONLY
