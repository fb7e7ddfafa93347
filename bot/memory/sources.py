"""What becomes of claims when a message that they rest on is edited or deleted, in the same transaction.

The words of a claim do not follow: it is marked, and a person, or a new reading of the message, decides. What a person
put into words or confirmed no longer rests on the message.
"""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from bot.audit.events import Actor
from bot.audit.recorder import Recorder
from bot.kernel.ids import ClaimId, MessageId, SessionId, TurnId
from bot.kernel.values import dataclass
from bot.memory import store
from bot.memory.model import Claim, Op, Source
from bot.memory.tables import evidence
from bot.sessions.tables import message
from bot.storage.database import Tx

ACTOR = Actor("system", "memory")


@dataclass(frozen=True, slots=True)
class Stored:
    """A message of the transcript, as far as a new reading of it needs to know."""

    id: MessageId
    session: SessionId
    turn: TurnId


def by_ref(connection: sa.Connection, ref: str) -> list[Stored]:
    rows = connection.execute(
        sa.select(message.c.id, message.c.session_id, message.c.turn_id).where(message.c.ref == ref)
    )
    return [Stored(MessageId(row.id), SessionId(row.session_id), TurnId(row.turn_id)) for row in rows]


def edited(tx: Tx, recorder: Recorder, ref: str, now: datetime) -> list[Stored]:
    """A message was changed (`transcript.mark_edited` has been called): what rests on it is marked. Returns the
    messages, for a new reading."""
    stored = by_ref(tx.connection, ref)
    for each in store.of_messages(tx.connection, [one.id for one in stored]):
        if _rests(each) and each.source is Source.FRESH:
            mark(tx, recorder, each, Source.EDITED, now)
    return stored


def deleted(tx: Tx, recorder: Recorder, ref: str, now: datetime) -> None:
    """A message was deleted by its writer (`transcript.mark_deleted` has been called): what rests on it alone is shown
    in review only; what other words carry too is marked."""
    stored = by_ref(tx.connection, ref)
    for each in store.of_messages(tx.connection, [one.id for one in stored]):
        if not _rests(each) or each.source is Source.DELETED:
            continue
        if not _words_left(tx.connection, each.id):
            mark(tx, recorder, each, Source.DELETED, now)
        elif each.source is Source.FRESH:
            mark(tx, recorder, each, Source.EDITED, now)


def mark(tx: Tx, recorder: Recorder, seen: Claim, source: Source, now: datetime) -> Claim:
    return store.change(tx, recorder, seen, Op.SOURCE_CHANGED, ACTOR, now, None, source=source)


def _rests(of: Claim) -> bool:
    return not of.by_person


def _words_left(connection: sa.Connection, claim_id: ClaimId) -> bool:
    """Whether any message that it rests on still stands."""
    return bool(
        connection.execute(
            sa.select(
                sa.exists()
                .where(evidence.c.claim_id == claim_id)
                .where(message.c.id == evidence.c.message_id, message.c.deleted_at.is_(None))
            )
        ).scalar()
    )
