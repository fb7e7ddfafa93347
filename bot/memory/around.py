"""What stands around one memory, for a person who looks after it: the messages whose words it rests on, the answers
before which it stood, what came before and after it, and what else is said on its subject.

Each of them is read under the same view as the memory itself: whoever sees one sees no more of the rest than they would
by looking there. A message is shown to who was in its room when it came.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from bot.kernel.ids import ClaimId, EvidenceId, MessageId, TurnId
from bot.kernel.values import dataclass
from bot.memory import reading
from bot.memory.model import EXECUTIVE, STANDING, Claim, Evidence, Visibility
from bot.memory.reading import Purpose, Shown
from bot.memory.rows import claim_of
from bot.memory.tables import claim, evidence
from bot.sessions.tables import message, place, session
from bot.sessions.visible import Visible
from bot.storage.metadata import among, exactly

LONGEST_CHAIN = 50


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was said."""

    channel: str
    title: str
    """Empty for direct conversations."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A message as it is now."""

    text: str
    edited_at: datetime | None
    deleted_at: datetime | None


@dataclass(frozen=True, slots=True)
class Source:
    """A message that a memory rests on."""

    id: MessageId
    words: tuple[Evidence, ...]
    """In the order in which they stand in it."""
    place: Place | None
    whole: Whole | None
    """Neither for who was not there when it came, nor once it was erased."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What was asked in a turn and answered, as it stands in the transcript."""

    shown: Shown
    place: Place
    asked: str | None
    answered: str | None
    """None where nothing was said, or it was erased."""


@dataclass(frozen=True, slots=True)
class Chain:
    before: tuple[Claim, ...]
    """What it has replaced, and what that had, the oldest first."""
    after: tuple[Claim, ...]
    """What has replaced it, and so on, the newest last."""


def sources(connection: sa.Connection, visible: Visible, claim_id: ClaimId) -> list[Source]:
    """The messages with the words that the scope may be shown (`reading.evidence_of`), the oldest first."""
    words = {each.id: each for each in reading.evidence_of(connection, visible, claim_id)}
    if not words:
        return []
    there = visible.within(message.c.session_id, message.c.audience_epoch, message.c.recorded_at)
    rows = connection.execute(
        sa.select(
            evidence.c.id,
            evidence.c.message_id,
            place.c.channel,
            place.c.title,
            message.c.text,
            message.c.edited_at,
            message.c.deleted_at,
            sa.case((there, 1), else_=0).label("there"),
        )
        .select_from(
            evidence.outerjoin(message, message.c.id == evidence.c.message_id)
            .outerjoin(session, session.c.id == message.c.session_id)
            .outerjoin(place, place.c.key == session.c.place_key)
        )
        .where(evidence.c.claim_id == claim_id)
        .order_by(evidence.c.said_at, evidence.c.message_id, evidence.c.start)
    ).all()
    found: dict[MessageId, list[Any]] = {}
    for row in rows:
        found.setdefault(MessageId(row.message_id), []).append(row)
    return [_source(of, some, words) for of, some in found.items()]


def _source(of: MessageId, rows: Sequence[Any], words: Mapping[EvidenceId, Evidence]) -> Source:
    first = rows[0]
    there = first.there and first.text is not None
    whole = Whole(first.text, first.edited_at, first.deleted_at) if there else None
    where = Place(first.channel, first.title) if there else None
    return Source(of, tuple(words[EvidenceId(row.id)] for row in rows), where, whole)


def answers(connection: sa.Connection, visible: Visible, claim_id: ClaimId, limit: int) -> tuple[list[Answer], int]:
    """The newest turns in whose conversations the scope was and before whose model the claim stood, with what was asked
    and answered; and in how many turns of other conversations it stood."""
    shown, others = reading.shown(connection, visible, claim_id, limit)
    turns = sorted({each.turn for each in shown})
    rows = connection.execute(
        sa.select(message.c.turn_id, message.c.role, message.c.text, place.c.channel, place.c.title)
        .select_from(
            message.join(session, session.c.id == message.c.session_id).join(place, place.c.key == session.c.place_key)
        )
        .where(
            message.c.turn_id.in_(turns),
            visible.within(message.c.session_id, message.c.audience_epoch, message.c.recorded_at),
        )
        .order_by(message.c.turn_id, message.c.position)
    ).all()
    said: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        said.setdefault((row.turn_id, row.role), []).append(row.text)
    where = {row.turn_id: Place(row.channel, row.title) for row in rows}
    found = [
        Answer(each, where[each.turn], _first(said, each.turn, "user"), _first(said, each.turn, "assistant"))
        for each in shown
        if each.turn in where
    ]
    return found, others


