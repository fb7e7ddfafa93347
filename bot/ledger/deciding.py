"""What a vote, an edit, a timer or an outcome leads to. Pure: a move, or a refusal in words."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from bot.kernel.ids import PersonId
from bot.kernel.values import dataclass
from bot.ledger.model import (
    APPROVED,
    ConflictError,
    Failure,
    Op,
    Payload,
    Proposal,
    Severity,
    State,
    Verdict,
    Vote,
    digest,
)


class Refused(StrEnum):
    """Why somebody's word does not count."""

    NOT_AN_APPROVER = "not_an_approver"
    CHANGED = "changed"
    DECIDED = "decided"
    EXPIRED = "expired"


class RefusedError(ConflictError):
    """Says to a person why their word does not count here."""

    def __init__(self, because: Refused, message: str) -> None:
        super().__init__(message)
        self.because = because


@dataclass(frozen=True, slots=True)
class Move:
    """From where a proposal stands to where it goes."""

    op: Op
    state: State
    vote: Vote | None = None
    final: Payload | None = None
    """Another content; None: as it was."""
    failure: Failure | None = None
    severity: Severity | None = None
    decided_by: PersonId | None = None
    resolved_by: PersonId | None = None
    result: str | None = None
    held: bool | None = None
    """None: as it was."""


def voted(proposal: Proposal, person: PersonId, verdict: Verdict, shown: str, now: datetime) -> Move:
    """A person decides on what they were shown (`shown`: its hash). Raises `RefusedError`."""
    _may_decide(proposal, person, shown, now)
    vote = Vote(person, verdict, shown, now)
    if verdict is Verdict.REJECT:
        return Move(Op.DECIDED, State.REJECTED, vote, decided_by=person)
    others = {
        each.person for each in proposal.votes if each.verdict is Verdict.APPROVE and each.digest == proposal.hash
    }
    if proposal.two_persons and not others - {person}:
        return Move(Op.VOTED, State.PROPOSED, vote)
    return Move(Op.DECIDED, _approved(proposal.proposed, proposal.final), vote, decided_by=person)


def revised(
    proposal: Proposal, person: PersonId, content: Payload, shown: str, now: datetime, *, approve: bool
) -> Move:
    """An approver edits the content. `approve`: and says yes to it as it is now; else it is shown again to be
    confirmed. Earlier votes count no more. Raises `RefusedError`."""
    _may_decide(proposal, person, shown, now)
    if digest(content) == proposal.hash:
        if approve:
            return voted(proposal, person, Verdict.APPROVE, shown, now)
        raise RefusedError(Refused.CHANGED, "That is word for word what was proposed; approve it or reject it.")
    vote = Vote(person, Verdict.APPROVE, digest(content), now) if approve else None
    if vote is None or proposal.two_persons:
        return Move(Op.REVISED, State.PROPOSED, vote, content)
    return Move(Op.DECIDED, _approved(proposal.proposed, content), vote, content, decided_by=person)


def shown(proposal: Proposal, *, reminder: bool) -> Move:
    """An approver gets it, or is reminded of it."""
    _must_be(proposal, State.PROPOSED)
    return Move(Op.REMINDED if reminder else Op.SHOWN, State.PROPOSED)


def expired(proposal: Proposal, now: datetime) -> Move | None:
    """Silence is an outcome: None as long as there is time, or if it was decided."""
    if proposal.state is not State.PROPOSED or now < proposal.expires_at:
        return None
    return Move(Op.EXPIRED, State.AUTO_NO_RESPONSE)


def withdrawn(proposal: Proposal) -> Move:
    """Who asked for it no longer wants it. Raises `RefusedError` once it is being done."""
    if proposal.state is State.PROPOSED or proposal.state.value in APPROVED:
        return Move(Op.WITHDRAWN, State.WITHDRAWN)
    raise _decided(proposal)


def automatic(proposal: Proposal) -> Move:
    """The class is in automatic mode. What may never be automatic is refused by the database too."""
    if proposal.tainted or proposal.state is not State.PROPOSED:
        raise ConflictError("this proposal waits for a person")
    return Move(Op.DECIDED, State.AUTO_APPROVED)


def returned(proposal: Proposal) -> Move | None:
    """Automatic mode was taken away: what is not yet being done waits for a person again."""
    return Move(Op.RETURNED, State.PROPOSED) if proposal.state is State.AUTO_APPROVED else None


