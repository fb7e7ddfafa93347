"""Operations on documents. The command line has put a file into the daemon's own folder and names it by its hash; a
path would have to be readable by the daemon, which need not see what its user sees."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from bot.control.request import Request, operation, parsed
from bot.gateway.channel import LocalHandler, LocalPeer
from bot.kernel.errors import PermanentError
from bot.kernel.ids import BlobHash, DocumentId
from bot.kernel.scope import OperatorScope
from bot.kernel.supervise import cancel, start
from bot.kernel.values import dataclass
from bot.knowledge import quoting
from bot.knowledge.model import Document, Origin, Status, Stub
from bot.knowledge.removal import Eraser
from bot.knowledge.search import Search
from bot.knowledge.service import Bringing, Library
from bot.knowledge.tables import FULL_TEXT
from bot.retrieval.index import Index
from bot.storage.database import Database

OPERATOR = OperatorScope(None)
MOST = 1_000
_LONGEST = 300
_EVERY = 0.2
"""Seconds between two words on how far something is."""


class Add(Request):
    blob: str
    name: str
    audience: str = "company"
    domain: str | None = None
    departments: tuple[str, ...] = ()
    yes: bool = False


class List(Request):
    built_in: bool = False
    all: bool = False
    """Also what is rejected, withdrawn or could not be read."""


class One(Request):
    id: str


class Reject(Request):
    id: str
    reason: str | None = None


class Find(Request):
    query: str
    domain: str | None = None
    department: str | None = None
    limit: int = 8


class Reindex(Request):
    """No fields."""


@dataclass(frozen=True, slots=True)
class _Far:
    """How far a long operation is, told at intervals while it runs."""

    peer: LocalPeer
    now: list[tuple[str, int, int]]

    def step(self, step: str, done: int, of: int) -> None:
        self.now[:] = [(step, done, of)]

    async def tell(self) -> None:
        told: tuple[str, int, int] | None = None
        while True:
            if self.now and self.now[0] != told:
                told = self.now[0]
                await self.peer.send({"step": told[0], "done": told[1], "of": told[2]})
            await asyncio.sleep(_EVERY)


@dataclass(frozen=True, slots=True)
class Knowledge:
    database: Database
    library: Library
    search: Search
    index: Index
    eraser: Eraser
    alone: bool
    """No daemon runs: what is durable work else is done at once."""

    async def add(self, peer: LocalPeer, first: Mapping[str, object]) -> None:
        request = parsed(Add, first)
        bringing = Bringing(
            None,
            Origin.COMMAND,
            request.audience,
            domain=request.domain,
            departments=request.departments,
            says_yes=request.yes,
        )
        far = _Far(peer, [])
        telling = start("knowledge-add", far.tell())
        try:
            document = await self.library.ingest(BlobHash(request.blob), request.name, bringing, far.step)
        finally:
            await cancel(telling)
        await peer.send({"document": described(document), "ok": True})

    async def listed(self, request: List) -> Mapping[str, object]:
        statuses = [Status.READING, Status.PENDING, Status.APPROVED]
        if request.all:
            statuses += [Status.REJECTED, Status.WITHDRAWN, Status.FAILED, Status.REMOVING]
        found = await self.library.listed(OPERATOR, statuses=statuses, built_in=request.built_in, limit=MOST)
        return {"documents": [described(document) for document in found]}

    async def show(self, request: One) -> Mapping[str, object]:
        found = await self.library.show(OPERATOR, DocumentId(request.id))
        if found is None:
            raise PermanentError(f"there is no document {request.id}: see `openexecutive knowledge list`")
        document, sections = found
        return {
            "document": described(document),
            "sections": [{"id": section, "heading": heading, "page": page} for section, heading, page in sections],
        }

    async def find(self, request: Find) -> Mapping[str, object]:
        await self.index.warm()
        found = await self.search.search(
            OPERATOR,
            request.query[:_LONGEST],
            domain=request.domain,
            department=request.department,
            limit=max(1, min(request.limit, 50)),
        )
        status = await self.index.status()
        return {"found": [_stub(stub) for stub in found.stubs], "vectors": found.vectors, "reason": status.reason}

    async def approve(self, request: One) -> Mapping[str, object]:
        return {"document": described(await self.library.approve(DocumentId(request.id), None))}

    async def reject(self, request: Reject) -> Mapping[str, object]:
        return {"document": described(await self.library.reject(DocumentId(request.id), None, request.reason))}

    async def remove(self, request: One) -> Mapping[str, object]:
        removed = await self.library.remove(DocumentId(request.id), None)
        if self.alone:
            await self.eraser.erase(removed.id)
        return {"document": described(removed), "erased": self.alone}

    async def reindex(self, peer: LocalPeer, first: Mapping[str, object]) -> None:
        """Embed what is missing, make the vector store anew, and, where no daemon serves meanwhile, full text too."""
        parsed(Reindex, first)
        far = _Far(peer, [])
        telling = start("knowledge-reindex", far.tell())
        try:
            if self.alone:
                far.step("full text", 0, 1)
                await self.database.write(lambda tx: FULL_TEXT.rebuild(tx.connection))
            await self.index.catch_up(lambda done, of: far.step("embedding", done, of))
            far.step("vectors", 0, 1)
            await self.index.rebuild()
        finally:
            await cancel(telling)
        status = await self.index.status()
        await peer.send(
            {
                "items": status.items,
                "embedded": status.embedded,
                "model": status.model,
                "full_text": self.alone,
                "ok": True,
            }
        )


def handlers(
    database: Database, library: Library, search: Search, index: Index, eraser: Eraser, *, alone: bool = True
) -> Mapping[str, LocalHandler]:
    """`alone`: no daemon runs."""
    knowledge = Knowledge(database, library, search, index, eraser, alone)
    return {
        "knowledge.add": knowledge.add,
        "knowledge.list": operation(List, knowledge.listed),
        "knowledge.show": operation(One, knowledge.show),
        "knowledge.search": operation(Find, knowledge.find),
        "knowledge.approve": operation(One, knowledge.approve),
        "knowledge.reject": operation(Reject, knowledge.reject),
        "knowledge.remove": operation(One, knowledge.remove),
        "knowledge.reindex": knowledge.reindex,
    }


def described(document: Document) -> dict[str, object]:
    return {
        "id": document.id,
        "name": document.name,
        "version": document.version,
        "status": document.status.value,
        "origin": document.origin.value,
        "audience": document.audience,
        "domain": document.domain,
        "departments": list(document.departments),
        "title": document.title,
        "media_type": document.media_type,
        "pages": document.pages,
        "characters": document.characters,
        "chunks": document.chunks,
        "note": document.note,
        "reason": document.reason,
        "uploader": document.uploader,
        "dated": document.dated.isoformat(),
        "created_at": document.created_at.isoformat(),
        "decided_at": document.decided_at.isoformat() if document.decided_at else None,
        "decided_by": document.decided_by,
    }


def _stub(stub: Stub) -> dict[str, object]:
    return {
        "section": stub.section,
        "document": stub.document,
        "source": quoting.source(stub.name, stub.title, built_in=stub.built_in),
        "where": quoting.where(stub.heading, stub.page),
        "dated": stub.dated.date().isoformat(),
        "snippet": stub.snippet,
        "text_rank": stub.text_rank,
        "vector_rank": stub.vector_rank,
        "similarity": None if stub.similarity is None else round(stub.similarity, 3),
    }
