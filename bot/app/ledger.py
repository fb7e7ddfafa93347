"""The ledger, wired: its actions, who is asked and how, and what works on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from bot.app.erasing import teller
from bot.app.opening import Store
from bot.app.settings import derived_key
from bot.audit.events import Actor
from bot.gateway.channel import Channel, LocalHandler
from bot.kernel.errors import PermanentError
from bot.kernel.ids import ClaimId, PersonId
from bot.kernel.retry import Backoff
from bot.kernel.scope import PersonScope, Scope, SessionScope
from bot.kernel.supervise import Supervisor
from bot.kernel.values import dataclass
from bot.ledger import bounces
from bot.ledger.acting.handed import Forget, PromoteMemory
from bot.ledger.acting.profile import ChangeCompanyProfile
from bot.ledger.acting.telling import Post, ReplyAll, SendEmail, SendMessage
from bot.ledger.actions import Action
from bot.ledger.bounces import Bounces
from bot.ledger.guard import Guard, Limits, Readers, Sight
from bot.ledger.model import Proposal
from bot.ledger.rules import Rules
from bot.ledger.sealing import Sealer
from bot.ledger.service import Ledger
from bot.ledger.worker import Worker
from bot.memory import moves, reading
from bot.memory import store as memories
from bot.memory.model import Claim, Visibility
from bot.memory.moves import Move
from bot.memory.reading import Purpose
from bot.memory.service import Eraser
from bot.orchestrator.approvals import Approvals
from bot.orchestrator.clerk import Clerk
from bot.orchestrator.proposing import UNMADE, Proposing
from bot.orchestrator.returned import Returned
from bot.orchestrator.tools import Tool
from bot.orchestrator.verdicts import Verdicts
from bot.outbox.service import Outbox
from bot.sessions.visible import visible
from bot.storage.database import Tx
from bot.tasks.store import Task
from bot.tasks.worker import Done
from bot.tasks.worker import Handler as TaskHandler
from config.schema import Settings

MAIL = "email"


@dataclass(frozen=True, slots=True)
class Room:
    ledger: Ledger
    worker: Worker
    approvals: Approvals
    verdicts: Verdicts
    tools: Sequence[Tool[Any]]
    bounces: Bounces
    handlers: Mapping[str, TaskHandler]
    store: Store

    def clerk(self, door: str) -> Clerk:
        return Clerk(self.store.database, self.store.clock, self.verdicts, door)

    def operations(self, settings: Settings) -> Mapping[str, LocalHandler]:
        """Of the socket."""
        from bot.control import ops_ledger

        return ops_ledger.handlers(self.store.database, self.clerk("cli"), settings.channels.terminal.person)

    def recover(self, tx: Tx) -> None:
        """At a start, before anything else runs."""
        self.approvals.recover(tx)

    def start(self, work: Supervisor) -> None:
        work.service("ledger", self.worker.run())
        work.service("approvals", self.approvals.run())

    def ring(self) -> None:
        self.worker.ring()
        self.approvals.ring()


def build(
    store: Store,
    settings: Settings,
    outbox: Outbox,
    channels: Mapping[str, Channel],
    eraser: Callable[[], Eraser],
    ring_tasks: Callable[[], None],
    more: Sequence[Action] = (),
) -> Room:
    """`eraser` is asked for when something is to be forgotten. `ring_tasks` wakes whoever runs tasks. `more`: actions
    of other rooms."""
    guard = Guard(Limits(settings.ledger.duplicate_window, settings.ledger.per_hour), sights)
    post = Post(outbox, channels, guard, MAIL)
    remembered = Remembered(store, eraser)
    actions: list[Action] = [
        SendMessage(post), SendEmail(post), ReplyAll(post), ChangeCompanyProfile(store.recorder),
        PromoteMemory(remembered), Forget(remembered), *more,
    ]  # fmt: skip
    ledger = Ledger(store.recorder, actions, rules(settings))
    approvals = Approvals(store.database, store.clock, ledger, outbox, channels, MAIL)
    worker = Worker(store.database, store.clock, ledger, Backoff(), approvals.ring)

    def ring() -> None:
        worker.ring()
        approvals.ring()

    def proposed() -> None:
        ring()
        ring_tasks()

    proposing = Proposing(store.database, ledger, channels, MAIL, proposed)
    verdicts = Verdicts(store.database, store.clock, ledger, channels, ring, buttons(store))
    tell = teller(store, outbox, channels)

    async def unmade(task: Task) -> Done:
        return Done(await tell(PersonId(task.payload["person"]), task.payload["about"], task.payload["text"]))

    handlers: dict[str, TaskHandler] = {
        bounces.KIND: Returned(store.database, ledger, tell).handle,
        UNMADE: unmade,
    }
    return Room(
        ledger, worker, approvals, verdicts, proposing.tools(), Bounces(ledger, ring_tasks), handlers, store
    )  # fmt: skip


def buttons(store: Store) -> Sealer:
    """What makes this installation's buttons its own."""
    return Sealer(derived_key(store.audit_key, "buttons"))


