"""The port `recall.Ranker` in front of the search index."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from bot.kernel.clock import Clock
from bot.kernel.ids import SessionId
from bot.memory.indexing import Indexing
from bot.memory.recall import Hit
from bot.retrieval.recall.index import RecallIndex
from bot.retrieval.recall.model import Kind, Span, Within


class IndexRanker:
    def __init__(
        self, index: RecallIndex, indexing: Indexing, clock: Clock, first_search: Callable[[], Awaitable[None]]
    ) -> None:
        """`first_search` is called once, when the model of meanings has been loaded by a search: what waits to be
        embedded need not wait longer."""
        self._index = index
        self._indexing = indexing
        self._clock = clock
        self._first_search = first_search
        self._told = False

    async def claims(self, query: str, spaces: Sequence[str], limit: int) -> list[Hit]:
        return await self._search(query, Within(Kind.CLAIM, tuple(Span(space, 0, 0) for space in spaces)), limit)

    async def turns(
        self, query: str, session: SessionId, history_epoch: int, audience_epoch: int, limit: int
    ) -> list[Hit]:
        where = Within(Kind.TURN, (Span(session, history_epoch, audience_epoch),))
        return await self._search(query, where, limit, windows=True)

    async def _search(self, query: str, where: Within, limit: int, *, windows: bool = False) -> list[Hit]:
        """`windows`: hits are shown with what stands beside them, so none stands beside another."""
        await self._indexing.bring()
        found = await self._index.search(query, where, limit, at=self._clock.now(), windows=windows)
        if self._index.loaded and not self._told:
            self._told = True
            await self._first_search()
        return [Hit(hit.ref, hit.score) for hit in found.hits]
