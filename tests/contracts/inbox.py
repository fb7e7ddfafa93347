"""An inbox in memory that keeps the promises of `bot.gateway.channel.Inbox`, and can be held or made to fail."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence

from bot.gateway.channel import Accepted, Cursor
from bot.gateway.events import Addressed, InboundEvent, MessageEdited, MessageReceived, Nature
from bot.kernel.errors import TransientError


class GatedInbox:
    """Batches are taken all or nothing. What was accepted is known by its keys; what was ignored is not, like the real
    one's. `hold()` keeps every call inside until `release()`; `fail(n)`: the next n calls with events cannot store."""

    def __init__(self, people: Collection[str]) -> None:
        self.people = frozenset(people)
        self.events: list[InboundEvent] = []
        self.offered: list[InboundEvent] = []
        """Everything that was handed over, repetitions and what was ignored included."""
        self.answers: list[Accepted] = []
        """Of `offered`, in the same order."""
        self.failed = 0
        self.inside = 0
        """Calls that are held now."""
        self._failures = 0
        self._open = asyncio.Event()
        self._open.set()
        self._seen: set[str] = set()
        self._cursors: dict[str, str] = {}

    def hold(self) -> None:
        self._open.clear()

    def release(self) -> None:
        self._open.set()

    def fail(self, times: int = 1) -> None:
        self._failures = times

    def messages(self) -> list[MessageReceived]:
        return [event for event in self.events if isinstance(event, MessageReceived)]

    def texts(self) -> list[str]:
        return [event.body.own() for event in self.messages()]

    async def accept(self, events: Sequence[InboundEvent], cursor: Cursor | None = None) -> Sequence[Accepted]:
        if events:
            self.inside += 1
            try:
                await self._open.wait()
            finally:
                self.inside -= 1
            if self._failures:
                self._failures -= 1
                self.failed += 1
                raise TransientError("the disk is full")
        answers = [self._take(event) for event in events]
        self.offered += events
        self.answers += answers
        if cursor is not None:
            self._cursors[cursor.name] = cursor.value
        return answers

    def _take(self, event: InboundEvent) -> Accepted:
        if self._seen.intersection(event.keys):
            return Accepted.DUPLICATE
        if isinstance(event, MessageReceived | MessageEdited) and (
            event.addressed is Addressed.NOT or event.sender.nature is Nature.SELF
        ):
            return Accepted.IGNORED
        self._seen.update(event.keys)
        self.events.append(event)
        return Accepted.NEW

    async def cursor(self, name: str) -> str | None:
        return self._cursors.get(name)

    async def participates(self, refs: Sequence[str], address: str) -> bool:
        return any(m.ref in refs and m.sender.address == address for m in self.messages())

    async def sides(self, addresses: Sequence[str]) -> Mapping[str, bool]:
        return {}

    async def is_known(self, address: str) -> bool:
        return address in self.people
