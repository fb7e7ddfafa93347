"""What the far end takes for an answer."""

from __future__ import annotations

import asyncio

import pytest

from bot.kernel.supervise import cancel, start
from tests.bench.crowds import CROWDS, DiscordCrowd
from tests.bench.far_end import Load


@pytest.mark.parametrize("channel", CROWDS)
async def test_every_crowd_says_where_it_is_and_writes_to_its_chats(channel: str) -> None:
    crowd = CROWDS[channel]()
    async with crowd.server:
        assert all(crowd.hello().values())
        crowd.write(7, "hello")
        crowd.write(7, "hello again")
        assert crowd.listening() is (channel == "telegram")


async def test_a_placeholder_is_no_answer_and_an_edit_counts_only_what_it_adds() -> None:
    crowd = DiscordCrowd()
    async with crowd.server:
        load = Load(crowd)
        watching = [start("watch", load.watch(record)) for record in crowd.records]
        deliveries, effects = crowd.records
        burst = start("burst", load.burst({"chats": [7], "each": 2}))
        await asyncio.sleep(0)  # both messages are written now
        (channel,) = crowd.channels()
        said = {"channel_id": channel, "id": "1"}
        deliveries.add("createMessage", {**said, "content": "_One moment…_"})
        for text in ("Noted: #1", "Noted: #1 #2", "Noted: #1 #2"):
            effects.add("editMessage", {**said, "content": text})
        try:
            done = await burst
        finally:
            for each in watching:
                await cancel(each)
        assert (done["messages"], done["faults"]) == (2, [])


async def test_what_nobody_asked_for_is_found() -> None:
    crowd = DiscordCrowd()
    async with crowd.server:
        load = Load(crowd)
        watching = start("watch", load.watch(crowd.records[0]))
        burst = start("burst", load.burst({"chats": [7], "each": 1}))
        await asyncio.sleep(0)
        (channel,) = crowd.channels()
        for number, text in enumerate(("Noted: #1", "Noted: #1")):
            crowd.records[0].add("createMessage", {"channel_id": channel, "id": str(number), "content": text})
        try:
            done = await burst
        finally:
            await cancel(watching)
        assert done["faults"]
