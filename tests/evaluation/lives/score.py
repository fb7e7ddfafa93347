"""Counting. Pure: from what a system showed at each checkpoint to the figures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.evaluation.lives.script import Fate, Key, Life

COVERAGE_FLOOR = 0.5
"""A system that tells less than this share of what is current has no score: saying nothing must not win."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a system showed for one key at one checkpoint."""

    key: Key
    truth: str | tuple[str, ...] | Fate
    believed: str
    """What stood before the model for the key's question, in the key's thread."""
    readers: Mapping[str, str]
    """Everything that other readers show in that thread or to its people, by name."""
    tokens: int
    elsewhere: str
    """What stood before the model for the same question in every other thread."""
    known: tuple[str, ...]
    """The values that the key has had so far."""
    must_survive: bool
    """It told the truth before something else was forgotten."""


@dataclass
class Tally:
    counts: Counter[str] = field(default_factory=Counter)
    tokens: int = 0
    lags: list[float] = field(default_factory=list)
    """Seconds from an answered turn to what it told being readable."""
    lifetimes: list[int] = field(default_factory=list)
    """Steps for which an old value was still shown as believed after it had changed."""

    def add(self, other: Tally) -> None:
        self.counts += other.counts
        self.tokens += other.tokens
        self.lags += other.lags
        self.lifetimes += other.lifetimes

    def figures(self) -> dict[str, float]:
        of = self.counts
        current = _share(of["current right"], of["current"])
        figures = {
            "current recall": current,
            "stale": _share(of["stale"], of["changed"]),
            "invented": _share(of["invented"], of["asked"]),
            "new above old": _share(of["new above old"], of["updated"]),
            "claims without a source": of["orphans"],
            "disputes shown whole": _share(of["disputed right"], of["disputed"]),
            "forgotten but visible": of["forgotten visible"],
            "forgotten probes": of["forgotten"],
            "over-forgetting": _share(of["over-forgotten"], of["must survive"]),
            "scope leaks": of["leaks"],
            "leak probes": of["leak probes"],
            "tokens a question": self.tokens / of["asked"] if of["asked"] else 0.0,
            "stale lifetime, steps": sum(self.lifetimes) / len(self.lifetimes) if self.lifetimes else 0.0,
        }
        wrong = (
            figures["stale"] + figures["invented"] + figures["over-forgetting"]
            + _share(of["forgotten visible"], of["forgotten"]) + _share(of["leaks"], of["leak probes"])
        )  # fmt: skip
        figures["score"] = 0.0 if current < COVERAGE_FLOOR else max(0.0, current - wrong)
        return figures


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def holds(text: str, value: str) -> bool:
    """Whether the value stands in the text, as whole words."""
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text, re.IGNORECASE) is not None


def asserts(text: str, value: str) -> bool:
    """Whether the text tells the value; "not 570" does not."""
    return holds(re.sub(rf"\bnot (on |in |at )?{re.escape(value)}", "", text, flags=re.IGNORECASE), value)


def _above(text: str, new: str, old: Sequence[str]) -> bool:
    """The new value stands before every old one that is told at all."""
    first = text.lower().find(new.lower())
    return all(not asserts(text, each) or first < text.lower().find(each.lower()) for each in old)


def score(life: Life, shown: Sequence[Shown]) -> Tally:
    tally = Tally()
    of = tally.counts
    values = life.values()
    for each in shown:
        of["asked"] += 1
        tally.tokens += each.tokens
        known = each.known
        others = [value for key, told in values.items() if key.thread != each.key.thread for value in told]
        of["leak probes"] += len(others)
        of["leaks"] += sum(holds(each.believed, value) for value in others)
        of["leak probes"] += len(known)
        of["leaks"] += sum(holds(each.elsewhere, value) for value in known)
        of["invented"] += any(holds(each.believed, value) for value in life.never)
        match each.truth:
            case Fate():
                gone = [value for value in known if asserts(each.believed, value)]
                if each.truth is Fate.ERASED:
                    of["forgotten"] += len(known) * (1 + len(each.readers))
                    of["forgotten visible"] += len(gone)
                    of["forgotten visible"] += sum(holds(text, v) for text in each.readers.values() for v in known)
                elif each.truth is Fate.RETRACTED:
                    of["changed"] += 1
                    of["stale"] += bool(gone)
                else:
                    of["invented"] += bool(gone)
            case tuple():
                of["disputed"] += 1
                of["disputed right"] += all(holds(each.believed, value) for value in each.truth)
            case str():
                of["current"] += 1
                right = holds(each.believed, each.truth)
                of["current right"] += right
                old = [value for value in known if value != each.truth]
                if old:
                    of["changed"] += 1
                    of["updated"] += 1
                    of["new above old"] += right and _above(each.believed, each.truth, old)
                    of["stale"] += any(asserts(each.believed, value) for value in old)
                if each.must_survive:
                    of["must survive"] += 1
                    of["over-forgotten"] += not right
    return tally
