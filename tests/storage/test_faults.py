"""A full disk, a held lock, a broken file: said as one of the two kinds of failure, and nothing half-stored."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from bot.intake.tables import cursor
from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.supervise import Supervisor
from bot.storage import migrate
from bot.storage.database import Database, StoreBusyError, StoreDamagedError, StoreLockedError, Tx
from tests.storage.test_database import Commits, names, put


async def _set(database: Database, pragma: str) -> None:
    await database.write(lambda tx: tx.execute(sa.text(f"PRAGMA {pragma}")).close())


async def test_a_full_disk_is_a_passing_fault_that_stores_nothing_of_the_unit(database: Database) -> None:
    pages = await database.read(lambda c: c.exec_driver_sql("PRAGMA page_count").scalar())
    await _set(database, f"max_page_count = {pages}")

    def half(tx: Tx) -> None:
        put("small")(tx)
        put("large", "x" * 1_000_000)(tx)

    with pytest.raises(StoreBusyError, match="full") as caught:
        await database.write(half)
    assert isinstance(caught.value, TransientError)
    assert await database.read(names) == []
    assert "full" in (database.trouble or "")
    await _set(database, "max_page_count = 1000000")
    assert database.trouble is None
    await database.write(half)
    assert await database.read(names) == ["large", "small"]


async def test_a_unit_that_does_not_fit_leaves_its_companions_alone(database: Database, supervisor: Supervisor) -> None:
    pages = await database.read(lambda c: c.exec_driver_sql("PRAGMA page_count").scalar())
    await _set(database, f"max_page_count = {pages}")
    units = [put("first"), put("a"), put("large", "x" * 1_000_000), put("b")]
    jobs = [supervisor.job("write", database.write(unit)) for unit in units]
    results = await asyncio.gather(*jobs, return_exceptions=True)
    assert [isinstance(result, StoreBusyError) for result in results] == [False, False, True, False]
    assert await database.read(names) == ["a", "b", "first"]


async def test_a_lock_that_is_not_given_back_is_a_passing_fault_for_all_who_wait(
    database: Database, supervisor: Supervisor
) -> None:
    commits = Commits()
    database.add_hook(commits)
    await _set(database, "busy_timeout = 20")
    with closing(sqlite3.connect(database.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        jobs = [supervisor.job("write", database.write(put(str(n)))) for n in range(10)]
        results = await asyncio.gather(*jobs, return_exceptions=True)
        other.execute("ROLLBACK")
    assert all(isinstance(result, StoreLockedError) for result in results)
    assert commits.rolled_back_times == 1, "nobody waits through ten timeouts"
    await database.write(put("after"))
    assert await database.read(names) == ["after"]


async def test_a_mistake_in_a_statement_is_not_taken_for_a_passing_fault(database: Database) -> None:
    with pytest.raises(sa.exc.OperationalError, match="no such table"):
        await database.read(lambda c: c.exec_driver_sql("SELECT * FROM nowhere").close())


async def test_a_broken_page_is_called_damage(all_tables: list[str], tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with Database.open(path) as database:
        for number in range(200):
            await database.write(put(f"{number:03}", "x" * 2_000))
        await database.maintain()
        root = await database.read(
            lambda c: c.exec_driver_sql("SELECT rootpage FROM sqlite_master WHERE name = 'cursor'").scalar_one()
        )
    with path.open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\xff" * 4096)
    async with Database.open(path) as database:
        with pytest.raises(StoreDamagedError, match="restore") as caught:
            await database.read(lambda c: c.execute(sa.select(cursor.c.value)).all())
        assert isinstance(caught.value, PermanentError)
        with pytest.raises(StoreDamagedError):
            await database.write(lambda tx: tx.execute(cursor.delete()).close())


async def test_a_file_locked_at_the_start_is_a_passing_fault(
    all_tables: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    migrate.prepare(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        monkeypatch.setattr(migrate, "BUSY_TIMEOUT", 0.01)
        with pytest.raises(StoreLockedError):
            async with Database.open(path):
                pass
