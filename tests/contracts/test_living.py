"""A channel's life: what health says, before, while the far end is away, and after; and an end without leftovers."""

from __future__ import annotations

import asyncio

import pytest

from bot.gateway.channel import NotReadyError
from bot.gateway.events import ReplyPath
from bot.gateway.operations import Send
from tests.contracts.bench import Bench, Draft, Talk, Who, until
from tests.contracts.test_sending import back, gone
from tests.contracts.those import those


async def test_before_it_runs_it_says_that_it_does_not_receive_and_why(built: Bench) -> None:
    health = built.channel.health()
    assert not health.receiving
    assert health.reason


async def test_while_it_runs_it_receives(bench: Bench) -> None:
    health = bench.channel.health()
    assert health.receiving
    assert health.sending
    assert health.reason is None


@those(lambda can: can.depends)
async def test_while_the_far_end_is_away_health_says_so_and_then_that_it_is_back(bench: Bench) -> None:
    await bench.heard(text="before")
    await gone(bench)
    health = bench.channel.health()
    assert health.reason
    assert len(health.reason.split()) >= 4
    bench.rung.clear()
    await back(bench)
    assert bench.channel.health().reason is None
    await asyncio.wait_for(bench.rung.wait(), 15)
    await bench.heard(text="after")
    assert bench.inbox.texts() == ["before", "after"]


@those(lambda can: can.depends)
async def test_what_is_said_while_the_link_is_down_is_heard_afterwards(bench: Bench) -> None:
    await bench.heard(text="before")
    await gone(bench)
    await bench.far.writes(Who.ANN, "meanwhile")
    await back(bench)
    await until(lambda: "meanwhile" in bench.inbox.texts())
    await bench.heard(text="after")
    assert sorted(bench.inbox.texts()) == ["after", "before", "meanwhile"]


@those(lambda can: (can.depends or can.draft is Draft.OWN) and not can.stored)
async def test_sending_before_it_is_connected_was_not_tried(built: Bench) -> None:
    thread, _ = built.far.place_of(Talk.DIRECT)
    path = ReplyPath(thread or "", built.far.address(Who.ANN))
    with pytest.raises(NotReadyError):
        await built.channel.send(Send(path, "early", "early"), built.key(), again=False)


async def test_after_its_end_nothing_of_it_runs(bench: Bench) -> None:
    path = await bench.path()
    await bench.say(path, "the last words")
    await bench.stop()
    left = [task for task in asyncio.all_tasks() if "/channels/" in _file_of(task)]
    assert left == []
    await bench.channel.close()


def _file_of(task: asyncio.Task[object]) -> str:
    code = getattr(task.get_coro(), "cr_code", None)
    return str(code.co_filename) if code is not None else ""
