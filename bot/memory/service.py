"""What people may do about memories: each use case finds the claim within who acts' scope, asks `rights`, and moves it,
in the caller's transaction. All want a reason, which stands in the claim's history and in the audit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from enum import Enum, auto
from typing import Protocol

import sqlalchemy as sa

from bot.audit.events import Actor
from bot.audit.recorder import Recorder
from bot.kernel.errors import PermanentError
from bot.kernel.ids import ClaimId, MessageId, PersonId
from bot.kernel.scope import Scope, SessionScope
from bot.kernel.values import dataclass
from bot.memory import moves, reading, rights, store
from bot.memory.model import EXECUTIVE, Claim, ConflictError, Status, Visibility, Work
from bot.memory.moves import Move
from bot.memory.normal import plain
from bot.memory.reading import Filter, Purpose
from bot.memory.rights import Act, By, Door, No, Verdict
from bot.people import store as people
from bot.people.model import Person, Role
from bot.sessions import threads, transcript
from bot.sessions.tables import message
from bot.sessions.visible import Visible, visible
from bot.storage.database import Tx

LONGEST_STATEMENT = 1_000
LONGEST_REASON = 500
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""What nobody types: dropped, it would leave other words than were given."""


class UnknownMemoryError(PermanentError):
    """There is no such memory, or none that may be seen."""


class NotAllowedError(PermanentError):
    """It may be seen, but that may not be done to it."""


class UnclearError(PermanentError):
    """What was asked for is incomplete: a reason, words, a person who is not there."""


class Outcome(Enum):
    DONE = auto()
    ASKED = auto()
    """It waits for a principal's word."""
    DISPUTED = auto()
    """Another said it: it is marked as disputed instead."""


@dataclass(frozen=True, slots=True)
class Acting:
    """Who acts, and as what they look at memories."""

    actor: Actor
    scope: Scope
    person: Person | None
    """None: the operator, who may do everything."""
    door: Door = Door.FULL


@dataclass(frozen=True, slots=True)
class Done:
    claim: Claim
    """As it is now."""
    outcome: Outcome
    beside: Claim | None = None
    """What was said against it, a memory of its own."""


@dataclass(frozen=True, slots=True)
class Undone:
    retracted: tuple[Claim, ...]
    marked: tuple[Claim, ...]
    """They rest on other messages too: they stand, with a mark."""


@dataclass(frozen=True, slots=True)
class Going:
    """What would vanish."""

    counts: Mapping[str, int]
    """How many of what, by name."""
    claims: tuple[ClaimId, ...]
    """Those that were named, and others in whose words theirs stand."""
    messages: Mapping[MessageId, str]
    """Messages that lose words, and what is left of each."""
    kept_until: datetime | None
    """When the last backup that holds it is deleted; None if there is no such backup, or nothing deletes it."""


class Eraser(Protocol):
    """Makes memories vanish from every reader, table and file (`bot.erasure`)."""

    def look(self, connection: sa.Connection, claims: Sequence[ClaimId]) -> Going: ...

    def preview(self, connection: sa.Connection, claims: Sequence[ClaimId]) -> Mapping[str, int]:
        """How many of what would vanish, by name."""
        ...

    def memories_in(
        self, tx: Tx, claims: Sequence[ClaimId], actor: Actor, reason: str, now: datetime
    ) -> Mapping[str, int]: ...

    @property
    def ring(self) -> Callable[[], None]:
        """To be called after the commit: the rest is durable work."""
        ...


