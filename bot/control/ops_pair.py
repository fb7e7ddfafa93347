"""Pairing from the terminal: a code is made, someone claims it in a direct message, the terminal confirms the
account."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Protocol, TypeVar

import sqlalchemy as sa

from bot.audit.recorder import Recorder
from bot.control.ops_people import described
from bot.control.request import OPERATOR, Request
from bot.kernel.clock import Clock
from bot.kernel.errors import PermanentError
from bot.kernel.ids import PersonId
from bot.kernel.values import dataclass
from bot.people import pairing, store
from bot.people.model import Person
from bot.storage.database import Database, Tx

LOOK_EVERY = timedelta(seconds=0.5)

T = TypeVar("T")


class Make(Request):
    person: str | None = None
    """None: the first principal."""


class Wait(Request):
    code_id: str


class Confirm(Request):
    code_id: str
    yes: bool


class RosterChange(Protocol):
    async def __call__(self, change: Callable[[Tx], T]) -> T: ...


@dataclass(frozen=True, slots=True)
class Pair:
    database: Database
    recorder: Recorder
    clock: Clock
    roster_changed: RosterChange

    async def make(self, request: Make) -> Mapping[str, object]:
        def unit(tx: Tx) -> Mapping[str, object]:
            person = _person(tx.connection, request.person)
            now = self.clock.now()
            code_id, code = pairing.make(tx, self.recorder, person.id, OPERATOR, now)
            return {
                "code_id": code_id,
                "code": code,
                "expires_at": (now + pairing.LIFETIME).isoformat(),
                "person": described(person),
            }

        return await self.database.write(unit)

    async def wait(self, request: Wait) -> Mapping[str, object]:
        """Answers when the code is no longer open: its state, and who claimed it. At the latest when its time is up."""
        deadline = self.clock.now() + pairing.LIFETIME
        while True:
            found = await self.database.read(lambda c: pairing.state(c, request.code_id))
            if found is None:
                raise PermanentError("there is no such code")
            if found.state != "open":
                return {
                    "state": found.state,
                    "channel": found.channel,
                    "address": found.address,
                    "name": found.shown_name,
                }
            if self.clock.now() >= deadline:
                return {"state": "expired", "channel": None, "address": None, "name": None}
            await self.clock.sleep(LOOK_EVERY)

    async def confirm(self, request: Confirm) -> Mapping[str, object]:
        def refuse(tx: Tx) -> None:
            found = pairing.state(tx.connection, request.code_id)
            if found is None or found.state not in ("open", "claimed"):
                raise PermanentError("this code is no longer open")
            pairing.refuse(tx, self.recorder, request.code_id)

        def link(tx: Tx) -> Person:
            person = pairing.confirm(tx, self.recorder, request.code_id, OPERATOR, self.clock.now())
            if person is None:
                raise PermanentError("this code was not claimed, or its time is up: make a new one")
            return person

        if not request.yes:
            await self.database.write(refuse)
            return {}
        return {"person": described(await self.roster_changed(link))}


def _person(connection: sa.Connection, person_id: str | None) -> Person:
    if person_id is None:
        principals = store.principals(connection)
        if not principals:
            raise PermanentError("there is no principal yet: say for whom the code is")
        return principals[0]
    person = store.get(connection, PersonId(person_id))
    if person is None or not person.active:
        raise PermanentError(f"there is no active person {person_id}: see `openexecutive people list`")
    return person
