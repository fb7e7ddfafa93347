"""How reliable a class of actions has been, counted from events that never change. Pure but for the counting itself.

Intervals are Wilson's score intervals at 95 % (Wilson, JASA 1927; as in Agresti and Coull, The American Statistician
1998): they stay within 0 and 1 and do not pretend certainty from a few cases.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

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


def card(connection: sa.Connection, action: str) -> Card:
    """Counted by the database from what became of each proposal: all events of a class are too many to be looked at one
    by one whenever somebody opens its page."""
    if connection.execute(_ANY, {"action": action}).first() is None:
        return _blank(action)
    row = connection.execute(_CARD, {"action": action}).one()
    people, as_it_was, edited, rejected, automatic, silent, done, undone, came_back, failed, never_done, *of_bins = row
    latest = connection.execute(_LATEST, {"action": action}).scalars().all()
    fates = connection.execute(_FATES, {"ids": latest}).all() if latest else []
    severities = [Severity(each.severity) for each in fates if each.severity is not None]
    return Card(
        action,
        Rate(as_it_was, people),
        Rate(edited, people),
        Rate(rejected, people),
        Rate(silent, people + silent),
        automatic,
        Rate(undone, done),
        Rate(failed, done + never_done),
        Rate(came_back, done),
        tuple(
            Bin(low, min(high, 1.0), Rate(right, of))
            for (low, high), right, of in zip(BINS, of_bins[: len(BINS)], of_bins[len(BINS) :], strict=True)
        ),
        max(severities, key=list(Severity).index) if severities else None,
        Rate(sum(each.undone for each in fates), len(fates)),
    )


_BECAME_DONE = sa.and_(
    proposal_event.c.after == State.EXECUTED.value,
    proposal_event.c.op.in_((Op.EXECUTED.value, Op.RESOLVED.value)),
)
"""This happens once to a proposal at most."""
_BY_PERSON = (State.APPROVED_UNCHANGED.value, State.APPROVED_WITH_EDIT.value, State.REJECTED.value)
_OF_CLASS = proposal_event.c.action == sa.bindparam("action")


def _blank(action: str) -> Card:
    none = Rate(0, 0)
    bins = tuple(Bin(low, min(high, 1.0), none) for low, high in BINS)
    return Card(action, none, none, none, none, 0, none, none, none, bins, None, none)


def _newest(column: sa.ColumnElement[Any], where: sa.ColumnElement[bool]) -> sa.ColumnElement[str | None]:
    """Of a group: the column's value in the newest event for which this is true."""
    place = sa.func.printf("%012d", proposal_event.c.seq)
    return sa.func.substr(sa.func.max(sa.case((where, place + column))), 13, type_=sa.Text())


def _stories(of: sa.ColumnElement[bool]) -> sa.CTE:
    """What became of each proposal, a row for each. What was decided and then taken back counts as not decided."""
    event = proposal_event.c
    returned_at, decided_at = (
        sa.func.max(sa.case((event.op == op.value, event.seq))) for op in (Op.RETURNED, Op.DECIDED)
    )
    decided = _newest(event.after, event.op == Op.DECIDED.value)
    ever = {"silent": Op.EXPIRED, "failed": Op.FAILED, "undone": Op.REVERSED, "came_back": Op.BOUNCED}
    query = sa.select(
        sa.case((sa.func.coalesce(returned_at, 0) < decided_at, decided)).label("decided"),
        sa.func.max(sa.case((_BECAME_DONE, event.seq))).label("executed_at"),
        _newest(event.severity, event.op.in_((Op.REVERSED.value, Op.REVERSAL_FAILED.value))).label("severity"),
        *(sa.func.max(event.op == op.value, type_=sa.Boolean()).label(name) for name, op in ever.items()),
        sa.func.max(event.confidence).label("confidence"),
    )
    return query.where(of).group_by(event.proposal_id).cte("story")


def _counts() -> sa.Select[*tuple[int, ...]]:
    story = _stories(_OF_CLASS)
    decided, executed = story.c.decided, story.c.executed_at.is_not(None)
    by_person = decided.in_(_BY_PERSON)
    unchanged = decided == State.APPROVED_UNCHANGED.value
    bins = [sa.and_(story.c.confidence >= low, story.c.confidence < high) for low, high in BINS]
    wanted: Sequence[sa.ColumnElement[bool]] = (
        by_person,
        unchanged,
        decided == State.APPROVED_WITH_EDIT.value,
        decided == State.REJECTED.value,
        decided == State.AUTO_APPROVED.value,
        story.c.silent,
        executed,
        sa.and_(executed, story.c.undone),
        sa.and_(executed, story.c.came_back),
        story.c.failed,
        sa.and_(story.c.failed, ~executed),
        *(sa.and_(unchanged, each) for each in bins),
        *(sa.and_(by_person, each) for each in bins),
    )
    return sa.select(*(sa.func.count().filter(each) for each in wanted)).select_from(story)


def _fates() -> sa.Select[Any]:
    story = _stories(proposal_event.c.proposal_id.in_(sa.bindparam("ids", expanding=True)))
    return sa.select(story.c.severity, story.c.undone)


_ANY = sa.select(proposal_event.c.seq).where(_OF_CLASS).limit(1)
_CARD, _FATES = _counts(), _fates()
_LATEST = (
    sa.select(proposal_event.c.proposal_id)
    .where(_OF_CLASS, _BECAME_DONE)
    .order_by(proposal_event.c.seq.desc())
    .limit(LAST)
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
