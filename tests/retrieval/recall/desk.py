"""A store with turns and claims, and indexes over it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from bot.kernel.supervise import Supervisor
from bot.retrieval.embedder import Embedder
from bot.retrieval.recall.index import RecallIndex
from bot.retrieval.recall.model import Entry, Found, Kind, Span, Within
from bot.storage.database import Database
from tests.retrieval.embedders import WordEmbedder

NOW = datetime(2026, 3, 18, 12, tzinfo=UTC)


def turn(ref: str, text: str, space: str = "s1", *, history: int = 0, audience: int = 0, minute: int = 0) -> Entry:
    return Entry(Kind.TURN, ref, space, history, audience, "Anna", NOW + timedelta(minutes=minute), text)


def claim(ref: str, text: str, space: str = "company") -> Entry:
    return Entry(Kind.CLAIM, ref, space, 0, 0, "Anna", NOW, text)


def within(*spaces: str, kind: Kind = Kind.TURN, history: int = 0, audience: int = 0) -> Within:
    return Within(kind, tuple(Span(space, history, audience) for space in spaces))


@dataclass(slots=True)
class Desk:
    database: Database
    supervisor: Supervisor
    queued: list[str] = field(default_factory=list)
    open: list[RecallIndex] = field(default_factory=list)

    def index(self, *embedders: Embedder) -> RecallIndex:
        index = RecallIndex(
            self.database,
            embedders or (WordEmbedder(),),
            self.supervisor,
            lambda tx: self.queued.append("catch up"),
            patience=timedelta(seconds=60),
            time_limit=timedelta(seconds=60),
        )
        self.open.append(index)
        return index

    async def put(self, index: RecallIndex, *entries: Entry) -> None:
        await self.database.write(lambda tx: index.put(tx, entries))

    async def remove(self, index: RecallIndex, kind: Kind, *refs: str) -> None:
        await self.database.write(lambda tx: index.remove(tx, kind, refs))

    async def ask(self, index: RecallIndex, query: str, where: Within, limit: int = 10) -> Found:
        return await index.search(query, where, limit, at=NOW)

    async def refs(self, index: RecallIndex, query: str, where: Within, limit: int = 10) -> Sequence[str]:
        return [hit.ref for hit in (await self.ask(index, query, where, limit)).hits]
