"""The Bot API stand-in, driven through python-telegram-bot."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator

import pytest
from telegram import (
    Bot,
    BotCommand,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    LinkPreviewOptions,
    ReactionTypeEmoji,
    ReplyParameters,
)
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Forbidden,
    NetworkError,
    RetryAfter,
    TimedOut,
)
from telegram.request import HTTPXRequest

from tests.fakes.faults import Answer, CutAfter, CutBefore, Delay
from tests.fakes.telegram import FakeTelegram
from tests.fakes.test_anthropic_rules import picture

ANN, BEN = 11, 12
GROUP, FORUM, BASIC, CHANNEL = -1001, -1002, -50, -1003


def bot_of(server: FakeTelegram, token: str | None = None) -> Bot:
    return Bot(
        token or server.token,
        base_url=server.base_url,
        base_file_url=server.base_file_url,
        request=HTTPXRequest(connection_pool_size=8),
    )


@pytest.fixture
async def server() -> AsyncIterator[FakeTelegram]:
    async with FakeTelegram() as running:
        world = running.world
        world.add_user(ANN, "Ann", "ann")
        world.add_chat(GROUP, "supergroup", "Team", members=(ANN, BEN))
        world.add_chat(FORUM, "supergroup", "Forum", is_forum=True)
        world.add_chat(BASIC, "group", "Small", members=(ANN,))
        world.add_chat(CHANNEL, "channel", "News")
        world.chat(ANN)
        yield running


@pytest.fixture
async def bot(server: FakeTelegram) -> AsyncIterator[Bot]:
    async with bot_of(server) as running:
        yield running


# Sending.


async def test_what_is_sent_is_delivered_once_with_all_its_parts(server: FakeTelegram, bot: Bot) -> None:
    asked = server.world.message(GROUP, ANN, "hi")["message"]["message_id"]
    keyboard = InlineKeyboardMarkup([[InlineKeyboardButton("Yes", callback_data="y")]])
    sent = await bot.send_message(
        GROUP,
        '<b>Bold &amp; <i>both</i></b> <a href="https://example.com/?a=1&amp;b=2">link</a>\n',
        parse_mode="HTML",
        link_preview_options=LinkPreviewOptions(is_disabled=True),
        reply_parameters=ReplyParameters(asked, allow_sending_without_reply=True),
        reply_markup=keyboard,
    )
    (delivery,) = server.deliveries
    assert server.texts(GROUP) == ["Bold & both link"]
    assert delivery.body["message_id"] == sent.message_id
    assert delivery.body["reply_to_message_id"] == asked
    assert delivery.body["params"]["link_preview_options"] == {"is_disabled": True}
    assert [(one["type"], one["offset"], one["length"]) for one in delivery.body["entities"]] == [
        ("bold", 0, 11),
        ("italic", 7, 4),
        ("text_link", 12, 4),
    ]
    assert sent.entities[2].url == "https://example.com/?a=1&b=2"
    assert sent.reply_markup == keyboard


async def test_length_is_counted_in_utf16_after_parsing(server: FakeTelegram, bot: Bot) -> None:
    await bot.send_message(ANN, "<b>" + "😀" * 2048 + "</b>", parse_mode="HTML")
    for text in ("😀" * 2049, "a" * 4097):
        with pytest.raises(BadRequest, match="Message is too long"):
            await bot.send_message(ANN, text)
    for text, words in (("", "Message text is empty"), (" \n", "Text must be non-empty")):
        with pytest.raises(BadRequest, match=words):
            await bot.send_message(ANN, text)
    assert server.deliveries.count() == 1


async def test_where_a_message_may_not_go(server: FakeTelegram, bot: Bot) -> None:
    world = server.world
    with pytest.raises(BadRequest, match="Chat not found"):
        await bot.send_message(999, "x")
    world.block(ANN)
    with pytest.raises(Forbidden, match="bot was blocked by the user"):
        await bot.send_message(ANN, "x")
    world.my_chat_member(GROUP, "kicked", ANN)
    with pytest.raises(Forbidden, match="bot was kicked from the supergroup chat"):
        await bot.send_message(GROUP, "x")
    world.migrate(BASIC, -1009)
    with pytest.raises(ChatMigrated) as caught:
        await bot.send_message(BASIC, "x")
    assert caught.value.new_chat_id == -1009
    await bot.send_message(-1009, "moved")
    assert server.texts(-1009) == ["moved"]
    world.my_chat_member(ANN, "member", ANN)
    await bot.send_message(ANN, "back")


@pytest.mark.parametrize("thread", [1, 77])
async def test_a_thread_must_be_a_topic_and_not_general(bot: Bot, server: FakeTelegram, thread: int) -> None:
    for chat in (FORUM, GROUP):
        with pytest.raises(BadRequest, match="Message thread not found"):
            await bot.send_message(chat, "x", message_thread_id=thread)
    topic = await bot.create_forum_topic(FORUM, "Plans")
    sent = await bot.send_message(FORUM, "x", message_thread_id=topic.message_thread_id)
    assert (sent.message_thread_id, sent.is_topic_message) == (topic.message_thread_id, True)
    server.world.chats[FORUM].closed_topics.add(topic.message_thread_id)
    with pytest.raises(BadRequest, match=r"(?i)topic_closed"):
        await bot.send_message(FORUM, "x", message_thread_id=topic.message_thread_id)
    with pytest.raises(BadRequest, match="not a forum"):
        await bot.create_forum_topic(GROUP, "Plans")


async def test_a_deleted_reply_target(server: FakeTelegram, bot: Bot) -> None:
    gone = server.world.private_message(ANN, "hi")["message"]["message_id"]
    server.world.delete_message(ANN, gone)
    with pytest.raises(BadRequest, match="Message to be replied not found"):
        await bot.send_message(ANN, "x", reply_parameters=ReplyParameters(gone))
    await bot.send_message(ANN, "x", reply_parameters=ReplyParameters(gone, allow_sending_without_reply=True))
    topic = server.world.add_topic(FORUM, "Plans")
    lenient = ReplyParameters(gone, allow_sending_without_reply=True)
    with pytest.raises(BadRequest, match="Message to be replied not found"):
        await bot.send_message(FORUM, "x", message_thread_id=topic, reply_parameters=lenient)
    elsewhere = ReplyParameters(gone, chat_id=ANN, allow_sending_without_reply=True)
    with pytest.raises(BadRequest, match="Message to be replied not found"):
        await bot.send_message(GROUP, "x", reply_parameters=elsewhere)
    assert [one.body["reply_to_message_id"] for one in server.deliveries] == [None]


async def test_drafts_are_previews_of_private_chats_only(server: FakeTelegram, bot: Bot) -> None:
    await bot.send_message_draft(ANN, 5)
    await bot.send_message_draft(ANN, 5, "<i>thin", parse_mode=None)
    await bot.send_message_draft(ANN, 5, "<i>thinking</i>", parse_mode="HTML")
    assert server.world.chats[ANN].drafts == {(None, 5): "thinking"}
    for chat, draft, words in ((GROUP, 5, "(?i)textdraft_peer_invalid"), (ANN, 0, "draft_id")):
        with pytest.raises(BadRequest, match=words):
            await bot.send_message_draft(chat, draft, "x")
    with pytest.raises(BadRequest, match="too long"):
        await bot.send_message_draft(ANN, 5, "x" * 4097)
    assert not len(server.deliveries)
    await bot.send_message(ANN, "thought")
    assert server.world.chats[ANN].drafts == {}
    assert server.effects.count("sendMessageDraft") == 3


async def test_edits_and_deletions(server: FakeTelegram, bot: Bot) -> None:
    sent = await bot.send_message(ANN, "a")
    await bot.edit_message_text("b", ANN, sent.message_id)
    with pytest.raises(BadRequest, match="Message is not modified"):
        await bot.edit_message_text("b", ANN, sent.message_id)
    with pytest.raises(BadRequest, match="Message to edit not found"):
        await bot.edit_message_text("b", ANN, 999)
    theirs = server.world.message(GROUP, ANN, "hi")["message"]["message_id"]
    with pytest.raises(BadRequest, match="Message can't be edited"):
        await bot.edit_message_text("b", GROUP, theirs)
    with pytest.raises(BadRequest, match="Message can't be deleted"):
        await bot.delete_message(GROUP, theirs)
    await bot.delete_message(ANN, sent.message_id)
    with pytest.raises(BadRequest, match="Message to delete not found"):
        await bot.delete_message(ANN, sent.message_id)
    assert [one.endpoint for one in server.effects] == ["editMessageText", "deleteMessage"]


async def test_files_out(server: FakeTelegram, bot: Bot) -> None:
    content = b"line\r\n--half\r\n\x00\xff" * 3
    sent = await bot.send_document(ANN, content, filename="Bericht ü.txt", caption="<b>here</b>", parse_mode="HTML")
    assert sent.document is not None
    assert server.world.files[sent.document.file_id].data == content
    assert sent.document.file_name == "Bericht ü.txt"
    assert server.texts(ANN) == ["here"]
    photo = await bot.send_photo(ANN, base64.b64decode(picture("PNG", side=30)))
    assert (photo.photo[0].width, photo.photo[0].height) == (30, 4)
    with pytest.raises(BadRequest, match=r"(?i)caption is too long"):
        await bot.send_document(ANN, content, caption="x" * 1025)
    with pytest.raises(BadRequest, match=r"(?i)image_process_failed"):
        await bot.send_photo(ANN, b"no image")
    assert server.deliveries.count("sendDocument") == server.deliveries.count("sendPhoto") == 1


async def test_files_in_and_the_20_mb_limit(server: FakeTelegram, bot: Bot) -> None:
    small = server.world.add_file(b"%PDF", "a.pdf", "application/pdf")
    large = server.world.add_file(b"", "b.zip", size=25_000_000)
    file = await bot.get_file(small)
    assert bytes(await file.download_as_bytearray()) == b"%PDF"
    with pytest.raises(BadRequest, match="File is too big"):
        await bot.get_file(large)
    with pytest.raises(BadRequest, match=r"(?i)wrong file_id"):
        await bot.get_file("nope")
    assert server.requests.count("file") == 1


async def test_the_small_methods(server: FakeTelegram, bot: Bot) -> None:
    number = server.world.message(GROUP, ANN, "hi")["message"]["message_id"]
    press = server.world.callback_query(GROUP, number, ANN, "x")["callback_query"]["id"]
    assert (await bot.get_chat(GROUP)).title == "Team"
    assert await bot.get_chat_member_count(GROUP) == 3
    assert (await bot.get_chat_member(GROUP, ANN)).status == "member"
    assert (await bot.get_chat_member(GROUP, 7000001)).status == "member"
    assert (await bot.get_chat_member(BASIC, 1087968824)).status == "left"
    assert await bot.send_chat_action(GROUP, "typing")
    with pytest.raises(BadRequest, match=r"(?i)wrong parameter action"):
        await bot.send_chat_action(GROUP, "dancing")
    assert await bot.set_message_reaction(GROUP, number, ReactionTypeEmoji("👍"))
    assert await bot.answer_callback_query(press)
    with pytest.raises(BadRequest, match="Query is too old"):
        await bot.answer_callback_query(press)
    assert await bot.set_my_commands([BotCommand("help", "what can be said")])
    assert [one.command for one in await bot.get_my_commands()] == ["help"]
    with pytest.raises(BadRequest, match=r"(?i)bot_command_invalid"):
        await bot.set_my_commands([BotCommand("Bad!", "x")])
    assert await bot.leave_chat(GROUP)
    with pytest.raises(Forbidden, match="not a member"):
        await bot.send_message(GROUP, "x")
    assert await bot.close()
    assert await bot.log_out()


# Faults.


async def test_faults_before_and_after_the_effect(
    server: FakeTelegram, bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PTB_TIMEDELTA", "true")  # else the library warns about itself while it raises RetryAfter
    server.faults.plan("sendMessage", CutBefore())
    server.faults.plan("sendMessage", CutAfter())
    server.faults.plan("sendMessage", Answer(429, retry_after=33))
    server.faults.plan("sendMessage", Answer(502))
    server.faults.plan("sendMessage", Answer(403, "Forbidden: user is deactivated"))
    for text, expected in (
        ("a", NetworkError),
        ("b", NetworkError),
        ("c", RetryAfter),
        ("d", NetworkError),
        ("e", Forbidden),
    ):
        with pytest.raises(expected):
            await bot.send_message(ANN, text)
    await bot.send_message(ANN, "f")
    assert server.texts(ANN) == ["b", "f"]
    assert server.requests.count("sendMessage") == 6


async def test_a_send_held_after_its_effect_times_out_but_arrived(server: FakeTelegram, bot: Bot) -> None:
    server.faults.plan("sendMessage", Delay(gate="sent", when="after"))
    with pytest.raises(TimedOut):
        await bot.send_message(ANN, "once", read_timeout=0.2)
    assert server.faults.gate("sent").reached.is_set()
    assert server.texts(ANN) == ["once"]


async def test_raw_bytes_are_kept(server: FakeTelegram, bot: Bot) -> None:
    await bot.send_message(ANN, "grüße")
    (request,) = server.requests.of("sendMessage")
    assert b"gr%C3%BC%C3%9Fe" in request.raw
    assert request.body["text"] == "grüße"
    assert json.loads(json.dumps(request.to_json()))["endpoint"] == "sendMessage"
