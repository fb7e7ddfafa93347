"""The erasing transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Literal

import sqlalchemy as sa

from bot.audit.events import Actor, Record, SessionErased
from bot.audit.recorder import Recorder
from bot.kernel.clock import Clock
from bot.kernel.erasing import Erased, Span
from bot.kernel.errors import PermanentError
from bot.kernel.ids import DocumentId, SessionId
from bot.kernel.values import dataclass
from bot.knowledge import store as documents
from bot.knowledge.model import Origin, Status
from bot.knowledge.tables import document
from bot.knowledge.tasks import Kind, Queue
from bot.sessions import compaction, threads
from bot.storage.database import Database, Tx
from bot.tasks import store as tasks

FINISH = "erasure.finish"
LANE = "erasure"

Eraser = Callable[[Tx, Span, datetime], Erased]
"""Deletes what a room holds of a span, in the transaction that it is handed."""
Why = Literal["session", "summary", "retention"]


@dataclass(frozen=True, slots=True)
class Erasure:
    database: Database
    recorder: Recorder
    clock: Clock
    erasers: Sequence[Eraser]
    """The audit's is the last one: it also takes what the others have recorded."""
    documents: Queue
    ring: Callable[[], None]
    """Wakes whoever runs tasks, after the commit."""

    async def session(self, session: SessionId, actor: Actor, reason: str, *, approved_too: bool) -> Mapping[str, int]:
        """Erase a session with everything derived from it. When this returns no reader finds anything of it; that its
        bytes leave the files is durable work. Documents that were sent in it go too, unless the company has approved
        them (`approved_too`: these as well). Returns how many of what. Raises `PermanentError` for an unknown one."""

        def unit(tx: Tx) -> Mapping[str, int]:
            _must_exist(tx, session)
            now = self.clock.now()
            erased = self.erase_in(tx, session, actor, reason, now, approved_too=approved_too)
            self._finish(tx, f"session:{session}", "session", session, erased, now)
            return dict(erased.counts)

        counts = await self.database.write(unit)
        self.ring()
        self.documents.ring()
        return counts

    def erase_in(
        self, tx: Tx, session: SessionId, actor: Actor, reason: str, now: datetime, *, approved_too: bool = False
    ) -> Erased:
        """The same in the caller's transaction, who has the files rewritten."""
        count = self._documents(tx, session, actor, now, approved_too=approved_too)
        erased = self._erase(tx, [Span(session)], now) + Erased((("documents", count),))
        payload = SessionErased("session", sum(number for _, number in erased.counts), None)
        self.recorder.record(tx, Record(payload, actor, session, text=reason))
        return erased

    async def document(self, document_id: DocumentId, actor: Actor) -> bool:
        """Begin the removal of a document. False if there is none of this id, or it is being removed."""

        def unit(tx: Tx) -> bool:
            found = documents.get(tx.connection, document_id)
            if found is None or found.status is Status.REMOVING:
                return False
            documents.begin_removal(tx, self.recorder, document_id, actor)
            self.documents.put(tx, Kind.ERASE, self.clock.now(), document=document_id)
            return True

        return await self.database.write(unit)

    async def summary(self, session: SessionId, actor: Actor, reason: str) -> Mapping[str, int]:
        """Delete what stands for the older part of a session; the next turn has it made anew. Raises like `session`."""

        def unit(tx: Tx) -> Mapping[str, int]:
            _must_exist(tx, session)
            now = self.clock.now()
            erased = Erased((("summaries", compaction.drop(tx, session)),))
            self._finish(tx, f"summary:{session}", "summary", session, erased, now)
            payload = SessionErased("summary", dict(erased.counts)["summaries"], None)
            self.recorder.record(tx, Record(payload, actor, session, text=reason))
            return dict(erased.counts)

        counts = await self.database.write(unit)
        self.ring()
        return counts

    async def older(self, sessions: Sequence[SessionId], before: datetime, actor: Actor) -> int:
        """Erase what was stored before an instant in these sessions. Returns how many rows."""

        def unit(tx: Tx) -> int:
            now = self.clock.now()
            total = Erased()
            for session in sessions:
                erased = self._erase(tx, [Span(session, before)], now)
                payload = SessionErased(
                    "retention", sum(count for _, count in erased.counts), before.date().isoformat()
                )
                self.recorder.record(tx, Record(payload, actor, session))
                total += erased
            self._finish(tx, f"retention:{sessions[0]}", "retention", None, total, now)
            return sum(count for _, count in total.counts)

        count = await self.database.write(unit)
        self.ring()
        return count

    def _erase(self, tx: Tx, spans: Sequence[Span], now: datetime) -> Erased:
        total = Erased()
        for span in spans:
            for eraser in self.erasers:
                total += eraser(tx, span, now)
        return total

    def _finish(self, tx: Tx, key: str, why: Why, session: SessionId | None, erased: Erased, now: datetime) -> None:
        payload = {
            "why": why,
            "session": session,
            "counts": dict(erased.counts),
            "blobs": sorted(erased.blobs),
            "sent": [list(each) for each in erased.sent],
        }
        tasks.enqueue(tx, FINISH, f"{key}:{now.isoformat()}", payload, now, lane=LANE)

    def _documents(self, tx: Tx, session: SessionId, actor: Actor, now: datetime, *, approved_too: bool) -> int:
        """Begin the removal of what was sent in the session to be kept."""
        kept = {Status.REMOVING.value} | (set() if approved_too else {Status.APPROVED.value})
        found = tx.execute(
            sa.select(document.c.id).where(
                document.c.session_id == session,
                document.c.origin == Origin.SENT.value,
                document.c.status.not_in(sorted(kept)),
            )
        ).scalars()
        ids = [DocumentId(each) for each in found]
        for each in ids:
            documents.begin_removal(tx, self.recorder, each, actor)
            self.documents.put(tx, Kind.ERASE, now, document=each)
        return len(ids)


def _must_exist(tx: Tx, session: SessionId) -> None:
    if threads.get(tx.connection, session) is None:
        raise PermanentError(f"there is no session {session}: see `openexecutive sessions list`")
