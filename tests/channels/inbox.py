"""An inbox in memory that keeps the promises of `bot.gateway.channel.Inbox`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence

from bot.gateway.channel import Accepted, Cursor
from bot.gateway.events import Addressed, InboundEvent, MessageEdited, MessageReceived
from bot.kernel.errors import TransientError


class MemoryInbox:
    """Takes batches all or nothing, drops what it has seen under any of its keys, and keeps what is for us.

    `fail(n)`: the next n calls cannot store. `people`: addresses of the roster; None knows everyone.
    """

    def __init__(self, people: Iterable[str] | None = None) -> None:
        self.events: list[InboundEvent] = []
        self.batches: list[tuple[InboundEvent, ...]] = []
        self.refused: list[tuple[InboundEvent, ...]] = []
        self._people = None if people is None else frozenset(people)
        self._seen: set[str] = set()
        self._cursors: dict[str, str] = {}
        self._taking_part: set[tuple[str, str]] = set()
        self.roster: dict[str, bool] = {}
        """Accounts of people of the roster, and whether they count as the company's."""
        self._failures = 0
        self._changed = asyncio.Event()

    def fail(self, times: int = 1) -> None:
        self._failures = times

    def join(self, ref: str, address: str) -> None:
        """Let `address` take part in the thread that holds `ref`."""
        self._taking_part.add((ref, address))

    async def accept(self, events: Sequence[InboundEvent], cursor: Cursor | None = None) -> Sequence[Accepted]:
        if self._failures:
            self._failures -= 1
            self.refused.append(tuple(events))
            self._ring()
            raise TransientError("the disk is full")
        answers: list[Accepted] = []
        for event in events:
            if self._seen.intersection(event.keys):
                answers.append(Accepted.DUPLICATE)
                continue
            if isinstance(event, MessageReceived | MessageEdited) and event.addressed is Addressed.NOT:
                answers.append(Accepted.IGNORED)
                continue
            self._seen.update(event.keys)
            self.events.append(event)
            answers.append(Accepted.NEW)
        self.batches.append(tuple(events))
        if cursor is not None:
            self._cursors[cursor.name] = cursor.value
        self._ring()
        return answers

    async def cursor(self, name: str) -> str | None:
        return self._cursors.get(name)

    async def participates(self, refs: Sequence[str], address: str) -> bool:
        return any((ref, address) in self._taking_part for ref in refs)

    async def sides(self, addresses: Sequence[str]) -> Mapping[str, bool]:
        return {address: side for address, side in self.roster.items() if address in addresses}

    async def is_known(self, address: str) -> bool:
        return self._people is None or address in self._people

    async def wait(self, count: int = 1, timeout: float = 10.0) -> tuple[InboundEvent, ...]:
        """The first `count` stored events, once they are there."""
        await self.until(lambda: len(self.events) >= count, timeout)
        return tuple(self.events[:count])

    async def until(self, holds: Callable[[], bool], timeout: float = 10.0) -> None:
        async with asyncio.timeout(timeout):
            while not holds():
                await self._changed.wait()

    def _ring(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
