"""A process that is killed while it takes documents in or removes them loses none, doubles none and half-finds none."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from bot.audit.recorder import Recorder
from bot.kernel.logs import Redactor
from bot.kernel.supervise import Supervisor
from bot.knowledge.model import Status
from bot.storage.database import Database
from tests.clock import FakeClock
from tests.conftest import KEY
from tests.knowledge.desk import OPERATOR, Desk, build

PARTS = 60

WORKER = """
import asyncio, sys
from pathlib import Path
from bot.audit.recorder import Recorder
from bot.kernel.logs import Redactor
from bot.kernel.supervise import Supervisor
from bot.storage.database import Database
from tests.clock import FakeClock
from tests.conftest import KEY
from tests.knowledge.desk import build
from tests.knowledge.test_kill import text

async def main(folder):
    async with Database.open(folder / "store.db") as database:
        clock = FakeClock()
        recorder = await Recorder.open(database, clock, KEY, Redactor())
        desk = await build(folder, database, recorder, clock, Supervisor())
        print("ready", flush=True)
        for number in range(1_000):
            document = await desk.bring(text(number), f"{number}.md")
            print(f"took {number}", flush=True)
            if number % 3 == 2:
                await desk.library.remove(document.id, None)
                print(f"removed {number}", flush=True)
                await desk.work()

asyncio.run(main(Path(sys.argv[1])))
"""


def text(number: int) -> bytes:
    return "\n\n".join(f"# Part {part}\n\nquagga{number} says {part}" for part in range(PARTS)).encode()


@pytest.mark.parametrize("seed", range(3))
async def test_killed_at_any_moment(tmp_path: Path, all_tables: list[str], seed: int) -> None:
    said = await asyncio.to_thread(_run_and_kill, tmp_path, random.Random(seed).uniform(0.5, 3))
    clock = FakeClock()
    async with Database.open(tmp_path / "store.db") as database:
        recorder = await Recorder.open(database, clock, KEY, Redactor())
        supervisor = Supervisor()
        desk = await _again(tmp_path, database, recorder, clock, supervisor)
        removed = {int(line.split()[1]) for line in said if line.startswith("removed")}
        took = {int(line.split()[1]) for line in said if line.startswith("took")} - removed
        documents = {each.name: each for each in await desk.library.listed(OPERATOR, statuses=list(Status))}
        assert not {f"{number}.md" for number in removed} & documents.keys()
        begun = max(took | removed, default=-1) + 1
        for number in took:
            # The kill may have come between the removal and the word of it.
            if f"{number}.md" in documents:
                assert documents[f"{number}.md"].status is Status.APPROVED
                assert documents[f"{number}.md"].chunks == PARTS
            else:
                assert number % 3 == 2
                assert number == max(took)
        if (half := documents.get(f"{begun}.md")) is not None:
            assert half.status in (Status.APPROVED, Status.PENDING)
            assert half.chunks == PARTS
        stored = await database.read(lambda c: c.exec_driver_sql("SELECT count(*) FROM chunk").scalar_one())
        assert stored == PARTS * len(documents)
        on_disk = desk.bytes_on_disk()
        assert not [number for number in removed if f"quagga{number} ".encode() in on_disk]
        await supervisor.stop()
        await desk.index.close()


async def _again(
    folder: Path, database: Database, recorder: Recorder, clock: FakeClock, supervisor: Supervisor
) -> Desk:
    """The next process: it voids what the last one had claimed and does what is due, that behind readings too."""
    desk = await build(folder, database, recorder, clock, supervisor)
    await database.write(desk.runner.recover)
    clock.advance(timedelta(minutes=10))
    desk.built_in.there.set()
    await desk.work()
    return desk


def _run_and_kill(folder: Path, after: float) -> list[str]:
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(folder)], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    )
    assert worker.stdout is not None
    assert worker.stdout.readline() == "ready\n"
    try:
        worker.wait(timeout=after)
    except subprocess.TimeoutExpired:
        worker.send_signal(signal.SIGKILL)
    rest = worker.stdout.read()
    assert worker.wait() == -signal.SIGKILL
    worker.stdout.close()
    return rest.splitlines()
