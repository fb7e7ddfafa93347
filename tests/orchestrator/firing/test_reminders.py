"""A fixed text arrives at its time: where it was asked for, if nobody more reads there, else with its owner alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from bot.gateway.events import PlaceKind
from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.ids import BootId
from bot.people import store as people
from bot.people.model import Change, Person
from bot.scheduler.model import Cron, Delivery, JobState, Once, Run
from bot.scheduler.service import handle
from bot.sessions import taint, turns
from bot.sessions.audience import Audience
from tests.clock import START
from tests.intake import events
from tests.orchestrator.firing.desk import ADA, DAY, Firing
from tests.orchestrator.office import Office
from tests.sessions.rooms import ROOM

TWO_MINUTES = timedelta(minutes=2)


async def test_a_reminder_in_two_minutes_arrives_once(firing: Firing) -> None:
    await firing.make(text="call Ben", rule=Once(START + TWO_MINUTES))
    assert await firing.fire(timedelta(minutes=1)) == []
    (fired,) = await firing.fire(timedelta(minutes=1))
    assert (fired.run, fired.delivery) == (Run.DONE, Delivery.SENT)
    assert firing.said == ["test:dm:2: Reminder: call Ben"]
    assert await firing.fire() == []


async def test_one_that_comes_again_says_how_it_is_stopped(firing: Firing) -> None:
    job = await firing.make(text="stand up")
    await firing.fire()
    assert firing.said[-1] == f"test:dm:2: *`/schedule remove {handle(job)}` stops it.*"


async def test_in_the_room_where_it_was_asked_for_as_long_as_the_same_people_read_there(firing: Firing) -> None:
    rooms = firing.office.rooms
    await rooms.see(["2", "3"], 3)
    await rooms.declare(Audience.ROOM)
    session = await rooms.open("test:room:thread")
    await firing.make(text="the launch", rule=Once(START + DAY), session=session)
    await firing.fire()
    assert firing.said == ["test:room:thread: Reminder for ada: the launch"]
    await firing.make(text="the secret", rule=Once(START + 2 * DAY), session=session)
    await rooms.see(["4"], 4)
    await firing.fire()
    assert firing.said[1:] == ["test:dm:2: Reminder: the secret"]


async def test_in_a_private_conversation_it_is_said_there(firing: Firing) -> None:
    rooms = firing.office.rooms
    await rooms.see(["2"], key="test:dm:2", kind=PlaceKind.DIRECT)
    session = await rooms.open("test:dm:2", place="test:dm:2")
    await firing.make(text="call Ben", rule=Once(START + DAY), session=session)
    await firing.fire()
    assert firing.said == ["test:dm:2: Reminder: call Ben"]
    assert ROOM not in firing.said[0]


async def test_whoever_was_reminded_may_ask_about_it_in_that_conversation(firing: Firing) -> None:
    office = firing.office
    await office.hear(events.message("m1", "Hello", by="2"))
    await office.said(1)
    await firing.make(text="call Ben", rule=Once(START + DAY))
    await firing.fire()
    asking = events.message("m2", "What did you mean by that?", by="2")
    await office.hear(replace(asking, sent_at=office.clock.now()))

    async def asked() -> bool:
        return len(office.model.asked) == 2

    await office.until(asked)
    last = office.model.asked[-1].messages
    shown = [(each.role, " ".join(getattr(block, "text", "") for block in each.content)) for each in last]
    assert any(role == "assistant" and text.endswith("Reminder: call Ben") for role, text in shown)
    assert "What did you mean by that?" in shown[-1][1]


async def test_what_was_scheduled_in_a_conversation_that_had_read_others_words_carries_that_on(firing: Firing) -> None:
    office, rooms = firing.office, firing.office.rooms
    await rooms.see(["2"], key="test:dm:2", kind=PlaceKind.DIRECT)
    alone = await rooms.open("test:dm:2", place="test:dm:2")
    await rooms.see(["2", "3"], 3)
    await rooms.declare(Audience.ROOM)
    room = await rooms.open("test:room:thread")
    now = office.clock.now()
    await office.database.write(lambda tx: turns.note(tx, room, BootId("b"), now, untrusted=True))
    await firing.make(text="stand up", rule=Once(START + DAY), session=alone)
    await firing.fire()
    assert not await office.database.read(lambda c: taint.is_tainted(c, alone))
    await firing.make(text="pay the invoice", rule=Once(START + 2 * DAY), session=room)
    await rooms.see(["4"], 4)  # more people read there now: it is said to its owner alone
    await firing.fire()
    assert firing.said[-1] == "test:dm:2: Reminder: pay the invoice"
    assert await office.database.read(lambda c: taint.is_tainted(c, alone))


async def test_what_was_approved_for_somebody_else_reaches_them_word_for_word(firing: Firing) -> None:
    await firing.make(text="ada asks: is the lease signed?", rule=Once(START + DAY), to="bob")
    await firing.fire()
    assert firing.said == ["test:dm:3: ada asks: is the lease signed?"]


async def test_whoever_is_gone_is_told_nothing_and_their_schedules_rest(firing: Firing) -> None:
    job = await firing.make(text="stand up")
    office = firing.office
    gone = [Change(replace(ADA, active=False), "deactivated")]
    await office.database.write(lambda tx: people.apply(tx, office.recorder, gone, START))
    (fired,) = await firing.fire()
    assert (fired.run, fired.note) == (Run.NOTHING, "its owner is not active any more")
    boss = await office.database.read(lambda c: people.principals(c))
    found = await office.database.read(lambda c: firing.schedules.named(c, boss[0], job.id))
    assert (found.state, firing.said) == (JobState.PAUSED, [])


async def test_a_recipient_who_is_gone_is_a_failure_that_the_owner_hears_of(firing: Firing) -> None:
    await firing.make(text="is it signed?", rule=Once(START + DAY), to="bob")
    office = firing.office
    bob = [Change(replace(await _person(office, "bob"), active=False), "deactivated")]
    await office.database.write(lambda tx: people.apply(tx, office.recorder, bob, START))
    (fired,) = await firing.fire()
    assert fired.run is Run.FAILED
    assert firing.told == ["whom it is for (bob) is not on the roster any more"]


async def test_addresses_in_it_are_inert(firing: Firing) -> None:
    await firing.make(text="see https://evil.example/?d=SECRET", rule=Once(START + DAY))
    await firing.fire()
    assert "https://evil.example/?d=SECRET" not in firing.said[0]
    assert "evil[.]example" in firing.said[0]


async def test_a_message_that_the_platform_refuses_is_a_failed_delivery_of_a_run_that_went_well(
    firing: Firing,
) -> None:
    firing.office.channel.sends["Reminder: call Ben"] = [PermanentError("blocked")]
    await firing.make(text="call Ben", rule=Once(START + DAY))
    (fired,) = await firing.fire()
    assert (fired.run, fired.delivery) == (Run.DONE, Delivery.FAILED)


async def test_an_account_that_cannot_be_reached_now_is_tried_again_as_a_failure(firing: Firing) -> None:
    async def direct(address: str) -> object:
        raise TransientError("not connected")

    firing.office.channel.direct = direct  # type: ignore[method-assign, assignment]
    await firing.make(text="call Ben", rule=Cron("0 9 * * *"))
    (fired,) = await firing.fire()
    assert (fired.run, fired.note) == (Run.FAILED, "not connected")


async def _person(office: Office, name: str) -> Person:
    found = await office.database.read(people.everyone)
    return next(each for each in found if each.id == name)
