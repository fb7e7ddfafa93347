"""Units of work: one writer, shared commits, nothing half-done whatever fails or is cancelled."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from bot.intake.tables import cursor
from bot.kernel.supervise import Supervisor
from bot.storage import migrate
from bot.storage.database import TOGETHER, WAL_SIZE_LIMIT, Database, StoreBusyError, Tx
from bot.storage.metadata import UtcDateTime


def put(name: str, value: str = "") -> Callable[[Tx], None]:
    return lambda tx: tx.append(cursor, {"channel": "test", "name": name, "value": value})


def names(connection: sa.Connection) -> list[str]:
    return list(connection.execute(sa.select(cursor.c.name).order_by(cursor.c.name)).scalars())


class Commits:
    """A hook that counts. Units defer to it so that it is flushed."""

    def __init__(self) -> None:
        self.committed_times = 0
        self.rolled_back_times = 0

    def flush(self, tx: Tx, items: Sequence[Any]) -> None:
        pass

    def committed(self) -> None:
        self.committed_times += 1

    def rolled_back(self) -> None:
        self.rolled_back_times += 1


@pytest.mark.case(123)
async def test_case_123_a_unit_that_reads_first_and_writes_later_never_fails_on_a_writer_that_came_between(
    database: Database, supervisor: Supervisor
) -> None:
    await database.write(put("count", "0"))

    def increment(tx: Tx) -> None:
        value = tx.execute(sa.select(cursor.c.value)).scalar_one()
        tx.execute(cursor.update().values(value=str(int(value) + 1)))

    jobs = [supervisor.job(f"increment {i}", database.write(increment)) for i in range(20)]
    await asyncio.gather(*jobs)
    assert await database.read(lambda c: c.execute(sa.select(cursor.c.value)).scalar_one()) == "20"


@pytest.mark.case(123)
async def test_case_123_a_writing_transaction_holds_the_write_lock_before_its_first_statement(
    database: Database,
) -> None:
    def unit(_tx: Tx) -> None:
        with (
            closing(sqlite3.connect(database.path, timeout=0)) as other,
            pytest.raises(sqlite3.OperationalError, match="locked"),
        ):
            other.execute("BEGIN IMMEDIATE")

    await database.write(unit)


@pytest.mark.case(124)
async def test_case_124_twenty_tasks_of_fifty_rows_lose_none(database: Database, supervisor: Supervisor) -> None:
    async def writer(number: int) -> None:
        for row in range(50):
            await database.write(put(f"{number:02}-{row:02}"))

    await asyncio.gather(*(supervisor.job(f"writer {n}", writer(n)) for n in range(20)))
    stored = await database.read(names)
    assert stored == sorted(f"{n:02}-{r:02}" for n in range(20) for r in range(50))


async def test_units_that_wait_together_share_one_commit(database: Database, supervisor: Supervisor) -> None:
    commits = Commits()
    database.add_hook(commits)
    jobs = [supervisor.job(f"write {i}", database.write(put(f"{i:02}"))) for i in range(TOGETHER)]
    await asyncio.gather(*jobs)
    assert len(await database.read(names)) == TOGETHER
    assert commits.committed_times == 1


async def test_more_than_may_share_a_commit_are_committed_in_order(database: Database, supervisor: Supervisor) -> None:
    commits = Commits()
    database.add_hook(commits)
    jobs = [supervisor.job(f"write {i}", database.write(put(f"{i:02}"))) for i in range(2 * TOGETHER + 1)]
    await asyncio.gather(*jobs)
    assert len(await database.read(names)) == 2 * TOGETHER + 1
    assert commits.committed_times == 3


async def test_a_failing_unit_fails_alone(database: Database, supervisor: Supervisor) -> None:
    def broken(tx: Tx) -> None:
        tx.execute(cursor.insert(), {"channel": "test", "name": "broken", "value": ""})
        raise KeyError("broken")

    units = [put("first"), put("a"), broken, put("b"), put("c")]
    jobs = [supervisor.job("write", database.write(unit)) for unit in units]
    results = await asyncio.gather(*jobs, return_exceptions=True)
    assert [type(result) for result in results] == [type(None), type(None), KeyError, type(None), type(None)]
    assert await database.read(names) == ["a", "b", "c", "first"]


async def test_a_row_that_breaks_a_constraint_at_the_commit_fails_its_own_unit(
    database: Database, supervisor: Supervisor
) -> None:
    units = [put("first"), put("a"), put("a"), put("b")]
    jobs = [supervisor.job("write", database.write(unit)) for unit in units]
    results = await asyncio.gather(*jobs, return_exceptions=True)
    assert [isinstance(result, sa.exc.IntegrityError) for result in results] == [False, False, True, False]
    assert await database.read(names) == ["a", "b", "first"]


async def test_what_a_unit_returns_comes_back_to_its_caller(database: Database, supervisor: Supervisor) -> None:
    jobs = [supervisor.job("write", database.write(lambda _tx, n=n: n * n)) for n in range(10)]  # type: ignore[misc]
    assert await asyncio.gather(*jobs) == [n * n for n in range(10)]


async def test_the_unit_of_a_caller_cancelled_while_waiting_is_never_run(
    database: Database, supervisor: Supervisor
) -> None:
    began = asyncio.Event()

    def unit(tx: Tx) -> None:
        began.set()
        put("first")(tx)

    first = supervisor.job("first", database.write(unit))
    await began.wait()
    second = supervisor.job("second", database.write(put("second")))
    third = supervisor.job("third", database.write(put("third")))
    await asyncio.sleep(0)  # both have queued behind the first, which is in its transaction
    second.cancel()
    await asyncio.gather(first, third)
    await database.write(put("later"))
    assert second.cancelled()
    assert await database.read(names) == ["first", "later", "third"]


async def test_the_unit_of_a_caller_cancelled_during_the_commit_is_stored(
    database: Database, supervisor: Supervisor
) -> None:
    began = asyncio.Event()

    def unit(tx: Tx) -> None:
        began.set()
        put("kept")(tx)

    caller = supervisor.job("caller", database.write(unit))
    await began.wait()
    caller.cancel()
    await asyncio.wait({caller})
    assert caller.cancelled()
    assert await database.read(names) == ["kept"]


async def test_a_caller_cancelled_twice_lets_nobody_into_its_open_transaction(
    database: Database, supervisor: Supervisor
) -> None:
    began = asyncio.Event()

    def unit(tx: Tx) -> None:
        began.set()
        put("first")(tx)

    caller = supervisor.job("caller", database.write(unit))
    await began.wait()
    following = supervisor.job("following", database.write(put("second")))
    caller.cancel()
    await asyncio.sleep(0)
    caller.cancel()
    await following
    assert await database.read(names) == ["first", "second"]


async def test_readers_cannot_write(database: Database) -> None:
    def write(connection: sa.Connection) -> None:
        connection.execute(cursor.insert().values(channel="test", name="x", value=""))

    with pytest.raises(StoreBusyError, match="readonly"):
        await database.read(write)
    assert await database.read(names) == []


async def test_a_reader_sees_one_snapshot_while_others_write(database: Database, supervisor: Supervisor) -> None:
    await database.write(put("before"))
    path = database.path

    def twice(connection: sa.Connection) -> tuple[list[str], list[str]]:
        first = names(connection)
        with closing(sqlite3.connect(path)) as other, other:
            other.execute("INSERT INTO cursor VALUES ('test', 'meanwhile', '')")
        return first, names(connection)

    first, second = await database.read(twice)
    assert first == second == ["before"]
    assert await database.read(names) == ["before", "meanwhile"]


@pytest.mark.case(125)
async def test_case_125_the_log_is_folded_back_and_cut_when_idle(database: Database) -> None:
    wal = database.path.with_name("store.db-wal")
    for number in range(20):
        await database.write(put(str(number), "x" * 100_000))
    assert wal.stat().st_size > 0
    assert await database.maintain()
    assert wal.stat().st_size == 0
    await database.write(put("after"))
    assert len(await database.read(names)) == 21


@pytest.mark.case(125)
async def test_case_125_a_reader_that_stays_does_not_stop_writers_and_is_told_of(database: Database) -> None:
    with closing(sqlite3.connect(database.path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM cursor").fetchall()
        await database.write(put("meanwhile", "x" * 50_000))
        await database.write(lambda tx: tx.execute(sa.text("PRAGMA busy_timeout = 0")).close())
        assert not await database.maintain()
        reader.execute("ROLLBACK")
    assert await database.maintain()
    assert await database.read(names) == ["meanwhile"]


@pytest.mark.case(125)
async def test_case_125_the_log_does_not_grow_with_what_is_written(database: Database) -> None:
    wal = database.path.with_name("store.db-wal")
    await database.write(put("row", ""))
    sizes = []
    for number in range(60):
        await database.write(lambda tx, n=number: tx.execute(cursor.update().values(value=str(n) * 200_000)))  # type: ignore[misc]
        sizes.append(wal.stat().st_size)
    assert max(sizes) < 8 << 20, "12 MB were written; checkpoints begin at 1,000 pages of 4 KiB"
    assert max(sizes) < WAL_SIZE_LIMIT


@pytest.mark.case(126)
async def test_case_126_a_backup_taken_while_writing_is_whole(
    database: Database, supervisor: Supervisor, tmp_path: Path
) -> None:
    copied = asyncio.Event()

    async def write_pairs() -> int:
        number = 0
        while not copied.is_set():
            number += 1
            await database.write(lambda tx, n=number: (put(f"{n}-a")(tx), put(f"{n}-b")(tx)))  # type: ignore[misc]
        return number

    writing = supervisor.job("writer", write_pairs())
    await database.write(put("begun"))
    copy = tmp_path / "backup.db"
    await asyncio.to_thread(migrate.back_up, database.path, copy)
    copied.set()
    written = await writing
    copy.rename(tmp_path / "restored.db")  # nothing beside the one file is needed
    async with Database.open(tmp_path / "restored.db") as restored:
        stored = [name for name in await restored.read(names) if name != "begun"]
        assert "begun" in await restored.read(names)
    assert sorted(stored) == sorted(f"{n}-{half}" for n in range(1, len(stored) // 2 + 1) for half in "ab")
    assert len(stored) <= 2 * written


async def test_the_event_loop_runs_on_while_the_store_waits_for_a_lock(
    database: Database, supervisor: Supervisor
) -> None:
    ticks = 0
    with closing(sqlite3.connect(database.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        waiting = supervisor.job("write", database.write(put("late")))
        for _ in range(200):
            await asyncio.sleep(0.001)
            ticks += 1
        assert not waiting.done()
        other.execute("ROLLBACK")
    await waiting
    assert ticks == 200
    assert await database.read(names) == ["late"]


async def test_settings_of_the_connections(database: Database) -> None:
    def pragmas(connection: sa.Connection) -> dict[str, object]:
        wanted = ("journal_mode", "synchronous", "secure_delete", "foreign_keys", "journal_size_limit", "busy_timeout")
        return {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in wanted}

    assert await database.write(lambda tx: pragmas(tx.connection)) == {
        "journal_mode": "wal",
        "synchronous": 2,
        "secure_delete": 1,
        "foreign_keys": 1,
        "journal_size_limit": WAL_SIZE_LIMIT,
        "busy_timeout": 5_000,
    }
    assert await database.read(lambda c: c.exec_driver_sql("PRAGMA query_only").scalar()) == 1


async def test_the_store_can_be_closed_and_opened_again(all_tables: list[str], tmp_path: Path) -> None:
    for number in range(3):
        async with Database.open(tmp_path / "again.db") as database:
            await database.write(put(str(number)))
            assert await database.read(names) == [str(n) for n in range(number + 1)]


def test_instants_are_stored_as_microseconds_and_must_carry_a_zone() -> None:
    kind = UtcDateTime()
    instant = datetime(2026, 3, 2, 9, 0, 0, 123_456, tzinfo=UTC)
    stored = kind.process_bind_param(instant, None)  # type: ignore[arg-type]
    assert stored == 1_772_442_000_123_456
    assert kind.process_result_value(stored, None) == instant  # type: ignore[arg-type]
    before = datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert kind.process_bind_param(before, None) == -(timedelta(seconds=1) // timedelta(microseconds=1))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="without zone"):
        kind.process_bind_param(datetime(2026, 3, 2), None)  # type: ignore[arg-type] # noqa: DTZ001


async def test_upkeep_that_is_cancelled_half_way_does_not_disturb_the_next_commit(
    database: Database, supervisor: Supervisor
) -> None:
    for number in range(40):
        upkeep = supervisor.job("upkeep", database.maintain())
        for _ in range(number % 4):
            await asyncio.sleep(0)
        upkeep.cancel()
        await database.write(put(f"{number:02}"))
    assert len(await database.read(names)) == 40
