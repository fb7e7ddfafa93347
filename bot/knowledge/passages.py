"""SQL of sections and chunks: writing them in parts, finding them by words, and reading them, always within a view."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from bot.kernel.ids import ChunkId, DocumentId, SectionId, new_id
from bot.kernel.values import dataclass
from bot.knowledge.cutting import Section
from bot.knowledge.model import Origin, Status
from bot.knowledge.tables import FULL_TEXT, chunk, document, document_department, section
from bot.retrieval.index import Texts
from bot.storage.database import Database, Tx
from bot.storage.metadata import exactly

_APPROVED = exactly(document.c.status, Status.APPROVED.value)
BATCH = 24
"""Chunks written or deleted in one transaction: a few milliseconds."""

_NEW_SECTION = section.insert()
_NEW_CHUNK = chunk.insert()
_MATCH = FULL_TEXT.match().subquery("hit")


@dataclass(frozen=True, slots=True)
class View:
    """Which documents a reader sees, and of these the ones that are asked for."""

    audiences: tuple[str, ...]
    domain: str | None = None
    department: str | None = None

    @property
    def narrowed(self) -> bool:
        return self.domain is not None or self.department is not None


@dataclass(frozen=True, slots=True)
class Row:
    """A chunk with what is said of its document."""

    chunk: ChunkId
    section: SectionId
    document: DocumentId
    name: str
    title: str
    heading: str
    page: int | None
    built_in: bool
    dated: datetime
    text: str


def write(
    tx: Tx, document_id: DocumentId, title: str, first: int, sections: Sequence[Section], keywords: str, now: datetime
) -> None:
    """Add these sections, counted from `first`. What is found of them is up to their document's status."""
    section_rows: list[dict[str, object]] = []
    chunk_rows: list[dict[str, object]] = []
    for position, each in enumerate(sections, first):
        section_id = SectionId(new_id(now))
        section_rows.append(
            {
                "id": section_id,
                "document_id": document_id,
                "position": position,
                "heading": each.heading,
                "page": each.page,
                "last_page": each.last_page,
            }
        )
        context = "\n".join(part for part in (title, each.heading, keywords) if part)
        chunk_rows += [
            {
                "id": new_id(now),
                "document_id": document_id,
                "section_id": section_id,
                "position": number,
                "page": part.page,
                "context": context,
                "text": part.text,
                "tokens": part.tokens,
            }
            for number, part in enumerate(each.chunks)
        ]
    if section_rows:
        tx.execute(_NEW_SECTION, section_rows)
    if chunk_rows:
        tx.execute(_NEW_CHUNK, chunk_rows)


def erase_some(tx: Tx, document_id: DocumentId, limit: int) -> int:
    """Delete some of a document's chunks, and once there is none left, its sections. Returns how many were deleted."""
    some = sa.select(chunk.c.seq).where(chunk.c.document_id == document_id).limit(limit)
    gone = tx.execute(chunk.delete().where(chunk.c.seq.in_(some))).rowcount
    if not gone:
        tx.execute(section.delete().where(section.c.document_id == document_id))
    return gone


async def erase(database: Database, document_id: DocumentId) -> None:
    """Delete all of a document's chunks and sections, in transactions that hold nobody up."""
    while await database.write(lambda tx: erase_some(tx, document_id, BATCH)):
        pass


def chunk_ids(connection: sa.Connection, document_id: DocumentId) -> list[str]:
    return list(connection.execute(sa.select(chunk.c.id).where(chunk.c.document_id == document_id)).scalars())


def by_words(connection: sa.Connection, expression: str, view: View, limit: int) -> list[tuple[ChunkId, float]]:
    """Chunks that match a full-text expression, best first, with their BM25 (higher is better)."""
    query = (
        sa.select(chunk.c.id, _MATCH.c.rank)
        .select_from(
            _MATCH.join(chunk, chunk.c.seq == _MATCH.c.key).join(document, document.c.id == chunk.c.document_id)
        )
        .where(*_within(view))
        .order_by(_MATCH.c.rank)
        .limit(limit)
    )
    return [(ChunkId(row.id), -row.rank) for row in connection.execute(query, {"words": expression})]