def rules(settings: Settings) -> Rules:
    own = settings.ledger
    return Rules(
        own.expires_after,
        own.remind_before,
        {name: tuple(PersonId(each) for each in one.approvers) for name, one in own.classes.items() if one.approvers},
        {name: PersonId(one.head) for name, one in own.departments.items() if one.head is not None},
        {PersonId(name): PersonId(one.person) for name, one in own.deputies.items() if one.person is not None},
        frozenset(name for name, one in own.classes.items() if one.two_persons),
    )


def sights(connection: sa.Connection, claims: Sequence[ClaimId], readers: Readers) -> Mapping[ClaimId, Sight]:
    """What each reader may see by themselves: a person in their own conversations, a thread what its room may see,
    somebody from outside nothing of what is remembered."""
    known = {each: memories.get(connection, each) for each in claims}
    scopes: list[Scope] = [PersonScope(each) for each in readers.people]
    if readers.session is not None:
        scopes.append(SessionScope(readers.session))
    seen = [
        set(reading.by_ids(connection, visible(connection, scope), Purpose.PROMPT, list(claims))) for scope in scopes
    ]
    found: dict[ClaimId, Sight] = {}
    for each, claim in known.items():
        if claim is None:
            continue
        if not claim.standing:
            found[each] = Sight.GONE
        elif readers.outside or not seen or not all(each in one for one in seen):
            found[each] = Sight.HIDDEN
        else:
            found[each] = Sight.SEEN
    return found


@dataclass(frozen=True, slots=True)
class Remembered:
    """What the ledger may have done about memories, once a person said yes."""

    store: Store
    eraser: Callable[[], Eraser]

    def version(self, connection: sa.Connection, claim: ClaimId) -> int | None:
        found = memories.get(connection, claim)
        return found.version if found is not None and found.standing else None

    def promote(self, tx: Tx, claim: ClaimId, proposal: Proposal, now: datetime) -> None:
        moves.promote(self._move(tx, proposal, now), _there(tx, claim))

    def demote(self, tx: Tx, claim: ClaimId, proposal: Proposal, now: datetime) -> None:
        found = _there(tx, claim)
        if found.visibility is not Visibility.COMPANY:
            raise PermanentError("the company does not see it any more")
        moves.demote(self._move(tx, proposal, now), found)

    def forget(self, tx: Tx, claim: ClaimId, proposal: Proposal, now: datetime) -> Callable[[], None]:
        eraser = self.eraser()
        eraser.memories_in(tx, [claim], _by(proposal), proposal.reason, now)
        return eraser.ring

    def _move(self, tx: Tx, proposal: Proposal, now: datetime) -> Move:
        return Move(tx, self.store.recorder, _by(proposal), proposal.reason, now)


def _there(tx: Tx, claim: ClaimId) -> Claim:
    found = memories.get(tx.connection, claim)
    if found is None:
        raise PermanentError("the memory is gone")
    return found


def _by(proposal: Proposal) -> Actor:
    return Actor("person", proposal.decided_by) if proposal.decided_by else Actor("system", "ledger")