def begun(proposal: Proposal) -> Move:
    """It is about to be done. Raises `ConflictError` if it is not approved, or is held for a look."""
    if proposal.state.value not in APPROVED or proposal.held:
        raise ConflictError(f"proposal {proposal.id} is not to be done: it is {proposal.state.value}")
    return Move(Op.EXECUTING, State.EXECUTING)


def held(proposal: Proposal) -> Move | None:
    """After a restore nothing is done before a person has looked. None for what waits for nothing any more."""
    if proposal.held or (proposal.state is not State.PROPOSED and proposal.state.value not in APPROVED):
        return None
    return Move(Op.HELD, proposal.state, held=True)


def released(proposal: Proposal) -> Move:
    """A person looked: it may go on. Raises `ConflictError` for one that is not held."""
    if not proposal.held:
        raise ConflictError(f"proposal {proposal.id} is not held")
    return Move(Op.RELEASED, proposal.state, held=False)


def done(proposal: Proposal, result: str | None) -> Move:
    _must_be(proposal, State.EXECUTING)
    return Move(Op.EXECUTED, State.EXECUTED, result=result)


def failed(proposal: Proposal, failure: Failure) -> Move:
    if proposal.state not in (State.EXECUTING, State.PROPOSED) and proposal.state.value not in APPROVED:
        raise ConflictError(f"proposal {proposal.id} cannot fail any more: it is {proposal.state.value}")
    return Move(Op.FAILED, State.FAILED, failure=failure)


def resolved(proposal: Proposal, person: PersonId, *, happened: bool) -> Move:
    """A person looked whether an uncertain one took effect. Raises `ConflictError`."""
    if proposal.state is not State.FAILED or proposal.failure is not Failure.UNCERTAIN:
        raise ConflictError("only what may or may not have happened can be resolved")
    if happened:
        return Move(Op.RESOLVED, State.EXECUTED, failure=Failure.UNCERTAIN, resolved_by=person)
    return Move(Op.RESOLVED, State.FAILED, failure=Failure.REFUSED, resolved_by=person)


def reversed_(proposal: Proposal, person: PersonId, severity: Severity, *, undone: bool) -> Move:
    """It was undone; or it could not be, and stays executed with an event that says so."""
    _must_be(proposal, State.EXECUTED)
    if undone:
        return Move(Op.REVERSED, State.REVERSED, severity=severity, resolved_by=person)
    return Move(Op.REVERSAL_FAILED, State.EXECUTED, severity=severity, resolved_by=person)


def bounced(proposal: Proposal) -> Move:
    """What was sent came back. It stays done, which cannot be undone; that it did not arrive is noted."""
    if proposal.state is State.EXECUTING:  # other parts of it are still on their way
        return Move(Op.BOUNCED, State.EXECUTING)
    _must_be(proposal, State.EXECUTED)
    return Move(Op.BOUNCED, State.EXECUTED, failure=Failure.REFUSED)


def _approved(proposed: Payload, final: Payload) -> State:
    return State.APPROVED_UNCHANGED if digest(proposed) == digest(final) else State.APPROVED_WITH_EDIT


def _may_decide(proposal: Proposal, person: PersonId, shown: str, now: datetime) -> None:
    if person not in proposal.approvers:
        raise RefusedError(Refused.NOT_AN_APPROVER, "This is not yours to decide.")
    if proposal.state is not State.PROPOSED:
        raise _decided(proposal)
    if now >= proposal.expires_at:
        raise RefusedError(Refused.EXPIRED, "The time to decide this is over; it counts as not answered.")
    if shown != proposal.hash:
        raise RefusedError(Refused.CHANGED, "It was edited since you were shown it: look at the newest version.")


def _decided(proposal: Proposal) -> RefusedError:
    told = {
        State.REJECTED: "It was rejected already.",
        State.AUTO_NO_RESPONSE: "Nobody answered in time: it was not done.",
        State.WITHDRAWN: "It was withdrawn.",
        State.EXECUTED: "It is done already.",
        State.REVERSED: "It was done, and undone again.",
        State.FAILED: "It was approved, and failed.",
    }
    return RefusedError(Refused.DECIDED, told.get(proposal.state, "It was approved already."))


def _must_be(proposal: Proposal, state: State) -> None:
    if proposal.state is not state:
        raise ConflictError(f"proposal {proposal.id} is {proposal.state.value}, not {state.value}")