def ids_within(connection: sa.Connection, view: View, limit: int) -> list[ChunkId] | None:
    """All chunks of a view; None if there are more than `limit`."""
    query = (
        sa.select(chunk.c.id)
        .select_from(document.join(chunk, chunk.c.document_id == document.c.id))
        .where(*_within(view))
        .limit(limit + 1)
    )
    found = [ChunkId(each) for each in connection.execute(query).scalars()]
    return found if len(found) <= limit else None


def rows(connection: sa.Connection, chunks: Collection[ChunkId], view: View) -> dict[ChunkId, Row]:
    """Those of the chunks that the view shows, by id."""
    query = _told().where(chunk.c.id.in_(list(chunks)), *_within(view))
    return {ChunkId(row.chunk): _row(row) for row in connection.execute(query)}


def of_section(connection: sa.Connection, section_id: SectionId, view: View) -> list[Row]:
    """A section's chunks in order; none if the view does not show it."""
    query = _told().where(chunk.c.section_id == section_id, *_within(view)).order_by(chunk.c.position)
    return [_row(row) for row in connection.execute(query)]


def last_page(connection: sa.Connection, section_id: SectionId) -> int | None:
    found: int | None = connection.execute(
        sa.select(section.c.last_page).where(section.c.id == section_id)
    ).scalar_one_or_none()
    return found


def contents(connection: sa.Connection, document_id: DocumentId, limit: int) -> list[tuple[SectionId, str, int | None]]:
    """A document's sections: id, heading, page. Its caller has seen that it may be shown."""
    query = (
        sa.select(section.c.id, section.c.heading, section.c.page)
        .where(section.c.document_id == document_id)
        .order_by(section.c.position)
        .limit(limit)
    )
    return [(SectionId(row.id), row.heading, row.page) for row in connection.execute(query)]


def to_embed(connection: sa.Connection, chunks: Collection[str]) -> Mapping[str, str]:
    """What is embedded of each chunk that can be found: what it stands under and what it says."""
    query = (
        sa.select(chunk.c.id, chunk.c.context, chunk.c.text)
        .select_from(chunk.join(document, document.c.id == chunk.c.document_id))
        .where(chunk.c.id.in_(list(chunks)), _APPROVED)
    )
    return {row.id: f"{row.context}\n{row.text}" for row in connection.execute(query)}


def texts_of(database: Database) -> Texts:
    """What the index embeds of each chunk: chunks that cannot be found have none."""

    async def texts(items: Sequence[str]) -> Mapping[str, str]:
        return await database.read(lambda c: to_embed(c, items), long=True)

    return texts


def _told() -> sa.Select[Any]:
    return sa.select(
        chunk.c.id.label("chunk"),
        chunk.c.section_id,
        chunk.c.document_id,
        document.c.name,
        document.c.title,
        section.c.heading,
        chunk.c.page,
        document.c.origin,
        document.c.dated,
        chunk.c.text,
    ).select_from(
        chunk.join(document, document.c.id == chunk.c.document_id).join(section, section.c.id == chunk.c.section_id)
    )


def _within(view: View) -> list[sa.ColumnElement[bool]]:
    """What is approved, in an audience of the view, and of the asked domain and department or of none."""
    conditions: list[sa.ColumnElement[bool]] = [_APPROVED, document.c.audience.in_(list(view.audiences))]
    if view.domain is not None:
        conditions.append(sa.or_(document.c.domain == view.domain, document.c.domain.is_(None)))
    if view.department is not None:
        mine = document_department.c.document_id == document.c.id
        conditions.append(
            sa.or_(
                sa.exists().where(mine, document_department.c.department == view.department),
                ~sa.exists().where(mine),
            )
        )
    return conditions


def _row(row: Any) -> Row:
    return Row(
        ChunkId(row.chunk), SectionId(row.section_id), DocumentId(row.document_id), row.name, row.title, row.heading,
        row.page, row.origin == Origin.BUILT_IN.value, row.dated, row.text,
    )  # fmt: skip
