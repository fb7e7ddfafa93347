"""Letting somebody at this machine into the console: a one-time link for its own browser."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import sqlalchemy as sa

from bot.control.request import Request, operation
from bot.gateway.channel import LocalHandler
from bot.kernel.clock import Clock
from bot.kernel.errors import PermanentError
from bot.kernel.ids import PersonId
from bot.kernel.values import dataclass
from bot.people import browsers
from bot.people import store as people
from bot.storage.database import Database, Tx


class Link(Request):
    person: str | None = None
    """None: who speaks at this machine's terminal, or else the first principal."""


@dataclass(frozen=True, slots=True)
class Consoles:
    """`address`: where the console is reached from this machine; None while it is off."""

    database: Database
    clock: Clock
    local_person: str | None
    address: Callable[[], str | None]

    def handlers(self) -> Mapping[str, LocalHandler]:
        return {"console.link": operation(Link, self.link)}

    async def link(self, request: Link) -> Mapping[str, object]:
        return {"link": await self.made(request.person)}

    async def first(self) -> str | None:
        """A link for who starts the daemon; None where there is no console, or nobody to sign in."""
        try:
            return await self.made(None)
        except PermanentError:
            return None

    async def made(self, wanted: str | None) -> str:
        """A link for this person; None: who speaks at this machine's terminal. Raises `PermanentError`."""
        address = self.address()
        if address is None:
            raise PermanentError("the console is off: set web.enabled and web.console")

        def unit(tx: Tx) -> str:
            person = self._person(tx.connection, wanted or self.local_person)
            return browsers.make_link(tx, person, None, self.clock.now())

        return f"{address}/sign-in/{await self.database.write(unit)}"

    def _person(self, connection: sa.Connection, wanted: str | None) -> PersonId:
        if wanted is not None:
            return PersonId(wanted)
        principals = people.principals(connection)
        if not principals:
            raise PermanentError("there is no principal: name one in the settings, people.<id>.role")
        return principals[0].id
