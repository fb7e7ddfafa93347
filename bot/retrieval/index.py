"""Nearest items by meaning: embeds questions, keeps Chroma in step with SQL, and says when it cannot serve.

Nothing is loaded before the first search or the first item to embed. Every step of the upkeep may be repeated and may
die anywhere: SQL says what should be there, the generation that serves is compared with it and brought up to it, or a
new one is made.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import timedelta
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar

from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.supervise import Supervisor, cancel
from bot.kernel.values import dataclass
from bot.retrieval import numbers, store, vectors
from bot.retrieval.embedder import Embedder, EmbedderError
from bot.retrieval.vectors import Generation, Near, Serving, VectorsError
from bot.storage.database import Database, Tx

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

BATCH = 8
"""Texts embedded at once: a question that comes meanwhile waits for as many."""
_PAGE = 500
MOST_WITHDRAWN = 100
"""Vectors of withdrawn items that a generation may hold (or a twentieth of all) before it is made anew."""
_BEING_MADE = "its vectors are being made"
_DAMAGED = "its folder is damaged and is being rebuilt"


class State(StrEnum):
    COLD = "cold"  # nothing was asked yet
    WARMING = "warming"
    SERVING = "serving"
    BEHIND = "behind"  # there is nothing to serve from yet; it is being made
    OFF = "off"


class Work(StrEnum):
    """Durable work that the index asks for."""

    CATCH_UP = "catch_up"
    REBUILD = "rebuild"


@dataclass(frozen=True, slots=True)
class Status:
    state: State
    reason: str | None
    """Why it does not serve, in words; None while it does."""
    model: str
    items: int
    embedded: int


Texts = Callable[[Sequence[str]], Awaitable[Mapping[str, str]]]
"""The text to embed of each item; an item that is left out does not exist any more."""


class Index:
    def __init__(
        self,
        folder: Path,
        database: Database,
        embedder: Embedder,
        texts: Texts,
        supervisor: Supervisor,
        ask_for: Callable[[Work], Awaitable[None]],
        *,
        others: Sequence[Embedder] = (),
        patience: timedelta = timedelta(seconds=0.3),
        time_limit: timedelta = timedelta(seconds=3),
    ) -> None:
        """`ask_for` queues durable work, which comes back as a call of `catch_up` or `rebuild`. `others`: embedders of
        earlier models, which may go on serving while a new one's vectors are made. `patience`: how long a search waits
        for the index to be loaded; it goes on loading."""
        self._folder = folder
        self._database = database
        self._embedder = embedder
        self._others = {other.model: other for other in others}
        self._texts = texts
        self._supervisor = supervisor
        self._ask_for = ask_for
        self._patience = patience.total_seconds()
        self._time_limit = time_limit.total_seconds()
        self._serving: Generation | None = None
        self._state, self._reason = State.COLD, "it was not needed yet"
        self._warming: asyncio.Task[None] | None = None
        self._upkeep = asyncio.Lock()
        self._embedding = False
        self._searches: set[asyncio.Future[list[Near]]] = set()

    # --- searching -------------------------------------------------------------------------------------------------

    async def nearest(
        self, question: str, collections: Collection[str], limit: int, among: Collection[str] | None = None
    ) -> list[Near] | None:
        """The nearest items of these collections (`among`: of these items only), nearest first. None: the index cannot
        serve now, and `status` says why; the question must be answered without it.

        `among` is for a few thousand items: they are compared one by one, as SQL has them. Chroma fails when it is
        handed an id that it has not got any more."""
        self.warm_up()
        if self._warming is not None:
            await asyncio.wait({self._warming}, timeout=self._patience)
        generation = self._serving
        embedder = None if generation is None else self._embedder_of(generation.model)
        if generation is None or embedder is None or self._state is not State.SERVING:
            return None
        if among is None:
            search = partial(numbers.search, embedder, generation, question, list(collections), limit)
        else:
            rows = [row for row in await self._read(generation.model, among) if row.collection in collections]
            search = partial(numbers.compare, embedder, rows, question, limit)
        future = asyncio.get_running_loop().run_in_executor(None, search)
        self._searches.add(future)
        future.add_done_callback(self._search_ended)
        done, _ = await asyncio.wait({future}, timeout=self._time_limit)
        if not done:
            log.warning("a vector search took longer than %s s and was not awaited", self._time_limit)
            return None
        try:
            return future.result()
        except VectorsError as error:
            if generation is self._serving and self._state is State.SERVING:
                self._state, self._reason = State.BEHIND, _DAMAGED
                self._supervisor.job("vectors-damaged", self._broken(error))
        except EmbedderError as error:
            self._off(error)
        return None

    def warm_up(self) -> None:
        """Begin to load what a search needs, if that has not begun."""
        if self._state is State.COLD and self._warming is None:
            self._state, self._reason = State.WARMING, "it is being loaded"
            self._warming = self._supervisor.job("vectors", self._warm())

    async def warm(self) -> None:
        """`warm_up`, and wait for it."""
        self.warm_up()
        if self._warming is not None:
            await asyncio.wait({self._warming})

    async def status(self) -> Status:
        items, embedded = await self._database.read(lambda c: store.counts(c, self._embedder.model))
        if self._state is State.COLD and self._embedding:
            return Status(State.BEHIND, _BEING_MADE, self._embedder.model, items, embedded)
        reason = None if self._state is State.SERVING else self._reason
        return Status(self._state, reason, self._embedder.model, items, embedded)

    async def close(self) -> None:
        if self._warming is not None:
            await cancel(self._warming)
        async with self._upkeep:
            await self._retire(None)

    # --- upkeep, as durable work -----------------------------------------------------------------------------------

    async def start(self) -> None:
        """At the daemon's start, without loading anything: vectors that SQL has and the folder has not are missed."""
        _, embedded = await self._database.read(lambda c: store.counts(c, self._embedder.model))
        if embedded and await _in_thread(vectors.read_pointer, self._folder) is None:
            await self._ask_for(Work.REBUILD)

    async def catch_up(self, progress: Callable[[int, int], None] = lambda done, of: None) -> int:
        """Embed what waits, then bring the vector store up to what SQL has. Returns how many items were embedded.
        Raises `TransientError` and `PermanentError`."""
        await self._loaded_embedder()
        done = 0
        self._embedding = True
        try:
            while number := await self._embed_some():
                done += number
                items, embedded = await self._database.read(lambda c: store.counts(c, self._embedder.model))
                progress(embedded, items)
        finally:
            self._embedding = False
        async with self._upkeep:
            await self._open_serving()
            if self._serving is None or self._serving.model != self._embedder.model:
                await self._build()
            else:
                try:
                    if not await self._reconcile(self._serving):
                        await self._build()
                    self._state = State.SERVING
                except VectorsError as error:
                    log.warning("the vector store is rebuilt: %s", error.message)
                    await self._build()
        return done

    async def rebuild(self) -> None:
        """Make the vector store anew from SQL, and remove the old one's files. The old one serves until then."""
        await self._loaded_embedder()
        async with self._upkeep:
            await self._open_serving()
            await self._build()
        items, embedded = await self._database.read(lambda c: store.counts(c, self._embedder.model))
        if embedded < items:
            await self._ask_for(Work.CATCH_UP)

    async def purge(self) -> None:
        """Have vectors that were withdrawn leave the disk."""
        async with self._upkeep:
            if self._serving is None and await _in_thread(vectors.read_pointer, self._folder) is None:
                gone = await _in_thread(vectors.sweep, self._folder, ())
            else:
                await self._open_serving()
                gone = await self._build()
        if not gone:
            raise TransientError("what was withdrawn is still in a folder that could not be removed yet")

    async def check(self) -> None:
        """The regular look whether everything is there; nothing if nothing was loaded. What is wrong is mended."""
        if self._state is not State.COLD:
            await self.catch_up()

    # --- inside ----------------------------------------------------------------------------------------------------

    async def _warm(self) -> None:
        fresh = True
        try:
            await self._loaded_embedder()
            async with self._upkeep:
                await self._open_serving()
                serving = self._serving
                if serving is not None and serving.model == self._embedder.model:
                    fresh = await self._reconcile(serving)
                if serving is not None and self._embedder_of(serving.model) is not None:
                    self._state = State.SERVING
            items, embedded = await self._database.read(lambda c: store.counts(c, self._embedder.model))
            if embedded < items:
                await self._ask_for(Work.CATCH_UP)
            elif items and (serving is None or serving.model != self._embedder.model or not fresh):
                await self._ask_for(Work.REBUILD)
        except VectorsError as error:
            await self._broken(error)
        except EmbedderError as error:
            self._off(error)
        except TransientError as error:
            self._state, self._reason = State.COLD, error.message  # the next search tries again
        else:
            if self._state is State.WARMING:
                self._state = State.BEHIND
        finally:
            self._warming = None

    async def _loaded_embedder(self) -> None:
        try:
            await _in_thread(self._embedder.load)
        except EmbedderError as error:
            self._off(error)
            raise

    async def _open_serving(self) -> None:
        """Open the generation that the pointer names, if one does and it can be opened."""
        if self._serving is not None:
            return
        pointer = await _in_thread(vectors.read_pointer, self._folder)
        await _in_thread(vectors.sweep, self._folder, () if pointer is None else (pointer.generation,))
        if pointer is None:
            self._state, self._reason = State.BEHIND, _BEING_MADE
            return
        try:
            self._serving = await _in_thread(
                self._open, self._folder / pointer.generation, pointer.model, pointer.dimension
            )
        except VectorsError as error:
            log.warning("the vector store cannot be opened and will be rebuilt: %s", error.message)
            self._state, self._reason = State.BEHIND, _DAMAGED
            return
        if pointer.model != self._embedder.model:
            self._reason = "its vectors were made by another model and are being made anew"

    def _open(self, folder: Path, model: str, dimension: int) -> Generation:
        from bot.retrieval.chroma_function import SentenceFunction

        return Generation(folder, model, dimension, SentenceFunction(self._embedder_of(model) or self._embedder))

    async def _embed_some(self) -> int:
        model = self._embedder.model
        waiting = await self._database.read(lambda c: store.waiting(c, model, BATCH))
        if not waiting:
            return 0
        items = [each.item for each in waiting]
        texts = await self._texts(items)
        gone = [item for item in items if item not in texts]
        kept = [item for item in items if item in texts]
        packed = await _in_thread(numbers.embedded, self._embedder, [texts[item] for item in kept]) if kept else []
        data = dict(zip(kept, packed, strict=True))

        def unit(tx: Tx) -> None:
            store.fill(tx, model, data)
            store.withdraw(tx, gone)

        await self._database.write(unit)
        return len(items)

    async def _reconcile(self, generation: Generation) -> bool:
        """Give the generation what it misses, and look whether a search reaches it all. False if it holds much that was
        withdrawn since and should be made anew. Raises `VectorsError`."""
        wanted = await self._database.read(lambda c: store.items_by_collection(c, generation.model), long=True)
        withdrawn = 0
        for collection, items in wanted.items():
            present = await _in_thread(generation.items, collection)
            withdrawn += len(present - items)
            missing = sorted(items - present)
            for at in range(0, len(missing), _PAGE):
                await _in_thread(
                    numbers.upsert, generation, await self._read(generation.model, missing[at : at + _PAGE])
                )
            probed = sorted(items)[:: max(1, len(items) // vectors.PROBED)][: vectors.PROBED]
            sample = {each.item: each.data for each in await self._read(generation.model, probed)}
            if not await _in_thread(numbers.is_whole, generation, collection, len(present | items), sample):
                raise VectorsError("a search does not reach all vectors")
        return withdrawn <= max(MOST_WITHDRAWN, sum(map(len, wanted.values())) // 20)

    async def _build(self) -> bool:
        """Fill a new generation from SQL, then let it serve. False if an older one is still on the disk."""
        model, dimension = self._embedder.model, self._embedder.dimension
        name = await _in_thread(_new_name, self._folder)
        generation = await _in_thread(self._open, self._folder / name, model, dimension)
        try:
            after = ""
            while page := await self._read_after(model, after):
                await _in_thread(numbers.upsert, generation, page)
                after = page[-1].item
        except (TransientError, PermanentError):
            await _in_thread(generation.close)
            raise
        await _in_thread(vectors.write_pointer, self._folder, Serving(name, model, dimension))
        await self._retire(generation)
        gone = await _in_thread(vectors.sweep, self._folder, (name,))
        if self._state is not State.OFF:
            self._state = State.SERVING
        return gone

    async def _retire(self, successor: Generation | None) -> None:
        """Let `successor` serve; close its predecessor once no search looks at it."""
        old, self._serving = self._serving, successor
        while self._searches:
            await asyncio.wait(set(self._searches))
        if old is not None:
            try:
                await _in_thread(old.close)
            except VectorsError as error:
                log.info("an old generation of vectors did not close: %s", error.message)

    async def _read(self, model: str, items: Collection[str]) -> list[store.Embedded]:
        return await self._database.read(lambda c: store.some(c, model, items), long=True)

    async def _read_after(self, model: str, after: str) -> list[store.Embedded]:
        return await self._database.read(lambda c: store.embedded(c, model, after, _PAGE), long=True)

    def _embedder_of(self, model: str) -> Embedder | None:
        return self._embedder if model == self._embedder.model else self._others.get(model)

    def _search_ended(self, future: asyncio.Future[list[Near]]) -> None:
        self._searches.discard(future)
        if not future.cancelled():
            future.exception()  # seen: whoever still waits raises it

    async def _broken(self, error: VectorsError) -> None:
        log.warning("the vector store is rebuilt, full text serves meanwhile: %s", error.message)
        async with self._upkeep:
            await self._retire(None)
        self._state, self._reason = State.BEHIND, _DAMAGED
        await self._ask_for(Work.REBUILD)

    def _off(self, error: EmbedderError) -> None:
        log.warning("search by meaning is off, full text serves: %s", error.message)
        self._state, self._reason = State.OFF, error.message


def _new_name(folder: Path) -> str:
    """A name that no generation has or had since the folder's oldest one."""
    numbers = [int(path.name[1:]) for path in folder.glob("g*") if path.name[1:].isdigit()] if folder.is_dir() else []
    return f"g{max(numbers, default=0) + 1}"


async def _in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    return await asyncio.to_thread(work, *args, **kwargs)
