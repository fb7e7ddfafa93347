"""The placeholder that grows, and the status of the assistant view, through the real library against the stand-in."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from bot.gateway.events import ReplyPath
from bot.gateway.operations import Edit, Reply, Send
from bot.kernel.ids import OutboxId, TurnId
from bot.kernel.supervise import start as begin
from tests.channels.slack.conftest import ANN, ROOM, Rig
from tests.channels.slack.test_send import path, send, sent_ref, ts_of
from tests.fakes.faults import Answer, CutBefore, Delay
from tests.fakes.slack_world import BOT_ID, BOT_USER, TEAM

TURN = TurnId("t" * 24)


async def placeholder(rig: Rig, where: ReplyPath) -> str:
    text = rig.channel.placeholder
    assert text
    (op,) = rig.channel.plan(Reply(where, text))
    return await sent_ref(rig, op)


async def test_a_placeholder_grows_at_most_once_a_second_and_ends_as_the_answer(rig: Rig) -> None:
    await rig.start()
    ref = await placeholder(rig, path())
    assert rig.server.texts(ROOM) == ["_One moment…_"]
    for n in range(10):
        await rig.channel.draft(path(), TURN, f"**so far** {n}", ref)
        rig.clock.advance(timedelta(milliseconds=300))
    assert [call.body["shown"] for call in rig.server.effects.of("chat.update")] == [
        "*so far* 0",
        "*so far* 4",
        "*so far* 8",
    ]
    await rig.channel.draft(path(), TURN, None, ref)
    (final,) = rig.channel.plan(Reply(path(), "**done**"))
    assert isinstance(final, Send)
    await send(rig, Edit(path(), ref, final.text, final.plain))
    rig.clock.advance(timedelta(seconds=5))
    await rig.channel.draft(path(), TURN, "late words", ref)
    assert rig.server.shown(ROOM, ts_of(ref)) == "*done*"
    assert rig.server.deliveries.count() == 1, "one message, from the first sign to the answer"


@pytest.mark.case(13)
async def test_case_13_a_full_placeholder_is_frozen_and_the_rest_follows(rig: Rig) -> None:
    await rig.start()
    ref = await placeholder(rig, path())
    text = ""
    for _ in range(25):
        text += "word " * 50
        await rig.channel.draft(path(), TURN, text, ref)
        rig.clock.advance(timedelta(seconds=1))
    updates = rig.server.requests.count("chat.update")
    assert 15 <= updates < 25
    frozen = rig.server.shown(ROOM, ts_of(ref))
    first, *rest = rig.channel.plan(Reply(path(), text))
    assert isinstance(first, Send)
    assert frozen == first.text
    await send(rig, Edit(path(), ref, first.text, first.plain), key=OutboxId("e" * 24))
    for op in rest:
        await send(rig, op)
    shown = " ".join([rig.server.shown(ROOM, ts_of(ref)), *rig.server.texts(ROOM)[1:]])
    assert shown.split() == text.split()


async def test_a_429_holds_the_drafts_and_the_final_text_arrives(rig: Rig) -> None:
    await rig.start()
    ref = await placeholder(rig, path())
    rig.server.faults.plan("chat.update", Answer(429, retry_after=30))
    for n in range(5):
        await rig.channel.draft(path(), TURN, f"v{n}", ref)
        rig.clock.advance(timedelta(seconds=2))
    assert rig.server.requests.count("chat.update") == 1
    await send(rig, Edit(path(), ref, "final", "final"))
    assert rig.server.shown(ROOM, ts_of(ref)) == "final"


async def test_a_draft_under_way_is_awaited_before_the_final_text(rig: Rig) -> None:
    await rig.start()
    ref = await placeholder(rig, path())
    rig.server.faults.plan("chat.update", Delay(gate="draft"))
    drafting = begin("draft", rig.channel.draft(path(), TURN, "half", ref))
    await rig.server.faults.gate("draft").reached.wait()
    drafting.cancel()
    await asyncio.wait({drafting})
    final = begin("final", send(rig, Edit(path(), ref, "final", "final")))
    await rig.server.requests.wait(1, "chat.update")
    rig.server.faults.gate("draft").release()
    await final
    assert [call.body["text"] for call in rig.server.effects.of("chat.update")] == ["half", "final"]


async def test_the_assistant_view_shows_a_status_and_other_failures_are_silent(rig: Rig) -> None:
    await rig.start()
    direct = rig.server.world.direct(ANN).id
    root = rig.server.world.post(direct, {"user": BOT_USER, "bot_id": BOT_ID, "text": "New"})["ts"]
    for _ in range(3):
        await rig.channel.draft(path(direct, root), TURN, None)
    assert rig.server.effects.count("assistant.threads.setStatus") == 1
    await rig.channel.draft(path(), TURN, None)
    await rig.channel.draft(path(direct), TURN, None)
    assert rig.server.requests.count("assistant.threads.setStatus") == 1
    rig.clock.advance(timedelta(minutes=1))
    rig.server.methods.scopes -= {"assistant:write"}
    for _ in range(3):
        await rig.channel.draft(path(direct, root), TURN, None)
        rig.clock.advance(timedelta(minutes=1))
    assert rig.server.requests.count("assistant.threads.setStatus") == 2, "refused once is enough"
    for fault in (CutBefore(), Answer(500), Answer(200, "message_not_found")):
        rig.server.faults.plan("chat.update", fault)
        rig.clock.advance(timedelta(seconds=2))
        await rig.channel.draft(path(), TURN, f"x{fault}", f"slack:{TEAM}:{ROOM}:1.000001")
