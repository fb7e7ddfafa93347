"""What a claim is, and which moves are legal. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from enum import StrEnum
from typing import Literal

from bot.kernel.errors import PermanentError
from bot.kernel.ids import ClaimId, EvidenceId, MessageId, PersonId, SessionId, TurnId
from bot.kernel.values import dataclass

EXECUTIVE = "executive"
"""The speaker of advice."""
HANDLE = 6
"""Last characters of an id, by which people and the model name a claim: random ones, unique enough in what one sees."""


class Kind(StrEnum):
    DECISION = "decision"
    INITIATIVE = "initiative"
    ADVICE = "advice"  # said by the executive; evidenced by its own reply, asserts nothing about others
    FACT = "fact"
    PREFERENCE = "preference"


class Status(StrEnum):
    """Whether it is believed."""

    PENDING = "pending"  # waits for a person; shown to nobody but in review
    ACTIVE = "active"
    DISPUTED = "disputed"  # two speakers say different things; both are shown, marked
    SUPERSEDED = "superseded"
    RETRACTED = "retracted"
    ERASED = "erased"  # an empty shell


STANDING = (Status.ACTIVE.value, Status.DISPUTED.value)
OPEN = (Status.PENDING.value, *STANDING)

TRANSITIONS: Mapping[Status, frozenset[Status]] = {
    Status.PENDING: frozenset({Status.ACTIVE, Status.DISPUTED, Status.RETRACTED, Status.ERASED}),
    Status.ACTIVE: frozenset({Status.DISPUTED, Status.SUPERSEDED, Status.RETRACTED, Status.ERASED}),
    Status.DISPUTED: frozenset({Status.ACTIVE, Status.SUPERSEDED, Status.RETRACTED, Status.ERASED}),
    Status.SUPERSEDED: frozenset({Status.ACTIVE, Status.RETRACTED, Status.ERASED}),
    Status.RETRACTED: frozenset({Status.ACTIVE, Status.PENDING, Status.ERASED}),
    Status.ERASED: frozenset(),
}
"""The legal moves of `status`; the database holds them too (a trigger made of this table)."""


class Visibility(StrEnum):
    SESSION = "session"
    COMPANY = "company"


class Work(StrEnum):
    """How an initiative stands; says nothing about belief."""

    PROPOSED = "proposed"
    ACTIVE = "active"
    BLOCKED = "blocked"
    COMPLETED = "completed"
    DROPPED = "dropped"


class Source(StrEnum):
    """Whether the words that it rests on still stand."""

    FRESH = "fresh"
    EDITED = "edited"  # the message was changed since; shown with that mark
    DELETED = "deleted"  # its writer deleted the message; shown in review only, until a person keeps or forgets it


class Support(StrEnum):
    NONE = "none"
    QUOTE = "quote"  # a verbatim quote stands in the speaker's own words
    JUDGE = "judge"
    PERSON = "person"  # a person wrote it or confirmed it


class Trust(StrEnum):
    """Where the words come from, from most to least; set by code, and a claim has the least of its evidence."""

    PROVEN = "proven"  # own words of a proven person of the company
    OWN = "own"  # the executive's own reply
    GUEST = "guest"
    UNPROVEN = "unproven"
    FOREIGN = "foreign"  # a file, a tool, quoted or forwarded text

    @property
    def rank(self) -> int:
        return list(Trust).index(self)


class Held(StrEnum):
    """Why a claim waits for a person."""

    AUTHORITY = "authority"  # who may decide, approve or instruct
    PAYMENT = "payment"
    RECIPIENT = "recipient"  # where things are to be sent, accounts and addresses
    INSTRUCTION = "instruction"  # reads like an order to the executive itself
    SECRET = "secret"  # noqa: S105 - a reason, not one
    UNTRUSTED = "untrusted"  # a guest's, or unproven
    TAINTED = "tainted"  # the session has read untrusted text
    FORGOTTEN = "forgotten"  # something like it was forgotten before
    UNSUPPORTED = "unsupported"  # the words do not carry it wholly
    OUTRANKED = "outranked"  # a person corrected what stands on this subject
    PROMOTION = "promotion"  # a member wants it seen by the company


class Op(StrEnum):
    """What was done to a claim: the vocabulary of its events."""

    WRITTEN = "written"
    CONFIRMED = "confirmed"  # said again; new evidence
    ACCEPTED = "accepted"  # pending became active by a person
    EDITED = "edited"
    SUPERSEDED = "superseded"
    MERGED = "merged"  # a duplicate, told by another claim now
    DISPUTED = "disputed"
    SETTLED = "settled"  # a dispute ended in its favour
    RETRACTED = "retracted"
    RESTORED = "restored"
    PROMOTION_ASKED = "promotion_asked"
    PROMOTED = "promoted"
    DEMOTED = "demoted"
    WORK_CHANGED = "work_changed"
    SOURCE_CHANGED = "source_changed"  # its message was edited or deleted, or stands again
    ERASED = "erased"


class ConflictError(PermanentError):
    """The claim is not as it was when the person looked at it, or the move is not legal from where it stands."""


@dataclass(frozen=True, slots=True)
class Author:
    """Who put the statement into words."""

    kind: Literal["extractor", "person"]
    name: str
    """Model and version of the prompt, like `claude-haiku-5-5/1`; a person's id."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Words of one message that a claim rests on."""

    id: EvidenceId
    message: MessageId
    start: int
    end: int
    """Half-open, in code points of the message's text as it was."""
    quote: str
    digest: str
    """SHA-256 (hex) of the whole text of the message as it was."""
    speaker: str
    """Person id, `executive`, or an account of nobody known."""
    trust: Trust
    said_at: datetime


