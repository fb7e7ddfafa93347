"""Finding passages by words and by meaning, and reading them. Every reader says for whom it reads; what may be shown is
decided by SQL before the search by meaning, and again after it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import timedelta

import sqlalchemy as sa

from bot.kernel.ids import ChunkId, SectionId
from bot.kernel.scope import Scope
from bot.kernel.values import dataclass
from bot.knowledge import passages, quoting, store
from bot.knowledge.model import CORPUS, SectionText, Stub, audiences
from bot.knowledge.passages import Row, View
from bot.retrieval import fulltext, fusion
from bot.retrieval.fusion import Ranking
from bot.retrieval.index import Index
from bot.sessions.visible import company_view
from bot.storage.database import Database

TEXT_WEIGHT = 0.7
VECTOR_WEIGHT = 1.0
SMOOTHING = 10
"""How the two rankings are fused; measured by `python -m tests.evaluation --knowledge`."""
DEEP = 40
"""Chunks that each ranking brings."""
MOST_OF_ONE = 3
"""Sections of one document in an answer."""
_AMONG = 4_000
"""Chunks up to which a narrowed search by meaning looks at these alone; beyond, it looks at all and drops the rest."""
SNIPPET = 260
_TOKEN = 4
CORPUS_WAIT = timedelta(seconds=2)


@dataclass(frozen=True, slots=True)
class Found:
    stubs: tuple[Stub, ...]
    vectors: bool
    """Whether the search by meaning took part."""


@dataclass(frozen=True, slots=True)
class Reading:
    sections: tuple[SectionText, ...]
    withheld: tuple[SectionId, ...]
    """Not there, not any more, or not for this reader: which of these is nobody's business."""


class Search:
    def __init__(self, database: Database, index: Index, corpus: Callable[[], Awaitable[None]]) -> None:
        """`corpus` returns once the built-in notes are in the store."""
        self._database = database
        self._index = index
        self._corpus = corpus

    async def search(
        self, scope: Scope, query: str, *, domain: str | None = None, department: str | None = None, limit: int = 6
    ) -> Found:
        """The best sections for a question, each by its best chunk."""
        await self._corpus_there()
        view = await self._database.read(lambda c: _view(c, scope, domain, department))
        words = fulltext.terms(query)
        by_words, by_meaning = await asyncio.gather(self._by_words(words, view), self._by_meaning(query, view))
        nearness, bm25 = dict(by_meaning or ()), dict(by_words)
        fused = _fused(list(nearness), list(bm25))
        rows = await self._database.read(lambda c: passages.rows(c, [chunk for chunk, _ in fused], view))
        text_ranks = {chunk: rank for rank, chunk in enumerate(bm25, 1)}
        vector_ranks = {chunk: rank for rank, chunk in enumerate(nearness, 1)}
        stubs = tuple(
            Stub(
                row.section, row.chunk, row.document, row.name, row.title, row.heading, row.page, row.built_in,
                row.dated, snippet(row.text, words), score, text_ranks.get(chunk), bm25.get(chunk),
                vector_ranks.get(chunk), nearness.get(chunk),
            )
            for chunk, score, row in _chosen(fused, rows, limit)
        )  # fmt: skip
        return Found(stubs, by_meaning is not None)

    async def ranked(self, scope: Scope, query: str, *, words: bool = True, meaning: bool = True) -> list[ChunkId]:
        """Chunks in order, by full text, by meaning or by both, for measuring."""
        await self._corpus_there()
        view = await self._database.read(lambda c: _view(c, scope, None, None))
        by_words = await self._by_words(fulltext.terms(query), view) if words else []
        by_meaning = await self._by_meaning(query, view) if meaning else None
        return [chunk for chunk, _ in _fused([each for each, _ in by_meaning or ()], [each for each, _ in by_words])]

    async def read(self, scope: Scope, ids: Sequence[SectionId], *, tokens: int) -> Reading:
        """The text of these sections, in this order, together at most `tokens` (about four characters each)."""
        await self._corpus_there()
        left = tokens * _TOKEN

        def query(connection: sa.Connection) -> list[tuple[SectionId, list[Row], int | None]]:
            view = _view(connection, scope, None, None)
            return [
                (each, passages.of_section(connection, each, view), passages.last_page(connection, each))
                for each in dict.fromkeys(ids)
            ]

        shown: list[SectionText] = []
        withheld: list[SectionId] = []
        for section, rows, last_page in await self._database.read(query):
            if not rows:
                withheld.append(section)
                continue
            whole = "\n\n".join(row.text for row in rows)
            text = whole if len(whole) <= left else whole[: max(0, left)].rsplit(" ", 1)[0]
            left -= len(text)
            first = rows[0]
            shown.append(
                SectionText(
                    section, first.document, first.name, first.title, first.heading, first.page, last_page,
                    first.built_in, first.dated, text, len(text) < len(whole),
                )
            )  # fmt: skip
        return Reading(tuple(shown), tuple(withheld))

    async def _corpus_there(self) -> None:
        """At the first start the built-in notes take a moment; a question does not wait for them longer than that."""
        try:
            async with asyncio.timeout(CORPUS_WAIT.total_seconds()):
                await self._corpus()
        except TimeoutError:
            return

    async def _by_words(self, words: Sequence[str], view: View) -> list[tuple[ChunkId, float]]:
        """(chunk, BM25), best first."""
        if not words:
            return []
        expression = fulltext.expression(words)
        return await self._database.read(lambda c: passages.by_words(c, expression, view, DEEP), long=True)

    async def _by_meaning(self, query: str, view: View) -> list[tuple[ChunkId, float]] | None:
        """(chunk, similarity), nearest first; None if the index does not serve now."""
        if not query.strip():
            return None
        among: Collection[str] | None = None
        if view.narrowed:
            among = await self._database.read(lambda c: passages.ids_within(c, view, _AMONG), long=True)
        many = view.narrowed and among is None
        near = await self._index.nearest(query, (CORPUS, *view.audiences), DEEP * 4 if many else DEEP, among)
        if near is None:
            return None
        shown = await self._database.read(lambda c: passages.rows(c, [ChunkId(n.item) for n in near], view))
        return [(ChunkId(n.item), n.similarity) for n in near if n.item in shown][:DEEP]


