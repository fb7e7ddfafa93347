"""SQL of documents: every legal move is one function here. Passages are in `passages`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from bot.audit.events import Actor, KnowledgeDecided, KnowledgeIngested, KnowledgeRemoved, Record
from bot.audit.recorder import Recorder
from bot.kernel.ids import BlobHash, DocumentId, InboxId, PersonId, SessionId, new_id
from bot.kernel.values import dataclass
from bot.knowledge import passages
from bot.knowledge.model import CORPUS, Document, KnowledgeError, Origin, Status, may_move, name_key
from bot.knowledge.tables import document, document_department, question
from bot.retrieval import store as embeddings
from bot.storage.database import Tx
from bot.storage.metadata import exactly

_APPROVED = exactly(document.c.status, Status.APPROVED.value)
_NEW_LINK = document_department.insert()
_BUILT_IN_KEY = "built-in: "


@dataclass(frozen=True, slots=True)
class New:
    """What is known of a document before it is read."""

    name: str
    origin: Origin
    audience: str
    title: str
    media_type: str
    blob: BlobHash | None
    digest: str
    dated: datetime
    wider: bool = False
    domain: str | None = None
    departments: tuple[str, ...] = ()
    uploader: PersonId | None = None
    session: SessionId | None = None
    message: InboxId | None = None
    path: str | None = None

    @property
    def key(self) -> str:
        """A file of the company's never replaces a built-in note of its name."""
        return (_BUILT_IN_KEY if self.origin is Origin.BUILT_IN else "") + name_key(self.name)


@dataclass(frozen=True, slots=True)
class Read:
    """What reading it gave."""

    pages: int | None
    characters: int
    chunks: int
    title: str | None
    note: str | None


def add(tx: Tx, new: New, now: datetime) -> Document:
    """A document that is about to be read."""
    version = tx.execute(
        sa.select(sa.func.coalesce(sa.func.max(document.c.version), 0) + 1).where(
            document.c.name_key == new.key, document.c.audience == new.audience
        )
    ).scalar_one()
    document_id = DocumentId(new_id(now))
    tx.execute(
        document.insert().values(
            id=document_id,
            name=new.name,
            name_key=new.key,
            version=version,
            origin=new.origin.value,
            status=Status.READING.value,
            audience=new.audience,
            domain=new.domain,
            title=new.title,
            media_type=new.media_type,
            blob=new.blob,
            digest=new.digest,
            uploader=new.uploader,
            session_id=new.session,
            message_id=new.message,
            path=new.path,
            wider=new.wider,
            dated=new.dated,
            created_at=now,
        )
    )
    departments = dict.fromkeys(new.departments)
    if departments:
        tx.execute(_NEW_LINK, [{"document_id": document_id, "department": each} for each in departments])
    found = get(tx.connection, document_id)
    assert found is not None  # noqa: S101 - for the type checker: it was just written
    return found


def finish(
    tx: Tx, recorder: Recorder, read: Document, status: Status, outcome: Read, actor: Actor, now: datetime
) -> bool:
    """End the reading. False if it is not being read any more (removed meanwhile, or ended by another)."""
    replaced = serving(tx.connection, read)
    values = {
        "pages": outcome.pages,
        "characters": outcome.characters,
        "chunks": outcome.chunks,
        "title": outcome.title or read.title,
        "note": outcome.note,
    }
    still = document.c.id == read.id, document.c.status == Status.READING.value
    if status is Status.APPROVED:
        if not tx.execute(document.update().where(*still).values(**values)).rowcount:
            return False
        _serve(tx, read, replaced, actor, now)
    elif not tx.execute(document.update().where(*still).values(status=status.value, **values)).rowcount:
        return False
    recorder.record(
        tx,
        Record(
            KnowledgeIngested(
                read.id, read.version, read.origin, status, outcome.pages, outcome.chunks,
                None if replaced is None else replaced.id,
            ),
            actor,
            read.session,
            text=f"{read.name} ({read.audience})",
        ),
    )  # fmt: skip
    return True


