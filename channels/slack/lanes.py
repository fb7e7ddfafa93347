"""Order within a conversation: what is handled for one goes one after the other, in the order in which it came."""

from __future__ import annotations

import asyncio
import weakref


class Lanes:
    def __init__(self) -> None:
        self._locks: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()

    def of(self, conversation: str) -> asyncio.Lock:
        """The lock of a conversation; it is fair, and lives as long as somebody holds or awaits it."""
        lock = self._locks.get(conversation)
        if lock is None:
            lock = self._locks[conversation] = asyncio.Lock()
        return lock
