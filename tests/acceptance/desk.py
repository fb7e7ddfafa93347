"""The product as these specifications use it: people say things in two threads, and readers are asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from bot.audit.events import Actor
from bot.kernel.ids import ClaimId, PersonId, SessionId
from bot.kernel.scope import PersonScope, SessionScope
from bot.memory import recall
from bot.memory.model import STANDING, Claim, Status
from bot.memory.rows import claim_of
from bot.memory.service import Acting
from bot.memory.tables import claim
from bot.orchestrator import recollection
from bot.orchestrator.tools import Asker
from bot.people import store as people
from bot.sessions.visible import visible
from bot.storage.database import Tx
from tests.evaluation.lives.product import PERSONS, Product
from tests.evaluation.lives.script import Say
from tests.intake.events import message
from tests.orchestrator.test_basics import ASKER


class Desk:
    def __init__(self, own: Product) -> None:
        self.own = own
        self.office = own.office
        self._said = 0

    @property
    def now(self) -> datetime:
        return self.office.clock.now()

    async def say(self, text: str, thread: str = "one", who: str = "Marta", *, quoted: str | None = None) -> str:
        """Somebody says something; the turn has ended and was read when this returns. Returns the message's ref."""
        self._said += 1
        await self.own.apply(Say(f"s{self._said}", thread, who, text, quoted=quoted))
        return f"s{self._said}"

    async def say_late(self, text: str, at: datetime, thread: str = "one") -> None:
        """A message that was written at that time arrives only now."""
        self._said += 1
        self.own.reader.said += 1
        event = message(f"l{self._said}", text, thread=self.own.thread(thread), at=at, live=False)
        await self.office.hear(event)
        await self.office.ended(*["answered"] * self.own.reader.said)
        await self.own.reader.settled()

    def advance(self, **duration: float) -> None:
        self.office.clock.advance(timedelta(**duration))

    # --- readers ------------------------------------------------------------------------------------------------------

    async def session(self, thread: str = "one") -> SessionId:
        return await self.office.database.read(lambda c: self.own.session_of(c, thread))

    async def block(self, question: str, thread: str = "one") -> str:
        """What stands before the model."""
        scope = SessionScope(await self.session(thread))
        standing = await self.office.database.read(lambda c: recall.standing(c, visible(c, scope)))
        return (await self.own.recall.block(standing, question, self.now, "UTC")).text

    async def asker(self, thread: str = "one") -> Asker:
        return replace(ASKER, scope=SessionScope(await self.session(thread)))

    async def recall(self, question: str, thread: str = "one", **more: Any) -> str:
        search, _ = recollection.tools(self.office.database, self.own.recall)
        return (await search.run(await self.asker(thread), {"query": question, **more})).text

    async def read(self, ids: Sequence[str], thread: str = "one", **more: Any) -> str:
        _, read = recollection.tools(self.office.database, self.own.recall)
        return (await read.run(await self.asker(thread), {"ids": list(ids), **more})).text

    async def everywhere(self, question: str, thread: str = "one") -> str:
        """All that any reader of a thread shows for a question."""
        return "\n".join([await self.block(question, thread), await self.recall(question, thread, limit=20)])

    async def claims(self, *statuses: Status) -> list[Claim]:
        wanted = [each.value for each in statuses] or list(STANDING)
        rows = await self.office.database.read(
            lambda c: c.execute(sa.select(claim).where(claim.c.status.in_(wanted)).order_by(claim.c.seq)).all()
        )
        return [claim_of(row) for row in rows]

    async def told(self, *statuses: Status) -> list[str]:
        return [each.statement for each in await self.claims(*statuses)]

    async def only(self) -> Claim:
        (one,) = await self.claims()
        return one

    async def rows(self, query: str, **values: object) -> list[Mapping[str, Any]]:
        found = await self.office.database.read(lambda c: c.execute(sa.text(query), values).mappings().all())
        return [dict(each) for each in found]

    # --- what people do with memories ---------------------------------------------------------------------------------

    def acting(self, connection: sa.Connection, who: str = "Marta") -> Acting:
        person = PERSONS[who]
        return Acting(Actor("person", person), PersonScope(person), people.get(connection, person))

    async def act(self, what: str, of: ClaimId, *more: Any, who: str = "Marta", reason: str = "it is so") -> None:
        def unit(tx: Tx) -> None:
            move = getattr(self.own.memories, what)
            move(tx, self.acting(tx.connection, who), of, *more, reason, self.now)

        self.advance(minutes=1)
        await self.office.database.write(unit)

    async def forget(self, *ids: ClaimId, who: str = "Marta") -> None:
        self.advance(minutes=1)
        await self.own.eraser.memories(list(ids), Actor("person", PersonId(PERSONS[who])), "forget it")
        self.advance(minutes=1)
