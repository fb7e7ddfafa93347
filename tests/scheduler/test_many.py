"""Many jobs, long absences and slow runs: nobody waits for the scheduler, and nothing comes in a burst."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta

import pytest
import sqlalchemy as sa

from bot.audit.recorder import Recorder
from bot.kernel.clock import SystemClock
from bot.kernel.ids import JobId
from bot.kernel.supervise import Supervisor, cancel, start
from bot.scheduler.alarm import ApAlarm
from bot.scheduler.model import Cron, Delivery, Every, Kind, Run
from bot.scheduler.store import Claimed, Outcome
from bot.scheduler.tables import job as job_table
from bot.scheduler.tables import occurrence
from bot.scheduler.worker import Fired, Worker
from bot.storage.database import Database, Tx
from tests.clock import START, FakeClock
from tests.scheduler.test_catching_up import job
from tests.scheduler.test_worker import Desk

TICK = timedelta(milliseconds=5)


@pytest.mark.case(113)
async def test_a_thousand_jobs_of_ten_thousand_are_fired_within_a_minute_and_the_loop_goes_on(
    database: Database, supervisor: Supervisor, clock: FakeClock, recorder: Recorder
) -> None:
    """Its figures stand in docs/reliability.md: run it with `-s` to see them."""
    real = SystemClock()
    desk = Desk(database, recorder, clock, supervisor)
    await desk.add(job())
    row = dict(await database.read(lambda c: c.execute(sa.select(job_table)).mappings().one()))
    begun = real.now()

    def fill(tx: Tx) -> None:
        tx.execute(job_table.delete())
        tx.execute(
            job_table.insert(),
            [
                {
                    **row,
                    "id": f"j{number}",
                    "rule": "once",
                    "rule_text": str(int((begun.timestamp() + number / 50) * 1_000_000)),
                    "next_at": begun + (timedelta(seconds=number / 50) if number < 1_000 else timedelta(days=1)),
                }
                for number in range(10_000)
            ],
        )

    await database.write(fill)
    fired: list[float] = []
    finished = asyncio.Event()

    async def handle(claimed: Claimed) -> Fired:
        def apply(tx: Tx) -> Outcome:
            fired.append((real.now() - claimed.occurrence.at).total_seconds())
            if len(fired) == 1_000:
                finished.set()
            return Outcome(Run.DONE, Delivery.NONE)

        return Fired(apply)

    gaps: list[float] = []

    async def tick() -> None:
        while True:
            before = real.monotonic()
            await asyncio.sleep(TICK.total_seconds())
            gaps.append(real.monotonic() - before - TICK.total_seconds())

    worker = Worker(database, recorder, real, supervisor, "a", {Kind.REMINDER: handle}, lambda *_: None)
    alarm = ApAlarm(worker.ring)
    ticking = start("tick", tick())
    running = start("scheduler", worker.run(alarm))
    try:
        async with asyncio.timeout(60):
            await finished.wait()
    finally:
        await cancel(running)
        await cancel(ticking)
        alarm.stop()
    late, gaps = sorted(fired), sorted(gaps)
    print(
        f"fired 1000 of 10000; late p50 {late[500]:.3f} s, p99 {late[990]:.3f} s, most {late[-1]:.3f} s; "
        f"loop delay p99 {gaps[len(gaps) * 99 // 100] * 1000:.1f} ms, most {gaps[-1] * 1000:.1f} ms"
    )
    assert gaps[-1] < 1.0


@pytest.mark.case(113)
async def test_fifty_jobs_after_three_days_of_silence_run_once_each_or_are_skipped(desk: Desk) -> None:
    for number in range(25):
        await desk.add(job(Cron(f"{number} 9 * * *"), grace=timedelta(hours=2), name=f"d{number:02}"))
        await desk.add(job(Every(timedelta(minutes=30), START), grace=timedelta(minutes=5), name=f"e{number:02}"))
    worker = desk.worker("a")
    desk.clock.advance(timedelta(days=3, hours=1, minutes=3))
    fired = 0
    while count := await desk.fire_all(worker):
        fired += count
    assert fired == 50
    assert max(Counter(str(job_id) for _, job_id, _ in desk.fired).values()) == 1
    assert Counter(run for run, _ in await desk.runs()) == {"done": 50, "skipped": 50}


@pytest.mark.case(121)
async def test_a_run_that_takes_longer_than_its_interval_does_not_overlap_itself(desk: Desk) -> None:
    await desk.add(job(Every(timedelta(minutes=1), START - timedelta(minutes=1))))
    worker = desk.worker("a")
    (slow,), _ = await worker.look()
    for _ in range(9):  # it holds the gate all the time
        desk.clock.advance(timedelta(seconds=20))
        assert await worker.look() == ([], None)
    await worker.fire(slow)
    assert await desk.fire_all(worker) == 1
    assert [at for _, _, at in desk.fired] == [START, START + timedelta(minutes=3)]


@pytest.mark.case(120)
async def test_a_restart_just_before_an_instant_is_one_run_of_it(desk: Desk) -> None:
    await desk.add(job(Every(timedelta(minutes=1), START - timedelta(minutes=1))))
    desk.clock.advance(timedelta(seconds=57.6))
    assert await desk.fire_all(desk.worker("a")) == 1
    again = desk.worker("b")
    desk.clock.advance(timedelta(seconds=2.4))
    await desk.fire_all(again)
    await desk.worker("a").stop()
    await desk.fire_all(again)
    assert [at for _, _, at in desk.fired] == [START, START + timedelta(minutes=1)]


@pytest.mark.case(117)
@pytest.mark.case(118)
async def test_the_job_moves_on_with_its_claim_so_a_restart_repeats_and_skips_nothing(desk: Desk) -> None:
    await desk.add(job())
    (claimed,), _ = await desk.worker("a").look()
    assert (await desk.job()).next_at == START + timedelta(days=1)
    desk.clock.advance(timedelta(hours=11, seconds=1))
    found = await desk.worker("b").look()
    assert [each.occurrence.at for each in found[0]] == [claimed.occurrence.at]
    count = await desk.database.read(lambda c: c.execute(sa.select(sa.func.count()).select_from(occurrence)).scalar())
    assert count == 1
    assert claimed.job.id == JobId("j")