def approve(tx: Tx, recorder: Recorder, document_id: DocumentId, actor: Actor, now: datetime) -> Document:
    """Let a document be found, in the place of the one of its name and audience that serves. Raises
    `KnowledgeError`."""
    found = _moving(tx, document_id, Status.APPROVED)
    replaced = serving(tx.connection, found)
    _serve(tx, found, replaced, actor, now)
    recorder.record(
        tx,
        Record(
            KnowledgeDecided(found.id, found.status, Status.APPROVED, None if replaced is None else replaced.id),
            actor,
            found.session,
            text=f"{found.name} ({found.audience})",
        ),
    )
    return _again(tx, document_id)


def reject(
    tx: Tx, recorder: Recorder, document_id: DocumentId, reason: str | None, actor: Actor, now: datetime
) -> Document:
    """Say no to one that waits, or take back one that is approved. Raises `KnowledgeError`."""
    found = get(tx.connection, document_id)
    approved = found is not None and found.status is Status.APPROVED
    after = Status.WITHDRAWN if approved else Status.REJECTED
    found = _moving(tx, document_id, after)
    _set(tx, found, after, actor, now, reason)
    embeddings.withdraw(tx, passages.chunk_ids(tx.connection, document_id))
    recorder.record(
        tx, Record(KnowledgeDecided(found.id, found.status, after, None), actor, found.session, text=reason)
    )
    return _again(tx, document_id)


def remove_row(tx: Tx, document_id: DocumentId) -> None:
    """Its passages are gone by then."""
    tx.execute(question.delete().where(question.c.document_id == document_id))
    tx.execute(document_department.delete().where(document_department.c.document_id == document_id))
    tx.execute(document.delete().where(document.c.id == document_id))


def begin_removal(tx: Tx, recorder: Recorder, document_id: DocumentId, actor: Actor) -> Document:
    """From now on nobody finds it; what is made of it is deleted in parts afterwards. Raises `KnowledgeError`."""
    found = get(tx.connection, document_id)
    if found is None or found.status is Status.REMOVING:
        raise KnowledgeError(f"there is no document {document_id}")
    if found.origin is Origin.BUILT_IN:
        raise KnowledgeError("this is one of the built-in notes; they come with the program")
    tx.execute(document.update().where(document.c.id == document_id).values(status=Status.REMOVING.value))
    embeddings.withdraw(tx, passages.chunk_ids(tx.connection, document_id))
    recorder.record(tx, Record(KnowledgeRemoved(document_id, found.chunks, erased=False), actor, found.session))
    return found


def get(connection: sa.Connection, document_id: DocumentId) -> Document | None:
    found = load(connection, sa.select(document).where(document.c.id == document_id))
    return found[0] if found else None


def serving(connection: sa.Connection, like: Document) -> Document | None:
    """The approved document of the same name and audience, if it is another one."""
    query = (
        sa.select(document)
        .where(
            document.c.name_key == sa.select(document.c.name_key).where(document.c.id == like.id).scalar_subquery(),
            document.c.audience == like.audience,
            _APPROVED,
            document.c.id != like.id,
        )
        .limit(1)
    )
    found = load(connection, query)
    return found[0] if found else None


def same(connection: sa.Connection, new: New) -> Document | None:
    """A document of this name, audience and content that serves or waits already."""
    query = sa.select(document).where(
        document.c.digest == new.digest,
        document.c.name_key == new.key,
        document.c.audience == new.audience,
        document.c.status.in_([Status.READING.value, Status.PENDING.value, Status.APPROVED.value]),
    )
    found = load(connection, query.order_by(document.c.version.desc()).limit(1))
    return found[0] if found else None


def listed(
    connection: sa.Connection, audiences: Collection[str], *, built_in: bool, statuses: Collection[Status], limit: int
) -> list[Document]:
    """Newest first."""
    query = sa.select(document).where(
        document.c.audience.in_(list(audiences)), document.c.status.in_([status.value for status in statuses])
    )
    if not built_in:
        query = query.where(document.c.origin != Origin.BUILT_IN.value)
    return load(connection, query.order_by(document.c.id.desc()).limit(limit))


def built_in(connection: sa.Connection) -> dict[str, Document]:
    """The built-in notes that are there, by name."""
    rows = load(
        connection,
        sa.select(document).where(
            document.c.origin == Origin.BUILT_IN.value, document.c.status.in_([status.value for status in Status])
        ),
    )
    return {each.name: each for each in rows if each.status in (Status.READING, Status.APPROVED)}


