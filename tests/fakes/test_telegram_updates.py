"""Updates of the Bot API stand-in, by long poll and by webhook, through python-telegram-bot."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from telegram import Bot, Update
from telegram.error import BadRequest, Conflict, InvalidToken

from tests.fakes.faults import Twice
from tests.fakes.telegram import FakeTelegram
from tests.fakes.test_telegram_fake import ANN, BASIC, BEN, CHANNEL, FORUM, GROUP, bot, bot_of, server

__all__ = ["bot", "server"]  # fixtures


async def fetch(bot: Bot, offset: int | None = None, **more: Any) -> tuple[Update, ...]:
    return await bot.get_updates(offset=offset, timeout=0, **more)


async def test_who_it_is_and_a_wrong_token(server: FakeTelegram, bot: Bot) -> None:
    me = await bot.get_me()
    assert (me.username, me.is_bot, me.id) == ("exec_bot", True, 7000001)
    other = bot_of(server, "1:wrong")
    with pytest.raises(InvalidToken):
        await other.initialize()
    await other.shutdown()


async def test_unconfirmed_updates_come_again_and_confirmed_ones_never(server: FakeTelegram, bot: Bot) -> None:
    for text in ("one", "two", "three"):
        server.world.private_message(ANN, text)
    first = await fetch(bot, limit=2)
    again = await fetch(bot)
    assert [update.message.text for update in first if update.message] == ["one", "two"]
    assert [update.message.text for update in again if update.message] == ["one", "two", "three"]
    rest = await fetch(bot, offset=again[1].update_id + 1)
    assert [update.message.text for update in rest if update.message] == ["three"]
    assert len(server.pending) == 1
    assert not await fetch(bot, offset=rest[0].update_id + 1)
    assert not await fetch(bot)


async def test_a_negative_offset_forgets_all_but_the_last(server: FakeTelegram, bot: Bot) -> None:
    for text in ("one", "two", "three"):
        server.world.private_message(ANN, text)
    (last,) = await fetch(bot, offset=-1)
    assert last.message is not None
    assert last.message.text == "three"


async def test_a_long_poll_wakes_when_something_comes(server: FakeTelegram, bot: Bot) -> None:
    async with asyncio.TaskGroup() as group:
        poll = group.create_task(bot.get_updates(timeout=20))
        await server.requests.wait(1, "getUpdates")
        server.world.private_message(ANN, "hello")
    (update,) = poll.result()
    assert update.message is not None
    assert update.message.text == "hello"


async def test_a_second_poll_ends_the_first_with_409(server: FakeTelegram, bot: Bot) -> None:
    async def first() -> None:
        with pytest.raises(Conflict, match="terminated by other getUpdates"):
            await bot.get_updates(timeout=20)

    async with asyncio.TaskGroup() as group:
        group.create_task(first())
        await server.requests.wait(1, "getUpdates")
        async with bot_of(server) as other:
            assert await fetch(other) == ()


async def test_allowed_updates_drop_what_comes_later(server: FakeTelegram, bot: Bot) -> None:
    server.world.channel_post(CHANNEL, "before")
    await fetch(bot, allowed_updates=["message"])
    server.world.channel_post(CHANNEL, "after")
    server.world.private_message(ANN, "wanted")
    kinds = [update.channel_post or update.message for update in await fetch(bot)]
    assert [message.text for message in kinds if message] == ["before", "wanted"]


async def test_an_update_can_be_delivered_twice(server: FakeTelegram, bot: Bot) -> None:
    server.faults.plan("getUpdates", Twice())
    server.world.private_message(ANN, "again?")
    (first,) = await fetch(bot)
    (second,) = await fetch(bot, offset=first.update_id + 1)
    assert second.update_id == first.update_id
    assert not await fetch(bot, offset=first.update_id + 1)


async def test_every_kind_of_update_is_understood_by_the_library(server: FakeTelegram, bot: Bot) -> None:
    world = server.world
    topic = world.add_topic(FORUM, "Plans", 40)
    pdf = world.add_file(b"%PDF-1.4", "plan.pdf", "application/pdf")
    group = world.message(GROUP, ANN, "👋 @exec_bot help /status@exec_bot")
    number = group["message"]["message_id"]
    world.topic_message(FORUM, topic, ANN, "in a topic")
    world.edited_message(GROUP, number, "changed")
    world.message(ANN, ANN, document=pdf, caption="read @exec_bot")
    world.album(ANN, ANN, [world.add_file(b"a"), world.add_file(b"b")], [None, "both"])
    world.message(ANN, ANN, sticker="👍")
    world.message(ANN, ANN, voice=world.add_file(b"OggS"))
    world.callback_query(GROUP, number, BEN, "yes:1")
    world.my_chat_member(GROUP, "administrator", ANN)
    world.anonymous_admin_message(GROUP, "/stop")
    world.channel_post(CHANNEL, "news")
    world.migrate(BASIC, -1009)
    world.message(GROUP, BEN, "re", reply_to=number)
    got = await fetch(bot)
    assert len(got) == 15
    (
        hello,
        in_topic,
        edited,
        document,
        left,
        right,
        sticker,
        voice,
        press,
        member,
        anonymous,
        post,
        old,
        new,
        reply,
    ) = got
    assert hello.message is not None
    mention, command = hello.message.entities
    assert (mention.type, mention.offset, mention.length) == ("mention", 3, 9)
    assert command.type == "bot_command"
    assert in_topic.message is not None
    assert (in_topic.message.is_topic_message, in_topic.message.message_thread_id) == (True, 40)
    assert edited.edited_message is not None
    assert edited.edited_message.edit_date is not None
    assert document.message is not None
    assert document.message.document is not None
    assert (document.message.document.file_name, document.message.caption_entities[0].type) == ("plan.pdf", "mention")
    assert left.message is not None
    assert right.message is not None
    assert left.message.media_group_id == right.message.media_group_id is not None
    assert (left.message.caption, right.message.caption) == (None, "both")
    assert sticker.message is not None
    assert sticker.message.sticker is not None
    assert voice.message is not None
    assert voice.message.voice is not None
    assert press.callback_query is not None
    assert press.callback_query.data == "yes:1"
    assert member.my_chat_member is not None
    assert member.my_chat_member.new_chat_member.status == "administrator"
    assert anonymous.message is not None
    assert anonymous.message.sender_chat is not None
    assert anonymous.message.from_user is not None
    assert (anonymous.message.sender_chat.id, anonymous.message.from_user.id) == (GROUP, 1087968824)
    assert post.channel_post is not None
    assert old.message is not None
    assert new.message is not None
    assert (old.message.migrate_to_chat_id, new.message.migrate_from_chat_id) == (-1009, BASIC)
    assert reply.message is not None
    assert reply.message.reply_to_message is not None
    assert reply.message.reply_to_message.message_id == number


# Webhook.


class Receiver:
    """A bot's web server, which answers with `statuses` in turn, then 200."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.got: list[tuple[str | None, dict[str, Any]]] = []
        self.url = ""

    async def handle(self, request: web.Request) -> web.Response:
        secret = request.headers.get("X-Telegram-Bot-Api-Secret-Token")
        self.got.append((secret, await request.json()))
        return web.Response(status=self.statuses.pop(0) if self.statuses else 200)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    hook = Receiver()
    app = web.Application()
    app.router.add_post("/hook", hook.handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    hook.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    yield hook
    await runner.cleanup()


async def test_webhook_delivers_with_the_secret_and_repeats_until_2xx(
    server: FakeTelegram, bot: Bot, receiver: Receiver
) -> None:
    receiver.statuses = [500, 403]
    await bot.set_webhook(receiver.url, secret_token="s3cret_-")
    server.world.private_message(ANN, "one")
    server.world.private_message(ANN, "two")
    posts = await server.posts.wait(4)
    assert [post.body["status"] for post in posts] == [500, 403, 200, 200]
    assert [(secret, update["message"]["text"]) for secret, update in receiver.got] == [
        ("s3cret_-", "one"),
        ("s3cret_-", "one"),
        ("s3cret_-", "one"),
        ("s3cret_-", "two"),
    ]
    info = await bot.get_webhook_info()
    assert info.url == receiver.url
    assert info.last_error_message == "Wrong response from the webhook: 403"
    with pytest.raises(Conflict, match="while webhook is active"):
        await fetch(bot)
    await bot.delete_webhook()
    assert await fetch(bot) == ()


async def test_webhook_can_post_twice(server: FakeTelegram, bot: Bot, receiver: Receiver) -> None:
    server.faults.plan("webhook", Twice())
    await bot.set_webhook(receiver.url)
    server.world.private_message(ANN, "one")
    await server.posts.wait(2)
    assert [update["message"]["text"] for _, update in receiver.got] == ["one", "one"]
    assert receiver.got[0][0] is None


async def test_a_bad_secret_is_refused(bot: Bot) -> None:
    with pytest.raises(BadRequest, match="unallowed characters"):
        await bot.set_webhook("http://127.0.0.1:1/hook", secret_token="no spaces")
