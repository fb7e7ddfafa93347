"""What a reader sees of the documents themselves: those that serve and are meant for them, what they brought, and, for
whoever decides, what there is to decide on. Every reader takes a scope, and SQL does the choosing."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import sqlalchemy as sa

from bot.kernel.ids import DocumentId, PersonId, SectionId
from bot.kernel.scope import OperatorScope, PersonScope, Scope
from bot.kernel.values import dataclass
from bot.knowledge import store
from bot.knowledge.model import Document, Origin, Status, audiences, may_decide
from bot.knowledge.tables import chunk, document, section
from bot.people import store as people
from bot.sessions.visible import company_view
from bot.storage.metadata import exactly

_BUILT_IN = exactly(document.c.origin, Origin.BUILT_IN.value)
TO_DECIDE = (Status.READING, Status.PENDING, Status.REJECTED, Status.FAILED)
"""What whoever decides is shown in every audience: nobody can say yes to what they must not read. Of what serves, and
of what once did, they see what is meant for them, like everybody."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which documents. `statuses`: none means any."""

    words: str = ""
    """A part of the name or the title."""
    statuses: Collection[Status] = ()
    audience: str | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """A section with the text of its chunks, in order."""

    id: SectionId
    position: int
    heading: str
    page: int | None
    last_page: int | None
    texts: tuple[str, ...]


def page(
    connection: sa.Connection, scope: Scope, wanted: Wanted, before: DocumentId | None, limit: int
) -> list[Document]:
    """The company's own documents, newest first, those that came `before` one."""
    query = sa.select(document).where(_seen(connection, scope), ~_BUILT_IN)
    if wanted.words:
        found = [column.icontains(wanted.words, autoescape=True) for column in (document.c.name, document.c.title)]
        query = query.where(sa.or_(*found))
    if wanted.statuses:
        query = query.where(document.c.status.in_([each.value for each in wanted.statuses]))
    if wanted.audience is not None:
        query = query.where(document.c.audience == wanted.audience)
    if before is not None:
        query = query.where(document.c.id < before)
    return store.load(connection, query.order_by(document.c.id.desc()).limit(limit))


def notes(connection: sa.Connection, scope: Scope) -> list[Document]:
    """The built-in ones that serve, by domain and title."""
    query = sa.select(document).where(_seen(connection, scope), _BUILT_IN, exactly(document.c.status, "approved"))
    return store.load(connection, query.order_by(document.c.domain, document.c.title))


def one(connection: sa.Connection, scope: Scope, document_id: DocumentId) -> Document | None:
    found = store.load(connection, sa.select(document).where(document.c.id == document_id, _seen(connection, scope)))
    return found[0] if found else None


def versions(connection: sa.Connection, scope: Scope, of: Document) -> list[Document]:
    """Documents of its name and audience, itself among them, newest first."""
    key = sa.select(document.c.name_key).where(document.c.id == of.id).scalar_subquery()
    query = sa.select(document).where(
        document.c.name_key == key, document.c.audience == of.audience, _seen(connection, scope)
    )
    return store.load(connection, query.order_by(document.c.version.desc()))


def passages(connection: sa.Connection, scope: Scope, document_id: DocumentId, after: int, limit: int) -> list[Passage]:
    """The sections of a document behind a position (-1: from the first)."""
    rows = connection.execute(
        sa.select(section)
        .select_from(section.join(document, document.c.id == section.c.document_id))
        .where(section.c.document_id == document_id, section.c.position > after, _seen(connection, scope))
        .order_by(section.c.position)
        .limit(limit)
    ).all()
    texts = _texts(connection, [row.id for row in rows])
    return [
        Passage(
            SectionId(row.id), row.position, row.heading, row.page, row.last_page, tuple(texts.get(row.id, ())),
        )
        for row in rows
    ]  # fmt: skip


def position(connection: sa.Connection, scope: Scope, section_id: SectionId) -> int | None:
    """Of a section within its document, from 0."""
    found: int | None = connection.execute(
        sa.select(section.c.position)
        .select_from(section.join(document, document.c.id == section.c.document_id))
        .where(section.c.id == section_id, _seen(connection, scope))
    ).scalar_one_or_none()
    return found


def choices(connection: sa.Connection, scope: Scope) -> tuple[str, ...]:
    """Audiences for which this person may bring a document: those that they are part of themselves."""
    view = company_view(connection, scope)
    return ("company", *(f"department:{each}" for each in sorted(view.departments)), "public") if view.company else ()


def _texts(connection: sa.Connection, sections: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    query = sa.select(chunk.c.section_id, chunk.c.text).where(chunk.c.section_id.in_(list(sections)))
    for row in connection.execute(query.order_by(chunk.c.section_id, chunk.c.position)):
        found.setdefault(row.section_id, []).append(row.text)
    return found


def _seen(connection: sa.Connection, scope: Scope) -> sa.ColumnElement[bool]:
    there = document.c.status != Status.REMOVING.value
    if isinstance(scope, OperatorScope):
        return there
    shown = audiences(company_view(connection, scope), store.audiences_known(connection))
    meant = document.c.audience.in_(list(shown))
    serves = sa.and_(exactly(document.c.status, Status.APPROVED.value), meant)
    if not isinstance(scope, PersonScope):
        return serves
    return sa.and_(there, sa.or_(serves, *_more(connection, scope.person, meant)))


def _more(
    connection: sa.Connection, person_id: PersonId, meant: sa.ColumnElement[bool]
) -> list[sa.ColumnElement[bool]]:
    """What a person of the company sees besides what serves."""
    person = people.get(connection, person_id)
    if person is None or not person.internal:
        return []
    brought = document.c.uploader == person_id
    if not may_decide(person):
        return [brought]
    to_decide = document.c.status.in_([each.value for each in TO_DECIDE])
    return [brought, to_decide, sa.and_(document.c.status == Status.WITHDRAWN.value, meant)]
