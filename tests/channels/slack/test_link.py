"""The socket: deaf, replaced, refused, shared."""

from __future__ import annotations

from datetime import datetime, timedelta

import aiohttp
import pytest

from channels.slack.link import LINK_DISABLED, RECOUNT, SLOW, STALE, STEADY, lane_of
from channels.slack.mark import BEHIND, SKEW, Mark
from tests.channels.slack.conftest import ANN, Rig
from tests.channels.slack.test_receive import texts
from tests.channels.support import START
from tests.fakes.faults import Answer, CutBefore
from tests.fakes.slack import APP_TOKEN


@pytest.mark.case(59)
async def test_case_59_a_deaf_socket_is_noticed_and_replaced(rig: Rig) -> None:
    await rig.start()
    rig.server.world.direct_message(ANN, "before")
    await rig.inbox.wait(1)
    rig.server.sockets.deafen()
    rig.server.world.direct_message(ANN, "into the void")
    passed = timedelta()
    while rig.server.sockets.opened == 1 and passed < timedelta(minutes=2):
        passed += await rig.skip()
        if passed >= STALE and rig.server.sockets.opened == 1:
            await rig.server.sockets.connected(1, opened=2)
    assert STALE <= passed <= timedelta(minutes=1)
    assert texts(await rig.inbox.wait(2)) == ["before", "into the void"], "read back, although it was lost on its way"
    assert len(rig.server.sockets.links) == 1
    rig.server.world.direct_message(ANN, "after")
    await rig.inbox.wait(3)
    assert rig.channel.health().receiving is True


@pytest.mark.case(59)
async def test_case_59_silence_stands_in_health_even_if_the_watch_does_not_run(rig: Rig) -> None:
    await rig.start()
    rig.server.world.direct_message(ANN, "before")
    await rig.inbox.wait(1)
    link = rig.channel._link  # type: ignore[attr-defined]
    link._heard = rig.clock.monotonic() - 95
    health = rig.channel.health()
    assert health.receiving is False
    assert "95 s" in (health.reason or "")


@pytest.mark.case(59)
async def test_case_59_a_quiet_socket_that_answers_pings_is_left_alone(rig: Rig) -> None:
    await rig.start()
    (link,) = rig.server.sockets.links
    for turn in range(30):
        await rig.sleeper()
        while link.pongs <= turn:
            rig.server.world.event({"type": "app_home_opened"})
            await rig.server.acks.wait(rig.server.sent.count())
        rig.clock.advance(timedelta(seconds=10))
    assert rig.server.sockets.opened == 1


@pytest.mark.case(60)
async def test_case_60_there_is_exactly_one_socket_over_restarts_and_refreshes(rig: Rig) -> None:
    await rig.start()
    for n in range(3):
        await rig.replace()
        await rig.start()
        rig.server.world.direct_message(ANN, f"restart {n}")
        await rig.inbox.wait(n + 1)
    for n, reason in enumerate(("warning", "refresh_requested")):
        rig.clock.advance(STEADY)
        opened = rig.server.sockets.opened
        await rig.server.sockets.disconnect(reason, close=False)
        await rig.server.sockets.connected(1, opened=opened + 1)
        rig.server.world.direct_message(ANN, reason)
        await rig.inbox.wait(4 + n)
    assert rig.server.sockets.most == 1, "the old one is closed before the next is opened"


@pytest.mark.case(60)
async def test_case_60_connections_of_others_are_counted_again_and_then_told(rig: Rig) -> None:
    async with aiohttp.ClientSession() as session:

        async def foreign() -> aiohttp.ClientWebSocketResponse:
            url = f"{rig.server.base_url}/apps.connections.open"
            async with session.post(url, headers={"Authorization": f"Bearer {APP_TOKEN}"}) as answer:
                return await session.ws_connect((await answer.json())["url"])

        other = await foreign()
        rig.run()
        await rig.server.sockets.connected(2)
        for opened in (3, 4, 5):
            while rig.server.sockets.opened < opened:
                waited = timedelta()
                while waited < RECOUNT:
                    waited += await rig.skip()
                await rig.server.sockets.connected(2, opened=opened)
        await rig.sleeper()
        health = rig.channel.health()
        assert health.receiving is False
        assert "1 more connection" in (health.reason or "")
        await other.close()


