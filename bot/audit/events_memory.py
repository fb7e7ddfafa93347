"""Events of memory: what was learned, changed, shown and forgotten. Statements and reasons are the record's text."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from bot.audit.events import Payload
from bot.kernel.ids import ClaimId, MessageId, TaskId
from bot.kernel.values import dataclass


@dataclass(frozen=True, slots=True)
class ExtractionQueued(Payload):
    type = "extraction_queued"
    task: TaskId


@dataclass(frozen=True, slots=True)
class ExtractionFinished(Payload):
    """What a turn's reading brought. All numbers zero: it was read, and there was nothing to remember."""

    type = "extraction_finished"
    task: TaskId
    model: str
    prompt: int
    """Version of the prompt or of the rules."""
    proposed: int
    written: int
    confirmed: int
    held: int
    refused: int


@dataclass(frozen=True, slots=True)
class ExtractionFailed(Payload):
    type = "extraction_failed"
    task: TaskId
    attempt: int
    error: str
    final: bool
    """It is not tried again by itself."""


@dataclass(frozen=True, slots=True)
class MemoryWritten(Payload):
    type = "memory_written"
    claim: ClaimId
    kind: StrEnum
    status: StrEnum
    held: tuple[StrEnum, ...]
    trust: StrEnum
    messages: tuple[MessageId, ...]


@dataclass(frozen=True, slots=True)
class MemoryConfirmed(Payload):
    """Said again: more evidence, nothing new."""

    type = "memory_confirmed"
    claim: ClaimId
    version: int
    messages: tuple[MessageId, ...]


@dataclass(frozen=True, slots=True)
class MemoryAccepted(Payload):
    """A person said yes to what waited."""

    type = "memory_accepted"
    claim: ClaimId
    version: int


@dataclass(frozen=True, slots=True)
class MemoryEdited(Payload):
    type = "memory_edited"
    claim: ClaimId
    version: int


@dataclass(frozen=True, slots=True)
class MemorySuperseded(Payload):
    type = "memory_superseded"
    claim: ClaimId
    version: int
    by: ClaimId
    merged: bool
    """It told the same as the other one."""


@dataclass(frozen=True, slots=True)
class MemoryDisputed(Payload):
    type = "memory_disputed"
    claim: ClaimId
    version: int
    by: ClaimId | None
    """The claim that says otherwise; None: a person disputes it."""


@dataclass(frozen=True, slots=True)
class MemorySettled(Payload):
    type = "memory_settled"
    claim: ClaimId
    version: int


@dataclass(frozen=True, slots=True)
class MemoryRetracted(Payload):
    type = "memory_retracted"
    claim: ClaimId
    version: int


@dataclass(frozen=True, slots=True)
class MemoryRestored(Payload):
    type = "memory_restored"
    claim: ClaimId
    version: int
    status: StrEnum


@dataclass(frozen=True, slots=True)
class MemoryPromoted(Payload):
    type = "memory_promoted"
    claim: ClaimId
    version: int
    step: Literal["asked", "promoted", "declined", "taken_back"]


@dataclass(frozen=True, slots=True)
class MemoryWork(Payload):
    """How an initiative stands, who owns it, or when it is due."""

    type = "memory_work"
    claim: ClaimId
    version: int
    work: StrEnum | None


@dataclass(frozen=True, slots=True)
class MemorySource(Payload):
    """The message that it rests on was edited or deleted, or stands as it did."""

    type = "memory_source"
    claim: ClaimId
    version: int
    source: StrEnum


@dataclass(frozen=True, slots=True)
class MemoryErased(Payload):
    type = "memory_erased"
    claim: ClaimId
    version: int


@dataclass(frozen=True, slots=True)
class MemoryForgotten(Payload):
    """Memories were made to vanish with everything that tells the same; `rows`: how many rows lost words. Nobody can
    read them any more; their bytes leave the files later (`erasure_done`)."""

    type = "memory_forgotten"
    claims: tuple[ClaimId, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class MemoryViewed(Payload):
    """A person read memories outside a turn: on the command line, by the API, on a page."""

    type = "memory_viewed"
    door: Literal["command", "cli", "api", "export", "web"]
    claims: tuple[ClaimId, ...]


@dataclass(frozen=True, slots=True)
class MemorySnapshot(Payload):
    """What stood before the model in a turn, and how well it fitted."""

    type = "memory_snapshot"
    way: Literal["block", "recall", "read"]
    claims: tuple[ClaimId, ...]
    versions: tuple[int, ...]
    scores: tuple[int, ...]
    """Of the fusion, in millionths; 0 for what is always shown."""
    messages: tuple[MessageId, ...]
    """Turns of the session that a search showed."""
    left_out: int
    """Claims that would have been shown, had there been room."""