class Memories:
    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    # --- one claim -------------------------------------------------------------------------------------------------

    def correct(
        self, tx: Tx, by: Acting, of: ClaimId, statement: str, reason: str, now: datetime, version: int | None = None
    ) -> Done:
        """`version`: as the person saw it; None: whichever stands. Raises `UnknownMemoryError`, `NotAllowedError`,
        `ConflictError`, `UnclearError`, as all of these do."""
        if _CONTROL.search(statement):
            raise UnclearError("these words hold a character that cannot be seen: say it without")
        words = plain(statement)
        if not words or len(words) > LONGEST_STATEMENT or not any(each.isalnum() for each in words):
            raise UnclearError(f"a memory is a sentence in words, of at most {LONGEST_STATEMENT} characters")
        seen, verdict, move = self._may(tx, by, Act.CORRECT, of, reason, now, version)
        decides = by.person is None or (by.person.role is Role.PRINCIPAL and by.door is Door.FULL)
        if verdict is Verdict.NOW and (decides or not self._was_promoted(tx, seen)):
            return Done(moves.correct(move, seen, words, asked=decides), Outcome.DONE)
        if verdict is Verdict.NOW and by.person is not None:
            return Done(moves.say_anew(move, seen, words, by.person.id), Outcome.ASKED)
        of_company = seen.visibility is Visibility.COMPANY
        home = self._home(tx, by, now) if of_company else None
        if by.person is not None and (home is not None or self._is_there(tx, by, seen, now)):
            stood, new = moves.contradict(move, seen, words, by.person.id, home)
            return Done(stood, Outcome.DISPUTED, new)
        told = Move(tx, self._recorder, move.actor, f"{move.reason} (it should say: {words})", now)
        return Done(moves.dispute(told, seen), Outcome.DISPUTED)

    def retract(self, tx: Tx, by: Acting, of: ClaimId, reason: str, now: datetime, version: int | None = None) -> Done:
        seen, verdict, move = self._may(tx, by, Act.RETRACT, of, reason, now, version)
        if verdict is Verdict.DISPUTE:
            return Done(moves.dispute(move, seen), Outcome.DISPUTED)
        return Done(moves.retract(move, seen), Outcome.DONE)

    def restore(self, tx: Tx, by: Acting, of: ClaimId, reason: str, now: datetime, version: int | None = None) -> Done:
        seen, _, move = self._may(tx, by, Act.RESTORE, of, reason, now, version)
        person = by.person
        retired = moves.retired_by(tx.connection, seen.id)
        if person is not None and person.role is not Role.PRINCIPAL and retired and retired.by != person.id:
            raise NotAllowedError("Somebody else retracted it: only a principal can restore it.")
        return Done(moves.restore(move, seen), Outcome.DONE)

    def accept(self, tx: Tx, by: Acting, of: ClaimId, reason: str, now: datetime, version: int | None = None) -> Done:
        """A yes: to what waits (where a principal has to say it, they are asked); to what somebody asks to be shown to
        the company; to one side of a dispute."""
        seen = self.find(tx.connection, by, of)
        if seen.promotion_by is not None and seen.standing:
            return self.promote(tx, by, of, reason, now, version)
        if seen.standing:
            return self._simple(Act.SETTLE, moves.settle, tx, by, of, reason, now, version)
        seen, verdict, move = self._may(tx, by, Act.ACCEPT, of, reason, now, version)
        if verdict is Verdict.ASK and by.person is not None:
            return Done(moves.ask_acceptance(move, seen, by.person.id), Outcome.ASKED)
        return Done(moves.accept(move, seen), Outcome.DONE)

    def reject(self, tx: Tx, by: Acting, of: ClaimId, reason: str, now: datetime, version: int | None = None) -> Done:
        """A no: to what waits, or to what somebody asks to be shown to the company."""
        seen = self.find(tx.connection, by, of)
        if seen.promotion_by is not None and seen.standing:
            return self._simple(Act.DECLINE, moves.decline_promotion, tx, by, of, reason, now, version)
        return self._simple(Act.REJECT, moves.reject, tx, by, of, reason, now, version)

    def promote(self, tx: Tx, by: Acting, of: ClaimId, reason: str, now: datetime, version: int | None = None) -> Done:
        seen, verdict, move = self._may(tx, by, Act.PROMOTE, of, reason, now, version)
        if verdict is Verdict.ASK and by.person is not None:
            return Done(moves.ask_promotion(move, seen, by.person.id), Outcome.ASKED)
        return Done(moves.promote(move, seen), Outcome.DONE)

    def demote(self, tx: Tx, by: Acting, of: ClaimId, reason: str, now: datetime, version: int | None = None) -> Done:
        return self._simple(Act.DEMOTE, moves.demote, tx, by, of, reason, now, version)

    def dispute(self, tx: Tx, by: Acting, of: ClaimId, reason: str, now: datetime, version: int | None = None) -> Done:
        done = self._simple(Act.DISPUTE, moves.dispute, tx, by, of, reason, now, version)
        return Done(done.claim, Outcome.DISPUTED)

    def keep(self, tx: Tx, by: Acting, of: ClaimId, reason: str, now: datetime, version: int | None = None) -> Done:
        return self._simple(Act.KEEP, moves.keep, tx, by, of, reason, now, version)

    def plan(
        self,
        tx: Tx,
        by: Acting,
        of: ClaimId,
        values: Mapping[str, Work | PersonId | date | None],
        reason: str,
        now: datetime,
        version: int | None = None,
    ) -> Done:
        """`values`: those of `work`, `owner` and `due` of an initiative that change."""
        owner = values.get("owner")
        if owner is not None:
            known = people.get(tx.connection, PersonId(str(owner)))
            if known is None or not known.internal:
                raise UnclearError(f"{owner} is nobody of the company who could own it")
        seen, _, move = self._may(tx, by, Act.PLAN, of, reason, now, version)
        return Done(moves.plan(move, seen, dict(values)), Outcome.DONE)

    # --- forgetting, undoing ---------------------------------------------------------------------------------------

    def forget(
        self,
        tx: Tx,
        by: Acting,
        of: ClaimId,
        eraser: Eraser,
        reason: str,
        now: datetime,
        version: int | None = None,
    ) -> Mapping[str, int] | Done:
        """How many of what vanished; another's words are marked as disputed instead."""
        seen, verdict, move = self._may(tx, by, Act.FORGET, of, reason, now, version)
        if verdict is Verdict.DISPUTE:
            return Done(moves.dispute(move, seen), Outcome.DISPUTED)
        return eraser.memories_in(tx, [seen.id], move.actor, move.reason, now)

    def undo(self, tx: Tx, by: Acting, source: MessageId, reason: str, now: datetime) -> Undone:
        """Take back everything that one message brought: the writer's right, or a principal's for what they see."""
        said = transcript.by_ids(tx.connection, [source]).get(source)
        claims = store.of_messages(tx.connection, [source])
        view = visible(tx.connection, by.scope)
        seen = reading.by_ids(tx.connection, view, Purpose.REVIEW, [each.id for each in claims])
        if said is None or not seen:
            raise UnknownMemoryError(f"no memory rests on a message {source}")
        person = by.person
        if person is not None:
            if by.door is Door.CLOSED:
                raise NotAllowedError(rights.CLOSED)
            principal = person.role is Role.PRINCIPAL and by.door is Door.FULL
            if said.person != person.id and not principal:
                raise NotAllowedError("Only who wrote the message can have undone what it brought, or a principal.")
        move = Move(tx, self._recorder, by.actor, _reason(reason), now)
        retracted, marked = moves.undo(move, source, list(seen.values()))
        return Undone(tuple(retracted), tuple(marked))

    # --- finding ---------------------------------------------------------------------------------------------------

    @staticmethod
    def find(connection: sa.Connection, by: Acting, of: ClaimId) -> Claim:
        view = visible(connection, by.scope)
        found = reading.by_ids(connection, view, Purpose.REVIEW, [of]).get(of)
        if found is None:
            raise UnknownMemoryError(f"there is no memory {of} that you may see")
        return found

    @staticmethod
    def meant(connection: sa.Connection, by: Acting, handle: str) -> Claim:
        """The one claim that an id, its beginning or its end means. Raises `UnknownMemoryError`, `UnclearError`."""
        view = visible(connection, by.scope)
        found = reading.named(connection, view, Purpose.REVIEW, handle)
        if not found:
            raise UnknownMemoryError(f"there is no memory {handle} that you may see")
        if len(found) > 1:
            raise UnclearError(f"{handle} could mean several: " + ", ".join(each.id for each in found))
        return found[0]

    @staticmethod
    def verdict(connection: sa.Connection, by: Acting, act: Act, seen: Claim) -> Verdict | No:
        """What would come of it, for who asks before they do it."""
        return Verdict.NOW if by.person is None else rights.decide(act, seen, _by(connection, by, by.person, seen))

    @staticmethod
    def verdicts(connection: sa.Connection, by: Acting, seen: Claim) -> Mapping[Act, Verdict | No]:
        """What would come of each act that is possible from where the claim stands."""
        acts = rights.possible(seen)
        if by.person is None or (by.person.role is Role.PRINCIPAL and by.door is Door.FULL):
            return dict.fromkeys(acts, Verdict.NOW)
        who = _by(connection, by, by.person, seen)
        return {act: rights.decide(act, seen, who) for act in acts}

    def _simple(
        self,
        act: Act,
        work: Callable[[Move, Claim], Claim],
        tx: Tx,
        by: Acting,
        of: ClaimId,
        reason: str,
        now: datetime,
        version: int | None,
    ) -> Done:
        seen, _, move = self._may(tx, by, act, of, reason, now, version)
        return Done(work(move, seen), Outcome.DONE)

    def _may(
        self, tx: Tx, by: Acting, act: Act, of: ClaimId, reason: str, now: datetime, version: int | None
    ) -> tuple[Claim, Verdict, Move]:
        seen = self.find(tx.connection, by, of)
        if version is not None and seen.version != version:
            raise ConflictError(f"memory {seen.handle} was changed meanwhile: it is at version {seen.version}")
        verdict = self.verdict(tx.connection, by, act, seen)
        if isinstance(verdict, No):
            raise NotAllowedError(verdict.why)
        return seen, verdict, Move(tx, self._recorder, by.actor, _reason(reason), now)

    @staticmethod
    def _was_promoted(tx: Tx, seen: Claim) -> bool:
        """A principal said that the company may see these words: others are for a principal to see again."""
        return seen.standing and moves.was_promoted(tx.connection, seen)

    @staticmethod
    def _home(tx: Tx, by: Acting, now: datetime) -> threads.Session | None:
        """The conversation in which who acts speaks: the one that they act in, else their newest direct one."""
        if isinstance(by.scope, SessionScope):
            return threads.get(tx.connection, by.scope.session)
        view = visible(tx.connection, by.scope)
        own = reading.alone_in(tx.connection, view, now)
        return None if own is None else threads.get(tx.connection, own)

    @staticmethod
    def _is_there(tx: Tx, by: Acting, seen: Claim, now: datetime) -> bool:
        """Whether who acts reads where the claim was told, as it is read now: then they can say otherwise there."""
        session = threads.get(tx.connection, seen.session)
        if session is None or session.audience_epoch != seen.audience_epoch:
            return False
        view = visible(tx.connection, by.scope)
        return seen.visibility is Visibility.SESSION and reading.is_there(tx.connection, view, session.id, now)


