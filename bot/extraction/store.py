"""SQL of extraction: what is to be read, what stands already, and that it was read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert as upsert

from bot.extraction.model import Heard, Known, Room
from bot.extraction.tables import extraction
from bot.gateway.events import Proof, SpanKind
from bot.kernel.ids import MessageId, PersonId, SessionId, TaskId, TurnId
from bot.kernel.values import dataclass
from bot.memory import store as memory
from bot.memory.model import EXECUTIVE, Trust
from bot.people import store as people
from bot.people.model import Person
from bot.sessions.audience import Audience
from bot.sessions.tables import TurnState, message, place, session, turn
from bot.sessions.taint import tainted_since
from bot.sessions.transcript import Said, said_of
from bot.storage.database import Tx


@dataclass(frozen=True, slots=True)
class Reading:
    """What is to be read, in its circumstances."""

    source: str
    """Unique: it has one result."""
    room: Room
    heard: tuple[Heard, ...]
    person: PersonId | None
    """On whose account it is read: whoever spoke last."""


@dataclass(frozen=True, slots=True)
class Counted:
    proposed: int = 0
    written: int = 0
    confirmed: int = 0
    held: int = 0
    refused: int = 0


# After every turn: built once.
_MESSAGES = (
    sa.select(message)
    .where(message.c.turn_id == sa.bindparam("turn"), message.c.deleted_at.is_(None))
    .order_by(message.c.position)
)
_TURN = (
    sa.select(turn, session.c.audience_epoch.label("current_epoch"), place.c.audience)
    .select_from(turn.join(session, session.c.id == turn.c.session_id).join(place, place.c.key == session.c.place_key))
    .where(turn.c.id == sa.bindparam("turn"), turn.c.state == TurnState.FINISHED.value)
)
_IS_READ = sa.select(sa.exists().where(extraction.c.source == sa.bindparam("source")))


def of_turn(connection: sa.Connection, turn_id: TurnId, zone: str) -> Reading | None:
    """A turn that has ended, with its messages as they are now; those that were deleted are left out. None if there is
    nothing of it (any more). `zone`: of people whose own is not known."""
    rows = connection.execute(_MESSAGES, {"turn": turn_id}).all()
    return _reading(connection, turn_id, turn_id, rows, zone)


def of_message(connection: sa.Connection, message_id: MessageId, zone: str) -> Reading | None:
    """A message that was edited after its turn."""
    row = connection.execute(
        sa.select(message).where(message.c.id == message_id, message.c.deleted_at.is_(None))
    ).first()
    if row is None or row.edited_at is None:
        return None
    source = f"message:{message_id}:{row.edited_at.isoformat()}"
    return _reading(connection, source, TurnId(row.turn_id), [row], zone)


def _reading(connection: sa.Connection, source: str, turn_id: TurnId, rows: Sequence[Any], zone: str) -> Reading | None:
    found = connection.execute(_TURN, {"turn": turn_id}).first()
    if found is None or not rows:
        return None
    said = [said_of(row) for row in rows]
    roster = people.by_ids(connection, [each.person for each in said if each.person is not None])
    # Since the room was widened, it is no longer known who read along; what counts for less is assumed.
    same = found.audience_epoch == found.current_epoch
    since = tainted_since(connection, SessionId(found.session_id), found.audience_epoch)
    room = Room(
        SessionId(found.session_id),
        turn_id,
        found.history_epoch,
        found.audience_epoch,
        Audience(found.audience) if same else Audience.ROOM,
        found.started_at,
        found.untrusted,
        since is not None and since < turn_id,
    )
    heard = tuple(_heard(each, roster.get(each.person) if each.person else None, zone) for each in said)
    last = next((each.person for each in reversed(said) if each.role == "user"), None)
    return Reading(source, room, heard, last)


def _heard(said: Said, person: Person | None, zone: str) -> Heard:
    body = said.body
    own = tuple((span.start, span.end) for span in body.spans if span.kind is SpanKind.OWN)
    executive = said.role == "assistant"
    return Heard(
        said.id,
        body.text,
        own if body.spans else ((0, len(body.text)),),
        EXECUTIVE if executive else said.person or f"account:{said.speaker}",
        "I" if executive else person.name if person is not None else said.speaker,
        Trust.OWN if executive else trust_of(person, said.proof),
        said.edited_at or said.sent_at,
        person.time_zone if person is not None else zone,
    )


def trust_of(person: Person | None, proof: Proof) -> Trust:
    """What a sender's words count for: set here, by who it is and how that is known, and by nothing that is said."""
    if person is None or not person.active or proof is Proof.NONE:
        return Trust.UNPROVEN
    return Trust.PROVEN if person.internal else Trust.GUEST


def known(connection: sa.Connection, room: Room, domains: frozenset[str]) -> Known:
    """What stands in the session, and where the whole company reads, in the company."""
    standing = memory.standing_in(connection, room.session, room.audience_epoch)
    if room.audience is Audience.COMPANY:
        standing = [*memory.standing_for_company(connection), *standing]
    roster = people.active(connection)
    departments = frozenset(department for _, _, own in roster for department in own)
    retracted = memory.retracted_in(connection, room.session, room.audience_epoch)
    return Known(standing, {person: name for person, name, _ in roster}, domains, departments, retracted)


def is_read(connection: sa.Connection, source: str) -> bool:
    return bool(connection.execute(_IS_READ, {"source": source}).scalar())


_COLUMNS = tuple(column for column in extraction.columns)
_EMPTY = (
    upsert(extraction)
    .from_select(
        [column.name for column in _COLUMNS],
        sa.select(*(sa.bindparam(f"new_{column.name}", type_=column.type) for column in _COLUMNS)).where(
            sa.exists().where(message.c.turn_id == sa.bindparam("new_turn_id"), message.c.deleted_at.is_(None))
        ),
    )
    .on_conflict_do_nothing()
)
"""Built once: most turns hold nothing."""


def note_empty(tx: Tx, reading: Reading, task: TaskId, model: str, prompt: int, now: datetime) -> bool:
    """Nothing came of it. False if it has a result already, or nothing of the turn is left."""
    values = _row(reading, task, model, prompt, Counted(), now)
    return tx.execute(_EMPTY, {f"new_{name}": value for name, value in values.items()}).rowcount > 0


def note(tx: Tx, reading: Reading, task: TaskId, model: str, prompt: int, counted: Counted, now: datetime) -> None:
    """Raises `IntegrityError` for what has a result already."""
    tx.execute(extraction.insert(), _row(reading, task, model, prompt, counted, now))


def _row(reading: Reading, task: TaskId, model: str, prompt: int, counted: Counted, now: datetime) -> dict[str, Any]:
    return {
        "source": reading.source,
        "session_id": reading.room.session,
        "turn_id": reading.room.turn,
        "task_id": task,
        "model": model,
        "prompt": prompt,
        "proposed": counted.proposed,
        "written": counted.written,
        "confirmed": counted.confirmed,
        "held": counted.held,
        "refused": counted.refused,
        "at": now,
    }
