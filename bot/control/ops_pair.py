"""Pairing from the terminal: a code is made, someone claims it in a direct message, the terminal confirms the
account."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import sqlalchemy as sa

from bot.control.ops_people import described
from bot.control.request import OPERATOR, Request
from bot.kernel.clock import Clock
from bot.kernel.errors import PermanentError
from bot.kernel.ids import PersonId
from bot.kernel.values import dataclass
from bot.orchestrator.linking import Linking
from bot.people import pairing, store
from bot.people.model import Person
from bot.storage.database import Database

LOOK_EVERY = timedelta(seconds=0.5)


class Make(Request):
    person: str | None = None
    """None: the first principal."""


class Wait(Request):
    code_id: str


class Confirm(Request):
    code_id: str
    yes: bool


@dataclass(frozen=True, slots=True)
class Pair:
    database: Database
    clock: Clock
    linking: Linking

    async def make(self, request: Make) -> Mapping[str, object]:
        person = await self.database.read(lambda c: _person(c, request.person))
        made = await self.linking.code(person.id, OPERATOR)
        return {
            "code_id": made.id,
            "code": made.words,
            "expires_at": made.until.isoformat(),
            "person": described(made.person),
        }

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
        if not request.yes:
            await self.linking.refuse(request.code_id, OPERATOR)
            return {}
        return {"person": described(await self.linking.link(request.code_id, OPERATOR))}


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
