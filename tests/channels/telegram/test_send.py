"""Sending through the real library against the stand-in."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bot.gateway.channel import NotReadyError
from bot.gateway.events import Attachment, Change, MembershipChanged, ReplyPath
from bot.gateway.operations import (
    Ask,
    CannotTell,
    Choice,
    Delete,
    Edit,
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
from tests.channels.support import START
from tests.channels.telegram.conftest import ANN, BASIC, BEN, FORUM, GROUP, Rig
from tests.fakes.faults import Answer, CutAfter, CutBefore

KEY = OutboxId("k" * 24)


def path(chat: int, topic: int | None = None, answers: int | None = None) -> ReplyPath:
    thread = f"telegram:{chat}" if topic is None else f"telegram:{chat}:{topic}"
    return ReplyPath(thread, "11", f"telegram:{chat}:{answers}" if answers else None)


def words(where: ReplyPath, text: str = "hello", plain: str = "") -> Send:
    return Send(where, text, plain or text)


async def send(rig: Rig, op: OutboundOp, again: bool = False) -> Receipt:
    return await rig.channel.send(op, KEY, again)


def calls(rig: Rig, method: str = "sendMessage") -> list[dict[str, Any]]:
    return [call.body for call in rig.server.requests.of(method)]


async def test_a_reply_is_sent_as_html_without_previews_and_answers_the_asker(rig: Rig) -> None:
    await rig.start()
    asked = rig.server.world.private_message(ANN, "?")["message"]["message_id"]
    (op,) = rig.channel.plan(Reply(path(ANN, answers=asked), "**yes**, see https://a.example"))
    receipt = await send(rig, op)
    (delivery,) = rig.server.deliveries
    assert receipt == Receipt(f"telegram:{ANN}:{delivery.body['message_id']}", START)
    assert (delivery.body["text"], delivery.body["reply_to_message_id"]) == ("yes, see https://a.example", asked)
    assert delivery.body["entities"][0]["type"] == "bold"
    (call,) = calls(rig)
    assert call["link_preview_options"]["is_disabled"] is True
    assert "disable_notification" not in call


@pytest.mark.case(146)
async def test_case_146_before_the_channel_is_connected_nothing_is_tried(rig: Rig) -> None:
    with pytest.raises(NotReadyError):
        await send(rig, words(path(ANN)))
    assert not rig.server.requests
    await rig.start()
    await send(rig, words(path(ANN)))
    assert rig.server.texts(ANN) == ["hello"]


@pytest.mark.case(26)
async def test_case_26_a_thread_id_is_sent_only_for_topics(rig: Rig) -> None:
    await rig.start()
    await send(rig, words(path(FORUM, 77)))
    await send(rig, words(path(FORUM)))
    assert [call.get("message_thread_id") for call in calls(rig)] == ["77", None]


@pytest.mark.case(27)
async def test_case_27_without_the_thread_the_answer_stays_in_the_same_chat(rig: Rig) -> None:
    await rig.start()
    await send(rig, words(path(FORUM, 99)))
    await send(rig, words(path(FORUM, 98, answers=12345)))
    assert [(d.body["chat_id"], d.body["message_thread_id"]) for d in rig.server.deliveries] == [(FORUM, None)] * 2
    assert {call["chat_id"] for call in calls(rig)} == {str(FORUM)}, "nobody is written to directly"


@pytest.mark.case(27)
async def test_case_27_a_refusal_that_is_not_about_the_thread_changes_nothing(rig: Rig) -> None:
    await rig.start()
    rig.server.faults.plan("sendMessage", Answer(400, "Bad Request: not enough rights to send text messages"))
    with pytest.raises(PermanentError, match="rights"):
        await send(rig, words(path(FORUM, 77)))
    assert rig.server.requests.count("sendMessage") == 1


@pytest.mark.case(28)
@pytest.mark.parametrize("where", [path(ANN, answers=4444), path(FORUM, 77, answers=4444), path(GROUP, answers=4444)])
async def test_case_28_a_deleted_question_does_not_lose_the_answer(rig: Rig, where: ReplyPath) -> None:
    await rig.start()
    await send(rig, words(where))
    (delivery,) = rig.server.deliveries
    assert (delivery.body["text"], delivery.body["reply_to_message_id"]) == ("hello", None)
    assert "allow_sending_without_reply" in str(calls(rig)[0]["reply_parameters"])


@pytest.mark.case(8)
async def test_case_08_only_on_a_parse_error_that_part_goes_out_plain(rig: Rig) -> None:
    await rig.start()
    await send(rig, words(path(ANN), "<b>torn", "torn"))
    await send(rig, words(path(ANN), "<b>whole</b>", "whole"))
    assert rig.server.texts(ANN) == ["torn", "whole"]
    assert [call.get("parse_mode") for call in calls(rig)] == ["HTML", None, "HTML"]
    rig.server.faults.plan("sendMessage", Answer(400, "Bad Request: chat not found"))
    with pytest.raises(PermanentError):
        await send(rig, words(path(ANN)))
    assert rig.server.requests.count("sendMessage") == 4


@pytest.mark.case(38)
async def test_case_38_not_modified_is_success(rig: Rig) -> None:
    await rig.start()
    receipt = await send(rig, words(path(ANN), "first"))
    assert receipt.ref is not None
    edit = Edit(path(ANN), receipt.ref, "<b>second</b>", "second")
    assert (await send(rig, edit)).ref == receipt.ref
    assert (await send(rig, edit)).ref == receipt.ref
    assert rig.server.requests.count("editMessageText") == 2
    torn = Edit(path(ANN), receipt.ref, "<b>third", "third")
    await send(rig, torn)
    assert rig.server.effects.of("editMessageText")[-1].body["text"] == "third"
    assert all("is_disabled" in str(call["link_preview_options"]) for call in calls(rig, "editMessageText"))


@pytest.mark.case(44)
async def test_case_44_a_block_is_permanent_and_told(rig: Rig) -> None:
    await rig.start()
    rig.server.world.chat(BEN).bot_status = "kicked"
    with pytest.raises(PermanentError, match="blocked"):
        await send(rig, words(path(BEN)))
    await send(rig, words(path(ANN)))
    (event,) = await rig.inbox.wait(1)
    assert isinstance(event, MembershipChanged)
    assert (event.change, event.place_key, event.who and event.who.address) == (
        Change.BLOCKED,
        f"telegram:{BEN}",
        str(BEN),
    )
    rig.server.world.chat(GROUP).bot_status = "kicked"
    with pytest.raises(PermanentError):
        await rig.channel.send(words(path(GROUP)), OutboxId("g" * 24), False)
    removed = (await rig.inbox.wait(2))[1]
    assert isinstance(removed, MembershipChanged)
    assert (removed.change, removed.who) == (Change.REMOVED, None)


async def test_a_group_that_moved_is_found_under_its_new_id(rig: Rig) -> None:
    rig.server.world.migrate(BASIC, -1050)
    rig.server._pending.clear()
    await rig.start()
    receipt = await send(rig, words(path(BASIC, answers=1)))
    assert receipt.ref is not None
    assert receipt.ref.startswith("telegram:-1050:")
    (event,) = await rig.inbox.wait(1)
    assert isinstance(event, MembershipChanged)
    assert (event.change, event.moved_to) == (Change.MOVED, "telegram:-1050")
    await send(rig, words(path(BASIC), "again"))
    assert rig.server.texts(-1050) == ["hello", "again"]
    assert rig.server.requests.count("sendMessage") == 3, "the new id is remembered"


@pytest.mark.case(37)
async def test_case_37_a_pause_is_passed_on_and_nothing_is_retried(rig: Rig) -> None:
    await rig.start()
    rig.server.faults.plan("sendMessage", Answer(429, retry_after=33))
    with pytest.raises(TransientError) as caught:
        await send(rig, words(path(ANN)))
    assert not isinstance(caught.value, UncertainError)
    assert caught.value.retry_after == timedelta(seconds=33)
    assert rig.server.requests.count("sendMessage") == 1


@pytest.mark.case(143)
async def test_case_143_a_cut_after_the_request_is_uncertain_and_never_repeated_here(rig: Rig) -> None:
    await rig.start()
    for fault in (CutAfter(), CutBefore(), Answer(504)):
        rig.server.faults.plan("sendMessage", fault)
        with pytest.raises(UncertainError):
            await send(rig, words(path(ANN)))
    assert rig.server.requests.count("sendMessage") == 3
    assert isinstance(await rig.channel.find(words(path(ANN)), KEY, START), CannotTell)
    await send(rig, words(path(ANN), "<b>x</b>", "x"), again=True)
    assert rig.server.texts(ANN)[-1] == "↻ This may have reached you already.\nx"


async def test_a_server_that_says_it_failed_did_not_send(rig: Rig) -> None:
    await rig.start()
    for status in (500, 502, 503):
        rig.server.faults.plan("sendMessage", Answer(status))
        with pytest.raises(TransientError) as caught:
            await send(rig, words(path(ANN)))
        assert not isinstance(caught.value, UncertainError)
    rig.server.faults.plan("sendMessage", Answer(500, "Internal Server Error: request aborted"))
    with pytest.raises(UncertainError):
        await send(rig, words(path(ANN)))


async def test_no_connection_means_nothing_was_tried(rig: Rig) -> None:
    await rig.start()
    await rig.server.down()
    await rig.channel._client._request[1].shutdown()  # type: ignore[attr-defined]
    await rig.channel._client._request[1].initialize()  # type: ignore[attr-defined]
    with pytest.raises(NotReadyError):
        await send(rig, words(path(ANN)))
    await rig.server.up()


@pytest.mark.case(12)
async def test_case_12_files_go_out_as_documents_with_captions_that_fit(rig: Rig) -> None:
    await rig.start()
    blob = rig.bench.files.add(b"# long text")
    file = OutFile("notes.md", "text/markdown", blob)
    for text in ("short **caption**", "w" * 1500):
        for op in rig.channel.plan(Reply(path(ANN), text, (file,))):
            await send(rig, op)
    assert rig.server.texts(ANN)[:2] == ["short caption", "w" * 1500]
    assert [one.endpoint for one in rig.server.deliveries] == ["sendDocument", "sendMessage", "sendDocument"]
    assert "caption" not in calls(rig, "sendDocument")[1]
    stored = [f for f in rig.server.world.files.values() if f.name == "notes.md"]
    assert [f.data for f in stored] == [b"# long text"] * 2
    missing = OutFile("x", "text/plain", rig.bench.files.add(b""))
    rig.bench.files.blobs.clear()
    with pytest.raises(PermanentError):
        await send(rig, Send(path(ANN), "", "", (missing,)))


@pytest.mark.case(1, 6)
async def test_case_01_and_06_a_long_answer_arrives_whole_and_in_order(rig: Rig) -> None:
    await rig.start()
    source = "😀" * 3000 + "\n\n" + "**bold words here** " * 400
    ops = rig.channel.plan(Reply(path(ANN), source))
    for op in ops:
        await send(rig, op)
    arrived = "".join("".join(text.split()) for text in rig.server.texts(ANN))
    assert arrived == "".join(source.replace("*", "").split())
    assert len(rig.server.texts(ANN)) == len(ops)


async def test_ask_shows_buttons_and_a_press_is_answered(rig: Rig) -> None:
    await rig.start()
    choices = tuple(Choice(f"t{n}", f"Choice {n}") for n in range(3))
    receipt = await send(rig, Ask(path(ANN), "<b>Sure?</b>", "Sure?", choices))
    (call,) = calls(rig)
    keyboard = call["reply_markup"]["inline_keyboard"]
    assert [[button["callback_data"] for button in row] for row in keyboard] == [["t0", "t1"], ["t2"]]
    assert receipt.ref is not None
    query = rig.server.world.callback_query(ANN, int(receipt.ref.rpartition(":")[2]), ANN, "t1")
    await rig.channel.respond(query["callback_query"]["id"], "noted " * 100)
    await rig.channel.respond("too-old", "late")


async def test_delete_react_open_and_erase(rig: Rig) -> None:
    await rig.start()
    receipt = await send(rig, words(path(ANN)))
    assert receipt.ref is not None
    await send(rig, React(path(ANN), receipt.ref, "👍"))
    await send(rig, React(path(ANN), receipt.ref, ""))
    assert [e.body["reaction"] for e in rig.server.effects.of("setMessageReaction")][-1] == []
    await send(rig, Delete(path(ANN), receipt.ref))
    await send(rig, Delete(path(ANN), receipt.ref))
    assert (await send(rig, OpenThread(path(FORUM, 77), "Plans", None))).ref is None
    second = await send(rig, words(path(ANN)))
    assert second.ref is not None
    assert await rig.channel.erase(path(ANN), second.ref) is True
    assert await rig.channel.erase(path(ANN), second.ref) is False


async def test_fetch_stores_the_bytes_within_the_limit(rig: Rig) -> None:
    await rig.start()
    source = rig.server.world.add_file(b"content", "a.txt", "text/plain")
    blob = await rig.channel.fetch(Attachment("a.txt", "text/plain", 7, source=source))
    assert rig.bench.files.blobs[blob] == b"content"
    big = rig.server.world.add_file(b"x", "b.bin", size=25_000_000)
    with pytest.raises(PermanentError):
        await rig.channel.fetch(Attachment("b.bin", "x/y", None, source=big))
    with pytest.raises(PermanentError, match="too large"):
        await rig.channel.fetch(Attachment("b.bin", "x/y", 25_000_000, fault="too large: 25 MB"))
    rig.server.faults.plan("getFile", CutBefore())
    with pytest.raises(TransientError) as caught:
        await rig.channel.fetch(Attachment("a.txt", "text/plain", 7, source=source))
    assert not isinstance(caught.value, UncertainError), "reading changes nothing"
    rig.server.faults.plan("file", Answer(502))
    with pytest.raises(TransientError):
        await rig.channel.fetch(Attachment("a.txt", "text/plain", 7, source=source))


TURN = TurnId("t" * 24)


async def test_drafts_in_private_chats_and_typing_elsewhere(rig: Rig) -> None:
    await rig.channel.draft(path(ANN), TURN, None)
    await rig.start()
    await rig.channel.draft(path(ANN), TURN, None)
    await rig.channel.draft(path(ANN), TURN, "**Hel")
    await rig.channel.draft(path(ANN), TURN, "**Hello** you")
    await rig.channel.draft(path(ANN), TURN, "**Hello** you")
    await rig.channel.draft(path(FORUM, 77), TURN, "not shown")
    await rig.channel.draft(path(FORUM, 77), TURN, "not shown either")
    drafts = [e.body for e in rig.server.effects.of("sendMessageDraft")]
    assert [draft["text"] for draft in drafts] == ["**Hel", "Hello you"]
    assert len({draft["draft_id"] for draft in drafts}) == 1
    assert [(e.body["chat_id"], e.body["thread"]) for e in rig.server.effects.of("sendChatAction")] == [
        (ANN, None),
        (FORUM, 77),
    ]
    rig.clock.advance(timedelta(seconds=5))
    await rig.channel.draft(path(FORUM, 77), TURN, "still going")
    assert rig.server.requests.count("sendChatAction") == 3


@pytest.mark.case(37)
async def test_case_37_a_pause_holds_drafts_in_that_chat_and_never_the_final_text(rig: Rig) -> None:
    await rig.start()
    rig.server.faults.plan("sendMessageDraft", Answer(429, retry_after=33))
    for n in range(5):
        await rig.channel.draft(path(ANN), TURN, f"text {n}")
        await rig.channel.draft(path(ANN), TURN, None)
    assert rig.server.requests.count("sendMessageDraft") == 1
    await rig.channel.draft(path(BEN), TURN, "other chat")
    await send(rig, words(path(ANN), "final"))
    assert rig.server.texts(ANN) == ["final"]
    rig.clock.advance(timedelta(seconds=34))
    await rig.channel.draft(path(ANN), TurnId("u" * 24), "newest")
    assert [e.body["text"] for e in rig.server.effects.of("sendMessageDraft")] == ["other chat", "newest"]


@pytest.mark.case(37)
async def test_case_37_a_pause_of_a_send_holds_drafts_too(rig: Rig) -> None:
    await rig.start()
    rig.server.faults.plan("sendMessage", Answer(429, retry_after=5))
    with pytest.raises(TransientError):
        await send(rig, words(path(ANN)))
    await rig.channel.draft(path(ANN), TURN, "held")
    assert rig.server.requests.count("sendMessageDraft") == 0


@pytest.mark.case(13)
async def test_case_13_a_full_draft_is_frozen(rig: Rig) -> None:
    await rig.start()
    for size in (500, 4000, 4500, 5000, 9000):
        await rig.channel.draft(path(ANN), TURN, "word " * (size // 5))
    drafts = [str(e.body["text"]) for e in rig.server.effects.of("sendMessageDraft")]
    assert len(drafts) == 3
    assert all(len(draft) <= 4096 for draft in drafts)


async def test_a_draft_never_raises_for_the_platform(rig: Rig) -> None:
    await rig.start()
    for fault in (Answer(400), Answer(403), Answer(500), CutBefore()):
        rig.server.faults.plan("sendMessageDraft", fault)
        await rig.channel.draft(path(ANN), TURN, f"text {fault}")
    assert rig.server.requests.count("sendMessageDraft") == 4


@pytest.mark.case(145)
async def test_case_145_close_lets_go_of_all_connections(rig: Rig) -> None:
    await rig.start()
    await send(rig, words(path(ANN)))
    await rig.stop()
    assert all(pool._client.is_closed for pool in rig.channel._client._request)  # type: ignore[attr-defined]
