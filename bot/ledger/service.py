"""Use cases of the ledger, each within the transaction that it is handed: propose, decide, expire, execute, reverse."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import sqlalchemy as sa

from bot.audit.events import Actor, Record
from bot.audit.events_ledger import BreakerTripped, ClassModeChanged, ProposalRefused, ProposalShown
from bot.audit.recorder import Recorder
from bot.kernel.errors import PermanentError
from bot.kernel.ids import ClaimId, PersonId, ProposalId, SessionId, TurnId, new_id
from bot.kernel.values import dataclass
from bot.ledger import deciding, reliability, store
from bot.ledger.actions import Action, NotBefore, Sending
from bot.ledger.model import (
    Class,
    ConflictError,
    Failure,
    Mode,
    Payload,
    Proposal,
    Severity,
    State,
    Verdict,
    digest,
)
from bot.ledger.rules import Rules, approvers
from bot.ledger.tables import action_class, proposal
from bot.people import store as people
from bot.people.model import Person
from bot.storage.database import Tx

ACTOR = Actor("system", "ledger")


class UnknownActionError(PermanentError):
    """There is no such class of actions."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody wants to have done, before anybody said yes."""

    action: str
    payload: Payload
    key: str
    """The same wish twice has the same key."""
    reason: str
    session: SessionId | None
    turn: TurnId | None
    asked_by: PersonId | None
    department: str | None = None
    rests_on: tuple[ClaimId, ...] = ()
    confidence: float | None = None
    tainted: bool = False
    plain: bool = True
    """The recipient was written to before, and nothing is attached: else it is never automatic."""
    id: ProposalId | None = None
    """Chosen beforehand, so that it can be named; None: a new one."""


@dataclass(frozen=True, slots=True)
class Left:
    """What is to be done once the transaction is committed."""

    proposal: Proposal
    after: Callable[[], None] | None = None
    until: datetime | None = None
    """It is not to be done before; nothing was changed."""


