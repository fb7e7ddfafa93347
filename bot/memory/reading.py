"""The one view of claims that every reader goes through: prompt block, tools, commands, API, export, indexes.

What a scope may see is decided by `bot.sessions.visible`; what may be shown of it, by the claim's status and source, is
decided here. Erased claims are shown to nobody, retracted ones only to who looks for them in review.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from enum import Enum, auto
from typing import Any

import sqlalchemy as sa

from bot.gateway.events import PlaceKind
from bot.kernel.ids import ClaimId, PersonId, SessionId, TurnId
from bot.kernel.scope import DepartmentScope, PersonScope
from bot.kernel.values import dataclass
from bot.memory.model import (
    EXECUTIVE,
    STANDING,
    Claim,
    Event,
    Evidence,
    Kind,
    Op,
    Source,
    Status,
    Trust,
    Visibility,
    Work,
)
from bot.memory.rows import claim_of, earlier, evidence_value
from bot.memory.tables import claim, claim_event, claim_event_text, claim_shown, evidence
from bot.sessions.audience import Audience
from bot.sessions.tables import place, session, turn
from bot.sessions.visible import Visible, only_guests_in
from bot.storage.metadata import among, exactly


class Purpose(Enum):
    """What the reading is for."""

    PROMPT = auto()
    """What is believed now: it stands, and its source was not deleted."""
    REVIEW = auto()
    """A person looks after memories: what waits, what was superseded, what was retracted too."""


@dataclass(frozen=True, slots=True)
class AsOf:
    """Two time axes. `known`: what we knew then. `true`: what was true in the world then."""

    known: datetime | None = None
    true: datetime | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """What of the visible is wanted; None and empty mean: not filtered by that."""

    kinds: Collection[Kind] = ()
    statuses: Collection[Status] = ()
    department: str | None = None
    domain: str | None = None
    speaker: str | None = None
    owner: PersonId | None = None
    subject: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    """Of `said_at`; half-open."""
    as_of: AsOf | None = None
    words: Collection[str] = ()
    """All of them stand in the statement, whatever their case."""
    asked: bool = False
    """Somebody has put it before the principals."""
    works: Collection[Work] = ()
    """How initiatives stand."""


EVERYTHING = Filter()
_HANDLE = re.compile(r"[0-9a-z]{4,24}")


def condition(visible: Visible, purpose: Purpose, wanted: Filter = EVERYTHING) -> sa.ColumnElement[bool]:
    """The WHERE of every reader of the claim table."""
    own = sa.and_(claim.c.visibility == Visibility.SESSION.value, _heard(visible))
    seen = [own, _of_company(visible)]
    if visible.decides and purpose is Purpose.REVIEW:
        seen.append(claim.c.promotion_by.is_not(None))
        # Where a guest is alone with the executive, nobody of the company reads: else it would wait for ever.
        of_guests = claim.c.trust == Trust.GUEST.value
        to_guests = sa.and_(claim.c.speaker == EXECUTIVE, only_guests_in(claim.c.session_id))
        seen.append(sa.and_(claim.c.status == Status.PENDING.value, sa.or_(of_guests, to_guests)))
    parts = [sa.or_(*seen), *_status(purpose, wanted)]
    if wanted.kinds:
        parts.append(claim.c.kind.in_(sorted(each.value for each in wanted.kinds)))
    if wanted.statuses:
        parts.append(_one_of(claim.c.status, wanted.statuses))
    if wanted.works:
        parts.append(claim.c.work.in_(sorted(each.value for each in wanted.works)))
    for column, value in (
        (claim.c.department, wanted.department),
        (claim.c.domain, wanted.domain),
        (claim.c.speaker, wanted.speaker),
        (claim.c.owner, wanted.owner),
        (claim.c.subject, wanted.subject),
    ):
        if value is not None:
            parts.append(column == value)
    if wanted.since is not None:
        parts.append(claim.c.said_at >= wanted.since)
    if wanted.until is not None:
        parts.append(claim.c.said_at < wanted.until)
    if wanted.asked:
        parts.append(claim.c.promotion_by.is_not(None))
    parts += [claim.c.statement.icontains(word, autoescape=True) for word in wanted.words]
    return sa.and_(*parts)


def _one_of(column: sa.ColumnElement[str], values: Collection[Status]) -> sa.ColumnElement[bool]:
    """Written so that SQLite sees which partial index holds them."""
    (first, *others) = sorted(each.value for each in values)
    return among(column, (first, *others)) if others else exactly(column, first)


def _heard(visible: Visible) -> sa.ColumnElement[bool]:
    """The reader was there when it was said."""
    return visible.within(claim.c.session_id, claim.c.audience_epoch, claim.c.heard_at)


def _of_company(visible: Visible) -> sa.ColumnElement[bool]:
    if not visible.company.company:
        return sa.false()
    of_company = claim.c.visibility == Visibility.COMPANY.value
    if isinstance(visible.scope, DepartmentScope):
        return sa.and_(of_company, claim.c.department == visible.scope.department)
    return of_company


def _status(purpose: Purpose, wanted: Filter) -> list[sa.ColumnElement[bool]]:
    as_of = wanted.as_of
    if as_of is not None:
        return _at(as_of)
    if purpose is Purpose.PROMPT:
        return [among(claim.c.status, STANDING), claim.c.source != Source.DELETED.value]
    return [claim.c.status != Status.ERASED.value]


def _at(as_of: AsOf) -> list[sa.ColumnElement[bool]]:
    """What stood at an instant. What was retracted or waits for a person never counts as having been known."""
    parts: list[sa.ColumnElement[bool]] = [
        among(claim.c.status, (*STANDING, Status.SUPERSEDED.value)),
        claim.c.source != Source.DELETED.value,
    ]
    if as_of.known is not None:
        parts.append(claim.c.recorded_at <= as_of.known)
        parts.append(sa.or_(claim.c.retired_at.is_(None), claim.c.retired_at > as_of.known))
    if as_of.true is not None:
        begins = sa.func.coalesce(claim.c.valid_from, claim.c.said_at, type_=claim.c.said_at.type)
        parts.append(begins <= as_of.true)
        parts.append(sa.or_(claim.c.valid_to.is_(None), claim.c.valid_to > as_of.true))
    return parts


def find(
    connection: sa.Connection,
    visible: Visible,
    purpose: Purpose,
    wanted: Filter,
    limit: int,
    before: int | None = None,
) -> list[tuple[int, Claim]]:
    """A page of claims, newest first, each with its place for the next page (`before`)."""
    query = sa.select(claim).where(condition(visible, purpose, wanted)).order_by(claim.c.seq.desc()).limit(limit)
    if before is not None:
        query = query.where(claim.c.seq < before)
    found = [(row.seq, claim_of(row)) for row in connection.execute(query)]
    return [(place, _as_known(connection, visible, each, wanted)) for place, each in found]


def places(connection: sa.Connection, visible: Visible, purpose: Purpose, wanted: Filter, limit: int) -> list[int]:
    """Of `find`, the places alone: for counting what has an end."""
    query = sa.select(claim.c.seq).where(condition(visible, purpose, wanted)).order_by(claim.c.seq.desc()).limit(limit)
    return list(connection.execute(query).scalars())


def by_ids(
    connection: sa.Connection, visible: Visible, purpose: Purpose, ids: Sequence[ClaimId], wanted: Filter = EVERYTHING
) -> dict[ClaimId, Claim]:
    """Those of the ids that the scope may see."""
    found: dict[ClaimId, Claim] = {}
    for start in range(0, len(ids), 500):
        query = sa.select(claim).where(claim.c.id.in_(ids[start : start + 500]), condition(visible, purpose, wanted))
        found |= {ClaimId(row.id): claim_of(row) for row in connection.execute(query)}
    return {each: _as_known(connection, visible, one, wanted) for each, one in found.items()}


def _as_known(connection: sa.Connection, visible: Visible, of: Claim, wanted: Filter) -> Claim:
    """In the words and the state in which it was known then, as far as the scope may see how it was changed."""
    known = wanted.as_of.known if wanted.as_of is not None else None
    if known is None or of.version == 1:
        return of
    for event in reversed(history(connection, visible, of.id)):
        if event.at > known and event.before:
            of = earlier(of, event.before)
    return of


def count(connection: sa.Connection, visible: Visible, purpose: Purpose, wanted: Filter = EVERYTHING) -> int:
    query = sa.select(sa.func.count()).select_from(claim).where(condition(visible, purpose, wanted))
    return connection.execute(query).scalar_one()


def heard(connection: sa.Connection, visible: Visible, ids: Sequence[ClaimId]) -> set[ClaimId]:
    """Those of the claims that the scope does not only see, but at whose telling it was there: only to it are the words
    shown that they rest on, and how they came to be what they are."""
    rows = connection.execute(
        sa.select(claim.c.id).where(claim.c.id.in_(ids), _heard(visible), condition(visible, Purpose.REVIEW))
    )
    return {ClaimId(row.id) for row in rows}


def is_there(connection: sa.Connection, visible: Visible, session_id: SessionId, now: datetime) -> bool:
    """Whether the scope reads in a session at this moment."""
    of = sa.select(session.c.id).where(
        session.c.id == session_id,
        visible.within(session.c.id, session.c.audience_epoch, sa.literal(now, claim.c.heard_at.type)),
    )
    return connection.execute(of).first() is not None


def alone_in(connection: sa.Connection, visible: Visible, now: datetime) -> SessionId | None:
    """The newest direct conversation in which a person reads at this moment; None if the scope is not a person's."""
    if not isinstance(visible.scope, PersonScope):
        return None
    there = visible.within(session.c.id, session.c.audience_epoch, sa.literal(now, claim.c.heard_at.type))
    of = (
        sa.select(session.c.id)
        .select_from(session.join(place, place.c.key == session.c.place_key))
        .where(place.c.kind == PlaceKind.DIRECT.value, place.c.audience == Audience.PERSON.value, there)
        .order_by(session.c.id.desc())
        .limit(1)
    )
    found = connection.execute(of).scalar()
    return None if found is None else SessionId(found)


