"""Opening the store and running units of work.

A unit is a plain function of a `Tx` (or, for reading, of a connection). Being no coroutine, it cannot wait for the
network inside a transaction; running to its end once begun, it cannot be cancelled half-way. Units that wait for the
writer at the same moment share one BEGIN IMMEDIATE … COMMIT, and so one sync of the disk: a unit must therefore have
no effect outside the database, because it runs again on its own when a companion fails.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import sqlalchemy as sa
from sqlalchemy.util import greenlet_spawn

from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.supervise import to_the_end
from bot.kernel.values import dataclass
from bot.storage import driver, migrate
from bot.storage.metadata import metadata

if TYPE_CHECKING:
    import aiosqlite

log = logging.getLogger(__name__)

T = TypeVar("T")

BUSY_TIMEOUT_MS = 5_000
WAL_PAGES = 1_000
WAL_SIZE_LIMIT = 64 << 20
LONG_READERS = 2
TOGETHER = 16
"""Units that share one commit at most."""
LARGEST_REWRITTEN = 1 << 30


class StoreBusyError(TransientError):
    """The file is locked by another program, or the disk is full. Nothing of the unit was stored."""


class StoreLockedError(StoreBusyError):
    """Another program holds the file."""


class StoreDamagedError(PermanentError):
    """SQLite says that the file is not a sound database."""


class CommitHook(Protocol):
    """A room that adds rows of its own at the end of a transaction (the audit chain)."""

    def flush(self, tx: Tx, items: Sequence[Any]) -> None:
        """Write what units handed over with `Tx.defer`, before the commit."""
        ...

    def committed(self) -> None: ...

    def rolled_back(self) -> None: ...


class Tx:
    """One writing transaction, as a unit sees it."""

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection
        self._rows: dict[sa.Table, list[Mapping[str, Any]]] = {}
        self._deferred: dict[CommitHook, list[Any]] = {}

    def execute(self, statement: sa.Executable, parameters: Any = None) -> sa.CursorResult[Any]:
        return cast("sa.CursorResult[Any]", self.connection.execute(statement, parameters))

    def append(self, table: sa.Table, row: Mapping[str, Any]) -> None:
        """Insert at commit, together with all other appended rows of the table. For rows that no unit reads back
        within its transaction."""
        self._rows.setdefault(table, []).append(row)

    def defer(self, hook: CommitHook, item: Any) -> None:
        self._deferred.setdefault(hook, []).append(item)

    def finish(self) -> None:
        """Write what was appended and deferred. Called once, by the database, before the commit."""
        for hook, items in self._deferred.items():
            hook.flush(self, items)
        for table in _parents_first(frozenset(self._rows)):
            self.connection.execute(_insert_into(table), self._rows[table])


@cache
def _parents_first(tables: frozenset[sa.Table]) -> Sequence[sa.Table]:
    """In the order in which their foreign keys allow inserting."""
    return [table for table in metadata.sorted_tables if table in tables]


@cache
def _insert_into(table: sa.Table) -> sa.Insert:
    return table.insert()


@dataclass(slots=True)
class _Pending:
    unit: Callable[[Tx], Any]
    done: asyncio.Future[Any] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Database:
    """The open store. `write` and `read` are the only ways in."""

    def __init__(self, path: Path, writer: sa.Connection, reader: sa.Connection, readers: sa.Engine) -> None:
        self.path = path
        self._writer = writer
        self._reader = reader
        self._readers = readers
        self._turn = asyncio.Lock()
        self._queue: list[_Pending] = []
        self._hooks: list[CommitHook] = []
        self.trouble: str | None = None
        """Why the last commit could not be made (disk full, locked, damaged); None once one was made again."""

    @classmethod
    @asynccontextmanager
    async def open(cls, path: Path) -> AsyncIterator[Database]:
        """Open (create, upgrade) the file; the caller holds the data folder's lock.

        Raises `migrate.NewerDatabaseError` for a file of a later version, `StoreDamagedError` for a broken one.
        """
        try:
            await asyncio.to_thread(migrate.prepare, path)
        except (sa.exc.DatabaseError, sqlite3.DatabaseError) as error:
            raise translated(error) from error
        long_readers = _engine(path, _LONG_READER)
        try:
            async with _connected(path, _WRITER) as writer, _connected(path, _READER) as reader:
                database = cls(path, writer, reader, long_readers)
                try:
                    yield database
                finally:
                    await database._close()
        finally:
            await greenlet_spawn(long_readers.dispose)

    def add_hook(self, hook: CommitHook) -> None:
        """Hooks hear of every commit and rollback, in the order of their registration."""
        self._hooks.append(hook)

    async def write(self, unit: Callable[[Tx], T]) -> T:
        """Run `unit` in a BEGIN IMMEDIATE transaction and return its value once that is synced to disk.

        Raises what the unit raised (then nothing of it was stored), or `StoreBusyError`.
        """
        pending = _Pending(unit)
        self._queue.append(pending)
        try:
            await self._turn.acquire()
            if pending.done.done():
                self._turn.release()
            else:
                await to_the_end(self._lead(), "store-commit")
        except asyncio.CancelledError:
            # A unit that no batch has taken yet never runs; one that was taken runs to its end.
            if not pending.done.cancel() and not pending.done.cancelled():
                pending.done.exception()  # nobody is left to hear of it
            raise
        return cast(T, pending.done.result())

    async def read(self, query: Callable[[sa.Connection], T], *, long: bool = False) -> T:
        """Run `query` on one snapshot of a connection that cannot write.

        A query finds its rows by an index and holds the event loop while it looks, which takes less than changing
        threads for it would. `long`: it looks through many rows; its statements run in a thread.
        """
        try:
            if long:
                return cast(T, await greenlet_spawn(self._read_long, query))
            snapshot = self._reader.begin()
            try:
                driver.begin(self._reader)
                return query(self._reader)
            finally:
                snapshot.rollback()
        except (sa.exc.DatabaseError, sqlite3.DatabaseError) as error:
            raise translated(error) from error

    def _read_long(self, query: Callable[[sa.Connection], T]) -> T:
        with self._readers.connect() as connection:
            connection.exec_driver_sql("BEGIN")
            return query(connection)

    async def maintain(self) -> bool:
        """Fold the write-ahead log back into the file and cut it. Call when idle. False if a reader that is still at
        work kept a part of it back (sqlite.org/pragma.html#pragma_wal_checkpoint)."""
        return not await to_the_end(self._checkpoint(), "store-checkpoint")

    async def _checkpoint(self) -> int:
        async with self._turn:
            return await self._pragma("wal_checkpoint(TRUNCATE)")

    async def rewrite(self) -> bool:
        """Write the whole file anew (VACUUM), so that nothing of deleted rows is left in it; writers wait meanwhile.
        False if the file is too large for that: it is done in memory. `maintain` afterwards, for the log."""
        if self.path.stat().st_size > LARGEST_REWRITTEN:
            return False
        await to_the_end(self._rewrite(), "store-rewrite")
        return True

    async def _rewrite(self) -> None:
        connection = cast("aiosqlite.Connection", self._writer.connection.driver_connection)
        async with self._turn:
            try:
                await connection.execute_fetchall("VACUUM")
            except sqlite3.DatabaseError as error:
                raise translated(error) from error

    async def _close(self) -> None:
        async with self._turn:
            try:
                await self._pragma("optimize")
            except sqlite3.OperationalError as error:
                log.info("statistics of the store were not refreshed: %s", error)

    async def _pragma(self, text: str) -> int:
        """Run a PRAGMA outside any transaction, which SQLAlchemy would begin. Returns its first number.

        In one go, and the caller sees it through: a statement that is left half-read, by a cancellation say, would make
        the next commit on the connection fail.
        """
        connection = cast("aiosqlite.Connection", self._writer.connection.driver_connection)
        rows = list(await connection.execute_fetchall(f"PRAGMA {text}"))
        return int(rows[0][0]) if rows else 0

    async def _lead(self) -> None:
        """Commit what waits, `TOGETHER` units at most: their statements hold the event loop, which others need in
        between. The caller has taken the turn; this gives it back, whatever becomes of the caller, so that nobody
        begins on the connection while a transaction is open on it. Turns are taken in the queue's order, so the
        caller's own unit is always among them."""
        try:
            batch, self._queue = self._queue[:TOGETHER], self._queue[TOGETHER:]
            await self._commit(batch)
        finally:
            self._turn.release()

    async def _commit(self, batch: Sequence[_Pending]) -> None:
        live = [pending for pending in batch if not pending.done.done()]
        if not live:
            return
        results, error = await self._attempt([pending.unit for pending in live])
        if error is None:
            for pending, result in zip(live, results, strict=True):
                _settle(pending, result)
        elif len(live) == 1:
            _settle(live[0], error=error)
        elif isinstance(error, StoreLockedError):  # nobody's fault, and each would wait the whole timeout again
            for pending in live:
                _settle(pending, error=StoreLockedError(error.message))
        else:
            for pending in live:
                await self._commit([pending])

    async def _attempt(self, units: Sequence[Callable[[Tx], Any]]) -> tuple[list[Any], Exception | None]:
        try:
            results = await greenlet_spawn(self._transact, self._writer, units)
        except (sa.exc.DatabaseError, sqlite3.DatabaseError) as error:
            told = translated(error)
            if isinstance(told, StoreBusyError | StoreDamagedError):
                self.trouble = told.message
            return [], told
        except Exception as error:  # noqa: BLE001 - handed to the caller who brought the unit, whatever it is
            return [], error
        self.trouble = None
        return results, None

    def _transact(self, connection: sa.Connection, units: Sequence[Callable[[Tx], Any]]) -> list[Any]:
        try:
            with connection.begin():
                driver.begin_writing(connection)
                tx = Tx(connection)
                results = [unit(tx) for unit in units]
                tx.finish()
        except BaseException:
            for hook in self._hooks:
                hook.rolled_back()
            raise
        for hook in self._hooks:
            hook.committed()
        return results


def _settle(pending: _Pending, result: Any = None, error: Exception | None = None) -> None:
    if pending.done.done():
        return
    if error is not None:
        pending.done.set_exception(error)
    else:
        pending.done.set_result(result)


def translated(error: sa.exc.DatabaseError | sqlite3.DatabaseError) -> Exception:
    """What SQLite said, as one of the two kinds of failure; a mistake in a statement stays what it is."""
    text = str(error.orig if isinstance(error, sa.exc.DatabaseError) else error)
    if "locked" in text or "busy" in text:
        return StoreLockedError(f"the store cannot take this now: {text}")
    if any(sign in text for sign in ("is full", "disk I/O", "unable to open", "readonly")):
        return StoreBusyError(f"the store cannot take this now: {text}")
    if "malformed" in text or "not a database" in text:
        return StoreDamagedError(f"the store is damaged ({text}): restore a backup")
    return error


@dataclass(frozen=True, slots=True)
class _Kind:
    """What a connection is for."""

    connections: int
    writes: bool = False
    in_thread: bool = False


_WRITER = _Kind(1, writes=True)
_READER = _Kind(1)
_LONG_READER = _Kind(LONG_READERS, in_thread=True)


@asynccontextmanager
async def _connected(path: Path, kind: _Kind) -> AsyncIterator[sa.Connection]:
    """The one connection of an engine, as long as the block runs."""
    engine = _engine(path, kind)
    try:
        connection = await greenlet_spawn(engine.connect)
        try:
            yield connection
        finally:
            await greenlet_spawn(connection.close)
    finally:
        await greenlet_spawn(engine.dispose)


def _engine(path: Path, kind: _Kind) -> sa.Engine:
    # What `create_async_engine` would make, without its module: that brings the ORM, 8 MB and a tenth of the start.
    engine = sa.create_engine(
        f"sqlite+aiosqlite:///{path}",
        module=None if kind.in_thread else driver.module(),
        # The driver must not begin transactions by itself: it would begin them DEFERRED, and a transaction that reads
        # first and writes later then fails at once in WAL mode, without waiting. Whoever uses a connection says BEGIN
        # himself: an engine with a listener for it asks before and after every statement who else listens.
        connect_args={"isolation_level": None},
        poolclass=sa.pool.AsyncAdaptedQueuePool,
        pool_size=kind.connections,
        max_overflow=0,
        pool_reset_on_return="rollback" if kind.in_thread else None,
    )

    @sa.event.listens_for(engine, "connect")
    def _configure(connection: Any, _record: Any) -> None:
        cursor = connection.cursor()
        for pragma in _pragmas(writes=kind.writes):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    return engine


def _pragmas(*, writes: bool) -> Sequence[str]:
    common = (f"busy_timeout = {BUSY_TIMEOUT_MS}", "foreign_keys = ON", "temp_store = MEMORY")
    if not writes:
        return (*common, "query_only = ON")
    return (
        *common,
        "journal_mode = WAL",
        "synchronous = FULL",
        "secure_delete = ON",
        f"wal_autocheckpoint = {WAL_PAGES}",
        f"journal_size_limit = {WAL_SIZE_LIMIT}",
    )
