"""Events of the ledger and the scheduler. What is proposed, and why, is the record's text."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from bot.audit.events import Payload
from bot.kernel.ids import ClaimId, JobId, OutboxId, PersonId, ProposalId
from bot.kernel.values import dataclass


@dataclass(frozen=True, slots=True)
class ProposalMade(Payload):
    type = "proposal_made"
    proposal: ProposalId
    action: str
    hash: str
    approvers: tuple[PersonId, ...]
    rests_on: tuple[ClaimId, ...]
    tainted: bool
    automatic: bool


@dataclass(frozen=True, slots=True)
class ProposalShown(Payload):
    """An approver has got it, or was reminded of it."""

    type = "proposal_shown"
    proposal: ProposalId
    person: PersonId
    channel: str
    hash: str
    reminder: bool


@dataclass(frozen=True, slots=True)
class ProposalVoted(Payload):
    type = "proposal_voted"
    proposal: ProposalId
    verdict: StrEnum
    hash: str
    channel: str


@dataclass(frozen=True, slots=True)
class ProposalRevised(Payload):
    """Its content was edited; earlier votes count no more."""

    type = "proposal_revised"
    proposal: ProposalId
    before: str
    hash: str


@dataclass(frozen=True, slots=True)
class ProposalDecided(Payload):
    type = "proposal_decided"
    proposal: ProposalId
    state: StrEnum
    hash: str


@dataclass(frozen=True, slots=True)
class ProposalNoResponse(Payload):
    type = "proposal_no_response"
    proposal: ProposalId


@dataclass(frozen=True, slots=True)
class ProposalWithdrawn(Payload):
    type = "proposal_withdrawn"
    proposal: ProposalId


@dataclass(frozen=True, slots=True)
class ProposalReturned(Payload):
    """What was approved automatically waits for a person: automatic mode was taken away before it was done."""

    type = "proposal_returned"
    proposal: ProposalId


@dataclass(frozen=True, slots=True)
class ProposalRefused(Payload):
    """Somebody pressed or answered who may not, or with what is no longer so."""

    type = "proposal_refused"
    proposal: ProposalId
    channel: str
    because: Literal["not_an_approver", "not_proven", "changed", "decided", "expired", "used"]


@dataclass(frozen=True, slots=True)
class ProposalHeld(Payload):
    """After a restore it waits for a person's look; or one has looked."""

    type = "proposal_held"
    proposal: ProposalId
    held: bool


@dataclass(frozen=True, slots=True)
class ActionStarted(Payload):
    type = "action_started"
    proposal: ProposalId
    action: str
    hash: str


@dataclass(frozen=True, slots=True)
class ActionExecuted(Payload):
    type = "action_executed"
    proposal: ProposalId
    action: str
    hash: str
    by_person: bool
    """A person found that an uncertain one had taken effect."""


@dataclass(frozen=True, slots=True)
class ActionFailed(Payload):
    type = "action_failed"
    proposal: ProposalId
    action: str
    failure: StrEnum


@dataclass(frozen=True, slots=True)
class ActionReversed(Payload):
    """`done` false: it could not be undone, and stays as it is."""

    type = "action_reversed"
    proposal: ProposalId
    action: str
    severity: StrEnum
    done: bool


@dataclass(frozen=True, slots=True)
class ActionBounced(Payload):
    """What was sent came back: it did not arrive."""

    type = "action_bounced"
    proposal: ProposalId
    action: str


@dataclass(frozen=True, slots=True)
class BreakerTripped(Payload):
    type = "breaker_tripped"
    action: str
    reversed: int
    of: int
    severity: StrEnum | None
    returned: int
    """Proposals that went back to wait for a person."""


@dataclass(frozen=True, slots=True)
class ClassModeChanged(Payload):
    type = "class_mode_changed"
    action: str
    mode: StrEnum


@dataclass(frozen=True, slots=True)
class ScheduleCreated(Payload):
    type = "schedule_created"
    job: JobId
    kind: StrEnum
    proposal: ProposalId | None


@dataclass(frozen=True, slots=True)
class ScheduleChanged(Payload):
    type = "schedule_changed"
    job: JobId
    change: Literal[
        "edited",
        "paused",
        "resumed",
        "removed",
        "hurried",
        "done",
        "paused_by_failures",
        "stopped",
        "started",
        "handed_over",
    ]
    """`stopped` and `started`: an operator stopped all firing, or let it go on (`job` is empty then)."""


@dataclass(frozen=True, slots=True)
class ScheduleFired(Payload):
    type = "schedule_fired"
    job: JobId
    kind: StrEnum
    run: StrEnum
    delivery: StrEnum
    late_seconds: int
    fence: int
    outbox: OutboxId | None


@dataclass(frozen=True, slots=True)
class ScheduleSkipped(Payload):
    type = "schedule_skipped"
    job: JobId
    late_seconds: int
    count: int
    """Instants that were skipped with it."""


@dataclass(frozen=True, slots=True)
class SchedulerGateTaken(Payload):
    type = "scheduler_gate_taken"
    holder: str
    fence: int


@dataclass(frozen=True, slots=True)
class SchedulerGateLost(Payload):
    type = "scheduler_gate_lost"
    holder: str
    fence: int
    occurrences: int
    """Whose outcome came too late and was refused."""
