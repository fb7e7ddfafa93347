"""Sending through the real library against the stand-in."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bot.gateway.channel import NotReadyError, TargetGoneError
from bot.gateway.events import ReplyPath
from bot.gateway.operations import (
    Ask,
    CannotTell,
    Choice,
    Delete,
    Edit,
    NotSent,
    OpenThread,
    OutboundOp,
    OutFile,
    React,
    Receipt,
    Reply,
    Send,
)
from bot.kernel.errors import PermanentError, TransientError, UncertainError
from bot.kernel.ids import OutboxId, TurnId
from bot.kernel.supervise import start as begin
from tests.channels.slack.conftest import ANN, CLOSED, ELSEWHERE, ROOM, Rig
from tests.channels.support import START
from tests.fakes.faults import Answer, CutAfter, CutBefore, Delay
from tests.fakes.slack_world import TEAM

KEY = OutboxId("k" * 24)
TURN = TurnId("t" * 24)


def path(channel: str = ROOM, root: str | None = None) -> ReplyPath:
    return ReplyPath(f"slack:{TEAM}:{channel}" + (f":{root}" if root else ""), ANN)


def words(where: ReplyPath, text: str = "hello", plain: str = "") -> Send:
    return Send(where, text, plain or text)


async def send(rig: Rig, op: OutboundOp, again: bool = False, key: OutboxId = KEY) -> Receipt:
    return await rig.channel.send(op, key, again)


async def sent_ref(rig: Rig, op: OutboundOp, key: OutboxId = KEY) -> str:
    receipt = await send(rig, op, key=key)
    assert receipt.ref is not None
    return receipt.ref


def ts_of(ref: str) -> str:
    return ref.rsplit(":", 1)[1]


def calls(rig: Rig, method: str = "chat.postMessage") -> list[dict[str, Any]]:
    return [call.body for call in rig.server.requests.of(method)]


@pytest.mark.case(54)
async def test_case_54_a_reply_goes_to_the_root_of_its_thread_without_previews(rig: Rig) -> None:
    await rig.start()
    root = rig.server.world.message(ROOM, ANN, "?")["ts"]
    (op,) = rig.channel.plan(Reply(path(root=root), "**yes**, see https://a.example & <!here>"))
    ref = await sent_ref(rig, op)
    (delivery,) = rig.server.deliveries
    assert ref == f"slack:{TEAM}:{ROOM}:{delivery.body['ts']}"
    assert delivery.body["thread_ts"] == root
    assert delivery.body["shown"] == "*yes*, see <https://a.example> &amp; &lt;!here&gt;"
    assert delivery.body["text"] == "yes, see https://a.example &amp; &lt;!here&gt;", "what a notification shows"
    assert (delivery.body["unfurl_links"], delivery.body["unfurl_media"]) == (False, False)
    assert (delivery.body["link_names"], delivery.body["pings"]) == (False, [])
    assert delivery.body["metadata"] == {"event_type": "openexecutive", "event_payload": {"key": KEY}}


@pytest.mark.case(55)
async def test_case_55_without_a_real_thread_nothing_is_sent_as_one(rig: Rig) -> None:
    await rig.start()
    direct = rig.server.world.direct(ANN).id
    await send(rig, words(path(direct)))
    assert "thread_ts" not in calls(rig)[0]
    assert rig.server.deliveries.of("message")[0].body["thread_ts"] is None


@pytest.mark.case(142, 146)
async def test_case_142_and_146_before_the_channel_is_connected_nothing_is_tried(rig: Rig) -> None:
    with pytest.raises(NotReadyError):
        await send(rig, words(path()))
    with pytest.raises(NotReadyError):
        await rig.channel.find(words(path()), KEY, START)
    assert not rig.server.requests
    await rig.start()
    assert rig.bench.rung == 1, "the outbox is told at once"
    rig.clock.advance(timedelta(seconds=5))
    assert isinstance(await rig.channel.find(words(path()), KEY, START), NotSent)
    await send(rig, words(path()))
    assert rig.server.texts(ROOM) == ["hello"]


@pytest.mark.case(145)
async def test_case_145_a_send_that_is_under_way_ends_although_receiving_has_stopped(rig: Rig) -> None:
    await rig.start()
    rig.server.faults.plan("chat.postMessage", Delay(gate="post"))
    task = begin("send", send(rig, words(path())))
    await rig.server.faults.gate("post").reached.wait()
    await rig._running.stop()
    rig.server.faults.gate("post").release()
    assert (await task).ref is not None
    assert rig.server.texts(ROOM) == ["hello"]
    with pytest.raises(NotReadyError):
        await send(rig, words(path()))


@pytest.mark.case(143)
@pytest.mark.parametrize("where", ["thread", "direct"])
async def test_case_143_what_was_cut_after_its_effect_is_found_by_its_key(rig: Rig, where: str) -> None:
    await rig.start()
    root = rig.server.world.message(ROOM, ANN, "?")["ts"]
    target = path(root=root) if where == "thread" else path(rig.server.world.direct(ANN).id)
    await send(rig, words(target), key=OutboxId("o" * 24))
    tried_at = rig.clock.now()
    rig.server.faults.plan("chat.postMessage", CutAfter())
    with pytest.raises(UncertainError):
        await send(rig, words(target))
    assert rig.server.requests.count("chat.postMessage") == 2, "neither the library nor we try again"
    await rig.replace()
    await rig.start()
    found = await rig.channel.find(words(target), KEY, tried_at)
    assert isinstance(found, Receipt)
    assert (
        found.ref == f"slack:{TEAM}:{target.thread.split(':')[2]}:{rig.server.deliveries.of('message')[1].body['ts']}"
    )
    assert len(rig.server.texts(ROOM)) + len(rig.server.texts(rig.server.world.direct(ANN).id)) == 2


@pytest.mark.case(143)
async def test_case_143_what_was_cut_before_is_not_there_once_it_is_settled(rig: Rig) -> None:
    await rig.start()
    tried_at = rig.clock.now()
    for fault in (CutBefore(), Answer(502), Answer(200, "fatal_error")):
        rig.server.faults.plan("chat.postMessage", fault)
        with pytest.raises(UncertainError):
            await send(rig, words(path()))
    with pytest.raises(TransientError, match="too early") as early:
        await rig.channel.find(words(path()), KEY, tried_at)
    assert early.value.retry_after == timedelta(seconds=3)
    rig.clock.advance(timedelta(seconds=3))
    assert isinstance(await rig.channel.find(words(path()), KEY, tried_at), NotSent)
    await send(rig, words(path()))
    assert rig.server.texts(ROOM) == ["hello"]


@pytest.mark.case(143)
async def test_case_143_the_key_is_found_behind_many_others_and_never_anybody_elses(rig: Rig) -> None:
    await rig.start()
    root = rig.server.world.message(ROOM, ANN, "?")["ts"]
    metadata = {"event_type": "openexecutive", "event_payload": {"key": KEY}}
    rig.server.world.post(ROOM, {"user": ANN, "text": "forged", "metadata": metadata}, root)
    tried_at = rig.clock.now()
    rig.clock.advance(timedelta(seconds=5))
    assert isinstance(await rig.channel.find(words(path(root=root)), KEY, tried_at), NotSent)
    for n in range(450):
        rig.server.world.message(ROOM, ANN, f"m{n}", thread_ts=root, tell=False)
    ref = await sent_ref(rig, words(path(root=root)))
    found = await rig.channel.find(words(path(root=root)), KEY, tried_at)
    assert isinstance(found, Receipt)
    assert found.ref == ref


@pytest.mark.case(143)
async def test_case_143_what_cannot_be_read_cannot_be_told(rig: Rig) -> None:
    await rig.start()
    rig.server.methods.scopes -= {"channels:history"}
    assert isinstance(await rig.channel.find(words(path()), KEY, START), CannotTell)
    rig.server.faults.plan("conversations.history", Answer(429, retry_after=9))
    with pytest.raises(TransientError) as caught:
        await rig.channel.find(words(path()), KEY, START)
    assert caught.value.retry_after == timedelta(seconds=9)
    marked = await send(rig, words(path(), "*x*", "x"), again=True)
    assert marked.ref is not None
    assert rig.server.texts(ROOM) == ["_↻ This may have reached you already._\n*x*"]


@pytest.mark.case(143)
async def test_case_143_edits_and_the_like_are_simply_done_again(rig: Rig) -> None:
    await rig.start()
    ref = await sent_ref(rig, words(path()), key=OutboxId("o" * 24))
    for op in (
        Edit(path(), ref, "a", "a"),
        Delete(path(), ref),
        React(path(), ref, "👀"),
        OpenThread(path(), "t", None),
    ):
        assert isinstance(await rig.channel.find(op, KEY, START), NotSent)


async def test_a_pause_is_passed_on_and_hushes_the_drafts(rig: Rig) -> None:
    await rig.start()
    ref = await sent_ref(rig, words(path()))
    rig.server.faults.plan("chat.postMessage", Answer(429, retry_after=33))
    with pytest.raises(TransientError) as caught:
        await send(rig, words(path()))
    assert not isinstance(caught.value, UncertainError)
    assert caught.value.retry_after == timedelta(seconds=33)
    await rig.channel.draft(path(), TURN, "more", ref)
    assert rig.server.requests.count("chat.update") == 0
    rig.clock.advance(timedelta(seconds=33))
    await rig.channel.draft(path(), TURN, "more", ref)
    assert rig.server.shown(ROOM, ts_of(ref)) == "more"


@pytest.mark.case(62)
async def test_case_62_outside_a_channel_it_joins_once_and_tries_again(rig: Rig) -> None:
    await rig.start()
    await send(rig, words(path(ELSEWHERE)))
    assert rig.server.texts(ELSEWHERE) == ["hello"]
    assert rig.server.requests.count("conversations.join") == 1
    rig.server.faults.plan("chat.postMessage", Answer(200, "not_in_channel"), times=9)
    with pytest.raises(PermanentError, match="invite me"):
        await send(rig, words(path(ELSEWHERE)))
    assert rig.server.requests.count("conversations.join") == 2
    assert rig.server.requests.count("chat.postMessage") == 4, "two tries and no more"


@pytest.mark.case(62)
@pytest.mark.parametrize("code", ["channel_not_found", "is_archived", "restricted_action"])
async def test_case_62_lasting_refusals_are_permanent_at_once(rig: Rig, code: str) -> None:
    await rig.start()
    rig.server.faults.plan("chat.postMessage", Answer(200, code))
    with pytest.raises(PermanentError, match=code):
        await send(rig, words(path(CLOSED)))
    assert rig.server.requests.count("chat.postMessage") == 1
    assert rig.server.requests.count("conversations.join") == 0
    await send(rig, words(path()))
    assert rig.server.texts(ROOM) == ["hello"], "the others go on"


@pytest.mark.case(62)
async def test_case_62_where_joining_is_refused_the_first_refusal_stands(rig: Rig) -> None:
    await rig.start()
    rig.server.methods.scopes -= {"channels:join"}
    with pytest.raises(PermanentError, match="invite me"):
        await send(rig, words(path(ELSEWHERE)))
    assert rig.server.requests.count("chat.postMessage") == 1


async def test_a_missing_scope_is_permanent_and_stands_in_health(rig: Rig) -> None:
    await rig.start()
    rig.server.methods.scopes -= {"chat:write"}
    with pytest.raises(PermanentError, match="chat:write"):
        await send(rig, words(path()))
    assert "chat:write" in (rig.channel.health().reason or "")


@pytest.mark.case(61)
async def test_case_61_a_token_that_dies_while_sending_lets_the_row_wait(rig: Rig) -> None:
    await rig.start()
    rig.server.methods.dead = "account_inactive"
    with pytest.raises(NotReadyError):
        await send(rig, words(path()))
    await rig.server.sockets.connected(0)
    assert "account_inactive" in (rig.channel.health().reason or "")


async def test_refused_blocks_go_out_as_text(rig: Rig) -> None:
    await rig.start()
    rig.server.faults.plan("chat.postMessage", Answer(200, "invalid_blocks"))
    ref = await sent_ref(rig, words(path(), "*a* &amp; b", "a &amp; b"))
    assert rig.server.texts(ROOM) == ["*a* &amp; b"]
    assert calls(rig)[1].get("blocks") is None
    rig.server.faults.plan("chat.update", Answer(200, "invalid_blocks"))
    await send(rig, Edit(path(), ref, "*c*", "c"))
    assert rig.server.shown(ROOM, ts_of(ref)) == "*c*"


@pytest.mark.case(9)
async def test_case_09_long_answers_and_edits_stay_within_4000(rig: Rig) -> None:
    await rig.start()
    ref = await sent_ref(rig, words(path(), "…"))
    first, *rest = rig.channel.plan(Reply(path(), "x" * 4100))
    assert isinstance(first, Send)
    await send(rig, Edit(path(), ref, first.text, first.plain), key=OutboxId("e" * 24))
    for op in rest:
        await send(rig, op)
    shown = [rig.server.shown(ROOM, ts_of(ref)), *rig.server.texts(ROOM)[1:]]
    assert "".join(shown) == "x" * 4100
    assert all(len(str(call["text"])) <= 4000 for call in calls(rig) + calls(rig, "chat.update"))


@pytest.mark.case(9)
async def test_case_09_what_is_still_too_long_is_cut_again_and_not_dropped(rig: Rig) -> None:
    await rig.start()
    root = rig.server.world.message(ROOM, ANN, "?")["ts"]
    here = path(root=root)
    text = "one two three four five six seven eight"
    rig.server.faults.plan("chat.postMessage", Answer(200, "msg_too_long"), times=2)
    ref = await sent_ref(rig, words(here, text))
    shown = rig.server.texts(ROOM, root)
    assert " ".join(shown) == text
    assert len(shown) == 3
    assert ts_of(ref) == rig.server.deliveries.of("message")[0].body["ts"]
    found = await rig.channel.find(words(here, text), KEY, rig.clock.now())
    assert isinstance(found, Receipt)
    rig.server.faults.plan("chat.update", Answer(200, "msg_too_long"), times=2)
    await send(rig, Edit(here, ref, text, text), key=OutboxId("e" * 24))
    now = [rig.server.shown(ROOM, ts_of(ref)), rig.server.texts(ROOM, root)[-1]]
    assert " ".join(now).replace("\n", " ") == text


@pytest.mark.case(9)
async def test_case_09_a_part_that_arrived_alone_is_not_taken_for_the_whole(rig: Rig) -> None:
    await rig.start()
    rig.server.faults.plan("chat.postMessage", Answer(200, "msg_too_long"))
    rig.server.faults.plan("chat.postMessage")
    rig.server.faults.plan("chat.postMessage", Answer(429, retry_after=3))
    with pytest.raises(UncertainError):
        await send(rig, words(path(), "one two three four"))
    rig.clock.advance(timedelta(seconds=5))
    assert isinstance(await rig.channel.find(words(path()), KEY, rig.clock.now()), CannotTell)


@pytest.mark.case(11)
async def test_case_11_sixty_tables_arrive_in_order(rig: Rig) -> None:
    await rig.start()
    tables = "\n\n".join(f"Table {n}\n\n| a | b |\n|---|---|\n| {n} | x |" for n in range(60))
    for op in rig.channel.plan(Reply(path(root="1.000001"), tables)):
        await send(rig, op)
    assert all(len(delivery.body["blocks"]) <= 50 for delivery in rig.server.deliveries)
    shown = "\n".join(rig.server.texts(ROOM))
    assert [n for n in range(60) if f"Table {n}\n" in shown] == list(range(60))
    assert {delivery.body["thread_ts"] for delivery in rig.server.deliveries} == {"1.000001"}


async def test_a_question_and_its_answer(rig: Rig) -> None:
    await rig.start()
    choices = (Choice("tok-yes", "Yes"), Choice("tok-no", "No"))
    ref = await sent_ref(rig, Ask(path(), "*Shall* I?", "Shall I?", choices))
    (delivery,) = rig.server.deliveries
    assert delivery.body["shown"] == "*Shall* I?"
    assert [e["value"] for e in delivery.body["blocks"][1]["elements"]] == ["tok-yes", "tok-no"]
    assert rig.channel.has_buttons
    assert isinstance(await rig.channel.find(Ask(path(), "", "", choices), KEY, rig.clock.now()), Receipt)
    rig.server.press(ROOM, ANN, ts_of(ref), "tok-yes")
    await rig.inbox.wait(1)
    rig.server.faults.plan("chat.postMessage", Answer(200, "invalid_blocks"))
    with pytest.raises(PermanentError):
        await send(rig, Ask(path(), "x", "x", choices))


async def test_edits_deletes_and_reactions(rig: Rig) -> None:
    await rig.start()
    ref = await sent_ref(rig, words(path()))
    assert (await send(rig, Edit(path(), ref, "*b*", "b"))).ref == ref
    assert rig.server.shown(ROOM, ts_of(ref)) == "*b*"
    assert (await send(rig, Edit(path(), ref, "*b*", "b"))).ref == ref, "the same again is success"
    for emoji, count in (("👀", 1), ("👀", 1), ("", 1), ("", 1), (":tada:", 2)):
        await send(rig, React(path(), ref, emoji))
        assert rig.server.effects.count("reactions.add") == count
    assert rig.server.effects.count("reactions.remove") == 1
    assert (await send(rig, OpenThread(path(), "title", None))).ref is None
    assert await rig.channel.erase(path(), ref) is True
    assert await rig.channel.erase(path(), ref) is True, "gone is gone"
    await send(rig, Delete(path(), ref))
    with pytest.raises(TargetGoneError):
        await send(rig, Edit(path(), ref, "too late", "too late"))
    others = rig.server.world.message(ROOM, ANN, "mine", tell=False)
    assert await rig.channel.erase(path(), f"slack:{TEAM}:{ROOM}:{others['ts']}") is False


async def test_a_person_is_reached_alone(rig: Rig) -> None:
    with pytest.raises(NotReadyError):
        await rig.channel.direct(ANN)
    await rig.start()
    where = await rig.channel.direct(ANN)
    assert where == ReplyPath(f"slack:{TEAM}:D0{ANN[2:]}", ANN)
    assert await rig.channel.direct(ANN) == where
    assert rig.server.requests.count("conversations.open") == 1
    await send(rig, words(where))
    assert rig.server.texts(f"D0{ANN[2:]}") == ["hello"]
    with pytest.raises(PermanentError):
        await rig.channel.direct("U0NOBODY01")


async def test_files_go_out_by_upload_and_are_found_by_name(rig: Rig) -> None:
    await rig.start()
    root = rig.server.world.message(ROOM, ANN, "?")["ts"]
    file = OutFile("report.md", "text/markdown", rig.bench.files.add(b"# Report"))
    (op,) = rig.channel.plan(Reply(path(root=root), "", (file,)))
    tried_at = rig.clock.now()
    rig.server.faults.plan("upload", CutBefore())
    with pytest.raises(TransientError) as caught:
        await send(rig, op)
    assert not isinstance(caught.value, UncertainError), "nobody saw anything yet"
    with pytest.raises(TransientError, match="too early"):
        await rig.channel.find(op, KEY, tried_at)
    rig.clock.advance(timedelta(seconds=20))
    assert isinstance(await rig.channel.find(op, KEY, tried_at), NotSent)
    tried_at = rig.clock.now()
    rig.server.faults.plan("files.completeUploadExternal", CutAfter())
    with pytest.raises(UncertainError):
        await send(rig, op)
    (delivery,) = rig.server.deliveries
    assert (delivery.body["files"], delivery.body["thread_ts"]) == (["report.md"], root)
    found = await rig.channel.find(op, KEY, tried_at)
    assert isinstance(found, Receipt)
    assert found.ref == f"slack:{TEAM}:{ROOM}:{delivery.body['ts']}"
    assert (await send(rig, op, again=True)).ref is None
    assert rig.server.texts(ROOM)[-1] == "↻ This may have reached you already."
