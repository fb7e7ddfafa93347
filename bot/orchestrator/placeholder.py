"""The placeholder of a turn: one message that stands in for the answer while it is written, and grows into it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from bot.gateway.channel import Channel
from bot.gateway.events import ReplyPath
from bot.gateway.operations import OutboundOp, Reply
from bot.intake import store as inbox
from bot.kernel.ids import OutboxId
from bot.kernel.supervise import to_the_end
from bot.orchestrator import journal
from bot.orchestrator.values import Parts, reply_path
from bot.outbox import growth
from bot.outbox.service import Queued
from bot.outbox.store import Origin
from bot.sessions import turns
from bot.sessions.turns import Turn
from bot.storage.database import Tx

PLACEHOLDER = "placeholder"
TAKEN = "placeholder_taken"


class Placeholders:
    def __init__(self, parts: Parts) -> None:
        self._p = parts

    async def stand_in(self, turn: Turn, channel: Channel, path: ReplyPath) -> Callable[[], Awaitable[str | None]]:
        """Put up the turn's placeholder (once, over restarts too); returns what finds its ref."""

        def unit(tx: Tx) -> tuple[OutboxId | None, tuple[Queued, ...]]:
            known = journal.result_of(tx.connection, turn.id, PLACEHOLDER, {})
            if known is not None or not turns.is_running(tx.connection, turn, self._p.boot):
                return (OutboxId(known) if known else None), ()
            origin = Origin(turn.session, turn.id, turn.audience_epoch)
            queued = self._p.outbox.queue(tx, channel.name, Reply(path, channel.placeholder or "…"), origin)
            journal.note(tx, turn.id, PLACEHOLDER, {}, queued.ids[-1], self._p.clock.now())
            return queued.ids[-1], (queued,)

        async def put_up() -> OutboxId | None:
            # Sent with the commit, whatever becomes of the caller: an answer that is complete meanwhile ends it, and a
            # row that is claimed and that nobody sends would hold up its thread for ever.
            row_id, queued = await self._p.database.write(unit)
            self._p.outbox.sending(queued)
            return row_id

        row_id = await to_the_end(put_up(), "placeholder")

        async def find() -> str | None:
            return None if row_id is None else await self._p.outbox.ref_of(row_id)

        return find

    def take(self, tx: Tx, turn: Turn, channel: str) -> OutboxId | None:
        """The turn's placeholder that still waits for its last words; asking takes it."""
        if self._p.channels[channel].placeholder is None:
            return None
        known = journal.result_of(tx.connection, turn.id, PLACEHOLDER, {})
        if known is None or not journal.note(tx, turn.id, TAKEN, {}, "", self._p.clock.now()):
            return None
        return OutboxId(known)

    def grown(
        self, tx: Tx, turn: Turn, channel: str, planned: Sequence[OutboundOp], *, silent: bool
    ) -> Sequence[OutboundOp]:
        """What is really sent: the plan, or the plan grown out of the turn's placeholder; silence takes that away."""
        placeholder = self.take(tx, turn, channel)
        if placeholder is None:
            return () if silent else planned
        return (growth.removal(planned, placeholder),) if silent else growth.grown(planned, placeholder)

    def say(self, tx: Tx, turn: Turn, rows: Sequence[inbox.Row], text: str, origin: Origin) -> Queued:
        channel = rows[-1].channel
        planned = self._p.channels[channel].plan(Reply(reply_path(rows), text))
        ops = self.grown(tx, turn, channel, planned, silent=False)
        return self._p.outbox.queue_operations(tx, channel, ops, origin)
