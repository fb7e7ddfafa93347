"""Knowledge: the documents that answers rest on. Bringing one, deciding about it, reading it, and trying a question to
see what would be found, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby

import sqlalchemy as sa
from starlette.responses import Response
from starlette.routing import Route

from bot.files.blobs import BlobFolder
from bot.kernel.ids import DocumentId, PersonId, SectionId
from bot.kernel.supervise import Supervisor
from bot.kernel.values import dataclass
from bot.knowledge import shelf
from bot.knowledge.model import Document, Origin, Status, checked_audience, may_bring, may_decide
from bot.knowledge.search import Search
from bot.knowledge.service import Bringing, Library
from bot.people import store as people
from bot.retrieval.index import Index
from bot.storage.database import Database
from bot.web.console.files import Arriving, pieces
from bot.web.console.site import Moved, Page, Site
from bot.web.console.visits import Notice, Undo, Visit
from bot.web.refusals import Refusal, UnknownThingError

MOST = 30
"""Documents on a page."""
PASSAGES = 12
"""Sections at a time."""
FOUND = 12
LONGEST = 300
"""Characters of a question."""
STATES = {
    Status.READING: ("info", "being read"),
    Status.PENDING: ("warn", "waits for a yes"),
    Status.APPROVED: ("good", "in use"),
    Status.REJECTED: ("bad", "rejected"),
    Status.WITHDRAWN: ("", "taken back"),
    Status.FAILED: ("bad", "not readable"),
    Status.REMOVING: ("", "being removed"),
}
"""Colour and words."""


@dataclass(frozen=True, slots=True)
class Documents:
    """What the page works with. `limit`: bytes of a file; `jobs` holds what is being read."""

    library: Library
    search: Search
    index: Index
    blobs: BlobFolder
    limit: int
    jobs: Supervisor


@dataclass(frozen=True, slots=True)
class Far:
    """How far the reading of a document is."""

    step: str
    done: int
    of: int


class KnowledgePage:
    def __init__(self, database: Database, documents: Documents, arriving: Arriving) -> None:
        self._arriving = arriving
        self._database = database
        self._documents = documents
        self._far: dict[DocumentId, Far] = {}

    def routes(self, site: Site) -> list[Route]:
        return [
            site.page("/knowledge", self.listed),
            site.page("/knowledge/notes", self.notes),
            site.page("/knowledge/try", self.tried),
            site.page("/knowledge/files", self.brought, method="POST", raw=True),
            site.page("/knowledge/{id}", self.one),
            site.page("/knowledge/{id}/passages", self.passages),
            site.page("/knowledge/{id}/approve", self.approve, method="POST"),
            site.page("/knowledge/{id}/reject", self.reject, method="POST"),
            site.page("/knowledge/{id}/remove", self.preview),
            site.page("/knowledge/{id}/remove", self.remove, method="POST"),
        ]

    # --- looking ---------------------------------------------------------------------------------------------------

    async def listed(self, visit: Visit) -> Page:
        status, words, before = visit.asked("status"), visit.asked("q")[:LONGEST], visit.asked("before")
        wanted = shelf.Wanted(words, [each for each in Status if each.value == status])

        def query(connection: sa.Connection) -> Mapping[str, object]:
            after = DocumentId(before) if before else None
            found = shelf.page(connection, visit.scope, wanted, after, MOST + 1)
            waits = shelf.Wanted(statuses=[Status.PENDING])
            waiting = shelf.page(connection, visit.scope, waits, None, MOST) if not (before or words or status) else []
            shown = found[:MOST]
            return {
                "documents": shown,
                "waiting": waiting,
                "more": shown[-1].id if len(found) > MOST else None,
                "choices": shelf.choices(connection, visit.scope),
                "names": _names(connection, [*shown, *waiting]),
            }

        values = await self._database.read(query)
        asked = {"status": status, "q": words, "before": before}
        return Page("knowledge/list.html", {**values, **self._told(visit), "asked": asked}, "rows")

    async def notes(self, visit: Visit) -> Page:
        found = await self._database.read(lambda c: shelf.notes(c, visit.scope))
        by_domain = [(domain, list(each)) for domain, each in groupby(found, key=lambda one: one.domain or "general")]
        return Page("knowledge/notes.html", {"domains": by_domain, "number": len(found)})

    async def one(self, visit: Visit) -> Page | Response:
        begin, was_reading = visit.asked("from"), visit.partial and bool(visit.asked("reading"))

        def query(connection: sa.Connection) -> Mapping[str, object]:
            found = self._document(connection, visit)
            first = shelf.position(connection, visit.scope, SectionId(begin)) if begin else None
            versions = shelf.versions(connection, visit.scope, found)
            return {
                "of": found,
                "versions": versions,
                "serving": next((each for each in versions if each.status is Status.APPROVED), None),
                "names": _names(connection, versions),
                "from": first or 0,
                **_passages(connection, visit, found.id, (first or 0) - 1),
            }

        values = await self._database.read(query)
        found = values["of"]
        if was_reading and isinstance(found, Document) and found.status is not Status.READING:
            return Response("", 200, {"HX-Refresh": "true"})  # there is more to see now
        return Page("knowledge/document.html", {**values, **self._told(visit)}, "document")

    async def passages(self, visit: Visit) -> Page:
        after = visit.number("after")

        def query(connection: sa.Connection) -> Mapping[str, object]:
            found = self._document(connection, visit)
            return {"of": found, **_passages(connection, visit, found.id, -1 if after is None else after)}

        return Page("knowledge/passages.html", await self._database.read(query), "passages")

    async def tried(self, visit: Visit) -> Page:
        """What a search finds for this person, with the place of each passage in both rankings."""
        words, domain, department = visit.asked("q")[:LONGEST], visit.asked("domain"), visit.asked("department")
        found = None
        if words:
            found = await self._documents.search.search(
                visit.scope, words, domain=domain or None, department=department or None, limit=FOUND
            )
        status = await self._documents.index.status()
        listed = await self._database.read(lambda c: shelf.notes(c, visit.scope))
        values = {
            "q": words,
            "domain": domain,
            "department": department,
            "domains": sorted({each.domain for each in listed if each.domain}),
            "departments": sorted({name for each in listed for name in each.departments}),
            "found": found,
            "index": status,
        }
        return Page("knowledge/try.html", values, "found")

    # --- bringing --------------------------------------------------------------------------------------------------

    async def brought(self, visit: Visit) -> Moved:
        """The body is the file. It is kept first and read afterwards, while its page tells how far that is."""
        if not may_bring(visit.person):
            raise Refusal(403, "not_allowed", "Only people of the company can bring documents.", "not_allowed")
        name, audience = visit.asked("name"), visit.asked("audience")
        if replaced := visit.asked("replaces"):
            old = await self._database.read(lambda c: shelf.one(c, visit.scope, DocumentId(replaced)))
            if old is None or old.origin is Origin.BUILT_IN:
                raise UnknownThingError("There is no such document.")
            name, audience = old.name, old.audience
        elif checked_audience(audience) not in await self._database.read(lambda c: shelf.choices(c, visit.scope)):
            raise Refusal(403, "not_allowed", "You are not of that department.", "not_allowed")
        with self._arriving.one(visit.person.id):
            kept = await self._documents.blobs.put_stream(pieces(visit.request), self._documents.limit)
        declared = visit.request.headers.get("content-type", "")
        bringing = Bringing(
            visit.person, Origin.SENT, audience, declared_type=declared, says_yes=visit.asked("yes") == "on"
        )
        document, sniffed = await self._documents.library.enter(kept.id, name, bringing)
        if sniffed is None:
            seen = await self._database.read(lambda c: shelf.one(c, visit.scope, document.id))
            where = "/knowledge" if seen is None else f"/knowledge/{document.id}"
            return Moved(where, Notice(f"{document.name} is here already, with the same content."))

        def progress(step: str, done: int, of: int) -> None:
            self._far[document.id] = Far(step, done, of)

        async def read() -> None:
            try:
                await self._documents.library.take_in(document, bringing, sniffed, progress)
            finally:
                self._far.pop(document.id, None)

        self._documents.jobs.job(f"document:{document.id}", read())
        return Moved(f"/knowledge/{document.id}", Notice(f"{document.name} has arrived and is being read."))

    # --- deciding --------------------------------------------------------------------------------------------------

    async def approve(self, visit: Visit) -> Moved:
        document = await self._deciding(visit)
        await self._documents.library.approve(document.id, visit.person)
        return await self._decided(visit, document, Notice(f"{document.name} is in use from now on."))

    async def reject(self, visit: Visit) -> Moved:
        document = await self._deciding(visit)
        reason = visit.field("reason").strip()[:LONGEST] or None
        await self._documents.library.reject(document.id, visit.person, reason)
        if document.status is not Status.APPROVED:
            return await self._decided(visit, document, Notice(f"{document.name} is rejected."))
        undo = Undo(f"/knowledge/{document.id}/approve")
        return await self._decided(visit, document, Notice(f"{document.name} is taken back: no answer uses it.", undo))

    async def preview(self, visit: Visit) -> Page:
        document = await self._deciding(visit)
        return Page("knowledge/remove.html", {"of": document})

    async def remove(self, visit: Visit) -> Moved:
        document = await self._deciding(visit)
        await self._documents.library.remove(document.id, visit.person)
        text = f"{document.name} is gone from every answer; its words leave the files within moments."
        return Moved("/knowledge", Notice(text))

    # --- inside ----------------------------------------------------------------------------------------------------

    def _document(self, connection: sa.Connection, visit: Visit) -> Document:
        found = shelf.one(connection, visit.scope, DocumentId(visit.request.path_params["id"]))
        if found is None:
            raise UnknownThingError("There is no such document.")
        return found

    async def _deciding(self, visit: Visit) -> Document:
        document = await self._database.read(lambda c: self._document(c, visit))
        if not may_decide(visit.person) or document.origin is Origin.BUILT_IN:
            raise Refusal(403, "not_allowed", "Only a principal decides about documents.", "not_allowed")
        return document

    async def _decided(self, visit: Visit, document: Document, notice: Notice) -> Moved:
        """Back to the document, unless it is now shown to a department that is not theirs."""
        still = await self._database.read(lambda c: shelf.one(c, visit.scope, document.id))
        return Moved("/knowledge" if still is None else f"/knowledge/{document.id}", notice)

    def _told(self, visit: Visit) -> Mapping[str, object]:
        return {
            "states": STATES,
            "far": self._far,
            "decides": may_decide(visit.person),
            "brings": may_bring(visit.person),
            "limit": self._documents.limit,
        }


def _passages(connection: sa.Connection, visit: Visit, document: DocumentId, after: int) -> Mapping[str, object]:
    found = shelf.passages(connection, visit.scope, document, after, PASSAGES + 1)
    shown = found[:PASSAGES]
    return {"sections": shown, "next": shown[-1].position if len(found) > PASSAGES else None}


def _names(connection: sa.Connection, documents: Iterable[Document]) -> Mapping[str, str]:
    """Of people who brought them or decided about them, by id."""
    ids = {each for one in documents for each in (one.uploader, one.decided_by) if each is not None}
    known = people.by_ids(connection, [PersonId(each) for each in ids])
    return {"operator": "the operator", **{person.id: person.name for person in known.values()}}
