"""Operations on durable tasks, as the command line asks them; and what the command line prints."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from bot.audit import timeline
from bot.audit.recorder import Recorder
from bot.audit.tables import content
from bot.cli.status import lines
from bot.control import ops_tasks
from bot.kernel.errors import PermanentError
from bot.kernel.ids import BootId, TaskId
from bot.storage.database import Database, Tx
from bot.tasks import store
from tests.clock import FakeClock
from tests.control.desk import Answers

BOOT = BootId("boot-1")


class Desk:
    def __init__(self, database: Database, recorder: Recorder, clock: FakeClock) -> None:
        self.database, self.recorder, self.clock = database, recorder, clock
        self.rung = 0
        self.handlers = ops_tasks.handlers(database, recorder, clock, self._ring)

    def _ring(self) -> None:
        self.rung += 1

    async def ask(self, op: str, **fields: Any) -> dict[str, Any]:
        peer = Answers()
        await self.handlers[op](peer, {"op": op, **fields})
        return peer.sent[-1]

    async def queue(self, key: str, kind: str = "memory.extract") -> TaskId:
        now = self.clock.now()
        found = await self.database.write(
            lambda tx: store.enqueue(tx, kind, key, {"turn": key}, now, lane=key, run_at=now + timedelta(days=1))
        )
        assert found is not None
        return found

    async def dead(self, key: str) -> TaskId:
        queued = await self.queue(key)

        def unit(tx: Tx) -> None:
            claimed = store.claim_due(tx, BOOT, self.clock.now() + timedelta(days=2))
            assert claimed is not None
            assert claimed.id == queued
            store.bury(tx, self.recorder, claimed, BOOT, "no answer", self.clock.now())

        await self.database.write(unit)
        return queued


@pytest.fixture
def desk(database: Database, recorder: Recorder, clock: FakeClock) -> Desk:
    return Desk(database, recorder, clock)


async def test_tasks_are_listed_by_state_and_kind_and_shown_with_their_error(desk: Desk) -> None:
    dead = await desk.dead("t1")
    await desk.queue("t2")
    await desk.queue("all", "knowledge.check")
    assert len((await desk.ask("tasks.list"))["tasks"]) == 3
    (one,) = (await desk.ask("tasks.list", state="dead"))["tasks"]
    assert (one["id"], one["error"], one["attempts"]) == (dead, "no answer", 1)
    (other,) = (await desk.ask("tasks.list", kind="knowledge.check"))["tasks"]
    assert other["key"] == "all"
    shown = (await desk.ask("tasks.show", task=dead))["task"]
    assert (shown["payload"], shown["lane"], shown["state"]) == ({"turn": "t1"}, "t1", "dead")


async def test_a_dead_task_is_tried_again_from_its_first_attempt_on(desk: Desk) -> None:
    dead = await desk.dead("t1")
    await desk.ask("tasks.retry", task=dead)
    again = await desk.database.read(lambda c: store.get(c, dead))
    assert again is not None
    assert (again.state.value, again.attempts) == ("queued", 0)
    assert desk.rung == 1
    with pytest.raises(PermanentError, match="is queued: only a dead task"):
        await desk.ask("tasks.retry", task=dead)


async def test_dropping_wants_a_reason_and_is_recorded_with_it(desk: Desk) -> None:
    dead = await desk.dead("t1")
    with pytest.raises(PermanentError, match="say why"):
        await desk.ask("tasks.drop", task=dead, reason=" ")
    await desk.ask("tasks.drop", task=dead, reason="the thread was a test")
    assert await desk.database.read(lambda c: store.get(c, dead)) is None
    entries = await desk.database.read(lambda c: timeline.newest(c, 10))
    assert [each.payload["task"] for each in entries if each.payload.get("state") == "dropped"] == [dead]
    reasons = await desk.database.read(lambda c: c.execute(sa.select(content.c.text)).scalars().all())
    assert "the thread was a test" in reasons


async def test_what_is_not_there_is_said(desk: Desk) -> None:
    for op, more in (("tasks.show", {}), ("tasks.retry", {}), ("tasks.drop", {"reason": "x"})):
        with pytest.raises(PermanentError, match="there is no task nope"):
            await desk.ask(op, task="nope", **more)


def test_status_names_kinds_of_tasks_in_trouble() -> None:
    said = lines({"tasks": {"queued": 2, "dead": 1}, "tasks_in_trouble": {"memory.extract": {"dead": 1}}})
    assert "tasks     1 dead, 2 queued" in said
    assert "          memory.extract: 1 dead (see `openexecutive tasks list`)" in said
