"""The placeholder's commit and its sending belong together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bot.gateway.channel import Channel
from bot.gateway.events import ReplyPath
from bot.kernel.ids import OutboxId
from bot.kernel.supervise import start
from bot.orchestrator import placeholder
from bot.orchestrator.placeholder import Placeholders
from bot.orchestrator.values import Parts
from bot.outbox.service import Queued
from bot.sessions.turns import Turn


class SlowStore:
    """Writes, and then does not return until it is let."""

    def __init__(self) -> None:
        self.written = asyncio.Event()
        self.may_return = asyncio.Event()

    async def write(self, unit: Callable[[Any], Any]) -> Any:
        made = unit(SimpleNamespace(connection=None))
        self.written.set()
        await self.may_return.wait()
        return made


class Outbox:
    def __init__(self) -> None:
        self.sent: list[Queued] = []

    def queue(self, *_: object) -> Queued:
        return Queued((OutboxId("row"),), None)

    def sending(self, queued: Iterable[Queued]) -> None:
        self.sent += queued


async def test_a_placeholder_whose_answer_is_complete_before_its_commit_returns_is_sent_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is claimed by the commit: if nobody sent it, nothing would ever be sent in that thread again."""
    monkeypatch.setattr(placeholder, "journal", SimpleNamespace(result_of=lambda *_: None, note=lambda *_: True))
    monkeypatch.setattr(placeholder, "turns", SimpleNamespace(is_running=lambda *_: True))
    store, outbox = SlowStore(), Outbox()
    clock = SimpleNamespace(now=lambda: None)
    parts = cast(Parts, SimpleNamespace(database=store, outbox=outbox, clock=clock, boot="boot"))
    turn = cast(Turn, SimpleNamespace(id="turn", session="session", audience_epoch=0))
    channel = cast(Channel, SimpleNamespace(name="test", placeholder="…"))
    caller = start("drafter", Placeholders(parts).stand_in(turn, channel, ReplyPath("test:1", "1")))
    await store.written.wait()
    caller.cancel()
    await asyncio.sleep(0)
    store.may_return.set()
    await asyncio.wait({caller})
    assert caller.cancelled()
    assert [one.ids for one in outbox.sent] == [("row",)]
