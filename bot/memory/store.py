"""SQL of claims: every change is one function here, and goes with its event and its audit row.

Writers only. Whoever reads goes through `reading`, but for what a writer must know.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from bot.audit.events import Actor, Payload, Record
from bot.audit.events_memory import (
    MemoryAccepted,
    MemoryConfirmed,
    MemoryDisputed,
    MemoryEdited,
    MemoryErased,
    MemoryPromoted,
    MemoryRestored,
    MemoryRetracted,
    MemorySettled,
    MemorySnapshot,
    MemorySource,
    MemorySuperseded,
    MemoryWork,
    MemoryWritten,
)
from bot.audit.recorder import Recorder
from bot.kernel.ids import ClaimId, MessageId, SessionId, TurnId
from bot.memory.model import (
    OPEN,
    Claim,
    ConflictError,
    Evidence,
    Kind,
    Op,
    Status,
    Trust,
    Visibility,
    Work,
)
from bot.memory.rows import CHANGEABLE, claim_of, evidence_value, row_of, told
from bot.memory.tables import claim, claim_event, claim_event_text, claim_shown, commitment, evidence
from bot.storage.database import Tx
from bot.storage.metadata import among

MOST_RETRACTED = 200


def add(
    tx: Tx, recorder: Recorder, new: Claim, rests_on: Sequence[Evidence], actor: Actor, reason: str | None = None
) -> None:
    """Write a claim. What it supersedes has to be moved first (`change`): one a subject and speaker stands."""
    if new.version != 1:
        raise ValueError("a new claim is of version 1")
    _event(tx, new.id, 1, Op.WRITTEN, actor, new.recorded_at, reason, None, told(new))
    _rest_on(tx, new.id, rests_on)
    tx.execute(claim.insert().values(**row_of(new)))
    _follow(tx, new, new.recorded_at)
    payload = MemoryWritten(
        new.id, new.kind, new.status, new.held, new.trust, tuple(dict.fromkeys(each.message for each in rests_on))
    )
    recorder.record(tx, Record(payload, actor, new.session, new.turn, text=_text(new.statement, reason)))


def change(
    tx: Tx,
    recorder: Recorder,
    seen: Claim,
    op: Op,
    actor: Actor,
    now: datetime,
    reason: str | None,
    *,
    by: ClaimId | None = None,
    rests_on: Sequence[Evidence] = (),
    **values: Any,
) -> Claim:
    """Change a claim from how the caller saw it; returns it as it is now. `by`: the claim that caused it. Raises
    `ConflictError` if it was changed meanwhile."""
    if not CHANGEABLE.issuperset(values):
        raise ValueError(f"cannot be changed: {sorted(set(values) - CHANGEABLE)}")
    after = replace(seen, **values, version=seen.version + 1)
    quiet = op in _QUIET
    if after.status.value in OPEN:
        after = replace(after, retired_at=None, replaced_by=None)
    else:
        after = replace(after, retired_at=seen.retired_at or now, promotion_by=None)
    after = replace(after, touched_at=seen.touched_at if quiet else now)
    before_told, after_told = told(seen), told(after)
    changed = [name for name in after_told if before_told[name] != after_told[name]]
    current = tx.execute(sa.select(claim.c.version).where(claim.c.id == seen.id)).scalar()
    if current != seen.version:
        raise ConflictError(f"memory {seen.id} was changed meanwhile (it is at version {current}): look at it again")
    _event(
        tx,
        seen.id,
        after.version,
        op,
        actor,
        now,
        reason,
        {name: before_told[name] for name in changed},
        {name: after_told[name] for name in changed},
    )
    _rest_on(tx, seen.id, rests_on)
    tx.execute(claim.update().where(claim.c.id == seen.id).values(**row_of(after)))
    _follow(tx, after, now)
    words = after.statement if after.statement == seen.statement else f"{seen.statement}\n-> {after.statement}"
    payload = _payload(op, seen, after, by, rests_on)
    recorder.record(tx, Record(payload, actor, seen.session, seen.turn, text=_text(words, reason)))
    return after


_QUIET = frozenset({Op.SOURCE_CHANGED, Op.PROMOTION_ASKED, Op.ERASED})
"""They say nothing about the thing itself."""


def erase(tx: Tx, recorder: Recorder, seen: Claim, actor: Actor, now: datetime) -> None:
    """Make it an empty shell: statement, evidence, the texts of its events and of its audit rows go. The reason is
    told by the erasure, not here."""
    version = seen.version + 1
    _event(tx, seen.id, version, Op.ERASED, actor, now, None, None, None)
    tx.execute(
        claim.update()
        .where(claim.c.id == seen.id, claim.c.version == seen.version)
        .values(
            status=Status.ERASED.value,
            statement=None,
            rationale=None,
            outcome=None,
            subject=None,
            held=[],
            owner=None,
            owner_name=None,
            due=None,
            promotion_by=None,
            retired_at=seen.retired_at or now,
            version=version,
        )
    )
    tx.execute(evidence.delete().where(evidence.c.claim_id == seen.id))
    tx.execute(commitment.delete().where(commitment.c.claim_id == seen.id))
    of_claim = sa.select(claim_event.c.seq).where(claim_event.c.claim_id == seen.id)
    tx.execute(claim_event_text.delete().where(claim_event_text.c.event_seq.in_(of_claim)))
    recorder.record(tx, Record(MemoryErased(seen.id, version), actor, seen.session, seen.turn))


def show(tx: Tx, turn: TurnId, snapshot: MemorySnapshot, now: datetime) -> None:
    """Note which claims stood before the model in a turn. The audit row is the caller's."""
    _shown(tx, turn, snapshot.way, zip(snapshot.claims, snapshot.versions, snapshot.scores, strict=True), now)


