"""The Discord stand-in by itself: its rules, its faults, and its life as a process of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.fakes.control import ControlError
from tests.fakes.discord import FakeDiscord, refused
from tests.fakes.discord_control import running_discord
from tests.fakes.faults import Answer, CutAfter, JsonObject

ANN, GUILD, GENERAL = 11, 100, 200


class Bot:
    """A client that knows nothing but the protocol."""

    def __init__(self, server: FakeDiscord, session: aiohttp.ClientSession) -> None:
        self.server = server
        self.session = session
        self.socket: aiohttp.ClientWebSocketResponse | None = None

    async def call(self, method: str, path: str, body: Any = None, **query: str) -> tuple[int, Any]:
        headers = {"Authorization": f"Bot {self.server.token}"}
        url = self.server.base_url + path
        async with self.session.request(method, url, json=body, headers=headers, params=query) as answer:
            assert answer.status == 204 or answer.headers["Content-Type"] == "application/json"
            return answer.status, await answer.json() if answer.status != 204 else None

    async def post(self, channel: int | str, **body: Any) -> tuple[int, Any]:
        return await self.call("POST", f"/channels/{channel}/messages", body)

    async def open(self) -> JsonObject:
        self.socket = await self.session.ws_connect(self.server.gateway_url)
        return await self.next()

    async def next(self) -> JsonObject:
        assert self.socket is not None
        message = await self.socket.receive(timeout=5)
        if message.type is not aiohttp.WSMsgType.TEXT:
            return {"closed": self.socket.close_code}
        found: JsonObject = json.loads(message.data)
        return found

    async def say(self, op: int, data: Any) -> None:
        assert self.socket is not None
        await self.socket.send_json({"op": op, "d": data})

    async def identify(self, intents: int = 1 | 1 << 9 | 1 << 12 | 1 << 15) -> list[JsonObject]:
        await self.open()
        await self.say(2, {"token": self.server.token, "intents": intents, "properties": {}})
        return [await self.next(), await self.next()]


@pytest.fixture
async def server() -> AsyncIterator[FakeDiscord]:
    async with FakeDiscord() as running:
        running.world.add_user(ANN, "Ann")
        running.world.add_guild(GUILD, "Acme", [ANN])
        running.world.add_channel(GENERAL, GUILD)
        yield running


@pytest.fixture
async def bot(server: FakeDiscord) -> AsyncIterator[Bot]:
    async with aiohttp.ClientSession() as session:
        yield Bot(server, session)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"content": "x" * 2001}, 50035),
        ({"content": "  "}, 50006),
        ({"content": "x", "nonce": "n" * 26}, 50035),
        ({"content": "x", "flags": 64}, 50035),
        ({"content": "x", "message_reference": {"message_id": "5"}}, 50035),
    ],
)
async def test_bad_messages_are_refused(bot: Bot, body: JsonObject, code: int) -> None:
    status, answer = await bot.post(GENERAL, **body)
    assert (status, answer["code"]) == (400, code)
    assert not bot.server.deliveries


async def test_a_nonce_is_the_same_message_only_if_it_is_enforced_in_the_channel_and_remembered(bot: Bot) -> None:
    bot.server.world.add_channel(201, GUILD)
    first = (await bot.post(GENERAL, content="a", nonce="n", enforce_nonce=True))[1]["id"]
    assert (await bot.post(GENERAL, content="b", nonce="n", enforce_nonce=True))[1]["id"] == first
    await bot.post(GENERAL, content="c", nonce="n")
    await bot.post(201, content="d", nonce="n", enforce_nonce=True)
    bot.server.rest.forget_nonces()
    await bot.post(GENERAL, content="e", nonce="n", enforce_nonce=True)
    assert [one.body["content"] for one in bot.server.deliveries] == ["a", "c", "d", "e"]


async def test_history_is_paged_newest_first(bot: Bot) -> None:
    made = [bot.server.world.message(GENERAL, ANN, f"{n}")["id"] for n in range(5)]
    path = f"/channels/{GENERAL}/messages"

    async def ids(**query: str) -> list[str]:
        return [message["content"] for message in (await bot.call("GET", path, **query))[1]]

    assert await ids() == ["4", "3", "2", "1", "0"]
    assert await ids(after=made[1], limit="2") == ["3", "2"]
    assert await ids(before=made[3], limit="2") == ["2", "1"]
    assert await ids(around=made[2], limit="3") == ["3", "2", "1"]
    assert (await bot.call("GET", path, limit="101"))[0] == 400
    bot.server.world.deny(GENERAL, "history")
    assert await ids() == []


async def test_threads_have_their_starters_id_and_exist_once(bot: Bot) -> None:
    made = bot.server.world.message(GENERAL, ANN, "start")["id"]
    path = f"/channels/{GENERAL}/messages/{made}/threads"
    status, thread = await bot.call("POST", path, {"name": "T"})
    assert (status, thread["id"], thread["parent_id"], thread["owner_id"]) == (200, made, str(GENERAL), "9001")
    assert (await bot.call("POST", path, {"name": "T"}))[1]["code"] == 160004
    bot.server.world.set_thread(made, archived=True)
    assert (await bot.post(made, content="x"))[1]["code"] == 50083
    assert (await bot.call("PATCH", f"/channels/{made}", {"archived": False}))[0] == 200
    assert (await bot.post(made, content="x"))[0] == 200
    bot.server.world.deny(GENERAL, "threads")
    other = bot.server.world.message(GENERAL, ANN, "other")["id"]
    assert (await bot.call("POST", f"/channels/{GENERAL}/messages/{other}/threads", {"name": "T"}))[1]["code"] == 50013


async def test_closed_direct_messages_and_unknown_things(bot: Bot) -> None:
    _, dm = await bot.call("POST", "/users/@me/channels", {"recipient_id": str(ANN)})
    assert (await bot.post(dm["id"], content="x"))[0] == 200
    bot.server.world.close_dms(ANN)
    assert (await bot.post(dm["id"], content="x"))[1]["code"] == 50007
    assert (await bot.post(999, content="x"))[1]["code"] == 10003
    assert (await bot.call("PATCH", f"/channels/{GENERAL}/messages/5", {"content": "x"}))[1]["code"] == 10008
    assert (await bot.call("GET", "/users/999"))[1]["code"] == 10013
    bot.server.token = "other"
    bot.server.world.add_user(5, "X")
    headers = {"Authorization": "Bot wrong"}
    async with bot.session.get(bot.server.base_url + "/users/@me", headers=headers) as answer:
        assert answer.status == 401


async def test_interactions_are_acknowledged_once(bot: Bot) -> None:
    made = bot.server.world.command(GENERAL, ANN, "ask", "x")
    path = f"/interactions/{made['id']}/{made['token']}/callback"
    followup = f"/webhooks/9001/{made['token']}"
    assert (await bot.call("POST", followup, {"content": "early"}))[1]["code"] == 10015
    assert (await bot.call("POST", path, {"type": 5}))[0] == 204
    assert (await bot.call("POST", path, {"type": 5}))[1]["code"] == 40060
    assert (await bot.call("PATCH", followup + "/messages/@original", {"content": "late"}))[0] == 200
    assert bot.server.world.interactions[made["token"]]["shown"][-1]["content"] == "late"


async def test_limits_are_worded_as_discords_or_cloudflares(bot: Bot) -> None:
    bot.server.limit("createMessage", 0.5, everywhere=True)
    status, answer = await bot.post(GENERAL, content="x")
    assert (status, answer["retry_after"], answer["global"]) == (429, 0.5, True)
    bot.server.faults.plan("createMessage", Answer(429, body="error code: 1015", retry_after=9))
    url = f"{bot.server.base_url}/channels/{GENERAL}/messages"
    async with bot.session.post(url, json={"content": "x"}) as cloud:
        assert (cloud.status, cloud.headers.get("Via"), cloud.headers["Retry-After"]) == (429, None, "9")
    bot.server.faults.plan("createMessage", refused(50013))
    assert (await bot.post(GENERAL, content="x"))[1] == {"message": "Missing Permissions", "code": 50013}


async def test_the_gateway_says_hello_checks_and_replays(bot: Bot) -> None:
    ready, guild = await bot.identify()
    assert (ready["t"], guild["t"]) == ("READY", "GUILD_CREATE")
    await bot.say(1, 2)
    assert (await bot.next())["op"] == 11
    bot.server.world.message(GENERAL, ANN, "one")
    assert (await bot.next())["d"]["content"] == "one"
    bot.server.gateway.drop()
    assert "closed" in await bot.next()
    bot.server.world.message(GENERAL, ANN, "two")
    await bot.open()
    await bot.say(6, {"token": bot.server.token, "session_id": ready["d"]["session_id"], "seq": 3})
    assert [(await bot.next())["t"] for _ in range(2)] == ["MESSAGE_CREATE", "RESUMED"]
    await bot.open()
    await bot.say(6, {"token": bot.server.token, "session_id": "unknown", "seq": 3})
    assert await bot.next() == {"op": 9, "d": False}


async def test_the_gateway_lists_members_only_to_those_who_ask_and_may(bot: Bot) -> None:
    everybody = {"guild_id": str(GUILD), "query": "", "limit": 0, "nonce": "n"}
    for intents, listed in ((1 | 1 << 1, True), (1, False)):
        _, guild = await bot.identify(intents)
        assert [one["user"]["id"] for one in guild["d"]["members"]] == [bot.server.world.bot["id"]]
        await bot.say(8, everybody)
        await bot.say(1, 1)
        answer = await bot.next()
        if listed:
            assert (answer["t"], answer["d"]["chunk_count"], answer["d"]["nonce"]) == ("GUILD_MEMBERS_CHUNK", 1, "n")
            assert str(ANN) in {one["user"]["id"] for one in answer["d"]["members"]}
            answer = await bot.next()
        assert answer["op"] == 11


@pytest.mark.parametrize(
    ("token", "intents", "code"), [("wrong", 1, 4004), ("", 1 << 1, 4014), ("", 1 << 15, 4014), ("", 1 << 30, 4013)]
)
async def test_the_gateway_refuses_tokens_and_intents(bot: Bot, token: str, intents: int, code: int) -> None:
    bot.server.world.content_intent = bot.server.world.members_intent = False
    await bot.open()
    await bot.say(2, {"token": token or bot.server.token, "intents": intents, "properties": {}})
    assert await bot.next() == {"closed": code}


async def test_content_is_hidden_without_its_intent_except_from_whom_it_concerns(bot: Bot) -> None:
    await bot.identify(1 | 1 << 9 | 1 << 12)
    world = bot.server.world
    world.message(GENERAL, ANN, "hidden")
    world.message(GENERAL, ANN, "<@9001> shown")
    world.dm(ANN, "direct")
    world.typing(GENERAL, ANN)
    await bot.post(GENERAL, content="mine")
    assert [(await bot.next())["d"]["content"] for _ in range(4)] == ["", "<@9001> shown", "direct", "mine"]


async def test_a_muted_gateway_says_nothing_and_stays_open(bot: Bot) -> None:
    await bot.identify()
    bot.server.gateway.muted = True
    bot.server.world.dm(ANN, "void")
    await bot.say(1, 1)
    assert bot.socket is not None
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(bot.socket.receive(), 0.05)


async def test_discord_as_a_process_of_its_own(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    async with running_discord("--token", "abc", log=log) as far_end, aiohttp.ClientSession() as session:
        await far_end.act("add_user", ANN, "Ann")
        await far_end.act("add_guild", GUILD, "Acme", [ANN])
        await far_end.act("add_channel", GENERAL, GUILD, "general")
        made = await far_end.message(GENERAL, ANN, "hello")
        file = await far_end.add_file(b"x", "a.txt", "text/plain")
        await far_end.dm(ANN, "direct", files=[file])
        await far_end.plan("createMessage", CutAfter())
        url = f"{far_end.base_url}/channels/{GENERAL}/messages"
        headers = {"Authorization": f"Bot {far_end.token}"}
        body = {"content": "hi", "message_reference": {"message_id": made["id"]}}
        with pytest.raises(aiohttp.ClientError):
            await session.post(url, json=body, headers=headers)
        (sent,) = await far_end.deliveries("createMessage", at_least=1)
        assert sent.body["reply_to"] == made["id"]
        assert await far_end.effects() == ()
        assert await far_end.frames("identify") == ()
        assert await far_end.gateway("muted", on=True) == 0
        await far_end.gateway("drop")
        await far_end.gateway("limit", endpoint="createMessage", retry_after=1)
        async with session.post(url, json={"content": "hi"}, headers=headers) as answer:
            assert answer.status == 429
        for bad in (far_end.act("no_such"), far_end.gateway("no_such")):
            with pytest.raises(ControlError):
                await bad
    kinds = [json.loads(line)["kind"] for line in log.read_text().splitlines()]
    assert kinds.count("delivery") == 1
