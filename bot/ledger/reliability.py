"""How reliable a class of actions has been, counted from events that never change. Pure but for the counting itself.

Intervals are Wilson's score intervals at 95 % (Wilson, JASA 1927; as in Agresti and Coull, The American Statistician
1998): they stay within 0 and 1 and do not pretend certainty from a few cases.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import sqlalchemy as sa

from bot.kernel.values import dataclass
from bot.ledger.model import Op, Severity, State
from bot.ledger.tables import proposal_event

Z = 1.959963984540054
ENOUGH = 20
"""Decisions below which nothing is recommended."""
GOOD = 0.85
"""Lower bound of the share approved unchanged, from which automatic mode is recommended."""
LAST = 20
"""Executions that the breaker looks at."""
MOST_REVERSED = 2
BINS = ((0.0, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.01))


@dataclass(frozen=True, slots=True)
class Rate:
    count: int
    of: int

    @property
    def share(self) -> float | None:
        return self.count / self.of if self.of else None

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval; the whole of [0, 1] where nothing is known."""
        if not self.of:
            return 0.0, 1.0
        share, n = self.count / self.of, self.of
        middle = share + Z * Z / (2 * n)
        spread = Z * math.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
        whole = 1 + Z * Z / n
        return max(0.0, (middle - spread) / whole), min(1.0, (middle + spread) / whole)


@dataclass(frozen=True, slots=True)
class Bin:
    """Of proposals with a confidence in [low, high): how many a person approved unchanged."""

    low: float
    high: float
    right: Rate


@dataclass(frozen=True, slots=True)
class Card:
    action: str
    unchanged: Rate
    edited: Rate
    rejected: Rate
    """Of those that a person decided."""
    no_response: Rate
    """Of those that were put to a person and ended."""
    automatic: int
    reversed: Rate
    """Of those that were executed."""
    failed: Rate
    undelivered: Rate
    """Of those that were executed: what was sent came back."""
    calibration: tuple[Bin, ...]
    worst: Severity | None
    """Of the last `LAST` executions."""
    lately_reversed: Rate


@dataclass(frozen=True, slots=True)
class _Story:
    """What became of one proposal, in the order in which proposals were executed or ended."""

    decided: State | None
    silent: bool
    executed_at: int | None
    failed: bool
    severity: Severity | None
    undone: bool
    came_back: bool
    confidence: float | None


def card(connection: sa.Connection, action: str) -> Card:
    rows = connection.execute(
        sa.select(proposal_event).where(proposal_event.c.action == action).order_by(proposal_event.c.seq)
    ).all()
    by_proposal: dict[str, list[sa.Row[tuple[object, ...]]]] = {}
    for row in rows:
        by_proposal.setdefault(row.proposal_id, []).append(row)
    return counted(action, [_story(each) for each in by_proposal.values()])


def counted(action: str, stories: Sequence[_Story]) -> Card:
    by_person = [each for each in stories if each.decided in _BY_PERSON]
    asked = len(by_person) + sum(each.silent for each in stories)
    executed = sorted(
        (each for each in stories if each.executed_at is not None), key=lambda each: each.executed_at or 0
    )
    last = executed[-LAST:]
    tried = len(executed) + sum(each.failed and each.executed_at is None for each in stories)
    severities = [each.severity for each in last if each.severity is not None]
    order = list(Severity)
    return Card(
        action,
        Rate(sum(each.decided is State.APPROVED_UNCHANGED for each in by_person), len(by_person)),
        Rate(sum(each.decided is State.APPROVED_WITH_EDIT for each in by_person), len(by_person)),
        Rate(sum(each.decided is State.REJECTED for each in by_person), len(by_person)),
        Rate(sum(each.silent for each in stories), asked),
        sum(each.decided is State.AUTO_APPROVED for each in stories),
        Rate(sum(each.undone for each in executed), len(executed)),
        Rate(sum(each.failed for each in stories), tried),
        Rate(sum(each.came_back for each in executed), len(executed)),
        tuple(_bin(low, high, by_person) for low, high in BINS),
        max(severities, key=order.index) if severities else None,
        Rate(sum(each.undone for each in last), len(last)),
    )


def recommended(of: Card) -> str | None:
    """Why the class could be trusted to act without being asked each time; None: it should not. A person decides."""
    decided = of.unchanged
    low, _ = decided.interval
    if decided.of < ENOUGH or low < GOOD or of.reversed.count or of.worst is not None:
        return None
    return (
        f"{decided.count} of {decided.of} were approved unchanged (at least {low:.0%} with 95 % confidence), "
        f"{of.rejected.count} rejected, {of.no_response.count} not answered, {of.undelivered.count} came back, "
        "none reversed"
    )


def tripped(of: Card) -> str | None:
    """Why automatic mode has to be taken away; None: it may stay."""
    if of.worst is Severity.GRAVE:
        return "one of its last actions had to be reversed as grave"
    if of.lately_reversed.count >= MOST_REVERSED:
        return f"{of.lately_reversed.count} of its last {of.lately_reversed.of} actions were reversed"
    return None


_BY_PERSON = (State.APPROVED_UNCHANGED, State.APPROVED_WITH_EDIT, State.REJECTED)


def _story(events: Sequence[sa.Row[tuple[object, ...]]]) -> _Story:
    decided: State | None = None
    silent = failed = undone = came_back = False
    executed_at: int | None = None
    severity: Severity | None = None
    for each in events:
        op, after = Op(each.op), State(each.after)
        if op is Op.DECIDED:
            decided = after
        elif op is Op.RETURNED:
            decided = None
        elif op is Op.EXPIRED:
            silent = True
        elif after is State.EXECUTED and executed_at is None:
            executed_at = each.seq
        elif op is Op.FAILED:
            failed = True
        elif op is Op.BOUNCED:
            came_back = True
        if op in (Op.REVERSED, Op.REVERSAL_FAILED):
            severity = Severity(each.severity)
            undone = undone or op is Op.REVERSED
    return _Story(decided, silent, executed_at, failed, severity, undone, came_back, events[0].confidence)


def _bin(low: float, high: float, decided: Sequence[_Story]) -> Bin:
    within = [each for each in decided if each.confidence is not None and low <= each.confidence < high]
    return Bin(low, min(high, 1.0), Rate(sum(each.decided is State.APPROVED_UNCHANGED for each in within), len(within)))
