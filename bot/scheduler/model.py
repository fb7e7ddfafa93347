"""What a job and its occurrence are. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum

from bot.kernel.ids import JobId, PersonId, SessionId
from bot.kernel.values import dataclass


class Kind(StrEnum):
    REMINDER = "reminder"
    QUESTION = "question"  # put to the executive in a session
    CHECK_IN = "check_in"  # of a department
    MORNING_BRIEF = "morning_brief"
    EVENING_BRIEF = "evening_brief"
    WEEKLY_REVIEW = "weekly_review"
    COMMITMENT = "commitment"  # follow-up of one that is due
    NUDGE = "nudge"  # something waits for a person
    UPKEEP = "upkeep"


class JobState(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    DONE = "done"  # a one-shot that has fired, or a rule without any more instants
    REMOVED = "removed"


class Run(StrEnum):
    """What became of an occurrence."""

    CLAIMED = "claimed"
    DONE = "done"
    NOTHING = "nothing"  # it ran, and there was nothing to say
    SKIPPED = "skipped"  # missed while down, longer ago than the job's grace
    FAILED = "failed"


UNSOLICITED = frozenset(
    {Kind.CHECK_IN, Kind.MORNING_BRIEF, Kind.EVENING_BRIEF, Kind.WEEKLY_REVIEW, Kind.COMMITMENT, Kind.NUDGE}
)
"""Off until a person chooses them; at most `MOST_UNSOLICITED` messages a day and person."""
MOST_UNSOLICITED = 2


class Delivery(StrEnum):
    """What became of its message: a fact of its own."""

    NONE = "none"
    QUEUED = "queued"
    SENT = "sent"
    FAILED = "failed"
    UNCERTAIN = "uncertain"


@dataclass(frozen=True, slots=True)
class Cron:
    """Five fields, or six with seconds, as cron(5): minute hour day month weekday, 0 and 7 are Sunday."""

    text: str


@dataclass(frozen=True, slots=True)
class Once:
    at: datetime


@dataclass(frozen=True, slots=True)
class Every:
    """Follows elapsed time."""

    interval: timedelta
    since: datetime


Rule = Cron | Once | Every


@dataclass(frozen=True, slots=True)
class Job:
    id: JobId
    kind: Kind
    title: str
    rule: Rule
    zone: str
    """IANA name; a fixed local time is that of this zone."""
    owner: PersonId | None
    """None: the daemon's own upkeep."""
    session: SessionId | None
    """Where it speaks, and whose scope it reads with."""
    payload: Mapping[str, object]
    grace: timedelta
    """Missed by more than this while down, it is skipped."""
    state: JobState
    next_at: datetime | None
    failures: int
    """In a row; too many pause it."""
    made_at: datetime
    paused_because: str | None
    version: int


@dataclass(frozen=True, slots=True)
class Occurrence:
    job: JobId
    at: datetime
    run: Run
    delivery: Delivery
    fence: int
    """Token of the gate under which it was claimed."""
    attempts: int
    """Processes that have begun it."""
    started_at: datetime
    ended_at: datetime | None
    note: str | None
    outbox: str | None
