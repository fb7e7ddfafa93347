"""What people do to a claim, each as one function of the transaction: which claim moves, and which others with it.

Who may is decided before (`rights`, `service`). Of claims on one subject in one place (a session and audience epoch, or
the company) one a speaker stands; where speakers differ, all of them stand as disputed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from bot.audit.events import Actor
from bot.audit.recorder import Recorder
from bot.kernel.ids import ClaimId, MessageId, PersonId, new_id
from bot.kernel.values import dataclass
from bot.memory import store
from bot.memory.model import (
    Author,
    Claim,
    ConflictError,
    Held,
    Kind,
    Op,
    Source,
    Status,
    Support,
    Trust,
    Visibility,
    Work,
)
from bot.memory.normal import normal
from bot.memory.tables import claim_event, claim_event_text
from bot.sessions.threads import Session
from bot.storage.database import Tx
from bot.tasks import store as tasks

ASKED = "memory.asked"
"""Kind of the task that puts before the principals what somebody asks of them."""
HELD = "memory.held"
"""Kind of the task that tells whose words wait for a yes that they do."""
_OF_ONES_OWN = frozenset({Kind.ADVICE, Kind.PREFERENCE})
"""What nobody can say otherwise of somebody else."""


@dataclass(frozen=True, slots=True)
class Move:
    """What every move needs."""

    tx: Tx
    recorder: Recorder
    actor: Actor
    reason: str
    now: datetime

    def change(self, seen: Claim, op: Op, *, by: ClaimId | None = None, **values: Any) -> Claim:
        return store.change(self.tx, self.recorder, seen, op, self.actor, self.now, self.reason, by=by, **values)


def opposes(one: Claim, other: Claim) -> bool:
    """Whether two claims on one subject say different things."""
    if one.speaker == other.speaker or _OF_ONES_OWN.intersection((one.kind, other.kind)):
        return False
    return normal(one.statement) != normal(other.statement)


def correct(move: Move, seen: Claim, statement: str, *, asked: bool = False) -> Claim:
    """New words, which the extractor never changes again. What waits goes on waiting. `asked`: it stays before the
    principals, too; else they have not seen these words, and their yes to the old ones must not meet them."""
    _open(move, seen)
    if statement == seen.statement:
        raise ConflictError(f"memory {seen.handle} says that already")
    after = move.change(
        seen,
        Op.EDITED,
        statement=statement,
        author=Author("person", move.actor.id),
        by_person=True,
        support=Support.PERSON,
        confidence=1.0,
        source=Source.FRESH,
        promotion_by=seen.promotion_by if asked else None,
    )
    _calm_down(move, seen)
    return store.get(move.tx.connection, seen.id) or after


def say_anew(move: Move, seen: Claim, statement: str, person: PersonId) -> Claim:
    """New words of what a principal has shown to the company: they go back to where it was said, and wait for a
    principal's word to be shown again."""
    if statement == seen.statement:
        raise ConflictError(f"memory {seen.handle} says that already")
    return ask_promotion(move, correct(move, demote(move, seen), statement), person)


def retract(move: Move, seen: Claim) -> Claim:
    if seen.status is Status.RETRACTED:
        raise ConflictError(f"memory {seen.handle} is retracted already")
    after = move.change(seen, Op.RETRACTED, status=Status.RETRACTED, held=())
    _calm_down(move, seen)
    return after


def restore(move: Move, seen: Claim) -> Claim:
    """What was rejected while it waited waits again; what stood, stands."""
    if seen.status not in (Status.RETRACTED, Status.SUPERSEDED):
        raise ConflictError(f"memory {seen.handle} is neither retracted nor superseded: it is {seen.status.value}")
    before = retired_by(move.tx.connection, seen.id)
    if before is not None and before.waited:
        return move.change(seen, Op.RESTORED, status=Status.PENDING, held=before.held)
    for each in _alongside(move.tx, seen, seen.visibility):
        if each.standing and each.speaker == seen.speaker:
            raise ConflictError(f"on this subject {each.handle} stands now: retract it first, or correct it")
    return _stand(move, seen, Op.RESTORED)


