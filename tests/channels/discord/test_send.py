"""Carrying out operations through the real library against the stand-in."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bot.gateway.channel import NotReadyError, TargetGoneError
from bot.gateway.events import Attachment, Change, MessageEdited, MessageReceived
from bot.gateway.operations import (
    Ask,
    CannotTell,
    Choice,
    Delete,
    Edit,
    NotSent,
    OpenThread,
    OutFile,
    React,
    Receipt,
    Reply,
    Send,
)
from bot.kernel.errors import PermanentError, TransientError, UncertainError
from bot.kernel.ids import OutboxId
from channels.discord.send import NONCE_WINDOW
from tests.channels.discord.conftest import ANN, BEN, BOT, GENERAL, GUILD, ME, Rig, channel, direct, words
from tests.fakes.discord import refused
from tests.fakes.faults import Answer, CutAfter, CutBefore, Delay


def bodies(rig: Rig, endpoint: str = "createMessage") -> list[dict[str, Any]]:
    return [call.body for call in rig.server.requests.of(endpoint)]


async def mention(rig: Rig, text: str = "plan") -> MessageReceived:
    rig.world.message(GENERAL, ANN, f"{ME} {text}")
    return (await rig.messages(len(rig.of(MessageReceived)) + 1))[-1]


@pytest.mark.case(23)
async def test_case_23_every_message_pings_nobody_shows_no_previews_and_carries_its_key(rig: Rig) -> None:
    await rig.start()
    key = rig.key()
    receipt = await rig.send(words(channel(), "tell @everyone and <@&5> https://a.example"), key=key)
    (sent,) = rig.server.deliveries
    assert sent.body["allowed_mentions"] == {"parse": [], "replied_user": False}
    assert sent.body["flags"] == 4
    assert (sent.body["nonce"], sent.body["enforce_nonce"]) == (key, True)
    assert receipt.ref == f"discord:{GENERAL}:{sent.body['id']}"
    assert receipt.ref is not None
    await rig.send(Edit(channel(), receipt.ref, "@here", "@here"))
    (edit,) = rig.server.effects.of("editMessage")
    assert edit.body["allowed_mentions"] == {"parse": [], "replied_user": False}
    assert edit.body["flags"] == 4


async def test_an_answer_refers_to_its_question_unless_that_is_gone_or_elsewhere(rig: Rig) -> None:
    await rig.start()
    asked = rig.world.dm(ANN, "hi")
    (event,) = await rig.messages()
    await rig.send(words(event.reply_path))
    rig.world.delete(asked["channel_id"], asked["id"])
    await rig.send(words(event.reply_path))
    await rig.send(words(direct(ANN, f"discord:{GENERAL}:5")))
    assert [one.body["reply_to"] for one in rig.server.deliveries] == [asked["id"], None, None]
    rig.world.deny(GENERAL, "history")
    await rig.send(words(channel(GENERAL, f"discord:{GENERAL}:5"), "no history"))
    assert rig.server.texts(GENERAL) == ["no history"]


async def test_direct_messages_are_opened_once(rig: Rig) -> None:
    await rig.start()
    path = await rig.channel.direct(str(BEN))
    await rig.send(words(path, "unasked"))
    await rig.send(words(path, "again"))
    assert rig.server.texts(rig.world.dm_channel(BEN).id) == ["unasked", "again"]
    assert len(bodies(rig, "createDM")) == 1
    with pytest.raises(PermanentError):
        await rig.channel.direct("ben")


# Threads.


async def test_a_thread_that_exists_already_is_fine(rig: Rig) -> None:
    await rig.start()
    event = await mention(rig)
    await rig.say(event.reply_path, "one")
    await rig.say(event.reply_path, "two")
    assert rig.server.texts(event.reply_path.thread.rpartition(":")[2]) == ["one", "two"]
    assert len(rig.server.effects.of("startThread")) == 1
    assert len(bodies(rig, "startThread")) == 2


@pytest.mark.parametrize("code", [50013, 50001, 50024, 10008])
async def test_a_refused_thread_means_answering_in_place_and_the_core_is_told_first(rig: Rig, code: int) -> None:
    await rig.start()
    event = await mention(rig)
    rig.server.faults.plan("startThread", refused(code))
    await rig.say(event.reply_path, "in place " * 300)
    (moved,) = await rig.memberships()
    assert moved.change is Change.MOVED
    assert (moved.place_key, moved.moved_to) == (event.reply_path.thread, f"discord:{GUILD}:{GENERAL}")
    first, second = rig.server.deliveries
    assert (first.body["channel_id"], second.body["channel_id"]) == (str(GENERAL), str(GENERAL))
    assert first.body["reply_to"] == (event.reply_path.ref or "").rpartition(":")[2]
    assert second.body["reply_to"] is None
    await rig.replace()
    await rig.start()
    await rig.send(words(event.reply_path, "after a restart"))
    assert rig.server.texts(GENERAL)[-1] == "after a restart"
    assert len(rig.of(type(moved))) == 1, "said once"


async def test_a_thread_that_may_not_be_written_in_falls_back_too(rig: Rig) -> None:
    await rig.start()
    event = await mention(rig)
    await rig.send(OpenThread(event.reply_path, "Plan", event.reply_path.ref))
    rig.world.deny(event.reply_path.thread.rpartition(":")[2], "send")
    await rig.send(words(event.reply_path, "here then"))
    assert rig.server.texts(GENERAL) == ["here then"]
    assert (await rig.memberships())[0].change is Change.MOVED


async def test_nothing_is_said_in_place_before_the_core_knows(rig: Rig) -> None:
    await rig.start()
    event = await mention(rig)
    rig.server.faults.plan("startThread", refused(50013))
    rig.inbox.fail(1)
    with pytest.raises(TransientError):
        await rig.send(OpenThread(event.reply_path, "Plan", event.reply_path.ref))
    rig.server.faults.plan("startThread", refused(50013))
    await rig.say(event.reply_path, "now")
    assert rig.server.texts(GENERAL) == ["now"]


async def test_a_thread_key_of_somebody_elses_thread_never_falls_back(rig: Rig) -> None:
    await rig.start()
    rig.world.add_thread(300, GENERAL, "Lunch", ANN)
    rig.world.deny(300, "send")
    with pytest.raises(PermanentError, match="lacks a permission"):
        await rig.send(words(channel(300)))
    with pytest.raises(PermanentError, match="gone"):
        await rig.send(words(channel(999)))
    assert not rig.server.deliveries


@pytest.mark.case(66)
async def test_case_66_an_archived_thread_is_opened_again_once(rig: Rig) -> None:
    await rig.start()
    rig.world.add_thread(300, GENERAL, "Lunch", BOT)
    receipt = await rig.send(words(channel(300), "first"))
    assert receipt.ref is not None
    rig.world.set_thread(300, archived=True)
    await rig.send(words(channel(300), "answer"))
    rig.world.set_thread(300, archived=True)
    await rig.send(Edit(channel(300), receipt.ref, "changed", "changed"))
    assert rig.server.texts(300) == ["first", "answer"]
    assert len(rig.server.effects.of("modifyChannel")) == 2
    rig.server.faults.plan("createMessage", refused(50083), times=2)
    with pytest.raises(PermanentError):
        await rig.send(words(channel(300), "for ever?"))


@pytest.mark.case(66)
@pytest.mark.parametrize("how", ["locked", "not allowed"])
async def test_case_66_a_locked_thread_is_a_lasting_refusal(rig: Rig, how: str) -> None:
    await rig.start()
    rig.world.add_thread(300, GENERAL, "Lunch", BOT)
    rig.world.set_thread(300, archived=True, locked=how == "locked")
    if how != "locked":
        rig.world.deny(300, "manage")
    with pytest.raises(PermanentError, match="locked" if how == "locked" else "permission"):
        await rig.send(words(channel(300)))
    assert len(bodies(rig)) == 1


@pytest.mark.case(67)
async def test_case_67_closed_direct_messages_are_reported_and_concern_nobody_else(rig: Rig) -> None:
    await rig.start()
    rig.world.close_dms(BEN)
    with pytest.raises(PermanentError, match="no direct messages"):
        await rig.send(words(direct(BEN)))
    await rig.send(words(direct(ANN)))
    (event,) = await rig.memberships()
    assert event.change is Change.BLOCKED
    assert event.who is not None
    assert (event.who.address, event.place_key) == (str(BEN), f"discord:dm:{BEN}")
    assert len(bodies(rig)) == 2, "no retry"


# Failures.


@pytest.mark.case(146)
async def test_case_146_before_the_login_everything_waits(rig: Rig) -> None:
    with pytest.raises(NotReadyError):
        await rig.send(words(direct()))
    with pytest.raises(NotReadyError):
        await rig.channel.find(words(direct()), rig.key(), rig.clock.now())
    with pytest.raises(NotReadyError):
        await rig.channel.fetch(Attachment("a", "b", 1, source="1:2:3 http://127.0.0.1:1/x"))
    await rig.start()
    await rig.send(words(direct(), "held"))
    assert rig.server.texts(rig.world.dm_channel(ANN).id) == ["held"]


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Answer(401), NotReadyError),
        (Answer(429, retry_after=60), TransientError),
        (Answer(429, body="error code: 1015", retry_after=60), TransientError),
        (Answer(503), UncertainError),
        (CutBefore(), UncertainError),
        (CutAfter(), UncertainError),
        (refused(50035), PermanentError),
        (refused(40005), PermanentError),
    ],
)
async def test_failures_are_said_in_the_two_kinds_and_not_retried(rig: Rig, fault: Any, kind: type[Exception]) -> None:
    await rig.start()
    rig.server.faults.plan("createMessage", fault)
    with pytest.raises(kind) as caught:
        await rig.send(words(channel()))
    assert rig.server.requests.count("createMessage") == 1
    if isinstance(caught.value, TransientError) and isinstance(fault, Answer) and fault.status == 429:
        assert caught.value.retry_after == timedelta(seconds=60)
    assert not isinstance(caught.value, UncertainError) or kind is UncertainError


async def test_a_server_that_is_away_comes_back(rig: Rig) -> None:
    await rig.start()
    rig.server.gateway.drop()
    await rig.server.down()
    rig.server.faults.dark = True
    with pytest.raises(TransientError):
        await rig.send(words(channel()))
    rig.server.faults.dark = False
    await rig.server.up()
    await rig.send(words(channel(), "back"))
    assert rig.server.texts(GENERAL) == ["back"]


async def test_the_library_waits_out_short_limits_and_its_trouble_with_the_same_key(rig: Rig) -> None:
    await rig.start()
    rig.server.limit("createMessage", 0.01)
    rig.server.limit("createMessage", 0.01, everywhere=True)
    rig.server.faults.plan("createMessage", Answer(502))
    await rig.send(words(channel(), "through"))
    assert rig.server.texts(GENERAL) == ["through"]
    assert len({body["nonce"] for body in bodies(rig)}) == 1
    assert len(bodies(rig)) == 4


async def test_a_send_that_is_given_up_waits_for_no_limit_of_others(rig: Rig) -> None:
    """A call that is cancelled while the library waits out a global limit would hold up all others for ever."""
    await rig.start()
    rig.server.limit("createMessage", 0.05, everywhere=True)
    given_up = rig.bench.supervisor.job("send", rig.send(words(channel(), "given up")))
    await rig.server.requests.wait(1, "createMessage")
    given_up.cancel()
    await rig.send(words(channel(), "other"))
    await rig.server.deliveries.wait(2)
    assert set(rig.server.texts(GENERAL)) == {"given up", "other"}


# Doubt.


@pytest.mark.case(143)
async def test_case_143_the_same_key_within_the_window_is_the_same_message(rig: Rig) -> None:
    await rig.start()
    op, key = words(channel(), "once"), rig.key()
    rig.server.faults.plan("createMessage", CutAfter())
    tried = rig.clock.now()
    with pytest.raises(UncertainError):
        await rig.send(op, key=key)
    assert await rig.channel.find(op, key, tried) == NotSent()
    receipt = await rig.send(op, key=key)
    assert rig.server.texts(GENERAL) == ["once"]
    assert receipt.ref == f"discord:{GENERAL}:{rig.server.deliveries.of()[0].body['id']}"


@pytest.mark.case(143)
async def test_case_143_later_the_history_tells(rig: Rig) -> None:
    await rig.start()
    event = await mention(rig)
    await rig.send(OpenThread(event.reply_path, "Plan", event.reply_path.ref))
    thread = event.reply_path.thread.rpartition(":")[2]
    rig.world.message(thread, ANN, "before")
    tried = rig.clock.now()
    arrived, lost = words(event.reply_path, "*it* arrived"), words(event.reply_path, "it was lost")
    rig.server.faults.plan("createMessage", CutAfter())
    rig.server.faults.plan("createMessage", CutBefore())
    for op in (arrived, lost):
        with pytest.raises(UncertainError):
            await rig.send(op)
    rig.clock.advance(NONCE_WINDOW + timedelta(hours=1))
    rig.server.rest.forget_nonces()
    found = await rig.channel.find(arrived, rig.key(), tried)
    assert isinstance(found, Receipt)
    assert found.ref == f"discord:{thread}:{rig.server.deliveries.of()[0].body['id']}"
    assert await rig.channel.find(lost, rig.key(), tried) == NotSent()
    foreign = words(event.reply_path, "before")
    assert await rig.channel.find(foreign, rig.key(), tried) == NotSent(), "others' words are not ours"
    late = rig.clock.now() - NONCE_WINDOW
    assert await rig.channel.find(arrived, rig.key(), late) == NotSent(), "what is older is another message"


@pytest.mark.case(143)
@pytest.mark.parametrize("arrived", [True, False])
async def test_case_143_a_repetition_that_a_long_pause_held_up_does_not_rely_on_the_nonce(
    rig: Rig, arrived: bool
) -> None:
    await rig.start()
    rig.world.message(GENERAL, ANN, "others talk here")
    op, key, tried = words(channel(), "once"), rig.key(), rig.clock.now()
    rig.server.faults.plan("createMessage", CutAfter() if arrived else CutBefore())
    with pytest.raises(UncertainError):
        await rig.send(op, key=key)
    assert await rig.channel.find(op, key, tried) == NotSent()
    rig.clock.advance(NONCE_WINDOW - timedelta(seconds=1))
    rig.server.faults.plan("createMessage", CutBefore())
    with pytest.raises(UncertainError):
        await rig.send(op, key=key)
    assert await rig.channel.find(op, key, rig.clock.now()) == NotSent()
    rig.clock.advance(timedelta(minutes=5))
    rig.server.rest.forget_nonces()
    receipt = await rig.send(op, key=key)
    assert rig.server.texts(GENERAL) == ["once"]
    assert receipt.ref == f"discord:{GENERAL}:{rig.server.deliveries.of()[0].body['id']}"


@pytest.mark.case(143)
async def test_case_143_where_nobody_can_tell_the_outcome_stays_in_doubt(rig: Rig) -> None:
    await rig.start()
    op, key, tried = words(channel(), "once"), rig.key(), rig.clock.now()
    rig.server.faults.plan("createMessage", CutAfter())
    with pytest.raises(UncertainError):
        await rig.send(op, key=key)
    assert await rig.channel.find(op, key, tried) == NotSent()
    rig.clock.advance(NONCE_WINDOW)
    rig.world.deny(GENERAL, "history")
    with pytest.raises(UncertainError):
        await rig.send(op, key=key)
    assert rig.server.texts(GENERAL) == ["once"]


@pytest.mark.case(143)
async def test_case_143_a_marked_repetition_and_files_are_found(rig: Rig) -> None:
    await rig.start()
    file = OutFile("a.txt", "text/plain", rig.bench.files.add(b"x"))
    tried = rig.clock.now()
    ops = (words(channel(), "again"), Send(channel(), "", "", (file,)), Send(channel(), "with", "with", (file,)))
    await rig.send(ops[0], again=True)
    await rig.send(ops[1])
    rig.clock.advance(NONCE_WINDOW)
    assert isinstance(await rig.channel.find(ops[0], rig.key(), tried), Receipt)
    assert isinstance(await rig.channel.find(ops[1], rig.key(), tried), Receipt)
    assert await rig.channel.find(ops[2], rig.key(), tried) == NotSent()
    assert rig.server.texts(GENERAL)[0].startswith("*↻")


@pytest.mark.case(143)
async def test_case_143_what_cannot_be_read_cannot_be_told(rig: Rig) -> None:
    await rig.start()
    op, tried = words(channel(), "sent"), rig.clock.now()
    await rig.send(op)
    rig.clock.advance(NONCE_WINDOW)
    rig.world.deny(GENERAL, "history")
    assert await rig.channel.find(op, rig.key(), tried) == CannotTell()
    rig.world.deny(GENERAL, "view")
    assert await rig.channel.find(op, rig.key(), tried) == CannotTell()
    rig.world.deny(GENERAL)
    rig.server.faults.plan("getMessages", Answer(503))
    with pytest.raises(TransientError):
        await rig.channel.find(op, rig.key(), tried)


async def test_what_can_be_done_twice_is_simply_done_again(rig: Rig) -> None:
    await rig.start()
    long_ago = rig.clock.now() - timedelta(days=1)
    path = channel()
    for op in (Edit(path, "discord:1:2", "x", "x"), Delete(path, "discord:1:2"), OpenThread(path, "x", "discord:1:2")):
        assert await rig.channel.find(op, OutboxId("k" * 24), long_ago) == NotSent()


@pytest.mark.case(142)
async def test_case_142_a_row_of_an_earlier_life_is_sent_after_a_restart(rig: Rig) -> None:
    await rig.start()
    event = await mention(rig)
    ops = rig.channel.plan(Reply(event.reply_path, "answer"))
    await rig.replace()
    await rig.start()
    for op in ops:
        await rig.send(op)
    assert rig.server.texts(event.reply_path.thread.rpartition(":")[2]) == ["answer"]


@pytest.mark.case(145)
async def test_case_145_close_comes_after_the_send_that_runs_and_lets_go_of_all(rig: Rig) -> None:
    await rig.start()
    rig.server.faults.plan("createMessage", Delay(gate="held"))
    sending = rig.bench.supervisor.job("send", rig.send(words(channel(), "last words")))
    await rig.server.faults.gate("held").reached.wait()
    await rig._running.stop()
    rig.server.faults.gate("held").release()
    await sending
    assert rig.server.texts(GENERAL) == ["last words"]


# Other operations.


async def test_files_arrive_with_their_names(rig: Rig) -> None:
    await rig.start()
    files = tuple(OutFile(f"n{n}.md", "text/markdown", rig.bench.files.add(b"# %d" % n)) for n in range(2))
    await rig.send(Send(channel(), "two files", "two files", files))
    (sent,) = rig.server.deliveries
    assert sent.body["files"] == ["n0.md", "n1.md"]
    assert sent.body["content"] == "two files"
    assert [f.data for f in rig.world.files.values()] == [b"# 0", b"# 1"]


async def test_ask_react_delete_and_erase(rig: Rig) -> None:
    await rig.start()
    choices = tuple(Choice(f"t{n}", f"Choice {n}") for n in range(6))
    receipt = await rig.send(Ask(channel(), "Sure?", "Sure?", choices))
    (sent,) = rig.server.deliveries
    rows = sent.body["components"]
    assert [[button["custom_id"] for button in row["components"]] for row in rows] == [
        ["t0", "t1", "t2", "t3", "t4"],
        ["t5"],
    ]
    assert receipt.ref is not None
    await rig.send(React(channel(), receipt.ref, "👍"))
    number = receipt.ref.rpartition(":")[2]
    rig.world.channels[str(GENERAL)].messages[number]["reactions"] = [{"me": True, "emoji": {"id": None, "name": "👍"}}]
    await rig.send(React(channel(), receipt.ref, ""))
    assert [(e.body["emoji"], e.body["added"]) for e in rig.server.effects.of("reaction")] == [
        ("👍", True),
        ("👍", False),
    ]
    await rig.send(Edit(channel(), receipt.ref, "Decided.", "Decided."))
    assert rig.server.effects.of("editMessage")[-1].body["components"] == [], "no buttons are left"
    await rig.send(Delete(channel(), receipt.ref))
    await rig.send(Delete(channel(), receipt.ref))
    with pytest.raises(TargetGoneError):
        await rig.send(Edit(channel(), receipt.ref, "x", "x"))
    second = await rig.send(words(channel()))
    assert second.ref is not None
    assert await rig.channel.erase(channel(), second.ref) is True
    assert await rig.channel.erase(channel(), second.ref) is False
    foreign = rig.world.dm(ANN, "mine")
    assert await rig.channel.erase(direct(), f"discord:{foreign['channel_id']}:{foreign['id']}") is False


async def test_fetch_stores_the_bytes_and_knows_fresh_addresses(rig: Rig) -> None:
    await rig.start()
    file = rig.world.add_file(b"content", "a.txt", "text/plain")
    rig.world.dm(ANN, "read", files=[file])
    (event,) = await rig.messages()
    (attachment,) = event.attachments
    assert attachment.name == "a.txt"
    blob = await rig.channel.fetch(attachment)
    assert rig.bench.files.blobs[blob] == b"content"
    assert "Authorization" not in rig.server.requests.of("attachment")[0].headers
    rig.server.faults.plan("attachment", Answer(404, body='{"code": 0}'))
    assert await rig.channel.fetch(attachment) == blob
    assert rig.server.requests.count("getMessage") == 1
    with pytest.raises(PermanentError, match="too large"):
        await rig.channel.fetch(Attachment("b", "x/y", 25_000_000, source=attachment.source))
    with pytest.raises(PermanentError, match="too big"):
        await rig.channel.fetch(Attachment("b", "x/y", 1, fault="too big"))
    rig.server.faults.plan("attachment", CutBefore(), times=2)  # aiohttp itself asks once more
    with pytest.raises(TransientError) as caught:
        await rig.channel.fetch(attachment)
    assert not isinstance(caught.value, UncertainError), "reading changes nothing"


async def test_own_edits_are_no_events(rig: Rig) -> None:
    await rig.start()
    receipt = await rig.send(words(channel()))
    assert receipt.ref is not None
    await rig.send(Edit(channel(), receipt.ref, "other", "other"))
    await rig.settled()
    assert not rig.of(MessageEdited)
