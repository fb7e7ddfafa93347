"""Making a backup while the daemon works."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bot.audit.events import Actor, BackupMade, Record
from bot.audit.recorder import Recorder
from bot.backup import folder
from bot.kernel.clock import Clock
from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.supervise import to_the_end
from bot.kernel.values import dataclass
from bot.storage import migrate
from bot.storage.database import Database, Tx
from bot.storage.migrations import HEAD

if TYPE_CHECKING:
    from bot.backup.archive import Manifest

Why = Literal["nightly", "asked"]
COPY = "openexecutive.db.copied"
"""Name of the copy of the database that a backup is made of."""


@dataclass(frozen=True, slots=True)
class Made:
    path: Path
    size: int
    """Bytes."""
    manifest: Manifest
    removed: tuple[str, ...]
    """Names of older ones that went."""


@dataclass(frozen=True, slots=True)
class Maker:
    database: Database
    recorder: Recorder
    clock: Clock
    data: Path
    folder: Path
    keep: int
    passphrase: str | None
    version: str
    turn: asyncio.Lock
    """One at a time."""

    async def make(self, actor: Actor, why: Why, to: Path | None = None) -> Made:
        """Make one, in the folder of the settings, where older ones go then, or elsewhere. Raises `TransientError`
        when the disk cannot take it now, and `PermanentError` for a folder that cannot be used."""
        target = to or self.folder
        async with self.turn:
            path, manifest = await to_the_end(asyncio.to_thread(self._write, target), "backup")
            removed = () if to is not None else await asyncio.to_thread(self._thin_out)
        size = path.stat().st_size
        payload = BackupMade(
            why, manifest.audit_id, len(manifest.files), size, manifest.encrypted, to is not None, len(removed)
        )

        def unit(tx: Tx) -> None:
            self.recorder.record(tx, Record(payload, actor, text=str(path)))

        await self.database.write(unit)
        return Made(path, size, manifest, removed)

    def _write(self, target: Path) -> tuple[Path, Manifest]:
        from bot.backup import archive
        from bot.backup.archive import Manifest

        try:
            target.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.sweep(target)
            made_at = self.clock.now()
            path = target / folder.free_name(target, made_at)
            unfinished = path.with_name(path.name + folder.UNFINISHED)
            copy = self.data / COPY  # not in the folder of backups: it is not encrypted
            # There first: who looks which backups may hold something must see the one that is being made.
            with open(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                migrate.back_up(self.database.path, copy)
                head, journal = _heads(copy)
                manifest = archive.write(
                    file,
                    self.passphrase,
                    self.data,
                    copy,
                    lambda files: Manifest(
                        archive.FORMAT,
                        made_at.astimezone(UTC).isoformat(),
                        self.version,
                        HEAD,
                        *head,
                        journal,
                        self.passphrase is not None,
                        files,
                    ),
                )
                file.flush()
                os.fsync(file.fileno())
            copy.unlink()
            unfinished.rename(path)
            _sync(target)
        except (OSError, sqlite3.Error) as error:
            self.sweep(target)  # a full disk needs the space
            told = getattr(error, "strerror", None) or error
            if isinstance(error, PermissionError | NotADirectoryError | FileExistsError):
                raise PermanentError(f"no backup can be made in {target}: {told}") from error
            raise TransientError(f"no backup can be made in {target} now: {told}") from error
        return path, manifest

    def sweep(self, target: Path | None = None) -> None:
        """Remove what a maker that died has left, here and among the backups. Blocking; only while none is made."""
        for left in self.data.glob(f"{COPY}*"):
            left.unlink(missing_ok=True)
        folder.sweep(target or self.folder)

    def _thin_out(self) -> tuple[str, ...]:
        gone = folder.superfluous(folder.whole(self.folder), self.keep)
        for each in gone:
            each.path.unlink(missing_ok=True)
        return tuple(each.path.name for each in gone)


def _heads(copy: Path) -> tuple[tuple[int, str], int]:
    """The newest row of the audit in a copy of the database, and of the journal of erasures."""
    with closing(sqlite3.connect(f"file:{copy}?mode=ro&immutable=1", uri=True)) as connection:
        row = connection.execute("SELECT id, hash FROM audit ORDER BY id DESC LIMIT 1").fetchone()
        (journal,) = connection.execute("SELECT coalesce(max(seq), 0) FROM erase_journal").fetchone()
    return (row or (0, "0" * 64)), journal


def listed(where: Path, keep: int, following: datetime | None) -> Sequence[tuple[str, datetime, datetime | None]]:
    """Name, making and end of each backup of a folder, oldest first, the one that is being made included. `following`:
    when the next one is made; None: none is made by itself, and nothing ends."""
    found = [*folder.whole(where), *folder.being_made(where)]
    ends = [None] * len(found) if following is None else folder.until(found, keep, following)
    return [(each.path.name, each.made_at, end) for each, end in zip(found, ends, strict=True)]


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
