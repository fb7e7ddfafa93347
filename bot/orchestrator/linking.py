"""Whose account is whose. A new account is linked in three steps, each seen by the other side: a code is made for a
person, the account sends it in a direct message, and whoever made it confirms the account's immutable id. All accounts
of the person are told, and it can be undone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import datetime

import sqlalchemy as sa

from bot.audit.events import Actor, PersonChanged, Record
from bot.gateway.channel import Channel
from bot.gateway.operations import Reply
from bot.gateway.text_links import inert
from bot.kernel.clock import Clock
from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.ids import BootId, PersonId
from bot.kernel.values import dataclass
from bot.orchestrator.roster import Roster, UnknownRequestError, active
from bot.outbox import store as outbox_store
from bot.outbox.service import Outbox
from bot.outbox.store import Origin as Cause
from bot.outbox.tables import Policy
from bot.people import browsers, pairing, store
from bot.people.model import Handle, Origin, Person
from bot.people.pairing import CodeState
from bot.storage.database import Database, Tx
from bot.tasks import store as tasks
from bot.tasks.store import Task
from bot.tasks.worker import Done, Handler

log = logging.getLogger(__name__)

TOLD = "people.linked"


@dataclass(frozen=True, slots=True)
class Code:
    id: str
    words: str
    """What is sent from the account. It is stored nowhere."""
    until: datetime
    person: Person


@dataclass(frozen=True, slots=True)
class Claim:
    """A code and what became of it."""

    state: CodeState
    person: Person
    until: datetime
    owner: Person | None
    """Whose the account is until now, if it claimed the code and is somebody's."""


class Linking:
    def __init__(self, roster: Roster, ring: Callable[[], None]) -> None:
        """`ring` wakes whoever runs tasks."""
        self.roster = roster
        self.ring = ring

    async def code(self, person: PersonId, actor: Actor) -> Code:
        roster, now = self.roster, self.roster.clock.now()

        def unit(tx: Tx) -> Code:
            known = active(tx, person)
            code_id, words = pairing.make(tx, roster.recorder, known.id, actor, now)
            return Code(code_id, words, now + pairing.LIFETIME, known)

        return await roster.database.write(unit)

    async def look(self, code: str) -> Claim:
        """Raises `UnknownRequestError`."""

        def query(connection: sa.Connection) -> Claim:
            found = pairing.state(connection, code)
            person = None if found is None else store.get(connection, found.person)
            if found is None or person is None:
                raise UnknownRequestError("there is no such code")
            return Claim(found, person, found.until, _owner(connection, found))

        return await self.roster.database.read(query)

    async def link(self, code: str, actor: Actor) -> Person:
        """The account that claimed the code is the person's from now on, and nobody else's."""
        roster = self.roster

        def unit(tx: Tx) -> Person:
            found = pairing.state(tx.connection, code)
            before = None if found is None else _owner(tx.connection, found)
            person = pairing.confirm(tx, roster.recorder, code, actor, roster.clock.now())
            if person is None or found is None:
                raise UnknownRequestError("this code was not claimed, or its time is up: make a new one")
            channel, address = found.channel or "", found.address or ""
            if before is not None and before.id != person.id:
                lost = PersonChanged(before.id, "handle_removed", "command")
                roster.recorder.record(tx, Record(lost, actor, text=channel))
                self._tell(tx, before.id, "unlinked", channel, address, actor)
            self._tell(tx, person.id, "linked", channel, address, actor)
            return person

        linked = await roster.changed(unit, actor)
        self.ring()
        return linked

    async def refuse(self, code: str, actor: Actor) -> None:
        def unit(tx: Tx) -> None:
            found = pairing.state(tx.connection, code)
            if found is None or found.state not in ("open", "claimed"):
                raise UnknownRequestError("this code is no longer open")
            pairing.refuse(tx, self.roster.recorder, code, actor)

        await self.roster.database.write(unit)

    async def unlink(self, person: PersonId, channel: str, address: str, actor: Actor) -> Person:
        """Undo a linking: the account is a stranger's again, and whoever is signed in as the person is signed out, for
        it may have been by that account. Raises `PermanentError` with words."""
        roster = self.roster

        def unit(tx: Tx) -> Person:
            known = active(tx, person)
            mine = [each for each in known.handles if (each.channel, each.address) == (channel, address)]
            if not mine:
                raise UnknownRequestError(f"{known.name} has no such account")
            if mine[0].origin is not Origin.PAIRED:
                raise PermanentError("this account stands in the settings, or its platform vouches for it")
            if len(known.handles) == 1:
                raise PermanentError(f"it is the only account of {known.name}: link another first, or let them leave")
            now = roster.clock.now()
            store.remove_handle(tx, roster.recorder, person, mine[0], actor)
            browsers.end(tx, roster.recorder, person, None, actor, now)
            browsers.drop_links(tx, person)
            self._tell(tx, person, "unlinked", channel, address, actor)
            return active(tx, person)

        left = await roster.changed(unit, actor)
        self.ring()
        return left

    def _tell(self, tx: Tx, person: PersonId, what: str, channel: str, address: str, actor: Actor) -> None:
        now = self.roster.clock.now()
        payload = {"person": person, "what": what, "channel": channel, "address": address, "by": actor.id}
        tasks.enqueue(tx, TOLD, f"{person}:{now.isoformat()}", payload, now, lane=TOLD)


