"""A store with texts to embed, and an index over it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from bot.kernel.supervise import Supervisor
from bot.retrieval import store
from bot.retrieval.embedder import Embedder
from bot.retrieval.index import Index, Work
from bot.storage.database import Database
from tests.retrieval.embedders import WordEmbedder


@dataclass(slots=True)
class Shelf:
    database: Database
    folder: Path
    supervisor: Supervisor
    texts: dict[str, str] = field(default_factory=dict)
    asked: list[Work] = field(default_factory=list)
    open: list[Index] = field(default_factory=list)

    def index(
        self,
        embedder: Embedder | None = None,
        others: Sequence[Embedder] = (),
        patience: timedelta = timedelta(seconds=60),
    ) -> Index:
        async def texts(items: Sequence[str]) -> Mapping[str, str]:
            return {item: self.texts[item] for item in items if item in self.texts}

        async def ask_for(work: Work) -> None:
            self.asked.append(work)

        index = Index(
            self.folder,
            self.database,
            embedder or WordEmbedder(),
            texts,
            self.supervisor,
            ask_for,
            others=others,
            patience=patience,
            time_limit=timedelta(seconds=60),
        )
        self.open.append(index)
        return index

    async def put(self, collection: str, texts: Mapping[str, str]) -> None:
        self.texts.update(texts)
        await self.database.write(lambda tx: store.enlist(tx, collection, texts))

    async def take(self, *items: str) -> None:
        await self.database.write(lambda tx: store.withdraw(tx, items))

    async def found(self, index: Index, question: str, *collections: str, limit: int = 3) -> list[str] | None:
        near = await index.nearest(question, collections or ("a",), limit)
        return None if near is None else [each.item for each in near]