def accept(move: Move, seen: Claim) -> Claim:
    """A person's yes to what waited: it stands, in place of what the speaker had said before."""
    if seen.status is not Status.PENDING:
        raise ConflictError(f"memory {seen.handle} does not wait: it is {seen.status.value}")
    _supersede(move, seen, seen.visibility)
    return _stand(move, seen, Op.ACCEPTED, held=(), support=Support.PERSON, promotion_by=None)


def reject(move: Move, seen: Claim) -> Claim:
    if seen.status is not Status.PENDING:
        raise ConflictError(f"memory {seen.handle} does not wait: it is {seen.status.value}")
    return retract(move, seen)


def settle(move: Move, seen: Claim) -> Claim:
    """It holds; what others say on its subject is superseded by it."""
    if seen.status is not Status.DISPUTED:
        raise ConflictError(f"memory {seen.handle} is not disputed: it is {seen.status.value}")
    for each in _alongside(move.tx, seen, seen.visibility):
        if each.standing and opposes(seen, each):
            move.change(each, Op.SUPERSEDED, status=Status.SUPERSEDED, replaced_by=seen.id)
    return move.change(seen, Op.SETTLED, status=Status.ACTIVE)


def dispute(move: Move, seen: Claim) -> Claim:
    """Somebody says that it is not so, and nothing in its place."""
    if seen.status is Status.DISPUTED:
        raise ConflictError(f"memory {seen.handle} is disputed already: who said it, or a principal, decides")
    if seen.status is not Status.ACTIVE:
        raise ConflictError(f"memory {seen.handle} cannot be disputed: it is {seen.status.value}")
    return move.change(seen, Op.DISPUTED, status=Status.DISPUTED)


def contradict(
    move: Move, seen: Claim, statement: str, person: PersonId, home: Session | None = None
) -> tuple[Claim, Claim]:
    """Somebody else says otherwise: both stand, as disputed. Of what a conversation sees, where it was said; of what
    the company sees, in a conversation of their own (`home`), until a principal lets the company see it too. Returns
    what stood, and what is new."""
    if seen.status is Status.PENDING or not seen.standing or (home is None) is (seen.visibility is Visibility.COMPANY):
        raise ConflictError(f"memory {seen.handle} cannot be contradicted: it is {seen.status.value}")
    new = Claim(
        ClaimId(new_id(move.now)),
        seen.kind,
        statement,
        None,
        None,
        seen.domain,
        seen.department,
        seen.subject,
        person,
        home.id if home is not None else seen.session,
        None,
        home.history_epoch if home is not None else seen.history_epoch,
        home.audience_epoch if home is not None else seen.audience_epoch,
        Visibility.SESSION,
        Status.DISPUTED,
        (),
        Source.FRESH,
        Support.PERSON,
        Trust.PROVEN,
        1.0,
        seen.work,
        None,
        None,
        move.now,
        move.now,
        None,
        None,
        move.now,
        None,
        move.now,
        None,
        Author("person", person),
        by_person=True,
        promotion_by=None,
        version=1,
    )
    if not opposes(new, seen):
        raise ConflictError(f"memory {seen.handle} says that already")
    _supersede(move, new, Visibility.SESSION)
    store.add(move.tx, move.recorder, new, (), move.actor, move.reason)
    if seen.status is Status.ACTIVE:
        told = replace(move, reason=f"{move.reason} (against it: {new.handle})")
        seen = told.change(seen, Op.DISPUTED, by=new.id, status=Status.DISPUTED)
    return seen, new if home is None else ask_promotion(move, new, person)


def ask_promotion(move: Move, seen: Claim, person: PersonId) -> Claim:
    _may_be_promoted(seen)
    if seen.promotion_by is not None:
        raise ConflictError(f"it was asked already that the company may see memory {seen.handle}")
    return _put_before(move, seen, person)


def ask_acceptance(move: Move, seen: Claim, person: PersonId) -> Claim:
    """Put what waits before the principals, who may not see where it was said: it goes on waiting."""
    if seen.status is not Status.PENDING:
        raise ConflictError(f"memory {seen.handle} does not wait: it is {seen.status.value}")
    return _put_before(move, seen, person)


def _put_before(move: Move, seen: Claim, person: PersonId) -> Claim:
    tasks.enqueue(move.tx, ASKED, seen.id, {"claim": seen.id}, move.now, lane=ASKED)
    return move.change(seen, Op.PROMOTION_ASKED, promotion_by=person)


