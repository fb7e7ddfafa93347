"""What became of every message: counted by the numbers in what people see, and in the daemon's own store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.daemon import audited, rows
from tests.e2e.numbers import numbers_in
from tests.soak.people import planned
from tests.soak.sides import Seen


@dataclass
class Tally:
    """One channel. Of `written`, all but `untaken` were accepted; `once` holds those in `combined` answers too."""

    written: int = 0
    untaken: list[int] = field(default_factory=list)
    once: int = 0
    combined: int = 0
    repeated: int = 0
    """Twice, the second time marked as a repetition: its first send was in doubt."""
    parked: int = 0
    lost: list[int] = field(default_factory=list)
    doubled: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Verdict:
    tallies: Mapping[str, Tally]
    doubts: int
    """Sends of which the daemon itself says that their outcome was not known."""
    reasons: Mapping[str, int] = field(default_factory=dict)
    """Why rows of either way are parked."""

    @property
    def sound(self) -> bool:
        return not any(t.untaken or t.lost or t.doubled for t in self.tallies.values()) and (
            sum(t.repeated for t in self.tallies.values()) <= self.doubts
        )


def judge(data: Path, written: int, seen: Iterable[Seen]) -> Verdict:
    plain: Counter[int] = Counter()
    marked: Counter[int] = Counter()
    together: set[int] = set()
    for one in seen:
        (marked if one.marked else plain).update(one.numbers)
        if len(one.numbers) > 1:
            together.update(one.numbers)
    accepted = _numbers(data, "SELECT event FROM inbox WHERE kind = 'message' AND state <> 'refused'")
    given_up = _numbers(data, "SELECT event FROM inbox WHERE state = 'parked'")
    given_up |= _numbers(data, "SELECT op AS event FROM outbox WHERE state = 'parked'")
    tallies: dict[str, Tally] = {}
    for number in range(1, written + 1):
        tally = tallies.setdefault(planned(number).channel, Tally())
        tally.written += 1
        times = plain[number] + marked[number]
        if number not in accepted:
            tally.untaken.append(number)
        elif times == 0:
            if number in given_up:
                tally.parked += 1
            else:
                tally.lost.append(number)
        elif plain[number] > 1 or marked[number] > 1:
            tally.doubled.append(number)
        elif times == 2:
            tally.repeated += 1
        else:
            tally.once += 1
            tally.combined += number in together
    reasons = Counter(
        f"{row['channel']}: {row['reason']}" for table in ("inbox", "outbox") for row in _parked(data, table)
    )
    return Verdict(tallies, len(audited(data, "delivery_uncertain")), reasons)


def _parked(data: Path, table: str) -> list[dict[str, Any]]:
    return rows(data, f"SELECT channel, reason FROM {table} WHERE state = 'parked'")


def _numbers(data: Path, query: str) -> set[int]:
    return {number for row in rows(data, query) for number in numbers_in(str(row["event"]))}
