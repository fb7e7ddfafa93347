"""The way back: a backup becomes a data folder, or nothing does. What is done with its store before it serves again is
`bot.app.restoring`'s. Blocking: call it in a thread."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from bot.backup import archive
from bot.backup.archive import Manifest
from bot.backup.sealed import DamagedBackupError, must_be_one
from bot.kernel.errors import PermanentError
from bot.storage.migrations import KNOWN

ENDING = ".restoring"


def beside(into: Path) -> Path:
    """Where a folder is made ready, so that it is there whole or not at all."""
    return into.with_name(into.name + ENDING)


def look(backup: Path, into: Path) -> None:
    """What can be told at once, before anything else is asked for. Raises `PermanentError` for a file that is no backup
    or cannot be read, and for a folder that is not empty."""
    try:
        with backup.open("rb") as file:
            must_be_one(file)
    except DamagedBackupError as error:
        raise DamagedBackupError(f"{backup}: {error.message}") from error
    except OSError as error:
        raise PermanentError(f"{backup} cannot be restored: {error.strerror or error}") from error
    must_be_empty(into)


def unpack(backup: Path, passphrase: Callable[[], str | None], into: Path) -> tuple[Path, Manifest]:
    """Take a backup apart beside the folder that it is for, and check every file and the database. Raises
    `PermanentError` unless that folder is empty or missing, `DamagedBackupError` for a backup that is not whole."""
    must_be_empty(into)
    staging = beside(into)
    try:
        if staging.exists():
            shutil.rmtree(staging)  # of a restore that died
        staging.mkdir(mode=0o700, parents=True)
        with backup.open("rb") as file:
            manifest = archive.read(file, passphrase, staging)
    except OSError as error:
        raise PermanentError(f"{backup} cannot be restored: {error.strerror or error}") from error
    if manifest.schema not in KNOWN:
        raise PermanentError(
            f"the backup was made by version {manifest.version} of this program (schema {manifest.schema}), which is "
            "later than this one: install that version"
        )
    _check(staging / archive.DATABASE)
    return staging, manifest


def put_in_place(staging: Path, into: Path) -> None:
    """One rename. The folder must still be empty."""
    must_be_empty(into)
    for folder in sorted({path.parent for path in staging.rglob("*")} | {staging}):
        _sync(folder)
    staging.rename(into)  # over an empty folder: POSIX
    _sync(into.parent)


def must_be_empty(into: Path) -> None:
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise PermanentError(f"{into} is not empty: a backup is restored into a folder of its own")


def _check(database: Path) -> None:
    try:
        with closing(sqlite3.connect(database)) as connection:
            (verdict,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        raise DamagedBackupError(f"the database of the backup is damaged: {error}") from error
    if verdict != "ok":
        raise DamagedBackupError(f"the database of the backup is damaged: {verdict}")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