async def test_a_socket_that_breaks_is_replaced_at_once_and_the_gap_read_back(rig: Rig) -> None:
    await rig.start()
    rig.server.world.direct_message(ANN, "before")
    await rig.inbox.wait(1)
    rig.server.world.direct_message(ANN, "missed", tell=False)
    rig.server.sockets.cut()
    await rig.server.sockets.connected(1, opened=2)
    assert texts(await rig.inbox.wait(2)) == ["before", "missed"]


async def test_a_platform_that_is_not_there_is_waited_for(rig: Rig) -> None:
    rig.server.faults.plan("apps.connections.open", Answer(500))
    rig.server.faults.plan("apps.connections.open", CutBefore())
    rig.server.faults.plan("apps.connections.open", Answer(429, retry_after=17))
    rig.server.faults.plan("link", Answer(503))
    rig.run()
    waits = []
    for _ in range(4):
        waits.append(await rig.sleeper())
        assert rig.channel.health().receiving is False
        assert rig.channel.health().reason
        rig.clock.advance(waits[-1])
    assert waits[2] == timedelta(seconds=17)
    await rig.server.sockets.connected(1)
    rig.server.world.direct_message(ANN, "hello")
    await rig.inbox.wait(1)


async def test_socket_mode_that_is_switched_off_is_told(rig: Rig) -> None:
    await rig.start()
    await rig.server.sockets.disconnect("link_disabled")
    while await rig.sleeper() != SLOW:
        pass
    assert rig.channel.health().reason == LINK_DISABLED
    rig.clock.advance(SLOW)
    await rig.server.sockets.connected(1, opened=2)


def test_what_an_envelope_is_about() -> None:
    assert lane_of({"event": {"channel": "C1"}}) == "C1"
    assert lane_of({"event": {"channel": {"id": "C2"}}}) == "C2"
    assert lane_of({"channel_id": "C3"}) == "C3"
    assert lane_of({"channel": {"id": "C4"}}) == "C4"
    assert lane_of({"event": {}}) == lane_of(None) == ""


def missing(mark: Mark) -> tuple[datetime, int]:
    assert mark.open is not None
    return mark.open


def test_the_mark_follows_at_a_distance_and_stands_still_in_a_gap() -> None:
    mark = Mark()
    mark.start(None, START)
    assert not mark.open
    assert mark.value(START) == START - SKEW, "what was before the first start is not ours"
    hour = START + timedelta(hours=1)
    assert mark.value(hour) == hour - BEHIND
    mark.gap(hour)
    assert mark.value(hour + timedelta(hours=5)) == hour - BEHIND
    since, number = missing(mark)
    assert since == hour - BEHIND
    mark.gap(hour + timedelta(minutes=1))
    until = hour + timedelta(minutes=2)
    mark.closed(number, until)
    since, number = missing(mark)
    assert since == until, "another gap came meanwhile"
    mark.closed(number, until)
    assert not mark.open
    assert mark.value(until + timedelta(minutes=1)) == until


def test_the_mark_is_written_now_and_then() -> None:
    mark = Mark()
    mark.start(None, START)
    first = mark.due(START)
    assert first is not None
    mark.written(first)
    assert mark.due(START + timedelta(seconds=30)) is None
    later = START + timedelta(hours=1)
    again = mark.due(later)
    assert again is not None
    restarted = Mark()
    restarted.start(again.value, later + timedelta(hours=9))
    assert missing(restarted)[0] == later - BEHIND
