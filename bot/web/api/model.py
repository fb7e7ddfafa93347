"""What is asked and answered over the API, as frozen models: unknown fields are refused, nothing is guessed."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from bot.kernel.faults import A_DAY, AN_INSTANT
from bot.memory.model import Kind, Source, Status, Support, Trust, Visibility, Work

MOST = 200
"""Memories on a page."""


class Model(BaseModel):
    # Built when it is first needed: most daemons are never asked.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def _day_or_instant(given: object) -> date | datetime:
    if isinstance(given, str):
        try:
            if _DAY.fullmatch(given):
                return date.fromisoformat(given)
            at = datetime.fromisoformat(given)
            if at.tzinfo is not None:
                return at.astimezone(UTC)
        except (ValueError, OverflowError):
            pass
    raise ValueError(f"has to be {A_DAY}, or {AN_INSTANT} (with a + written as %2B)")


Moment = Annotated[
    date | datetime,
    BeforeValidator(_day_or_instant),
    WithJsonSchema({"anyOf": [{"type": "string", "format": "date"}, {"type": "string", "format": "date-time"}]}),
]
"""A day is the person's own, in their zone; which instant of it is meant, its field says."""


class Problem(Model):
    """Every refusal."""

    code: str
    message: str


# --- asked ------------------------------------------------------------------------------------------------------------


class MemoryQuery(Model):
    kind: tuple[Kind, ...] = ()
    status: tuple[Status, ...] = ()
    department: str | None = Field(None, max_length=200)
    domain: str | None = Field(None, max_length=200)
    speaker: str | None = Field(None, max_length=200)
    owner: str | None = Field(None, max_length=200)
    since: Moment | None = Field(None, description="said at this instant or later, or on this day or later")
    until: Moment | None = Field(None, description="said before this instant, or up to this day, it included")
    q: str | None = Field(None, max_length=200, description="words that stand in the statement")
    as_of: Moment | None = Field(
        None, description="what was true in the world at this instant, or at the end of this day"
    )
    known: Moment | None = Field(None, description="what was known at this instant, or at the end of this day")
    asked: bool = Field(False, description="only those that somebody has put before the principals")
    limit: int = Field(50, ge=1, le=MOST)
    before: int | None = Field(None, ge=1, le=2**62, description="`next` of the page before")


class Reasoned(Model):
    reason: str = Field(max_length=500, description="why; it is kept with the memory")
    version: int | None = Field(None, ge=1, description="as it was seen; 409 if it is another by now")


class MemoryChange(Model):
    """Only what is given is changed; all of it, or nothing."""

    reason: str = Field(max_length=500, description="why; it is kept with the memory")
    version: int = Field(ge=1, description="as it was seen; 409 if it is another by now")
    statement: str | None = Field(None, max_length=4_000)
    work: Work | None = None
    owner: str | None = Field(None, max_length=200, description="id of a person; null: nobody")
    due: date | None = None
    status: Literal["active", "disputed", "retracted"] | None = Field(
        None, description="`active` accepts, settles or restores, `retracted` takes back or rejects"
    )


# --- answered ---------------------------------------------------------------------------------------------------------


class Memory(Model):
    id: str
    handle: str
    kind: Kind
    statement: str
    rationale: str | None
    outcome: str | None
    domain: str | None
    department: str | None
    subject: str
    speaker: str
    speaker_name: str
    session: str | None
    """Null for who was not there."""
    visibility: Visibility
    status: Status
    held: tuple[str, ...]
    source: Source
    support: Support
    trust: Trust
    confidence: float
    work: Work | None
    owner: str | None
    owner_name: str | None
    """As it was written, where it names nobody of the roster."""
    due: date | None
    said_at: AwareDatetime
    recorded_at: AwareDatetime
    retired_at: AwareDatetime | None
    touched_at: AwareDatetime
    valid_from: AwareDatetime | None
    valid_to: AwareDatetime | None
    replaced_by: str | None
    author: str
    by_person: bool
    promotion_by: str | None
    version: int


class MemoryPage(Model):
    memories: tuple[Memory, ...]
    next: int | None
    """For `before`; null on the last page."""


class Quote(Model):
    message: str
    quote: str
    speaker: str
    trust: Trust
    said_at: AwareDatetime


class MemoryDetail(Model):
    memory: Memory
    evidence: tuple[Quote, ...]
    """The words that it rests on; empty for who was not there when they were said."""


class Change(Model):
    version: int
    op: str
    actor_kind: str
    actor: str
    at: AwareDatetime
    reason: str | None
    before: dict[str, object] | None
    after: dict[str, object] | None


class History(Model):
    events: tuple[Change, ...]


class Answer(Model):
    turn: str
    session: str
    version: int
    way: str
    at: AwareDatetime


class Shown(Model):
    answers: tuple[Answer, ...]
    """The newest first, of the conversations that the person takes part in."""
    others: int
    """In other conversations."""


class Done(Model):
    outcome: Literal["done", "asked", "disputed", "forgotten"]
    """`asked`: it waits for a principal's word. `disputed`: another said it; it is marked instead."""
    memory: Memory | None
    """As it is now."""
    beside: Memory | None = None
    """What was said against it, if its words were given: a memory of this person's own."""
    vanished: dict[str, int] | None = None
    """How many of what, when it was forgotten."""
