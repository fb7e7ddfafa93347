"""The Slack stand-in, driven by slack-bolt's own Socket Mode handler and slack-sdk's Web API client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.faults import Answer, CutAfter, CutBefore
from tests.fakes.slack import APP_TOKEN, BOT_TOKEN, FakeSlack
from tests.fakes.slack_control import running_slack
from tests.fakes.slack_world import BOT_USER, TEAM

ANN = "U0ANN00001"
ROOM, PRIVATE = "C0ROOM0001", "C0PRIVATE1"


@pytest.fixture
async def server() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as running:
        running.world.add_user(ANN, "Ann")
        running.world.add_conversation(ROOM, "channel", "general", [ANN])
        running.world.add_conversation(PRIVATE, "group", "secret", [ANN], bot=False)
        yield running


def web(server: FakeSlack, token: str = BOT_TOKEN) -> AsyncWebClient:
    return AsyncWebClient(token=token, base_url=f"{server.base_url}/", retry_handlers=[])


async def refused(call: Any) -> str:
    with pytest.raises(SlackApiError) as caught:
        await call
    return str(caught.value.response["error"])


async def test_bolt_receives_and_acknowledges(server: FakeSlack) -> None:
    heard: list[str] = []
    app = AsyncApp(client=web(server), process_before_response=True)

    @app.event("message")
    async def on_message(event: dict[str, Any]) -> None:
        heard.append(event["text"])

    @app.command("/executive")
    async def on_command(ack: Any) -> None:
        await ack("working on it")

    handler = AsyncSocketModeHandler(app, APP_TOKEN)
    try:
        await handler.connect_async()  # type: ignore[no-untyped-call]
        await server.sockets.connected(1)
        server.world.direct_message(ANN, "hello")
        server.command(ROOM, ANN, "status")
        acks = await server.acks.wait(2)
        assert heard == ["hello"]
        assert acks[1].body["payload"] == {"text": "working on it"}
        await server.sockets.disconnect("refresh_requested")
        await server.sockets.connected(1, opened=2)
        server.world.direct_message(ANN, "again")
        await server.acks.wait(3)
        assert heard == ["hello", "again"]
    finally:
        await handler.close_async()  # type: ignore[no-untyped-call]


async def test_without_an_acknowledgement_an_event_comes_again_with_its_count(server: FakeSlack) -> None:
    async with aiohttp.ClientSession() as session:
        url = (await web(server).apps_connections_open(app_token=APP_TOKEN))["url"]
        async with session.ws_connect(url) as socket:
            assert (await socket.receive_json())["num_connections"] == 1
            event = server.world.message(ROOM, ANN, f"<@{BOT_USER}> hi", mention="before")
            first, second = await socket.receive_json(), await socket.receive_json()
            assert [one["payload"]["event"]["type"] for one in (first, second)] == ["app_mention", "message"]
            assert {one["payload"]["event"]["ts"] for one in (first, second)} == {event["ts"]}
            assert (first["retry_attempt"], first["retry_reason"]) == (0, "")
            await socket.send_json({"envelope_id": first["envelope_id"]})
            await server.acks.wait(1)
            assert server.sockets.redeliver() == 1
            again = await socket.receive_json()
            assert (again["retry_attempt"], again["retry_reason"]) == (1, "timeout")
            assert again["payload"]["event_id"] == second["payload"]["event_id"]
            await socket.send_json({"envelope_id": again["envelope_id"]})
            await server.sockets.settled()
            server.sockets.repeat(again["payload"]["event_id"])
            assert (await socket.receive_json())["payload"] == again["payload"]
        async with session.get(url.replace("ws:", "http:")) as answer:
            assert answer.status == 408, "a ticket is good once"


async def test_a_deaf_link_neither_sends_nor_answers_pings(server: FakeSlack) -> None:
    async with aiohttp.ClientSession() as session:
        url = (await web(server).apps_connections_open(app_token=APP_TOKEN))["url"]
        async with session.ws_connect(url, autoping=False) as socket:
            await socket.receive_json()
            await socket.ping(b"1")
            assert (await socket.receive()).type is aiohttp.WSMsgType.PONG
            server.sockets.deafen()
            await socket.ping(b"2")
            server.world.direct_message(ANN, "hello")
            with pytest.raises(TimeoutError):
                await socket.receive(timeout=0.1)
            assert len(server.sockets.waiting) == 1


async def test_messages_limits_and_metadata(server: FakeSlack) -> None:
    client = web(server)
    metadata = {"event_type": "e", "event_payload": {"key": "k"}}
    sent = await client.chat_postMessage(channel=ROOM, text="a <!here>", metadata=metadata, unfurl_links=False)
    (delivery,) = server.deliveries
    assert (delivery.body["shown"], delivery.body["pings"]) == ("a <!here>", ["<!here>"] * 2)
    assert (delivery.body["unfurl_links"], delivery.body["unfurl_media"]) == (False, None)
    for flag in (True, False):
        read = await client.conversations_history(channel=ROOM, include_all_metadata=flag)
        assert ("metadata" in read["messages"][0]) is flag
    await client.chat_postMessage(channel=ROOM, text="r", thread_ts=sent["ts"])
    assert [m["text"] for m in (await client.conversations_replies(channel=ROOM, ts=sent["ts"]))["messages"]] == [
        "a <!here>",
        "r",
    ]
    assert len((await client.conversations_history(channel=ROOM))["messages"]) == 1
    await client.chat_update(channel=ROOM, ts=sent["ts"], text="b")
    assert server.shown(ROOM, sent["ts"]) == "b"
    long = client.chat_update(channel=ROOM, ts=sent["ts"], text="x" * 4001)
    assert await refused(long) == "msg_too_long"
    section = {"type": "section", "text": {"type": "mrkdwn", "text": "x"}}
    many = client.chat_postMessage(channel=ROOM, text="x", blocks=[section] * 51)
    assert await refused(many) == "invalid_blocks"
    wide = {"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3001}}
    assert await refused(client.chat_postMessage(channel=ROOM, text="x", blocks=[wide])) == "invalid_blocks"
    assert await refused(client.chat_postMessage(channel=PRIVATE, text="x")) == "channel_not_found"
    server.methods.scopes.discard("chat:write")
    with pytest.raises(SlackApiError) as caught:
        await client.chat_postMessage(channel=ROOM, text="x")
    assert caught.value.response["needed"] == "chat:write"
    assert await refused(web(server, "xoxb-other").auth_test()) == "invalid_auth"


async def test_pages_tiers_and_faults(server: FakeSlack) -> None:
    client = web(server)
    for n in range(5):
        server.world.message(ROOM, ANN, f"m{n}")
    first = await client.conversations_history(channel=ROOM, limit=2)
    assert [m["text"] for m in first["messages"]] == ["m4", "m3"]
    second = await client.conversations_history(channel=ROOM, limit=2, cursor=first["response_metadata"]["next_cursor"])
    assert [m["text"] for m in second["messages"]] == ["m2", "m1"]
    server.limit("users.info", 1, 60)
    await client.users_info(user=ANN)
    with pytest.raises(SlackApiError) as caught:
        await client.users_info(user=ANN)
    assert int(caught.value.response.headers["Retry-After"]) > 0
    server.faults.plan("chat.postMessage", Answer(200, "is_archived"))
    assert await refused(client.chat_postMessage(channel=ROOM, text="x")) == "is_archived"
    for fault in (CutBefore(), CutAfter()):
        server.faults.plan("chat.postMessage", fault)
        with pytest.raises(aiohttp.ClientError):
            await client.chat_postMessage(channel=ROOM, text="cut")
    assert server.texts(ROOM) == ["cut"]


async def test_files_both_ways(server: FakeSlack) -> None:
    client = web(server)
    sent = await client.chat_postMessage(channel=ROOM, text="root")
    await client.files_upload_v2(channel=ROOM, thread_ts=sent["ts"], content=b"abc", filename="a.txt")
    assert server.deliveries.of("message")[1].body["files"] == ["a.txt"]
    file = server.world.add_file(b"PNG", "p.png", "image/png", redirect=True)
    url = (await client.files_info(file=file))["file"]["url_private_download"]
    async with aiohttp.ClientSession() as session:
        async with session.get(url) as answer:
            assert answer.status == 200
            assert b"<!DOCTYPE html>" in await answer.read()
        headers = {"Authorization": f"Bearer {BOT_TOKEN}"}
        async with session.get(url, headers=headers, allow_redirects=False) as answer:
            assert answer.status == 302
            assert answer.headers["Location"].startswith("http://localhost:")


async def test_it_runs_as_a_process_of_its_own() -> None:
    async with running_slack("--retries", "0.05,0.1") as slack:
        await slack.act("add_user", user=ANN, name="Ann")
        client = AsyncWebClient(token=slack.bot_token, base_url=f"{slack.base_url}/", retry_handlers=[])
        assert (await client.auth_test())["team_id"] == TEAM
        url = (await client.apps_connections_open(app_token=slack.app_token))["url"]
        async with aiohttp.ClientSession() as session, session.ws_connect(url) as socket:
            await socket.receive_json()
            await slack.direct_message(ANN, "hello")
            envelopes = [await socket.receive_json() for _ in range(3)]
            assert [one["retry_attempt"] for one in envelopes] == [0, 1, 2]
            await socket.send_json({"envelope_id": envelopes[0]["envelope_id"]})
            await slack.acks(at_least=1)
            assert (await slack.links())["waiting"] == 0
