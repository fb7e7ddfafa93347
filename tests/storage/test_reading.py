"""Short reads hold the event loop and give no other task a turn; long ones run in a thread."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing

import pytest
import sqlalchemy as sa

from bot.kernel.supervise import Supervisor
from bot.storage.database import Database, StoreBusyError
from tests.storage.test_database import names, put

SLOW = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < {}) SELECT count(*) FROM n"


def count(connection: sa.Connection, rows: int = 2_000_000) -> int:
    return int(connection.exec_driver_sql(SLOW.format(rows)).scalar_one())


async def test_the_event_loop_runs_on_during_a_long_read(database: Database, supervisor: Supervisor) -> None:
    reading = supervisor.job("read", database.read(count, long=True))
    turns = 0
    while not reading.done():
        await asyncio.sleep(0)
        turns += 1
    assert reading.result() == 2_000_000
    assert turns > 10


async def test_a_short_read_lets_nothing_happen_in_between(database: Database, supervisor: Supervisor) -> None:
    await database.write(put("before"))
    happened: list[str] = []

    async def other() -> None:
        happened.append("other")

    task = supervisor.job("other", other())
    assert await database.read(names) == ["before"]
    assert happened == []
    await task


async def test_long_reads_cannot_write_and_see_one_snapshot(database: Database) -> None:
    await database.write(put("before"))
    path = database.path

    def twice(connection: sa.Connection) -> tuple[list[str], list[str]]:
        first = names(connection)
        with closing(sqlite3.connect(path)) as other, other:
            other.execute("INSERT INTO cursor VALUES ('test', 'meanwhile', '')")
        return first, names(connection)

    assert await database.read(twice, long=True) == (["before"], ["before"])
    with pytest.raises(StoreBusyError, match="readonly"):
        await database.read(lambda c: c.exec_driver_sql("DELETE FROM cursor").close(), long=True)
    assert await database.read(names, long=True) == ["before", "meanwhile"]


async def test_a_long_read_that_is_cancelled_leaves_the_store_as_it_was(
    database: Database, supervisor: Supervisor
) -> None:
    for _ in range(4):  # more than there are connections for it
        reading = supervisor.job("read", database.read(count, long=True))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        reading.cancel()
        await asyncio.wait({reading})
        assert reading.cancelled()
    assert await database.read(lambda c: count(c, 10), long=True) == 10
    await database.write(put("after"))
    assert await database.read(names) == ["after"]


async def test_a_failed_read_leaves_the_next_one_a_fresh_snapshot(database: Database) -> None:
    def fails(connection: sa.Connection) -> None:
        names(connection)
        raise KeyError("mine")

    with pytest.raises(KeyError):
        await database.read(fails)
    await database.write(put("after"))
    assert await database.read(names) == ["after"]
