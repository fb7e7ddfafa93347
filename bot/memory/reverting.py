"""Taking back what a person just did to memories: everything that one act changed is as it was before, if nobody has
changed any of it since.

An act is known by the events that it wrote, which stand beside each other: one transaction wrote them. What it wrote
anew is retracted. What was forgotten cannot be had back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from bot.kernel.ids import ClaimId
from bot.kernel.values import dataclass
from bot.memory import store
from bot.memory.model import OPEN, STANDING, TRANSITIONS, Claim, ConflictError, Op, Status, Visibility
from bot.memory.moves import Move
from bot.memory.rows import values_of
from bot.memory.tables import claim_event, claim_event_text

WITHIN = timedelta(days=1)
"""How long an act may be taken back."""
MOST = 2_000
"""Events of one act."""
GONE = "this cannot be undone any more: it is too long ago, or something of it was changed since"


@dataclass(frozen=True, slots=True)
class Step:
    """The events of one act: the first and the last, both included."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class _Changed:
    """What an act did to one claim."""

    claim: ClaimId
    version: int
    """After it."""
    new: bool
    """It wrote the claim."""
    before: Mapping[str, Any]
    """The fields that it changed, as they were."""


def newest(connection: sa.Connection) -> int:
    """The newest event there is; what follows it in the same transaction is this transaction's."""
    return connection.execute(sa.select(sa.func.max(claim_event.c.seq))).scalar() or 0


def revert(move: Move, step: Step) -> list[Claim]:
    """Take back an act of the one who moves. Returns the claims as they are now. Raises `ConflictError` for what is not
    theirs, too long ago, or was changed since; then nothing was done."""
    changed = _changes(move, step)
    pairs = []
    for each in changed:
        seen = store.get(move.tx.connection, each.claim)
        if seen is None or seen.version != each.version:
            raise ConflictError(GONE)
        pairs.append((seen, each))
    # On one subject one claim of a speaker stands in a place: who leaves it goes before who comes back to it.
    pairs.sort(key=lambda pair: _comes_back(*pair))
    return [_put_back(move, seen, each) for seen, each in pairs]


def _changes(move: Move, step: Step) -> list[_Changed]:
    rows = move.tx.execute(
        sa.select(claim_event, claim_event_text.c.before)
        .select_from(claim_event.outerjoin(claim_event_text, claim_event_text.c.event_seq == claim_event.c.seq))
        .where(claim_event.c.seq.between(step.first, step.last))
        .order_by(claim_event.c.seq)
        .limit(MOST)
    ).all()
    actor = move.actor
    theirs = all((row.actor_kind, row.actor) == (actor.kind, actor.id) for row in rows)
    at_once = {row.at for row in rows}
    if not rows or not theirs or len(at_once) > 1 or move.now - rows[0].at > WITHIN or rows[-1].seq != step.last:
        raise ConflictError(GONE)
    found: dict[str, _Changed] = {}
    for row in rows:
        if row.op == Op.ERASED.value:
            raise ConflictError(GONE)
        first = found.get(row.claim_id)
        new = row.op == Op.WRITTEN.value if first is None else first.new
        # What an earlier event of the act changed was changed from what it was before the act.
        before = {**values_of(row.before or {}), **({} if first is None else first.before)}
        found[row.claim_id] = _Changed(ClaimId(row.claim_id), row.version, new, before)
    return list(found.values())


def _comes_back(seen: Claim, changed: _Changed) -> int:
    """0: it stands no more; 1: it goes on standing, maybe elsewhere; 2: it stands again."""
    status: Status = changed.before.get("status", seen.status)
    if changed.new or status.value not in STANDING:
        return 0
    return 1 if seen.standing else 2


def _put_back(move: Move, seen: Claim, changed: _Changed) -> Claim:
    if changed.new:
        open_ = seen.status.value in OPEN
        return move.change(seen, Op.RETRACTED, status=Status.RETRACTED, held=()) if open_ else seen
    values: dict[str, Any] = dict(changed.before)
    status: Status = values.pop("status", seen.status)
    with_status: dict[str, Any] = {name: values.pop(name) for name in ("held", "replaced_by") if name in values}
    for each in _way(seen.status, status):
        last: dict[str, Any] = with_status if each is status else {"held": ()}
        seen = move.change(seen, _called(seen.status, each), status=each, **last)
    return move.change(seen, _about(values), **values) if values else seen


def _way(start: Status, end: Status) -> Sequence[Status]:
    """Legal moves from one status to another: one, or two where it cannot be had directly."""
    if start is end:
        return ()
    if end in TRANSITIONS[start]:
        return (end,)
    for each in (Status.RETRACTED, Status.ACTIVE):
        if each in TRANSITIONS[start] and end in TRANSITIONS[each]:
            return (each, end)
    raise ConflictError(GONE)


def _called(before: Status, after: Status) -> Op:
    match after:
        case Status.RETRACTED:
            return Op.RETRACTED
        case Status.SUPERSEDED:
            return Op.SUPERSEDED
        case Status.DISPUTED:
            return Op.DISPUTED
        case _:
            return Op.SETTLED if before is Status.DISPUTED else Op.RESTORED


def _about(values: Mapping[str, Any]) -> Op:
    """What a change of these fields is called, where the status stays."""
    if "visibility" in values:
        return Op.PROMOTED if values["visibility"] is Visibility.COMPANY else Op.DEMOTED
    return next((op for name, op in _OPS.items() if name in values), Op.EDITED)


_OPS: Mapping[str, Op] = {
    "statement": Op.EDITED,
    **dict.fromkeys(("work", "owner", "owner_name", "due"), Op.WORK_CHANGED),
    "source": Op.SOURCE_CHANGED,
    "promotion_by": Op.PROMOTION_ASKED,
}