def _owner(connection: sa.Connection, of: CodeState) -> Person | None:
    """Whose the account is that claimed a code."""
    if of.channel is None or of.address is None:
        return None
    return store.by_handle(connection, of.channel, [of.address]).get(of.address)


class Telling:
    """Tells all accounts of a person, also the one that is no longer theirs."""

    def __init__(self, database: Database, clock: Clock, outbox: Outbox, channels: Mapping[str, Channel]) -> None:
        self._database = database
        self._clock = clock
        self._outbox = outbox
        self._channels = channels

    def handlers(self) -> Mapping[str, Handler]:
        return {TOLD: self.handle}

    async def handle(self, task: Task) -> Done:
        payload = task.payload
        person = await self._database.read(lambda c: store.get(c, PersonId(payload["person"])))
        by = await self._database.read(lambda c: store.get(c, PersonId(payload["by"])))
        if person is None:
            return Done(empty=True)
        own = Handle(payload["channel"], payload["address"], Origin.PAIRED)
        accounts = {(each.channel, each.address) for each in (*person.handles, own)}
        text = inert(_words(person, own, payload["what"], by), ())
        said = [one for each in sorted(accounts) if (one := await self._said(*each, text)) is not None]

        def apply(tx: Tx) -> None:
            for each in said:
                each(tx)

        return Done(apply)

    async def _said(self, channel: str, address: str, text: str) -> Callable[[Tx], None] | None:
        there = self._channels.get(channel)
        if there is None:
            return None
        try:
            path = await there.direct(address)
        except (PermanentError, TransientError) as error:
            log.info("an account on %s could not be told of a change of accounts: %s", channel, error.message)
            return None
        ops = await self._outbox.plan(channel, Reply(path, text))
        cause, now = Cause(None, None, None), self._clock.now()

        def unit(tx: Tx) -> None:
            outbox_store.insert(tx, channel, ops, cause, Policy.RESEND_ONCE, BootId(""), now, may_leave=False)

        return unit


def _words(person: Person, own: Handle, what: str, by: Person | None) -> str:
    who = by.name if by is not None else "the operator"
    if what == "linked":
        return (
            f"An account on {own.channel} ({own.address}) is now taken for {person.name}'s: {who} has linked it, after "
            "it sent a code. If it is not yours, tell a principal: it can be unlinked at once, in the console under "
            "People."
        )
    return f"The account on {own.channel} ({own.address}) is no longer taken for {person.name}'s: {who} unlinked it."
