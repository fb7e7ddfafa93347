"""The gateway's ways to go wrong, through the library: it comes back, says why meanwhile, and nothing comes twice."""

from __future__ import annotations

import asyncio
import logging
import threading
from datetime import timedelta
from typing import Any

import pytest
from discord.gateway import DiscordWebSocket, KeepAliveHandler

from bot.kernel.supervise import start
from channels.discord.link import SLOW
from tests.channels.discord.conftest import ANN, BEN, GENERAL, ME, Rig, direct, texts, words
from tests.fakes.faults import Answer, CutAfter, CutBefore


@pytest.mark.case(63)
async def test_case_63_what_was_said_while_the_line_was_cut_is_replayed_once(rig: Rig) -> None:
    await rig.start()
    rig.world.dm(ANN, "before")
    await rig.messages(1)
    rig.server.gateway.drop()
    rig.world.dm(ANN, "meanwhile")
    await rig.server.frames.wait(1, "resume")
    rig.world.dm(ANN, "after")
    await rig.messages(3)
    await rig.settled()
    assert texts(rig.inbox.events) == ["before", "meanwhile", "after"]
    assert rig.server.frames.count("identify") == 1
    assert rig.channel.health().receiving is True


@pytest.mark.case(63)
async def test_case_63_a_resume_that_repeats_what_was_taken_repeats_nothing(rig: Rig) -> None:
    await rig.start()
    rig.world.dm(ANN, "once")
    rig.world.message(GENERAL, BEN, f"{ME} once too")
    await rig.messages(2)
    (session,) = rig.server.gateway.connected
    replayed = [frame for frame in session.sent if frame["t"] == "MESSAGE_CREATE"]
    for frame in replayed * 2:
        rig.server.gateway.dispatch("MESSAGE_CREATE", frame["d"])
    rig.server.gateway.drop()
    await rig.server.frames.wait(1, "resume")
    await rig.settled()
    assert texts(rig.inbox.events) == ["once", "@Exec once too"]


async def test_op_7_is_obeyed_and_resumed(rig: Rig) -> None:
    await rig.start()
    rig.server.gateway.reconnect()
    await rig.server.frames.wait(1, "resume")
    rig.world.dm(ANN, "after")
    await rig.messages()
    assert rig.server.frames.count("identify") == 1


@pytest.mark.parametrize("resumable", [True, False])
async def test_an_invalid_session_is_resumed_or_begun_anew(rig: Rig, resumable: bool) -> None:
    await rig.start()
    rig.world.dm(ANN, "before")
    await rig.messages()
    rig.server.gateway.invalidate(resumable=resumable)
    if resumable:
        await rig.server.frames.wait(1, "resume")
    else:
        rig.world.dm(ANN, "to nobody")
        async with rig.hurrying():
            await rig.server.frames.wait(2, "identify")
    rig.world.dm(ANN, "after")
    await rig.messages(2 if resumable else 3)
    await rig.settled()
    expected = ["before", "after"] if resumable else ["before", "to nobody", "after"]
    assert texts(rig.inbox.events) == expected, "what no session heard is read back"


async def test_a_session_that_cannot_be_resumed_is_begun_anew(rig: Rig) -> None:
    await rig.start()
    rig.world.dm(ANN, "before")
    await rig.messages()
    rig.server.gateway.drop()
    await rig.server.frames.until(lambda: not rig.server.gateway.connected or rig.server.frames.count("resume") > 0)
    rig.server.gateway.sessions.clear()
    rig.world.dm(ANN, "meanwhile")
    rig.server.gateway.close(4009)
    async with rig.hurrying():
        await rig.messages(2)
    assert texts(rig.inbox.events) == ["before", "meanwhile"]


@pytest.mark.case(70)
@pytest.mark.parametrize(
    ("code", "words"),
    [(4004, "token"), (4014, "Message Content"), (4013, "update"), (4012, "update"), (4011, "shards")],
)
async def test_case_70_a_fatal_close_code_stops_and_explains(rig: Rig, code: int, words: str) -> None:
    await rig.start()
    rig.server.gateway.close(code)
    while True:
        if await rig.clock.sleeper() == SLOW:
            break
    health = rig.channel.health()
    assert health.receiving is False
    assert words in (health.reason or "")
    assert rig.server.frames.count("identify") == 1, "no loop"
    assert rig.server.frames.count("resume") == 0
    rig.clock.advance(SLOW)
    await rig.server.frames.wait(2, "identify")
    await rig.settled()
    assert rig.channel.health().receiving is True


