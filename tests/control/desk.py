"""The operations on a store of their own, asked without a socket."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.audit import timeline
from bot.audit.recorder import Recorder
from bot.gateway.channel import LocalHandler
from bot.kernel.ids import PersonId
from bot.people.model import Handle, Origin, Person, Role
from bot.storage.database import Database
from tests.channels.support import HandClock

KEY = b"k" * 32


@dataclass(slots=True)
class Answers:
    sent: list[dict[str, object]] = field(default_factory=list)

    async def send(self, message: Mapping[str, object]) -> None:
        self.sent.append(dict(message))

    async def receive(self) -> Mapping[str, object] | None:
        return None


@dataclass(slots=True)
class Desk:
    """The operations on a store of their own."""

    database: Database
    recorder: Recorder
    clock: HandClock
    handlers: Mapping[str, LocalHandler]
    forgotten: list[bool]

    async def ask(self, op: str, **fields: object) -> dict[str, object]:
        return (await self.ask_all(op, **fields))[-1]

    async def rows(self, op: str, key: str) -> list[dict[str, Any]]:
        rows = (await self.ask(op))[key]
        assert isinstance(rows, list)
        return rows

    async def ask_all(self, op: str, **fields: object) -> list[dict[str, object]]:
        peer = Answers()
        await self.handlers[op](peer, {"op": op, **fields})
        return peer.sent

    async def audited(self) -> list[tuple[str, str]]:
        """(type, actor) of every row."""
        entries = await self.database.read(lambda c: timeline.newest(c, 1_000))
        return [(entry.type, entry.actor) for entry in entries]


def person(key: str, role: Role, origin: Origin, *handles: Handle) -> Person:
    return Person(PersonId(key), key.title(), role, (), "UTC", None, origin, True, frozenset(handles))
