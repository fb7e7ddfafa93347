"""SQL of proposals: one way in (`add`) and one way on (`move`), each with its event and its audit row."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from bot.audit.events import Actor, Payload, Record
from bot.audit.events_ledger import (
    ActionBounced,
    ActionExecuted,
    ActionFailed,
    ActionReversed,
    ActionStarted,
    ProposalDecided,
    ProposalHeld,
    ProposalMade,
    ProposalNoResponse,
    ProposalReturned,
    ProposalRevised,
    ProposalVoted,
    ProposalWithdrawn,
)
from bot.audit.recorder import Recorder
from bot.kernel.ids import ClaimId, PersonId, ProposalId, SessionId, TurnId
from bot.kernel.values import dataclass
from bot.ledger.deciding import Move
from bot.ledger.model import (
    APPROVED,
    ConflictError,
    Failure,
    Op,
    Proposal,
    Severity,
    State,
    Verdict,
    Vote,
    canonical,
    digest,
)
from bot.ledger.tables import ASKER, proposal, proposal_ask, proposal_event, proposal_vote
from bot.storage.database import Tx

ENDED = (
    *(State.REJECTED, State.AUTO_NO_RESPONSE, State.WITHDRAWN, State.EXECUTED, State.FAILED, State.REVERSED),
)  # fmt: skip
VOTE_CHANNEL = "-"


def add(tx: Tx, recorder: Recorder, new: Proposal, actor: Actor, *, automatic: bool) -> bool:
    """Make a proposal. False if one of its key is there already: then nothing is written."""
    known = tx.execute(sa.select(proposal.c.id).where(proposal.c.key == new.key)).scalar()
    if known is not None:
        return False
    if new.version != 1 or new.state is not State.PROPOSED or new.hash != digest(new.final):
        raise ValueError("a proposal begins as proposed, with the hash of its content")
    _event(tx, new, Op.MADE, None, 1, actor, new.made_at, None)
    tx.execute(
        proposal.insert().values(
            id=new.id,
            action=new.action,
            proposed=canonical(new.proposed),
            final=canonical(new.final),
            hash=new.hash,
            key=new.key,
            session_id=new.session,
            turn_id=new.turn,
            asked_by=new.asked_by,
            department=new.department,
            approvers=list(new.approvers),
            two_persons=new.two_persons,
            rests_on=list(new.rests_on),
            reason=new.reason,
            confidence=new.confidence,
            tainted=new.tainted,
            state=new.state.value,
            made_at=new.made_at,
            expires_at=new.expires_at,
            held=new.held,
            version=1,
        )
    )
    payload = ProposalMade(new.id, new.action, new.hash, new.approvers, new.rests_on, new.tainted, automatic)
    recorder.record(tx, Record(payload, actor, new.session, new.turn, text=new.reason))
    return True


def move(
    tx: Tx,
    recorder: Recorder,
    seen: Proposal,
    to: Move,
    actor: Actor,
    now: datetime,
    channel: str = VOTE_CHANNEL,
    *,
    text: str | None = None,
) -> Proposal:
    """Move a proposal from how the caller saw it; returns it as it is now. `text`: why, for the audit. Raises
    `ConflictError` if somebody was quicker."""
    final = seen.final if to.final is None else to.final
    hash_ = seen.hash if to.final is None else digest(to.final)
    version = seen.version + 1
    current = tx.execute(sa.select(proposal.c.version).where(proposal.c.id == seen.id)).scalar()
    if current != seen.version:
        raise ConflictError("somebody was quicker: look at it again")
    if to.vote is not None:
        tx.execute(
            proposal_vote.insert()
            .prefix_with("OR IGNORE")
            .values(
                proposal_id=seen.id,
                person_id=to.vote.person,
                verdict=to.vote.verdict.value,
                hash=to.vote.digest,
                channel=channel,
                at=now,
            )
        )
    _event(tx, seen, to.op, seen.state, version, actor, now, to, hash_)
    failure = to.failure or (seen.failure if to.state is seen.state else None)
    decided = to.state.value in (*APPROVED, State.REJECTED.value) and seen.state is State.PROPOSED
    tx.execute(
        proposal.update()
        .where(proposal.c.id == seen.id)
        .values(
            state=to.state.value,
            final=canonical(final),
            hash=hash_,
            failure=failure.value if failure else None,
            severity=to.severity.value if to.severity else seen.severity,
            decided_by=to.decided_by or (None if to.op is Op.RETURNED else seen.decided_by),
            resolved_by=to.resolved_by or seen.resolved_by,
            decided_at=now if decided else (None if to.op is Op.RETURNED else seen.decided_at),
            ended_at=now if to.state in ENDED else None,
            result=to.result or seen.result,
            held=seen.held if to.held is None else to.held,
            version=version,
        )
    )
    for payload in _payloads(seen, to, hash_, channel):
        recorder.record(tx, Record(payload, actor, seen.session, seen.turn, text=text))
    after = get(tx.connection, seen.id)
    if after is None:
        raise LookupError(f"proposal {seen.id} is gone")
    return after


def get(connection: sa.Connection, proposal_id: ProposalId) -> Proposal | None:
    """Of whatever scope: for who already knows that they may."""
    row = connection.execute(sa.select(proposal).where(proposal.c.id == proposal_id)).first()
    return None if row is None else _proposal(connection, row)


def by_key(connection: sa.Connection, key: str) -> Proposal | None:
    row = connection.execute(sa.select(proposal).where(proposal.c.key == key)).first()
    return None if row is None else _proposal(connection, row)


def by_result(connection: sa.Connection, result: str) -> Proposal | None:
    """The one whose effect is found there."""
    row = connection.execute(sa.select(proposal).where(proposal.c.result == result)).first()
    return None if row is None else _proposal(connection, row)


def of_turn(connection: sa.Connection, session: SessionId, turn: TurnId) -> list[Proposal]:
    """What an answer put forward, in order."""
    rows = connection.execute(
        sa.select(proposal).where(proposal.c.session_id == session, proposal.c.turn_id == turn).order_by(proposal.c.seq)
    ).all()
    return of_rows(connection, rows)


@dataclass(frozen=True, slots=True)
class Event:
    op: Op
    after: State
    actor: Actor
    at: datetime


def history(connection: sa.Connection, of: ProposalId) -> list[Event]:
    """All that happened to one, in order."""
    rows = connection.execute(
        sa.select(proposal_event).where(proposal_event.c.proposal_id == of).order_by(proposal_event.c.version)
    )
    return [Event(Op(row.op), State(row.after), Actor(row.actor_kind, row.actor), row.at) for row in rows]


def to_execute(connection: sa.Connection, limit: int, but: Collection[ProposalId] = ()) -> list[Proposal]:
    """What is approved and not held, oldest first. `but`: leave these out."""
    rows = connection.execute(
        sa.select(proposal)
        .where(proposal.c.state.in_(APPROVED), sa.not_(proposal.c.held), proposal.c.id.not_in(sorted(but)))
        .order_by(proposal.c.seq)
        .limit(limit)
    ).all()
    return of_rows(connection, rows)


def unfinished(connection: sa.Connection) -> list[Proposal]:
    """What waits for a decision, or was decided and is not done."""
    states = (State.PROPOSED.value, *APPROVED)
    rows = connection.execute(sa.select(proposal).where(proposal.c.state.in_(states)).order_by(proposal.c.seq)).all()
    return of_rows(connection, rows)


def executing(connection: sa.Connection) -> list[Proposal]:
    """What was being done; at a start, by an earlier process."""
    rows = connection.execute(sa.select(proposal).where(proposal.c.state == State.EXECUTING.value)).all()
    return of_rows(connection, rows)


def overdue(connection: sa.Connection, now: datetime) -> list[Proposal]:
    """What nobody has decided in time."""
    rows = connection.execute(
        sa.select(proposal)
        .where(proposal.c.state == State.PROPOSED.value, proposal.c.expires_at <= now)
        .order_by(proposal.c.expires_at)
    ).all()
    return of_rows(connection, rows)


def next_expiry(connection: sa.Connection) -> datetime | None:
    found: datetime | None = connection.execute(
        sa.select(sa.func.min(proposal.c.expires_at, type_=proposal.c.expires_at.type)).where(
            proposal.c.state == State.PROPOSED.value
        )
    ).scalar()
    return found


def waiting(connection: sa.Connection, limit: int) -> list[Proposal]:
    """What waits for a person and is not held, the next to expire first."""
    rows = connection.execute(
        sa.select(proposal)
        .where(proposal.c.state == State.PROPOSED.value, sa.not_(proposal.c.held))
        .order_by(proposal.c.expires_at)
        .limit(limit)
    ).all()
    return of_rows(connection, rows)


def untold(connection: sa.Connection, limit: int) -> list[Proposal]:
    """What has ended, and who asked was not told. What ends by the asker's own word needs no telling."""
    told = sa.select(sa.literal(1)).where(proposal_ask.c.digest == sa.literal(ASKER) + proposal.c.id)
    rows = connection.execute(
        sa.select(proposal)
        .where(
            proposal.c.state.in_([each.value for each in ENDED]),
            proposal.c.asked_by.is_not(None),
            sa.or_(proposal.c.decided_by.is_(None), proposal.c.decided_by != proposal.c.asked_by),
            sa.not_(sa.exists(told)),
        )
        .order_by(proposal.c.seq)
        .limit(limit)
    ).all()
    return of_rows(connection, rows)


