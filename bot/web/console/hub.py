"""Who listens for what changes while a page is open, and what they hear: topics, never words."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from datetime import timedelta

from bot.kernel.ids import PersonId

TOPICS = {
    "memory": ("memory_", "extraction_"),
    "ledger": ("proposal_", "action_", "breaker_", "class_mode_"),
    "schedule": ("schedule_",),
    "session": ("message_", "turn_", "delivery_"),
    "knowledge": ("knowledge_",),
    "people": ("person_", "auth_", "room_", "token_", "pairing_"),
}
"""By the first letters of the types of audit events."""
READ = frozenset({"memory_viewed", "memory_snapshot"})
"""What was only looked at: a page that asks again because of it would never stop."""
GATHERED = timedelta(milliseconds=300)
"""Events that come within it are told together."""
MOST = 64
"""Streams at a time; a page without one shows what was so when it was loaded."""
MOST_OF_ONE = 12
"""Of one person."""


class Hub:
    """Told by the audit what was written; wakes the streams."""

    def __init__(self) -> None:
        self._waiting: set[Ear] = set()

    def written(self, types: Iterable[str]) -> None:
        """Types of audit events that were committed just now."""
        changed = [each for each in types if each not in READ]
        topics = {topic for each in changed for topic, starts in TOPICS.items() if each.startswith(starts)}
        if topics:
            for ear in self._waiting:
                ear.hear(topics)

    @property
    def listening(self) -> int:
        return len(self._waiting)

    def listen(self, person: PersonId) -> Ear | None:
        """None when there are too many already, of all or of this person."""
        of_person = sum(each.person == person for each in self._waiting)
        if len(self._waiting) >= MOST or of_person >= MOST_OF_ONE:
            return None
        ear = Ear(person, self._waiting.discard)
        self._waiting.add(ear)
        return ear

    def close(self) -> None:
        """End all streams: the server stops."""
        for ear in tuple(self._waiting):
            ear.end()


class Ear:
    def __init__(self, person: PersonId, gone: Callable[[Ear], None]) -> None:
        self.person = person
        self._gone = gone
        self._topics: set[str] = set()
        self._rung = asyncio.Event()
        self.ended = False

    def hear(self, topics: set[str]) -> None:
        self._topics |= topics
        self._rung.set()

    def end(self) -> None:
        self.ended = True
        self._rung.set()

    async def next(self, within: timedelta) -> set[str]:
        """Topics that changed; none when nothing did `within` that time."""
        try:
            async with asyncio.timeout(within.total_seconds()):
                await self._rung.wait()
        except TimeoutError:
            return set()
        if not self.ended:
            await asyncio.sleep(GATHERED.total_seconds())
        self._rung.clear()
        heard, self._topics = self._topics, set()
        return heard

    def close(self) -> None:
        self._gone(self)