@dataclass(frozen=True, slots=True)
class Claim:
    id: ClaimId
    kind: Kind
    statement: str
    rationale: str | None
    outcome: str | None
    domain: str | None
    """A specialist's field, by name."""
    department: str | None
    subject: str
    """Normalised `entity/attribute`."""
    speaker: str
    """Person id of who asserts it; `executive` for advice."""
    session: SessionId
    turn: TurnId | None
    """The turn whose reading brought it; None if a person wrote it by hand."""
    history_epoch: int
    audience_epoch: int
    visibility: Visibility
    status: Status
    held: tuple[Held, ...]
    source: Source
    support: Support
    trust: Trust
    confidence: float
    """0 to 1."""
    work: Work | None
    """Of initiatives, and of nothing else."""
    owner: PersonId | None
    due: date | None
    said_at: datetime
    """When the words were written: what supersedes what follows this time, not when it was read."""
    heard_at: datetime
    """When they reached us: who was in the room then may see it."""
    valid_from: datetime | None
    valid_to: datetime | None
    """When it is true in the world; half-open; None: not told."""
    recorded_at: datetime
    retired_at: datetime | None
    """When we knew it; set when it stops standing."""
    touched_at: datetime
    """When it was last said, confirmed or changed."""
    replaced_by: ClaimId | None
    author: Author
    by_person: bool
    """A person put it into words or corrected it: the extractor never changes it again."""
    promotion_by: PersonId | None
    """Who put it before the principals, while they have not decided: of what stands, that the company may see it; of
    what waits, that it is believed."""
    version: int
    """From 1; every change counts it up and has its event."""
    owner_name: str | None = None
    """Who owns an initiative, as it was written, where that is nobody of the roster (or could be several)."""

    @property
    def standing(self) -> bool:
        return self.status.value in STANDING

    @property
    def handle(self) -> str:
        return self.id[-HANDLE:]


@dataclass(frozen=True, slots=True)
class Event:
    """One change of a claim. Texts are None once erased."""

    seq: int
    claim: ClaimId
    version: int
    op: Op
    actor_kind: str
    actor: str
    at: datetime
    reason: str | None
    before: Mapping[str, object] | None
    after: Mapping[str, object] | None
    """The fields that changed, by name, as they were and are."""
