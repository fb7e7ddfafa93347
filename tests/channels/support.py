"""What the tests of channels share: a clock they move, files in memory, and the context a channel is handed."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.gateway.channel import ChannelContext
from bot.kernel.errors import PermanentError
from bot.kernel.ids import BlobHash
from bot.kernel.supervise import Supervisor

START = datetime(2026, 11, 30, 12, tzinfo=UTC)


class HandClock:
    """Time stands still until `advance`; `sleeper` waits for the next one that sleeps and says how long it wants to."""

    def __init__(self) -> None:
        self._passed = timedelta()
        self._sleepers: list[tuple[timedelta, asyncio.Event]] = []
        self._begun: asyncio.Queue[timedelta] = asyncio.Queue()

    def now(self) -> datetime:
        return START + self._passed

    def monotonic(self) -> float:
        return self._passed.total_seconds()

    async def sleep(self, duration: timedelta) -> None:
        if duration <= timedelta():
            await asyncio.sleep(0)
            return
        wake = asyncio.Event()
        self._sleepers.append((self._passed + duration, wake))
        self._begun.put_nowait(duration)
        await wake.wait()

    def advance(self, duration: timedelta) -> None:
        self._passed += duration
        due = [wake for at, wake in self._sleepers if at <= self._passed]
        self._sleepers = [(at, wake) for at, wake in self._sleepers if at > self._passed]
        for wake in due:
            wake.set()

    async def sleeper(self, timeout: float = 10.0) -> timedelta:
        async with asyncio.timeout(timeout):
            return await self._begun.get()

    async def skip(self) -> timedelta:
        """Let the next sleeper have its time at once."""
        duration = await self.sleeper()
        self.advance(duration)
        return duration


class MemoryFiles:
    def __init__(self) -> None:
        self.blobs: dict[BlobHash, bytes] = {}

    def add(self, data: bytes) -> BlobHash:
        blob = BlobHash(hashlib.sha256(data).hexdigest())
        self.blobs[blob] = data
        return blob

    async def put(self, chunks: AsyncIterator[bytes] | bytes, limit: int) -> BlobHash:
        data = chunks if isinstance(chunks, bytes) else b"".join([chunk async for chunk in chunks])
        if len(data) > limit:
            raise PermanentError("too large")
        return self.add(data)

    async def read(self, blob: BlobHash) -> bytes:
        if blob not in self.blobs:
            raise PermanentError("no such file")
        return self.blobs[blob]


class Bench:
    """A context and what the tests look at behind it."""

    def __init__(self, data_dir: Path) -> None:
        self.clock = HandClock()
        self.supervisor = Supervisor()
        self.files = MemoryFiles()
        self.rung = 0
        self._ready = asyncio.Event()
        self.context = ChannelContext(
            clock=self.clock,
            supervisor=self.supervisor,
            files=self.files,
            data_dir=data_dir,
            ready=self._ring,
            version="0.0.0",
            local_person="principal",
            secret=bytes(32),
            local_trust=False,
        )

    def _ring(self) -> None:
        self.rung += 1
        self._ready.set()

    async def ready(self, timeout: float = 10.0) -> None:
        async with asyncio.timeout(timeout):
            await self._ready.wait()
