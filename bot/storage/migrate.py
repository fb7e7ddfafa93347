"""Bringing the file to this version's shape.

A new file is made from the metadata and stamped; an older one is copied aside first and then upgraded by Alembic. A
test builds one file each way and finds no difference, so neither way can drift. Alembic is imported only when an
upgrade is due: its import would be a third of the daemon's start.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import sqlalchemy as sa

from bot.kernel.errors import PermanentError
from bot.storage.metadata import metadata
from bot.storage.migrations import HEAD, KNOWN

VERSION_TABLE = "alembic_version"
_version_table = sa.Table(VERSION_TABLE, sa.MetaData(), sa.Column("version_num", sa.String(32), primary_key=True))


class NewerDatabaseError(PermanentError):
    """The file was written by a later version of the program."""


def prepare(path: Path) -> None:
    """Create or upgrade the file at `path`. Blocking; call from a thread."""
    fresh = not path.exists() or path.stat().st_size == 0
    if fresh:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    engine = sa.create_engine(f"sqlite:///{path}")
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")
            version = _version(connection)
            if version == HEAD:
                return
            if version is None:
                if _has_tables(connection):
                    raise PermanentError(f"{path} is a database, but not one of this program")
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
    """Make all tables from the metadata and stamp the file with the newest version."""
    with connection.begin():
        metadata.create_all(connection)
        _version_table.create(connection)
        connection.execute(_version_table.insert().values(version_num=HEAD))


def upgrade(path: Path, revision: str = "head") -> None:
    """Run the migrations up to `revision` on the file."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["url"] = f"sqlite:///{path}"
    command.upgrade(config, revision)


def back_up(source: Path, target: Path) -> None:
    """A consistent copy of a database that may be in use."""
    with sqlite3.connect(source) as original, sqlite3.connect(target) as copy:
        original.backup(copy)
    original.close()
    copy.close()
    target.chmod(0o600)


def _version(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(sa.select(_version_table.c.version_num)).scalar()


def _has_tables(connection: sa.Connection) -> bool:
    return bool(sa.inspect(connection).get_table_names())
