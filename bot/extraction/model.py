"""What extraction works on: what was heard, what is proposed to be remembered, and what is decided about it. Values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import date, datetime
from enum import StrEnum

from bot.kernel.ids import ClaimId, MessageId, PersonId, SessionId, TurnId
from bot.kernel.values import dataclass
from bot.memory.model import EXECUTIVE, Claim, Evidence, Held, Kind, Trust, Work
from bot.sessions.audience import Audience

RULES = "rules"
RULES_VERSION = 1
"""What stands as the model of a turn that no language model was asked about; the version counts up with the rules."""
LONGEST_STATEMENT = 500
LONGEST_QUOTE = 600
MOST_CANDIDATES = 20
"""Of one turn; further ones are refused."""


@dataclass(frozen=True, slots=True)
class Heard:
    """One message as it stands, and what code (never a model) says of it."""

    message: MessageId
    text: str
    own: tuple[tuple[int, int], ...]
    """Half-open spans of the writer's own words, in code points, in order."""
    speaker: str
    """Person id, `executive`, or an account of nobody known."""
    name: str
    """As people call the speaker."""
    trust: Trust
    said_at: datetime
    """Of the words as they are: of the last edit, if there was one."""
    zone: str
    """IANA name of the speaker's time zone."""

    @property
    def by_executive(self) -> bool:
        return self.speaker == EXECUTIVE


@dataclass(frozen=True, slots=True)
class Quote:
    message: str
    """As the proposer named it: it may be no message at all."""
    text: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that may be worth remembering, as rules or a model propose it. Nothing in it is believed yet."""

    kind: Kind
    statement: str
    quotes: tuple[Quote, ...]
    subject: str = ""
    """`entity/attribute`; empty: to be made of the statement."""
    rationale: str | None = None
    outcome: str | None = None
    domain: str | None = None
    department: str | None = None
    owner: PersonId | None = None
    owner_name: str | None = None
    """As it was written, where it names nobody of the roster, or could name several."""
    due: date | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    work: Work | None = None
    amends: bool = False
    """It takes the place of what the same speaker said on this subject, whose words need not be said again."""
    withdraws: bool = False
    """What the same speaker said on this subject no longer holds, and nothing takes its place."""
    keyed: bool = False
    """The subject was made of these very words by code: it need not be looked for in them."""
    progress: bool = False
    """It tells how an initiative of this subject stands, not anew what it is."""
    confidence: float = 0.8


class Why(StrEnum):
    """Why a candidate is refused. Kept as a count and in the audit's record."""

    SHAPE = "shape"  # no statement, no quote, too long
    TOO_MANY = "too_many"
    NOT_SAID = "not_said"  # the quote does not stand in a message of the turn
    NOT_OWN = "not_own"  # it stands in quoted or forwarded words only
    MIXED = "mixed"  # quotes of several speakers
    NOT_ENTITLED = "not_entitled"  # the speaker cannot assert it
    UNSUPPORTED = "unsupported"  # the quote has nothing to do with it
    FORGOTTEN = "forgotten"  # it was forgotten, and these words are older than that
    KNOWN = "known"  # it stands already, and these words may not add to it
    OVERTAKEN = "overtaken"  # the same speaker said something later
    RETRACTED = "retracted"  # it was taken back after these words were said


@dataclass(frozen=True, slots=True)
class Room:
    """Where, and for whom, the turn was."""

    session: SessionId
    turn: TurnId
    history_epoch: int
    audience_epoch: int
    audience: Audience
    heard_at: datetime
    tainted: bool
    """The turn has read untrusted text: nothing of it stands by itself."""
    tainted_before: bool = False
    """An earlier turn of the session has: the executive's own advice may repeat it, people's own words do not."""


@dataclass(frozen=True, slots=True)
class Known:
    """What admission may lean on besides the messages."""

    standing: Sequence[Claim] = ()
    """Claims that stand or wait in the same session and audience epoch, and where the whole company reads, those of
    the company; oldest first."""
    people: Mapping[PersonId, str] = field(default_factory=dict)
    """Names of the roster's people."""
    domains: frozenset[str] = frozenset()
    departments: frozenset[str] = frozenset()
    retracted: Sequence[Claim] = ()
    """Claims of the session and audience epoch that were taken back."""


# --- decisions --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Write:
    """A new claim. Held ones are pending."""

    claim: Claim
    evidence: tuple[Evidence, ...]
    supersedes: tuple[ClaimId, ...] = ()
    disputes: tuple[ClaimId, ...] = ()
    """Claims of other speakers that say otherwise: both sides are marked."""
    ends: tuple[ClaimId, ...] = ()
    """Claims of the same speaker that hold until this one begins to."""

    @property
    def held(self) -> tuple[Held, ...]:
        return self.claim.held


@dataclass(frozen=True, slots=True)
class Confirm:
    """It is known: these words are further evidence. `replaces`: what the same speaker said otherwise before."""

    claim: ClaimId
    evidence: tuple[Evidence, ...]
    replaces: tuple[ClaimId, ...] = ()
    settles: bool = False
    """Nobody says otherwise any more."""


@dataclass(frozen=True, slots=True)
class Progress:
    """An initiative stands differently now, or has another owner or day."""

    claim: ClaimId
    evidence: tuple[Evidence, ...]
    work: Work | None = None
    owner: PersonId | None = None
    owner_name: str | None = None
    due: date | None = None


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Its own speaker takes it back."""

    claim: ClaimId
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Refuse:
    candidate: Candidate
    why: Why


Decision = Write | Confirm | Progress | Withdraw | Refuse