def decline_promotion(move: Move, seen: Claim) -> Claim:
    if seen.promotion_by is None:
        raise ConflictError(f"nobody asks that the company may see memory {seen.handle}")
    if seen.status is Status.DISPUTED and store.standing_in_company(move.tx.connection, seen.subject):
        return retract(move, seen)  # it was said against what the company sees, and is not taken
    return move.change(seen, Op.PROMOTION_ASKED, promotion_by=None)


def promote(move: Move, seen: Claim) -> Claim:
    """The company may see it; what its speaker had said there before is superseded."""
    _may_be_promoted(seen)
    _supersede(move, seen, Visibility.COMPANY, older_only=True)
    after = move.change(seen, Op.PROMOTED, visibility=Visibility.COMPANY, promotion_by=None)
    return _differ(move, after)


def demote(move: Move, seen: Claim) -> Claim:
    """Only the session that it comes from sees it."""
    if seen.visibility is not Visibility.COMPANY:
        raise ConflictError(f"memory {seen.handle} is not shown to the company")
    if seen.standing:
        _supersede(move, seen, Visibility.SESSION, older_only=True)
    after = move.change(seen, Op.DEMOTED, visibility=Visibility.SESSION)
    return _differ(move, after) if after.standing else after


def plan(move: Move, seen: Claim, values: dict[str, Any]) -> Claim:
    """`values`: those of `work`, `owner` and `due` that change."""
    _open(move, seen)
    if "owner" in values:
        values["owner_name"] = None
    if seen.kind is not Kind.INITIATIVE:
        raise ConflictError(f"memory {seen.handle} is no initiative: it has no state of work, owner or day")
    if values.get("work", Work.PROPOSED) is None:
        raise ConflictError("an initiative has a state of work")
    if all(getattr(seen, name) == value for name, value in values.items()):
        raise ConflictError(f"memory {seen.handle} says that already")
    return move.change(seen, Op.WORK_CHANGED, **values)


def keep(move: Move, seen: Claim) -> Claim:
    """Its writer deleted the message; a person goes on saying it."""
    if seen.source is not Source.DELETED:
        raise ConflictError(f"the message that memory {seen.handle} rests on was not deleted")
    return move.change(seen, Op.SOURCE_CHANGED, source=Source.FRESH, support=Support.PERSON, by_person=True)


def undo(move: Move, message: MessageId, claims: Sequence[Claim]) -> tuple[list[Claim], list[Claim]]:
    """Take back what rests on a message: what rests on it alone is retracted, the rest is marked. Returns both."""
    retracted: list[Claim] = []
    marked: list[Claim] = []
    for each in claims:
        rests_on = {one.message for one in store.evidence_of(move.tx.connection, each.id)}
        current = store.get(move.tx.connection, each.id)
        if current is None or message not in rests_on:
            continue
        if rests_on == {message}:
            if current.status is not Status.RETRACTED:
                retracted.append(retract(move, current))
        elif current.source is Source.FRESH:
            marked.append(move.change(current, Op.SOURCE_CHANGED, source=Source.EDITED))
    return retracted, marked


def was_promoted(connection: sa.Connection, of: Claim) -> bool:
    """Whether the company sees it by a promotion, and not from the start."""
    promoted = sa.exists().where(claim_event.c.claim_id == of.id, claim_event.c.op == Op.PROMOTED.value)
    return of.visibility is Visibility.COMPANY and bool(connection.execute(sa.select(promoted)).scalar())


@dataclass(frozen=True, slots=True)
class Retired:
    """How a claim came to be retracted."""

    by: str
    waited: bool
    held: tuple[Held, ...]


def retired_by(connection: sa.Connection, claim_id: ClaimId) -> Retired | None:
    """The last retraction of a claim; None if it was never retracted."""
    row = connection.execute(
        sa.select(claim_event.c.actor, claim_event_text.c.before)
        .select_from(claim_event.outerjoin(claim_event_text, claim_event_text.c.event_seq == claim_event.c.seq))
        .where(claim_event.c.claim_id == claim_id, claim_event.c.op == Op.RETRACTED.value)
        .order_by(claim_event.c.version.desc())
        .limit(1)
    ).first()
    if row is None:
        return None
    before = row.before or {}
    held = tuple(Held(each) for each in before.get("held", ()))
    return Retired(row.actor, before.get("status") == Status.PENDING.value, held)


