"""The index of turns and claims: rows and full text in the caller's transaction, vectors soon after, searches within a
`Within`.

What was put is found by its words at once. Vectors are made by durable work that the index asks for; until then, and
when the model cannot be loaded, full text answers alone. Nothing is loaded before the first search or the first row to
embed. Whatever is held in memory is compared with SQL in every search, and what a search returns is looked up in SQL
once more.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

import sqlalchemy as sa

from bot.kernel.supervise import Supervisor, cancel
from bot.retrieval.embedder import Embedder, EmbedderError
from bot.retrieval.recall import keys, store
from bot.retrieval.recall.model import Counts, Entry, Found, Kind, Question, Verified, Within
from bot.retrieval.recall.question import read
from bot.retrieval.tables import RECALL_TEXT
from bot.retrieval.use3 import one_thread
from bot.storage.database import Database, Tx

if TYPE_CHECKING:
    from bot.retrieval.embedder import Matrix
    from bot.retrieval.recall.views import Kept, Space, View

log = logging.getLogger(__name__)

T = TypeVar("T")

CANDIDATES = 200
"""Rows that full text brings; more changed nothing."""
_PAGE = 1_000
_MOST_LATE = 5_000
"""Rows whose vectors one search looks for again: many wait while everything is embedded anew."""
BATCH = 8
"""Texts embedded at once: a question that comes meanwhile waits for as many."""


class RecallIndex:
    def __init__(
        self,
        database: Database,
        embedders: Sequence[Embedder],
        supervisor: Supervisor,
        enqueue: Callable[[Tx], None],
        *,
        patience: timedelta = timedelta(seconds=0.3),
        time_limit: timedelta = timedelta(seconds=3),
    ) -> None:
        """`embedders`: the models whose nearness is averaged, one or more. `enqueue` queues durable work in the
        transaction, which comes back as a call of `catch_up`. `patience`: how long a search waits for the models to be
        loaded; they go on loading."""
        self._database = database
        self._embedders = tuple(embedders)
        self._models = tuple(each.model for each in embedders)
        self._supervisor = supervisor
        self._enqueue = enqueue
        self._patience = patience.total_seconds()
        self._time_limit = time_limit.total_seconds()
        self._loading: asyncio.Task[None] | None = None
        self._loaded = False
        self._off: str | None = None
        self._kept: Kept | None = None

    # --- writing ---------------------------------------------------------------------------------------------------

    def put(self, tx: Tx, entries: Collection[Entry]) -> None:
        """Have these be found from the commit on; those of a known kind and ref are written over."""
        for kind in Kind:
            some = [each for each in entries if each.kind is kind]
            if some:
                store.put(tx, kind, some, self._models)
        if entries:
            self._enqueue(tx)

    def remove(self, tx: Tx, kind: Kind, refs: Collection[str]) -> None:
        """Have these not be found any more. Their bytes leave the file with `purge`. Turns after them, which were
        embedded with the end of what they said, are embedded anew."""
        store.remove(tx, kind, refs)
        self._enqueue(tx)

    def clear(self, tx: Tx, kind: Kind, space: str) -> None:
        """Remove all of a space."""
        store.clear(tx, kind, space)

    # --- searching -------------------------------------------------------------------------------------------------

    async def search(
        self, query: str, where: Within, limit: int, *, at: datetime, windows: bool = False, words: bool = True,
        meaning: bool = True,
    ) -> Found:  # fmt: skip
        """The best rows for a question that is asked at this instant, best first. `windows`: each hit is shown with the
        turns beside it, so none stands beside an earlier one. Without `words` or `meaning`, by the other alone."""
        if (view := await self._view(where)) is None:
            return Found((), vectors=False)
        question = read(query, await _in_thread(view.speakers), at)
        by_words, vectors = await asyncio.gather(
            self._by_words(question, where, len(view)) if words else _nothing(),
            self._embedded(question) if meaning else _none(),
        )
        from bot.retrieval.recall.answer import answer

        found = await _in_thread(
            lambda: answer(view, where.kind, question, by_words, vectors or {}, limit, windows=windows)
        )
        refs = {ref for hit in found.hits for ref in (hit.ref, hit.before, hit.after) if ref is not None}
        still = await self._database.read(lambda c: store.still(c, where, refs))
        return Found(tuple(hit.among(still) for hit in found.hits if hit.ref in still), found.vectors)

    async def _by_words(self, question: Question, where: Within, seen: int) -> list[tuple[int, float]]:
        if not question.words:
            return []
        return await self._read(lambda c: store.by_words(c, question, where, CANDIDATES, seen=seen))

    async def _embedded(self, question: Question) -> dict[str, Matrix] | None:
        """The question's vector by each model; None if they are not loaded (yet), or take too long."""
        if not question.spoken.strip() or not await self._ready():
            return None
        future = asyncio.get_running_loop().run_in_executor(None, self._embed, question.spoken)
        future.add_done_callback(_seen)
        done, _ = await asyncio.wait({future}, timeout=self._time_limit)
        if not done:
            log.warning("a question took longer than %s s to embed and was not awaited", self._time_limit)
            return None
        try:
            return future.result()
        except EmbedderError as error:
            self._turn_off(error)
            return None

    def _embed(self, text: str) -> dict[str, Matrix]:
        return {each.model: each.embed([text])[0] for each in self._embedders}

    async def _view(self, where: Within) -> View | None:
        """What may be seen, read anew as far as it changed; None if that is nothing."""
        await _in_thread(_load_numpy)
        found = await self._of_spaces(where)
        return found if len(found) else None

    async def _of_spaces(self, where: Within) -> View:
        from bot.retrieval.recall import views

        if self._kept is None:
            self._kept = views.Kept()
        names = {span.space for span in where.spans}
        states = await self._database.read(lambda c: store.states(c, where.kind, names))
        spaces = {name: await self._space(self._kept, where.kind, name, state) for name, state in states.items()}
        return await _in_thread(lambda: views.view(where, spaces))

    async def _space(self, kept: Kept, kind: Kind, name: str, state: store.State) -> Space:
        from bot.retrieval.recall import views

        if (held := kept.get(kind, name, state)) is not None:
            return held
        older = kept.older(kind, name, state)
        sizes = views.dimensions(self._embedders)
        rows = await self._pages(kind, name, older)
        lacking = {} if older is None else {model: older.lacking(model, _MOST_LATE) for model in self._models}
        vectors = await self._vectors([row[0] for row in rows], lacking)

        def make() -> Space:
            came = views.Space(rows, vectors, sizes)
            return came if older is None else older.with_later(came, vectors)

        made = await _in_thread(make)
        if any(len(each) == _MOST_LATE for each in lacking.values()):
            state = store.State(-1, state.changed)  # there may be more: the next search looks again
        kept.put(kind, name, state, made)
        return made

    def waits(self, connection: sa.Connection) -> bool:
        """Whether anything is to be embedded."""
        return any(store.waits(connection, model) for model in self._models)

    async def _pages(self, kind: Kind, name: str, older: Space | None) -> list[store.Viewed]:
        """Rows of a space that `older` has not got. In pages, for they are made on the event loop."""
        rows: list[store.Viewed] = []
        while True:
            if older is None:
                after = (rows[-1][4], rows[-1][0]) if rows else (-(1 << 62), 0)
                page = await self._read(partial(store.of_space, kind=kind, space=name, after=after, limit=_PAGE))
            else:
                seq = rows[-1][0] if rows else older.newest()
                page = await self._read(partial(store.newer, kind=kind, space=name, seq=seq, limit=_PAGE))
            rows += page
            if len(page) < _PAGE:
                return rows

    async def _vectors(
        self, seqs: Sequence[int], more: Mapping[str, Sequence[int]] = MappingProxyType({})
    ) -> dict[str, dict[int, bytes]]:
        """By model, those of these rows (and of `more`) that were made."""
        found: dict[str, dict[int, bytes]] = {model: {} for model in self._models}
        for model in self._models:
            wanted = [*seqs, *more.get(model, ())]
            for at in range(0, len(wanted), _PAGE):
                part = wanted[at : at + _PAGE]
                found[model] |= await self._read(partial(store.vectors, model=model, seqs=part))
        return found

    async def _read(self, query: Callable[[sa.Connection], T]) -> T:
        return await self._database.read(query, long=True)

    # --- upkeep ----------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """At the daemon's start: what another model has embedded is embedded anew."""

        def unit(tx: Tx) -> None:
            if any(store.missing(tx.connection, model) for model in self._models):
                store.enlist(tx, self._models)
                self._enqueue(tx)
            store.forget_other_models(tx, self._models)

        await self._database.write(unit)

    async def catch_up(self) -> int:
        """Embed what waits. Returns how many vectors were made. Raises `PermanentError` if a model cannot be loaded."""
        made = 0
        for embedder in self._embedders:
            while waiting := await self._waiting(embedder.model):
                await _in_thread(_load_numpy)
                data = await _in_thread(partial(_packed, embedder, waiting))
                pairs = list(zip(waiting, data, strict=True))
                await self._database.write(partial(store.fill, model=embedder.model, made=pairs))
                made += len(waiting)
        return made

    async def reindex(self) -> None:
        """Make full text and vectors anew from the rows. The rows themselves are made anew by the rooms that own the
        words: `clear` and `put`."""

        def unit(tx: Tx) -> None:
            RECALL_TEXT.rebuild(tx.connection)
            store.enlist(tx, self._models)
            store.reset_all(tx)
            self._enqueue(tx)

        await self._database.write(unit)
        self._forget()

    async def purge(self) -> None:
        """Have removed words leave the segments of the full text, and removed vectors leave memory. Pages of the file
        are the caller's: `Database.rewrite` and `maintain`."""
        self._forget()
        more = await self._database.write(lambda tx: RECALL_TEXT.merge_step(tx.connection, first=True))
        while more:
            more = await self._database.write(lambda tx: RECALL_TEXT.merge_step(tx.connection, first=False))

    async def counts(self) -> Counts:
        return await self._database.read(lambda c: store.counts(c, self._models), long=True)

    async def verify(self) -> Verified:
        """Look at everything. Takes a writing transaction, for that is how full text is checked."""
        from bot.retrieval.recall.quantised import size

        def unit(tx: Tx) -> Verified:
            connection = tx.connection
            missing = sum(store.missing(connection, model) for model in self._models)
            wrong = sum(store.unusable(connection, each.model, size(each.dimension)) for each in self._embedders)
            return Verified(RECALL_TEXT.check(connection), missing, wrong)

        await _in_thread(_load_numpy)
        return await self._database.write(unit)

    @property
    def loaded(self) -> bool:
        """Whether the models are in memory: nothing loads them but a search."""
        return self._loaded

    @property
    def trouble(self) -> str | None:
        """Why the search by meaning is off; None while it is not."""
        return self._off

    async def close(self) -> None:
        if self._loading is not None:
            await cancel(self._loading)

    # --- inside ----------------------------------------------------------------------------------------------------

    async def _waiting(self, model: str) -> list[store.Waiting]:
        return await self._database.read(lambda c: store.waiting(c, model, BATCH))

    async def _ready(self) -> bool:
        """Whether the models are loaded; begins to load them, and waits a little for it."""
        if self._loaded or self._off is not None:
            return self._loaded
        if self._loading is None:
            self._loading = self._supervisor.job("recall-models", self._load())
        await asyncio.wait({self._loading}, timeout=self._patience)
        return self._loaded

    async def _load(self) -> None:
        try:
            for each in self._embedders:
                await _in_thread(each.load)
        except EmbedderError as error:
            self._turn_off(error)
        else:
            self._loaded = True
        finally:
            self._loading = None

    def _turn_off(self, error: EmbedderError) -> None:
        log.warning("recall by meaning is off, full text serves: %s", error.message)
        self._loaded, self._off = False, error.message

    def _forget(self) -> None:
        if self._kept is not None:
            self._kept.clear()


def _packed(embedder: Embedder, waiting: Sequence[store.Waiting]) -> list[bytes]:
    from bot.retrieval.recall.quantised import packed

    return packed(embedder.embed([keys.key(each.text, each.before) for each in waiting]))


def _load_numpy() -> None:
    with one_thread():
        import numpy as np  # noqa: F401


def _seen(future: asyncio.Future[dict[str, Matrix]]) -> None:
    if not future.cancelled():
        future.exception()  # whoever still waits raises it


async def _in_thread(work: Callable[[], T]) -> T:
    return await asyncio.to_thread(work)


async def _nothing() -> list[tuple[int, float]]:
    return []


async def _none() -> None:
    return None