def watched(connection: sa.Connection) -> dict[str, Document]:
    """The newest document of each watched file, by path."""
    rows = load(connection, sa.select(document).where(document.c.path.is_not(None)).order_by(document.c.id))
    return {each.path: each for each in rows if each.path is not None}


def audiences_known(connection: sa.Connection) -> tuple[str, ...]:
    rows = connection.execute(sa.select(document.c.audience).distinct())
    return tuple(sorted(row.audience for row in rows))


def of_session(connection: sa.Connection, session: SessionId) -> list[Document]:
    return load(connection, sa.select(document).where(document.c.session_id == session).order_by(document.c.id))


def counts(connection: sa.Connection) -> Mapping[str, int]:
    """The company's own documents, by status."""
    rows = connection.execute(
        sa.select(document.c.status, sa.func.count().label("number"))
        .where(document.c.origin != Origin.BUILT_IN.value)
        .group_by(document.c.status)
    )
    return {row.status: row.number for row in rows}


def uses_blob(connection: sa.Connection, blob: BlobHash, but: DocumentId) -> bool:
    """Whether another document has this file."""
    return bool(
        connection.execute(sa.select(sa.exists().where(document.c.digest == blob, document.c.id != but))).scalar()
    )


def outdated_notes(connection: sa.Connection, digests: Collection[str]) -> list[DocumentId]:
    """Built-in documents that are none of these."""
    rows = connection.execute(
        sa.select(document.c.id, document.c.digest, document.c.status).where(document.c.origin == Origin.BUILT_IN.value)
    )
    return [DocumentId(row.id) for row in rows if row.digest not in digests or row.status != Status.APPROVED.value]


def collection_of(found: Document) -> str:
    return CORPUS if found.origin is Origin.BUILT_IN else found.audience


def _serve(tx: Tx, new: Document, replaced: Document | None, actor: Actor, now: datetime) -> None:
    if replaced is not None:
        _set(tx, replaced, Status.WITHDRAWN, actor, now, f"replaced by version {new.version}")
        embeddings.withdraw(tx, passages.chunk_ids(tx.connection, replaced.id))
    _set(tx, new, Status.APPROVED, actor, now, None)
    embeddings.enlist(tx, collection_of(new), passages.chunk_ids(tx.connection, new.id))


def _set(tx: Tx, moved: Document, status: Status, actor: Actor, now: datetime, reason: str | None) -> None:
    tx.execute(
        document.update()
        .where(document.c.id == moved.id)
        .values(status=status.value, decided_at=now, decided_by=actor.id, reason=reason)
    )


def _moving(tx: Tx, document_id: DocumentId, after: Status) -> Document:
    found = get(tx.connection, document_id)
    if found is None:
        raise KnowledgeError(f"there is no document {document_id}")
    if found.origin is Origin.BUILT_IN:
        raise KnowledgeError("this is one of the built-in notes; they come with the program")
    if not may_move(found.status, after):
        raise KnowledgeError(f"{found.name} is {found.status.value}: it cannot become {after.value}")
    return found


def _again(tx: Tx, document_id: DocumentId) -> Document:
    found = get(tx.connection, document_id)
    assert found is not None  # noqa: S101 - for the type checker: it was there above
    return found


def load(connection: sa.Connection, query: sa.Select[Any]) -> list[Document]:
    """The documents that a query of `document` finds, in its order."""
    rows = connection.execute(query).all()
    departments: dict[str, list[str]] = {row.id: [] for row in rows}
    ids = list(departments)
    for at in range(0, len(ids), 500):
        links = sa.select(document_department).where(document_department.c.document_id.in_(ids[at : at + 500]))
        for link in connection.execute(links.order_by(document_department.c.department)):
            departments[link.document_id].append(link.department)
    return [_document(row, tuple(departments[row.id])) for row in rows]


def _document(row: Any, departments: tuple[str, ...]) -> Document:
    return Document(
        DocumentId(row.id), row.name, row.version, Origin(row.origin), Status(row.status), row.audience, row.domain,
        departments, row.title, row.media_type, BlobHash(row.blob) if row.blob else None, row.digest,
        PersonId(row.uploader) if row.uploader else None, SessionId(row.session_id) if row.session_id else None,
        InboxId(row.message_id) if row.message_id else None, row.path, row.wider, row.pages, row.characters, row.chunks,
        row.note, row.reason, row.dated, row.created_at, row.decided_at, row.decided_by,
    )  # fmt: skip
