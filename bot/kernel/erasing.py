"""What rooms say to each other when a session is erased."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from bot.kernel.ids import BlobHash, OutboxId, SessionId


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
