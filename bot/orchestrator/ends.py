"""The ends of a turn. Each is one transaction; what leaves, leaves after it. The same transaction looks what waits next
in the lane and begins it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Literal, TypeVar

import sqlalchemy as sa

from bot.audit.events import Actor, CacheUsed, Payload, Record, TurnFailed, TurnFinished, TurnStarted
from bot.audit.events_memory import MemorySnapshot
from bot.gateway.events import Body, CommandInvoked, MessageReceived, PlaceKind, Proof
from bot.gateway.operations import Reply
from bot.intake import store as inbox
from bot.intake.tables import Hold, InState
from bot.kernel.ids import ClaimId, InboxId, MessageId, OutboxId, PersonId, SessionId, new_id
from bot.kernel.retry import Backoff
from bot.kernel.scope import PersonScope, SessionScope
from bot.kernel.supervise import to_the_end
from bot.llm import budget
from bot.llm.budget import Account
from bot.llm.model import Usage
from bot.memory import store as memories
from bot.memory.block import Block
from bot.memory.reading import EVERYTHING
from bot.orchestrator import commands, intents, journal, keeping, kept
from bot.orchestrator.cleaning import cleaned
from bot.orchestrator.decide import Answer, Decision, Silent, said_with_sources
from bot.orchestrator.intents import Ending
from bot.orchestrator.loop import Answered
from bot.orchestrator.memories import LISTED, scope_of
from bot.orchestrator.placeholder import Placeholders
from bot.orchestrator.scheduled import is_scheduled
from bot.orchestrator.values import (
    Begun,
    Completed,
    Free,
    Later,
    Next,
    Overtaken,
    Parts,
    Prompted,
    reply_path,
    spender,
)
from bot.outbox import growth
from bot.outbox.service import Queued
from bot.outbox.store import Origin
from bot.people import store as people
from bot.sessions import compaction, places, threads, transcript, turns
from bot.sessions.audience import Audience
from bot.sessions.transcript import Said
from bot.sessions.turns import Turn
from bot.storage.database import StoreBusyError, Tx

log = logging.getLogger(__name__)

T = TypeVar("T")
STORE_BACKOFF = Backoff(cap=timedelta(seconds=30))
ORCHESTRATOR = Actor("system", "orchestrator")
STOPPED = "*(stopped)*"
FIRST_CONTACT = (
    "*You write to me for the first time: I keep what you write, and whoever runs this machine can read it. "
    "`/privacy` says who reads what, for how long, and how to erase it.*"
)
COMPACTED = (
    "*This thread has grown long: of its older part I now see a summary. What was said is kept, and I can look it up.*"
)
UNSEEN = "What was said in it before is not shown to me any more."
AWAY = "I was away when you wrote ({count}, the first at {first:%Y-%m-%d %H:%M} UTC). Say a word and I will answer."


class Ends:
    def __init__(self, parts: Parts, placeholders: Placeholders) -> None:
        self._p = parts
        self._placeholders = placeholders
        self._greeted: set[tuple[str, str]] = set()

    async def commit(
        self,
        turn: Turn,
        rows: Sequence[inbox.Row],
        completed: Completed,
        decision: Decision,
    ) -> Next | Overtaken:
        """Transcript, reply, audit and the end of the rows in one transaction; then the reply leaves."""
        channel = rows[-1].channel
        prompted, answered = completed.prompted, completed.answered
        text = "…"
        if isinstance(decision, Answer):
            permitted = prompted.links | answered.links
            decision = replace(decision, text=await cleaned(decision.text, permitted))
            text = said_with_sources(decision.text, answered.sources)
            if text != decision.text:
                text = await cleaned(text, permitted)
            text = intents.told(text, answered.intents)
        greeting = await self._first_contact(rows[-1]) if isinstance(decision, Answer) else None
        if greeting is not None:
            text = f"{text}\n\n{FIRST_CONTACT}"
        warned = self._warning(turn, rows, prompted) if isinstance(decision, Answer) else None
        if warned is not None:
            text = f"{text}\n\n{budget.warning(*warned, prompted.asker.time_zone)}"
        summary = prompted.earlier.summary
        tell = isinstance(decision, Answer) and summary is not None and not summary.told
        if tell:
            text = f"{text}\n\n{COMPACTED}"
        keep = completed.keep
        if keep is not None and not keep.alone and isinstance(decision, Answer):
            text = f"{text}\n\n*{keeping.receipt(keep, prompted.current)}*"
        wider = await self._wider(turn, rows[-1]) if isinstance(decision, Answer) else None
        if wider is not None:
            text = f"*{wider.verdict} {UNSEEN}*\n\n{text}"
        planned = await self._p.outbox.plan(channel, Reply(reply_path(rows), text))

        def unit(tx: Tx) -> tuple[Next | Overtaken, tuple[Queued, ...]]:
            now = self._p.clock.now()
            outcome, state = _outcome(decision)
            model, untrusted = answered.finished.model, prompted.untrusted or answered.untrusted
            if not turns.finish(tx, turn, self._p.boot, outcome, model, now, untrusted=untrusted):
                return Overtaken(), ()
            why = "over budget" if state is InState.REFUSED else None
            ended = inbox.end_turn(tx, turn.id, state, now, why)
            self._write_transcript(tx, turn, ended, prompted, decision, now)
            if greeting is not None:
                people.greet(tx, channel, greeting, now)
            if warned is not None:
                self._p.meter.warned(tx, self._p.recorder, spender(turn, rows), *warned)
            if wider is not None:
                places.told(tx, wider.key)
            ops = self._placeholders.grown(tx, turn, channel, planned, silent=isinstance(decision, Silent))
            queued: tuple[Queued, ...] = ()
            if ops:
                origin = Origin(turn.session, turn.id, turn.audience_epoch)
                queued = (self._p.outbox.queue_operations(tx, channel, ops, origin),)
            self._remembered(tx, turn, prompted.remembered, now)
            self._audit_end(tx, turn, outcome, answered, [i for q in queued for i in q.ids], now)
            ending = Ending(turn.id, turn.session, model, untrusted, prompted.links | answered.links, now)
            intents.write(tx, answered.intents, ending)
            if tell and summary is not None:
                compaction.mark_told(tx, summary.id)
            if prompted.earlier.hidden or prompted.built.history_start is not None:
                self._p.compact.queue(tx, turn.session, now)
            if keep is not None:
                keeping.queue(tx, turn, keep, prompted.current, now)
            kept.keep(tx, turn, self._p.meter.requests(turn.id), prompted.built.origins)
            if self._p.extract is not None and outcome != "refused" and not is_scheduled(rows):
                self._p.extract.turn(tx, turn.session, turn.id, now)
            self._p.meter.settle(tx, self._p.recorder, turn.id)
            following, notices = self._claim_more(tx, turn.session, now)
            return following, (*queued, *notices)

        ended = await self._write_and_send(unit)
        intents.written(answered.intents)
        self._p.compact.ring()
        if self._p.extract is not None:
            self._p.extract.ring()
        return ended

    async def command(self, turn: Turn, row: inbox.Row) -> Next | Overtaken:
        """A turn without a model."""
        event = row.event
        assert isinstance(event, CommandInvoked)  # noqa: S101 - for the type checker; the lane has looked
        ranked = await self._sought(turn, row, event)

        def unit(tx: Tx) -> tuple[Next | Overtaken, tuple[Queued, ...]]:
            now = self._p.clock.now()
            if not turns.finish(tx, turn, self._p.boot, "answered", None, now, untrusted=False):
                return Overtaken(), ()
            inbox.end_turn(tx, turn.id, InState.ANSWERED, now)
            person = people.by_ids(tx.connection, [row.person] if row.person else []).get(row.person or PersonId(""))
            session = threads.get(tx.connection, turn.session)
            if person is None or session is None:
                text = "I do not know you any more."
            else:
                asked = commands.Asked(
                    event, person, turn.session, session.place, now, self._p.model.provider, self._p.meter,
                    self._p.eraser, row.channel, self._p.verdicts, ranked,
                )  # fmt: skip
                text = commands.run(tx, self._p.recorder, asked)
            epoch = turns.current_epochs(tx.connection, turn.session)[1]
            reply = Reply(event.reply_path, text)
            queued = self._p.outbox.queue(tx, row.channel, reply, Origin(turn.session, turn.id, epoch))
            self._record(
                tx, turn, TurnFinished("answered", "", f"/{event.name}", 0, 0, _milliseconds(turn, now), queued.ids)
            )
            following, notices = self._claim_more(tx, turn.session, now)
            return following, (queued, *notices)

        ended = await self._write_and_send(unit)
        for each in (self._p.eraser, self._p.verdicts):
            if each is not None:
                each.ring()
        return ended

    async def _sought(self, turn: Turn, row: inbox.Row, event: CommandInvoked) -> Sequence[ClaimId]:
        """What the search index finds for the words of `/memories`: it is asked before the transaction."""
        person = row.person
        if event.name != "memories" or not event.arguments.strip() or self._p.recall is None or person is None:
            return ()

        def query(connection: sa.Connection) -> PersonScope | SessionScope | None:
            session, asking = threads.get(connection, turn.session), people.get(connection, person)
            if session is None or asking is None:
                return None
            return scope_of(connection, session.place, session.id, asking)

        scope = await self._p.database.read(query)
        if scope is None:
            return ()
        found = await self._p.recall.best(scope, event.arguments, EVERYTHING, LISTED)
        return [each.claim.id for each in found]

    async def stopped(self, turn: Turn, rows: Sequence[inbox.Row]) -> Next | Overtaken:
        """A person stopped the turn: its rows end, nothing is said by it but in a placeholder that stands already."""
        channel = rows[-1].channel
        planned = await self._p.outbox.plan(channel, Reply(reply_path(rows), STOPPED))

        def unit(tx: Tx) -> tuple[Next | Overtaken, tuple[Queued, ...]]:
            now = self._p.clock.now()
            if not turns.finish(tx, turn, self._p.boot, "stopped", None, now, untrusted=False):
                return Overtaken(), ()
            inbox.end_turn(tx, turn.id, InState.STOPPED, now, "stopped")
            self._record(tx, turn, TurnFinished("stopped", "", "stopped", 0, 0, _milliseconds(turn, now), ()))
            self._p.meter.settle(tx, self._p.recorder, turn.id)
            queued: tuple[Queued, ...] = ()
            placeholder = self._placeholders.take(tx, turn, channel)
            if placeholder is not None:
                origin = Origin(turn.session, turn.id, turn.audience_epoch)
                ops = growth.grown(planned, placeholder)
                queued = (self._p.outbox.queue_operations(tx, channel, ops, origin),)
            following, notices = self._claim_more(tx, turn.session, now)
            return following, (*queued, *notices)

        return await self._write_and_send(unit)

    async def park(self, turn: Turn, rows: Sequence[inbox.Row], reason: str, text: str) -> Next | Overtaken:
        """Give the turn up, keep its rows for a person to look at, and say so."""

        def unit(tx: Tx) -> tuple[Next | Overtaken, tuple[Queued, ...]]:
            now = self._p.clock.now()
            turns.park(tx, turn.id, now)
            inbox.end_turn(tx, turn.id, InState.PARKED, now, reason)
            self._record(tx, turn, TurnFailed(turn.attempt, reason, parked=True))
            self._p.meter.settle(tx, self._p.recorder, turn.id)
            queued: tuple[Queued, ...] = ()
            if rows:
                origin = Origin(turn.session, turn.id, turns.current_epochs(tx.connection, turn.session)[1])
                queued = (self._placeholders.say(tx, turn, rows, text, origin),)
            following, notices = self._claim_more(tx, turn.session, now)
            return following, (*queued, *notices)

        return await self._write_and_send(unit)

    async def failed(self, turn: Turn, error: str) -> None:
        """An attempt failed by a bug: the turn waits to be run again, and the attempt counts."""

        def unit(tx: Tx) -> None:
            if turns.interrupt(tx, turn.id, self._p.boot):
                self._record(tx, turn, TurnFailed(turn.attempt, error, parked=False))
            self._p.meter.settle(tx, self._p.recorder, turn.id)

        await self._write(unit, "turn-failed")

    async def waits(self, turn: Turn, rows: Sequence[inbox.Row], text: str | None) -> None:
        """The turn cannot go on now: it is given back without counting, and the person is told once."""

        def unit(tx: Tx) -> tuple[None, tuple[Queued, ...]]:
            now = self._p.clock.now()
            turns.release(tx, turn.id, self._p.boot)
            self._p.meter.settle(tx, self._p.recorder, turn.id)
            if text is None or not journal.note(tx, turn.id, "told_that_it_waits", {}, "", now):
                return None, ()
            origin = Origin(turn.session, turn.id, turn.audience_epoch)
            return None, (self._placeholders.say(tx, turn, rows, text, origin),)

        await self._write_and_send(unit)

    async def resume(self, session: SessionId) -> Begun | None:
        """Take up the session's interrupted turn with its rows."""

        def unit(tx: Tx) -> Begun | None:
            turn = turns.resume(tx, session, self._p.boot, self._p.clock.now())
            if turn is None:
                return None
            rows = inbox.of_turn(tx.connection, turn.id)
            self._record(tx, turn, TurnStarted(tuple(row.id for row in rows), turn.attempt))
            return Begun(turn, tuple(rows))

        return await self._write(unit, "turn-resume")

    async def claim(self, session: SessionId) -> Next:
        """Begin the next turn of a session whose lane is free, if rows wait that may start one."""

        def unit(tx: Tx) -> tuple[Next, tuple[Queued, ...]]:
            found = threads.get(tx.connection, session)
            if found is None or found.lane_busy:
                return Free(), ()
            return self._claim_more(tx, session, self._p.clock.now())

        return await self._write_and_send(unit)

    async def _first_contact(self, row: inbox.Row) -> str | None:
        """The account that is answered for the first time, alone: it is told what becomes of its words."""
        event = row.event
        if not isinstance(event, MessageReceived) or event.place.kind not in (PlaceKind.DIRECT, PlaceKind.MAIL):
            return None
        account = (row.channel, event.sender.address)
        if account in self._greeted:
            return None
        greeted = await self._p.database.read(lambda c: people.was_greeted(c, *account))
        self._greeted.add(account)
        return None if greeted else event.sender.address

    async def _wider(self, turn: Turn, row: inbox.Row) -> places.Known | None:
        """A mail thread that more people read than before: its next answer says so."""
        if not isinstance(row.event, MessageReceived) or row.event.place.kind is not PlaceKind.MAIL:
            return None
        return await self._p.database.read(lambda c: places.untold(c, turn.session))

    def _warning(self, turn: Turn, rows: Sequence[inbox.Row], prompted: Prompted) -> tuple[Account, int] | None:
        """The limit that is nearly spent, if the asker is to be told of it here."""
        asker = prompted.asker
        if asker.audience is Audience.EXTERNAL or asker.person is None or not asker.person.internal:
            return None
        return self._p.meter.warning(spender(turn, rows))

    def _write_transcript(
        self,
        tx: Tx,
        turn: Turn,
        ended: Sequence[inbox.Row],
        prompted: Prompted,
        decision: Decision,
        now: datetime,
    ) -> None:
        edits = {row.id: row.edit for row in ended if row.edit is not None}
        said: list[Said] = []
        for each in prompted.current:
            edit = edits.get(InboxId(each.id))
            said.append(each if edit is None else replace(each, body=edit.body, edited_at=edit.edited_at))
        if isinstance(decision, Answer):
            said.append(
                Said(
                    MessageId(new_id(now)),
                    turn.id,
                    "assistant",
                    None,
                    "",
                    None,
                    Body(decision.text),
                    Proof.LOCAL,
                    now,
                )
            )
        transcript.add(tx, turn, said, now)
        if prompted.built.history_start is not None:
            transcript.start_history_at(tx, turn.session, prompted.built.history_start)

    def _remembered(self, tx: Tx, turn: Turn, block: Block, now: datetime) -> None:
        """Which memories stood before the model."""
        if not block.shown:
            return
        shown = block.shown
        snapshot = MemorySnapshot(
            "block",
            tuple(each.claim.id for each in shown),
            tuple(each.claim.version for each in shown),
            tuple(each.score for each in shown),
            (),
            block.left_out,
        )
        memories.show(tx, turn.id, snapshot, now)
        memories.asked(tx, turn.id, block.asked, now)
        self._record(tx, turn, snapshot)

    def _audit_end(
        self,
        tx: Tx,
        turn: Turn,
        outcome: Literal["answered", "silent", "refused"],
        answered: Answered,
        parts: Sequence[OutboxId],
        now: datetime,
    ) -> None:
        finished = answered.finished
        usage: Usage = finished.usage
        actor = Actor("model", finished.model)
        for record in answered.records:
            self._record(tx, turn, record, actor)
            if isinstance(record, MemorySnapshot):
                memories.show(tx, turn.id, record, now)
        ended = TurnFinished(
            outcome,
            finished.model,
            finished.stop.value,
            usage.input,
            usage.output,
            _milliseconds(turn, now),
            tuple(parts),
        )
        self._record(tx, turn, ended, actor)
        if usage.cache_read or usage.cache_written:
            self._record(tx, turn, CacheUsed(usage.cache_read, usage.cache_written, usage.input), actor)

    def _claim_more(self, tx: Tx, session_id: SessionId, now: datetime) -> tuple[Next, tuple[Queued, ...]]:
        """In the transaction that frees a lane (or sees it free): begin the next turn if rows wait for one."""
        waiting = inbox.waiting(tx.connection, session_id)
        if waiting is None:
            return Free(), ()
        if Hold.NO not in waiting.holds:
            return Free(), self._say_away(tx, session_id, waiting)
        if waiting.ready_at > now:
            return Later(waiting.ready_at), ()
        epochs = turns.current_epochs(tx.connection, session_id)
        (turn,) = turns.begin(tx, [(session_id, epochs)], self._p.boot, now)
        rows = inbox.claim(tx, waiting.ids, turn.id)
        self._record(tx, turn, TurnStarted(tuple(row.id for row in rows), 1))
        return Begun(turn, tuple(rows)), ()

    def _say_away(self, tx: Tx, session_id: SessionId, waiting: inbox.Waiting) -> tuple[Queued, ...]:
        """Only messages wait that came too late: one line says so, and they wait for the next word."""
        if Hold.STALE not in waiting.holds:
            return ()
        rows = inbox.by_ids(tx.connection, waiting.ids)
        inbox.mark_told(tx, waiting.ids)
        count = "one message" if len(rows) == 1 else f"{len(rows)} messages"
        first = rows[0].event
        at = first.sent_at if isinstance(first, MessageReceived | CommandInvoked) else rows[0].received_at
        epoch = turns.current_epochs(tx.connection, session_id)[1]
        reply = Reply(reply_path(rows), AWAY.format(count=count, first=at))
        return (self._p.outbox.queue(tx, rows[-1].channel, reply, Origin(session_id, None, epoch)),)

    async def _write_and_send(self, unit: Callable[[Tx], tuple[T, tuple[Queued, ...]]]) -> T:
        result, queued = await self._write(unit, "turn")
        self._p.outbox.sending(queued)
        return result

    async def _write(self, unit: Callable[[Tx], T], name: str) -> T:
        """The end of a turn must be written, however often the store refuses: what it answered is not asked again."""
        failures = 0
        while True:
            try:
                return await to_the_end(self._p.database.write(unit), name)
            except StoreBusyError as error:
                failures += 1
                log.warning("%s waits for the store: %s", name, error.message)
                await self._p.clock.sleep(STORE_BACKOFF.delay(failures))

    def _record(self, tx: Tx, turn: Turn, payload: Payload, actor: Actor = ORCHESTRATOR) -> None:
        self._p.recorder.record(tx, Record(payload, actor, turn.session, turn.id))


def _outcome(decision: Decision) -> tuple[Literal["answered", "silent", "refused"], InState]:
    match decision:
        case Silent():
            return "silent", InState.SILENT
        case Answer(refused=True):
            return "refused", InState.REFUSED
        case Answer():
            return "answered", InState.ANSWERED


def _milliseconds(turn: Turn, now: datetime) -> int:
    return (now - turn.started_at) // timedelta(milliseconds=1)
