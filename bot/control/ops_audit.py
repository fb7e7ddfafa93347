"""Reading and checking the audit. What people said is shown of one session at a time, for a reason that is recorded in
the same transaction as the reading."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import sqlalchemy as sa

from bot.audit import timeline
from bot.audit.events import ContentViewed, Record
from bot.audit.recorder import Head, Recorder
from bot.audit.timeline import Entry
from bot.audit.verify import verify_file
from bot.audit.vocabulary import VOCABULARY
from bot.control.request import OPERATOR, Request, parsed
from bot.gateway.channel import LocalPeer
from bot.kernel.errors import PermanentError
from bot.kernel.ids import SessionId
from bot.kernel.values import dataclass
from bot.sessions import threads
from bot.storage.database import Database, Tx

MOST = 5_000
"""Entries of one answer."""


class Verify(Request):
    row: int | None = None
    """With `hash`: a head noted earlier."""
    hash: str | None = None


class Show(Request):
    session: str | None = None
    last: int = 50
    """Newest entries, when no session is named."""
    type: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Audit:
    database: Database
    recorder: Recorder
    key: bytes

    async def verify(self, request: Verify) -> Mapping[str, object]:
        if (request.row is None) != (request.hash is None):
            raise PermanentError("a noted head is the number of a row and its hash")
        noted = Head(request.row, request.hash) if request.row is not None and request.hash else self.recorder.head
        verdict = await asyncio.to_thread(verify_file, self.database.path, self.key, noted)
        return {
            "rows": verdict.rows,
            "erased": verdict.erased,
            "broken": list(verdict.broken[:MOST]),
            "head": {"row": verdict.head.id, "hash": verdict.head.hash},
        }

    async def show(self, peer: LocalPeer, first: Mapping[str, object]) -> None:
        request = parsed(Show, first)
        if request.type is not None and request.type not in VOCABULARY:
            raise PermanentError(f"there is no event of type {request.type}: one of {', '.join(sorted(VOCABULARY))}")
        if request.session is None:
            types = () if request.type is None else (request.type,)
            limit = min(max(request.last, 1), MOST)
            entries = await self.database.read(lambda c: timeline.newest(c, limit, types))
        else:
            entries = await self._of_session(SessionId(request.session), request.reason)
            entries = [entry for entry in entries if request.type in (None, entry.type)]
        for entry in entries:
            await peer.send({"entry": timeline.described(entry)})
        await peer.send({"ok": True, "texts": request.session is not None and bool(request.reason)})

    async def _of_session(self, session: SessionId, reason: str | None) -> list[Entry]:
        """All entries of a session; their texts only for a reason."""
        if not reason or not reason.strip():
            entries = await self.database.read(lambda c: _entries(c, session))
            return [replace(entry, text=None) for entry in entries]

        def unit(tx: Tx) -> list[Entry]:
            found = _entries(tx.connection, session)
            self.recorder.record(tx, Record(ContentViewed(session), OPERATOR, session, text=reason.strip()))
            return found

        return await self.database.write(unit)


def _entries(connection: sa.Connection, session: SessionId) -> list[Entry]:
    if threads.get(connection, session) is None:
        raise PermanentError(f"there is no session {session}")
    found: list[Entry] = []
    while len(found) < MOST and (page := timeline.of_session(connection, session, found[-1].id if found else 0)):
        found += page
    return found[:MOST]
