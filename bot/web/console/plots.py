"""Plots of rates, as numbers that a template draws as SVG. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from bot.kernel.values import dataclass
from bot.ledger.reliability import GOOD, Bin, Card, Rate

WIDTH, LEFT, RIGHT = 360, 6, 354
"""Of the plot of rates, in units of its view; the scale runs from `LEFT` to `RIGHT`."""
ROW = 44
SIDE, MARGIN = 260, 30
"""Of the plot of confidence: a square, with room for its scales at the left and below."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One rate with its interval. `good`: more of it is better; `bad`: worse; else neither."""

    label: str
    rate: Rate
    kind: str
    y: float
    x: float | None
    """Of the share; None where nothing is known."""
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Dot:
    """Of proposals in a range of confidence, the share approved unchanged."""

    x: float
    y: float
    low: float
    high: float
    found: Bin


def bars(of: Card) -> list[Bar]:
    rows: Sequence[tuple[str, Rate, str]] = (
        ("Approved unchanged", of.unchanged, "good"),
        ("Approved with an edit", of.edited, "info"),
        ("Rejected", of.rejected, "warn"),
        ("Nobody answered", of.no_response, "warn"),
        ("Failed", of.failed, "bad"),
        ("Came back", of.undelivered, "bad"),
        ("Reversed", of.reversed, "bad"),
    )
    found = []
    for number, (label, rate, kind) in enumerate(rows):
        low, high = rate.interval
        share = rate.share
        x = None if share is None else across(share)
        found.append(Bar(label, rate, kind, number * ROW, x, across(low), across(high)))
    return found


def across(share: float) -> float:
    """Where a share stands on the scale."""
    return round(LEFT + share * (RIGHT - LEFT), 1)


def dots(of: Card) -> list[Dot]:
    """Bins in which something was decided."""
    found = []
    for each in of.calibration:
        share = each.right.share
        if share is None:
            continue
        low, high = each.right.interval
        middle = (each.low + each.high) / 2
        found.append(Dot(MARGIN + _up(middle), _down(share), _down(low), _down(high), each))
    return found


def _up(share: float) -> float:
    return round(share * (SIDE - MARGIN), 1)


def _down(share: float) -> float:
    """Of a share upwards, as SVG counts: from the top."""
    return round((1 - share) * (SIDE - MARGIN), 1)


SCALE = {
    "width": WIDTH, "left": LEFT, "right": RIGHT, "row": ROW, "good": across(GOOD), "good_share": GOOD, "side": SIDE,
    "margin": MARGIN,
}  # fmt: skip
