"""What was said. Readers see a session's own turns of its current epochs only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Literal

import sqlalchemy as sa

from bot.gateway.events import Body, Proof, Span, SpanKind
from bot.kernel.ids import BlobHash, MessageId, PersonId, SessionId, TurnId
from bot.kernel.scope import SessionScope
from bot.kernel.values import dataclass
from bot.sessions.tables import message, session, summary
from bot.sessions.turns import Turn
from bot.storage.database import Tx

DELETED = "[deleted by its writer]"


@dataclass(frozen=True, slots=True)
class File:
    """A file that came with a message, as the model was shown it."""

    name: str
    media_type: str
    blob: BlobHash | None
    text: str | None
    """What could be read of it."""
    note: str | None
    """What could not, and why."""


@dataclass(frozen=True, slots=True)
class Said:
    """One message of the transcript."""

    id: MessageId
    turn: TurnId
    role: Literal["user", "assistant"]
    person: PersonId | None
    speaker: str
    """Name as shown to the model."""
    ref: str | None
    body: Body
    proof: Proof
    sent_at: datetime
    files: tuple[File, ...] = ()
    edited_at: datetime | None = None


def add(tx: Tx, turn: Turn, said: Sequence[Said], now: datetime) -> None:
    """Append a turn's messages in order."""
    for position, each in enumerate(said):
        tx.append(
            message,
            {
                "id": each.id,
                "session_id": turn.session,
                "turn_id": turn.id,
                "position": position,
                "role": each.role,
                "person_id": each.person,
                "speaker": each.speaker,
                "ref": each.ref,
                "text": each.body.text,
                "spans": [[s.start, s.end, s.kind.value] for s in each.body.spans],
                "files": [asdict(file) for file in each.files],
                "proof": each.proof.value,
                "history_epoch": turn.history_epoch,
                "audience_epoch": turn.audience_epoch,
                "sent_at": each.sent_at,
                "recorded_at": now,
                "edited_at": each.edited_at,
            },
        )


_HISTORY = (
    sa.select(message)
    .select_from(message.join(session, session.c.id == message.c.session_id))
    .where(
        message.c.session_id == sa.bindparam("session"),
        message.c.history_epoch == session.c.history_epoch,
        message.c.audience_epoch == session.c.audience_epoch,
        message.c.turn_id >= sa.func.coalesce(session.c.history_start, ""),
    )
    .order_by(message.c.turn_id, message.c.position)
)


def history(connection: sa.Connection, scope: SessionScope) -> list[Said]:
    """The messages of the session's current epochs from its `history_start` on, oldest first."""
    rows = connection.execute(_HISTORY, {"session": scope.session})
    return [said_of(row) for row in rows]


def last_answer(connection: sa.Connection, scope: SessionScope) -> Said | None:
    """The newest thing that the executive said in the session's current epochs."""
    said = _HISTORY.where(message.c.role == "assistant").order_by(None)
    newest = said.order_by(message.c.turn_id.desc(), message.c.position.desc()).limit(1)
    row = connection.execute(newest, {"session": scope.session}).first()
    return None if row is None else said_of(row)


def start_history_at(tx: Tx, session_id: SessionId, first: TurnId) -> None:
    """Show no turn before `first` any more."""
    tx.execute(session.update().where(session.c.id == session_id).values(history_start=first))


def by_ref(connection: sa.Connection, ref: str) -> Said | None:
    row = connection.execute(sa.select(message).where(message.c.ref == ref)).first()
    return None if row is None else said_of(row)


def by_ids(connection: sa.Connection, ids: Sequence[MessageId]) -> dict[MessageId, Said]:
    """Messages of whatever session and epoch: for the operator's explanation of a turn, never for a prompt."""
    found: dict[MessageId, Said] = {}
    for start in range(0, len(ids), 500):
        rows = connection.execute(sa.select(message).where(message.c.id.in_(ids[start : start + 500])))
        found |= {MessageId(row.id): said_of(row) for row in rows}
    return found


def mark_edited(tx: Tx, ref: str, body: Body, at: datetime) -> bool:
    """A person changed a message that was answered already. The new words are kept for later readers; the answer
    stands. False if the message is unknown or deleted, or the edit is older than what is stored."""
    done = tx.execute(
        message.update()
        .where(
            message.c.ref == ref,
            message.c.deleted_at.is_(None),
            sa.or_(message.c.edited_at.is_(None), message.c.edited_at < at),
        )
        .values(text=body.text, spans=[[s.start, s.end, s.kind.value] for s in body.spans], edited_at=at)
    )
    _drop_summaries(tx, ref)
    return bool(done.rowcount)


def mark_deleted(tx: Tx, ref: str, at: datetime) -> bool:
    """A person deleted a message: its words are no longer shown to anyone."""
    done = tx.execute(
        message.update()
        .where(message.c.ref == ref, message.c.deleted_at.is_(None))
        .values(text=DELETED, spans=[], files=[], deleted_at=at)
    )
    _drop_summaries(tx, ref)
    return bool(done.rowcount)


def _drop_summaries(tx: Tx, ref: str) -> None:
    """A summary that was made of the message, as it was, is no longer shown; it is made anew."""
    found = tx.execute(
        sa.select(message.c.session_id, message.c.history_epoch, message.c.audience_epoch, message.c.turn_id).where(
            message.c.ref == ref
        )
    ).all()
    for row in found:
        tx.execute(
            summary.delete().where(
                summary.c.session_id == row.session_id,
                summary.c.history_epoch == row.history_epoch,
                summary.c.audience_epoch == row.audience_epoch,
                summary.c.until_turn > row.turn_id,
            )
        )


def said_of(row: Any) -> Said:
    """A row of the message table."""
    return Said(
        MessageId(row.id),
        TurnId(row.turn_id),
        row.role,
        PersonId(row.person_id) if row.person_id else None,
        row.speaker,
        row.ref,
        Body(row.text, tuple(Span(start, end, SpanKind(kind)) for start, end, kind in row.spans)),
        Proof(row.proof),
        row.sent_at,
        tuple(File(**file) for file in row.files),
        row.edited_at,
    )
