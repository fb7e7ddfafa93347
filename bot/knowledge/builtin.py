"""The built-in notes, kept in the store: what the program brings replaces what an earlier version brought."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bot.audit.events import SYSTEM
from bot.audit.recorder import Recorder
from bot.kernel.clock import Clock
from bot.kernel.ids import DocumentId
from bot.knowledge import corpus, passages, store
from bot.knowledge.model import PUBLIC, Origin, Status
from bot.knowledge.store import New, Read
from bot.storage.database import Database, Tx


class BuiltIn:
    def __init__(self, database: Database, recorder: Recorder, clock: Clock, folder: Path = corpus.FOLDER) -> None:
        self._database = database
        self._recorder = recorder
        self._clock = clock
        self._folder = folder
        self.there = asyncio.Event()
        """Set once the notes are in the store."""
        self._loading = asyncio.Lock()

    async def ready(self) -> None:
        """Return once the notes are in the store; loads them if nobody has yet."""
        if not self.there.is_set():
            async with self._loading:
                if not self.there.is_set():
                    await self._load()

    async def load(self) -> int:
        """Bring the notes of this version into the store, a transaction for each, and delete what is not among them any
        more. Returns how many were new, changed or deleted."""
        async with self._loading:
            return await self._load()

    async def _load(self) -> int:
        wanted = await asyncio.to_thread(lambda: {note.name: note for note in corpus.notes(self._folder)})
        present = await self._database.read(store.built_in)
        changed = 0
        for name, note in wanted.items():
            old = present.get(name)
            if old is None or old.digest != note.digest:
                await self._add(note)
                changed += 1
        digests = {note.digest for note in wanted.values()}
        for document_id in await self._database.read(lambda c: store.outdated_notes(c, digests)):
            await self._remove(document_id)
            changed += 1
        self.there.set()
        return changed

    async def _add(self, note: corpus.Note) -> None:
        new = New(
            note.name, Origin.BUILT_IN, PUBLIC, note.title, "text/markdown", None, note.digest, note.reviewed,
            domain=note.domain, departments=note.departments,
        )  # fmt: skip
        sections = note.sections()
        number = sum(len(each.chunks) for each in sections)

        def unit(tx: Tx) -> None:
            now = self._clock.now()
            added = store.add(tx, new, now)
            passages.write(tx, added.id, note.title, 0, sections, ", ".join(note.keywords), now)
            read = Read(None, len(note.text), number, note.title, None)
            store.finish(tx, self._recorder, added, Status.APPROVED, read, SYSTEM, now)

        await self._database.write(unit)

    async def _remove(self, document_id: DocumentId) -> None:
        await passages.erase(self._database, document_id)
        await self._database.write(lambda tx: store.remove_row(tx, document_id))
