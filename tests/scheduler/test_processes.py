"""Several scheduler processes on one database: killed, stopped, with wrong clocks, each occurrence is run once."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.audit.recorder import Recorder
from bot.kernel.clock import SystemClock
from bot.kernel.ids import JobId, PersonId
from bot.kernel.supervise import cancel, start
from bot.scheduler import store
from bot.scheduler.model import Every, Job, JobState, Kind, Once, Rule
from bot.scheduler.triggers import next_after
from bot.storage.database import Database, Tx
from tests.memory.claims import MARTA

ROOT = Path(__file__).parent.parent.parent
LEASE = 2.0
PATIENCE = 60.0

pytestmark = pytest.mark.timeout(240)


@dataclass
class Runner:
    name: str
    process: Process
    skew: Path
    lines: list[str] = field(default_factory=list)

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)

    def wrong_by(self, seconds: float) -> None:
        """Written beside and moved there: it is read at any moment."""
        fresh = self.skew.with_suffix(".new")
        fresh.write_text(str(seconds))
        fresh.replace(self.skew)


@dataclass
class House:
    database: Database
    recorder: Recorder
    folder: Path
    runners: list[Runner] = field(default_factory=list)
    readers: list[asyncio.Task[None]] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def start(self, name: str, wrong_by: float = 0) -> Runner:
        skew = self.folder / f"{name}.skew"
        skew.write_text(str(wrong_by))
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.scheduler.runner", str(self.folder / "store.db"), name, str(LEASE), str(skew),
            cwd=ROOT, stdout=PIPE,
        )  # fmt: skip
        runner = Runner(name, process, skew)
        self.runners.append(runner)
        self.readers.append(start(f"read {name}", self._read(runner)))
        await self.until(lambda: f"ready {name}" in runner.lines)
        return runner

    async def _read(self, runner: Runner) -> None:
        assert runner.process.stdout is not None
        while line := await runner.process.stdout.readline():
            runner.lines.append(line.decode().strip())
            self.changed.set()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Look again after every line that a process writes."""
        async with asyncio.timeout(PATIENCE):
            while not holds():
                self.changed.clear()
                await self.changed.wait()

    async def freeze(self, runner: Runner) -> None:
        """Stop it between its transactions: one that is stopped within one keeps everybody from writing."""
        async with asyncio.timeout(PATIENCE):
            while True:
                runner.signal(signal.SIGSTOP)
                with closing(sqlite3.connect(self.folder / "store.db", timeout=0.3)) as connection:
                    try:
                        connection.execute("BEGIN IMMEDIATE")
                        connection.rollback()
                    except sqlite3.OperationalError:
                        runner.signal(signal.SIGCONT)
                        await asyncio.sleep(0.05)
                        continue
                return

    def done(self) -> list[str]:
        """Jobs whose effects were written, one entry for each time."""
        return [line.split()[2] for runner in self.runners for line in runner.lines if line.startswith("done")]

    async def add(self, name: str, rule: Rule, seconds: float = 0) -> None:
        now = SystemClock().now()
        job = Job(
            JobId(name), Kind.REMINDER, name, rule, "UTC", PersonId("ada"), None, {"seconds": seconds},
            timedelta(days=2), JobState.ACTIVE, next_after(rule, "UTC", now), 0, now, None, 1,
        )  # fmt: skip
        await self.database.write(lambda tx: store.add(tx, self.recorder, job, MARTA))

    async def effects(self) -> list[tuple[str, int, str]]:
        rows = await self.database.read(
            lambda c: c.exec_driver_sql("SELECT job, at, holder FROM effect ORDER BY job, at").all()
        )
        return [(row[0], row[1], row[2]) for row in rows]

    async def occurrences(self) -> list[tuple[str, str, int]]:
        rows = await self.database.read(
            lambda c: c.exec_driver_sql("SELECT job_id, run, attempts FROM occurrence ORDER BY job_id, at").all()
        )
        return [(row[0], row[1], row[2]) for row in rows]


@pytest.fixture
async def house(database: Database, recorder: Recorder, tmp_path: Path) -> AsyncIterator[House]:
    def table(tx: Tx) -> None:
        tx.connection.exec_driver_sql("CREATE TABLE effect (job TEXT, at INTEGER, holder TEXT)")

    await database.write(table)
    house = House(database, recorder, tmp_path)
    yield house
    for runner in house.runners:
        if runner.process.returncode is None:
            runner.signal(signal.SIGKILL)
            await runner.process.wait()
    for reader in house.readers:
        await cancel(reader)


def soon(seconds: float) -> Once:
    return Once(datetime.now(UTC) + timedelta(seconds=seconds))  # noqa: TID251 - real processes in real time


@pytest.mark.case(119)
async def test_of_three_processes_each_occurrence_is_run_by_one(house: House) -> None:
    for name in ("a", "b", "c"):
        await house.start(name)
    wanted = {f"j{number}" for number in range(60)}
    for number, name in enumerate(sorted(wanted)):
        await house.add(name, soon(1 + number % 3))
    await house.until(lambda: wanted <= set(house.done()))
    assert sorted(job for job, _, _ in await house.effects()) == sorted(wanted)
    assert {(run, attempts) for _, run, attempts in await house.occurrences()} == {("done", 1)}


async def test_the_holder_killed_in_the_middle_of_a_firing_leaves_it_to_the_next_one(house: House) -> None:
    a = await house.start("a")
    await house.add("slow", soon(0.5), seconds=3)
    await house.until(lambda: "begun a slow" in a.lines)
    b = await house.start("b")
    a.signal(signal.SIGKILL)
    await house.until(lambda: "done b slow" in b.lines)
    assert [(job, holder) for job, _, holder in await house.effects()] == [("slow", "b")]
    assert await house.occurrences() == [("slow", "done", 2)]


async def test_a_process_stopped_past_its_lease_stores_nothing_when_it_goes_on(house: House) -> None:
    a = await house.start("a")
    await house.add("slow", soon(0.5), seconds=4)
    await house.until(lambda: "begun a slow" in a.lines)
    b = await house.start("b")
    await house.freeze(a)
    await house.until(lambda: "done b slow" in b.lines)
    a.signal(signal.SIGCONT)
    await house.add("next", soon(0.5))
    b.signal(signal.SIGKILL)  # so that a must have gone on, and looked at its late outcome before
    await house.until(lambda: "done a next" in a.lines)
    assert [(job, holder) for job, _, holder in await house.effects()] == [("next", "a"), ("slow", "b")]
    assert ("slow", "done", 2) in await house.occurrences()


@pytest.mark.case(117)
@pytest.mark.parametrize("jump", [-3_600.0, 3_600.0], ids=["back", "forward"])
async def test_a_clock_that_jumps_by_an_hour_doubles_nothing(house: House, jump: float) -> None:
    a = await house.start("a")
    await house.start("b")
    now = SystemClock().now()
    await house.add("again", Every(timedelta(minutes=20), now - timedelta(minutes=19, seconds=58)))
    await house.until(lambda: "again" in house.done())
    a.wrong_by(jump)
    await house.add("one", soon(1))
    await house.until(lambda: "one" in house.done())
    a.wrong_by(0)
    await house.add("two", soon(LEASE + 1))
    await house.until(lambda: "two" in house.done())
    effects = await house.effects()
    assert len({(job, at) for job, at, _ in effects}) == len(effects)
    assert {"again", "one", "two"} <= {job for job, _, _ in effects}
    assert {run for _, run, _ in await house.occurrences()} <= {"done", "skipped"}