def waiting(connection: sa.Connection, view: Visible, limit: int) -> list[Claim]:
    """What waits for a person of the scope: claims, wishes that the company may see one, and, for who decides,
    disputes; the newest first."""
    return [each for _, each in queue(connection, view, limit)]


def queue(connection: sa.Connection, view: Visible, limit: int, before: int | None = None) -> list[tuple[int, Claim]]:
    """A page of what waits, each with its place for the next page (`before`)."""
    found = {
        each.id: (place, each)
        for some in _waiting(view)
        for place, each in reading.find(connection, view, Purpose.REVIEW, some, limit, before)
    }
    return sorted(found.values(), key=lambda pair: -pair[0])[:limit]


def count(connection: sa.Connection, view: Visible, most: int) -> int:
    """How many wait, `most` at most."""
    found = {place for some in _waiting(view) for place in reading.places(connection, view, Purpose.REVIEW, some, most)}
    return min(len(found), most)


def _waiting(view: Visible) -> Sequence[Filter]:
    """Each of them has an index of its own."""
    disputed = (Filter(statuses=(Status.DISPUTED,)),) if view.decides else ()
    return (Filter(statuses=(Status.PENDING,)), Filter(asked=True), *disputed)


def _reason(given: str) -> str:
    reason = plain(given)
    if not reason:
        raise UnclearError("say why: the reason is kept with it")
    return reason[:LONGEST_REASON]


