"""What a proposal is, and which moves are legal. Values only."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from bot.kernel.errors import PermanentError
from bot.kernel.ids import ClaimId, PersonId, ProposalId, SessionId, TurnId
from bot.kernel.values import dataclass


class State(StrEnum):
    PROPOSED = "proposed"
    APPROVED_UNCHANGED = "approved_unchanged"
    APPROVED_WITH_EDIT = "approved_with_edit"
    AUTO_APPROVED = "auto_approved"  # the class is in automatic mode; counts in no approval rate
    REJECTED = "rejected"
    AUTO_NO_RESPONSE = "auto_no_response"  # what silence becomes at expiry; not a rejection
    WITHDRAWN = "withdrawn"
    EXECUTING = "executing"
    EXECUTED = "executed"
    FAILED = "failed"
    REVERSED = "reversed"


APPROVED = (State.APPROVED_UNCHANGED.value, State.APPROVED_WITH_EDIT.value, State.AUTO_APPROVED.value)

TRANSITIONS: Mapping[State, frozenset[State]] = {
    State.PROPOSED: frozenset(
        {
            State.APPROVED_UNCHANGED,
            State.APPROVED_WITH_EDIT,
            State.AUTO_APPROVED,
            State.REJECTED,
            State.AUTO_NO_RESPONSE,
            State.WITHDRAWN,
            State.FAILED,
        }
    ),
    State.APPROVED_UNCHANGED: frozenset({State.EXECUTING, State.FAILED, State.WITHDRAWN}),
    State.APPROVED_WITH_EDIT: frozenset({State.EXECUTING, State.FAILED, State.WITHDRAWN}),
    State.AUTO_APPROVED: frozenset({State.EXECUTING, State.FAILED, State.PROPOSED, State.WITHDRAWN}),
    State.EXECUTING: frozenset({State.EXECUTED, State.FAILED}),
    State.FAILED: frozenset({State.EXECUTED, State.FAILED}),  # an uncertain one, by a person who looked
    State.EXECUTED: frozenset({State.REVERSED}),
    State.REJECTED: frozenset(),
    State.AUTO_NO_RESPONSE: frozenset(),
    State.WITHDRAWN: frozenset(),
    State.REVERSED: frozenset(),
}
"""The legal moves of `state`; the database holds them too (a trigger made of this table)."""


class Op(StrEnum):
    """What was done to a proposal: the vocabulary of its events."""

    MADE = "made"
    SHOWN = "shown"  # an approver has got it
    REMINDED = "reminded"
    VOTED = "voted"
    REVISED = "revised"  # another payload; earlier votes no longer count
    DECIDED = "decided"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    RETURNED = "returned"  # automatic mode was taken away before it was executed
    EXECUTING = "executing"
    EXECUTED = "executed"
    FAILED = "failed"
    RESOLVED = "resolved"  # a person said what became of an uncertain one
    REVERSED = "reversed"
    REVERSAL_FAILED = "reversal_failed"
    BOUNCED = "bounced"  # what was sent came back: it did not arrive
    HELD = "held"  # after a restore: in the life that was lost it may have been done
    RELEASED = "released"  # a person looked
    REDACTED = "redacted"  # words in it were forgotten


class Mode(StrEnum):
    PROPOSE = "propose"
    AUTO_EXECUTE = "auto_execute"


class Verdict(StrEnum):
    APPROVE = "approve"
    REJECT = "reject"


class Failure(StrEnum):
    """Why an action failed."""

    REFUSED = "refused"  # the far end, or a guard, said no
    UNCERTAIN = "uncertain"  # it cannot be known whether it took effect; never tried again by itself
    INVALID = "invalid"  # what was approved can no longer be done like that


class Severity(StrEnum):
    """Of a reversal."""

    MINOR = "minor"
    SERIOUS = "serious"
    GRAVE = "grave"


Payload = Mapping[str, object]
"""What an action needs, as JSON: strings, numbers, booleans, lists and mappings."""


def canonical(payload: Payload) -> dict[str, object]:
    """The payload with its keys in order, as it is stored: equal contents are equal texts. Raises `TypeError` for what
    JSON cannot hold."""
    found: dict[str, object] = json.loads(json.dumps(payload, sort_keys=True))
    return found


def digest(payload: Payload) -> str:
    """Of exactly what is shown and done: SHA-256 (hex) of its canonical JSON."""
    text = json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


class ConflictError(PermanentError):
    """Somebody was quicker, or the proposal is not what the person was shown."""


@dataclass(frozen=True, slots=True)
class Vote:
    person: PersonId
    verdict: Verdict
    digest: str
    """Of the payload that the person was shown."""
    at: datetime


@dataclass(frozen=True, slots=True)
class Proposal:
    id: ProposalId
    action: str
    """Its class, like `send_email`."""
    proposed: Payload
    final: Payload
    """What will be done; differs from `proposed` once it was edited."""
    hash: str
    """`digest(final)`."""
    key: str
    """Idempotency: one proposal a key."""
    session: SessionId | None
    turn: TurnId | None
    asked_by: PersonId | None
    """On whose behalf."""
    department: str | None
    approvers: tuple[PersonId, ...]
    """Who may decide, the first one asked first."""
    two_persons: bool
    votes: tuple[Vote, ...]
    """Of the current payload."""
    rests_on: tuple[ClaimId, ...]
    reason: str
    confidence: float | None
    tainted: bool
    """The session had read text that may try to give orders: never automatic."""
    state: State
    failure: Failure | None
    decided_by: PersonId | None
    resolved_by: PersonId | None
    severity: Severity | None
    made_at: datetime
    expires_at: datetime
    decided_at: datetime | None
    ended_at: datetime | None
    result: str | None
    """Where the effect can be found: the outbox row, the schedule."""
    held: bool
    """After a restore: a person looks first."""
    version: int
    """From 1; every move counts it up and has its event."""

    @property
    def came_back(self) -> bool:
        """It was sent, and did not arrive."""
        return self.state is State.EXECUTED and self.failure is Failure.REFUSED


@dataclass(frozen=True, slots=True)
class Class:
    """A kind of action and how it is treated."""

    action: str
    mode: Mode
    changed_at: datetime
    changed_by: str
    because: str
