"""SQL of the questions that principals are asked: shall this document be kept?

A question is answered in the thread in which it was put. Which answer counts for which question is for whoever reads
the answer to judge; here stands what was asked where, and that each question is answered once.
"""

from __future__ import annotations

import sqlalchemy as sa

from bot.kernel.ids import DocumentId, OutboxId, TurnId
from bot.kernel.values import dataclass
from bot.knowledge import store
from bot.knowledge.model import Document
from bot.knowledge.tables import document, question
from bot.storage.database import Tx


@dataclass(frozen=True, slots=True)
class Question:
    document: Document
    outbox: OutboxId
    """The message that asked."""
    answered_in: TurnId | None


def put(tx: Tx, document_id: DocumentId, thread: str, asked_by: OutboxId) -> None:
    """Note that it was asked in this thread, by this message; asking again replaces it."""
    tx.execute(question.delete().where(question.c.document_id == document_id, question.c.thread_key == thread))
    tx.execute(question.insert().values(document_id=document_id, thread_key=thread, outbox_id=asked_by))


def in_thread(connection: sa.Connection, thread: str, turn: TurnId) -> list[Question]:
    """What waits for an answer in a thread, oldest first, and what this very turn has answered already."""
    rows = connection.execute(
        sa.select(question.c.document_id, question.c.outbox_id, question.c.turn_id)
        .select_from(question.join(document, document.c.id == question.c.document_id))
        .where(
            question.c.thread_key == thread,
            sa.or_(sa.and_(question.c.turn_id.is_(None), document.c.status == "pending"), question.c.turn_id == turn),
        )
        .order_by(question.c.outbox_id)
    ).all()
    found = [(row, store.get(connection, DocumentId(row.document_id))) for row in rows]
    return [
        Question(each, OutboxId(row.outbox_id), TurnId(row.turn_id) if row.turn_id else None)
        for row, each in found
        if each is not None
    ]


def close(tx: Tx, document_id: DocumentId, turn: TurnId) -> bool:
    """The document was decided about in this turn, wherever else it was asked about. False if this turn has done it."""
    by_turn = question.c.document_id == document_id, question.c.turn_id == turn
    if tx.execute(sa.select(sa.exists().where(*by_turn))).scalar():
        return False
    tx.execute(
        question.update()
        .where(question.c.document_id == document_id, question.c.turn_id.is_(None))
        .values(turn_id=turn)
    )
    return True


def answered_by(connection: sa.Connection, document_id: DocumentId) -> TurnId | None:
    """The turn in which a principal has decided about the document, if that was done by an answer."""
    found = connection.execute(
        sa.select(sa.func.max(question.c.turn_id)).where(question.c.document_id == document_id)
    ).scalar()
    return None if found is None else TurnId(found)
