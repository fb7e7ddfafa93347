"""The rest of a removal: rows in parts, the file, and then whatever still holds a deleted word.

A deletion leaves words behind in three places that SQL does not show: the segments of the full-text index, the
write-ahead log, and the vectors' folder. Each is rewritten. Every step may be repeated.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import sqlalchemy as sa

from bot.audit.events import SYSTEM, KnowledgeRemoved, Record
from bot.audit.recorder import Recorder
from bot.files.blobs import BlobFolder
from bot.kernel.errors import TransientError
from bot.kernel.ids import BlobHash, DocumentId
from bot.knowledge import passages, store
from bot.knowledge.model import Document, Status
from bot.knowledge.tables import FULL_TEXT
from bot.retrieval.index import Index
from bot.storage.database import Database, Tx

BlobIsUsed = Callable[[sa.Connection, BlobHash], bool]
"""Whether another room refers to a file, so that it must stay when a document goes."""


class Eraser:
    def __init__(
        self,
        database: Database,
        recorder: Recorder,
        blobs: BlobFolder,
        index: Index,
        blob_is_used: BlobIsUsed,
        noted: Callable[[], Awaitable[None]],
    ) -> None:
        """`noted`: has what was removed noted beside the backups, which hold it still."""
        self._noted = noted
        self._database = database
        self._recorder = recorder
        self._blobs = blobs
        self._index = index
        self._blob_is_used = blob_is_used

    async def erase(self, document_id: DocumentId) -> bool:
        """The rest of a removal, as often as need be: rows in parts, the file, full text, log and vectors rewritten
        without them. False if there was nothing left to do."""
        document = await self._database.read(lambda c: store.get(c, document_id))
        if document is not None and document.status is not Status.REMOVING:
            return False
        await passages.erase(self._database, document_id)
        if document is not None:
            await self._drop(document)
        await self.rewrite()
        await self._noted()
        return True

    async def rewrite(self) -> None:
        """Have deleted words leave the index of full text, the write-ahead log and the vectors' folder."""
        more = await self._database.write(lambda tx: FULL_TEXT.merge_step(tx.connection, first=True))
        while more:
            more = await self._database.write(lambda tx: FULL_TEXT.merge_step(tx.connection, first=False))
        await self._index.purge()
        if not await self._database.maintain():
            raise TransientError("a reader keeps a part of the write-ahead log; it is cut later")

    async def _drop(self, document: Document) -> None:
        """Delete the file, unless somebody else refers to it, and then the row that names it."""
        if document.blob is not None and await self._is_alone(document, document.blob):
            await self._blobs.delete(document.blob)

        def unit(tx: Tx) -> None:
            store.remove_row(tx, document.id)
            self._recorder.record(tx, Record(KnowledgeRemoved(document.id, document.chunks, erased=True), SYSTEM))

        await self._database.write(unit)

    async def _is_alone(self, document: Document, blob: BlobHash) -> bool:
        def query(connection: sa.Connection) -> bool:
            return not (store.uses_blob(connection, blob, document.id) or self._blob_is_used(connection, blob))

        return await self._database.read(query, long=True)
