"""Bringing the file to this version's shape.

A new file is made from the metadata and stamped; an older one is copied aside first and then upgraded by Alembic. A
test builds one file each way and finds no difference, so neither way can drift. Alembic is imported only when an
upgrade is due: its import would be a third of the daemon's start.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import sqlalchemy as sa

from bot.kernel.errors import PermanentError
from bot.storage.metadata import metadata
from bot.storage.migrations import HEAD, KNOWN

BUSY_TIMEOUT = 5.0
"""Seconds to wait for another program that holds the file."""

VERSION_TABLE = "alembic_version"
_version_table = sa.Table(  # exactly as Alembic makes it
    VERSION_TABLE,
    sa.MetaData(),
    sa.Column("version_num", sa.String(32), nullable=False),
    sa.PrimaryKeyConstraint("version_num", name=f"{VERSION_TABLE}_pkc"),
)


class NewerDatabaseError(PermanentError):
    """The file was written by a later version of the program."""


def prepare(path: Path) -> None:
    """Create or upgrade the file at `path`. Blocking; call from a thread. Either way it is one transaction: a process
    that dies in it leaves what was there before."""
    if not path.exists() or path.stat().st_size == 0:
        _make_private(path)
    engine = _engine(path)
    try:
        with engine.connect() as connection:
            version = _version(connection)
            if version == HEAD:
                return
            if version is None:
                if _has_tables(connection):
                    raise PermanentError(f"{path} is a database, but not one of this program")
                connection.rollback()
                create(connection)
                return
        if version not in KNOWN:
            raise NewerDatabaseError(
                f"{path} was written by a later version of this program (schema {version}; this one knows up to "
                f"{HEAD}): install that version, or restore the backup that its upgrade made"
            )
        back_up(path, path.with_name(f"{path.name}.before-{HEAD}"))
        upgrade(path)
    finally:
        engine.dispose()


def create(connection: sa.Connection) -> None:
    """Make all tables from the metadata and stamp the file with the newest version, in one transaction."""
    with connection.begin():
        metadata.create_all(connection)
        _version_table.create(connection)
        connection.execute(_version_table.insert().values(version_num=HEAD))


def upgrade(path: Path, revision: str = "head") -> None:
    """Run the migrations up to `revision` on the file, in one transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    engine = _engine(path)
    try:
        with engine.connect() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, revision)
    finally:
        engine.dispose()


def back_up(source: Path, target: Path) -> None:
    """A consistent copy of a database that may be in use, what stands in its write-ahead log included. The target is
    there whole or not at all."""
    unfinished = target.with_name(f"{target.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    _make_private(unfinished)
    with closing(sqlite3.connect(source)) as original, closing(sqlite3.connect(unfinished)) as copy:
        original.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")  # one file: nothing beside it has to be kept with it
    unfinished.replace(target)
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _make_private(path: Path) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    path.chmod(0o600)


def _engine(path: Path) -> sa.Engine:
    """The driver must not begin by itself: it would leave the making of tables outside of any transaction."""
    engine = sa.create_engine(
        f"sqlite:///{path}", connect_args={"isolation_level": None, "timeout": BUSY_TIMEOUT}, poolclass=sa.pool.NullPool
    )

    @sa.event.listens_for(engine, "connect")
    def _configure(connection: sqlite3.Connection, _record: object) -> None:
        connection.execute("PRAGMA journal_mode = WAL")

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def _version(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(sa.select(_version_table.c.version_num)).scalar()


def _has_tables(connection: sa.Connection) -> bool:
    return bool(sa.inspect(connection).get_table_names())
