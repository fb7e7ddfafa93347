"""Receiving through the real library against the stand-in."""

from __future__ import annotations

from bot.gateway.events import Addressed, PlaceKind, Thread
from tests.channels.discord.conftest import ANN, BEN, GENERAL, GUILD, ME, Rig


async def test_a_direct_message_arrives_and_health_says_so(rig: Rig) -> None:
    assert rig.channel.health().receiving is False
    assert rig.channel.health().reason
    await rig.start()
    assert rig.channel.health().receiving is True
    assert rig.channel.health().where == "@exec"
    made = rig.world.dm(ANN, "hello")
    (event,) = await rig.messages()
    assert event.keys == (f"discord:{made['id']}",)
    assert event.ref == f"discord:{made['channel_id']}:{made['id']}"
    assert event.thread == Thread(f"discord:dm:{ANN}", f"discord:dm:{ANN}")
    assert event.addressed is Addressed.DIRECT
    assert event.place.kind is PlaceKind.DIRECT
    assert event.sender.address == str(ANN)
    assert event.sender.name == "Ann"


async def test_a_mention_in_a_channel_opens_a_thread_known_at_once(rig: Rig) -> None:
    await rig.start()
    made = rig.world.message(GENERAL, ANN, f"{ME} what is our runway?")
    (event,) = await rig.messages()
    assert event.thread == Thread(f"discord:{GUILD}:{made['id']}", f"discord:{GUILD}:{GENERAL}")
    assert event.body.text == "@Exec what is our runway?"
    assert event.reply_path.opens == "what is our runway?"
    assert event.reply_path.fallback == f"discord:{GUILD}:{GENERAL}"
    receipts = await rig.say(event.reply_path, "Nine months.")
    assert receipts[0].ref is None
    assert rig.server.texts(made["id"]) == ["Nine months."]
    (opened,) = rig.server.effects.of("startThread")
    assert opened.body["name"] == "what is our runway?"
    rig.world.message(made["id"], BEN, "and with the new hire?")
    following = (await rig.messages(2))[1]
    assert following.addressed is Addressed.THREAD
    assert following.thread == event.thread
    assert following.reply_path.opens is None