def asked(tx: Tx, turn: TurnId, claims: Sequence[Claim], now: datetime) -> None:
    """Note which initiatives the executive was told to ask about."""
    _shown(tx, turn, "asked", ((each.id, each.version, 0) for each in claims), now)


def _shown(tx: Tx, turn: TurnId, way: str, shown: Iterable[tuple[ClaimId, int, int]], now: datetime) -> None:
    rows = [
        {"turn_id": turn, "claim_id": each, "way": way, "version": version, "score": score, "at": now}
        for each, version, score in shown
    ]
    if rows:
        tx.execute(claim_shown.insert().prefix_with("OR IGNORE"), rows)


# --- what writers must know ---------------------------------------------------------------------------------------


def get(connection: sa.Connection, claim_id: ClaimId) -> Claim | None:
    """Of whatever scope: for writers that already know that they may. Erased ones are none."""
    row = connection.execute(
        sa.select(claim).where(claim.c.id == claim_id, claim.c.status != Status.ERASED.value)
    ).first()
    return None if row is None else claim_of(row)


# After every turn: built once.
_HERE = (claim.c.session_id == sa.bindparam("session"), claim.c.audience_epoch == sa.bindparam("epoch"))
_STANDING_IN = (
    sa.select(claim)
    .where(*_HERE, claim.c.visibility == Visibility.SESSION.value, among(claim.c.status, OPEN))
    .order_by(claim.c.seq)
)
_RETRACTED_IN = (
    sa.select(claim)
    .where(*_HERE, claim.c.status == Status.RETRACTED.value)
    .order_by(claim.c.seq.desc())
    .limit(MOST_RETRACTED)
)


def standing_in(connection: sa.Connection, session: SessionId, audience_epoch: int) -> list[Claim]:
    """Session claims that stand or wait in one session and audience epoch, oldest first."""
    rows = connection.execute(_STANDING_IN, {"session": session, "epoch": audience_epoch})
    return [claim_of(row) for row in rows]


def retracted_in(connection: sa.Connection, session: SessionId, audience_epoch: int) -> list[Claim]:
    """The newest session claims that were taken back in one session and audience epoch."""
    rows = connection.execute(_RETRACTED_IN, {"session": session, "epoch": audience_epoch})
    return [claim_of(row) for row in rows]


def standing_in_company(connection: sa.Connection, subject: str) -> list[Claim]:
    rows = connection.execute(
        sa.select(claim)
        .where(
            claim.c.subject == subject,
            claim.c.visibility == Visibility.COMPANY.value,
            among(claim.c.status, OPEN),
        )
        .order_by(claim.c.seq)
    )
    return [claim_of(row) for row in rows]


def asked_against(connection: sa.Connection, subject: str) -> list[Claim]:
    """Disputed session claims on a subject of which somebody asks that the company may see them: they speak against
    what the company sees."""
    rows = connection.execute(
        sa.select(claim)
        .where(
            claim.c.subject == subject,
            claim.c.visibility == Visibility.SESSION.value,
            claim.c.promotion_by.is_not(None),
            claim.c.status == Status.DISPUTED.value,
        )
        .order_by(claim.c.seq)
    )
    return [claim_of(row) for row in rows]


def standing_for_company(connection: sa.Connection) -> list[Claim]:
    """Company claims that stand or wait, oldest first."""
    rows = connection.execute(
        sa.select(claim)
        .where(claim.c.visibility == Visibility.COMPANY.value, among(claim.c.status, OPEN))
        .order_by(claim.c.seq)
    )
    return [claim_of(row) for row in rows]


def of_messages(connection: sa.Connection, messages: Collection[MessageId]) -> list[Claim]:
    """What rests on any of these messages, erased ones left out."""
    rests = sa.select(evidence.c.claim_id).where(evidence.c.message_id.in_(sorted(messages)))
    rows = connection.execute(
        sa.select(claim).where(claim.c.id.in_(rests), claim.c.status != Status.ERASED.value).order_by(claim.c.seq)
    )
    return [claim_of(row) for row in rows]


