"""What is known of rooms: a widening hides what was said before, a narrowing changes nothing, both leave a trace."""

from __future__ import annotations

from datetime import timedelta

import pytest
import sqlalchemy as sa

from bot.audit import timeline
from bot.gateway.events import PlaceKind
from bot.kernel.ids import PersonId
from bot.people import store as people
from bot.sessions import places
from bot.sessions.audience import Audience
from bot.sessions.tables import presence
from tests.sessions.rooms import BOSS, ROOM, Rooms

pytestmark = pytest.mark.usefixtures("rooms")
OTHER = "test:other"


async def trusted(rooms: Rooms) -> None:
    """Boss and Ada with the executive, declared a room."""
    await rooms.see(["1", "2"], 3)
    await rooms.declare(Audience.ROOM)
    assert await rooms.audience() is Audience.ROOM


async def test_a_new_group_is_external_until_a_principal_says_what_it_is(rooms: Rooms) -> None:
    assert await rooms.see(["1", "2"], 3) is None, "a new room is no shift"
    assert await rooms.audience() is Audience.EXTERNAL
    session = await rooms.open()
    shift = await rooms.declare(Audience.ROOM)
    assert shift is not None
    assert (shift.before, shift.place.audience, shift.widened) == (Audience.EXTERNAL, Audience.ROOM, False)
    assert shift.sessions == (session,)
    assert await rooms.epochs(session) == (0, 0), "a narrowing changes nothing"


@pytest.mark.parametrize("address", ["4", "666"], ids=["a guest", "a stranger"])
async def test_an_outsider_who_comes_in_widens_and_hides_what_was_said_before(rooms: Rooms, address: str) -> None:
    await trusted(rooms)
    session = await rooms.open()
    shift = await rooms.see([address], 4)
    assert shift is not None
    assert (shift.place.audience, shift.widened, shift.sessions) == (Audience.EXTERNAL, True, (session,))
    assert await rooms.epochs(session) == (0, 1)
    back = await rooms.leave(address)
    assert back is not None
    assert (back.place.audience, back.widened) == (Audience.ROOM, False)
    assert await rooms.epochs(session) == (0, 1)


async def test_somebody_who_is_only_counted_widens_too(rooms: Rooms) -> None:
    await trusted(rooms)
    shift = await rooms.see([], 4)
    assert shift is not None
    assert shift.widened


async def test_a_colleague_who_leaves_does_not_widen(rooms: Rooms) -> None:
    await trusted(rooms)
    session = await rooms.open()
    assert await rooms.leave("2") is None
    assert (await rooms.known()).members == 2
    assert await rooms.leave("1", members=1) is None
    assert await rooms.audience() is Audience.ROOM
    assert await rooms.epochs(session) == (0, 0)


async def test_the_same_seen_again_is_no_shift_and_writes_no_row(rooms: Rooms) -> None:
    await trusted(rooms)
    before = len(await rooms.database.read(lambda c: timeline.newest(c, 100)))
    assert await rooms.see(["1"], 3) is None
    assert await rooms.see(["1", "2"]) is None
    assert len(await rooms.database.read(lambda c: timeline.newest(c, 100))) == before


async def test_a_person_who_is_deactivated_widens_at_the_next_look(rooms: Rooms) -> None:
    await trusted(rooms)
    await rooms.write(lambda tx: people.deactivate(tx, rooms.recorder, PersonId("ada"), BOSS, rooms.clock.now()))
    shift = await rooms.see(["1"])
    assert shift is not None
    assert shift.widened


async def test_declaring_cannot_be_believed_against_the_evidence(rooms: Rooms) -> None:
    await rooms.see(["1", "666"], 3)
    assert await rooms.declare(Audience.COMPANY) is None
    assert await rooms.audience() is Audience.EXTERNAL


async def test_from_room_to_company_is_a_widening(rooms: Rooms) -> None:
    await trusted(rooms)
    session = await rooms.open()
    shift = await rooms.declare(Audience.COMPANY)
    assert shift is not None
    assert shift.widened
    assert await rooms.epochs(session) == (0, 1)


async def test_only_sessions_of_the_widened_room_are_touched(rooms: Rooms) -> None:
    await trusted(rooms)
    here = [await rooms.open(), await rooms.open(f"{ROOM}:7")]
    await rooms.see(["1"], key=OTHER)
    there = await rooms.open(OTHER, place=OTHER)
    shift = await rooms.see(["666"], 4)
    assert shift is not None
    assert set(shift.sessions) == set(here)
    assert [await rooms.epochs(session) for session in here] == [(0, 1), (0, 1)]
    assert await rooms.epochs(there) == (0, 0)


async def test_every_judgement_is_recorded_with_its_reason(rooms: Rooms) -> None:
    await trusted(rooms)
    await rooms.see(["666"], 4)
    entries = await rooms.database.read(lambda c: timeline.newest(c, 10, ("room_changed",)))
    assert [(e.payload["before"], e.payload["after"], e.payload["widened"], e.actor) for e in entries] == [
        (None, "external", False, "daemon"),
        ("external", "room", False, "boss"),
        ("room", "external", True, "daemon"),
    ]
    assert all(entry.payload["because"] for entry in entries)


async def test_who_leaves_and_comes_back_within_one_instant_is_in_it(rooms: Rooms) -> None:
    await trusted(rooms)
    await rooms.see(["666"], 4)
    await rooms.leave("666", 3)
    assert await rooms.audience() is Audience.ROOM
    await rooms.see(["666"])
    assert await rooms.audience() is Audience.EXTERNAL


