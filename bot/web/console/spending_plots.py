"""Tokens by day, and by whatever else, as numbers that a template draws as SVG. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta

from bot.kernel.values import dataclass
from bot.llm.spending import Sum

WIDTH, HEIGHT, LEFT, BOTTOM = 720, 210, 52, 24
"""Of the plot of days, in units of its view, with room for its scales at the left and below."""
PARTS = (
    ("cached", "read from the cache"),
    ("fresh", "read anew"),
    ("stored", "written to the cache"),
    ("written", "answered"),
)
"""Of a column, from the bottom up: its class, and what it is called."""


@dataclass(frozen=True, slots=True)
class Part:
    kind: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Column:
    day: date
    x: float
    width: float
    tokens: int
    micros: int
    calls: int
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Days:
    columns: tuple[Column, ...]
    marks: tuple[tuple[float, str], ...]
    """Lines across: where, and for how many tokens."""
    tokens: int
    micros: int
    calls: int


@dataclass(frozen=True, slots=True)
class Bar:
    label: str
    tokens: int
    micros: int
    calls: int
    share: float
    """Of the longest, in hundredths."""


def days(sums: Sequence[Sum], first: date, last: date) -> Days:
    """A column for each day, from the first to the last, also where nothing was spent."""
    known = {each.key: each for each in sums}
    count = (last - first).days + 1
    step = (WIDTH - LEFT) / count
    top = _round_up(max((_tokens(each) for each in sums), default=0))
    columns = []
    for number in range(count):
        day = first + timedelta(days=number)
        one = known.get(day.isoformat())
        x, width = round(LEFT + number * step + step * 0.12, 1), round(step * 0.76, 1)
        parts = () if one is None else _stacked(one, top)
        figures = (0, 0, 0) if one is None else (_tokens(one), one.micros, one.calls)
        columns.append(Column(day, x, width, *figures, parts))
    marks = tuple((round(_height(1 - share), 1), _short(round(top * share))) for share in (0, 0.5, 1))
    totals = [sum(getattr(each, name) for each in columns) for name in ("tokens", "micros", "calls")]
    return Days(tuple(columns), marks, *totals)


def bars(sums: Sequence[Sum], names: Mapping[str, str]) -> list[Bar]:
    """The largest first. `names`: what keys are called."""
    most = max((_tokens(each) for each in sums), default=0) or 1
    found = [
        Bar(names.get(each.key, each.key), _tokens(each), each.micros, each.calls, round(100 * _tokens(each) / most, 1))
        for each in sums
    ]
    return sorted(found, key=lambda each: (-each.tokens, each.label))


def shares(parts: Sequence[tuple[str, int]]) -> list[Bar]:
    whole = sum(tokens for _, tokens in parts) or 1
    return [Bar(label, tokens, 0, 0, round(100 * tokens / whole, 1)) for label, tokens in parts]


def _tokens(of: Sum) -> int:
    usage = of.usage
    return usage.input + usage.output + usage.cache_read + usage.cache_written


def _stacked(of: Sum, top: int) -> tuple[Part, ...]:
    usage = of.usage
    found, below = [], 0
    for (kind, _), tokens in zip(
        PARTS, (usage.cache_read, usage.input, usage.cache_written, usage.output), strict=True
    ):
        if tokens:
            y = _height(1 - (below + tokens) / top)
            found.append(Part(kind, round(y, 1), round(_height(1 - below / top) - y, 1)))
            below += tokens
    return tuple(found)


def _height(share: float) -> float:
    """Of a share from the top down, with a little room above."""
    return 8 + share * (HEIGHT - BOTTOM - 8)


def _short(tokens: int) -> str:
    """ "500", "20 k", "2.5 M"."""
    for size, unit in ((1_000_000, " M"), (1_000, " k")):
        if tokens >= size:
            return f"{tokens / size:g}{unit}"
    return str(tokens)


def _round_up(most: int) -> int:
    """To 1, 2 or 5 times a power of ten; at least 10."""
    power = 10
    while power * 10 <= most:
        power *= 10
    return next(power * times for times in (1, 2, 5, 10) if power * times >= most)
