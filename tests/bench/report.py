"""Judging and printing: pure. The aims stand here and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Figure:
    """A row of the table. `plain` is None where there is nothing to compare with."""

    name: str
    unit: str
    daemon: float
    plain: float | None = None
    aim: Aim | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        return self.daemon / self.plain if self.plain else None

    @property
    def met(self) -> bool | None:
        """None where there is no aim."""
        if self.aim is None:
            return None
        value = self.ratio if self.aim.of == "ratio" else self.daemon
        if value is None:
            return None
        return value <= self.aim.limit if self.aim.kind == "at most" else value >= self.aim.limit


@dataclass(frozen=True)
class Aim:
    kind: Literal["at most", "at least"]
    limit: float
    of: Literal["value", "ratio"] = "value"

    def __str__(self) -> str:
        sign = "≤" if self.kind == "at most" else "≥"
        return f"{sign} {self.limit:g}{' ×' if self.of == 'ratio' else ''}"


P50 = Aim("at most", 3, "ratio")
P95 = Aim("at most", 4, "ratio")
THROUGHPUT = Aim("at least", 150)
NONE = Aim("at most", 0)
FIRST_ANSWER = Aim("at most", 2)
FIRST_ANSWER_EMBEDDED = Aim("at most", 1)
RSS = Aim("at most", 150)
RSS_EMBEDDED = Aim("at most", 100)
GROWTH = Aim("at most", 5)
IDLE = Aim("at most", 0.1)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` (0–1) of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * int(share * 1000) // 1000) - 1)]


def median(values: Sequence[float]) -> float:
    return percentile(values, 0.5)


def covered(text: str) -> list[int]:
    """Numbers of the messages that an answer (or a plain bot's echo of one) speaks of."""
    return [int(number) for number in re.findall(r"#(\d+)", text)]


def judge_order(written: Mapping[int, Sequence[int]], answers: Sequence[tuple[int, Sequence[int]]]) -> list[str]:
    """What is wrong with `answers` (chat and the numbers covered, in order of arrival): every message must be covered
    by exactly one answer of its own chat, in the order in which the chat was written to. Empty if all is well."""
    heard: dict[int, list[int]] = {chat: [] for chat in written}
    faults: list[str] = []
    for chat, numbers in answers:
        if chat in heard:
            heard[chat] += numbers
        else:
            faults.append(f"chat {chat} was answered without having asked")
    for chat, numbers in written.items():
        if heard[chat] != list(numbers):
            faults.append(f"chat {chat} wrote {list(numbers)} and was answered {heard[chat]}")
    return faults


def table(figures: Sequence[Figure]) -> str:
    rows = [("", "daemon", "plain bot", "ratio", "aim", "")]
    for each in figures:
        verdict = {True: "met", False: "NOT MET", None: ""}[each.met]
        rows.append(
            (
                f"{each.name} ({each.unit})" if each.unit else each.name,
                _number(each.daemon),
                "" if each.plain is None else _number(each.plain),
                "" if each.ratio is None else f"{each.ratio:.2f} ×",
                str(each.aim or ""),
                " · ".join(part for part in (verdict, each.note) if part),
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(row[i].rjust(widths[i]) for i in range(1, 5)), row[5]]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "─" * (sum(widths) + 18))
    return "\n".join(lines)


def as_json(figures: Sequence[Figure]) -> list[dict[str, Any]]:
    return [{**asdict(each), "ratio": each.ratio, "met": each.met} for each in figures]


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.3g}"
