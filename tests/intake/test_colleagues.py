"""Full members of the company's own workspace: let in without an entry of the roster, by the platform's word."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.gateway.channel import Accepted
from bot.gateway.events import Addressed, Change, Nature, Place, PlaceKind, Proof, Sender
from bot.kernel.ids import BootId
from bot.people import store as people
from bot.people.model import Origin, Role
from bot.sessions import places
from bot.sessions.audience import Audience
from tests.intake.desk import Desk
from tests.intake.events import GROUP, command, membership, message, sender
from tests.sessions.rooms import BOSS

ZOE = "77"


def colleague(address: str = ZOE, *, full: bool | None = True) -> Sender:
    return replace(sender(address), colleague=full)


async def room(desk: Desk) -> Audience:
    known = await desk.database.read(lambda c: places.get(c, GROUP.place))
    assert known is not None
    return known.audience


async def declared(desk: Desk) -> None:
    now, recorder = desk.clock.now(), desk.post.recorder
    await desk.database.write(lambda tx: places.declare(tx, recorder, GROUP.place, Audience.COMPANY, BOSS, now))


def place(insiders: bool | None, members: int = 40) -> Place:
    return Place(PlaceKind.CHANNEL, "General", members, (), insiders)


async def test_a_colleague_is_a_member_from_the_first_word_on(desk: Desk) -> None:
    assert await desk.one(message("1", by=colleague())) is Accepted.NEW
    assert await desk.one(message("2", by=colleague(full=None))) is Accepted.NEW
    first, second = await desk.rows()
    assert first.person is not None
    assert first.person == second.person
    person = await desk.database.read(lambda c: people.by_handle(c, "test", [ZOE])[ZOE])
    assert (person.role, person.origin, person.named, person.internal) == (Role.MEMBER, Origin.WORKSPACE, False, True)
    assert (person.name, person.time_zone) == (f"Name of {ZOE}", "UTC")
    added = await desk.audited("person_changed")
    assert {"person": person.id, "change": "added", "origin": "workspace"} in added
    session = await desk.session(f"test:dm:{ZOE}")
    assert session.audience is Audience.PERSON


@pytest.mark.parametrize(
    "who",
    [
        colleague(full=None),
        colleague(full=False),
        replace(colleague(), nature=Nature.BOT),
        replace(colleague(), nature=Nature.ANONYMOUS),
        replace(colleague(), proof=Proof.DOMAIN),
    ],
    ids=["not told", "no full member", "bot", "nobody", "no word of a platform"],
)
async def test_nobody_else_is(desk: Desk, who: Sender) -> None:
    assert await desk.one(message("1", by=who)) is Accepted.REFUSED
    assert await desk.database.read(lambda c: people.by_handle(c, "test", [ZOE])) == {}


async def test_what_is_not_for_the_executive_makes_no_entry(desk: Desk) -> None:
    assert await desk.one(message("1", by=colleague(), thread=GROUP, addressed=Addressed.NOT)) is Accepted.IGNORED
    assert await desk.database.read(lambda c: people.by_handle(c, "test", [ZOE])) == {}


async def test_who_is_no_full_member_any_more_is_heard_to_have_left_in_the_same_transaction(desk: Desk) -> None:
    left: list[str] = []
    desk.departed = lambda tx, person, now: left.append(person)
    desk.boot(BootId("boot-2"))
    await desk.one(message("1", by=colleague()))
    (row,) = await desk.rows()
    for number in (2, 3):
        await desk.one(message(str(number), by=colleague(full=False)))
    assert left == [row.person]


async def test_who_is_no_full_member_any_more_is_let_in_no_longer_and_makes_the_room_external(desk: Desk) -> None:
    seen = message("1", by=colleague(), thread=GROUP, addressed=Addressed.MENTION, place=place(True))
    await desk.one(seen)
    await declared(desk)
    assert await room(desk) is Audience.COMPANY
    demoted = colleague(full=False)
    assert await desk.one(replace(seen, sender=demoted, keys=("test:2",), ref="test:2")) is Accepted.REFUSED
    assert [row["reason"] for row in await desk.audited("message_refused")] == ["deactivated"]
    await desk.one(message("3", thread=GROUP, addressed=Addressed.MENTION, place=place(False)))
    assert await room(desk) is Audience.EXTERNAL
    # Nor does a later yes bring back whom a person may have taken away.
    assert await desk.one(message("4", by=colleague())) is Accepted.REFUSED


async def test_an_entry_of_the_roster_decides_whatever_the_platform_says(desk: Desk) -> None:
    guest = replace(sender("4"), colleague=True)
    await desk.one(message("1", by=guest, thread=GROUP, addressed=Addressed.MENTION, place=place(True)))
    await declared(desk)
    assert await room(desk) is Audience.EXTERNAL
    member = replace(sender("2"), colleague=False)
    assert await desk.one(message("2", by=member)) is Accepted.NEW


async def test_a_room_of_colleagues_is_what_a_principal_says_without_counting_them(desk: Desk) -> None:
    await desk.one(message("1", thread=GROUP, addressed=Addressed.MENTION, place=place(True)))
    assert await room(desk) is Audience.EXTERNAL, "nobody has said what it is"
    await declared(desk)
    assert await room(desk) is Audience.COMPANY
    await desk.one(message("2", thread=GROUP, addressed=Addressed.MENTION, place=place(None)))
    assert await room(desk) is Audience.COMPANY, "what was told holds while nothing happens"
    await desk.one(message("3", thread=GROUP, addressed=Addressed.MENTION, place=place(False)))
    assert await room(desk) is Audience.EXTERNAL


@pytest.mark.parametrize(("insiders", "after"), [(True, Audience.COMPANY), (None, Audience.EXTERNAL)])
async def test_when_somebody_comes_the_platform_has_to_vouch_again(
    desk: Desk, insiders: bool | None, after: Audience
) -> None:
    await desk.one(message("1", thread=GROUP, addressed=Addressed.MENTION, place=place(True)))
    await declared(desk)
    joined = replace(membership("2", Change.JOINED, "88"), place=place(insiders, 41))
    await desk.one(joined)
    assert await room(desk) is after


async def test_a_colleague_has_no_say_in_what_a_place_is(desk: Desk) -> None:
    await desk.one(command("1", "room", "company", by="1", thread=GROUP))
    given = replace(command("2", "room", "company", by=ZOE, thread=GROUP), sender=colleague())
    assert await desk.one(given) is Accepted.NEW
    person = await desk.database.read(lambda c: people.by_handle(c, "test", [ZOE])[ZOE])
    assert person.role is not Role.PRINCIPAL


async def test_the_channel_may_ask_who_of_the_roster_is_of_the_company(desk: Desk) -> None:
    await desk.one(message("1", by=colleague()))
    port = desk.intake.port("test")
    assert await port.sides(["1", "2", "4", ZOE, "nobody"]) == {"1": True, "2": True, "4": False}
    await desk.one(message("2", by=colleague(full=False)))
    assert await port.sides([ZOE]) == {ZOE: False}
