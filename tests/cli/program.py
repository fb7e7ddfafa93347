"""The program as a process of its own, and a stand-in for the daemon it talks to."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from bot.gateway.channel import LocalHandler, LocalPeer
from tests.control.serving import serving

PROGRAM = [sys.executable, "-c", "import sys; from bot.cli import main; sys.exit(main())"]


async def command(*arguments: str, say: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run the program as a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    return await asyncio.to_thread(
        lambda: subprocess.run(
            [*PROGRAM, *arguments], input=say or "", capture_output=True, text=True, timeout=60, env=environment
        )
    )


@asynccontextmanager
async def daemon(folder: Path, handlers: Mapping[str, LocalHandler]) -> AsyncIterator[None]:
    """A stand-in for the running daemon: its socket, with these handlers."""
    await asyncio.to_thread(folder.mkdir, mode=0o700)
    async with serving(folder / "control.sock", handlers):
        yield


def answering(answer: Mapping[str, object], asked: list[Mapping[str, object]] | None = None) -> LocalHandler:
    async def handle(peer: LocalPeer, first: Mapping[str, object]) -> None:
        if asked is not None:
            asked.append(first)
        await peer.send({**answer, "ok": True})

    return handle


async def parrot(peer: LocalPeer, first: Mapping[str, object]) -> None:
    """The terminal channel's side of a chat that repeats everything, after a draft."""
    await peer.send({"type": "hello", "thread": first["thread"], "person": "p", "version": "0"})
    while (message := await peer.receive()) is not None:
        if message["type"] == "say":
            await peer.send({"type": "accepted", "id": message["id"]})
            await peer.send({"type": "draft", "turn": "t", "text": "being wri"})
            text = f"you said: {message['text']}"
            answer = {"type": "message", "key": f"k{message['id']}", "text": text, "re": message["id"], "alone": False}
            await peer.send(answer)
