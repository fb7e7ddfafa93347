"""Turns that end and are read: an office whose tasks run, and a model that proposes what the test says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from bot.extraction.ask import TOOL
from bot.extraction.tables import extraction
from bot.extraction.tasks import KIND
from bot.kernel.retry import Backoff
from bot.llm.model import Block, Request, ToolUse
from bot.memory.model import STANDING, Claim, Status
from bot.memory.rows import claim_of
from bot.memory.tables import claim as claims
from bot.tasks.tables import PENDING
from bot.tasks.tables import task as tasks
from bot.tasks.worker import Handler, Worker
from tests.intake.events import message
from tests.orchestrator.office import Office, Said

Proposer = Callable[[Request], Said]


def remember(*items: Mapping[str, Any]) -> Sequence[Block]:
    """A model's call of the tool."""
    return (ToolUse("t1", TOOL, {"items": [dict(item) for item in items]}),)


def item(kind: str, statement: str, quote: str | None = None, message: str = "m1", **more: Any) -> dict[str, Any]:
    quotes = [{"message": message, "text": statement if quote is None else quote}]
    return {"kind": kind, "statement": statement, "quotes": quotes, **more}


class Reader:
    """An office in which every answered turn is read."""

    def __init__(self, office: Office) -> None:
        self.office = office
        self.said = 0
        self.ends: list[str] = []
        self.reply = "Noted."
        self.proposer: Proposer = lambda request: remember()
        self.asked: list[Request] = []
        self.others: dict[str, Handler] = {}
        """What handles other kinds of tasks."""

    async def open(self) -> Reader:
        office = self.office
        await office.close()
        office.reads = True
        office.model.answer = self._answer
        await office.open()
        return self.start()

    def start(self) -> Reader:
        office = self.office
        self.worker = Worker(
            office.database,
            office.recorder,
            office.clock,
            office.supervisor,
            office.lanes_boot,
            {KIND: office.extractor.handle, **self.others},
            Backoff(first=timedelta(seconds=10)),
            failed={KIND: office.extractor.failed},
        )
        office.supervisor.service("tasks", self.worker.run())
        return self

    def _answer(self, request: Request) -> Said:
        if request.must_call == TOOL:
            self.asked.append(request)
            return self.proposer(request)
        return self.reply

    async def hears(self, text: str, **more: Any) -> None:
        """A message, its turn, and its reading."""
        await self.says(text, **more)
        await self.settled()

    async def says(self, text: str, *, ends: str = "answered", **more: Any) -> None:
        """A message and its turn."""
        self.ends.append(ends)
        self.said += 1
        self.office.clock.advance(timedelta(minutes=1))
        await self.office.hear(message(str(self.said), text, at=self.office.clock.now(), **more))
        await self.office.ended(*self.ends)

    async def settled(self, *states: str) -> None:
        """Wait until every reading has ended (or stands in one of these states)."""
        self.worker.ring()

        async def holds() -> bool:
            return all(state in states for state, _ in await self.waiting())

        await self.office.until(holds)

    async def failed(self, count: int) -> None:
        """Wait until so many attempts have failed."""
        self.worker.ring()

        async def holds() -> bool:
            return len(await self.office.audited("extraction_failed")) >= count

        await self.office.until(holds)

    async def waiting(self) -> list[tuple[str, str | None]]:
        rows = await self.office.database.read(
            lambda c: c.execute(
                sa.select(tasks.c.state, tasks.c.error).where(
                    tasks.c.kind == KIND, tasks.c.state.in_((*PENDING, "dead"))
                )
            ).all()
        )
        return [(row.state, row.error) for row in rows]

    async def claims(self, *states: Status) -> list[Claim]:
        wanted = [each.value for each in states] or list(STANDING)
        rows = await self.office.database.read(
            lambda c: c.execute(sa.select(claims).where(claims.c.status.in_(wanted)).order_by(claims.c.seq)).all()
        )
        return [claim_of(row) for row in rows]

    async def told(self) -> list[str]:
        return [each.statement for each in await self.claims()]

    async def pending(self) -> list[Claim]:
        return await self.claims(Status.PENDING)

    async def results(self) -> list[Any]:
        return list(
            await self.office.database.read(
                lambda c: c.execute(sa.select(extraction).order_by(extraction.c.at, extraction.c.source)).all()
            )
        )
