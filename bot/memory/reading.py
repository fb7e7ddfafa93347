"""The one view of claims that every reader goes through: prompt block, tools, commands, API, export, indexes.

What a scope may see is decided by `bot.sessions.visible`; what may be shown of it, by the claim's status and source, is
decided here. Erased claims are shown to nobody, retracted ones only to who looks for them in review.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto

import sqlalchemy as sa

from bot.kernel.ids import ClaimId, PersonId
from bot.kernel.scope import DepartmentScope
from bot.memory.model import STANDING, Claim, Event, Kind, Op, Source, Status, Visibility
from bot.memory.rows import claim_of
from bot.memory.tables import claim, claim_event, claim_event_text
from bot.sessions.visible import Visible
from bot.storage.metadata import among


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


EVERYTHING = Filter()


def condition(visible: Visible, purpose: Purpose, wanted: Filter = EVERYTHING) -> sa.ColumnElement[bool]:
    """The WHERE of every reader of the claim table."""
    own = sa.and_(
        claim.c.visibility == Visibility.SESSION.value,
        visible.within(claim.c.session_id, claim.c.audience_epoch, claim.c.heard_at),
    )
    parts = [sa.or_(own, _of_company(visible)), *_status(purpose, wanted)]
    if wanted.kinds:
        parts.append(claim.c.kind.in_(sorted(each.value for each in wanted.kinds)))
    if wanted.statuses:
        parts.append(claim.c.status.in_(sorted(each.value for each in wanted.statuses)))
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
    return sa.and_(*parts)


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
    return [(row.seq, claim_of(row)) for row in connection.execute(query)]


def by_ids(
    connection: sa.Connection, visible: Visible, purpose: Purpose, ids: Sequence[ClaimId], wanted: Filter = EVERYTHING
) -> dict[ClaimId, Claim]:
    """Those of the ids that the scope may see."""
    found: dict[ClaimId, Claim] = {}
    for start in range(0, len(ids), 500):
        query = sa.select(claim).where(claim.c.id.in_(ids[start : start + 500]), condition(visible, purpose, wanted))
        found |= {ClaimId(row.id): claim_of(row) for row in connection.execute(query)}
    return found


def count(connection: sa.Connection, visible: Visible, purpose: Purpose, wanted: Filter = EVERYTHING) -> int:
    query = sa.select(sa.func.count()).select_from(claim).where(condition(visible, purpose, wanted))
    return connection.execute(query).scalar_one()


def history(connection: sa.Connection, visible: Visible, claim_id: ClaimId) -> list[Event]:
    """The events of a claim that the scope may see, oldest first."""
    if not by_ids(connection, visible, Purpose.REVIEW, [claim_id]):
        return []
    rows = connection.execute(
        sa.select(claim_event, claim_event_text.c.reason, claim_event_text.c.before, claim_event_text.c.after)
        .select_from(claim_event.outerjoin(claim_event_text, claim_event_text.c.event_seq == claim_event.c.seq))
        .where(claim_event.c.claim_id == claim_id)
        .order_by(claim_event.c.version)
    )
    return [
        Event(
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
        for row in rows
    ]


def waiting(connection: sa.Connection, visible: Visible) -> int:
    """How many claims of the scope wait for a person."""
    return count(connection, visible, Purpose.REVIEW, Filter(statuses=(Status.PENDING,)))
