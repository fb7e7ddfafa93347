"""A control server that runs for the length of a block."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from bot.control.client import call
from bot.control.server import Server
from bot.gateway.channel import LocalHandler
from bot.kernel.supervise import cancel, start


@asynccontextmanager
async def serving(
    path: Path, handlers: Mapping[str, LocalHandler], refused: list[str] | None = None, owner: int | None = None
) -> AsyncIterator[None]:
    server = Server(path, handlers, ([] if refused is None else refused).append, owner=owner)
    server.listen()
    task = start("control", server.run())
    try:
        yield
    finally:
        await cancel(task)
        server.close()


async def ask(path: Path, op: str, **fields: object) -> dict[str, object]:
    return await asyncio.to_thread(lambda: call(path, op, timeout=10, **fields))