@pytest.mark.case(70)
async def test_case_70_an_intent_that_the_gateway_refuses_is_explained(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The portal says yes, the gateway no."""
    monkeypatch.setattr("tests.fakes.discord_rest.flags", lambda world: (1 << 15) | (1 << 19))
    rig.world.content_intent = False
    rig.run()
    while True:
        if await rig.clock.sleeper() == SLOW:
            break
    assert "Message Content" in (rig.channel.health().reason or "")


async def test_a_wrong_token_is_explained_and_tried_slowly(rig: Rig) -> None:
    await rig.replace(token="wrong.token.value")
    rig.run()
    while True:
        if await rig.clock.sleeper() == SLOW:
            break
    health = rig.channel.health()
    assert health.receiving is False
    assert "channels.discord.token" in (health.reason or "")
    assert rig.bench.rung == 0
    assert rig.server.frames.count("identify") == 0


async def test_an_ordinary_close_is_not_fatal(rig: Rig) -> None:
    await rig.start()
    rig.server.gateway.close(4000)
    await rig.server.frames.wait(1, "resume")
    await rig.settled()
    assert rig.channel.health().receiving is True


async def test_a_zombie_link_is_reported_within_a_minute_and_given_up(rig: Rig) -> None:
    await rig.start()
    rig.server.gateway.muted = True
    rig.world.dm(ANN, "into the void")
    rig.clock.advance(timedelta(seconds=50))
    assert rig.channel.health().receiving is True, "one heartbeat may be under way"
    rig.clock.advance(timedelta(seconds=5))
    health = rig.channel.health()
    assert health.receiving is False
    assert "has not answered for 55 s" in (health.reason or "")
    rig.server.gateway.muted = False
    await rig.server.frames.wait(1, "resume")
    await rig.messages()
    assert texts(rig.inbox.events) == ["into the void"]
    await rig.settled()
    assert rig.channel.health().receiving is True


async def test_lost_heartbeat_answers_are_noticed_though_events_come(rig: Rig) -> None:
    await rig.start()
    rig.server.gateway.deaf_to_heartbeats = True
    rig.clock.advance(timedelta(seconds=60))
    rig.world.dm(ANN, "still talking")
    await rig.messages()
    rig.server.gateway.deaf_to_heartbeats = False
    await rig.server.frames.wait(1, "resume")
    await rig.settled()
    assert rig.channel.health().receiving is True


async def test_heartbeats_are_answered_and_keep_the_link(rig: Rig) -> None:
    rig.server.gateway.interval = 0.02
    await rig.start()
    await rig.server.frames.wait(8, "heartbeat")
    assert rig.server.frames.count("resume") == 0
    assert rig.channel.health().receiving is True


@pytest.mark.parametrize("endpoint", ["me", "gatewayUrl", "gateway"])
async def test_a_start_without_discord_is_tried_again(rig: Rig, endpoint: str) -> None:
    rig.server.faults.plan(endpoint, CutAfter() if endpoint == "gateway" else CutBefore(), times=2)
    rig.run()
    assert rig.channel.health().receiving is False
    async with rig.hurrying():
        await rig.server.frames.wait(1, "identify")
    await rig.settled()
    assert rig.channel.health().receiving is True


async def test_discord_having_trouble_at_the_start_is_said(rig: Rig) -> None:
    rig.server.faults.plan("me", Answer(503))
    rig.run()
    while rig.channel.health().reason == "starting: not connected to Discord yet":
        await rig.clock.sleeper()
    assert "503" in (rig.channel.health().reason or "")


async def test_logs_hold_neither_tokens_nor_words(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("discord").setLevel(logging.DEBUG)
    await rig.replace()
    with caplog.at_level(logging.INFO):
        await rig.start()
        rig.world.dm(ANN, "a secret of the company")
        await rig.messages()
        rig.server.limit("callback", 0.01)
        made = rig.world.command(GENERAL, ANN, "status")
        await rig.commands()
        await rig.server.effects.wait(1, "callback")
        rig.server.gateway.drop()
        await rig.server.frames.wait(1, "resume")
        await rig.settled()
    assert "rate limited" in caplog.text
    for secret in (rig.server.token, "a secret of the company", made["token"]):
        assert secret not in caplog.text


async def test_when_the_library_does_not_come_back_a_new_client_begins(rig: Rig) -> None:
    """Its own pauses grow to a quarter of an hour."""
    await rig.start()
    rig.world.dm(ANN, "before")
    await rig.messages()
    rig.server.faults.plan("gateway", CutAfter(), times=1000)
    rig.server.gateway.drop()
    await rig.server.frames.wait(2, "connect")
    assert "connecting anew" in (rig.channel.health().reason or "")
    rig.server.faults.clear()
    rig.world.dm(ANN, "meanwhile")
    rig.clock.advance(timedelta(seconds=100))
    async with rig.hurrying():
        await rig.messages(2)
    assert rig.channel.health().receiving is True
    await rig.send(words(direct(), "back"))
    assert rig.server.texts(rig.world.dm_channel(ANN).id) == ["back"]


async def test_while_only_a_person_can_mend_the_gateway_sends_still_go(rig: Rig) -> None:
    await rig.start()
    rig.server.gateway.close(4014)
    while await rig.clock.sleeper() != SLOW:
        pass
    await rig.send(words(direct(), "still"))
    assert rig.server.texts(rig.world.dm_channel(ANN).id) == ["still"]


@pytest.mark.parametrize("later", range(8))
async def test_a_stop_that_comes_while_the_connection_is_made_ends_it(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, later: int
) -> None:
    """Somewhere among these steps of the loop the standard library drops the cancellation."""
    connect = DiscordWebSocket.from_client
    stops: asyncio.Queue[asyncio.Task[None]] = asyncio.Queue()

    async def connected_as_the_stop_comes(*args: Any, **kwargs: Any) -> DiscordWebSocket:
        made = await connect(*args, **kwargs)
        stops.put_nowait(start("stop", rig.stop()))
        for _ in range(later):
            await asyncio.sleep(0)
        return made

    monkeypatch.setattr(DiscordWebSocket, "from_client", connected_as_the_stop_comes)
    rig.run()
    async with asyncio.timeout(5):
        await (await stops.get())
    assert not rig.server.gateway.connected


async def test_a_stop_between_hello_and_identify_leaves_no_heartbeats_behind(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The socket's thread runs by then, and the library has not yet handed the socket out."""
    began: asyncio.Queue[None] = asyncio.Queue()

    async def identifying(socket: DiscordWebSocket) -> None:
        began.put_nowait(None)
        await asyncio.Event().wait()

    monkeypatch.setattr(DiscordWebSocket, "identify", identifying)
    rig.run()
    async with asyncio.timeout(5):
        await began.get()
        beating = [each for each in threading.enumerate() if isinstance(each, KeepAliveHandler)]
        assert beating
        await rig.stop()
    for thread in beating:
        thread.join(1)
        assert not thread.is_alive()
