"""Receiving through slack-bolt against the stand-in."""

from __future__ import annotations

from bot.gateway.events import Addressed, MessageReceived
from tests.channels.slack.conftest import ANN, ROOM, Rig
from tests.fakes.slack_world import BOT_USER, TEAM


def texts(events: object) -> list[str]:
    assert isinstance(events, list | tuple)
    return [event.body.text for event in events if isinstance(event, MessageReceived)]


async def test_a_direct_message_is_received_and_acknowledged(rig: Rig) -> None:
    assert rig.channel.health().receiving is False
    await rig.start()
    rig.server.world.direct_message(ANN, "hello &amp; *bold*")
    (event,) = await rig.inbox.wait(1)
    assert isinstance(event, MessageReceived)
    assert (event.body.text, event.addressed, event.sender.name) == ("hello & **bold**", Addressed.DIRECT, "Ann")
    await rig.server.sockets.settled()
    assert rig.channel.health().receiving is True, rig.channel.health()
    assert rig.channel.health().where == "@executive in Company"
    assert event.reply_path.thread == f"slack:{TEAM}:D0{ANN[2:]}"


async def test_a_mention(rig: Rig) -> None:
    await rig.start()
    said = rig.server.world.message(ROOM, ANN, f"<@{BOT_USER}> hi")
    (event,) = await rig.inbox.wait(1)
    assert isinstance(event, MessageReceived)
    await rig.server.sockets.settled()
    assert (event.addressed, event.place.members) == (Addressed.MENTION, 3)
    assert event.reply_path.thread == f"slack:{TEAM}:{ROOM}:{said['ts']}"
    assert texts(rig.inbox.events) == ["@executive hi"]
