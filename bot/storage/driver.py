"""SQLAlchemy's aiosqlite driver without a change of threads for every step of every statement.

aiosqlite hands each call (open a cursor, execute, fetch, close) to the connection's own thread and waits for the answer
on the event loop. For the statements of the daemon's units, which find a handful of rows by an index, the way there
and back takes ten times as long as the statement: more than 100 ways for one message. Here a statement runs where it
stands, and only what waits for the disk or for a lock goes to the thread: a writer's COMMIT, and its BEGIN IMMEDIATE
when another program holds the file. In WAL mode a reader waits for nobody (sqlite.org/wal.html, section 2.2).

`module` is what `create_async_engine` takes as its `module`; the classes fill in what SQLAlchemy's own leave to
subclasses, and reach for the sqlite3 connection that aiosqlite holds. A connection of it must not be used by two tasks
at once; the writer's lock and reads that never await see to that.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from typing import Any, cast

import aiosqlite
import sqlalchemy as sa
from sqlalchemy.dialects.sqlite.aiosqlite import (
    AsyncAdapt_aiosqlite_connection,
    AsyncAdapt_aiosqlite_cursor,
    AsyncAdapt_aiosqlite_dbapi,
)
from sqlalchemy.util import await_only

BEGIN_WRITING = "BEGIN IMMEDIATE"


class _Cursor(AsyncAdapt_aiosqlite_cursor):
    """Runs on the caller's thread; the thread of the connection is at rest meanwhile."""

    __slots__ = ()
    _cursor: sqlite3.Cursor  # type: ignore[assignment]
    _adapt_connection: _Connection

    def __init__(self, adapt_connection: _Connection) -> None:
        self._adapt_connection = adapt_connection
        self._connection = adapt_connection._connection  # noqa: SLF001
        self._cursor = adapt_connection.plain.cursor()
        self._rows = deque()
        self._soft_closed_memoized = {}  # type: ignore[assignment]

    async def _async_soft_close(self) -> None:
        return

    def close(self) -> None:
        self._rows.clear()
        self._cursor.close()

    def execute(self, operation: Any, parameters: Any = None) -> Any:
        try:
            self._cursor.execute(operation, parameters or ())
            if self._cursor.description:
                self._rows = deque(self._cursor.fetchall())
        except (sqlite3.Error, ValueError) as error:
            self._adapt_connection._handle_exception(error)  # noqa: SLF001
        return self

    def executemany(self, operation: Any, seq_of_parameters: Any) -> Any:
        try:
            return self._cursor.executemany(operation, seq_of_parameters)
        except (sqlite3.Error, ValueError) as error:
            self._adapt_connection._handle_exception(error)  # noqa: SLF001


class _Connection(AsyncAdapt_aiosqlite_connection):
    __slots__ = ()
    _cursor_cls = _Cursor  # type: ignore[assignment]

    @property
    def plain(self) -> sqlite3.Connection:
        return self._connection._conn  # type: ignore[no-any-return] # noqa: SLF001

    def begin_writing(self) -> None:
        """Take the write lock: at once if nobody else has it (another program may: a backup, a person), else in the
        thread, which waits for it as long as the connection's busy_timeout says."""
        plain = self.plain
        (timeout,) = plain.execute("PRAGMA busy_timeout").fetchone()
        plain.execute("PRAGMA busy_timeout = 0")
        try:
            plain.execute(BEGIN_WRITING)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
        finally:
            plain.execute(f"PRAGMA busy_timeout = {timeout}")
        if not plain.in_transaction:
            driver: aiosqlite.Connection = self._connection  # type: ignore[assignment]
            await_only(driver.execute_fetchall(BEGIN_WRITING))

    def rollback(self) -> None:
        self.plain.rollback()


class _Module(AsyncAdapt_aiosqlite_dbapi):
    def connect(self, *arg: Any, **kw: Any) -> _Connection:
        made = super().connect(*arg, **kw)
        return _Connection(self, made._connection)  # noqa: SLF001


def begin(connection: sa.Connection) -> None:
    """Take a snapshot for reading (it is taken by the first statement). Raises what sqlite3 raises."""
    _own(connection).plain.execute("BEGIN")


def begin_writing(connection: sa.Connection) -> None:
    """Begin a transaction that may write. Raises what sqlite3 raises."""
    _own(connection).begin_writing()


def _own(connection: sa.Connection) -> _Connection:
    return cast(_Connection, connection.connection.dbapi_connection)


def module() -> Any:
    """aiosqlite as SQLAlchemy sees it, made new for every engine."""
    return _Module(aiosqlite, sqlite3)
