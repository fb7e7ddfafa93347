"""The rooms of knowledge over a store of its own, in a folder that goes with the test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from bot.files.blobs import BlobFolder
from bot.files.extract import Extractor
from bot.files.sandbox import Sandbox
from bot.kernel.supervise import Supervisor
from bot.knowledge import passages
from bot.knowledge.builtin import BuiltIn
from bot.knowledge.search import Search
from bot.knowledge.service import Library
from bot.knowledge.tasks import Queue
from bot.retrieval.index import Index, Work
from bot.web.console.knowledge import Documents
from tests.knowledge.desk import note
from tests.retrieval.embedders import WordEmbedder
from tests.sessions.rooms import Rooms

LIMIT = 200_000
PATIENCE = timedelta(seconds=60)


@asynccontextmanager
async def shelves(rooms: Rooms) -> AsyncIterator[Documents]:
    """With one built-in note, about rent."""

    async def nobody(_: Work) -> None: ...

    with TemporaryDirectory() as name:
        folder, jobs = Path(name), Supervisor()
        note(folder, "finance/rent", "Rent is paid before the month begins.")
        blobs, texts = BlobFolder(folder / "blobs"), passages.texts_of(rooms.database)
        index = Index(folder / "vectors", rooms.database, WordEmbedder(), texts, jobs, nobody, patience=PATIENCE)
        built_in = BuiltIn(rooms.database, rooms.recorder, rooms.clock, folder / "notes")
        extractor = Extractor(Sandbox(), page_ends=True)
        library = Library(rooms.database, rooms.recorder, rooms.clock, blobs, extractor, Queue(None))
        yield Documents(library, Search(rooms.database, index, built_in.ready), index, blobs, LIMIT, jobs)
        await jobs.stop()
        await index.close()
