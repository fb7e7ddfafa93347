"""The terminal: clients of the daemon's socket, one per thread, that come back when they are cut off."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from bot.gateway.channel import Channel
from bot.gateway.events import PlaceKind
from bot.kernel.supervise import cancel, start
from tests.contracts.bench import Can, Draft, FarEnd, Talk, Who
from tests.contracts.inbox import GatedInbox

THREADS = {Talk.DIRECT: "main", Talk.OTHER: "other"}


class Client:
    """One process at the terminal: it shows each key once, tells so, and says again what was not taken."""

    def __init__(self, thread: str) -> None:
        self.id = f"client-{thread}"
        self.thread = thread
        self.messages: dict[str, str] = {}
        self.drafts: list[str] = []
        self.said: dict[str, str] = {}
        self.accepted: set[str] = set()
        self.answers: list[dict[str, object]] = []
        self._writer: asyncio.StreamWriter | None = None
        self._connecting = asyncio.Lock()
        self._reading: asyncio.Task[None] | None = None

    async def connect(self, path: Path) -> None:
        """One connection at a time, however many ask for one."""
        async with self._connecting:
            if self._writer is not None:
                return
            reader, self._writer = await asyncio.open_unix_connection(path)
            await self._write(op="chat", thread=self.thread, client=self.id, shown=list(self.messages))
            hello = json.loads(await reader.readline())
            assert hello["type"] == "hello", hello
            self._reading = start("terminal client", self._read(reader))
            for say_id in self.said.keys() - self.accepted:
                await self._write(type="say", id=say_id, text=self.said[say_id])

    @property
    def connected(self) -> bool:
        return self._writer is not None

    async def say(self, say_id: str, text: str) -> None:
        self.said[say_id] = text
        await self.again(say_id)

    async def again(self, say_id: str) -> None:
        if self._writer is not None:
            await self._write(type="say", id=say_id, text=self.said[say_id])

    async def leave(self) -> None:
        async with self._connecting:
            if self._reading is not None:
                await cancel(self._reading)
            if self._writer is not None:
                self._writer.close()
                with suppress(ConnectionError):
                    await self._writer.wait_closed()
            self._writer = self._reading = None

    async def _read(self, reader: asyncio.StreamReader) -> None:
        while line := await reader.readline():
            heard = json.loads(line)
            match heard["type"]:
                case "message":
                    self.messages.setdefault(heard["key"], heard["text"])
                    await self._write(type="ack", key=heard["key"])
                case "draft":
                    self.drafts.append(heard["text"] or "")
                case "accepted":
                    self.accepted.add(heard["id"])
                    self.answers.append(heard)
                case _:
                    self.answers.append(heard)
        if self._writer is not None:  # the daemon hung up
            self._writer.close()
            self._writer = None

    async def _write(self, **message: object) -> None:
        if self._writer is not None:
            with suppress(ConnectionError):
                self._writer.write(json.dumps(message).encode() + b"\n")
                await self._writer.drain()


class TerminalEnd(FarEnd):
    name = channel = "terminal"
    can = Can(
        ops=frozenset({"send"}),
        groups=False,
        strangers=False,
        bots=False,
        draft=Draft.OWN,
        network=False,
        certain=True,
    )

    def __init__(self) -> None:
        super().__init__()
        self._clients = {talk: Client(name) for talk, name in THREADS.items()}
        self._numbers = itertools.count(1)

    async def __aexit__(self, *_: object) -> None:
        await self.part()

    def settings(self) -> Mapping[str, object]:
        return {"enabled": True, "person": Who.ANN.value}

    def address(self, who: Who) -> str:
        return who.value

    async def meet(self, channel: Channel, data_dir: Path) -> None:
        await super().meet(channel, data_dir)
        for client in self._clients.values():
            await client.connect(data_dir / "control.sock")

    async def part(self) -> None:
        for client in self._clients.values():
            await client.leave()

    async def writes(self, who: Who, text: str, talk: Talk = Talk.DIRECT, *, mention: bool = True) -> str:
        say_id = f"say{next(self._numbers)}"
        await self._clients[talk].say(say_id, text)
        return f"terminal:cli:{Who.ANN.value}:{THREADS[talk]}:{say_id}"

    def _of(self, ref: str) -> tuple[Client, str]:
        *_, thread, say_id = ref.split(":")
        talk = next(talk for talk, name in THREADS.items() if name == thread)
        return self._clients[talk], say_id

    async def repeats(self, ref: str) -> None:
        client, say_id = self._of(ref)
        await client.again(say_id)

    async def insist(self) -> None:
        for client in self._clients.values():
            for say_id in client.said.keys() - client.accepted:
                await client.again(say_id)

    async def taken(self, ref: str, inbox: GatedInbox) -> bool:
        client, say_id = self._of(ref)
        return say_id in client.accepted

    def shown(self, talk: Talk = Talk.DIRECT, who: Who = Who.ANN) -> list[str]:
        return list(self._clients[talk].messages.values())

    def drafts(self) -> list[str]:
        return [text for client in self._clients.values() for text in client.drafts]

    def signs(self) -> int:
        return len(self.drafts())

    def thread_of(self, ref: str, talk: Talk) -> str | None:
        return f"cli:{Who.ANN.value}:{THREADS[talk]}"

    def place_of(self, talk: Talk) -> tuple[str | None, PlaceKind]:
        return f"cli:{Who.ANN.value}:{THREADS[talk]}", PlaceKind.DIRECT
