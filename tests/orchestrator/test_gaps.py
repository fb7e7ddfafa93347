"""A press that fell into a stretch in which nobody was there is lost: what was asked before it is asked once more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from bot.audit.recorder import Recorder
from bot.gateway.operations import Ask, Send
from bot.ledger.model import State
from bot.people import store as people
from bot.people.model import Change
from bot.scheduler import gate
from bot.storage.database import Database
from tests.orchestrator.house import MAIL, House
from tests.sessions.rooms import PEOPLE

BOSS = PEOPLE[0]
LATER = {**MAIL, "to": "lee@outside.example", "subject": "The lease"}
AGAIN = "*I was not there for a while"


async def away(house: House, stretch: timedelta) -> None:
    """The process dies and another one starts after a while."""
    office = house.office
    await office.database.write(lambda tx: gate.hold(tx, office.recorder, "boot-1", office.clock.now()))
    await office.kill()
    office.clock.advance(stretch)
    await office.open()


async def looked(house: House, after: timedelta = timedelta()) -> None:
    """The approvals have looked at everything, a while later."""
    office = house.office
    office.clock.advance(after)
    assert office.room is not None
    await office.room.approvals.once()
    assert await office.outbox.drain(timedelta(seconds=20))


def to_boss(house: House) -> Sequence[Ask | Send]:
    return [op for op in house.office.channel.ops if isinstance(op, Ask | Send) and op.path.thread == "test:dm:1"]


async def test_an_open_question_is_shown_again_once_after_the_daemon_was_away(house: House) -> None:
    await house.asks("send_email", **MAIL)
    await house.shown()
    await away(house, timedelta(minutes=10))
    await looked(house)
    assert len(to_boss(house)) == 1, "what a platform has kept comes in first"
    await looked(house, timedelta(seconds=31))
    first, again = await house.shown(2)
    assert again.text.startswith(AGAIN)
    assert again.choices != first.choices
    for _ in range(3):
        await looked(house, timedelta(minutes=5))
    assert len(to_boss(house)) == 2
    await house.press(first, "Approve")
    await house.becomes(State.EXECUTED)
    assert len(house.mail.ops) == 1


async def test_a_quick_restart_asks_nobody_again(house: House) -> None:
    await house.asks("send_email", **MAIL)
    await house.shown()
    await away(house, timedelta(seconds=50))
    await looked(house, timedelta(minutes=2))
    assert len(to_boss(house)) == 1


async def test_several_are_named_in_one_message_whose_buttons_above_still_work(house: House) -> None:
    await house.asks("send_email", **MAIL)
    await house.asks("send_email", **LATER)
    first, _ = await house.shown(2)
    await away(house, timedelta(minutes=10))
    await looked(house, timedelta(seconds=31))
    *_, again = to_boss(house)
    assert isinstance(again, Send)
    for words in ("kim@outside.example", "lee@outside.example", "These still wait"):
        assert words in again.text
    await looked(house, timedelta(minutes=5))
    assert len(to_boss(house)) == 3
    assert len([each for each in await house.office.audited("proposal_shown") if each.payload["reminder"]]) == 2
    await house.press(first, "Approve")
    await house.mails("kim@outside.example")


async def test_what_is_decided_or_came_later_is_not_brought_up(house: House) -> None:
    await house.asks("send_email", **MAIL)
    (ask,) = await house.shown()
    await house.press(ask, "Reject")
    await house.becomes(State.REJECTED)
    await away(house, timedelta(minutes=10))
    await looked(house, timedelta(seconds=31))
    await house.asks("send_email", **LATER)
    before = len(await house.shown(2))
    await looked(house, timedelta(minutes=5))
    assert len(await house.shown(before)) == before == 2


async def test_nobody_is_woken_for_it_and_a_second_gap_asks_once_more(
    database: Database, recorder: Recorder, house: House
) -> None:
    await house.asks("send_email", **MAIL)
    await house.shown()
    sleeping = replace(BOSS, quiet_hours=("09:00", "11:00"), time_zone="UTC")
    now = house.office.clock.now()
    await database.write(lambda tx: people.apply(tx, recorder, [Change(sleeping, "updated")], now))
    await away(house, timedelta(minutes=10))
    await looked(house, timedelta(minutes=2))
    assert len(to_boss(house)) == 1
    await looked(house, timedelta(hours=2))
    assert len(to_boss(house)) == 2
    await away(house, timedelta(hours=1))
    await looked(house, timedelta(seconds=31))
    assert len(to_boss(house)) == 3


async def test_a_channel_that_received_nothing_for_a_while_is_a_gap_too(house: House) -> None:
    await house.asks("send_email", **MAIL)
    await house.shown()
    channel = house.office.channel
    channel.receives = False
    await looked(house)
    channel.receives = True
    await looked(house, timedelta(seconds=40))
    await looked(house, timedelta(seconds=40))
    assert len(to_boss(house)) == 1, "too short"
    channel.receives = False
    await looked(house)
    await looked(house, timedelta(minutes=3))
    assert len(to_boss(house)) == 1, "as long as nothing comes in nobody can answer"
    channel.receives = True
    await looked(house)
    await looked(house, timedelta(seconds=31))
    assert to_boss(house)[-1].text.startswith(AGAIN)
    await looked(house, timedelta(minutes=5))
    assert len(to_boss(house)) == 2
