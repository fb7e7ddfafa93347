"""Durable tasks: claimed once, tried again, buried, in order within a lane, one outcome whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

import pytest
import sqlalchemy as sa

from bot.audit.events import Actor
from bot.audit.recorder import Recorder
from bot.audit.tables import audit
from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.ids import BootId, TaskId
from bot.kernel.retry import Backoff
from bot.kernel.supervise import Supervisor, start
from bot.storage.database import Database, Tx
from bot.tasks import store
from bot.tasks.store import Task
from bot.tasks.tables import TaskState, task
from bot.tasks.worker import Done, Handler, Later, Worker
from tests.clock import FakeClock
from tests.intake.test_query_plans import statements

BOOT = BootId("boot-1")
ANN = Actor("person", "ann")


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
    assert [each.task.id for each in await bench.database.read(lambda c: store.in_trouble(c, 10))] == [task_id]
    assert await bench.database.write(lambda tx: store.revive(tx, bench.recorder, task_id, ANN, bench.clock.now()))
    assert await bench.database.read(lambda c: store.in_trouble(c, 10)) == []
    worker.ring()
    await bench.until("one", TaskState.DONE)
    assert not await bench.database.write(lambda tx: store.revive(tx, bench.recorder, task_id, ANN, bench.clock.now()))


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


async def test_what_cannot_be_done_yet_keeps_its_place_and_counts_no_attempt(bench: Bench) -> None:
    later = [Later(bench.clock.now() + timedelta(hours=1), "over budget")]

    async def handle(each: Task) -> Done | Later:
        bench.ran.append(each.key)
        return later.pop() if later else Done()

    first = await bench.enqueue("one")
    await bench.enqueue("two")
    assert first is not None
    bench.start({"work": handle})
    async with asyncio.timeout(20):
        while not bench.ran or (await bench.states())["one"] != "queued":
            await bench.changed.wait()
            bench.changed.clear()
    waiting = await bench.database.read(lambda c: store.get(c, first))
    assert waiting is not None
    assert (waiting.attempts, waiting.error) == (0, "over budget")
    assert bench.ran == ["one"]  # "two" is of the same lane
    bench.clock.advance(timedelta(hours=1, seconds=1))
    await bench.until("two", TaskState.DONE)
    assert bench.ran == ["one", "one", "two"]


async def test_failures_are_told_in_the_transaction_that_notes_them(bench: Bench) -> None:
    heard: list[tuple[str, str, bool]] = []

    async def handle(each: Task) -> Done:
        raise PermanentError("no such thing")

    await bench.enqueue("one")
    worker = Worker(
        bench.database,
        bench.recorder,
        bench.clock,
        bench.supervisor,
        BOOT,
        {"work": handle},
        Backoff(),
        failed={"work": lambda tx, each, error, final: heard.append((each.key, error, final))},
    )
    bench.supervisor.service("tasks", worker.run())
    await bench.until("one", TaskState.DEAD)
    assert heard == [("one", "no such thing", True)]
    trouble = await bench.database.read(store.trouble)
    assert trouble == {"work": {"dead": 1}}


async def test_a_drained_worker_ends_what_runs_and_claims_nothing_more(bench: Bench) -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def handle(each: Task) -> Done:
        bench.ran.append(each.key)
        begun.set()
        await may_end.wait()
        return Done()

    await bench.enqueue("one")
    worker = bench.start({"work": handle})
    await begun.wait()
    await bench.enqueue("two", lane="b")
    drained = start("drain", worker.drain(timedelta(seconds=30)))
    await asyncio.sleep(0)
    may_end.set()
    assert await drained
    assert await bench.states() == {"one": "done", "two": "queued"}
    assert bench.ran == ["one"]


async def test_a_person_drops_a_task_and_says_why(bench: Bench) -> None:
    async def handle(each: Task) -> Done:
        raise PermanentError("no such thing")

    dead = await bench.enqueue("one")
    assert dead is not None
    bench.start({"work": handle})
    await bench.until("one", TaskState.DEAD)
    actor = Actor("system", "operator")
    assert await bench.database.write(lambda tx: store.drop(tx, bench.recorder, dead, actor, "not needed"))
    assert not await bench.database.write(lambda tx: store.drop(tx, bench.recorder, dead, actor, "not needed"))
    assert await bench.states() == {}
    row = await bench.database.read(
        lambda c: c.execute(sa.select(audit.c.type, audit.c.payload).order_by(audit.c.id.desc()).limit(1)).one()
    )
    assert row.type == "task_changed"
    assert "dropped" in str(row.payload)


async def test_what_has_ended_well_is_not_dropped(bench: Bench) -> None:
    done = await bench.enqueue("one")
    assert done is not None
    bench.start({"work": bench.noting()})
    await bench.until("one", TaskState.DONE)
    actor = Actor("system", "operator")
    assert not await bench.database.write(lambda tx: store.drop(tx, bench.recorder, done, actor, "away with it"))


async def test_tasks_are_listed_newest_first_and_by_state_and_kind(bench: Bench) -> None:
    for key, kind in (("one", "work"), ("two", "work"), ("three", "other")):
        await bench.enqueue(key, kind=kind, after=60)
    every = await bench.database.read(lambda c: store.listed(c, 10))
    assert [each.task.key for each in every] == ["three", "two", "one"]
    some = await bench.database.read(lambda c: store.listed(c, 10, (TaskState.QUEUED,), "work"))
    assert [each.task.key for each in some] == ["two", "one"]
    assert await bench.database.read(lambda c: store.listed(c, 10, (TaskState.DEAD,))) == []


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> asyncio.Queue[datetime | None]:
    """Every look of the runner for what is due next, with what it found."""
    found: asyncio.Queue[datetime | None] = asyncio.Queue()
    next_due = store.next_due

    def look(connection: sa.Connection) -> datetime | None:
        due = next_due(connection)
        found.put_nowait(due)
        return due

    monkeypatch.setattr(store, "next_due", look)
    return found


async def test_a_runner_that_looks_by_then_of_its_own_is_not_woken(
    bench: Bench, looks: asyncio.Queue[datetime | None]
) -> None:
    start = bench.clock.now()
    await bench.enqueue("one", after=10)
    worker = bench.start({"work": bench.noting()})
    assert await bench.clock.next_sleep() == timedelta(seconds=10)
    for number in range(20):
        await bench.enqueue(f"later-{number}", lane=f"b{number}", after=11)
        worker.ring(start + timedelta(seconds=11))
        await asyncio.sleep(0)
    assert await looks.get() == start + timedelta(seconds=10)
    assert looks.empty()
    await bench.enqueue("sooner", lane="c", after=5)
    worker.ring(start + timedelta(seconds=5))
    assert await looks.get() == start + timedelta(seconds=5)
    assert await bench.clock.next_sleep() == timedelta(seconds=5)
    bench.clock.advance(timedelta(seconds=5))
    await bench.until("sooner", TaskState.DONE)
    assert bench.ran == ["sooner"]


async def test_a_task_that_was_dropped_meanwhile_holds_up_none_that_comes_after_it(
    bench: Bench, looks: asyncio.Queue[datetime | None]
) -> None:
    start = bench.clock.now()
    first = await bench.enqueue("one", after=10)
    assert first is not None
    worker = bench.start({"work": bench.noting()})
    await bench.enqueue("two", after=12)
    worker.ring(start + timedelta(seconds=12))
    actor = Actor("system", "tests")
    assert await bench.database.write(lambda tx: store.drop(tx, bench.recorder, first, actor, "not wanted"))
    assert await looks.get() == start + timedelta(seconds=10)
    assert await bench.clock.next_sleep() == timedelta(seconds=10)
    bench.clock.advance(timedelta(seconds=10))
    assert await looks.get() == start + timedelta(seconds=12)
    assert await bench.clock.next_sleep() == timedelta(seconds=2)
    bench.clock.advance(timedelta(seconds=2))
    await bench.until("two", TaskState.DONE)
    assert bench.ran == ["two"]


async def test_what_waits_long_since_behind_its_lane_hides_nothing_that_is_due_soon_in_another(bench: Bench) -> None:
    await bench.enqueue("head", lane="slow", after=600)
    await bench.enqueue("behind", lane="slow")
    await bench.enqueue("soon", lane="b", after=2)
    due = await bench.database.read(store.next_due)
    assert due == bench.clock.now() + timedelta(seconds=2)
    bench.start({"work": bench.noting()})
    assert await bench.clock.next_sleep() == timedelta(seconds=2)
    bench.clock.advance(timedelta(seconds=2))
    await bench.until("soon", TaskState.DONE)
    assert bench.ran == ["soon"]


async def test_what_is_due_is_found_along_an_index_whatever_was_done_before(bench: Bench) -> None:
    await bench.enqueue("one")
    with statements() as ran:
        await bench.database.read(store.next_due)
        assert await bench.database.write(lambda tx: store.claim_due(tx, BOOT, bench.clock.now())) is not None

    def plans(connection: sa.Connection) -> list[str]:
        of_tasks = [(text, given) for text, given in ran.items() if "task" in text]
        assert len(of_tasks) == 2
        return [
            row.detail
            for text, given in of_tasks
            for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", given)
            if row.detail.startswith(("SCAN", "SEARCH"))
        ]

    assert [each for each in await bench.database.read(plans) if "USING" not in each] == []


async def test_what_failed_is_found_along_an_index_however_much_was_done(bench: Bench) -> None:
    with statements() as ran:
        await bench.database.read(lambda c: (store.in_trouble(c, 10), store.trouble(c), store.counts(c)))

    def plans(connection: sa.Connection) -> list[str]:
        return [
            row.detail
            for text, given in ran.items()
            if "FROM task" in text
            for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", given)
            if row.detail.startswith(("SCAN", "SEARCH"))
        ]

    found = await bench.database.read(plans)
    assert len(found) == 4
    assert sum("USING INDEX ix_task_trouble" in each for each in found) == 3, found
    assert all("USING INDEX" in each for each in found), found
