"""What stands in a backup: a gzipped tar of the data folder's files, and a manifest at its end with their sizes and
hashes. Blocking: call it in a thread."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from bot.backup.sealed import DamagedBackupError, Reader, Writer
from bot.kernel.errors import PermanentError
from bot.kernel.values import dataclass

FORMAT = 1
MANIFEST = "manifest.json"
DATABASE = "openexecutive.db"
FOLDERS = ("keys", "blobs", "maildir")
"""Of the data folder, besides the database."""
_NAME = re.compile(r"(?:openexecutive\.db|(?:keys|blobs|maildir)(?:/[^/\0]+)+)")
_PIECE = 1 << 18
_LARGEST_MANIFEST = 256 << 20


@dataclass(frozen=True, slots=True)
class Manifest:
    format: int
    made_at: str
    """ISO 8601, UTC."""
    version: str
    schema: str
    audit_id: int
    audit_hash: str
    """The newest row of the audit's chain."""
    journal: int
    """The newest row of the erasures' journal."""
    encrypted: bool
    files: dict[str, tuple[int, str]]
    """Size in bytes and SHA-256 (hex), by name."""


class _Hashing:
    """Passes on what is read of a file, and keeps its size and hash."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self.size = 0

    def read(self, size: int = -1) -> bytes:
        piece = self._file.read(size)
        self._hash.update(piece)
        self.size += len(piece)
        return piece

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()


def write(
    file: BinaryIO,
    passphrase: str | None,
    data: Path,
    database: Path,
    manifest: Callable[[dict[str, tuple[int, str]]], Manifest],
) -> Manifest:
    """Write a whole backup. `database`: a copy that nobody changes; `manifest` is told what was written."""
    sealed = Writer(file, passphrase)
    written: dict[str, tuple[int, str]] = {}
    # Texts of people shrink to a third at the lowest level; files that they send are mostly compressed already.
    with (
        gzip.GzipFile(fileobj=cast("IO[bytes]", sealed), mode="wb", compresslevel=1, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        for name, path in ((DATABASE, database), *_files(data)):
            added = _add(tar, name, path)
            if added is not None:
                written[name] = added
        made = manifest(written)
        body = json.dumps(asdict(made)).encode()
        tar.addfile(_entry(MANIFEST, len(body)), io.BytesIO(body))
    sealed.finish()
    return made


def _files(data: Path) -> Iterator[tuple[str, Path]]:
    for folder in FOLDERS:
        for path in sorted((data / folder).rglob("*")):
            name = path.relative_to(data).as_posix()
            if path.is_file() and not path.is_symlink() and _NAME.fullmatch(name):
                yield name, path


def _add(tar: tarfile.TarFile, name: str, path: Path) -> tuple[int, str] | None:
    """None if it has gone meanwhile."""
    try:
        opened = path.open("rb")
    except FileNotFoundError:
        return None
    with opened:
        reading = _Hashing(opened)
        size = os.fstat(opened.fileno()).st_size
        tar.addfile(_entry(name, size), cast("IO[bytes]", reading))
        return reading.size, reading.digest


def _entry(name: str, size: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o600
    return entry


def read(file: BinaryIO, passphrase: Callable[[], str | None], into: Path | None) -> Manifest:
    """Take a backup apart into a folder (None: only check it). Raises `DamagedBackupError` unless every file is there
    as it was written, and nothing else."""
    sealed = Reader(file, passphrase)
    found: dict[str, tuple[int, str]] = {}
    manifest: Manifest | None = None
    try:
        with tarfile.open(fileobj=cast("IO[bytes]", sealed), mode="r|gz") as tar:
            for entry in tar:
                content = tar.extractfile(entry)
                if not entry.isreg() or content is None or manifest is not None:
                    raise DamagedBackupError("the backup holds what does not belong into one")
                if entry.name == MANIFEST:
                    manifest = _manifest(content.read(_LARGEST_MANIFEST))
                else:
                    found[entry.name] = _take(entry.name, cast("BinaryIO", content), into)
    except (tarfile.TarError, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise PermanentError(f"the backup cannot be taken apart: {error.strerror}") from error
        raise DamagedBackupError(f"the backup is damaged ({error})") from error
    while sealed.read(_PIECE):
        pass  # padding of the archive; the last frame must be reached
    if manifest is None or not sealed.ended:
        raise DamagedBackupError("the backup ends too early")
    if found != manifest.files:
        raise DamagedBackupError("the files of the backup are not those of its list")
    return manifest


def _take(name: str, content: BinaryIO, into: Path | None) -> tuple[int, str]:
    if not _NAME.fullmatch(name) or ".." in name.split("/") or "." in name.split("/"):
        raise DamagedBackupError("the backup holds a file that does not belong into one")
    reading = _Hashing(content)
    if into is None:
        while reading.read(_PIECE):
            pass
        return reading.size, reading.digest
    path = into / name
    for folder in reversed(path.relative_to(into).parents):
        (into / folder).mkdir(mode=0o700, exist_ok=True)
    with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        while piece := reading.read(_PIECE):
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    return reading.size, reading.digest


def _manifest(body: bytes) -> Manifest:
    try:
        told: dict[str, Any] = json.loads(body)
        if told["format"] != FORMAT:
            raise DamagedBackupError("this backup was made by a later version of this program")
        files = {name: (int(size), str(digest)) for name, (size, digest) in told.pop("files").items()}
        return Manifest(**told, files=files)
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedBackupError(f"the list of the backup cannot be read ({error})") from error
