"""Firing under the gate: each occurrence has one run, whoever holds the gate, dies, or comes too late."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa

from bot.audit import timeline
from bot.audit.recorder import Recorder
from bot.kernel.errors import PermanentError
from bot.kernel.ids import JobId, OutboxId
from bot.kernel.supervise import Supervisor
from bot.scheduler import store
from bot.scheduler.catching_up import due
from bot.scheduler.gate import LEASE
from bot.scheduler.model import Cron, Delivery, Every, Job, JobState, Kind, Once, Run
from bot.scheduler.store import Claimed, Outcome
from bot.scheduler.tables import job as job_table
from bot.scheduler.tables import occurrence
from bot.scheduler.worker import AT_ONCE, Fired, Worker
from bot.storage.database import Database, Tx
from tests.clock import START, FakeClock
from tests.memory.claims import MARTA
from tests.scheduler.test_catching_up import job

DAY = timedelta(days=1)


@dataclass
class Desk:
    database: Database
    recorder: Recorder
    clock: FakeClock
    supervisor: Supervisor
    fired: list[tuple[str, JobId, datetime]] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    fails: str | None = None

    def worker(self, holder: str) -> Worker:
        async def handle(claimed: Claimed) -> Fired:
            if self.fails is not None:
                raise PermanentError(self.fails)

            def apply(tx: Tx) -> Outcome:
                self.fired.append((holder, claimed.job.id, claimed.occurrence.at))
                return Outcome(Run.DONE, Delivery.QUEUED, outbox=OutboxId(f"o{len(self.fired)}"))

            return Fired(apply)

        def tell(tx: Tx, claimed: Claimed, outcome: Outcome) -> None:
            self.told.append(outcome.note or "")

        handlers = dict.fromkeys((Kind.REMINDER, Kind.UPKEEP), handle)
        return Worker(self.database, self.recorder, self.clock, self.supervisor, holder, handlers, tell)

    async def add(self, new: Job) -> Job:
        await self.database.write(lambda tx: store.add(tx, self.recorder, new, MARTA))
        return new

    async def fire_all(self, worker: Worker) -> int:
        claimed, _ = await worker.look()
        for each in claimed:
            await worker.fire(each)
        return len(claimed)

    async def job(self, job_id: str = "j") -> Job:
        found = await self.database.read(lambda c: store.get(c, JobId(job_id)))
        assert found is not None
        return found

    async def runs(self) -> list[tuple[str, int]]:
        rows = await self.database.read(lambda c: c.execute(sa.select(occurrence).order_by(occurrence.c.at)).all())
        return [(row.run, row.fence) for row in rows]

    async def audited(self, *types: str) -> list[str]:
        entries = await self.database.read(lambda c: timeline.newest(c, 100))
        return sorted(entry.type for entry in entries if entry.type in types)


async def test_one_of_two_processes_fires(desk: Desk) -> None:
    await desk.add(job())
    a, b = desk.worker("a"), desk.worker("b")
    assert await desk.fire_all(a) == 1
    assert await desk.fire_all(b) == 0
    assert (a.holds, b.holds) == (True, False)
    assert [holder for holder, _, _ in desk.fired] == ["a"]
    assert (await desk.job()).next_at == START + DAY
    assert await desk.runs() == [("done", 1)]


async def test_who_holds_the_gate_prolongs_it_and_the_other_waits_for_its_end(desk: Desk) -> None:
    a, b = desk.worker("a"), desk.worker("b")
    await a.look()
    for _ in range(4):
        desk.clock.advance(LEASE / 2)
        await a.look()
        await b.look()
        assert (a.holds, b.holds) == (True, False)
    desk.clock.advance(LEASE)
    await b.look()
    await a.look()
    assert (a.holds, b.holds) == (False, True)
    assert await desk.audited("scheduler_gate_taken") == ["scheduler_gate_taken"] * 2


async def test_a_process_that_dies_in_the_middle_leaves_its_occurrence_to_the_next_holder(desk: Desk) -> None:
    await desk.add(job())
    a, b = desk.worker("a"), desk.worker("b")
    await a.look()
    desk.clock.advance(LEASE)
    assert await desk.fire_all(b) == 1
    assert [holder for holder, _, _ in desk.fired] == ["b"]
    assert await desk.runs() == [("done", 2)]


async def test_the_outcome_of_a_process_that_was_paused_past_its_lease_is_dropped(desk: Desk) -> None:
    await desk.add(job())
    a, b = desk.worker("a"), desk.worker("b")
    (late,), _ = await a.look()
    desk.clock.advance(LEASE)
    (taken,), _ = await b.look()
    await a.fire(late)
    assert desk.fired == []
    await b.fire(taken)
    await a.fire(late)
    assert [holder for holder, _, _ in desk.fired] == ["b"]
    assert await desk.runs() == [("done", 2)]
    assert await desk.audited("scheduler_gate_lost", "schedule_fired") == [
        "schedule_fired", "scheduler_gate_lost", "scheduler_gate_lost"
    ]  # fmt: skip


async def test_an_outcome_after_the_lease_counts_as_long_as_nobody_else_has_the_gate(desk: Desk) -> None:
    await desk.add(job())
    a = desk.worker("a")
    (claimed,), _ = await a.look()
    desk.clock.advance(10 * LEASE)
    await a.fire(claimed)
    assert await desk.runs() == [("done", 1)]


@pytest.mark.parametrize("jump", [-3 * DAY, 3 * DAY], ids=["back", "forward"])
async def test_a_clock_that_jumps_doubles_nothing(desk: Desk, jump: timedelta) -> None:
    await desk.add(job(grace=10 * DAY))
    a, b = desk.worker("a"), desk.worker("b")
    assert await desk.fire_all(a) == 1
    desk.clock.advance(jump)
    await desk.fire_all(b)
    await desk.fire_all(a)
    at = [instant for _, _, instant in desk.fired]
    assert len(at) == len(set(at))
    desk.clock.advance(-jump + timedelta(hours=1))
    await desk.fire_all(a)
    await desk.fire_all(b)
    at = [instant for _, _, instant in desk.fired]
    assert len(at) == len(set(at))


async def test_a_job_that_kills_its_process_each_time_fails_at_last(desk: Desk) -> None:
    await desk.add(job())
    workers = [desk.worker(f"w{number}") for number in range(4)]
    for worker in workers[:3]:
        await worker.look()
        desk.clock.advance(LEASE)
    await desk.fire_all(workers[3])
    assert desk.fired == []
    assert desk.told == ["its process died each time"]
    assert (await desk.runs())[0][0] == "failed"


async def test_repeated_failure_pauses_the_job_and_its_owner_hears_of_each(desk: Desk) -> None:
    await desk.add(job(Every(timedelta(hours=1), START)))
    worker = desk.worker("a")
    desk.fails = "the printer is on fire"
    for _ in range(3):
        await desk.fire_all(worker)
        desk.clock.advance(timedelta(hours=1))
    found = await desk.job()
    assert found.state is JobState.PAUSED
    assert found.paused_because == "it failed 3 times in a row: the printer is on fire"
    assert desk.told == ["the printer is on fire"] * 3
    assert await desk.fire_all(worker) == 0


async def test_a_success_forgives_earlier_failures(desk: Desk) -> None:
    await desk.add(job(Every(timedelta(hours=1), START)))
    worker = desk.worker("a")
    for fails in ("x", "x", None, "x", "x"):
        desk.fails = fails
        await desk.fire_all(worker)
        desk.clock.advance(timedelta(hours=1))
    assert (await desk.job()).state is JobState.ACTIVE


async def test_what_was_missed_for_days_is_skipped_in_one_row_and_runs_once(desk: Desk) -> None:
    await desk.add(job(Cron("0 9 * * *")))
    worker = desk.worker("a")
    desk.clock.advance(3 * DAY + timedelta(hours=1))
    assert await desk.fire_all(worker) == 1
    assert await desk.runs() == [("skipped", 1), ("done", 1)]
    assert await desk.audited("schedule_skipped") == ["schedule_skipped"]


async def test_after_three_days_fifty_jobs_catch_up_by_the_rule_and_not_in_a_burst(desk: Desk) -> None:
    """Thirty daily ones, ten every hour, ten once: at most one run each, and the rest is accounted for."""
    jobs = [
        *(job(Cron(f"{n} 9 * * *"), name=f"d{n}", grace=timedelta(hours=n % 6)) for n in range(30)),
        *(job(Every(timedelta(hours=1), START), name=f"h{n}", grace=timedelta(hours=n % 2)) for n in range(10)),
        *(job(Once(START + n * DAY / 3), name=f"o{n}", grace=DAY) for n in range(10)),
    ]
    for each in jobs:
        await desk.add(each)
    worker = desk.worker("a")
    desk.clock.advance(3 * DAY + timedelta(hours=2, minutes=20))
    now = desk.clock.now()
    fired = 0
    while found := await desk.fire_all(worker):
        fired += found
    expected = {each.id: due(each, now) for each in jobs}
    runs = Counter(name for _, name, _ in desk.fired)
    assert max(runs.values()) == 1
    assert set(runs) == {name for name, one in expected.items() if one is not None and one.run is not None}
    assert fired == len(desk.fired) < len(jobs)
    skipped = sum(one.count for one in expected.values() if one is not None)
    audited = await desk.database.read(lambda c: timeline.newest(c, 1_000, ("schedule_skipped",)))
    assert sum(int(str(each.payload["count"])) for each in audited) == skipped > 200
    for each in jobs:
        after = await desk.job(each.id)
        assert after.next_at is None or after.next_at > now
    assert (await worker.look())[0] == [], "nothing is left for a second wave"


async def test_while_an_operator_has_stopped_firing_only_upkeep_goes_on(desk: Desk) -> None:
    await desk.add(job())
    upkeep = Job(
        JobId("u"), Kind.UPKEEP, "u", Cron("0 9 * * *"), "UTC", None, None, {}, DAY, JobState.ACTIVE, START, 0, START,
        None, 1,
    )  # fmt: skip
    await desk.add(upkeep)
    await desk.database.write(lambda tx: store.stop_firing(tx, desk.recorder, MARTA, "holidays", START))
    worker = desk.worker("a")
    await desk.fire_all(worker)
    assert [job_id for _, job_id, _ in desk.fired] == ["u"]
    await desk.database.write(lambda tx: store.let_fire(tx, desk.recorder, MARTA))
    await desk.fire_all(worker)
    assert [job_id for _, job_id, _ in desk.fired] == ["u", "j"]


async def test_a_clean_stop_hands_the_gate_over_at_once(desk: Desk) -> None:
    a, b = desk.worker("a"), desk.worker("b")
    await a.look()
    await a.stop()
    await b.look()
    assert b.holds


async def test_a_job_changed_by_somebody_else_meanwhile_is_not_changed(desk: Desk) -> None:
    seen = await desk.add(job())
    await desk.database.write(
        lambda tx: store.change(tx, desk.recorder, seen, "paused", MARTA, START, because="holidays")
    )
    with pytest.raises(PermanentError, match="meanwhile"):
        await desk.database.write(lambda tx: store.change(tx, desk.recorder, seen, "removed", MARTA, START))
    paused = await desk.job()
    desk.clock.advance(timedelta(hours=1))
    after = await desk.database.write(
        lambda tx: store.change(tx, desk.recorder, paused, "resumed", MARTA, desk.clock.now())
    )
    assert (after.state, after.next_at) == (JobState.ACTIVE, START + DAY)


class _Alarm:
    def __init__(self) -> None:
        self.times: asyncio.Queue[datetime | None] = asyncio.Queue()

    def set(self, at: datetime | None) -> None:
        self.times.put_nowait(at)

    async def until(self, at: datetime) -> None:
        async with asyncio.timeout(20):
            while await self.times.get() != at:
                pass


async def test_the_worker_sets_its_alarm_to_the_next_instant_and_fires_when_it_rings(desk: Desk) -> None:
    await desk.add(job())
    worker, alarm = desk.worker("a"), _Alarm()
    desk.supervisor.service("scheduler", worker.run(alarm))
    await alarm.until(START + DAY)
    desk.clock.advance(DAY)
    worker.ring()
    await alarm.until(START + 2 * DAY)
    assert await desk.supervisor.drain(timedelta(seconds=20))
    assert [at for _, _, at in desk.fired] == [START, START + DAY]


async def test_ten_thousand_jobs_of_which_a_thousand_are_due_are_claimed_in_a_few_transactions(desk: Desk) -> None:
    await desk.add(job())
    row = dict(await desk.database.read(lambda c: c.execute(sa.select(job_table)).mappings().one()))

    def fill(tx: Tx) -> None:
        rows = [
            {**row, "id": f"j{number}", "next_at": START if number < 1_000 else START + DAY}
            for number in range(1, 10_000)
        ]
        tx.execute(job_table.insert(), rows)

    await desk.database.write(fill)
    worker = desk.worker("a")
    claimed: list[Claimed] = []
    looks = 0
    while True:
        found, _ = await worker.look()
        looks += 1
        claimed += found
        if not found:
            break
    assert len({each.job.id for each in claimed}) == 1_000
    assert looks == 1_000 // AT_ONCE + 1
