"""Who is connected, what was handed to whom, and what has been shown."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import field

from bot.gateway.channel import LocalPeer
from bot.kernel.values import dataclass

KEPT = 2_000
"""Keys that are remembered; far more than can be in doubt at a time."""


@dataclass(eq=False, slots=True)
class Client:
    """One connection of a client's process."""

    peer: LocalPeer
    id: str
    thread: str
    cut: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the daemon gives the connection up."""


class Attached:
    def __init__(self) -> None:
        self._clients: dict[str, list[Client]] = {}
        self._shown: OrderedDict[str, None] = OrderedDict()
        self._handed: OrderedDict[str, set[str]] = OrderedDict()
        self._changed = asyncio.Event()

    def add(self, client: Client, shown: Iterable[str]) -> None:
        """A client is there; `shown` are the keys that its process has shown so far."""
        for key in shown:
            self._remember(key)
        self._clients.setdefault(client.thread, []).append(client)
        self._change()

    def remove(self, client: Client) -> None:
        """The connection is gone, or no longer used."""
        rest = [other for other in self._clients.get(client.thread, []) if other is not client]
        if rest:
            self._clients[client.thread] = rest
        else:
            self._clients.pop(client.thread, None)
        client.cut.set()
        self._change()

    def of(self, thread: str) -> list[Client]:
        return list(self._clients.get(thread, []))

    def everyone(self) -> list[Client]:
        return [client for clients in self._clients.values() for client in clients]

    def handing(self, key: str, client: Client) -> None:
        """The client may see `key` from now on."""
        self._handed.setdefault(key, set()).add(client.id)
        self._trim(self._handed)

    def holders(self, key: str) -> frozenset[str] | None:
        """The processes that may have seen `key`; None if this daemon has handed it to nobody."""
        handed = self._handed.get(key)
        return None if handed is None else frozenset(handed)

    def acknowledge(self, key: str) -> None:
        self._remember(key)
        self._change()

    def has_shown(self, key: str) -> bool:
        return key in self._shown

    async def change(self) -> None:
        """Return at the next arrival, departure or acknowledgement."""
        await self._changed.wait()

    def _change(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _remember(self, key: str) -> None:
        self._shown[key] = None
        self._trim(self._shown)

    @staticmethod
    def _trim(kept: OrderedDict[str, None] | OrderedDict[str, set[str]]) -> None:
        while len(kept) > KEPT:
            kept.popitem(last=False)
