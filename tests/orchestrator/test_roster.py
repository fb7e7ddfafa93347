"""The roster's use cases: each change acts at once, with its audit row, and rooms are judged anew with it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import sqlalchemy as sa

from bot.audit import timeline
from bot.audit.events import Actor
from bot.audit.recorder import Recorder
from bot.kernel.errors import PermanentError
from bot.kernel.ids import PersonId
from bot.orchestrator.roster import Entry, Habits, Roster, UnknownPersonError, UnknownRequestError
from bot.people import pairing, store
from bot.people.model import Change, Handle, Origin, Person, Role
from bot.people.tables import person as person_table
from bot.sessions.audience import Audience
from bot.storage.database import Database
from tests.clock import FakeClock
from tests.people.test_model import person
from tests.sessions.rooms import BOSS, CHANNEL, PEOPLE, ROOM, Rooms


@pytest.fixture
async def rooms(database: Database, recorder: Recorder, clock: FakeClock) -> Rooms:
    rooms = Rooms(database, recorder, clock)
    await rooms.add_people(*PEOPLE)
    return rooms


@pytest.fixture
def roster(rooms: Rooms) -> Roster:
    return Roster(rooms.database, rooms.recorder, rooms.clock, "Europe/Berlin", lambda: None, None)


async def _paired(rooms: Rooms, key: str, role: Role = Role.MEMBER, address: str = "9") -> Person:
    handle = Handle(CHANNEL, address, Origin.PAIRED)
    new = person(key, role, Origin.PAIRED, handles=[handle])
    await rooms.write(lambda tx: store.add(tx, rooms.recorder, new, BOSS, rooms.clock.now()))
    return new


async def _audited(rooms: Rooms) -> Sequence[tuple[str, str]]:
    entries = await rooms.database.read(lambda c: timeline.newest(c, 100))
    return [(each.type, each.actor) for each in entries]


async def test_an_edit_is_recorded_with_who_made_it(rooms: Rooms, roster: Roster) -> None:
    await _paired(rooms, "cleo")
    after = await roster.edit(PersonId("cleo"), Entry(" Cleo  C. ", Role.PRINCIPAL, (" finance", "finance", "")), BOSS)
    assert (after.name, after.role, after.departments) == ("Cleo C.", Role.PRINCIPAL, ("finance",))
    assert (await _audited(rooms))[-2:].count(("person_changed", "boss")) == 2


async def test_people_of_the_settings_are_not_edited(rooms: Rooms, roster: Roster) -> None:
    before = await _audited(rooms)
    for change in (
        roster.edit(PersonId("ada"), Entry("Ada", Role.PRINCIPAL, ()), BOSS),
        roster.prefer(PersonId("ada"), Habits("UTC", None), BOSS),
    ):
        with pytest.raises(PermanentError, match=r"\[people\.ada\]"):
            await change
    assert await _audited(rooms) == before


async def test_the_last_principal_stays_one(rooms: Rooms, roster: Roster) -> None:
    await _paired(rooms, "cleo", Role.PRINCIPAL)
    await rooms.write(lambda tx: store.deactivate(tx, rooms.recorder, PersonId("boss"), BOSS, rooms.clock.now()))
    with pytest.raises(PermanentError, match="last principal"):
        await roster.edit(PersonId("cleo"), Entry("Cleo", Role.MEMBER, ()), BOSS)


async def test_who_was_vouched_for_by_a_platform_is_named_by_an_edit(rooms: Rooms, roster: Roster) -> None:
    new = person("w", Role.MEMBER, Origin.WORKSPACE, handles=[Handle(CHANNEL, "9", Origin.WORKSPACE)])
    change = Change(new, "added")
    await rooms.write(lambda tx: store.apply(tx, rooms.recorder, [change], rooms.clock.now()))
    assert (await roster.edit(PersonId("w"), Entry("W", Role.MEMBER, ()), BOSS)).named


async def test_a_room_is_judged_anew_when_a_role_changes(rooms: Rooms, roster: Roster) -> None:
    await _paired(rooms, "cleo")
    await rooms.see(["1", "9"], 3)
    await rooms.declare(Audience.ROOM)
    assert await rooms.audience() is Audience.ROOM
    await roster.edit(PersonId("cleo"), Entry("Cleo", Role.GUEST, ()), BOSS)
    assert await rooms.audience() is Audience.EXTERNAL


async def test_a_place_is_what_a_principal_says_if_evidence_agrees(rooms: Rooms, roster: Roster) -> None:
    await rooms.see(["1", "2"], 3)
    assert (await roster.declare(ROOM, Audience.COMPANY, BOSS)).audience is Audience.COMPANY
    assert ("room_changed", "boss") in await _audited(rooms)
    await rooms.see(["1", "2"], 5)
    after = await roster.declare(ROOM, Audience.ROOM, BOSS)
    assert (after.declared, after.audience) == (Audience.ROOM, Audience.EXTERNAL)
    with pytest.raises(UnknownRequestError):
        await roster.declare("test:nowhere", Audience.ROOM, BOSS)


@pytest.mark.parametrize(
    ("zone", "hours"),
    [
        ("Mars/Olympus", None),
        ("../etc/passwd", None),
        ("", None),
        ("UTC", ("25:00", "07:00")),
        ("UTC", ("22:00", "22:00")),
    ],
)
async def test_habits_that_make_no_sense_are_refused(
    rooms: Rooms, roster: Roster, zone: str, hours: tuple[str, str] | None
) -> None:
    await _paired(rooms, "cleo")
    with pytest.raises(PermanentError):
        await roster.prefer(PersonId("cleo"), Habits(zone, hours), BOSS)


async def test_habits_are_kept(rooms: Rooms, roster: Roster) -> None:
    await _paired(rooms, "cleo")
    after = await roster.prefer(PersonId("cleo"), Habits("Asia/Tokyo", ("22:00", "07:00")), Actor("person", "cleo"))
    assert (after.time_zone, after.quiet_hours) == ("Asia/Tokyo", ("22:00", "07:00"))


async def test_a_request_is_decided_once(rooms: Rooms, roster: Roster) -> None:
    account = Handle(CHANNEL, "77", Origin.PAIRED)
    request = await rooms.write(lambda tx: pairing.ask(tx, rooms.recorder, account, "Eve", rooms.clock.now()))
    assert request is not None
    new = await roster.accept(request, Role.GUEST, BOSS)
    assert (new.name, new.role, new.time_zone) == ("Eve", Role.GUEST, "Europe/Berlin")
    for again in (roster.accept(request, Role.MEMBER, BOSS), roster.decline(request, BOSS)):
        with pytest.raises(UnknownRequestError):
            await again


async def test_who_has_left_can_be_let_in_again(rooms: Rooms, roster: Roster) -> None:
    await _paired(rooms, "cleo")
    await rooms.write(lambda tx: store.deactivate(tx, rooms.recorder, PersonId("cleo"), BOSS, rooms.clock.now()))
    assert (await roster.readmit(PersonId("cleo"), BOSS)).active
    with pytest.raises(UnknownPersonError):
        await roster.readmit(PersonId("cleo"), BOSS)
    count = sa.select(sa.func.count()).select_from(person_table)
    assert await rooms.database.read(lambda c: c.execute(count).scalar_one()) == 5
