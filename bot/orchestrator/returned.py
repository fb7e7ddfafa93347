"""Tells one person that something which was sent on their word came back (task `ledger.bounced`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from bot.gateway.text_write import literal
from bot.kernel.ids import PersonId, ProposalId
from bot.ledger import store
from bot.ledger.service import Ledger
from bot.storage.database import Database, Tx
from bot.tasks.store import Task
from bot.tasks.worker import Done

Tell = Callable[[PersonId, str, str], Awaitable[Callable[[Tx], None]]]
"""Says to a person alone, what it is about and a text; what it returns is run in the transaction that ends the task."""


class Returned:
    def __init__(self, database: Database, ledger: Ledger, tell: Tell) -> None:
        self._database = database
        self._ledger = ledger
        self._tell = tell

    async def handle(self, task: Task) -> Done:
        payload = task.payload
        of = await self._database.read(lambda c: store.get(c, ProposalId(payload["proposal"])))
        if of is None:
            return Done(empty=True)
        what = self._ledger.action(of.action).show(of.final).what
        text = (
            f"**{what}** came back: it did not reach {literal(payload['to'])}. The far end says: "
            f"“{literal(payload['detail'])}”. ({of.id[-6:]})"
        )
        return Done(await self._tell(PersonId(payload["person"]), f"Came back: {what}", text))
