"""An outbox with its store, a scripted channel and a clock moved by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from bot.audit import timeline
from bot.audit.recorder import Recorder
from bot.gateway.channel import Channel
from bot.gateway.codec import load_operation
from bot.gateway.events import ReplyPath
from bot.gateway.operations import Reply
from bot.kernel.ids import BootId, SessionId, TurnId
from bot.kernel.retry import Backoff
from bot.kernel.supervise import Supervisor
from bot.outbox.service import Guard, Outbox
from bot.outbox.store import Origin, Row
from bot.outbox.tables import Policy, outbox
from bot.storage.database import Database, Tx
from tests.clock import FakeClock
from tests.outbox.channel import ScriptedChannel

PATIENCE = timedelta(seconds=20)
ORIGIN = Origin(SessionId("session"), TurnId("turn"), 0)


class Guards:
    """Says of a text why it must not be sent."""

    def __init__(self) -> None:
        self.reasons: dict[str, str] = {}
        self.bugs: set[str] = set()

    def __call__(self, connection: sa.Connection, row: Row) -> str | None:
        text = getattr(row.op, "text", "")
        if text in self.bugs:
            raise KeyError(text)
        return self.reasons.get(text)


@dataclass(frozen=True, slots=True)
class State:
    text: str
    state: str
    reason: str | None
    attempts: int


class Post:
    def __init__(self, database: Database, recorder: Recorder, clock: FakeClock, supervisor: Supervisor) -> None:
        self.database, self.recorder, self.clock, self.supervisor = database, recorder, clock, supervisor
        self.channel = ScriptedChannel(clock)
        self.guards = Guards()
        self._committed = asyncio.Event()
        database.add_hook(self)
        self.outbox = self.boot("boot-1")

    def boot(self, name: str, channels: Mapping[str, Channel] | None = None, guard: Guard | None = None) -> Outbox:
        """The outbox of a process that starts now."""
        self.outbox = Outbox(
            self.database,
            self.recorder,
            self.clock,
            self.supervisor,
            {"test": self.channel} if channels is None else channels,
            BootId(name),
            guard or self.guards,
            Backoff(first=timedelta(seconds=2), cap=timedelta(minutes=5)),
        )
        return self.outbox

    async def queue(self, thread: str, text: str, policy: Policy = Policy.RESEND_ONCE, *, send: bool = True) -> None:
        """Queue a reply (one part per line); hand over what was claimed, as a turn does after its commit."""
        reply = Reply(ReplyPath(thread, "someone"), text)
        queued = await self.database.write(lambda tx: self.outbox.queue(tx, "test", reply, ORIGIN, policy))
        if send:
            self.outbox.sending([queued])

    async def settled(self) -> None:
        """Until nothing is being sent."""
        assert await self.outbox.drain(PATIENCE)

    async def poll(self) -> timedelta | None:
        """What the loop does when it wakes: claim what is due, send it. Returns how long it would sleep then."""
        wait = await self.outbox._claim_due()
        await self.settled()
        return wait

    async def later(self, duration: timedelta) -> timedelta | None:
        self.clock.advance(duration)
        return await self.poll()

    async def die(self) -> None:
        """The process is killed: what it was doing ends without a trace."""
        await self.supervisor.stop()

    async def recover(self, name: str) -> int:
        """The next process starts."""
        self.boot(name)
        return await self.database.write(self.outbox.recover)

    async def states(self) -> list[State]:
        def query(connection: sa.Connection) -> list[State]:
            rows = connection.execute(sa.select(outbox).order_by(outbox.c.seq))
            return [State(_text(row.op), row.state, row.reason, row.attempts) for row in rows]

        return await self.database.read(query)

    async def by_state(self) -> dict[str, str]:
        return {row.text: row.state for row in await self.states()}

    async def until(self, text: str, state: str, reason: str | None = None) -> None:
        """Wait until a row is in this state: look again after each commit."""
        while not any((row.text, row.state, row.reason) == (text, state, reason) for row in await self.states()):
            self._committed.clear()
            await self._committed.wait()

    def flush(self, tx: Tx, items: Sequence[Any]) -> None:
        """For `CommitHook`: nothing is deferred to it."""

    def committed(self) -> None:
        self._committed.set()

    def rolled_back(self) -> None:
        """For `CommitHook`."""

    async def audited(self) -> list[tuple[str, Mapping[str, object]]]:
        entries = await self.database.read(lambda c: timeline.newest(c, 500))
        return [(entry.type, entry.payload) for entry in entries]

    async def types(self) -> list[str]:
        return [type_ for type_, _ in await self.audited()]

    async def write(self, unit: Callable[[Tx], Any]) -> Any:
        return await self.database.write(unit)


def _text(op: str) -> str:
    return str(getattr(load_operation(op), "text", ""))
