"""Edits, deletions, presses, members who come and go, places that move, news of what was sent."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from bot.gateway.channel import Accepted
from bot.gateway.events import Addressed, Body, Change, InboundEvent, MessageEdited, MessageReceived
from bot.kernel.ids import MessageId, new_id
from bot.people.tables import handle
from bot.sessions import places, transcript
from bot.sessions.audience import Audience
from bot.sessions.transcript import DELETED, Said
from tests.clock import START
from tests.intake.desk import Desk
from tests.intake.events import (
    DM,
    GROUP,
    GROUP_PLACE,
    command,
    delete,
    edit,
    membership,
    message,
    press,
    report,
)
from tests.sessions.rooms import BOSS

NEW, IGNORED, DUPLICATE = Accepted.NEW, Accepted.IGNORED, Accepted.DUPLICATE
LATER = START + timedelta(minutes=1)


async def texts(desk: Desk) -> list[str]:
    return [row.event.body.text for row in await desk.rows() if isinstance(row.event, MessageReceived)]


async def answered(desk: Desk) -> None:
    """The one turn that runs is finished, its message in the transcript."""
    turn, rows = desk.heard.begun[-1]
    event = rows[0].event
    assert isinstance(event, MessageReceived)
    said = Said(
        MessageId(new_id(desk.clock.now())), turn.id, "user", None, "x", event.ref, event.body, event.sender.proof,
        event.sent_at,
    )  # fmt: skip
    await desk.database.write(lambda tx: transcript.add(tx, turn, [said], desk.clock.now()))
    await desk.finish(turn)


async def told(desk: Desk, ref: str) -> str:
    found = await desk.database.read(lambda c: transcript.by_ref(c, ref))
    assert found is not None
    return found.body.text


# --- edits --------------------------------------------------------------------------------------------------------


async def test_an_edit_before_the_turn_changes_what_is_asked(desk: Desk) -> None:
    await desk.accept(message("0", "busy"), message("1", "first"), command("2", "new"))
    await desk.accept(message("3", "waits"))
    assert await desk.one(edit("e1", "3", "better")) is NEW
    assert await texts(desk) == ["busy", "first", "better"]
    assert [p["applied"] for p in await desk.audited("message_edited")] == ["before_turn"]
    assert await desk.one(edit("e1", "3", "better")) is DUPLICATE


async def test_an_edit_while_the_turn_runs_is_kept_beside_the_message(desk: Desk) -> None:
    await desk.accept(message("1", "first"))
    await desk.accept(edit("e1", "1", "second", at=LATER))
    await desk.accept(edit("e2", "1", "older", at=START))
    row = (await desk.rows())[0]
    assert isinstance(row.event, MessageReceived)
    assert row.event.body.text == "first"
    assert row.edit is not None
    assert row.edit.body.text == "second"


async def test_an_edit_after_the_turn_changes_the_transcript(desk: Desk) -> None:
    await desk.accept(message("1", "first"))
    await answered(desk)
    assert await desk.one(edit("e1", "1", "second", at=LATER)) is NEW
    assert await told(desk, "test:1") == "second"
    assert [p["applied"] for p in await desk.audited("message_edited")] == ["after_turn"]


async def test_an_edit_in_the_same_delivery_as_its_message_finds_it(desk: Desk) -> None:
    assert await desk.accept(message("1", "first"), edit("e1", "1", "second")) == (NEW, NEW)
    row = (await desk.rows())[0]
    assert row.edit is not None
    assert row.edit.body.text == "second"


@pytest.mark.parametrize(
    "event",
    [edit("e1", "unknown", "x"), edit("e1", "1", "forged", by="2", thread=DM), edit("e1", "2", "x")],
    ids=["unknown message", "of another person", "of a command"],
)
async def test_edits_that_change_nothing_of_ours_are_ignored(desk: Desk, event: MessageEdited) -> None:
    await desk.accept(message("1", "first"), command("2", "help"))
    before = await desk.rows()
    assert await desk.one(event) is IGNORED
    assert await desk.rows() == before


async def test_an_edit_of_a_refused_message_is_ignored(desk: Desk) -> None:
    await desk.accept(message("1", by="666"))
    assert await desk.one(edit("e1", "1", "let me in", by="666")) is IGNORED


async def test_an_edit_that_is_too_long_is_cut_like_a_message(desk: Desk) -> None:
    await desk.accept(message("1"))
    await desk.accept(edit("e1", "1", "x" * 50_000))
    row = (await desk.rows())[0]
    assert row.edit is not None
    assert len(row.edit.body.text) < 1_200


# --- deletions ----------------------------------------------------------------------------------------------------


async def test_a_message_deleted_before_its_turn_is_not_answered(desk: Desk) -> None:
    await desk.accept(message("0", "busy"))
    await desk.accept(message("1", "regretted"), message("2", "kept"))
    assert await desk.one(delete("d", "1")) is NEW
    assert await desk.waiting(DM.key) == ["kept"]
    assert await desk.states() == [("busy", "claimed"), ("regretted", "stopped"), ("kept", "queued")]
    assert [p["applied"] for p in await desk.audited("message_deleted")] == ["before_turn"]


async def test_a_message_deleted_while_its_turn_runs_leaves_only_that_it_was_deleted(desk: Desk) -> None:
    await desk.accept(message("1", "regretted"))
    assert await desk.one(delete("d", "1", at=LATER)) is NEW
    row = (await desk.rows())[0]
    assert row.edit is not None
    assert row.edit.body == Body(DELETED)
    await desk.accept(edit("e", "1", "regretted again", at=START))
    row = (await desk.rows())[0]
    assert row.edit is not None
    assert row.edit.body == Body(DELETED)
    assert [p["applied"] for p in await desk.audited("message_deleted")] == ["after_turn"]


async def test_a_message_deleted_after_its_turn_is_emptied(desk: Desk) -> None:
    await desk.accept(message("1", "regretted"))
    await answered(desk)
    await desk.accept(delete("d", "1", at=LATER))
    assert await told(desk, "test:1") == DELETED


async def test_the_deletion_of_something_unknown_is_ignored(desk: Desk) -> None:
    assert await desk.one(delete("d", "unknown")) is IGNORED


# --- presses ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("by", "person"), [("1", "boss"), ("666", None)])
async def test_a_press_is_handed_on_with_the_person_if_there_is_one(desk: Desk, by: str, person: str | None) -> None:
    assert await desk.one(press("p", by=by)) is NEW
    assert [(row.event.kind, row.person) for row in desk.heard.at_once] == [("press", person)]
    assert await desk.one(press("p", by=by)) is DUPLICATE


# --- rooms --------------------------------------------------------------------------------------------------------


def in_group(key: str, text: str = "hi", *, by: str = "1", members: int | None = 3) -> MessageReceived:
    place = replace(GROUP_PLACE, members=members)
    return message(key, text, by=by, thread=GROUP, addressed=Addressed.MENTION, place=place)


async def declared(desk: Desk) -> None:
    """Boss and Ada in a declared room, the lane free."""
    await desk.accept(in_group("1"), in_group("2", by="2"))
    await desk.finish(desk.heard.begun[0][0])
    await desk.database.write(
        lambda tx: places.declare(tx, desk.post.recorder, GROUP.place, Audience.ROOM, BOSS, desk.clock.now())
    )
    assert (await desk.session(GROUP.key)).audience is Audience.ROOM


async def test_a_stranger_who_joins_widens_the_room_and_it_is_told(desk: Desk) -> None:
    await declared(desk)
    await desk.accept(membership("j", Change.JOINED, "666", members=4))
    session = await desk.session(GROUP.key)
    assert (session.audience, session.audience_epoch) == (Audience.EXTERNAL, 1)
    said = await desk.said()
    assert len(said) == 1
    assert "external" in said[0]
    assert "roster" in said[0]


async def test_a_stranger_who_leaves_again_narrows_it_and_it_is_told(desk: Desk) -> None:
    await declared(desk)
    await desk.accept(membership("j", Change.JOINED, "666", members=4))
    await desk.accept(membership("l", Change.LEFT, "666", members=3))
    assert (await desk.session(GROUP.key)).audience is Audience.ROOM
    assert len(await desk.said()) == 2


async def test_members_who_come_and_go_within_one_delivery_are_counted_right(desk: Desk) -> None:
    await declared(desk)
    await desk.accept(
        membership("j1", Change.JOINED, "666", members=4),
        membership("l", Change.LEFT, "666", members=3),
        membership("j2", Change.JOINED, "666", members=4),
    )
    assert (await desk.session(GROUP.key)).audience is Audience.EXTERNAL


async def test_a_turn_that_begins_after_a_widening_in_the_same_delivery_has_the_new_epoch(desk: Desk) -> None:
    await declared(desk)
    await desk.accept(membership("j", Change.JOINED, "666", members=4), in_group("3", "after", members=4))
    assert desk.heard.begun[-1][0].audience_epoch == 1


async def test_a_turn_that_began_before_a_widening_keeps_its_epoch_and_cannot_be_finished(desk: Desk) -> None:
    await declared(desk)
    await desk.accept(in_group("3", "before"), membership("j", Change.JOINED, "666", members=4))
    turn = desk.heard.begun[-1][0]
    assert turn.audience_epoch == 0
    with pytest.raises(AssertionError):
        await desk.finish(turn)


async def test_who_speaks_after_having_left_is_seen_again(desk: Desk) -> None:
    await declared(desk)
    await desk.accept(membership("l", Change.LEFT, "2", members=2))
    await desk.accept(in_group("3", by="2", members=3))
    assert (await desk.session(GROUP.key)).audience is Audience.ROOM
    await desk.accept(membership("l2", Change.LEFT, "2"), in_group("4", by="2", members=3))
    assert (await desk.session(GROUP.key)).audience is Audience.ROOM


async def test_who_leaves_and_speaks_again_in_two_deliveries_of_one_commit_is_seen_again(desk: Desk) -> None:
    await declared(desk)
    await desk.accept(in_group("3", by="4", members=4))
    deliveries: list[InboundEvent] = [membership("l", Change.LEFT, "4", members=3), in_group("4", by="4", members=4)]
    await asyncio.gather(*(desk.post.supervisor.job("accept", desk.accept(event)) for event in deliveries))
    assert (await desk.session(GROUP.key)).audience is Audience.EXTERNAL


async def test_a_guest_who_speaks_widens(desk: Desk) -> None:
    await declared(desk)
    await desk.accept(in_group("3", by="4", members=4))
    session = await desk.session(GROUP.key)
    assert (session.audience, session.audience_epoch) == (Audience.EXTERNAL, 1)
    assert desk.heard.begun[-1][0].audience_epoch == 1


async def test_a_roster_that_changed_is_noticed_at_the_next_message(desk: Desk) -> None:
    await declared(desk)
    await desk.database.write(lambda tx: tx.execute(sa.text("UPDATE person SET active = 0 WHERE id = 'ada'")).close())
    desk.intake.forget_rooms()
    await desk.accept(in_group("3"))
    assert (await desk.session(GROUP.key)).audience is Audience.EXTERNAL


async def test_a_place_that_moves_takes_its_threads_along(desk: Desk) -> None:
    await declared(desk)
    old = await desk.session(GROUP.key)
    moved = replace(in_group("3", "after"), thread=replace(GROUP, key="test:super", place="test:super"))
    assert await desk.accept(membership("m", Change.MOVED, moved_to="test:super"), moved) == (NEW, NEW)
    new = await desk.session("test:super")
    assert (new.id, new.place, new.audience) == (old.id, "test:super", Audience.ROOM)
    assert desk.heard.texts[-1] == ["after"]
    assert await desk.said() == [], "nothing changed but the key"


async def test_a_message_under_the_new_key_may_come_before_the_move(desk: Desk) -> None:
    await declared(desk)
    old = await desk.session(GROUP.key)
    moved = replace(in_group("3", "early"), thread=replace(GROUP, key="test:super", place="test:super"))
    await desk.accept(moved)
    early = desk.heard.begun[-1][0]
    await desk.accept(membership("m", Change.MOVED, moved_to="test:super"))
    assert (await desk.session("test:super")).id == old.id
    await desk.finish(early)


async def test_being_put_out_closes_the_place(desk: Desk) -> None:
    await declared(desk)
    await desk.accept(membership("r", Change.REMOVED))
    assert await desk.database.read(places.everywhere) == []


@pytest.mark.parametrize("change", [Change.BLOCKED, Change.UNBLOCKED])
async def test_who_blocks_the_executive_is_remembered(desk: Desk, change: Change) -> None:
    await desk.accept(membership("b0", Change.BLOCKED, "2", place_key="test:dm:2"))
    await desk.accept(membership("b1", change, "2", place_key="test:dm:2"))

    def reachable(connection: sa.Connection) -> bool:
        return bool(connection.execute(sa.select(handle.c.reachable).where(handle.c.address == "2")).scalar_one())

    assert await desk.database.read(reachable) is (change is Change.UNBLOCKED)


async def test_news_of_a_member_that_came_already_is_a_duplicate(desk: Desk) -> None:
    event = membership("j", Change.JOINED, "2", members=4)
    assert await desk.accept(event, event) == (NEW, DUPLICATE)


# --- delivery reports ---------------------------------------------------------------------------------------------


async def test_a_report_is_matched_to_what_was_sent_and_starts_no_turn(desk: Desk) -> None:
    await desk.post.queue(DM.key, "our words")
    await desk.post.settled()
    sent = desk.post.channel.tried[0]
    assert await desk.one(report("r", "test:unknown", "test:1")) is NEW
    assert await desk.audited("delivery_reported") == [{"channel": "test", "outbox": sent.key, "outcome": "failed"}]
    assert desk.heard.begun == []
    assert desk.heard.at_once == []
    assert await desk.one(report("r", "test:1")) is DUPLICATE


async def test_a_report_about_something_unknown_is_kept(desk: Desk) -> None:
    assert await desk.one(report("r", "test:never-sent")) is NEW
    assert [(p["outbox"], p["outcome"]) for p in await desk.audited("delivery_reported")] == [(None, "failed")]