def labels(connection: sa.Connection, scope: Scope, ids: Sequence[SectionId]) -> list[str]:
    """How these sections are named to a person, each once, in this order; those that the scope does not see are left
    out."""
    view = _view(connection, scope, None, None)
    shown = [rows[0] for each in dict.fromkeys(ids) if (rows := passages.of_section(connection, each, view))]
    return list(
        dict.fromkeys(
            quoting.label(quoting.source(row.name, row.title, built_in=row.built_in), row.heading, row.page, row.dated)
            for row in shown
        )
    )


def _view(connection: sa.Connection, scope: Scope, domain: str | None, department: str | None) -> View:
    known = store.audiences_known(connection)
    return View(audiences(company_view(connection, scope), known), domain, department)


def _fused(by_meaning: Sequence[ChunkId], by_words: Sequence[ChunkId]) -> list[tuple[ChunkId, float]]:
    return fusion.fuse(Ranking(by_meaning, VECTOR_WEIGHT), Ranking(by_words, TEXT_WEIGHT), smoothing=SMOOTHING)


def _chosen(
    fused: Sequence[tuple[ChunkId, float]], rows: dict[ChunkId, Row], limit: int
) -> list[tuple[ChunkId, float, Row]]:
    """The best chunk of each section, a few sections of each document, `limit` in all."""
    sections: set[SectionId] = set()
    documents: dict[str, int] = {}
    chosen: list[tuple[ChunkId, float, Row]] = []
    for chunk, score in fused:
        row = rows.get(chunk)
        if row is None or row.section in sections or documents.get(row.document, 0) >= MOST_OF_ONE:
            continue
        sections.add(row.section)
        documents[row.document] = documents.get(row.document, 0) + 1
        chosen.append((chunk, score, row))
        if len(chosen) == limit:
            break
    return chosen


def snippet(text: str, words: Sequence[str], width: int = SNIPPET) -> str:
    """The part of a text, about `width` characters, that has most of the words; on one line."""
    flat = " ".join(text.split())
    if len(flat) <= width:
        return flat
    low = fulltext.plain(flat)
    places = sorted(
        match.start() for word in words for match in re.finditer(re.escape(word[: max(4, len(word) - 2)]), low)
    )
    # Accents were taken off, which may have shifted places a little: they only choose the window.
    best = max(places, key=lambda at: sum(at <= other < at + width for other in places), default=0)
    start = max(0, min(best - 30, len(flat) - width))
    if start:
        start = flat.find(" ", start) + 1
    end = len(flat) if start + width >= len(flat) else max(start + 1, flat.rfind(" ", start, start + width))
    return ("… " if start else "") + flat[start:end] + (" …" if end < len(flat) else "")
