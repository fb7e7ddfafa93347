"""The rooms of knowledge, wired: for the running daemon, and for commands that work without one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from bot.app.opening import Store
from bot.app.settings import backup_folder
from bot.erasure import journal
from bot.files.blobs import BlobFolder
from bot.files.extract import Extractor
from bot.files.model import Limits
from bot.files.sandbox import Sandbox
from bot.gateway.channel import LocalHandler
from bot.intake.tables import inbox
from bot.kernel.ids import BlobHash
from bot.kernel.supervise import Supervisor
from bot.kernel.values import dataclass
from bot.knowledge import passages
from bot.knowledge import store as documents
from bot.knowledge.builtin import BuiltIn
from bot.knowledge.removal import Eraser
from bot.knowledge.search import Search
from bot.knowledge.service import Library
from bot.knowledge.tasks import Queue
from bot.knowledge.watch import Watcher
from bot.knowledge.work import Worker
from bot.retrieval.embedder import Embedder
from bot.retrieval.index import Index, Work
from bot.retrieval.use3 import Use3
from bot.sessions.tables import message
from config.schema import Settings

READING = timedelta(seconds=60)
"""CPU time for one document: 300 pages of PDF take a third of it."""
PATIENCE = timedelta(seconds=2)
"""How long a first search waits for the index to be loaded: that takes 1.7 s of a core. A question in another language
than the notes finds little without it. Not loaded before somebody searches: it is 180 MB."""


@dataclass(frozen=True, slots=True)
class Knowledge:
    library: Library
    search: Search
    eraser: Eraser
    index: Index
    built_in: BuiltIn
    worker: Worker
    embedder: Embedder
    """Loaded once for all that is searched by meaning."""

    async def status(self, store: Store) -> Mapping[str, Any]:
        """For `/health` and `status`."""
        index = await self.index.status()
        return {
            "documents": dict(await store.database.read(documents.counts)),
            "vectors": {
                "state": index.state.value,
                "reason": index.reason,
                "model": index.model,
                "items": index.items,
                "embedded": index.embedded,
            },
        }


def build(store: Store, settings: Settings, supervisor: Supervisor, ring: Callable[[], None] | None) -> Knowledge:
    """`ring` wakes the runner of tasks; None: none runs."""
    wanted = settings.knowledge
    database, recorder, clock = store.database, store.recorder, store.clock
    blobs = BlobFolder(settings.data_dir / "blobs")
    queue = Queue(ring)
    limits = Limits(
        stream_bytes=wanted.max_file, output_bytes=wanted.max_text * 4 + 65_536, cpu=READING, wall=READING * 1.5
    )
    extractor = Extractor(Sandbox(limits, at_once=1), max_chars=wanted.max_text, page_ends=True)
    embedder = Use3()
    asked: list[Callable[[Work], Awaitable[None]]] = []

    async def ask_for(work: Work) -> None:
        await asked[0](work)

    index = Index(
        settings.data_dir / "vectors",
        database,
        embedder,
        passages.texts_of(database),
        supervisor,
        ask_for,
        patience=PATIENCE,
    )
    library = Library(database, recorder, clock, blobs, extractor, queue)
    built_in = BuiltIn(database, recorder, clock)

    async def noted() -> None:
        await journal.write_out(database, backup_folder(settings) / journal.NAME)

    eraser = Eraser(database, recorder, blobs, index, blob_is_used, noted)
    watcher = None
    if wanted.watch is not None:
        watcher = Watcher(wanted.watch, wanted.watch_audience, database, library, blobs, clock, wanted.max_file)
    worker = Worker(
        database, clock, queue, library, built_in, eraser, index, embedder.model, watcher, wanted.watch_every
    )
    asked.append(worker.ask_for)
    return Knowledge(library, Search(database, index, built_in.ready), eraser, index, built_in, worker, embedder)


@asynccontextmanager
async def operations(store: Store, settings: Settings) -> AsyncIterator[Mapping[str, LocalHandler]]:
    """The operations on documents for a process that holds the data folder and runs no daemon."""
    from bot.control import ops_knowledge

    supervisor = Supervisor()
    knowledge = build(store, settings, supervisor, None)
    await knowledge.built_in.load()
    try:
        yield ops_knowledge.handlers(
            store.database, knowledge.library, knowledge.search, knowledge.index, knowledge.eraser
        )
    finally:
        await supervisor.stop()
        await knowledge.index.close()


def blob_is_used(connection: sa.Connection, blob: BlobHash) -> bool:
    """Whether a message that came in, or the transcript, refers to a file."""
    pattern = f'%"{blob}"%'
    for column in (inbox.c.event, inbox.c.edit, sa.cast(message.c.files, sa.Text)):
        if connection.execute(sa.select(sa.exists().where(column.like(pattern)))).scalar():
            return True
    return False
