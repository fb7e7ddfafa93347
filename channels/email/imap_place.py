"""How far a mailbox was read, as text for the inbox's cursor. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime

from bot.kernel.values import dataclass

EVER = datetime.min.replace(tzinfo=UTC)
"""`since` of who wants all mail."""
MAX_LATER = 500
"""Put-off messages that are remembered; a mailbox with more waits at the next one."""


@dataclass(frozen=True, slots=True)
class Place:
    validity: int
    """UIDVALIDITY: the UIDs below mean nothing under another (RFC 3501 s2.3.1.1)."""
    floor: int
    """Messages up to this UID were there before us: they are never touched."""
    uid: int
    """Messages up to this UID are taken, but those in `later`."""
    since: datetime
    """The very first start, aware. After a change of UIDVALIDITY, nothing that arrived before is looked at."""
    later: tuple[int, ...] = ()
    """UIDs that could not be taken yet (their sender's DNS does not answer)."""

    def dump(self) -> str:
        return json.dumps(
            {"validity": self.validity, "floor": self.floor, "uid": self.uid, "since": self.since.isoformat(),
             "later": list(self.later)}
        )  # fmt: skip

    @staticmethod
    def load(text: str) -> Place:
        stored = json.loads(text)
        since = datetime.fromisoformat(stored["since"])
        return Place(stored["validity"], stored["floor"], stored["uid"], since, tuple(stored["later"]))

    def after(self, uid: int) -> Place:
        """`uid` was taken."""
        return replace(self, uid=max(self.uid, uid), later=tuple(other for other in self.later if other != uid))

    def past(self, uid: int) -> Place:
        """Nothing up to `uid` is new any more."""
        return replace(self, uid=max(self.uid, uid))

    def without(self, gone: Iterable[int]) -> Place:
        """These are not there any more."""
        return replace(self, later=tuple(uid for uid in self.later if uid not in set(gone)))

    def put_off(self, uid: int) -> Place | None:
        """`uid` is left for later; None if too many are already."""
        if uid in self.later:
            return self
        if len(self.later) >= MAX_LATER:
            return None
        return replace(self, uid=max(self.uid, uid), later=(*self.later, uid))


def search_since(day: date) -> str:
    """A search key (RFC 3501 s6.4.4, whose dates know no zone: the caller leaves a day's room)."""
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    return f"SINCE {day.day}-{months[day.month - 1]}-{day.year}"
