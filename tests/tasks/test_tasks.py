"""Durable tasks: claimed once, tried again, buried, in order within a lane, one outcome whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

import pytest
import sqlalchemy as sa

from bot.audit.recorder import Recorder
from bot.audit.tables import audit
from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.ids import BootId, TaskId
from bot.kernel.retry import Backoff
from bot.kernel.supervise import Supervisor
from bot.storage.database import Database, Tx
from bot.tasks import store
from bot.tasks.store import Task
from bot.tasks.tables import TaskState, task
from bot.tasks.worker import Done, Handler, Worker
from tests.clock import FakeClock

BOOT = BootId("boot-1")


class Bench:
    def __init__(self, database: Database, recorder: Recorder, clock: FakeClock, supervisor: Supervisor) -> None:
        self.database, self.recorder, self.clock, self.supervisor = database, recorder, clock, supervisor
        self.ran: list[str] = []
        self.changed = asyncio.Event()
        database.add_hook(self)

    def flush(self, tx: Tx, items: Sequence[object]) -> None: ...

    def committed(self) -> None:
        self.changed.set()

    def rolled_back(self) -> None: ...

    async def enqueue(self, key: str, *, kind: str = "work", lane: str = "a", after: int = 0) -> TaskId | None:
        now = self.clock.now()
        return await self.database.write(
            lambda tx: store.enqueue(tx, kind, key, {"key": key}, now, lane=lane, run_at=now + timedelta(seconds=after))
        )

    def start(self, handlers: Mapping[str, Handler], boot: BootId = BOOT, max_attempts: int = 3) -> Worker:
        worker = Worker(
            self.database,
            self.recorder,
            self.clock,
            self.supervisor,
            boot,
            handlers,
            Backoff(first=timedelta(seconds=10)),
            max_attempts=max_attempts,
        )
        self.supervisor.service("tasks", worker.run())
        return worker

    async def states(self) -> dict[str, str]:
        rows = await self.database.read(lambda c: c.execute(sa.select(task.c.key, task.c.state)).all())
        return {row.key: row.state for row in rows}

    async def until(self, key: str, state: TaskState) -> None:
        async with asyncio.timeout(20):
            while (await self.states()).get(key) != state.value:
                await self.changed.wait()
                self.changed.clear()

    def noting(self, outcome: Callable[[Task], Done] = lambda _: Done()) -> Handler:
        async def handle(each: Task) -> Done:
            self.ran.append(each.key)
            return outcome(each)

        return handle


@pytest.fixture
def bench(database: Database, recorder: Recorder, clock: FakeClock, supervisor: Supervisor) -> Bench:
    return Bench(database, recorder, clock, supervisor)


async def test_a_task_runs_once_and_its_outcome_is_stored_with_its_end(bench: Bench) -> None:
    def outcome(each: Task) -> Done:
        return Done(lambda tx: _queue_follower(tx, bench, each))

    await bench.enqueue("one")
    bench.start({"work": bench.noting(outcome), "later": bench.noting()})
    await bench.until("one-follower", TaskState.QUEUED)
    assert await bench.states() == {"one": "done", "one-follower": "queued"}
    assert bench.ran == ["one"]


async def test_nothing_to_do_is_a_state_of_its_own(bench: Bench) -> None:
    await bench.enqueue("one")
    bench.start({"work": bench.noting(lambda _: Done(empty=True))})
    await bench.until("one", TaskState.DONE_EMPTY)


async def test_one_pending_task_per_kind_and_key(bench: Bench) -> None:
    assert await bench.enqueue("one", after=60) is not None
    assert await bench.enqueue("one") is None
    assert await bench.enqueue("one", kind="other", after=60) is not None


async def test_a_passing_fault_is_tried_again_after_its_wait_and_then_succeeds(bench: Bench) -> None:
    faults = [TransientError("busy", timedelta(seconds=7))]

    async def handle(each: Task) -> Done:
        bench.ran.append(each.key)
        if faults:
            raise faults.pop()
        return Done()

    await bench.enqueue("one")
    worker = bench.start({"work": handle})
    await bench.until("one", TaskState.FAILED)
    bench.clock.advance(timedelta(seconds=6))
    worker.ring()
    for _ in range(50):
        await asyncio.sleep(0)
    assert bench.ran == ["one"]
    bench.clock.advance(timedelta(seconds=1))
    worker.ring()
    await bench.until("one", TaskState.DONE)
    assert bench.ran == ["one", "one"]


async def test_a_lasting_fault_buries_at_once_with_its_reason(bench: Bench) -> None:
    async def handle(_: Task) -> Done:
        raise PermanentError("no such thing")

    task_id = await bench.enqueue("one")
    bench.start({"work": handle})
    await bench.until("one", TaskState.DEAD)
    assert task_id is not None
    found = await bench.database.read(lambda c: store.get(c, task_id))
    assert found is not None
    assert (found.error, found.attempts) == ("no such thing", 1)


async def test_a_bug_is_tried_a_bounded_number_of_times_then_dead(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    async def handle(each: Task) -> Done:
        bench.ran.append(each.key)
        raise ValueError("a bug")

    await bench.enqueue("one")
    worker = bench.start({"work": handle})
    for _ in range(2):
        await bench.until("one", TaskState.FAILED)
        bench.clock.advance(timedelta(minutes=5))
        worker.ring()
        await bench.until("one", TaskState.RUNNING)
    await bench.until("one", TaskState.DEAD)
    assert bench.ran == ["one"] * 3
    assert "a bug" in caplog.text


async def test_a_lane_keeps_its_order_and_lanes_do_not_wait_for_each_other(bench: Bench) -> None:
    gate = asyncio.Event()

    async def handle(each: Task) -> Done:
        bench.ran.append(each.key)
        if each.key == "a1":
            await gate.wait()
        return Done()

    for key, lane in (("a1", "a"), ("a2", "a"), ("b1", "b")):
        await bench.enqueue(key, lane=lane)
    bench.start({"work": handle})
    await bench.until("b1", TaskState.DONE)
    assert bench.ran == ["a1", "b1"]
    assert (await bench.states())["a2"] == "queued"
    gate.set()
    await bench.until("a2", TaskState.DONE)


async def test_what_a_dead_process_was_running_runs_again_and_its_late_outcome_is_not_stored(bench: Bench) -> None:
    await bench.enqueue("one")
    now = bench.clock.now()
    old = await bench.database.write(lambda tx: store.claim_due(tx, BootId("boot-0"), now))
    assert old is not None
    worker = bench.start({"work": bench.noting()})
    assert await bench.database.write(worker.recover) == 1
    worker.ring()
    await bench.until("one", TaskState.DONE)
    late = await bench.database.write(
        lambda tx: store.finish(tx, bench.recorder, old, BootId("boot-0"), now, empty=True)
    )
    assert not late
    assert (await bench.states())["one"] == "done"


async def test_a_task_that_kills_its_process_is_buried_after_its_attempts(bench: Bench) -> None:
    await bench.enqueue("one")
    for number in range(3):
        boot = BootId(f"dead-{number}")
        assert await bench.database.write(partial(_die_with, boot=boot, now=bench.clock.now())) is not None
    worker = bench.start({"work": bench.noting()})
    await bench.database.write(worker.recover)
    worker.ring()
    await bench.until("one", TaskState.DEAD)
    assert bench.ran == []


async def test_a_person_revives_a_dead_task(bench: Bench) -> None:
    faults: list[Exception] = [PermanentError("no")]

    async def handle(_: Task) -> Done:
        if faults:
            raise faults.pop()
        return Done()

    task_id = await bench.enqueue("one")
    assert task_id is not None
    worker = bench.start({"work": handle})
    await bench.until("one", TaskState.DEAD)
    assert await bench.database.write(lambda tx: store.revive(tx, bench.recorder, task_id, bench.clock.now()))
    worker.ring()
    await bench.until("one", TaskState.DONE)
    assert not await bench.database.write(lambda tx: store.revive(tx, bench.recorder, task_id, bench.clock.now()))


async def test_every_end_of_a_task_is_audited(bench: Bench) -> None:
    await bench.enqueue("one")
    bench.start({"work": bench.noting()})
    await bench.until("one", TaskState.DONE)
    rows = await bench.database.read(
        lambda c: c.execute(sa.select(audit.c.payload).where(audit.c.type == "task_changed")).all()
    )
    assert len(rows) == 1
    assert '"state":"done"' in rows[0].payload


def _die_with(tx: Tx, *, boot: BootId, now: datetime) -> Task | None:
    store.void_older_boots(tx, boot)
    return store.claim_due(tx, boot, now)


def _queue_follower(tx: Tx, bench: Bench, each: Task) -> None:
    now = bench.clock.now()
    store.enqueue(tx, "later", f"{each.key}-follower", {}, now, lane="a", run_at=now + timedelta(hours=1))
