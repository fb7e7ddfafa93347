"""The values of this search."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date, datetime
from enum import StrEnum

from bot.kernel.values import dataclass


class Kind(StrEnum):
    TURN = "turn"
    CLAIM = "claim"


@dataclass(frozen=True, slots=True)
class Entry:
    """What can be found. Turns of a space stand beside each other in the order of `said_at`, and what a short one is
    about is told by its neighbours; claims stand alone."""

    kind: Kind
    ref: str
    """The id of the message or claim; one entry for each kind and ref."""
    space: str
    history_epoch: int
    audience_epoch: int
    speaker: str
    """The name as people write it; a question that names it means what this person said."""
    said_at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Span:
    """A space from these epochs on."""

    space: str
    history_epoch: int
    audience_epoch: int


@dataclass(frozen=True, slots=True)
class Within:
    """Entries of these spaces; of these refs only, if any are named."""

    kind: Kind
    spans: tuple[Span, ...]
    refs: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    ref: str
    score: float
    """Comparable within one answer only."""
    text_rank: int | None
    """From 1; None: no word of the question stands there."""
    vector_rank: int | None
    before: str | None
    """The visible turn that was said just before, and the one just after."""
    after: str | None

    def among(self, refs: Collection[str]) -> Hit:
        """With neighbours of these only."""
        before, after = (ref if ref in refs else None for ref in (self.before, self.after))
        return Hit(self.ref, self.score, self.text_rank, self.vector_rank, before, after)


@dataclass(frozen=True, slots=True)
class Found:
    hits: tuple[Hit, ...]
    vectors: bool
    """Whether the search by meaning took part."""


@dataclass(frozen=True, slots=True)
class Days:
    """Both ends belong to it."""

    first: date
    last: date


@dataclass(frozen=True, slots=True)
class Question:
    words: tuple[str, ...]
    phrases: tuple[str, ...]
    """Words that stand side by side in the question."""
    spoken: str
    """The question as a speaker that it names would put it: what Anna said about herself, she said as `I`."""
    named: frozenset[str]
    """Speakers, as they are called in the view."""
    times: tuple[Days, ...]


@dataclass(frozen=True, slots=True)
class Counts:
    entries: int
    embedded: int


@dataclass(frozen=True, slots=True)
class Verified:
    """What a look at everything found."""

    full_text: bool
    """The full text agrees with the rows."""
    missing: int
    """Rows without a vector of each model."""
    unusable: int
    """Vectors of a wrong size."""

    @property
    def sound(self) -> bool:
        return self.full_text and not self.missing and not self.unusable
