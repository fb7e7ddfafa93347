"""Whether the memory holds together: what the database cannot hold by itself, looked up all at once. Reading only."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any

import sqlalchemy as sa

from bot.kernel.ids import ClaimId
from bot.kernel.values import dataclass
from bot.memory.model import Op, Source, Status, Support
from bot.memory.tables import claim, claim_event, claim_event_text, evidence
from bot.sessions.tables import message

BATCH = 500


@dataclass(slots=True)
class Faults:
    """Ids of claims, by what is wrong."""

    claims: int = 0
    """How many were looked at, shells of forgotten ones included."""
    orphans: list[ClaimId] = field(default_factory=list)
    """Neither words nor a person stand behind them."""
    stray: list[ClaimId] = field(default_factory=list)
    """Words are kept of a claim that is not there or was forgotten."""
    unfounded: list[ClaimId] = field(default_factory=list)
    """The words do not stand in the message as it is, and no mark says that it was edited or deleted."""
    gaps: list[ClaimId] = field(default_factory=list)
    """A version without its event, or an event too many."""
    talkative: list[ClaimId] = field(default_factory=list)
    """Forgotten, and an event still tells of it."""

    @property
    def sound(self) -> bool:
        return not (self.orphans or self.stray or self.unfounded or self.gaps or self.talkative)


def faults(connection: sa.Connection) -> Faults:
    found = Faults(claims=connection.execute(sa.select(sa.func.count()).select_from(claim)).scalar_one())
    gone = claim.c.status == Status.ERASED.value
    rests = sa.exists().where(evidence.c.claim_id == claim.c.id)
    found.orphans = _ids(connection, sa.select(claim.c.id).where(~gone, claim.c.author_kind != "person", ~rests))
    stands = sa.exists().where(claim.c.id == evidence.c.claim_id, ~gone)
    found.stray = _ids(connection, sa.select(evidence.c.claim_id).where(~stands).distinct())
    found.gaps = _gaps(connection)
    # An event of the erasing itself may say why; all before it is silent.
    found.talkative = _ids(
        connection,
        sa.select(claim.c.id)
        .select_from(
            claim.join(claim_event, claim_event.c.claim_id == claim.c.id).join(
                claim_event_text, claim_event_text.c.event_seq == claim_event.c.seq
            )
        )
        .where(gone, claim_event.c.op != Op.ERASED.value)
        .distinct(),
    )
    found.unfounded = sorted({each for batch in _resting(connection) for each in _unfounded(batch)})
    return found


def _ids(connection: sa.Connection, query: sa.Select[Any]) -> list[ClaimId]:
    return sorted(ClaimId(each) for each in connection.execute(query).scalars())


def _gaps(connection: sa.Connection) -> list[ClaimId]:
    events = (
        sa.select(
            claim_event.c.claim_id,
            sa.func.count().label("count"),
            sa.func.min(claim_event.c.version).label("first"),
            sa.func.max(claim_event.c.version).label("last"),
        )
        .group_by(claim_event.c.claim_id)
        .subquery()
    )
    whole = sa.and_(events.c.first == 1, events.c.last == claim.c.version, events.c.count == claim.c.version)
    joined = claim.outerjoin(events, events.c.claim_id == claim.c.id)
    query = sa.select(claim.c.id).select_from(joined).where(sa.or_(events.c.count.is_(None), ~whole))
    without = sa.select(claim_event.c.claim_id).where(~sa.exists().where(claim.c.id == claim_event.c.claim_id))
    return sorted({*_ids(connection, query), *_ids(connection, without.distinct())})


def _resting(connection: sa.Connection) -> Iterator[Sequence[sa.Row[tuple[object, ...]]]]:
    """Words of claims whose message is said to stand as it was, in batches, each with its message."""
    after = ""
    while True:
        rows = connection.execute(
            sa.select(evidence, message.c.text, message.c.deleted_at)
            .select_from(
                evidence.join(claim, claim.c.id == evidence.c.claim_id).outerjoin(
                    message, message.c.id == evidence.c.message_id
                )
            )
            .where(
                evidence.c.id > after,
                claim.c.source == Source.FRESH.value,
                claim.c.support != Support.PERSON.value,
                claim.c.status != Status.ERASED.value,
            )
            .order_by(evidence.c.id)
            .limit(BATCH)
        ).all()
        if not rows:
            return
        yield rows
        after = rows[-1].id


def _unfounded(rows: Sequence[sa.Row[tuple[object, ...]]]) -> Iterator[ClaimId]:
    for row in rows:
        text = row.text
        stands = (
            text is not None
            and row.deleted_at is None
            and hashlib.sha256(text.encode()).hexdigest() == row.digest
            and text[row.start : row.end] == row.quote
        )
        if not stands:
            yield ClaimId(row.claim_id)
