"""This room's durable work, by kind, and how it is queued."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum

from bot.kernel.ids import DocumentId
from bot.knowledge.model import Document, Status, may_decide
from bot.people import store as people
from bot.retrieval.index import Work
from bot.storage.database import Tx
from bot.tasks import store


class Kind(StrEnum):
    READ = "knowledge.read"  # behind a document that is being taken in
    ERASE = "knowledge.erase"
    CORPUS = "knowledge.corpus"
    CATCH_UP = "knowledge.vectors"
    REBUILD = "knowledge.rebuild"
    CHECK = "knowledge.check"
    WATCH = "knowledge.watch"
    DECIDED = "knowledge.decided"  # whoever sent it is told
    WAITS = "knowledge.waits"  # one was brought outside of conversations: whoever decides is told
    ENDED = "knowledge.ended"  # whoever brought one outside of conversations is told what was decided


_VECTORS = {Work.CATCH_UP: Kind.CATCH_UP, Work.REBUILD: Kind.REBUILD}


class Queue:
    """`ring` wakes whoever runs tasks, after the transaction; None where nobody does (an offline command): then they
    wait for the next start."""

    def __init__(self, ring: Callable[[], None] | None) -> None:
        self._ring = ring

    def put(
        self, tx: Tx, kind: Kind, now: datetime, *, document: DocumentId | None = None, run_at: datetime | None = None
    ) -> None:
        """Queue a task unless one of this kind (and document) is pending."""
        key = document or "all"
        payload = {} if document is None else {"document": document}
        # A lane of its own: what is to run later must not hold up what is due.
        store.enqueue(tx, kind.value, key, payload, now, lane=f"{kind.value}:{key}", run_at=run_at)

    def decided(self, tx: Tx, document: Document, now: datetime) -> None:
        """Somebody has decided about a document that was brought: who did is to hear of it."""
        if document.message is not None:
            self.put(tx, Kind.DECIDED, now, document=document.id)
        elif document.uploader is not None and document.uploader != document.decided_by:
            self.put(tx, Kind.ENDED, now, document=document.id)

    def waits(self, tx: Tx, document: Document, now: datetime) -> None:
        """Whoever decides is to hear of a document that waits, if nobody is asked for a yes in a conversation."""
        if document.status is not Status.PENDING or document.message is not None or document.uploader is None:
            return
        if not may_decide(people.get(tx.connection, document.uploader)):
            self.put(tx, Kind.WAITS, now, document=document.id)

    def vectors(self, tx: Tx, work: Work, now: datetime) -> None:
        kind = _VECTORS[work].value
        store.enqueue(tx, kind, "all", {}, now, lane=Kind.CATCH_UP.value)

    def ring(self) -> None:
        if self._ring is not None:
            self._ring()