def newest(connection: sa.Connection, limit: int, states: Collection[State] = ()) -> list[Proposal]:
    """Of whatever scope, the newest first: for who already knows that they may."""
    query = sa.select(proposal).order_by(proposal.c.seq.desc()).limit(limit)
    if states:
        query = query.where(proposal.c.state.in_(sorted(each.value for each in states)))
    return of_rows(connection, connection.execute(query).all())


def named(connection: sa.Connection, handle: str) -> list[Proposal]:
    """Those (three at most) whose id is this or ends like that."""
    if not handle.isalnum() or len(handle) < 4:
        return []
    rows = connection.execute(
        sa.select(proposal).where(proposal.c.id.endswith(handle.lower())).order_by(proposal.c.seq.desc()).limit(3)
    ).all()
    return of_rows(connection, rows)


def open_for(connection: sa.Connection, person: PersonId, limit: int = 100) -> list[Proposal]:
    """What waits for this approver, the next to expire first."""
    rows = connection.execute(
        sa.select(proposal).where(proposal.c.state == State.PROPOSED.value).order_by(proposal.c.expires_at).limit(1_000)
    ).all()
    return of_rows(connection, [row for row in rows if person in row.approvers][:limit])


def _event(
    tx: Tx,
    of: Proposal,
    op: Op,
    before: State | None,
    version: int,
    actor: Actor,
    at: datetime,
    to: Move | None,
    hash_: str | None = None,
) -> None:
    tx.execute(
        proposal_event.insert().values(
            proposal_id=of.id,
            version=version,
            op=op.value,
            action=of.action,
            before=before.value if before else None,
            after=(to.state if to else of.state).value,
            actor_kind=actor.kind,
            actor=actor.id,
            hash=hash_ or of.hash,
            severity=to.severity.value if to and to.severity else None,
            confidence=of.confidence,
            at=at,
        )
    )


