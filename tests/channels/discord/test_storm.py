"""Everything at once: cut lines, invalid sessions, repeated events, a store that fails, restarts. Nothing is lost,
nothing comes twice, and each conversation keeps its order."""

from __future__ import annotations

import random

import pytest

from bot.gateway.events import MessageReceived
from tests.channels.discord.conftest import ANN, BEN, GENERAL, ME, Rig
from tests.fakes.faults import Answer, CutBefore, Twice

MESSAGES = 150


@pytest.mark.case(63, 64, 73)
@pytest.mark.parametrize("seed", range(6))
async def test_case_63_64_73_every_message_has_one_owner_whatever_happens(rig: Rig, seed: int) -> None:
    dice = random.Random(seed)
    await rig.start()
    sent: dict[str, list[str]] = {"ann": [], "ben": [], "general": []}

    def say(number: int) -> None:
        who = dice.choice(list(sent))
        sent[who].append(f"{who} {number}")
        if who == "general":
            rig.world.message(GENERAL, ANN, f"{ME} general {number}")
        else:
            rig.world.dm(ANN if who == "ann" else BEN, f"{who} {number}")

    def total() -> int:
        return sum(len(texts) for texts in sent.values())

    for number, who in enumerate(("ann", "ben", "general")):
        while not sent[who]:
            say(number)
    await rig.messages(total())
    async with rig.hurrying():
        for number in range(MESSAGES):
            say(number + 10)
            match dice.randrange(16):
                case 0:
                    rig.server.gateway.drop()
                case 1:
                    rig.server.gateway.reconnect()
                case 2:
                    rig.server.gateway.invalidate(resumable=dice.random() < 0.5)
                case 3:
                    rig.server.faults.plan("MESSAGE_CREATE", Twice())
                case 4:
                    rig.inbox.fail(1)
                case 5:
                    rig.server.faults.plan("getMessages", CutBefore() if dice.random() < 0.5 else Answer(503))
                case 6:
                    rig.server.gateway.close(dice.choice([4000, 4007, 4009]))
                case 7 if dice.random() < 0.3:
                    await rig.replace()
                    rig.run()
                case _:
                    await rig.messages(total() - dice.randrange(6))
        rig.server.faults.clear()
        await rig.inbox.until(lambda: len(rig.of(MessageReceived)) >= total(), timeout=30)
        for number in range(5):  # what came twice would have come by now
            say(number + 1000)
            await rig.messages(total())
    arrived: dict[str, list[str]] = {"ann": [], "ben": [], "general": []}
    for event in rig.of(MessageReceived):
        text = event.body.text.removeprefix("@Exec ")
        arrived[text.split()[0]].append(text)
    assert arrived == sent
