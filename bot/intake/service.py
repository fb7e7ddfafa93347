"""The `Inbox` that channels are handed, and what happens right after its commit."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Protocol

import sqlalchemy as sa

from bot.audit.events import Actor, MessageParked, MessageRefused, Record, Refusal
from bot.audit.recorder import Recorder
from bot.gateway.channel import Accepted, Cursor
from bot.gateway.codec import dump_event
from bot.gateway.events import InboundEvent
from bot.intake import store
from bot.intake.batch import Batch
from bot.intake.model import Bounces, Context, Departed, Familiar, Reread, Rules, Taken
from bot.intake.scrub import scrub
from bot.intake.tables import InState
from bot.kernel.clock import Clock
from bot.kernel.ids import BootId, InboxId, SessionId, new_id
from bot.kernel.supervise import Bug, attempt, to_the_end
from bot.kernel.values import dataclass
from bot.outbox import store as outbox_store
from bot.outbox.service import Outbox
from bot.people import store as people
from bot.sessions import threads
from bot.sessions.turns import Turn
from bot.storage.database import Database, Tx

log = logging.getLogger(__name__)


class Listener(Protocol):
    """Whoever works on what came in."""

    def begin(self, turn: Turn, rows: Sequence[store.Row]) -> None:
        """A free lane was taken by these rows, in the transaction that brought them."""
        ...

    def waiting(self, session: SessionId) -> None:
        """Rows of this session wait for their turn."""
        ...

    def immediate(self, row: store.Row) -> None:
        """A command, press or form to be handled outside the lanes."""
        ...


@dataclass(frozen=True, slots=True)
class _Port:
    """`Inbox` for one channel."""

    intake: Intake
    channel: str

    async def accept(self, events: Sequence[InboundEvent], cursor: Cursor | None = None) -> Sequence[Accepted]:
        return await self.intake.accept(self.channel, events, cursor)

    async def cursor(self, name: str) -> str | None:
        return await self.intake.database.read(lambda c: store.get_cursor(c, self.channel, name))

    async def participates(self, refs: Sequence[str], address: str) -> bool:
        def query(connection: sa.Connection) -> bool:
            known = outbox_store.session_of_refs(connection, refs) | store.sessions_of_refs(connection, refs)
            return bool(threads.takes_part(connection, set(known.values()), address))

        return await self.intake.database.read(query)

    async def sides(self, addresses: Sequence[str]) -> Mapping[str, bool]:
        found = await self.intake.database.read(lambda c: people.by_handle(c, self.channel, addresses))
        return {address: person.internal for address, person in found.items() if person.named or not person.active}

    async def is_known(self, address: str) -> bool:
        found = await self.intake.database.read(lambda c: people.by_handle(c, self.channel, [address]))
        return address in found and found[address].active


class Intake:
    def __init__(
        self,
        database: Database,
        recorder: Recorder,
        clock: Clock,
        outbox: Outbox,
        boot: BootId,
        rules: Rules,
        listener: Listener,
        reread: Reread | None = None,
        bounces: Bounces | None = None,
        departed: Departed | None = None,
    ) -> None:
        self.database = database
        self._recorder = recorder
        self._clock = clock
        self._outbox = outbox
        self._boot = boot
        self._rules = rules
        self._listener = listener
        self._reread = reread
        self._bounces = bounces
        self._departed = departed
        self._familiar = Familiar()

    def port(self, channel: str) -> _Port:
        return _Port(self, channel)

    async def accept(self, channel: str, events: Sequence[InboundEvent], cursor: Cursor | None) -> Sequence[Accepted]:
        """See `Inbox.accept`. An event that trips over a bug is parked whole and does not hold up the others.

        Goes to its end even if the caller goes away meanwhile (a peer that hangs up): what was committed must be
        worked on.
        """
        return await to_the_end(self._accept(channel, events, cursor), "intake")

    async def _accept(self, channel: str, events: Sequence[InboundEvent], cursor: Cursor | None) -> Sequence[Accepted]:
        taken = await attempt(self.database.write(lambda tx: self._unit(tx, channel, events, cursor)), "intake")
        if not isinstance(taken, Bug):
            self._after(taken)
            return taken.answers
        if len(events) == 1:
            clean = scrub(events[0])
            if clean != events[0]:
                return await self._accept(channel, [clean], cursor)
            await self.database.write(lambda tx: self._park(tx, channel, events[0], taken, cursor))
            return (Accepted.REFUSED,)
        answers = [(await self._accept(channel, [event], None))[0] for event in events]
        if cursor is not None:
            await self.database.write(lambda tx: store.set_cursor(tx, channel, cursor.name, cursor.value))
        return answers

    def forget_rooms(self) -> None:
        """The roster changed: every room is looked at anew."""
        self._familiar.rooms.clear()
        self._familiar.participants.clear()

    def report_refusals(self, tx: Tx) -> int:
        """Write the audit rows of past hours' refusals. Returns how many."""
        unreported = store.take_unreported(tx, self._clock.now())
        for each in unreported:
            payload = MessageRefused(each.channel, Refusal(each.reason), each.count, None)
            self._recorder.record(tx, Record(payload, Actor("stranger", each.channel), text=each.address))
        return len(unreported)

    def _unit(self, tx: Tx, channel: str, events: Sequence[InboundEvent], cursor: Cursor | None) -> Taken:
        now = self._clock.now()
        context = Context(
            tx, self._recorder, self._outbox, self._rules, self._familiar, channel, self._boot, now,
            reread=self._reread, bounces=self._bounces, departed=self._departed,
        )  # fmt: skip
        batch = Batch(context)
        taken = batch.take(events)
        if cursor is not None:
            store.set_cursor(tx, channel, cursor.name, cursor.value)
        return taken

    def _after(self, taken: Taken) -> None:
        for key in taken.forget_rooms:
            self._familiar.rooms.pop(key, None)
        self._familiar.rooms |= taken.rooms
        self._familiar.participants |= taken.participants
        for note in taken.notes:
            log.warning("%s", note)
        self._outbox.sending(taken.queued)
        if self._reread is not None:
            self._reread.ring()
        if self._bounces is not None:
            self._bounces.ring()
        for turn, rows in taken.begun:
            self._listener.begin(turn, rows)
        for session in taken.waiting:
            self._listener.waiting(session)
        for row in taken.immediate:
            self._listener.immediate(row)

    def _park(self, tx: Tx, channel: str, event: InboundEvent, bug: Bug, cursor: Cursor | None) -> None:
        now = self._clock.now()
        row_id = InboxId(new_id(now))
        store.insert(
            tx,
            [
                {
                    "id": row_id,
                    "channel": channel,
                    "kind": event.kind,
                    "lane": False,
                    "ref": getattr(event, "ref", None),
                    "event": dump_event(event),
                    "state": InState.PARKED.value,
                    "reason": f"internal error ({bug})",
                    "received_at": now,
                    "ready_at": now,
                    "ended_at": now,
                }
            ],
        )
        fresh = set(event.keys) - set(store.seen_before(tx.connection, event.keys))
        store.remember(tx, dict.fromkeys(sorted(fresh), row_id))
        if cursor is not None:
            store.set_cursor(tx, channel, cursor.name, cursor.value)
        parked = MessageParked(row_id, channel, event.kind, str(bug))
        self._recorder.record(tx, Record(parked))
        log.error("event %s of %s is parked", row_id, channel)