def _by(connection: sa.Connection, by: Acting, person: Person, seen: Claim) -> By:
    return By(person.id, person.role, by.door, _own(connection, person, seen), _took_part(connection, person, seen))


def _own(connection: sa.Connection, person: Person, seen: Claim) -> bool:
    if seen.speaker == EXECUTIVE:
        return person.id in _asked_in(connection, seen)
    if seen.speaker != person.id:
        return False
    return all(each.speaker == person.id for each in store.evidence_of(connection, seen.id))


def _asked_in(connection: sa.Connection, advice: Claim) -> set[str]:
    """Who wrote in the turn in which the advice was given."""
    rests_on = {each.message for each in store.evidence_of(connection, advice.id)}
    turns = sa.select(message.c.turn_id).where(message.c.id.in_(sorted(rests_on)))
    rows = connection.execute(
        sa.select(message.c.person_id).where(
            sa.or_(message.c.turn_id.in_(turns), message.c.turn_id == advice.turn), message.c.role == "user"
        )
    )
    return {row.person_id for row in rows if row.person_id is not None}


def _took_part(connection: sa.Connection, person: Person, seen: Claim) -> bool:
    session = threads.get(connection, seen.session)
    known = person if person.handles else people.get(connection, person.id)  # some readers of people leave them out
    if session is None or known is None:
        return False
    addresses = [each.address for each in known.handles if each.channel == session.channel]
    return any(threads.takes_part(connection, [seen.session], address) for address in addresses)
