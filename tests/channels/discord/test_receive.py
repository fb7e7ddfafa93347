"""Receiving through the real library against the stand-in."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from bot.gateway.events import (
    Addressed,
    ButtonPressed,
    Change,
    FormSubmitted,
    MessageDeleted,
    MessageEdited,
    PlaceKind,
    Thread,
)
from bot.gateway.forms import Field, Form
from bot.gateway.operations import Ask, Choice
from channels.discord import interactions
from tests.channels.discord.conftest import (
    ANN,
    BEN,
    BOT,
    EVE,
    FORUM,
    GENERAL,
    GUILD,
    ME,
    SECRET,
    Rig,
    channel,
    texts,
    words,
)
from tests.channels.inbox import MemoryInbox
from tests.fakes.discord import refused
from tests.fakes.faults import CutBefore, Twice


async def test_a_direct_message_arrives_and_health_says_so(rig: Rig) -> None:
    assert rig.channel.health().receiving is False
    assert rig.channel.health().sending is False
    assert rig.channel.health().reason
    await rig.start()
    assert rig.channel.health().receiving is True
    assert rig.channel.health().sending is True
    assert rig.channel.health().where == "@exec"
    made = rig.world.dm(ANN, "hello")
    (event,) = await rig.messages()
    assert event.keys == (f"discord:{made['id']}",)
    assert event.ref == f"discord:{made['channel_id']}:{made['id']}"
    assert event.thread == Thread(f"discord:dm:{ANN}", f"discord:dm:{ANN}")
    assert event.addressed is Addressed.DIRECT
    assert event.place.kind is PlaceKind.DIRECT
    assert event.sender.address == str(ANN)
    assert event.sender.name == "Ann"


async def test_a_mention_in_a_channel_opens_a_thread_known_at_once(rig: Rig) -> None:
    await rig.start()
    made = rig.world.message(GENERAL, ANN, f"{ME} what is our runway?")
    (event,) = await rig.messages()
    assert event.thread == Thread(f"discord:{GUILD}:{made['id']}", f"discord:{GUILD}:{GENERAL}")
    assert event.body.text == "@Exec what is our runway?"
    assert event.reply_path.opens == "what is our runway?"
    assert event.reply_path.fallback == f"discord:{GUILD}:{GENERAL}"
    receipts = await rig.say(event.reply_path, "Nine months.")
    assert receipts[0].ref is None
    assert rig.server.texts(made["id"]) == ["Nine months."]
    (opened,) = rig.server.effects.of("startThread")
    assert opened.body["name"] == "what is our runway?"
    rig.world.message(made["id"], BEN, "and with the new hire?")
    following = (await rig.messages(2))[1]
    assert following.addressed is Addressed.THREAD
    assert following.thread == event.thread
    assert following.reply_path.opens is None


async def test_answers_in_place_where_that_is_set(rig: Rig) -> None:
    await rig.replace(answer="in_place")
    await rig.start()
    made = rig.world.message(GENERAL, ANN, f"{ME} what is our runway?")
    (event,) = await rig.messages()
    assert event.thread.key == f"discord:{GUILD}:{GENERAL}"
    await rig.say(event.reply_path, "Nine months.")
    (sent,) = rig.server.deliveries
    assert (sent.body["channel_id"], sent.body["reply_to"]) == (str(GENERAL), made["id"])


async def test_forum_posts_and_threads_of_others_are_joined_by_a_mention(rig: Rig) -> None:
    await rig.start()
    post = rig.world.forum_post(FORUM, ANN, "Pricing", f"{ME} what do you think?")
    (first,) = await rig.messages()
    assert first.thread == Thread(f"discord:{GUILD}:{post['id']}", f"discord:{GUILD}:{FORUM}")
    assert first.addressed is Addressed.MENTION
    assert first.reply_path.opens is None
    rig.world.message(post["id"], BEN, "I agree")
    assert (await rig.messages(2))[1].addressed is Addressed.THREAD
    rig.world.add_thread(300, GENERAL, "Lunch", ANN)
    rig.world.message(300, BEN, "pizza?")
    rig.world.message(300, BEN, f"{ME} help")
    rig.world.message(300, ANN, "thanks")
    third, fourth = (await rig.messages(4))[2:]
    assert [texts([third, fourth])] == [["@Exec help", "thanks"]]
    assert fourth.addressed is Addressed.THREAD


async def test_rooms_are_told_apart_with_their_members(rig: Rig) -> None:
    await rig.start()
    rig.world.message(GENERAL, ANN, f"{ME} a")
    rig.world.message(SECRET, ANN, f"{ME} b")
    rig.world.add_thread(310, GENERAL, "hiring", ANN, private=True, members=[BOT])
    rig.world.message(310, ANN, "c")
    general, secret, private = await rig.messages(3)
    assert (general.place.kind, general.place.members) == (PlaceKind.CHANNEL, 3)
    assert (secret.place.kind, secret.place.members) == (PlaceKind.GROUP, 2)
    assert (private.place.kind, private.place.members) == (PlaceKind.GROUP, None)
    assert general.place.title == "#general (Acme)"
    assert private.thread == Thread(f"discord:{GUILD}:310", f"discord:{GUILD}:310")


@pytest.mark.parametrize("why", ["intent", "large"])
async def test_a_number_of_members_is_said_only_if_the_platform_listed_all(rig: Rig, why: str) -> None:
    if why == "intent":
        rig.world.members_intent = False
    else:
        rig.world.guilds[str(GUILD)].more_members = 500
    await rig.start()
    rig.world.message(GENERAL, ANN, f"{ME} a")
    (event,) = await rig.messages()
    assert event.place.members is None
    assert rig.channel.health().receiving is True
    assert ("Server Members" in (rig.channel.health().where or "")) == (why == "intent")


async def test_members_that_come_and_go_are_told_for_the_rooms_in_use(rig: Rig) -> None:
    await rig.start()
    rig.world.message(GENERAL, ANN, f"{ME} a")
    rig.world.message(SECRET, ANN, f"{ME} b")
    await rig.messages(2)
    rig.world.add_member(GUILD, EVE)
    (joined,) = await rig.memberships()
    rig.world.remove_member(GUILD, BEN)
    left = (await rig.memberships(3))[1:]
    assert (joined.change, joined.place_key) == (Change.JOINED, f"discord:{GUILD}:{GENERAL}")
    assert joined.who is not None
    assert joined.who.address == str(EVE)
    assert joined.place.members == 4
    assert {event.change for event in left} == {Change.LEFT}
    assert [event.place_key for event in left] == [f"discord:{GUILD}:{GENERAL}", f"discord:{GUILD}:{SECRET}"]
    rig.world.kick_bot(GUILD)
    gone = (await rig.memberships(5))[3:]
    assert {event.change for event in gone} == {Change.REMOVED}


async def test_edits_and_deletes_are_reported_and_previews_are_not(rig: Rig) -> None:
    await rig.start()
    made = rig.world.message(GENERAL, ANN, f"{ME} budget 10")
    rig.world.unfurl(GENERAL, made["id"])
    rig.world.edit(GENERAL, made["id"], f"{ME} budget 12")
    rig.world.unfurl(GENERAL, made["id"])
    rig.world.message(GENERAL, ANN, f"{ME} second")
    rig.world.delete(GENERAL, made["id"])
    rig.world.delete(GENERAL, 1, 2)
    await rig.inbox.until(lambda: len(rig.of(MessageDeleted)) == 3)
    (edit,) = rig.of(MessageEdited)
    assert edit.body.text == "@Exec budget 12"
    assert edit.ref == f"discord:{GENERAL}:{made['id']}"
    assert edit.thread.key == f"discord:{GUILD}:{made['id']}"
    assert rig.of(MessageDeleted)[0].ref == edit.ref


async def test_deletes_in_direct_messages_find_their_thread(rig: Rig) -> None:
    place = rig.world.dm_channel(ANN)
    old = rig.world.dm(ANN, "before the start")
    await rig.start()
    rig.world.delete(place.id, old["id"])
    await rig.inbox.until(lambda: bool(rig.of(MessageDeleted)))
    assert rig.of(MessageDeleted)[0].thread.key == f"discord:dm:{ANN}"


# Interactions.


def shown(rig: Rig, made: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rig.world.interactions[made["token"]]["shown"]
    return found


async def test_ask_is_answered_in_place_and_only_acknowledged_to_its_sender(rig: Rig) -> None:
    await rig.start()
    made = rig.world.command(GENERAL, ANN, "ask", "how much is left?")
    (event,) = await rig.messages()
    assert event.thread.key == event.reply_path.thread == f"discord:{GUILD}:{GENERAL}"
    await rig.server.effects.wait(1, "callback")
    assert shown(rig, made) == [{"content": "On it: the answer comes here.", "flags": 64, "type": 4}]
    await rig.say(event.reply_path, "Enough.")
    (sent,) = rig.server.deliveries
    assert (sent.body["channel_id"], sent.body["reply_to"], sent.body["content"]) == (str(GENERAL), None, "Enough.")


async def test_commands_and_presses_can_be_answered_at_once(rig: Rig) -> None:
    await rig.start()
    made = rig.world.command(rig.world.dm_channel(ANN).id, ANN, "status")
    (command,) = await rig.commands()
    assert command.response is not None
    assert command.thread.key == f"discord:dm:{ANN}"
    await rig.channel.respond(command.response, "all is well")
    assert [one["content"] for one in shown(rig, made)] == ["Noted.", "all is well"]
    receipt = await rig.send(Ask(channel(), "Sure?", "Sure?", (Choice("y:1", "Yes"), Choice("n:1", "No"))))
    assert receipt.ref is not None
    press = rig.world.press(GENERAL, ANN, receipt.ref.rpartition(":")[2], "y:1")
    await rig.inbox.until(lambda: bool(rig.of(ButtonPressed)))
    (pressed,) = rig.of(ButtonPressed)
    assert (pressed.token, pressed.ref) == ("y:1", receipt.ref)
    assert pressed.response is not None
    await rig.channel.respond(pressed.response, "done " * 1000)
    assert [one["type"] for one in shown(rig, press)] == [6, None]
    assert shown(rig, press)[1]["flags"] == 64
    await rig.channel.respond("press:unknown", "too late")
    rig.world.submit(GENERAL, ANN, "form:1", {"amount": "5"})
    await rig.inbox.until(lambda: bool(rig.of(FormSubmitted)))
    assert rig.of(FormSubmitted)[0].values == (("amount", "5"),)


async def test_a_form_that_is_too_late_is_said_to_be(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interactions, "FORM_WITHIN", 0.05)
    await rig.start()
    choice = Choice("edit:1", "Edit…", opens_form=True)
    receipt = await rig.send(Ask(channel(), "Sure?", "Sure?", (choice,)))
    assert receipt.ref is not None
    press = rig.world.press(GENERAL, ANN, receipt.ref.rpartition(":")[2], "form|edit:1")
    await rig.inbox.until(lambda: bool(rig.of(ButtonPressed)))
    (pressed,) = rig.of(ButtonPressed)
    assert pressed.token == "edit:1"
    assert pressed.response is not None
    await rig.server.effects.wait(1, "callback")
    await rig.channel.respond(pressed.response, Form("t", "Edit", (Field("text", "Text"),)))
    assert [one["type"] for one in shown(rig, press)] == [6, None]
    assert shown(rig, press)[1]["content"] == interactions.TOO_LATE


async def test_an_interaction_that_cannot_be_stored_is_said_to_be_lost(rig: Rig) -> None:
    await rig.start()
    rig.inbox.fail(1)
    made = rig.world.command(GENERAL, ANN, "ask", "how much?")
    await rig.server.effects.wait(1, "callback")
    assert "try again" in shown(rig, made)[0]["content"]
    rig.world.message(GENERAL, ANN, f"{ME} hello")
    assert texts(list(await rig.messages())) == ["@Exec hello"]


@pytest.mark.parametrize("guilds", [(), (GUILD,)])
async def test_slash_commands_are_registered_globally_or_per_guild(rig: Rig, guilds: tuple[int, ...]) -> None:
    await rig.replace(guilds=guilds)
    await rig.start()
    await rig.server.requests.wait(1, "guildCommands" if guilds else "commands")
    await rig.bench.supervisor.drain(timedelta(seconds=5))
    everywhere = rig.server.rest.commands[""]
    assert {"ask", "new", "stop", "status", "help", "room"} <= {command["name"] for command in everywhere}
    assert {tuple(command["contexts"]) for command in everywhere} == {(1,) if guilds else (0, 1)}
    assert (str(GUILD) in rig.server.rest.commands) == bool(guilds)
    ask = next(command for command in everywhere if command["name"] == "ask")
    assert ask["options"][0]["required"] is True


async def test_refused_slash_commands_stop_nothing(rig: Rig) -> None:
    rig.server.faults.plan("commands", refused(50013))
    await rig.start()
    rig.world.dm(ANN, "/status")
    assert (await rig.commands())[0].name == "status"


# Faults.


@pytest.mark.case(63)
async def test_case_63_a_message_that_comes_twice_is_one_event(rig: Rig) -> None:
    await rig.start()
    rig.server.faults.plan("MESSAGE_CREATE", Twice())
    rig.world.dm(ANN, "once")
    rig.world.dm(ANN, "after")
    await rig.messages(2)
    assert texts(rig.inbox.events) == ["once", "after"]
    assert sum(texts(list(batch)).count("once") for batch in rig.inbox.batches) == 2


@pytest.mark.case(70)
async def test_case_70_without_message_content_mentions_and_direct_messages_are_read(rig: Rig) -> None:
    rig.world.content_intent = False
    await rig.start()
    health = rig.channel.health()
    assert health.receiving is True
    assert "Message Content" in (health.where or "")
    made = rig.world.message(GENERAL, ANN, f"{ME} hello")
    rig.world.dm(ANN, "direct")
    await rig.messages(2)
    rig.world.add_thread(made["id"], GENERAL, "T", BOT)
    rig.world.message(made["id"], ANN, "not readable")
    rig.world.message(made["id"], ANN, f"{ME} readable")
    await rig.messages(3)
    assert texts(rig.inbox.events) == ["@Exec hello", "direct", "@Exec readable"]


@pytest.mark.case(72)
async def test_case_72_a_slow_inbox_holds_up_no_heartbeat(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.server.gateway.interval = 0.02
    await rig.start()
    gate = asyncio.Event()
    accept = MemoryInbox.accept

    async def slow(*given: Any) -> Any:
        await gate.wait()
        return await accept(rig.inbox, *given)

    monkeypatch.setattr(rig.inbox, "accept", slow)
    rig.world.dm(ANN, "first")
    rig.world.dm(ANN, "second")
    beats = rig.server.frames.count("heartbeat")
    await rig.server.frames.wait(beats + 5, "heartbeat")
    assert rig.server.frames.count("identify") == 1
    assert rig.server.frames.count("resume") == 0
    gate.set()
    await rig.messages(2)
    assert texts(rig.inbox.events) == ["first", "second"]


@pytest.mark.case(75)
async def test_case_75_without_a_verified_account_nothing_is_accepted(rig: Rig) -> None:
    rig.server.faults.plan("me", CutBefore(), times=2)
    rig.run()
    await rig.clock.sleeper()
    assert rig.server.frames.count("identify") == 0
    assert rig.channel.health().receiving is False
    assert not rig.inbox.events
    async with rig.hurrying():
        rig.clock.advance(timedelta(minutes=1))
        await rig.server.frames.wait(1, "identify")
    await rig.settled()
    await rig.send(words(channel(), "my own words"))
    await rig.settled()
    assert not rig.of(MessageEdited)
    assert texts(rig.inbox.events) == []


async def test_what_cannot_be_stored_is_tried_again_in_order_and_health_says_so(rig: Rig) -> None:
    await rig.start()
    rig.inbox.fail(2)
    for n in range(3):
        rig.world.dm(ANN, f"m{n}")
    await rig.inbox.until(lambda: len(rig.inbox.refused) == 1)
    assert rig.channel.health().receiving is False
    assert "disk is full" in (rig.channel.health().reason or "")
    rig.clock.advance(timedelta(minutes=1))
    await rig.inbox.until(lambda: len(rig.inbox.refused) == 2)
    rig.clock.advance(timedelta(minutes=1))
    await rig.messages(3)
    await rig.settled()
    assert texts(rig.inbox.events) == ["m0", "m1", "m2"]
    assert rig.channel.health().receiving is True


async def test_a_payload_of_an_unforeseen_shape_stops_nothing(rig: Rig) -> None:
    await rig.start()
    made = rig.world.dm(ANN, "fine")
    await rig.messages()
    rig.server.gateway.dispatch("MESSAGE_UPDATE", {**made, "edited_timestamp": "never"})
    rig.world.dm(ANN, "still fine")
    await rig.messages(2)
    assert texts(rig.inbox.events) == ["fine", "still fine"]
