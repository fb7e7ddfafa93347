"""A process that is killed in the middle of the index's upkeep leaves nothing that the next one cannot use."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bot.kernel.supervise import Supervisor
from bot.storage.database import Database
from tests.retrieval.shelf import Shelf

ITEMS = {f"{number:04}": f"item{number} of the store" for number in range(300)}

WORKER = """
import asyncio, sys
from pathlib import Path
from bot.retrieval import tables, store
from bot.kernel.supervise import Supervisor
from bot.storage.database import Database
from tests.retrieval.shelf import Shelf
from tests.retrieval.test_kill import ITEMS

async def main(folder):
    async with Database.open(folder / "store.db") as database:
        shelf = Shelf(database, folder / "vectors", Supervisor())
        await shelf.put("a", ITEMS)
        index = shelf.index()
        print("ready", flush=True)
        while True:
            await index.catch_up()
            print("built", flush=True)
            await shelf.take("0007")
            await index.rebuild()
            await shelf.put("a", {"0007": ITEMS["0007"]})

asyncio.run(main(Path(sys.argv[1])))
"""


@pytest.mark.parametrize("seed", range(3))
async def test_killed_at_any_moment_the_index_is_whole_after_the_next_catch_up(
    tmp_path: Path, all_tables: list[str], seed: int
) -> None:
    await asyncio.to_thread(_run_and_kill, tmp_path, seed)
    async with Database.open(tmp_path / "store.db") as database:
        supervisor = Supervisor()
        shelf = Shelf(database, tmp_path / "vectors", supervisor)
        await shelf.put("a", ITEMS)
        index = shelf.index()
        await index.catch_up()
        for number in (0, 7, 150, 299):
            assert await shelf.found(index, ITEMS[f"{number:04}"], limit=1) == [f"{number:04}"]
        assert len(list((tmp_path / "vectors").glob("g*"))) == 1
        await index.close()
        await supervisor.stop()


def _run_and_kill(folder: Path, seed: int) -> None:
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(folder)], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    )
    assert worker.stdout is not None
    assert worker.stdout.readline() == "ready\n"
    if seed:
        assert worker.stdout.readline() == "built\n"
    try:
        worker.wait(timeout=random.Random(seed).uniform(0.05, 1.5))
    except subprocess.TimeoutExpired:
        worker.send_signal(signal.SIGKILL)
    assert worker.wait() == -signal.SIGKILL
    worker.stdout.close()