# --- what moves with it -------------------------------------------------------------------------------------------


def _open(move: Move, seen: Claim) -> None:
    if seen.status is Status.SUPERSEDED and seen.replaced_by is not None:
        by = _now_instead(move.tx.connection, seen)
        raise ConflictError(f"memory {seen.handle} was replaced by {by}: correct {by}")
    if not (seen.standing or seen.status is Status.PENDING):
        raise ConflictError(f"memory {seen.handle} is {seen.status.value}: restore it first")


def _now_instead(connection: sa.Connection, seen: Claim) -> str:
    """The handle of what stands in its place, as far as that can be followed."""
    known = {seen.id}
    while seen.replaced_by is not None and seen.replaced_by not in known:
        known.add(seen.replaced_by)
        after = store.get(connection, seen.replaced_by)
        if after is None:
            break
        seen = after
    return seen.handle


def _may_be_promoted(seen: Claim) -> None:
    if seen.visibility is Visibility.COMPANY:
        raise ConflictError(f"the company sees memory {seen.handle} already")
    if not seen.standing:
        raise ConflictError(
            f"memory {seen.handle} is {seen.status.value}: only what stands can be shown to the company"
        )
    if seen.source is Source.DELETED:
        raise ConflictError(f"the message that memory {seen.handle} rests on was deleted: keep it first, or forget it")


def _alongside(tx: Tx, of: Claim, visibility: Visibility) -> list[Claim]:
    """Other claims on its subject that stand or wait where it would be."""
    if visibility is Visibility.COMPANY:
        found = store.standing_in_company(tx.connection, of.subject) + store.asked_against(tx.connection, of.subject)
    else:
        found = store.standing_in(tx.connection, of.session, of.audience_epoch)
        if of.promotion_by is not None and of.status is Status.DISPUTED:
            found += store.standing_in_company(tx.connection, of.subject)
    return [each for each in found if each.subject == of.subject and each.id != of.id]


def _supersede(move: Move, by: Claim, visibility: Visibility, *, older_only: bool = False) -> None:
    """Make room for `by`: what its speaker had said there on its subject is superseded."""
    for each in _alongside(move.tx, by, visibility):
        if not each.standing or each.speaker != by.speaker:
            continue
        if older_only and each.said_at > by.said_at:
            raise ConflictError(f"{each.handle} stands there on this subject and is newer")
        move.change(each, Op.SUPERSEDED, status=Status.SUPERSEDED, replaced_by=by.id)


def _stand(move: Move, seen: Claim, op: Op, **values: Any) -> Claim:
    return _differ(move, move.change(seen, op, status=Status.ACTIVE, **values))


def _differ(move: Move, standing: Claim) -> Claim:
    """Others that say otherwise where it stands: all of them are disputed from now on."""
    others = [e for e in _alongside(move.tx, standing, standing.visibility) if e.standing and opposes(standing, e)]
    for each in others:
        if each.status is Status.ACTIVE:
            move.change(each, Op.DISPUTED, by=standing.id, status=Status.DISPUTED)
    if others and standing.status is Status.ACTIVE:
        return move.change(standing, Op.DISPUTED, by=others[0].id, status=Status.DISPUTED)
    return standing


def _calm_down(move: Move, was: Claim) -> None:
    """A disputed claim says something else, or stands no more: what nobody speaks against any longer is settled. What a
    person disputes without saying otherwise stays disputed."""
    if was.status is not Status.DISPUTED:
        return
    now = store.get(move.tx.connection, was.id)
    others = [each for each in _alongside(move.tx, was, was.visibility) if each.standing]
    spoke_against = [each for each in others if opposes(was, each)]
    standing = [*others, now] if now is not None and now.standing else others
    for each in (*spoke_against, *([now] if now in standing and spoke_against and now is not None else ())):
        if each.status is Status.DISPUTED and not any(opposes(each, other) for other in standing):
            move.change(each, Op.SETTLED, status=Status.ACTIVE)
