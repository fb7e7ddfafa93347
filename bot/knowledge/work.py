"""What the tasks of this room do, and what of it is due at a start."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from bot.kernel.clock import Clock
from bot.kernel.ids import DocumentId
from bot.knowledge.builtin import BuiltIn
from bot.knowledge.removal import Eraser
from bot.knowledge.service import Library
from bot.knowledge.tasks import Kind, Queue
from bot.knowledge.watch import Watcher
from bot.retrieval import store as embeddings
from bot.retrieval.index import Index, Work
from bot.storage.database import Database, Tx
from bot.tasks.store import Task
from bot.tasks.worker import Done, Handler

CHECK_EVERY = timedelta(hours=24)
_AFTER_START = timedelta(seconds=5)
"""What can wait does, so that a start is not held up; a search does not wait for it but has the notes loaded."""


class Worker:
    def __init__(
        self,
        database: Database,
        clock: Clock,
        queue: Queue,
        library: Library,
        built_in: BuiltIn,
        eraser: Eraser,
        index: Index,
        model: str,
        watcher: Watcher | None,
        watch_every: timedelta,
    ) -> None:
        """`model`: of the embedder that the index makes vectors with."""
        self._database = database
        self._clock = clock
        self._queue = queue
        self._library = library
        self._built_in = built_in
        self._eraser = eraser
        self._index = index
        self._model = model
        self._watcher = watcher
        self._watch_every = watch_every

    def handlers(self) -> Mapping[str, Handler]:
        return {
            Kind.READ.value: self._read,
            Kind.ERASE.value: self._erase,
            Kind.CORPUS.value: self._corpus,
            Kind.CATCH_UP.value: self._catch_up,
            Kind.REBUILD.value: self._rebuild,
            Kind.CHECK.value: self._check,
            Kind.WATCH.value: self._watch,
        }

    async def start(self) -> None:
        """Queue what is due at every start."""

        def unit(tx: Tx) -> None:
            now = self._clock.now()
            self._queue.put(tx, Kind.CORPUS, now, run_at=now + _AFTER_START)
            self._queue.put(tx, Kind.CHECK, now, run_at=now + CHECK_EVERY)
            if self._watcher is not None:
                self._queue.put(tx, Kind.WATCH, now, run_at=now + _AFTER_START)

        await self._database.write(unit)
        await self._index.start()
        self._queue.ring()

    async def ask_for(self, work: Work) -> None:
        """Queue what the index asks for."""
        await self._database.write(lambda tx: self._queue.vectors(tx, work, self._clock.now()))
        self._queue.ring()

    async def _read(self, task: Task) -> Done:
        return Done(empty=not await self._library.resume(DocumentId(task.payload["document"])))

    async def _erase(self, task: Task) -> Done:
        return Done(empty=not await self._eraser.erase(DocumentId(task.payload["document"])))

    async def _corpus(self, task: Task) -> Done:
        return Done(empty=not await self._built_in.load())

    async def _catch_up(self, task: Task) -> Done:
        embedded = await self._index.catch_up()

        def again(tx: Tx) -> None:
            # What was enlisted after the last look could not queue a task: this one was still pending.
            if embeddings.waiting(tx.connection, self._model, 1):
                self._queue.vectors(tx, Work.CATCH_UP, self._clock.now())

        return Done(again, empty=not embedded)

    async def _rebuild(self, task: Task) -> Done:
        await self._index.rebuild()
        return Done()

    async def _check(self, task: Task) -> Done:
        await self._index.check()

        def again(tx: Tx) -> None:
            now = self._clock.now()
            self._queue.put(tx, Kind.CHECK, now, run_at=now + CHECK_EVERY)

        return Done(again)

    async def _watch(self, task: Task) -> Done:
        if self._watcher is None:
            return Done(empty=True)  # the setting was taken out since it was queued
        taken = await self._watcher.look()

        def again(tx: Tx) -> None:
            now = self._clock.now()
            self._queue.put(tx, Kind.WATCH, now, run_at=now + self._watch_every)

        return Done(again, empty=not taken)
