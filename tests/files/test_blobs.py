from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.files.blobs import BlobFolder, BlobMissing, TooLarge
from bot.kernel.errors import PermanentError
from bot.kernel.ids import BlobHash
from bot.kernel.supervise import Supervisor


def _files(root: Path) -> list[str]:
    return sorted(str(each.relative_to(root)) for each in root.rglob("*") if each.is_file())


async def _chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def test_content_is_kept_once_under_its_hash_and_private(tmp_path: Path) -> None:
    folder = BlobFolder(tmp_path / "data" / "blobs")
    data = b"content" * 100_000
    first = await folder.put(data, 1_000_000)
    second = await folder.put_stream(_chunks(data[:10], b"", data[10:400_000], data[400_000:]), 1_000_000)
    digest = hashlib.sha256(data).hexdigest()
    assert first == second
    assert (first.id, first.size, first.head) == (digest, len(data), data[:4096])
    assert _files(tmp_path / "data" / "blobs") == [f"{digest[:2]}/{digest}"]
    kept = tmp_path / "data" / "blobs" / digest[:2] / digest
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    assert await folder.get(first.id) == data
    assert await folder.exists(first.id)


async def test_empty_content_is_content(tmp_path: Path) -> None:
    folder = BlobFolder(tmp_path)
    stored = await folder.put(b"", 10)
    assert stored.size == 0
    assert await folder.get(stored.id) == b""


async def test_limit_is_exact_and_stops_the_stream_without_a_trace(tmp_path: Path) -> None:
    folder = BlobFolder(tmp_path)
    assert (await folder.put(b"12345", 5)).size == 5
    await folder.delete(BlobHash(hashlib.sha256(b"12345").hexdigest()))
    taken = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal taken
        while True:
            taken += 1
            yield bytes(100_000)

    with pytest.raises(TooLarge) as refused:
        await folder.put_stream(endless(), 1_000_000)
    assert isinstance(refused.value, PermanentError)
    assert refused.value.limit == 1_000_000
    assert taken == 11
    assert _files(tmp_path) == []


async def test_a_failing_source_leaves_nothing(tmp_path: Path) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield bytes(600_000)
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await BlobFolder(tmp_path).put_stream(broken(), 10_000_000)
    assert _files(tmp_path) == []


async def test_a_cancelled_write_leaves_nothing(tmp_path: Path) -> None:
    writing = asyncio.Event()

    async def stuck() -> AsyncIterator[bytes]:
        yield bytes(600_000)
        writing.set()
        await asyncio.Event().wait()

    supervisor = Supervisor()
    job = supervisor.job("put", BlobFolder(tmp_path).put_stream(stuck(), 10_000_000))
    await writing.wait()
    assert len(_files(tmp_path)) == 1
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert _files(tmp_path) == []


async def test_many_writers_of_the_same_content_agree(tmp_path: Path) -> None:
    folder = BlobFolder(tmp_path)
    stored = await asyncio.gather(*(folder.put(b"same" * 1000, 10_000) for _ in range(20)))
    assert len({each.id for each in stored}) == 1
    assert len(_files(tmp_path)) == 1


async def test_sweep_removes_only_what_a_crash_left(tmp_path: Path) -> None:
    folder = BlobFolder(tmp_path / "blobs")
    assert await folder.sweep() == 0
    stored = await folder.put(b"kept", 10)
    (tmp_path / "blobs" / ".incoming-0011").write_bytes(b"half")
    assert await folder.sweep() == 1
    assert await folder.get(stored.id) == b"kept"


async def test_damage_and_absence_are_named_and_a_new_write_mends(tmp_path: Path) -> None:
    folder = BlobFolder(tmp_path)
    stored = await folder.put(b"right", 10)
    (tmp_path / stored.id[:2] / stored.id).write_bytes(b"wrong")
    with pytest.raises(BlobMissing, match="damaged"):
        await folder.get(stored.id)
    await folder.put(b"right", 10)
    assert await folder.get(stored.id) == b"right"
    assert await folder.delete(stored.id)
    assert not await folder.delete(stored.id)
    assert not await folder.exists(stored.id)
    with pytest.raises(BlobMissing, match="no longer kept"):
        await folder.get(stored.id)


@pytest.mark.parametrize("name", ["../../etc/passwd", "a" * 63, "A" * 64, "a" * 64 + "\n", "", "g" * 64])
async def test_only_a_hash_is_an_id(tmp_path: Path, name: str) -> None:
    folder = BlobFolder(tmp_path)
    for use in (folder.get, folder.delete, folder.exists):
        with pytest.raises(ValueError, match="not a blob id"):
            await use(BlobHash(name))