def _payloads(seen: Proposal, to: Move, hash_: str, channel: str) -> Sequence[Payload]:
    found: list[Payload] = []
    if to.vote is not None:
        found.append(ProposalVoted(seen.id, to.vote.verdict, to.vote.digest, channel))
    if to.final is not None:
        found.append(ProposalRevised(seen.id, seen.hash, hash_))
    match to.op:
        case Op.DECIDED:
            found.append(ProposalDecided(seen.id, to.state, hash_))
        case Op.EXPIRED:
            found.append(ProposalNoResponse(seen.id))
        case Op.WITHDRAWN:
            found.append(ProposalWithdrawn(seen.id))
        case Op.RETURNED:
            found.append(ProposalReturned(seen.id))
        case Op.EXECUTING:
            found.append(ActionStarted(seen.id, seen.action, hash_))
        case Op.EXECUTED:
            found.append(ActionExecuted(seen.id, seen.action, hash_, by_person=False))
        case Op.FAILED:
            found.append(ActionFailed(seen.id, seen.action, to.failure or Failure.REFUSED))
        case Op.RESOLVED if to.state is State.EXECUTED:
            found.append(ActionExecuted(seen.id, seen.action, hash_, by_person=True))
        case Op.RESOLVED:
            found.append(ActionFailed(seen.id, seen.action, to.failure or Failure.REFUSED))
        case Op.REVERSED | Op.REVERSAL_FAILED:
            severity = to.severity or Severity.MINOR
            found.append(ActionReversed(seen.id, seen.action, severity, done=to.op is Op.REVERSED))
        case Op.BOUNCED:
            found.append(ActionBounced(seen.id, seen.action))
        case Op.HELD | Op.RELEASED:
            found.append(ProposalHeld(seen.id, held=to.op is Op.HELD))
        case Op.VOTED | Op.REVISED | Op.MADE | Op.SHOWN | Op.REMINDED | Op.REDACTED:
            pass
    return found


def _proposal(connection: sa.Connection, row: Any) -> Proposal:
    return of_rows(connection, [row])[0]


def of_rows(connection: sa.Connection, rows: Sequence[Any]) -> list[Proposal]:
    """Whole rows of the table as values, in order."""
    if not rows:
        return []
    votes: dict[tuple[str, str], list[Vote]] = {}
    query = sa.select(proposal_vote).where(proposal_vote.c.proposal_id.in_([row.id for row in rows]))
    for each in connection.execute(query.order_by(proposal_vote.c.seq)):
        vote = Vote(PersonId(each.person_id), Verdict(each.verdict), each.hash, each.at)
        votes.setdefault((each.proposal_id, each.hash), []).append(vote)
    return [_value(row, votes.get((row.id, row.hash), ())) for row in rows]


def _value(row: Any, votes: Sequence[Vote]) -> Proposal:
    return Proposal(
        ProposalId(row.id),
        row.action,
        row.proposed,
        row.final,
        row.hash,
        row.key,
        SessionId(row.session_id) if row.session_id else None,
        TurnId(row.turn_id) if row.turn_id else None,
        PersonId(row.asked_by) if row.asked_by else None,
        row.department,
        tuple(PersonId(each) for each in row.approvers),
        row.two_persons,
        tuple(votes),
        tuple(ClaimId(each) for each in row.rests_on),
        row.reason,
        row.confidence,
        row.tainted,
        State(row.state),
        Failure(row.failure) if row.failure else None,
        PersonId(row.decided_by) if row.decided_by else None,
        PersonId(row.resolved_by) if row.resolved_by else None,
        Severity(row.severity) if row.severity else None,
        row.made_at,
        row.expires_at,
        row.decided_at,
        row.ended_at,
        row.result,
        row.held,
        row.version,
    )
