"""A terminal channel on a real socket, and clients that speak its protocol step by step."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from bot.gateway.events import ReplyPath
from bot.gateway.operations import Send
from bot.kernel.ids import OutboxId
from bot.kernel.supervise import cancel, start
from channels.terminal import build
from channels.terminal.adapter import TerminalChannel
from config.schema import Terminal
from tests.channels.inbox import MemoryInbox
from tests.channels.support import Bench
from tests.control.serving import serving

WITHIN = 10.0
MAIN = "cli:principal:main"


class Talker:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def say(self, **message: object) -> None:
        self._writer.write(json.dumps(message).encode() + b"\n")
        await self._writer.drain()

    async def hear(self) -> dict[str, object]:
        async with asyncio.timeout(WITHIN):
            line = await self._reader.readline()
        heard: dict[str, object] = json.loads(line)
        return heard

    async def hears_the_end(self) -> bool:
        async with asyncio.timeout(WITHIN):
            return await self._reader.readline() == b""

    async def leave(self) -> None:
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()


@dataclass(slots=True)
class Scene:
    path: Path
    bench: Bench
    inbox: MemoryInbox
    channel: TerminalChannel
    talkers: list[Talker] = field(default_factory=list)

    async def attach(self, client: str = "c1", thread: str = "main", shown: Sequence[str] = ()) -> Talker:
        talker = await self.connect(client, thread, shown)
        assert (await talker.hear())["type"] == "hello"
        await self.until_attached(client, f"cli:principal:{thread}")
        return talker

    async def connect(self, client: str = "c1", thread: str = "main", shown: Sequence[str] = ()) -> Talker:
        talker = Talker(*await asyncio.open_unix_connection(self.path))
        self.talkers.append(talker)
        await talker.say(op="chat", thread=thread, client=client, shown=list(shown))
        return talker

    async def until_attached(self, client: str, thread: str) -> None:
        async with asyncio.timeout(WITHIN):
            while all(each.id != client for each in self.channel._attached.of(thread)):
                await self.channel._attached.change()

    async def until_gone(self, thread: str = MAIN) -> None:
        async with asyncio.timeout(WITHIN):
            while self.channel._attached.of(thread):
                await self.channel._attached.change()


@asynccontextmanager
async def scene(tmp_path: Path, *, running: bool = True, person: str | None = None) -> AsyncIterator[Scene]:
    bench, inbox = Bench(tmp_path), MemoryInbox()
    channel = build(Terminal(person=person), bench.context)
    path = tmp_path / "control.sock"
    async with serving(path, channel.local()):
        receiving = start("terminal", channel.run(inbox))
        await asyncio.sleep(0)
        try:
            if not running:
                await cancel(receiving)
            yield (found := Scene(path, bench, inbox, channel))
            for talker in found.talkers:
                await talker.leave()
        finally:
            await cancel(receiving)
            await channel.close()


def reply(text: str, thread: str = MAIN, ref: str | None = "say1") -> Send:
    return Send(ReplyPath(thread, "principal", ref), text, text)


def key(name: str) -> OutboxId:
    return OutboxId(name)