def evidence_of(connection: sa.Connection, visible: Visible, claim_id: ClaimId) -> list[Evidence]:
    """What a claim rests on, the oldest first, if the scope was there; else nothing."""
    return evidence_of_each(connection, visible, [claim_id]).get(claim_id, [])


def evidence_of_each(
    connection: sa.Connection, visible: Visible, ids: Sequence[ClaimId]
) -> dict[ClaimId, list[Evidence]]:
    """`evidence_of` some claims."""
    there = heard(connection, visible, ids)
    if not there:
        return {}
    rows = connection.execute(
        sa.select(evidence).where(evidence.c.claim_id.in_(sorted(there))).order_by(evidence.c.said_at, evidence.c.id)
    )
    found: dict[ClaimId, list[Evidence]] = {}
    for row in rows:
        found.setdefault(ClaimId(row.claim_id), []).append(evidence_value(row))
    return found


def history(connection: sa.Connection, visible: Visible, claim_id: ClaimId) -> list[Event]:
    """The events of a claim that the scope may see, oldest first. Who was not there when it was told sees no words from
    before it was shown to the company."""
    found = by_ids(connection, visible, Purpose.REVIEW, [claim_id]).get(claim_id)
    if found is None:
        return []
    rows = connection.execute(
        sa.select(claim_event, claim_event_text.c.reason, claim_event_text.c.before, claim_event_text.c.after)
        .select_from(claim_event.outerjoin(claim_event_text, claim_event_text.c.event_seq == claim_event.c.seq))
        .where(claim_event.c.claim_id == claim_id)
        .order_by(claim_event.c.version)
    )
    events = [_event_of(row) for row in rows]
    return events if heard(connection, visible, [claim_id]) else as_outsider(found, events)


