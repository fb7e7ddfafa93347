"""What one person sees of proposals and does about them by a program: command line, API, console. Whoever asks is known
already; they see what waits for them, what they asked for and, as a principal, everything."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Literal

import sqlalchemy as sa

from bot.audit.events import Actor
from bot.gateway.events import Nature, PlaceKind, Proof, Sender
from bot.intake.tables import InState
from bot.kernel.clock import Clock
from bot.kernel.errors import PermanentError
from bot.kernel.ids import ClaimId, PersonId, ProposalId
from bot.kernel.values import dataclass
from bot.ledger import reliability, showing, store
from bot.ledger.actions import Action
from bot.ledger.model import Class, Mode, Proposal, Severity, State, Verdict
from bot.ledger.reliability import Card
from bot.ledger.shelves import Shelf, shelved
from bot.ledger.store import Event
from bot.orchestrator.approvals import rests_on
from bot.orchestrator.verdicts import By, Verdicts
from bot.people import store as people
from bot.people.model import Person, Role
from bot.storage.database import Database, Tx

MOST = 200


class UnknownProposalError(PermanentError):
    """There is no such proposal, or none that this person may see."""


class NotDoneError(PermanentError):
    """It was not done; why, in words."""


@dataclass(frozen=True, slots=True)
class Told:
    """A proposal as this person may see it."""

    proposal: Proposal
    what: str
    fields: tuple[tuple[str, str], ...]
    """Labels and values; hidden characters are shown by their names, here and in `body`."""
    body: str
    text: str
    """The body word for word: what an edit begins with."""
    proposed: str
    """The body before it was edited, word for word."""
    changed: str
    """What an edit took out and put in, line by line; empty without one."""
    rests_on: tuple[tuple[ClaimId, str], ...]
    """Memories that this person may see, in words."""
    hidden: int
    """How many more it rests on."""
    asked_by: str | None
    approvers: tuple[str, ...]
    decided_by: str | None
    yours: bool
    """It waits for this person's word."""

    @property
    def memories(self) -> tuple[str, ...]:
        return tuple(words for _, words in self.rests_on)


@dataclass(frozen=True, slots=True)
class Standing:
    """How reliable a class was, and how it is treated."""

    card: Card
    treated: Class
    by: str | None
    """The person who said so."""
    promotable: bool
    """Whether it may ever be automatic."""
    recommended: str | None
    """Why it could act by itself; None: nothing speaks for it."""


@dataclass(frozen=True, slots=True)
class Step:
    """What happened to a proposal, and the person who did it, if it was one."""

    event: Event
    who: str | None