class Ledger:
    def __init__(self, recorder: Recorder, actions: Sequence[Action], rules: Rules) -> None:
        self._recorder = recorder
        self._actions: Mapping[str, Action] = {each.name: each for each in actions}
        self._rules = rules

    @property
    def rules(self) -> Rules:
        return self._rules

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(sorted(self._actions))

    def deciders(self, connection: sa.Connection, action: str, department: str | None) -> tuple[PersonId, ...]:
        """Who would decide. Raises `PermanentError` if nobody may."""
        found = approvers(self._rules, action, department, people.everyone(connection))
        if not found or (action in self._rules.two_persons and len(found) < 2):
            raise PermanentError("there is nobody who may approve this: see [ledger] in the settings")
        return found

    def action(self, name: str) -> Action:
        """Raises `UnknownActionError`."""
        found = self._actions.get(name)
        if found is None:
            raise UnknownActionError(f"there is no action {name!r}: one of {', '.join(sorted(self._actions))}")
        return found

    def propose(self, tx: Tx, wish: Wish, actor: Actor, now: datetime) -> Proposal:
        """Make a proposal, or return the one that the same wish made before. Raises `PermanentError` with words for
        whoever asked."""
        known = store.by_key(tx.connection, wish.key)
        if known is not None:
            return known
        action = self.action(wish.action)
        payload = action.checked(wish.payload)
        deciders = self.deciders(tx.connection, wish.action, wish.department)
        two_persons = wish.action in self._rules.two_persons
        new = Proposal(
            wish.id or ProposalId(new_id(now)),
            wish.action,
            payload,
            payload,
            digest(payload),
            wish.key,
            wish.session,
            wish.turn,
            wish.asked_by,
            wish.department,
            deciders,
            two_persons,
            (),
            wish.rests_on,
            wish.reason,
            wish.confidence,
            wish.tainted,
            State.PROPOSED,
            None,
            None,
            None,
            None,
            now,
            now + self._rules.expires_after,
            None,
            None,
            None,
            held=False,
            version=1,
        )
        automatic = (
            self.mode(tx.connection, wish.action).mode is Mode.AUTO_EXECUTE
            and action.promotable
            and wish.plain
            and not wish.tainted
            and not two_persons
        )
        store.add(tx, self._recorder, new, actor, automatic=automatic)
        if not automatic:
            return new
        return store.move(tx, self._recorder, new, deciding.automatic(new), ACTOR, now)

    def vote(
        self, tx: Tx, proposal_id: ProposalId, person: Person, verdict: Verdict, shown: str, channel: str, now: datetime
    ) -> Proposal:
        """A person's word on what they were shown. Raises `RefusedError` in words for them."""
        seen = self._as_voted(tx, proposal_id)
        to = deciding.voted(seen, person.id, verdict, shown, now)
        return store.move(tx, self._recorder, seen, to, Actor("person", person.id), now, channel)

    def edit(
        self,
        tx: Tx,
        proposal_id: ProposalId,
        person: Person,
        body: str,
        shown: str,
        channel: str,
        now: datetime,
        *,
        approve: bool,
    ) -> Proposal:
        """A person writes another text. `approve`: and says yes to it; else it comes back to be confirmed. Raises
        `PermanentError`."""
        seen = self._there(tx, proposal_id)
        action = self.action(seen.action)
        content = action.checked(action.edited(seen.final, body))
        to = deciding.revised(seen, person.id, content, shown, now, approve=approve)
        return store.move(tx, self._recorder, seen, to, Actor("person", person.id), now, channel)

    def withdraw(self, tx: Tx, proposal_id: ProposalId, person: Person, now: datetime) -> Proposal:
        """Who asked for it, or who may decide it, no longer wants it."""
        seen = self._there(tx, proposal_id)
        if person.id != seen.asked_by and person.id not in seen.approvers:
            raise PermanentError("only who asked for it, or who may decide it, can withdraw it")
        return store.move(tx, self._recorder, seen, deciding.withdrawn(seen), Actor("person", person.id), now)

    def shown(
        self, tx: Tx, proposal_id: ProposalId, person: PersonId, channel: str, now: datetime, *, reminder: bool
    ) -> Proposal:
        """An approver gets it, as it is now. Raises `ConflictError` if nobody is asked any more."""
        seen = self._there(tx, proposal_id)
        after = store.move(tx, self._recorder, seen, deciding.shown(seen, reminder=reminder), ACTOR, now)
        payload = ProposalShown(seen.id, person, channel, seen.hash, reminder)
        self._recorder.record(tx, Record(payload, ACTOR, seen.session, seen.turn))
        return after

    def refused(
        self, tx: Tx, proposal_id: ProposalId, actor: Actor, channel: str, because: deciding.Refused | str
    ) -> None:
        """Somebody's word did not count. It stands in the chain of the conversation in which it was asked for."""
        seen = store.get(tx.connection, proposal_id)
        payload = ProposalRefused(proposal_id, channel, because)  # type: ignore[arg-type]
        session, turn = (seen.session, seen.turn) if seen is not None else (None, None)
        self._recorder.record(tx, Record(payload, actor, session, turn))

    def expire(self, tx: Tx, now: datetime) -> list[Proposal]:
        """What nobody decided in time ends as not answered."""
        ended = []
        for seen in store.overdue(tx.connection, now):
            to = deciding.expired(seen, now)
            if to is not None:
                ended.append(store.move(tx, self._recorder, seen, to, ACTOR, now))
        return ended

    # --- doing ------------------------------------------------------------------------------------------------------

    def execute(self, tx: Tx, seen: Proposal, now: datetime) -> Left:
        """Do what was approved: its effect, and that it happened, in this transaction. What the guard or the action
        refuses ends as failed."""
        action = self.action(seen.action)
        refusal = action.guard(tx.connection, seen, now)
        if isinstance(refusal, NotBefore):
            return Left(seen, until=refusal.at)
        if refusal is not None:
            return Left(self._failed(tx, seen, Failure.REFUSED, now, refusal))
        begun = deciding.begun(seen)
        try:
            with tx.connection.begin_nested():
                effect = action.effect(tx, seen, now)
        except PermanentError as error:
            return Left(self._failed(tx, seen, Failure.INVALID, now, error.message))
        if isinstance(effect, Sending):
            begun = replace(begun, result=effect.outbox)
            return Left(store.move(tx, self._recorder, seen, begun, ACTOR, now), effect.after)
        executing = store.move(tx, self._recorder, seen, begun, ACTOR, now)
        done = deciding.done(executing, effect.result)
        return Left(store.move(tx, self._recorder, executing, done, ACTOR, now), effect.after)

    def broken(self, tx: Tx, seen: Proposal, now: datetime, words: str) -> Proposal:
        """Nothing was done, and trying again would not help."""
        return self._failed(tx, seen, Failure.INVALID, now, words)

    def arrived(self, tx: Tx, seen: Proposal, now: datetime) -> Proposal:
        """The message that carries it was sent."""
        return store.move(tx, self._recorder, seen, deciding.done(seen, seen.result), ACTOR, now)

    def lost(self, tx: Tx, seen: Proposal, now: datetime, reason: str, *, uncertain: bool) -> Proposal:
        """The message that carries it was given up: refused, or it cannot be known whether it arrived."""
        failure = Failure.UNCERTAIN if uncertain else Failure.REFUSED
        return self._failed(tx, seen, failure, now, reason)

    def came_back(self, tx: Tx, seen: Proposal, now: datetime, reason: str) -> Proposal:
        """The message that carries it was sent, and the far end gave it up."""
        return store.move(tx, self._recorder, seen, deciding.bounced(seen), ACTOR, now, text=reason)

    def resolve(self, tx: Tx, proposal_id: ProposalId, person: Person, now: datetime, *, happened: bool) -> Proposal:
        """An approver looked whether an uncertain one took effect."""
        seen = self._there(tx, proposal_id)
        self._may(seen, person)
        to = deciding.resolved(seen, person.id, happened=happened)
        return store.move(tx, self._recorder, seen, to, Actor("person", person.id), now)

    def reverse(
        self, tx: Tx, proposal_id: ProposalId, person: Person, severity: Severity, reason: str, now: datetime
    ) -> tuple[Left, str | None]:
        """Take back what was done. Returns also why that could not be, in words; that it was wanted counts all the
        same."""
        seen = self._there(tx, proposal_id)
        self._may(seen, person)
        if seen.state is not State.EXECUTED:
            raise ConflictError("only what was done can be undone")
        refusal: str | None = None
        after: Callable[[], None] | None = None
        try:
            with tx.connection.begin_nested():
                after = self.action(seen.action).undo(tx, seen, now).after
        except PermanentError as error:
            refusal = error.message
        to = deciding.reversed_(seen, person.id, severity, undone=refusal is None)
        moved = store.move(tx, self._recorder, seen, to, Actor("person", person.id), now, text=reason)
        self._look_at_breaker(tx, seen.action, now)
        return Left(moved, after), refusal

    # --- classes ----------------------------------------------------------------------------------------------------

    def mode(self, connection: sa.Connection, action: str) -> Class:
        row = connection.execute(sa.select(action_class).where(action_class.c.action == action)).first()
        if row is None:
            return Class(action, Mode.PROPOSE, _NEVER, "", "the default")
        return Class(row.action, Mode(row.mode), row.changed_at, row.changed_by, row.because)

    def set_mode(self, tx: Tx, action: str, mode: Mode, actor: Actor, because: str, now: datetime) -> None:
        """A principal decides. Raises `PermanentError` for a class that is never automatic."""
        if mode is Mode.AUTO_EXECUTE and not self.action(action).promotable:
            raise PermanentError(f"{action} always needs a yes: it cannot be automatic")
        row = {"mode": mode.value, "changed_at": now, "changed_by": actor.id, "because": because}
        tx.execute(action_class.delete().where(action_class.c.action == action))
        tx.execute(action_class.insert().values(action=action, **row))
        self._recorder.record(tx, Record(ClassModeChanged(action, mode), actor, text=because))

    def card(self, connection: sa.Connection, action: str) -> reliability.Card:
        return reliability.card(connection, action)

    def _look_at_breaker(self, tx: Tx, action: str, now: datetime) -> None:
        """Take automatic mode away where it has not deserved it; what was approved by it and is not done yet waits for
        a person again."""
        card = reliability.card(tx.connection, action)
        why = reliability.tripped(card)
        if why is None or self.mode(tx.connection, action).mode is not Mode.AUTO_EXECUTE:
            return
        self.set_mode(tx, action, Mode.PROPOSE, ACTOR, why, now)
        returned = 0
        rows = tx.execute(
            sa.select(proposal.c.id).where(proposal.c.action == action, proposal.c.state == State.AUTO_APPROVED.value)
        ).scalars()
        for each in list(rows):
            seen = self._there(tx, ProposalId(each))
            to = deciding.returned(seen)
            if to is not None:
                store.move(tx, self._recorder, seen, to, ACTOR, now)
                returned += 1
        tripped = BreakerTripped(action, card.lately_reversed.count, card.lately_reversed.of, card.worst, returned)
        self._recorder.record(tx, Record(tripped, ACTOR, text=why))

    # --- inside -----------------------------------------------------------------------------------------------------

    def _failed(self, tx: Tx, seen: Proposal, failure: Failure, now: datetime, words: str) -> Proposal:
        return store.move(tx, self._recorder, seen, deciding.failed(seen, failure), ACTOR, now, text=words)

    def _there(self, tx: Tx, proposal_id: ProposalId) -> Proposal:
        found = store.get(tx.connection, proposal_id)
        if found is None:
            raise PermanentError("there is no such proposal")
        return found

    def _as_voted(self, tx: Tx, proposal_id: ProposalId) -> Proposal:
        """With the votes of those who are still there: whoever has left has no say any more."""
        seen = self._there(tx, proposal_id)
        known = people.by_ids(tx.connection, [each.person for each in seen.votes])
        return replace(seen, votes=tuple(each for each in seen.votes if (of := known.get(each.person)) and of.active))

    def _may(self, seen: Proposal, person: Person) -> None:
        if person.id not in seen.approvers:
            raise deciding.RefusedError(deciding.Refused.NOT_AN_APPROVER, "This is not yours to decide.")


_NEVER = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