def _event_of(row: Any) -> Event:
    return Event(
        row.seq,
        ClaimId(row.claim_id),
        row.version,
        Op(row.op),
        row.actor_kind,
        row.actor,
        row.at,
        row.reason,
        row.before,
        row.after,
    )


def as_outsider(found: Claim, events: Sequence[Event]) -> list[Event]:
    """The events without the words of before it was shown to the company."""
    promoted = [each.version for each in events if each.op is Op.PROMOTED]
    of_company = found.visibility is Visibility.COMPANY
    since = max(promoted, default=1) if of_company else found.version + 1
    told = (Op.PROMOTED, Op.PROMOTION_ASKED)
    return [
        each if each.version >= since or each.op in told else replace(each, reason=None, before=None, after=None)
        for each in events
    ]


_STOOD = claim_shown.c.way.in_(("block", "recall", "read"))
"""Whoever was asked about it was shown it, too."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A turn before whose model a claim stood."""

    turn: TurnId
    session: SessionId
    version: int
    way: str
    at: datetime


def shown(connection: sa.Connection, visible: Visible, claim_id: ClaimId, limit: int) -> tuple[list[Shown], int]:
    """In which turns a claim stood before the model, the newest first, as far as the scope may see their sessions; and
    in how many others."""
    if not by_ids(connection, visible, Purpose.REVIEW, [claim_id]):
        return [], 0
    of_claim = sa.and_(claim_shown.c.claim_id == claim_id, _STOOD)
    seen = visible.within(turn.c.session_id, turn.c.audience_epoch, claim_shown.c.at)
    joined = claim_shown.join(turn, turn.c.id == claim_shown.c.turn_id)
    rows = connection.execute(
        sa.select(claim_shown, turn.c.session_id)
        .select_from(joined)
        .where(of_claim, seen)
        .order_by(claim_shown.c.at.desc(), claim_shown.c.turn_id, claim_shown.c.way)
        .limit(limit)
    )
    turns = [Shown(TurnId(row.turn_id), SessionId(row.session_id), row.version, row.way, row.at) for row in rows]
    total: int = connection.execute(sa.select(sa.func.count()).select_from(claim_shown).where(of_claim)).scalar_one()
    if len(turns) < limit:
        return turns, total - len(turns)
    own: int = connection.execute(sa.select(sa.func.count()).select_from(joined).where(of_claim, seen)).scalar_one()
    return turns, total - own