class Clerk:
    def __init__(self, database: Database, clock: Clock, verdicts: Verdicts, door: str) -> None:
        """`door`: by what is asked (`cli`, `api`, `web`); it stands beside each vote."""
        self._database = database
        self._clock = clock
        self._verdicts = verdicts
        self._ledger = verdicts.ledger
        self._door = door

    # --- looking ---------------------------------------------------------------------------------------------------

    async def listed(self, person: Person, states: Collection[State], limit: int) -> list[Told]:
        def query(connection: sa.Connection) -> list[Told]:
            found = store.newest(connection, 1_000, states)
            seen = [each for each in found if _may_see(each, person)]
            return self._told(connection, seen[: min(limit, MOST)], person)

        return await self._database.read(query, long=True)

    async def shelf(
        self, person: Person, shelf: Shelf, before: ProposalId | None = None, limit: int = MOST
    ) -> list[Told]:
        """One shelf, from `before` on."""

        def query(connection: sa.Connection) -> list[Told]:
            return self._told(connection, shelved(connection, person, shelf, before, min(limit, MOST)), person)

        return await self._database.read(query, long=True)

    async def one(self, person: Person, handle: str) -> Told:
        """By its id or how that ends. Raises `UnknownProposalError`."""
        return await self._database.read(lambda c: self._told(c, [_found(c, person, handle)], person)[0])

    async def whole(self, person: Person, handle: str) -> tuple[Told, list[Step]]:
        """As `one`, with all that happened to it. Raises `UnknownProposalError`."""

        def query(connection: sa.Connection) -> tuple[Told, list[Step]]:
            found = _found(connection, person, handle)
            events = store.history(connection, found.id)
            ids = [PersonId(each.actor.id) for each in events if each.actor.kind == "person"]
            names = {str(key): each.name for key, each in people.by_ids(connection, ids).items()}
            told = self._told(connection, [found], person)[0]
            return told, [Step(each, names.get(each.actor.id)) for each in events]

        return await self._database.read(query)

    @property
    def classes(self) -> tuple[str, ...]:
        return self._ledger.classes

    async def card(self, person: Person, action: str) -> Standing:
        """How reliable a class was, and how it is treated. Raises `UnknownProposalError` for who is not of the company,
        `PermanentError` for a class that there is not."""
        (found,) = await self._cards(person, [action])
        return found

    async def cards(self, person: Person) -> list[Standing]:
        """Of all classes. Raises `UnknownProposalError` like `card`."""
        return await self._cards(person, self._ledger.classes)

    async def _cards(self, person: Person, actions: Sequence[str]) -> list[Standing]:
        if not person.internal:
            raise UnknownProposalError("there is no class that you may see")
        known = [self._ledger.action(each) for each in actions]

        def query(connection: sa.Connection) -> list[Standing]:
            return [self._standing(connection, each) for each in known]

        return await self._database.read(query, long=True)

    def _standing(self, connection: sa.Connection, action: Action) -> Standing:
        found, treated = self._ledger.card(connection, action.name), self._ledger.mode(connection, action.name)
        by = people.get(connection, PersonId(treated.changed_by)) if treated.changed_by else None
        why = reliability.recommended(found) if action.promotable else None
        return Standing(found, treated, by.name if by else None, action.promotable, why)

    # --- deciding --------------------------------------------------------------------------------------------------

    async def vote(self, person: Person, handle: str, content: str, verdict: Verdict) -> str:
        """`content`: the hash of what they were shown, or its first six characters at least. Raises `NotDoneError`."""

        def unit(tx: Tx) -> tuple[str, InState]:
            found = _found(tx.connection, person, handle)
            return self._verdicts.vote(tx, found.id, self._by(person), verdict, _meant(found, content))

        return await self._decide(unit)

    async def edit(self, person: Person, handle: str, content: str, text: str) -> str:
        """Another text, and yes to it. Raises `NotDoneError`."""

        def unit(tx: Tx) -> tuple[str, InState]:
            found = _found(tx.connection, person, handle)
            shown = _meant(found, content)
            return self._verdicts.edit(tx, found.id, self._by(person), text, shown, approve=True)

        return await self._decide(unit)

    async def withdraw(self, person: Person, handle: str) -> None:
        await self._do(
            lambda tx, now: self._ledger.withdraw(tx, _found(tx.connection, person, handle).id, person, now)
        )  # fmt: skip

    async def resolve(self, person: Person, handle: str, *, happened: bool) -> None:
        def unit(tx: Tx, now: datetime) -> None:
            found = _found(tx.connection, person, handle)
            self._ledger.resolve(tx, found.id, person, now, happened=happened)

        await self._do(unit)

    async def reverse(self, person: Person, handle: str, severity: Severity, reason: str) -> str | None:
        """Take it back; returns why that could not be. Raises `PermanentError`."""
        if not reason.strip():
            raise PermanentError("say why: the reason is recorded")

        def unit(tx: Tx, now: datetime) -> tuple[Callable[[], None] | None, str | None]:
            found = _found(tx.connection, person, handle)
            left, refusal = self._ledger.reverse(tx, found.id, person, severity, reason.strip(), now)
            return left.after, refusal

        now = self._clock.now()
        after, refusal = await self._database.write(lambda tx: unit(tx, now))
        if after is not None:
            after()
        self._verdicts.ring()
        return refusal

    async def set_mode(self, person: Person, action: str, mode: Mode, reason: str) -> None:
        """Raises `PermanentError`: only a principal, with a reason, and not for every class."""
        if person.role is not Role.PRINCIPAL:
            raise PermanentError("only a principal can say that a class acts by itself")
        if not reason.strip():
            raise PermanentError("say why: the reason is recorded")
        self._ledger.action(action)
        actor = Actor("person", person.id)
        await self._do(lambda tx, now: self._ledger.set_mode(tx, action, mode, actor, reason.strip(), now))

    # --- inside ----------------------------------------------------------------------------------------------------

    async def _do(self, unit: Callable[[Tx, datetime], object]) -> None:
        now = self._clock.now()
        await self._database.write(lambda tx: unit(tx, now))
        self._verdicts.ring()

    async def _decide(self, unit: Callable[[Tx], tuple[str, InState]]) -> str:
        told, state = await self._database.write(unit)
        self._verdicts.ring()
        if state is not InState.ANSWERED:
            raise NotDoneError(told)
        return told

    def _by(self, person: Person) -> By:
        return By(person, Sender(person.id, person.name, Nature.PERSON, Proof.LOCAL), PlaceKind.DIRECT, self._door)

    def _told(self, connection: sa.Connection, found: Sequence[Proposal], person: Person) -> list[Told]:
        ids = {each for of in found for each in (of.asked_by, of.decided_by, *of.approvers) if each is not None}
        names = {key: each.name for key, each in people.by_ids(connection, sorted(ids)).items()}
        return [self._as_told(connection, each, person, names) for each in found]

    def _as_told(self, connection: sa.Connection, of: Proposal, person: Person, names: Mapping[PersonId, str]) -> Told:
        action = self._ledger.action(of.action)
        shown, proposed = action.show(of.final), action.show(of.proposed).body
        changed = showing.difference(proposed, shown.body) if of.proposed != of.final else ""
        memories, hidden = rests_on(connection, of.rests_on, person)
        return Told(
            of,
            shown.what,
            tuple((label, showing.revealed(value)) for label, value in shown.fields),
            showing.revealed(shown.body),
            shown.body,
            proposed,
            changed,
            tuple(memories),
            hidden,
            names.get(of.asked_by) if of.asked_by else None,
            tuple(names.get(each, each) for each in of.approvers),
            names.get(of.decided_by) if of.decided_by else None,
            of.state is State.PROPOSED and person.id in of.approvers,
        )


def _may_see(of: Proposal, person: Person) -> bool:
    return person.id in of.approvers or person.id == of.asked_by or person.role is Role.PRINCIPAL


def _found(connection: sa.Connection, person: Person, handle: str) -> Proposal:
    exact = store.get(connection, ProposalId(handle))
    found = [exact] if exact is not None else store.named(connection, handle)
    seen = [each for each in found if _may_see(each, person)]
    if len(seen) != 1:
        raise UnknownProposalError(f"there is no proposal {handle} that you may see")
    return seen[0]


def _meant(of: Proposal, content: str) -> str:
    """The whole hash, if it begins like that; else one that is none."""
    return of.hash if len(content) >= 6 and of.hash.startswith(content.lower()) else "another"


VERDICTS: dict[Literal["approve", "reject"], Verdict] = {"approve": Verdict.APPROVE, "reject": Verdict.REJECT}
