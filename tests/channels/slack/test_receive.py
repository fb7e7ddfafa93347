"""Receiving through slack-bolt against the stand-in."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

import pytest

from bot.gateway.events import (
    Addressed,
    ButtonPressed,
    Change,
    CommandInvoked,
    InboundEvent,
    MembershipChanged,
    MessageDeleted,
    MessageEdited,
    MessageReceived,
)
from bot.gateway.forms import Field, Form
from bot.kernel.errors import PermanentError
from channels.slack.adapter import SLOW, TOO_LATE
from tests.channels.slack.conftest import ANN, BEN, EVE, OTHER_BOT, ROOM, Rig
from tests.fakes.faults import Answer, Delay
from tests.fakes.slack import APP_TOKEN, BOT_TOKEN
from tests.fakes.slack_world import BOT_ID, BOT_USER, OTHER_TEAM, TEAM

ME = f"<@{BOT_USER}>"


def texts(events: Iterable[InboundEvent]) -> list[str]:
    return [event.body.text for event in events if isinstance(event, MessageReceived)]


def first(events: Iterable[InboundEvent]) -> MessageReceived:
    event = next(iter(events))
    assert isinstance(event, MessageReceived)
    return event


async def test_direct_messages_are_received_in_order_and_health_says_so(rig: Rig) -> None:
    assert rig.channel.health().receiving is False
    assert rig.channel.health().reason
    await rig.start()
    for n in range(20):
        rig.server.world.direct_message(ANN, f"m{n} &amp; *bold*")
    events = await rig.inbox.wait(20)
    assert texts(events) == [f"m{n} & **bold**" for n in range(20)]
    event = first(events)
    assert (event.addressed, event.sender.name) == (Addressed.DIRECT, "Ann")
    assert event.reply_path.thread == f"slack:{TEAM}:D0{ANN[2:]}"
    await rig.server.sockets.settled()
    health = rig.channel.health()
    assert (health.receiving, health.reason, health.where) == (True, None, "@executive in Company")


async def test_a_slow_look_up_in_one_conversation_holds_up_no_other_and_keeps_order(rig: Rig) -> None:
    await rig.start()
    rig.server.faults.plan("conversations.info", Delay(gate="info"))
    rig.server.world.message(ROOM, ANN, f"{ME} one")
    rig.server.world.message(ROOM, ANN, f"{ME} two")
    await rig.server.faults.gate("info").reached.wait()
    rig.server.world.direct_message(BEN, "me first")
    assert texts(await rig.inbox.wait(1)) == ["me first"]
    rig.server.faults.gate("info").release()
    assert texts(await rig.inbox.wait(3))[1:] == ["@executive one", "@executive two"]


@pytest.mark.case(49)
@pytest.mark.parametrize("order", ["before", "after"])
@pytest.mark.parametrize("words", [f"{ME} hi", f"hi {ME}"])
async def test_case_49_a_mention_is_exactly_one_turn_in_both_orders(rig: Rig, order: str, words: str) -> None:
    await rig.start()
    said = rig.server.world.message(ROOM, ANN, words, mention=order)
    await rig.server.acks.wait(2)
    (event,) = rig.inbox.events
    assert isinstance(event, MessageReceived)
    assert (event.addressed, event.place.members, event.place.title) == (Addressed.MENTION, 3, "general")
    assert event.reply_path.thread == f"slack:{TEAM}:{ROOM}:{said['ts']}"


@pytest.mark.case(49)
@pytest.mark.parametrize("order", ["before", "after"])
async def test_case_49_what_was_ignored_does_not_hide_its_twin(rig: Rig, order: str) -> None:
    """The mention stands where only Slack sees it: the plain form alone is not addressed to us."""
    await rig.start()
    said = rig.server.world.message(ROOM, ANN, "hi there", tell=False)
    twin = {"type": "app_mention", "user": ANN, "text": "hi there", "ts": said["ts"], "channel": ROOM}
    for event in (twin, said) if order == "before" else (said, twin):
        rig.server.world.event({**event, "event_ts": said["ts"]})
    await rig.server.acks.wait(2)
    assert texts(rig.inbox.events) == ["hi there"]


@pytest.mark.case(45)
async def test_case_45_a_retry_that_was_never_seen_runs(rig: Rig) -> None:
    await rig.start()
    rig.inbox.fail()
    rig.server.world.direct_message(ANN, "only the retry arrives")
    await rig.inbox.until(lambda: len(rig.inbox.refused) == 1)
    assert rig.server.acks.count() == 0
    assert rig.server.sockets.redeliver("timeout") == 1
    assert texts(await rig.inbox.wait(1)) == ["only the retry arrives"]
    (ack,) = await rig.server.acks.wait(1)
    assert ack.body["attempt"] == 1


@pytest.mark.case(46)
async def test_case_46_the_last_retry_is_still_known_and_so_after_a_restart(rig: Rig) -> None:
    await rig.start()
    rig.server.world.direct_message(ANN, "once")
    await rig.server.acks.wait(1)
    (sent,) = rig.server.sent.of("events_api")
    for _ in range(3):
        rig.server.sockets.repeat(sent.body["payload"]["event_id"])
    await rig.server.acks.wait(4)
    await rig.replace()
    await rig.start()
    rig.server.sockets.repeat(sent.body["payload"]["event_id"])
    await rig.server.acks.wait(5)
    assert texts(rig.inbox.events) == ["once"]


@pytest.mark.case(48)
async def test_case_48_nothing_is_acknowledged_before_the_commit(rig: Rig) -> None:
    await rig.start()
    held = asyncio.Event()
    entered = asyncio.Event()
    accept = rig.inbox.accept

    async def slow(*arguments: object) -> object:
        entered.set()
        await held.wait()
        return await accept(*arguments)  # type: ignore[arg-type]

    rig.inbox.accept = slow  # type: ignore[method-assign, assignment]
    rig.server.world.direct_message(ANN, "hello")
    await entered.wait()
    rig.server.world.direct_message(BEN, "another conversation")
    assert rig.server.acks.count() == 0
    held.set()
    await rig.server.acks.wait(2)
    assert sorted(texts(rig.inbox.events)) == ["another conversation", "hello"]


@pytest.mark.case(48)
async def test_case_48_a_command_or_press_is_acknowledged_after_the_commit_too(rig: Rig) -> None:
    await rig.start()
    rig.inbox.fail(2)
    rig.server.command(ROOM, ANN, "status")
    posted = rig.server.world.post(ROOM, {"user": BOT_USER, "bot_id": BOT_ID, "text": "?"})
    rig.server.press(ROOM, ANN, posted["ts"], "yes-token")
    await rig.inbox.until(lambda: len(rig.inbox.refused) == 2)
    assert rig.server.acks.count() == 0
    rig.server.command(ROOM, ANN, "status")
    await rig.server.acks.wait(1)
    assert len(rig.inbox.events) == 1


@pytest.mark.case(51)
async def test_case_51_a_preview_is_no_second_turn_and_an_edit_is_one_edit(rig: Rig) -> None:
    await rig.start()
    said = rig.server.world.direct_message(ANN, "see https://a.example")
    rig.server.world.unfurl(said["channel"], said["ts"])
    rig.server.world.edit(said["channel"], said["ts"], "see that")
    rig.server.world.unfurl(said["channel"], said["ts"])
    await rig.server.acks.wait(4)
    message, edit = rig.inbox.events
    assert isinstance(message, MessageReceived)
    assert isinstance(edit, MessageEdited)
    assert (edit.ref, edit.body.text) == (message.ref, "see that")


@pytest.mark.case(52)
async def test_case_52_a_preview_while_the_first_delivery_still_waits_for_names(rig: Rig) -> None:
    await rig.start()
    rig.server.faults.plan("users.info", Delay(gate="names"))
    said = rig.server.world.message(ROOM, ANN, f"{ME} see https://a.example", mention="none")
    await rig.server.faults.gate("names").reached.wait()
    rig.server.world.unfurl(ROOM, said["ts"])
    rig.server.sockets.redeliver()
    rig.server.faults.gate("names").release()
    await rig.server.sockets.settled()
    await rig.server.acks.until(lambda: rig.server.acks.count() >= 3)
    assert len(rig.inbox.events) == 1


async def test_threads_it_takes_part_in_go_on_without_a_mention(rig: Rig) -> None:
    await rig.start()
    world = rig.server.world
    root = world.message(ROOM, BEN, "lunch?")["ts"]
    world.message(ROOM, BEN, "not for us", thread_ts=root)
    world.message(ROOM, ANN, f"{ME} where?", thread_ts=root)
    world.message(ROOM, BEN, "and when?", thread_ts=root)
    other = world.message(ROOM, BEN, "another thread")["ts"]
    world.message(ROOM, BEN, "not there", thread_ts=other)
    events = await rig.inbox.wait(2)
    await rig.server.sockets.settled()
    assert texts(rig.inbox.events) == ["@executive where?", "and when?"]
    second = events[1]
    assert isinstance(second, MessageReceived)
    assert second.addressed is Addressed.THREAD
    assert second.reply_path.thread == f"slack:{TEAM}:{ROOM}:{root}"
    await rig.replace()
    await rig.start()
    world.message(ROOM, ANN, "still here?", thread_ts=root)
    assert texts(await rig.inbox.wait(3))[2:] == ["still here?"], "known after a restart"


async def test_a_thread_under_a_message_of_ours_is_ours_and_a_strangers_mention_makes_none(rig: Rig) -> None:
    rig.inbox._people = frozenset({ANN})
    await rig.start()
    world = rig.server.world
    ours = world.post(ROOM, {"user": BOT_USER, "bot_id": BOT_ID, "text": "good morning"})["ts"]
    world.message(ROOM, ANN, "morning!", thread_ts=ours)
    root = world.message(ROOM, BEN, "x")["ts"]
    world.message(ROOM, EVE, f"{ME} let me in", thread_ts=root)
    world.message(ROOM, ANN, "who is that?", thread_ts=root)
    await rig.server.sockets.settled()
    await rig.inbox.wait(2)
    assert texts(rig.inbox.events) == ["morning!", "@executive let me in"]


async def test_a_thread_of_a_message_that_the_store_knows_is_ours(rig: Rig) -> None:
    await rig.start()
    root = rig.server.world.message(ROOM, BEN, "old", tell=False)["ts"]
    rig.inbox.join(f"slack:{TEAM}:{ROOM}:{root}", BEN)
    rig.server.world.message(ROOM, ANN, "and now?", thread_ts=root)
    assert first(await rig.inbox.wait(1)).addressed is Addressed.THREAD


@pytest.mark.case(74)
async def test_case_74_a_bot_that_mentions_us_is_not_heard(rig: Rig) -> None:
    await rig.start()
    rig.server.world.message(ROOM, OTHER_BOT, f"{ME} hi", extra={"bot_id": "B0OTHER"})
    rig.server.world.message(ROOM, OTHER_BOT, f"{ME} no bot_id")
    rig.server.world.message(ROOM, BOT_USER, f"{ME} own words", extra={"bot_id": BOT_ID})
    await rig.server.sockets.settled()
    await rig.server.acks.wait(6)
    assert rig.inbox.events == []


@pytest.mark.case(75)
async def test_case_75_without_a_verified_identity_nothing_is_received(rig: Rig) -> None:
    rig.server.faults.plan("auth.test", Answer(500), Answer(500))
    rig.server.faults.plan("auth.test", Answer(200, "fatal_error"))
    rig.run()
    for _ in range(2):
        await rig.sleeper()
        assert rig.server.requests.count("apps.connections.open") == 0
        assert rig.channel.health().receiving is False
        rig.clock.advance(SLOW)
    await rig.server.sockets.connected(1)
    rig.server.world.direct_message(ANN, "hello")
    await rig.inbox.wait(1)


@pytest.mark.case(61)
async def test_case_61_only_the_bots_own_token_takes_the_app_away(rig: Rig) -> None:
    await rig.start()
    rig.server.revoke(bot=False, users=[ANN])
    rig.server.world.direct_message(ANN, "still here")
    await rig.inbox.wait(1)
    assert rig.channel.health().receiving is True
    rig.server.revoke()
    assert await rig.sleeper(), "the watch of the first socket"
    await rig.server.sockets.connected(0)
    assert await rig.sleeper() == SLOW
    health = rig.channel.health()
    assert health.receiving is False
    assert "token_revoked" in (health.reason or "")
    rig.server.methods.dead = None
    rig.clock.advance(SLOW)
    await rig.server.sockets.connected(1)
    rig.server.world.direct_message(ANN, "back")
    assert texts(await rig.inbox.wait(2)) == ["still here", "back"]


@pytest.mark.case(61)
async def test_case_61_an_inactive_account_and_an_uninstalled_app_are_told(rig: Rig) -> None:
    rig.server.methods.dead = "account_inactive"
    rig.run()
    assert await rig.sleeper() == SLOW
    assert "account_inactive" in (rig.channel.health().reason or "")
    rig.server.methods.dead = None
    rig.clock.advance(SLOW)
    await rig.server.sockets.connected(1)
    rig.server.methods.dead = "account_inactive"
    rig.server.world.event({"type": "app_uninstalled"})
    await rig.server.sockets.connected(0)
    assert rig.channel.health().receiving is False


async def test_the_app_token_is_judged_by_itself(rig: Rig) -> None:
    rig.server.app_token_error = "missing_scope"
    rig.run()
    assert await rig.sleeper() == SLOW
    assert "connections:write" in (rig.channel.health().reason or "")
    rig.server.app_token_error = None
    rig.clock.advance(SLOW)
    await rig.server.sockets.connected(1)


@pytest.mark.case(57)
async def test_case_57_missing_scopes_are_named_in_health(rig: Rig) -> None:
    rig.server.methods.scopes -= {"files:read", "reactions:write"}
    await rig.start()
    rig.server.world.direct_message(ANN, "hello")
    await rig.inbox.wait(1)
    health = rig.channel.health()
    assert health.receiving is True
    assert "files:read (I cannot fetch files)" in (health.reason or "")
    assert "reactions:write" in (health.reason or "")
    rig.server.methods.scopes -= {"channels:history"}
    await rig.replace()
    await rig.start()
    rig.server.world.direct_message(ANN, "again")
    await rig.inbox.wait(2)
    assert rig.channel.health().receiving is False, "public channels are not heard"


async def test_commands_shortcuts_and_presses_through_the_wire(rig: Rig) -> None:
    await rig.start()
    rig.server.command(ROOM, ANN, "status")
    rig.server.command(ROOM, ANN, "what is the plan?")
    said = rig.server.world.message(ROOM, BEN, "our *plan*", tell=False)
    rig.server.shortcut(ROOM, ANN, said["ts"])
    posted = rig.server.world.post(ROOM, {"user": BOT_USER, "bot_id": BOT_ID, "text": "?"}, said["ts"])
    rig.server.press(ROOM, ANN, posted["ts"], "yes-token")
    command, asked, handed, press = await rig.inbox.wait(4)
    await rig.server.sockets.settled()
    assert isinstance(command, CommandInvoked)
    assert command.name == "status"
    assert command.response is not None
    assert texts([asked, handed]) == ["what is the plan?", "our **plan**"]
    assert isinstance(handed, MessageReceived)
    assert handed.reply_path.thread == f"slack:{TEAM}:{ROOM}:{said['ts']}"
    assert isinstance(press, ButtonPressed)
    assert (press.token, press.thread.key) == ("yes-token", f"slack:{TEAM}:{ROOM}:{said['ts']}")
    assert press.response is not None
    await rig.channel.respond(press.response, "too <late>")
    (answer,) = rig.server.effects.of("respond")
    assert (answer.body["response_type"], answer.body["text"]) == ("ephemeral", "too &lt;late&gt;")


async def test_a_form_that_is_too_late_is_said_to_be_and_a_form_of_nobody_is_passed_over(rig: Rig) -> None:
    await rig.start()
    posted = rig.server.world.post(ROOM, {"user": BOT_USER, "bot_id": BOT_ID, "text": "?"})
    rig.server.press(ROOM, ANN, posted["ts"], "edit-token")
    (press,) = await rig.inbox.wait(1)
    assert isinstance(press, ButtonPressed)
    assert press.response is not None
    form = Form("t", "Edit", (Field("text", "Text", "old"),))
    rig.server.faults.plan("views.open", Answer(200, "expired_trigger_id"))
    await rig.channel.respond(press.response, form)
    (answer,) = rig.server.effects.of("respond")
    assert answer.body["text"] == TOO_LATE
    with pytest.raises(PermanentError):
        await rig.channel.respond(f"{rig.server.url}/respond/1", form)
    await rig.channel.respond(press.response, form)
    rig.server.methods.views[-1]["private_metadata"] = "nonsense"
    rig.server.submit(ROOM, ANN, {"text": "new"})
    await rig.server.sockets.settled()
    assert len(rig.inbox.events) == 1


async def test_everything_else_is_acknowledged_too(rig: Rig) -> None:
    await rig.start()
    rig.server.world.event({"type": "app_home_opened", "user": ANN, "channel": "D1"})
    rig.server.world.event({"type": "message", "subtype": "channel_topic", "channel": ROOM, "user": ANN, "ts": "1.0"})
    rig.server.world.event({"type": "message", "channel": ROOM, "user": ANN, "text": f"{ME} x", "ts": "not a ts"})
    rig.server.world.event({"type": "message", "subtype": "message_changed", "channel": ROOM, "message": 7})
    for kind in ("view_submission", "view_closed", "block_suggestion", "shortcut", "workflow_step_edit", "unheard_of"):
        payload = {"type": kind, "user": {"id": ANN}, "team": {"id": TEAM}, "trigger_id": "1.2", "callback_id": "x"}
        more = {"view": {"callback_id": "x", "type": "modal"}, "action_id": "a", "block_id": "b", "value": "v"}
        rig.server.sockets.deliver("interactive", {**payload, **more})
    await rig.server.sockets.settled()
    assert rig.inbox.events == []


async def test_comings_and_goings_are_told_with_fresh_numbers(rig: Rig) -> None:
    await rig.start()
    world = rig.server.world
    world.message(ROOM, ANN, f"{ME} one", mention="none")
    assert first(await rig.inbox.wait(1)).place.members == 3
    world.join(ROOM, EVE)
    world.leave(ROOM, EVE)
    world.share(ROOM)
    world.rename(ROOM, "partners")
    world.message(ROOM, ANN, f"{ME} two", mention="none")
    world.leave(ROOM, BOT_USER)
    events = await rig.inbox.wait(6)
    await rig.server.sockets.settled()
    changes = [event for event in events if isinstance(event, MembershipChanged)]
    assert [one.change for one in changes] == [Change.JOINED, Change.LEFT, Change.JOINED, Change.REMOVED]
    assert [one.who.address if one.who else None for one in changes] == [EVE, EVE, f"team:{OTHER_TEAM}", None]
    two = events[4]
    assert isinstance(two, MessageReceived)
    assert (two.place.title, two.place.others[0].address) == ("partners", f"team:{OTHER_TEAM}")


async def test_a_deletion_is_reported(rig: Rig) -> None:
    await rig.start()
    said = rig.server.world.direct_message(ANN, "oops")
    rig.server.world.delete(said["channel"], said["ts"])
    message, gone = await rig.inbox.wait(2)
    assert isinstance(message, MessageReceived)
    assert isinstance(gone, MessageDeleted)
    assert gone.ref == message.ref


async def test_what_is_not_for_us_costs_no_request(rig: Rig) -> None:
    await rig.start()
    rig.server.world.message(ROOM, ANN, "good morning all")
    await rig.server.acks.wait(1)
    assert rig.server.requests.count("users.info") == rig.server.requests.count("conversations.info") == 0


async def test_names_that_cannot_be_had_stop_nothing(rig: Rig) -> None:
    rig.server.methods.scopes -= {"users:read", "channels:read"}
    await rig.start()
    rig.server.world.message(ROOM, ANN, f"{ME} hi")
    event = first(await rig.inbox.wait(1))
    assert (event.sender.name, event.place.members) == (ANN, None)


async def test_an_assistant_thread_gets_a_status_and_a_title(rig: Rig) -> None:
    await rig.start()
    thread = rig.server.world.start_assistant(ANN)["assistant_thread"]
    rig.server.world.message(thread["channel_id"], ANN, "what of the plan?", thread_ts=thread["thread_ts"])
    event = first(await rig.inbox.wait(1))
    assert event.reply_path.thread == f"slack:{TEAM}:{thread['channel_id']}:{thread['thread_ts']}"
    (title,) = await rig.server.effects.wait(1, "assistant.threads.setTitle")
    assert title.body["title"] == "what of the plan?"


async def test_the_log_holds_no_token_and_no_words(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        rig.server.faults.plan("auth.test", Answer(500))
        rig.server.faults.plan("apps.connections.open", Answer(500))
        rig.server.faults.plan("link", Answer(500))
        rig.run()
        for _ in range(3):
            await rig.skip()
        await rig.server.sockets.connected(1)
        rig.server.world.direct_message(ANN, "a secret plan")
        await rig.inbox.wait(1)
    told = caplog.text
    assert "receiving" in told
    for secret in (BOT_TOKEN, APP_TOKEN, "ticket-", "a secret plan"):
        assert secret not in told