def shown_in(connection: sa.Connection, visible: Visible, turn_id: TurnId) -> tuple[list[tuple[Claim, str]], int]:
    """The claims that stood before the model in a turn, each with the way in which it came there, as far as the scope
    may still see them; and how many others."""
    rows = connection.execute(
        sa.select(claim_shown.c.claim_id, sa.func.min(claim_shown.c.way).label("way"))
        .where(claim_shown.c.turn_id == turn_id, _STOOD)
        .group_by(claim_shown.c.claim_id)
        .order_by(sa.func.max(claim_shown.c.score).desc(), claim_shown.c.claim_id)
    ).all()
    found = by_ids(connection, visible, Purpose.REVIEW, [ClaimId(row.claim_id) for row in rows])
    kept = [(found[ClaimId(row.claim_id)], str(row.way)) for row in rows if row.claim_id in found]
    return kept, len(rows) - len(kept)


def named(connection: sa.Connection, visible: Visible, purpose: Purpose, handle: str) -> list[Claim]:
    """The claims (three at most) that the scope sees and that an id, its beginning or its end means."""
    handle = handle.lower()
    if not _HANDLE.fullmatch(handle):
        return []
    meant = sa.or_(claim.c.id.endswith(handle), claim.c.id.startswith(handle))
    query = sa.select(claim).where(meant, condition(visible, purpose)).order_by(claim.c.seq.desc()).limit(3)
    return [claim_of(row) for row in connection.execute(query)]


def waiting(connection: sa.Connection, visible: Visible) -> int:
    """How many claims of the scope wait for a person."""
    return count(connection, visible, Purpose.REVIEW, Filter(statuses=(Status.PENDING,)))
