"""Files kept once under the hash of their content: `<root>/ab/<sha256>`, mode 0600, folders 0700.

A blob is whole and durable before its id is given out: written to a temporary file in the same folder tree, synced,
renamed, the folders synced. A crash leaves at worst a temporary file, which `sweep` removes at the next start.
Who refers to a blob, and so when it may be deleted, is the store's business.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import secrets
import struct
from collections.abc import AsyncIterable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO, ParamSpec, TypeVar

from bot.files.model import KeptFile, StoredBlob
from bot.files.office import OLE_MAGIC
from bot.kernel.errors import PermanentError
from bot.kernel.ids import BlobHash

P = ParamSpec("P")
T = TypeVar("T")

HEAD_BYTES = 4096
SAMPLE_BYTES = 1024 * 1024
_OLE_ENTRY = 128  # bytes of a directory entry
_GATHER = 256 * 1024  # bytes collected before a hop to a thread
_ID = re.compile(r"[0-9a-f]{64}\Z")
_TEMPORARY = ".incoming-"


class TooLarge(PermanentError):
    """The content passes its byte limit; nothing of it was kept."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"The file is larger than {in_words(limit)}.")
        self.limit = limit


class BlobMissing(PermanentError):
    """No such blob, or its bytes are no longer those of its id."""


class BlobFolder:
    """Content-addressed files under `root` (made on first use). Safe for many tasks of one process."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def put(self, data: bytes, limit: int) -> StoredBlob:
        """Keep `data`. Raises `TooLarge` above `limit` bytes."""

        async def whole() -> AsyncIterable[bytes]:
            yield data

        return await self.put_stream(whole(), limit)

    async def put_stream(self, chunks: AsyncIterable[bytes], limit: int) -> StoredBlob:
        """Keep what `chunks` yields, never holding more than a part of it in memory.

        Raises `TooLarge` as soon as more than `limit` bytes have come; whatever `chunks` raises passes through.
        In every case of failure and of cancellation nothing is left behind.
        """
        incoming = _Incoming(self._root)
        waiting = b""
        try:
            async for chunk in chunks:
                if incoming.size + len(waiting) + len(chunk) > limit:
                    raise TooLarge(limit)
                waiting = waiting + chunk if waiting else chunk
                if len(waiting) >= _GATHER:
                    await _blocking(incoming.write, waiting)
                    waiting = b""
            return await _blocking(incoming.finish, waiting)
        finally:
            incoming.discard()

    async def get(self, blob: BlobHash) -> bytes:
        """The content, checked against its hash. Raises `BlobMissing`."""
        return await asyncio.to_thread(_read, self._path(blob), blob)

    async def inspect(self, blob: BlobHash) -> KeptFile:
        """Where the content lies, checked against its hash piece by piece, for readers outside of this process.

        Raises `BlobMissing`.
        """
        return await asyncio.to_thread(_inspect, self._path(blob), blob)

    async def exists(self, blob: BlobHash) -> bool:
        return await asyncio.to_thread(self._path(blob).is_file)

    async def delete(self, blob: BlobHash) -> bool:
        """Remove the blob durably. False if it was not there."""
        return await _blocking(_delete, self._path(blob))

    async def sweep(self) -> int:
        """Remove temporary files of an earlier process; call before the first `put`. Returns how many there were."""
        return await _blocking(_sweep, self._root)

    def _path(self, blob: BlobHash) -> Path:
        if not _ID.match(blob):
            raise ValueError("not a blob id")
        return self._root / blob[:2] / blob


class _Incoming:
    """One temporary file on its way to being a blob. All methods block; `discard` is quick and may be repeated."""

    def __init__(self, root: Path) -> None:
        self.size = 0
        self._root = root
        self._path = root / (_TEMPORARY + secrets.token_hex(8))
        self._descriptor: int | None = None
        self._hash = hashlib.sha256()
        self._head = b""

    def write(self, data: bytes) -> int:
        """Append `data`; the file is made at the first call. Returns its descriptor."""
        if self._descriptor is None:
            _make_folder(self._root)
            self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        if len(self._head) < HEAD_BYTES:
            self._head += data[: HEAD_BYTES - len(self._head)]
        self._hash.update(data)
        self.size += len(data)
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]
        return self._descriptor

    def finish(self, last: bytes) -> StoredBlob:
        os.fsync(self.write(last))
        self._close()
        blob = BlobHash(self._hash.hexdigest())
        folder = self._root / blob[:2]
        _make_folder(folder)
        # Also when the blob exists: replacing it is atomic, and mends a damaged copy.
        self._path.replace(folder / blob)
        _sync_folder(folder)
        return StoredBlob(blob, self.size, self._head)

    def discard(self) -> None:
        self._close()
        self._path.unlink(missing_ok=True)

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def _make_folder(folder: Path) -> None:
    """Make `folder` and its missing parents, each known to its parent on disk before it is used."""
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(path: Path, blob: BlobHash) -> bytes:
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise BlobMissing("The file is no longer kept here.") from error
    if hashlib.sha256(data).hexdigest() != blob:
        raise BlobMissing("The copy of the file that was kept here is damaged.")
    return data


def _inspect(path: Path, blob: BlobHash) -> KeptFile:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while piece := file.read(_GATHER):
                digest.update(piece)
            size = file.tell()
            if digest.hexdigest() != blob:
                raise BlobMissing("The copy of the file that was kept here is damaged.")
            return KeptFile(path, size, _sample(file, size))
    except FileNotFoundError as error:
        raise BlobMissing("The file is no longer kept here.") from error


def _sample(file: BinaryIO, size: int) -> bytes:
    """The whole of a small file; of a large one its two ends, where zip has its directory, and the directory of an OLE
    file, whose place its header names ([MS-CFB] s2.2: sector shift at 30, first directory sector at 48)."""
    file.seek(0)
    if size <= 2 * SAMPLE_BYTES:
        return file.read()
    head = file.read(SAMPLE_BYTES)
    middle = b""
    if head.startswith(OLE_MAGIC):
        shift, sector = struct.unpack_from("<H", head, 30)[0], struct.unpack_from("<I", head, 48)[0]
        if shift in {9, 12}:
            file.seek(min((sector + 1) << shift, size))
            middle = file.read(SAMPLE_BYTES // 16)
            middle = middle[: len(middle) // _OLE_ENTRY * _OLE_ENTRY]
    # Directory entries of OLE are found by their alignment, which this keeps.
    file.seek((size - SAMPLE_BYTES) // _OLE_ENTRY * _OLE_ENTRY)
    return head + middle + file.read()


def in_words(size: int) -> str:
    """A number of bytes as people say it: whole megabytes where it is some, else the bytes."""
    for unit, name in ((1024 * 1024, "MB"), (1_000_000, "MB"), (1024, "kB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit:,} {name}"
    return f"{size:,} bytes"


def _delete(path: Path) -> bool:
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    _sync_folder(path.parent)
    return True


def _sweep(root: Path) -> int:
    found = list(root.glob(_TEMPORARY + "*")) if root.is_dir() else []
    for path in found:
        path.unlink(missing_ok=True)
    return len(found)


async def _blocking(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work` in a thread and, even when cancelled, come back only after it has ended.

    A cancelled `to_thread` leaves its thread running: it would go on writing to a descriptor that is closed by then.
    """
    future = asyncio.get_running_loop().run_in_executor(None, partial(work, *args, **kwargs))
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        while not future.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait({future})
        if not future.cancelled():
            future.exception()  # seen: the cancellation is what the caller gets
        raise