def _first(said: Mapping[tuple[str, str], Sequence[str]], turn_id: TurnId, role: str) -> str | None:
    texts = said.get((turn_id, role), ())
    return texts[0] if texts else None


def chain(connection: sa.Connection, visible: Visible, of: Claim) -> Chain:
    """As far as the scope sees it without a gap, at most `LONGEST_CHAIN` each way."""
    after: list[Claim] = []
    known = {of.id}
    last = of
    while last.replaced_by is not None and last.replaced_by not in known and len(after) < LONGEST_CHAIN:
        found = reading.by_ids(connection, visible, Purpose.REVIEW, [last.replaced_by]).get(last.replaced_by)
        if found is None:
            break
        known.add(found.id)
        after.append(found)
        last = found
    before: list[Claim] = []
    wanted = [of.id]
    while wanted and len(before) < LONGEST_CHAIN:
        rows = connection.execute(
            sa.select(claim)
            .where(claim.c.replaced_by.in_(wanted), reading.condition(visible, Purpose.REVIEW))
            .order_by(claim.c.seq.desc())
            .limit(LONGEST_CHAIN)
        )
        found_before = [each for each in map(claim_of, rows) if each.id not in known]
        known |= {each.id for each in found_before}
        before += found_before
        wanted = [each.id for each in found_before]
    return Chain(tuple(sorted(before, key=lambda each: (each.said_at, each.id))), tuple(after))


_ON_SUBJECT = sa.union(
    *(
        sa.select(claim.c.id).where(
            where, among(claim.c.status, STANDING), claim.c.subject == sa.bindparam("subject", type_=sa.Text)
        )
        for where in (
            sa.and_(
                exactly(claim.c.visibility, Visibility.SESSION.value),
                claim.c.session_id == sa.bindparam("session", type_=sa.Text),
                claim.c.audience_epoch == sa.bindparam("epoch", type_=sa.Integer),
            ),
            exactly(claim.c.visibility, Visibility.COMPANY.value),
        )
    )
)


def rivals(connection: sa.Connection, visible: Visible, some: Sequence[Claim]) -> dict[ClaimId, list[Claim]]:
    """What else stands on the subject of each, where it was said and for the company, as far as the scope sees it."""
    found: dict[ClaimId, list[ClaimId]] = {}
    for of in some:
        asked = {"subject": of.subject, "session": of.session, "epoch": of.audience_epoch}
        ids = connection.execute(_ON_SUBJECT, asked).scalars()
        found[of.id] = [ClaimId(each) for each in ids if each != of.id]
    seen = reading.by_ids(connection, visible, Purpose.REVIEW, sorted({each for ids in found.values() for each in ids}))
    return {of: [seen[each] for each in sorted(ids) if each in seen] for of, ids in found.items()}


def from_message(connection: sa.Connection, visible: Visible, source: MessageId) -> list[Claim]:
    """What the scope sees of the memories that rest on a message, the oldest first."""
    rests = sa.select(evidence.c.claim_id).where(evidence.c.message_id == source)
    rows = connection.execute(
        sa.select(claim).where(claim.c.id.in_(rests), reading.condition(visible, Purpose.REVIEW)).order_by(claim.c.seq)
    )
    return [claim_of(row) for row in rows]


@dataclass(frozen=True, slots=True)
class Message:
    """One of the transcript, as it is now."""

    id: MessageId
    speaker: str
    """A person's id, `executive`, or the name of nobody known."""
    place: Place
    text: str
    sent_at: datetime


def messages(connection: sa.Connection, visible: Visible, ids: Collection[MessageId]) -> list[Message]:
    """Those of the messages that the scope was there to read, the oldest first."""
    rows = connection.execute(
        sa.select(message, place.c.channel, place.c.title)
        .select_from(
            message.join(session, session.c.id == message.c.session_id).join(place, place.c.key == session.c.place_key)
        )
        .where(
            message.c.id.in_(sorted(ids)),
            visible.within(message.c.session_id, message.c.audience_epoch, message.c.recorded_at),
        )
        .order_by(message.c.sent_at, message.c.id)
    )
    return [
        Message(
            MessageId(row.id),
            EXECUTIVE if row.role == "assistant" else row.person_id or row.speaker,
            Place(row.channel, row.title),
            row.text,
            row.sent_at,
        )
        for row in rows
    ]
