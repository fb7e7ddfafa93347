"""What rooms say to each other when a session is erased, or when words are forgotten wherever they stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any

from bot.kernel.ids import BlobHash, ClaimId, MessageId, OutboxId, SessionId, TurnId
from bot.kernel.values import dataclass

FORGOTTEN = "[forgotten]"
"""Stands where words were."""

Cut = Callable[[str], Sequence[tuple[int, int]]]
"""Which parts of a text tell what is to be forgotten: half-open, in order, apart from each other."""


@dataclass(frozen=True, slots=True)
class Span:
    """What is to go: all of a session, or what of it was stored before an instant and is not in use."""

    session: SessionId
    before: datetime | None = None

    @property
    def whole(self) -> bool:
        return self.before is None


@dataclass(frozen=True, slots=True)
class Erased:
    """What a room has deleted: how many of what, files that it referred to, and what it sent under which keys."""

    counts: tuple[tuple[str, int], ...] = ()
    blobs: frozenset[BlobHash] = field(default=frozenset())
    sent: tuple[tuple[str, OutboxId], ...] = ()
    """Channel and key."""

    def __add__(self, other: Erased) -> Erased:
        totals = dict(self.counts)
        for name, count in other.counts:
            totals[name] = totals.get(name, 0) + count
        return Erased(tuple(sorted(totals.items())), self.blobs | other.blobs, (*self.sent, *other.sent))


@dataclass(frozen=True, slots=True)
class Words:
    """Words that are to go, and where they are looked for."""

    may_tell: Callable[[str], bool]
    """A quick look, at whatever form of a text: false only if it cannot tell them."""
    tells: Cut
    """Sentences that tell them, in these words or in very like ones."""
    holds: Cut
    """Sentences in which they stand as they were written."""
    claims: frozenset[ClaimId]
    own: frozenset[SessionId]
    """Sessions in which everything is looked through."""
    shown: Mapping[SessionId, TurnId]
    """Sessions into which they only came through the executive: what it said from this turn on is looked through."""
    everywhere: bool
    """Any turn that runs may have been shown them."""
    turns: frozenset[TurnId]
    """Turns whose requests to the model held them."""
    quotes: Mapping[MessageId, tuple[str, ...]]
    """Messages that they were taken from, and what was taken."""
    first: TurnId | None = None
    """The first turn of the own sessions in which they were said."""
    files: frozenset[BlobHash] = field(default=frozenset())
    """Files in which they stand."""
    names: frozenset[str] = field(default=frozenset())
    """By which lists, briefs and questions to people call what goes: whatever holds one of these is looked through,
    wherever it was said."""

    def within(self, message: str, text: str) -> Sequence[tuple[int, int]]:
        """What goes of a message: what tells the words, and what was taken from it, telling or not."""
        spans = [*self.tells(text)]
        for quote in self.quotes.get(MessageId(message), ()):
            start = text.find(quote)
            if start >= 0:
                spans.append((start, start + len(quote)))
        return joined(spans)

    def line(self, text: str) -> str:
        """A text without what tells the words."""
        return without(text, self.tells(text)) if self.may_tell(text) else text

    def value(self, value: Any) -> Any:
        """What was read from JSON, without what tells the words; the names of its members stay."""
        match value:
            case str():
                return self.line(value)
            case list():
                return [self.value(each) for each in value]
            case dict():
                return {name: self.value(each) for name, each in value.items()}
            case _:
                return value


def joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """In order, those that touch as one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The text with `FORGOTTEN` in the place of these parts of it."""
    parts, last = [], 0
    for start, end in spans:
        parts += [text[last:start], FORGOTTEN]
        last = end
    return "".join((*parts, text[last:]))
