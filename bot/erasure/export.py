"""All that is held about one person, gathered for them: who they are here, where they were and what they wrote, what is
remembered of them with the words that it rests on and everything that was done to it, what they sent to be kept, what
they cost, and what the audit tells of them.

Texts of the audit are told where the person themselves acted; of what others did about them only that it happened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any

import sqlalchemy as sa

from bot.audit.tables import audit, content
from bot.kernel.errors import PermanentError
from bot.kernel.ids import ClaimId, PersonId
from bot.knowledge.tables import document
from bot.llm.tables import spend
from bot.memory.model import Status
from bot.memory.tables import claim, claim_event, claim_event_text, evidence
from bot.people import store as people
from bot.people.model import Person
from bot.sessions.tables import message, participant, place, presence, session
from bot.storage.database import Database

Part = tuple[str, Mapping[str, Any]]
"""Name of the section, and one thing in it, ready for JSON."""
SECTIONS = ("person", "accounts", "rooms", "messages", "memories", "documents", "usage", "audit")


async def gather(database: Database, person: PersonId) -> tuple[list[Part], list[ClaimId]]:
    """Everything, in the order of `SECTIONS`, oldest first in each; and which memories are among it. Raises
    `PermanentError` for nobody known."""

    def query(connection: sa.Connection) -> tuple[list[Part], list[ClaimId]]:
        known = people.get(connection, person)
        if known is None:
            raise PermanentError(f"there is nobody called {person} here: see `openexecutive people`")
        parts = list(_parts(connection, known))
        return parts, [ClaimId(each["id"]) for name, each in parts if name == "memories"]

    return await database.read(query, long=True)


def _parts(connection: sa.Connection, person: Person) -> Iterator[Part]:
    yield (
        "person",
        {
            "id": person.id,
            "name": person.name,
            "role": person.role.value,
            "departments": list(person.departments),
            "time_zone": person.time_zone,
            "quiet_hours": list(person.quiet_hours) if person.quiet_hours else None,
            "known_from": person.origin.value,
            "active": person.active,
        },
    )
    handles = sorted((each.channel, each.address, each.origin.value) for each in person.handles)
    yield from (("accounts", {"channel": c, "address": a, "known_from": o}) for c, a, o in handles)
    yield from _rooms(connection, [(channel, address) for channel, address, _ in handles])
    yield from _messages(connection, person)
    yield from _memories(connection, person)
    yield from _documents(connection, person)
    yield from _usage(connection, person)
    yield from _audit(connection, person)


def _rooms(connection: sa.Connection, accounts: Sequence[tuple[str, str]]) -> Iterator[Part]:
    for channel, address in accounts:
        rows = connection.execute(
            sa.select(place.c.key, place.c.kind, presence.c.since, presence.c.until)
            .select_from(presence.join(place, place.c.key == presence.c.place_key))
            .where(place.c.channel == channel, presence.c.address == address)
            .order_by(presence.c.since)
        )
        yield from (("rooms", _plain(row)) for row in rows)
        taken_part = connection.execute(
            sa.select(participant.c.session_id.label("conversation"), participant.c.since)
            .select_from(participant.join(session, session.c.id == participant.c.session_id))
            .where(session.c.channel == channel, participant.c.address == address)
            .order_by(participant.c.since)
        )
        yield from (("rooms", _plain(row)) for row in taken_part)


def _messages(connection: sa.Connection, person: Person) -> Iterator[Part]:
    rows = connection.execute(
        sa.select(
            message.c.id,
            session.c.channel,
            message.c.session_id.label("conversation"),
            message.c.sent_at,
            message.c.edited_at,
            message.c.deleted_at,
            message.c.text,
            message.c.files,
        )
        .select_from(message.join(session, session.c.id == message.c.session_id))
        .where(message.c.person_id == person.id)
        .order_by(message.c.sent_at, message.c.id)
    )
    for row in rows:
        told = _plain(row)
        told["files"] = [{"name": each["name"], "sha256": each["blob"], "text": each["text"]} for each in row.files]
        yield "messages", told


def _memories(connection: sa.Connection, person: Person) -> Iterator[Part]:
    """What they said, what is theirs to do, and what names them."""
    said = sa.select(evidence.c.claim_id).where(evidence.c.speaker == person.id)
    rows = connection.execute(
        sa.select(claim)
        .where(
            claim.c.status != Status.ERASED.value,
            sa.or_(
                claim.c.speaker == person.id,
                claim.c.owner == person.id,
                claim.c.promotion_by == person.id,
                claim.c.id.in_(said),
                claim.c.statement.icontains(person.name, autoescape=True),
            ),
        )
        .order_by(claim.c.seq)
    ).all()
    for row in rows:
        told = {name: value for name, value in _plain(row).items() if name not in ("seq",)}
        rests = connection.execute(
            sa.select(evidence.c.message_id, evidence.c.quote, evidence.c.speaker, evidence.c.trust, evidence.c.said_at)
            .where(evidence.c.claim_id == row.id)
            .order_by(evidence.c.said_at)
        )
        events = connection.execute(
            sa.select(
                claim_event.c.version,
                claim_event.c.op,
                claim_event.c.actor_kind,
                claim_event.c.actor,
                claim_event.c.at,
                claim_event_text.c.reason,
                claim_event_text.c.before,
                claim_event_text.c.after,
            )
            .select_from(claim_event.outerjoin(claim_event_text, claim_event_text.c.event_seq == claim_event.c.seq))
            .where(claim_event.c.claim_id == row.id)
            .order_by(claim_event.c.version)
        )
        yield "memories", {**told, "evidence": [_plain(each) for each in rests], "history": [_plain(e) for e in events]}


def _documents(connection: sa.Connection, person: Person) -> Iterator[Part]:
    rows = connection.execute(
        sa.select(
            document.c.id,
            document.c.name,
            document.c.version,
            document.c.status,
            document.c.audience,
            document.c.digest.label("sha256"),
            document.c.created_at,
            (document.c.uploader == person.id).label("sent_by_them"),
            (document.c.decided_by == person.id).label("decided_by_them"),
        )
        .where(sa.or_(document.c.uploader == person.id, document.c.decided_by == person.id))
        .order_by(document.c.created_at)
    )
    yield from (("documents", _plain(row)) for row in rows)


def _usage(connection: sa.Connection, person: Person) -> Iterator[Part]:
    rows = connection.execute(
        sa.select(
            spend.c.day,
            spend.c.model,
            sa.func.count().label("calls"),
            sa.func.sum(spend.c.micros).label("micros"),
        )
        .where(spend.c.person_id == person.id)
        .group_by(spend.c.day, spend.c.model)
        .order_by(spend.c.day, spend.c.model)
    )
    for row in rows:
        yield "usage", {"day": row.day, "model": row.model, "calls": row.calls, "dollars": row.micros / 1_000_000}


def _audit(connection: sa.Connection, person: Person) -> Iterator[Part]:
    own = sa.and_(audit.c.actor_kind == "person", audit.c.actor == person.id)
    rows = connection.execute(
        sa.select(
            audit.c.id,
            audit.c.at,
            audit.c.type,
            audit.c.session_id.label("conversation"),
            audit.c.payload,
            sa.case((own, content.c.text), else_=None).label("text"),
        )
        .select_from(audit.outerjoin(content, content.c.id == audit.c.content_id))
        .where(sa.or_(own, audit.c.payload.contains(f'"{person.id}"', autoescape=True)))
        .order_by(audit.c.id)
    )
    yield from (("audit", _plain(row)) for row in rows)


def _plain(row: Any) -> dict[str, Any]:
    """A row for JSON."""
    return {
        name: value.isoformat() if isinstance(value, datetime | date) else value
        for name, value in row._mapping.items()  # noqa: SLF001 - the row's public view
    }
