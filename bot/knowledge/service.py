"""Taking documents in, deciding about them, and listing them.

A document is taken in within its caller's time, and a durable task stands behind it: whatever the process dies of, the
next one reads it again from its first byte. Nothing of it can be found before all of it was read.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import sqlalchemy as sa

from bot.audit.events import SYSTEM, Actor
from bot.audit.recorder import Recorder
from bot.files.blobs import BlobFolder
from bot.files.extract import Extractor
from bot.files.model import Extracted, Unreadable
from bot.files.names import clean_names
from bot.files.sniff import Sniffed, sniff
from bot.kernel.clock import Clock
from bot.kernel.errors import TransientError
from bot.kernel.ids import BlobHash, DocumentId, InboxId, SectionId, SessionId, TurnId
from bot.kernel.scope import OperatorScope, Scope
from bot.kernel.values import dataclass
from bot.knowledge import cutting, passages, questions, store
from bot.knowledge.cutting import Section
from bot.knowledge.model import (
    Document,
    KnowledgeError,
    Origin,
    Status,
    audiences,
    checked_audience,
    first_status,
    is_wider,
    may_bring,
    may_decide,
)
from bot.knowledge.store import New, Read
from bot.knowledge.tasks import Kind, Queue
from bot.people.model import Person
from bot.retrieval.index import Work
from bot.sessions.audience import Audience
from bot.sessions.visible import company_view
from bot.storage.database import Database, Tx

log = logging.getLogger(__name__)

TAKEN_UP_AFTER = timedelta(minutes=5)
"""A document whose reading is not done by then is looked after by its task."""
CONTENTS = 200
"""Sections that `show` lists."""
OPERATOR = Actor("system", "operator")

Progress = Callable[[str, int, int], None]
"""Step, done, of: for whoever waits."""


@dataclass(frozen=True, slots=True)
class Bringing:
    """Who brings a document, from where, and what they say of it. `by`: None is the operator at the machine."""

    by: Person | None
    origin: Origin
    audience: str
    room: Audience | None = None
    """Of the session that it was sent in."""
    session: SessionId | None = None
    domain: str | None = None
    departments: tuple[str, ...] = ()
    path: str | None = None
    declared_type: str = ""
    dated: datetime | None = None
    says_yes: bool = False
    """A yes to what would otherwise wait for one; counts only of who may decide."""
    asked: bool = False
    """In words: a yes to its being seen by more people than were there, not to a replacement."""
    proven: bool = True
    """False: that it is this person is likely, not proven; they decide nothing."""
    message: InboxId | None = None
    """What asked to keep it; its sender is told what becomes of it."""


def _silent(_step: str, _done: int, _of: int) -> None:
    return


class Library:
    def __init__(
        self,
        database: Database,
        recorder: Recorder,
        clock: Clock,
        blobs: BlobFolder,
        extractor: Extractor,
        queue: Queue,
    ) -> None:
        self._database = database
        self._recorder = recorder
        self._clock = clock
        self._blobs = blobs
        self._extractor = extractor
        self._queue = queue
        self._reading: set[DocumentId] = set()

    # --- taking in -------------------------------------------------------------------------------------------------

    async def ingest(self, blob: BlobHash, name: str, bringing: Bringing, progress: Progress = _silent) -> Document:
        """Take in a stored file. The document that comes back is approved, waits for a yes (`pending`), or says in
        `note` why nothing could be read of it (`failed`). The same file under the same name is the same document.

        Raises `KnowledgeError` if this person may not, `BlobMissing`, `TransientError`.
        """
        document, sniffed = await self.enter(blob, name, bringing)
        return document if sniffed is None else await self.take_in(document, bringing, sniffed, progress)

    async def enter(self, blob: BlobHash, name: str, bringing: Bringing) -> tuple[Document, Sniffed | None]:
        """The first half of `ingest`: a row in the status `reading`, with what the file is by its bytes, for `take_in`;
        if that never comes, a task reads it. None instead for a document that is known already. Raises like it."""
        if not may_bring(bringing.by):
            raise KnowledgeError("only people of the company can give me documents to keep")
        kept = await self._blobs.inspect(blob)
        (clean,) = clean_names([name])
        sniffed = sniff(kept.sample, bringing.declared_type, clean)
        new = self._new(blob, clean, sniffed, bringing)

        def unit(tx: Tx) -> tuple[Document, Sniffed | None]:
            found = store.same(tx.connection, new)
            if found is not None:
                return found, None
            now = self._clock.now()
            added = store.add(tx, new, now)
            self._queue.put(tx, Kind.READ, now, document=added.id, run_at=now + TAKEN_UP_AFTER)
            return added, sniffed

        return await self._database.write(unit)

    async def take_in(
        self,
        document: Document,
        bringing: Bringing | None,
        sniffed: Sniffed | None = None,
        progress: Progress = _silent,
    ) -> Document:
        """Read a document that is in the status `reading`, from its beginning. `bringing` is None after a restart: then
        nobody is there whose word could approve it."""
        if document.id in self._reading:
            raise TransientError("this document is being read already")
        self._reading.add(document.id)
        try:
            await passages.erase(self._database, document.id)
            return await self._read(document, bringing, sniffed, progress)
        finally:
            self._reading.discard(document.id)

    async def resume(self, document_id: DocumentId) -> bool:
        """What the task behind a reading does. False if there is nothing to do any more."""
        document = await self._database.read(lambda c: store.get(c, document_id))
        if document is None or document.status is not Status.READING:
            return False
        await self.take_in(document, None)
        return True

    # --- deciding --------------------------------------------------------------------------------------------------

    async def approve(self, document_id: DocumentId, by: Person | None) -> Document:
        """Let it be found; what served under its name no longer is. Raises `KnowledgeError`."""
        _must_decide(by)

        def unit(tx: Tx) -> Document:
            return self._approve(tx, document_id, by)

        approved = await self._database.write(unit)
        self._queue.ring()
        return approved

    async def reject(self, document_id: DocumentId, by: Person | None, reason: str | None = None) -> Document:
        """Say no to one that waits, or take back one that is approved. Raises `KnowledgeError`."""
        _must_decide(by)

        def unit(tx: Tx) -> Document:
            return self._reject(tx, document_id, by, reason)

        rejected = await self._database.write(unit)
        self._queue.ring()
        return rejected

    async def answer(self, document_id: DocumentId, by: Person, turn: TurnId, *, yes: bool) -> Document:
        """What a principal answered to the question about a document that waits, in a turn that may run again: the
        first run decides. Raises `KnowledgeError`."""
        _must_decide(by)

        def unit(tx: Tx) -> Document:
            found = store.get(tx.connection, document_id)
            if found is not None and not questions.close(tx, document_id, turn):
                return found
            return self._approve(tx, document_id, by) if yes else self._reject(tx, document_id, by, None)

        answered = await self._database.write(unit)
        self._queue.ring()
        return answered

    async def remove(self, document_id: DocumentId, by: Person | None) -> Document:
        """Delete a document and all that was made of it. When this returns nobody finds it any more; that its bytes
        leave the files is durable work (`removal`). Raises `KnowledgeError`."""
        _must_decide(by)

        def unit(tx: Tx) -> Document:
            removed = store.begin_removal(tx, self._recorder, document_id, _actor(by))
            self._queue.put(tx, Kind.ERASE, self._clock.now(), document=document_id)
            return removed

        removed = await self._database.write(unit)
        self._queue.ring()
        return removed

    # --- reading ---------------------------------------------------------------------------------------------------

    async def listed(
        self, scope: Scope, *, statuses: Sequence[Status], built_in: bool = False, limit: int = 200
    ) -> list[Document]:
        """Documents that a reader may see, newest first. What is not approved is the operator's business alone (and
        the principal's, by `waiting`)."""
        shown = statuses if isinstance(scope, OperatorScope) else [s for s in statuses if s is Status.APPROVED]
        return await self._database.read(
            lambda c: store.listed(c, _audiences(c, scope), built_in=built_in, statuses=shown, limit=limit)
        )

    async def waiting(self, by: Person | None) -> list[Document]:
        """What waits for a yes, newest first. Raises `KnowledgeError` for who does not decide."""
        _must_decide(by)
        return await self._database.read(
            lambda c: store.listed(
                c, store.audiences_known(c), built_in=False, statuses=[Status.PENDING], limit=CONTENTS
            )
        )

    async def show(
        self, scope: Scope, document_id: DocumentId
    ) -> tuple[Document, list[tuple[SectionId, str, int | None]]] | None:
        """A document with its sections (id, heading, page). None if there is none that this reader may see."""

        def query(
            connection: sa.Connection,
        ) -> tuple[Document, list[tuple[SectionId, str, int | None]]] | None:
            found = store.get(connection, document_id)
            if found is None or found.audience not in _audiences(connection, scope):
                return None
            if found.status is not Status.APPROVED and not isinstance(scope, OperatorScope):
                return None
            return found, passages.contents(connection, document_id, CONTENTS)

        return await self._database.read(query)

    # --- inside ----------------------------------------------------------------------------------------------------

    def _approve(self, tx: Tx, document_id: DocumentId, by: Person | None) -> Document:
        now = self._clock.now()
        approved = store.approve(tx, self._recorder, document_id, _actor(by), now)
        self._queue.vectors(tx, Work.CATCH_UP, now)
        self._queue.decided(tx, approved, now)
        return approved

    def _reject(self, tx: Tx, document_id: DocumentId, by: Person | None, reason: str | None) -> Document:
        now = self._clock.now()
        rejected = store.reject(tx, self._recorder, document_id, reason, _actor(by), now)
        if rejected.status is Status.WITHDRAWN:
            self._queue.vectors(tx, Work.CATCH_UP, now)
        self._queue.decided(tx, rejected, now)
        return rejected

    def _new(self, blob: BlobHash, name: str, sniffed: Sniffed, bringing: Bringing) -> New:
        audience = checked_audience(bringing.audience)
        return New(
            name=name,
            origin=bringing.origin,
            audience=audience,
            title=cutting.title_of("", name),
            media_type=sniffed.media_type,
            blob=blob,
            digest=blob,
            dated=bringing.dated or self._clock.now(),
            wider=bringing.room is not None and is_wider(audience, bringing.room),
            domain=bringing.domain,
            departments=bringing.departments,
            uploader=bringing.by.id if bringing.by is not None else None,
            session=bringing.session,
            message=bringing.message,
            path=bringing.path,
        )

    async def _read(
        self, document: Document, bringing: Bringing | None, sniffed: Sniffed | None, progress: Progress
    ) -> Document:
        progress("reading", 0, 1)
        extracted = await self._extract(document, sniffed)
        if isinstance(extracted, Unreadable):
            log.info("document %s could not be read: %s %s", document.id, extracted.reason.value, extracted.cause)
            return await self._finish(document, Status.FAILED, Read(None, 0, 0, None, extracted.detail))
        paged = extracted.pages is not None
        title = cutting.title_of(extracted.text, document.name)
        sections = await asyncio.to_thread(cutting.cut, extracted.text, paged=paged)
        number = sum(len(each.chunks) for each in sections)
        outcome = Read(extracted.pages, len(extracted.text), number, title, _note(extracted))
        if not sections:
            empty = Read(extracted.pages, 0, 0, None, extracted.note or "The file holds no text.")
            return await self._finish(document, Status.FAILED, empty)
        done = position = 0
        for batch in _batches(sections):
            first = position

            def unit(tx: Tx, batch: Sequence[Section] = batch, first: int = first) -> None:
                passages.write(tx, document.id, title, first, batch, "", self._clock.now())

            await self._database.write(unit)
            position += len(batch)
            done += sum(len(each.chunks) for each in batch)
            progress("indexing", done, number)
        return await self._finish(document, None, outcome, bringing)

    async def _extract(self, document: Document, sniffed: Sniffed | None) -> Extracted | Unreadable:
        if document.blob is None:
            raise KnowledgeError("a built-in note has no file")
        kept = await self._blobs.inspect(document.blob)
        return await self._extractor.extract(
            kept.path, sniffed or sniff(kept.sample, document.media_type, document.name)
        )

    async def _finish(
        self, document: Document, status: Status | None, outcome: Read, bringing: Bringing | None = None
    ) -> Document:
        """`status` None: by the rules."""
        by = bringing.by if bringing is not None else None

        def unit(tx: Tx) -> Document:
            now = self._clock.now()
            decided = status
            if decided is None:
                replaces = store.serving(tx.connection, document) is not None
                decided = Status.PENDING
                if bringing is not None:
                    decided = first_status(
                        document.origin,
                        by,
                        replaces=replaces,
                        wider=document.wider,
                        says_yes=bringing.says_yes,
                        asked=bringing.asked,
                        proven=bringing.proven,
                    )
            actor = SYSTEM if bringing is None else _actor(by)
            store.finish(tx, self._recorder, document, decided, outcome, actor, now)
            if decided is Status.APPROVED:
                self._queue.vectors(tx, Work.CATCH_UP, now)
            found = store.get(tx.connection, document.id)
            if found is None:
                raise KnowledgeError(f"{document.name} was removed while it was being read")
            self._queue.waits(tx, found, now)
            return found

        finished = await self._database.write(unit)
        self._queue.ring()
        return finished


def _note(extracted: Extracted) -> str | None:
    """What is missing, for its sender."""
    if extracted.truncated and not extracted.note:
        return f"Only its beginning is kept here: about {len(extracted.text):,} characters."
    return extracted.note or None


def _batches(sections: Sequence[Section]) -> list[list[Section]]:
    found: list[list[Section]] = []
    size = passages.BATCH
    for each in sections:
        if size >= passages.BATCH:
            found.append([])
            size = 0
        found[-1].append(each)
        size += len(each.chunks)
    return found


def _audiences(connection: sa.Connection, scope: Scope) -> tuple[str, ...]:
    return audiences(company_view(connection, scope), store.audiences_known(connection))


def _must_decide(by: Person | None) -> None:
    if not may_decide(by):
        raise KnowledgeError("only a principal decides about documents")


def _actor(by: Person | None) -> Actor:
    return OPERATOR if by is None else Actor("person", by.id)