async def test_presence_is_kept_by_interval(rooms: Rooms) -> None:
    start = rooms.clock.now()
    await rooms.see(["2"])
    rooms.clock.advance(timedelta(hours=1))
    await rooms.leave("2")
    rooms.clock.advance(timedelta(hours=1))
    await rooms.see(["2"])
    rows = await rooms.database.read(
        lambda c: [tuple(row) for row in c.execute(sa.select(presence.c.since, presence.c.until))]
    )
    hour = timedelta(hours=1)
    assert rows == [(start, start + hour), (start + 2 * hour, None)]


async def test_a_place_that_the_executive_was_put_out_of_needs_fresh_evidence_when_it_is_back(rooms: Rooms) -> None:
    await trusted(rooms)
    session = await rooms.open()
    await rooms.write(lambda tx: places.close(tx, ROOM, rooms.clock.now()))
    assert await rooms.database.read(places.everywhere) == []
    shift = await rooms.see(["1"])
    assert shift is not None
    assert (shift.place.audience, shift.widened) == (Audience.EXTERNAL, True)
    assert await rooms.epochs(session) == (0, 1)
    assert [known.key for known in await rooms.database.read(places.everywhere)] == [ROOM]
    await rooms.see(["1", "2"], 3)
    assert await rooms.audience() is Audience.ROOM, "what the principal said of it still holds"


async def test_a_place_that_comes_back_just_as_it_was_is_open_again(rooms: Rooms) -> None:
    await rooms.see(["1"], kind=PlaceKind.DIRECT)
    await rooms.write(lambda tx: places.close(tx, ROOM, rooms.clock.now()))
    await rooms.see(["1"], kind=PlaceKind.DIRECT)
    assert (await rooms.known()).open
    assert await rooms.audience() is Audience.PERSON


async def test_titles_follow_the_platform_and_are_not_emptied(rooms: Rooms) -> None:
    await rooms.see(["1"], title="Old")
    await rooms.see(["1"], title="New")
    await rooms.see(["1"], title="")
    assert (await rooms.known()).title == "New"


async def test_many_finds_those_that_exist(rooms: Rooms) -> None:
    await rooms.see(["1"])
    assert list(await rooms.database.read(lambda c: places.many(c, [ROOM, "nowhere"]))) == [ROOM]


# --- a place gets a new key ---------------------------------------------------------------------------------------


async def test_a_move_keeps_the_place_its_people_and_its_sessions(rooms: Rooms) -> None:
    await trusted(rooms)
    plain, topic = await rooms.open(), await rooms.open(f"{ROOM}:7")
    assert await rooms.move(ROOM, OTHER) is None
    assert await rooms.database.read(lambda c: places.get(c, ROOM)) is None
    assert await rooms.audience(OTHER) is Audience.ROOM
    assert await rooms.see(["1", "2"], 3, key=OTHER) is None
    assert (await rooms.session(plain)).place == OTHER
    assert await rooms.epochs(topic) == (0, 0)


async def test_a_move_onto_a_place_seen_already_joins_the_two(rooms: Rooms) -> None:
    await trusted(rooms)
    old = await rooms.open()
    await rooms.see(["1"], 3, key=OTHER)
    new = await rooms.open(OTHER, place=OTHER)
    shift = await rooms.move(ROOM, OTHER)
    assert await rooms.database.read(lambda c: places.get(c, ROOM)) is None
    assert await rooms.audience(OTHER) is Audience.ROOM, "declared for the old one, everybody known in the new one"
    assert shift is None
    assert {(await rooms.session(each)).place for each in (old, new)} == {OTHER}
    assert await rooms.epochs(old) == (0, 0)


async def test_a_move_into_a_wider_place_hides_what_was_said_before(rooms: Rooms) -> None:
    await trusted(rooms)
    session = await rooms.open()
    await rooms.see(["1", "666"], 4, key=OTHER)
    shift = await rooms.move(ROOM, OTHER)
    assert shift is not None
    assert (shift.place.audience, shift.widened) == (Audience.EXTERNAL, True)
    assert session in shift.sessions
    assert await rooms.epochs(session) == (0, 1)


async def test_a_move_of_an_unknown_place_does_nothing(rooms: Rooms) -> None:
    await rooms.see(["1"], key=OTHER)
    assert await rooms.move("test:nowhere", OTHER) is None
    assert await rooms.move(OTHER, OTHER) is None
    assert await rooms.audience(OTHER) is Audience.EXTERNAL


@pytest.mark.parametrize(
    ("kind", "present", "who", "alone", "by_mail"),
    [
        (PlaceKind.DIRECT, "2", "ada", True, True),
        (PlaceKind.DIRECT, "4", "guest", True, True),
        (PlaceKind.DIRECT, "2 666", "ada", False, False),
        (PlaceKind.MAIL, "2", "ada", False, True),
        (PlaceKind.MAIL, "2 3", "ada", False, False),
        (PlaceKind.MAIL, "4", "guest", False, False),
        (PlaceKind.GROUP, "2", "ada", False, False),
    ],
)
async def test_who_is_alone_with_the_executive(
    rooms: Rooms, kind: PlaceKind, present: str, who: str, alone: bool, by_mail: bool
) -> None:
    await rooms.see(present.split(), key=OTHER, kind=kind)
    known = await rooms.database.read(lambda c: places.get(c, OTHER))
    person = await rooms.database.read(lambda c: people.get(c, PersonId(who)))
    assert person is not None
    assert places.alone(known, person) is alone
    assert places.alone(known, person, by_mail=True) is by_mail
    assert not places.alone(None, person)