def of_session(connection: sa.Connection, session: SessionId) -> list[Claim]:
    rows = connection.execute(
        sa.select(claim)
        .where(claim.c.session_id == session, claim.c.status != Status.ERASED.value)
        .order_by(claim.c.seq)
    )
    return [claim_of(row) for row in rows]


def waited_before(connection: sa.Connection, guest: str, new: Collection[ClaimId]) -> bool:
    """Whether anything that a guest said was kept to wait for a yes, besides these."""
    others = sa.exists().where(
        claim.c.speaker == guest, claim.c.trust == Trust.GUEST.value, claim.c.id.not_in(sorted(new))
    )
    return bool(connection.execute(sa.select(others)).scalar())


def evidence_of(connection: sa.Connection, claim_id: ClaimId) -> list[Evidence]:
    rows = connection.execute(
        sa.select(evidence).where(evidence.c.claim_id == claim_id).order_by(evidence.c.said_at, evidence.c.id)
    )
    return [evidence_value(row) for row in rows]


def _text(statement: str, reason: str | None) -> str:
    return f"{statement}\nreason: {reason}" if reason else statement


def _event(
    tx: Tx,
    of: ClaimId,
    version: int,
    op: Op,
    actor: Actor,
    at: datetime,
    reason: str | None,
    before: Mapping[str, object] | None,
    after: Mapping[str, object] | None,
) -> None:
    seq = tx.execute(
        claim_event.insert()
        .values(claim_id=of, version=version, op=op.value, actor_kind=actor.kind, actor=actor.id, at=at)
        .returning(claim_event.c.seq)
    ).scalar_one()
    if reason is not None or before is not None or after is not None:
        tx.execute(claim_event_text.insert().values(event_seq=seq, reason=reason, before=before, after=after))


def _rest_on(tx: Tx, of: ClaimId, rests_on: Sequence[Evidence]) -> None:
    if rests_on:
        tx.execute(
            evidence.insert().prefix_with("OR IGNORE"),
            [
                {
                    "id": each.id,
                    "claim_id": of,
                    "message_id": each.message,
                    "start": each.start,
                    "end": each.end,
                    "quote": each.quote,
                    "digest": each.digest,
                    "speaker": each.speaker,
                    "trust": each.trust.value,
                    "said_at": each.said_at,
                }
                for each in rests_on
            ],
        )


def _follow(tx: Tx, of: Claim, now: datetime) -> None:
    """The commitment of an initiative is what the initiative says."""
    if of.owner is None or of.due is None or of.kind is not Kind.INITIATIVE:
        tx.execute(commitment.delete().where(commitment.c.claim_id == of.id))
        return
    dropped = not of.standing or of.work is Work.DROPPED
    state = "dropped" if dropped else "done" if of.work is Work.COMPLETED else "open"
    known = tx.execute(sa.select(commitment).where(commitment.c.claim_id == of.id)).first()
    values = {"owner": of.owner, "due": of.due, "state": state, "changed_at": now}
    if known is None:
        tx.execute(commitment.insert().values(claim_id=of.id, **values))
    elif (known.owner, known.due, known.state) != (of.owner, of.due, state):
        asked = known.asked_at if known.due == of.due else None
        tx.execute(commitment.update().where(commitment.c.claim_id == of.id).values(asked_at=asked, **values))


def _payload(op: Op, seen: Claim, after: Claim, by: ClaimId | None, rests_on: Sequence[Evidence]) -> Payload:
    of, version = after.id, after.version
    match op:
        case Op.CONFIRMED:
            return MemoryConfirmed(of, version, tuple(dict.fromkeys(each.message for each in rests_on)))
        case Op.ACCEPTED:
            return MemoryAccepted(of, version)
        case Op.EDITED:
            return MemoryEdited(of, version)
        case Op.SUPERSEDED | Op.MERGED:
            if after.replaced_by is None:
                raise ValueError("a claim is superseded by another")
            return MemorySuperseded(of, version, after.replaced_by, op is Op.MERGED)
        case Op.DISPUTED:
            return MemoryDisputed(of, version, by)
        case Op.SETTLED:
            return MemorySettled(of, version)
        case Op.RETRACTED:
            return MemoryRetracted(of, version)
        case Op.RESTORED:
            return MemoryRestored(of, version, after.status)
        case Op.PROMOTION_ASKED:
            return MemoryPromoted(of, version, "asked" if after.promotion_by else "declined")
        case Op.PROMOTED:
            return MemoryPromoted(of, version, "promoted")
        case Op.DEMOTED:
            return MemoryPromoted(of, version, "taken_back")
        case Op.WORK_CHANGED:
            return MemoryWork(of, version, after.work)
        case Op.SOURCE_CHANGED:
            return MemorySource(of, version, after.source)
        case Op.WRITTEN | Op.ERASED:
            raise ValueError(f"{op} is not a change of a claim: {seen.id}")
