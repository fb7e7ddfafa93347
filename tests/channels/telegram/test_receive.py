"""Receiving through the real library against the stand-in."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta

import pytest

from bot.gateway.channel import HttpRequest
from bot.gateway.commands import COMMANDS
from bot.gateway.events import (
    Addressed,
    Change,
    CommandInvoked,
    InboundEvent,
    MembershipChanged,
    MessageReceived,
)
from bot.kernel.clock import SystemClock
from channels.telegram.poll import SLOW
from channels.telegram.webhook import PATH, SECRET_HEADER
from tests.channels.telegram.conftest import ANN, BASIC, BEN, FORUM, GROUP, Rig
from tests.fakes.faults import Answer, CutBefore, Delay, Twice


def texts(events: tuple[InboundEvent, ...]) -> list[str]:
    return [event.body.text for event in events if isinstance(event, MessageReceived)]


async def test_messages_arrive_in_order_and_health_says_so(rig: Rig) -> None:
    assert rig.channel.health().receiving is False
    assert rig.channel.health().reason
    for n in range(5):
        rig.server.world.private_message(ANN, f"m{n}")
    await rig.start()
    assert texts(await rig.inbox.wait(5)) == [f"m{n}" for n in range(5)]
    await rig.server.requests.wait(2, "getUpdates")
    assert rig.channel.health().receiving is True
    assert rig.channel.health().where == "@exec_bot"


async def test_an_idle_bot_is_known_to_receive_at_once_and_then_polls_long(rig: Rig) -> None:
    await rig.start()
    first, second = (await rig.server.requests.wait(2, "getUpdates"))[:2]
    assert rig.channel.health().receiving is True
    assert [call.body["timeout"] for call in (first, second)] == ["0", "30"]
    assert "callback_query" in second.body["allowed_updates"]


@pytest.mark.case(31)
async def test_case_31_nothing_is_confirmed_before_the_inbox_has_it(rig: Rig) -> None:
    for n in range(3):
        rig.server.world.private_message(ANN, f"m{n}")
    rig.inbox.fail(2)
    rig.run()
    await rig.inbox.until(lambda: len(rig.inbox.refused) == 1)
    assert len(rig.server.pending) == 3
    await rig.clock.skip()
    await rig.inbox.until(lambda: len(rig.inbox.refused) == 2)
    assert len(rig.server.pending) == 3
    await rig.clock.skip()
    assert texts(await rig.inbox.wait(3)) == ["m0", "m1", "m2"]
    await rig.server.requests.wait(4, "getUpdates")
    assert not rig.server.pending


@pytest.mark.case(30)
async def test_case_30_a_restart_before_the_confirmation_repeats_nothing(rig: Rig) -> None:
    for n in range(3):
        rig.server.world.private_message(ANN, f"m{n}")
    gate = "second poll"
    rig.server.faults.plan("getUpdates")
    rig.server.faults.plan("getUpdates", Delay(gate=gate))
    await rig.start()
    await rig.inbox.wait(3)
    await rig.server.faults.gate(gate).reached.wait()
    assert len(rig.server.pending) == 3, "committed, not yet confirmed"
    await rig.replace()
    rig.server.faults.clear()
    await rig.start()
    rig.server.world.private_message(ANN, "after")
    assert texts(await rig.inbox.wait(4)) == ["m0", "m1", "m2", "after"]


@pytest.mark.case(30)
async def test_case_30_an_update_given_twice_is_one_event(rig: Rig) -> None:
    rig.server.faults.plan("getUpdates", Twice())
    rig.server.world.private_message(ANN, "once")
    await rig.start()
    await rig.inbox.until(lambda: len(rig.inbox.batches) == 2)
    assert texts(tuple(rig.inbox.events)) == ["once"]


@pytest.mark.case(32)
async def test_case_32_what_was_sent_while_down_is_received(rig: Rig) -> None:
    await rig.start()
    await rig.stop()
    rig.server.world.private_message(ANN, "while down")
    await rig.replace()
    await rig.start()
    assert texts(await rig.inbox.wait(1)) == ["while down"]
    assert all("drop_pending_updates" not in call.body for call in rig.server.requests)


@pytest.mark.case(33)
async def test_case_33_one_conflict_is_retried_and_many_are_reported(rig: Rig) -> None:
    await rig.start()
    rig.server.world.private_message(ANN, "first")
    await rig.inbox.wait(1)
    rig.server.faults.plan("getUpdates", Answer(409), times=4)
    rig.server.world.private_message(ANN, "second")
    await rig.clock.sleeper()
    assert rig.channel.health().receiving is True, "one conflict is no news"
    rig.clock.advance(timedelta(minutes=1))
    for _ in range(2):
        await rig.clock.sleeper()
        rig.clock.advance(timedelta(minutes=1))
    await rig.clock.sleeper()
    health = rig.channel.health()
    assert health.receiving is False
    assert health.reason is not None
    assert "same token" in health.reason
    rig.clock.advance(timedelta(minutes=1))
    assert texts(await rig.inbox.wait(2)) == ["first", "second"]
    rig.server.world.private_message(ANN, "third")
    await rig.inbox.wait(3)
    assert rig.channel.health().receiving is True


@pytest.mark.case(33)
async def test_case_33_a_webhook_left_behind_is_taken_away_without_losing_what_waits(rig: Rig) -> None:
    await rig.channel.close()
    rig.server.faults.plan("webhook", CutBefore(), times=1000)
    async with rig.server_bot() as bot:
        await bot.set_webhook("https://127.0.0.1:9/x")
    rig.server.world.private_message(ANN, "kept")
    await rig.replace()
    await rig.start()
    assert texts(await rig.inbox.wait(1)) == ["kept"]


@pytest.mark.case(34)
async def test_case_34_a_poll_that_never_ends_is_seen_in_health(rig: Rig) -> None:
    await rig.start()
    rig.server.world.private_message(ANN, "before")
    await rig.inbox.wait(1)
    await rig.server.requests.wait(2, "getUpdates")
    rig.clock.advance(timedelta(seconds=91))
    stalled = rig.channel.health()
    assert stalled.receiving is False
    assert stalled.reason is not None
    assert "91 s" in stalled.reason
    rig.server.world.private_message(ANN, "it ends after all")
    await rig.inbox.wait(2)
    await rig.server.requests.wait(3, "getUpdates")
    assert rig.channel.health().receiving is True


def polling_client(rig: Rig) -> object:
    return rig.channel._client._request[0]._client  # type: ignore[attr-defined]


@pytest.mark.case(34)
async def test_case_34_failures_for_longer_than_three_timeouts_replace_the_connections(rig: Rig) -> None:
    rig.server.faults.plan("getUpdates", CutBefore(), times=3)
    await rig.start()
    first = polling_client(rig)
    await rig.clock.sleeper()
    assert polling_client(rig) is first
    rig.clock.advance(timedelta(seconds=91))
    await rig.clock.sleeper()
    assert polling_client(rig) is not first
    rig.clock.advance(timedelta(seconds=91))
    await rig.clock.sleeper()
    rig.clock.advance(timedelta(seconds=91))
    rig.server.world.private_message(ANN, "hello")
    assert texts(await rig.inbox.wait(1)) == ["hello"]


@pytest.mark.case(35)
async def test_case_35_a_platform_that_is_not_there_at_the_start_is_waited_for(rig: Rig) -> None:
    await rig.server.down()
    rig.run()
    waits = [await rig.clock.skip() for _ in range(5)]
    assert waits[-1] > waits[0]
    assert "cannot be reached" in (rig.channel.health().reason or "")
    await rig.clock.sleeper()
    await rig.server.up()
    rig.server.world.private_message(ANN, "hello")
    rig.clock.advance(timedelta(minutes=1))
    assert texts(await rig.inbox.wait(1)) == ["hello"]


@pytest.mark.case(35)
async def test_case_35_a_refused_token_is_said_and_tried_again_slowly(rig: Rig) -> None:
    rig.server.faults.plan("getMe", Answer(401), times=2)
    rig.run()
    assert await rig.clock.skip() == SLOW
    assert "@BotFather" in (rig.channel.health().reason or "")
    rig.server.faults.plan("getUpdates", Answer(401))
    await rig.clock.skip()
    await rig.bench.ready()
    assert await rig.clock.sleeper() == SLOW
    assert "@BotFather" in (rig.channel.health().reason or "")
    rig.clock.advance(SLOW)
    rig.server.world.private_message(ANN, "hello")
    await rig.inbox.wait(1)
    assert rig.channel.health().receiving is True


@pytest.mark.case(75)
async def test_case_75_without_a_verified_identity_nothing_is_received(rig: Rig) -> None:
    rig.server.faults.plan("getMe", Answer(500), times=3)
    rig.server.world.private_message(ANN, "hello")
    rig.run()
    for _ in range(3):
        assert rig.server.requests.count("getUpdates") == 0
        await rig.clock.skip()
    assert texts(await rig.inbox.wait(1)) == ["hello"]


@pytest.mark.case(74)
async def test_case_74_a_bot_that_mentions_us_is_not_heard(rig: Rig) -> None:
    rig.server.world.add_user(500, "Other", "other_bot", is_bot=True)
    rig.server.world.message(GROUP, 500, "@exec_bot hi")
    rig.server.world.private_message(ANN, "hello")
    await rig.start()
    await rig.inbox.wait(1)
    assert texts(tuple(rig.inbox.events)) == ["hello"]


@pytest.mark.case(42)
async def test_case_42_a_large_file_is_confirmed_with_its_caption_and_fault(rig: Rig) -> None:
    big = rig.server.world.add_file(b"x", "film.mkv", size=25_000_000)
    rig.server.world.message(ANN, ANN, document=big, caption="watch this")
    await rig.start()
    (event,) = await rig.inbox.wait(1)
    assert isinstance(event, MessageReceived)
    assert (event.body.text, event.attachments[0].source) == ("watch this", None)
    await rig.server.requests.wait(2, "getUpdates")
    assert not rig.server.pending


@pytest.mark.case(43)
async def test_case_43_an_album_arrives_as_one_group_in_order(rig: Rig) -> None:
    photos = [rig.server.world.add_file(f"p{n}".encode(), "p.jpg", "image/jpeg") for n in range(3)]
    rig.server.world.album(ANN, ANN, photos, [None, "the second"])
    await rig.start()
    album = [event for event in await rig.inbox.wait(3) if isinstance(event, MessageReceived)]
    assert len({event.group for event in album}) == 1
    assert [event.attachments[0].source for event in album] == photos
    assert [event.body.text for event in album] == ["", "the second", ""]


@pytest.mark.case(44)
async def test_case_44_blocking_and_coming_back_are_told(rig: Rig) -> None:
    rig.server.world.block(ANN)
    rig.server.world.my_chat_member(ANN, "member", ANN)
    await rig.start()
    events = await rig.inbox.wait(2)
    assert [e.change for e in events if isinstance(e, MembershipChanged)] == [Change.BLOCKED, Change.UNBLOCKED]


async def test_a_group_is_told_its_size_and_others_do_not_wait_for_it(rig: Rig) -> None:
    rig.server.faults.plan("getChatMemberCount", Delay(gate="count"))
    rig.server.world.message(GROUP, ANN, "@exec_bot hello")
    rig.server.world.private_message(BEN, "me first")
    await rig.start()
    assert texts(await rig.inbox.wait(1)) == ["me first"]
    rig.server.faults.gate("count").release()
    event = (await rig.inbox.wait(2))[1]
    assert isinstance(event, MessageReceived)
    assert (event.addressed, event.place.members) == (Addressed.MENTION, 3)


async def test_the_size_is_asked_again_after_somebody_joined_and_unknown_if_it_fails(rig: Rig) -> None:
    rig.server.world.message(GROUP, ANN, "@exec_bot one")
    await rig.start()
    await rig.inbox.wait(1)
    rig.server.world.message(GROUP, ANN, "@exec_bot two")
    await rig.inbox.wait(2)
    assert rig.server.requests.count("getChatMemberCount") == 1
    rig.server.faults.plan("getChatMemberCount", Answer(400))
    rig.server.world.message(GROUP, ANN, extra={"new_chat_members": [rig.server.world.user(99)]})
    joined = (await rig.inbox.wait(3))[2]
    assert isinstance(joined, MembershipChanged)
    assert (joined.change, joined.place.members) == (Change.JOINED, None)
    assert rig.server.requests.count("getChatMemberCount") == 2


async def test_what_is_not_for_us_costs_no_request(rig: Rig) -> None:
    rig.server.world.message(GROUP, ANN, "good morning all")
    rig.server.world.private_message(ANN, "hello")
    await rig.start()
    await rig.inbox.wait(1)
    assert texts(tuple(rig.inbox.events)) == ["hello"]
    assert rig.server.requests.count("getChatMemberCount") == 0


async def test_an_update_that_cannot_be_read_does_not_stop_the_next(rig: Rig) -> None:
    rig.server.world.inject("message", {"message_id": "x", "chat": 5})
    rig.server.world.inject(
        "message", {"message_id": 3, "date": 1, "chat": {"id": 5, "type": "private"}, "entities": 7}
    )
    rig.server.world.inject("never_heard_of", {"a": 1})
    rig.server.world.private_message(ANN, "hello")
    await rig.start()
    assert texts(await rig.inbox.wait(1)) == ["hello"]
    await rig.server.requests.wait(2, "getUpdates")
    assert not rig.server.pending


async def test_commands_topics_and_migration_through_the_wire(rig: Rig) -> None:
    rig.server.world.private_message(ANN, "/status")
    rig.server.world.topic_message(FORUM, 77, ANN, "@exec_bot in the topic")
    rig.server.world.migrate(BASIC, -1050)
    await rig.start()
    events = await rig.inbox.wait(3)
    (command,) = [event for event in events if isinstance(event, CommandInvoked)]
    assert command.name == "status"
    (said,) = [event for event in events if isinstance(event, MessageReceived)]
    assert said.reply_path.thread == f"telegram:{FORUM}:77"
    (move,) = [event for event in events if isinstance(event, MembershipChanged)]
    assert (move.place_key, move.moved_to) == (f"telegram:{BASIC}", "telegram:-1050")


SECRET = "s3cret_token"


async def webhook(rig: Rig) -> None:
    await rig.replace(mode="webhook", public_url="https://bot.example/", webhook_secret=SECRET)


def post(body: bytes, secret: str = SECRET) -> HttpRequest:
    return HttpRequest("POST", PATH, {SECRET_HEADER: secret}, body)


UPDATE = json.dumps(
    {
        "update_id": 1,
        "message": {
            "message_id": 5,
            "date": 1,
            "chat": {"id": ANN, "type": "private"},
            "from": {"id": ANN, "is_bot": False, "first_name": "Ann"},
            "text": "hook",
        },
    }
).encode()


async def test_webhook_takes_only_what_carries_the_secret_and_answers_after_the_commit(rig: Rig) -> None:
    await webhook(rig)
    (route,) = rig.channel.routes()
    assert (route.method, route.path) == ("POST", PATH)
    assert (await route.handle(post(UPDATE))).status == 503, "not connected yet"
    await rig.start()
    await rig.clock.sleeper()
    (call,) = rig.server.requests.of("setWebhook")
    assert call.body["url"] == f"https://bot.example{PATH}"
    assert (call.body["secret_token"], call.body["max_connections"]) == (SECRET, "1")
    assert call.body.get("drop_pending_updates") != "true"
    assert rig.channel.health().receiving is True
    for wrong in ("", "s3cret_tokeN", "é"):
        assert (await route.handle(post(UPDATE, wrong))).status == 403
    assert (await route.handle(post(b"{"))).status == 400
    assert (await route.handle(post(b"[]"))).status == 400
    rig.inbox.fail()
    assert (await route.handle(post(UPDATE))).status == 503
    assert rig.inbox.events == []
    assert (await route.handle(post(UPDATE))).status == 200
    assert texts(tuple(rig.inbox.events)) == ["hook"]
    assert (await route.handle(post(UPDATE))).status == 200
    assert len(rig.inbox.events) == 1


async def test_webhook_health_follows_what_the_platform_reports(rig: Rig) -> None:
    await webhook(rig)
    await rig.start()
    await rig.clock.sleeper()
    rig.server._webhook |= {
        "last_error_date": int(SystemClock().now().timestamp()),
        "last_error_message": "Wrong response",
    }
    rig.clock.advance(timedelta(minutes=1))
    await rig.clock.sleeper()
    assert rig.channel.health().receiving is False
    assert "Wrong response" in (rig.channel.health().reason or "")
    rig.server._webhook = {"url": ""}
    rig.clock.advance(timedelta(minutes=1))
    await rig.clock.sleeper()
    assert rig.server.requests.count("setWebhook") == 2, "a registration that was lost is made again"
    assert rig.channel.health().receiving is True


async def test_polling_has_no_routes(rig: Rig) -> None:
    assert rig.channel.routes() == ()
    assert rig.channel.local() == {}


async def test_the_list_of_commands_is_set_once_per_change(rig: Rig) -> None:
    await rig.start()
    (made,) = await rig.server.effects.wait(1, "setMyCommands")
    assert {one["command"]: one["description"] for one in made.body["commands"]} == {
        name: command.summary for name, command in COMMANDS.items()
    }
    await rig.replace()
    await rig.start()
    await rig.server.requests.wait(2, "getMyCommands")
    await rig.stop()
    assert rig.server.effects.count("setMyCommands") == 1


async def test_a_list_of_commands_that_is_refused_keeps_nothing_else_from_working(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    rig.server.faults.plan("setMyCommands", Answer(400, "Bad Request: no"))
    rig.server.world.private_message(ANN, "hello")
    await rig.start()
    assert texts(await rig.inbox.wait(1)) == ["hello"]
    await rig.server.requests.wait(1, "setMyCommands")
    async with asyncio.timeout(10):
        while "could not be set" not in caplog.text:  # noqa: ASYNC110 - the log has no bell
            await asyncio.sleep(0.01)
    assert rig.channel.health().receiving
