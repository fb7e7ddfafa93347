"""One turn as five steps: recall, prompt, complete, decide, commit. Each is a method or a pure function; `lanes` calls
them in order and decides what becomes of failures."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, TypeVar

import sqlalchemy as sa

from bot.audit.events import Actor, CacheUsed, Payload, Record, TurnFailed, TurnFinished, TurnStarted
from bot.audit.recorder import Recorder
from bot.files.service import Files
from bot.gateway.channel import Channel
from bot.gateway.events import Body, CommandInvoked, MessageReceived, PlaceKind, Proof, ReplyPath
from bot.gateway.operations import OutboundOp, Reply
from bot.intake import store as inbox
from bot.intake.tables import Hold, InState
from bot.kernel.clock import Clock
from bot.kernel.ids import BootId, InboxId, MessageId, OutboxId, PersonId, SessionId, TurnId, new_id
from bot.kernel.scope import SessionScope
from bot.kernel.supervise import to_the_end
from bot.llm.converse import converse
from bot.llm.model import ContextTooLongError, Finished, Image, Model, Restarted, TextDelta, Usage
from bot.orchestrator import commands, journal, material
from bot.orchestrator import prompt as prompts
from bot.orchestrator.decide import Answer, Decision, Silent, decide
from bot.orchestrator.drafts import Drafter
from bot.outbox import growth
from bot.outbox.service import Outbox, Queued
from bot.outbox.store import Origin
from bot.people import store as people
from bot.people.model import Person
from bot.sessions import places, threads, transcript, turns
from bot.sessions.threads import Session
from bot.sessions.transcript import Said
from bot.sessions.turns import Turn
from bot.storage.database import Database, Tx

T = TypeVar("T")
ORCHESTRATOR = Actor("system", "orchestrator")

SHORTER_TRIES = 4
PLACEHOLDER = "placeholder"
PLACEHOLDER_TAKEN = "placeholder_taken"
STOPPED = "*(stopped)*"
FIRST_CONTACT = (
    "*You write to me for the first time: I keep what you write, and whoever runs this machine can read it. "
    "`/privacy` says who reads what, for how long, and how to erase it.*"
)
AWAY = "I was away when you wrote ({count}, the first at {first:%Y-%m-%d %H:%M} UTC). Say a word and I will answer."


@dataclass(frozen=True, slots=True)
class Recalled:
    session: Session
    place: places.Known | None
    history: list[Said]
    people: Mapping[PersonId, Person]


@dataclass(frozen=True, slots=True)
class Prompted:
    built: prompts.Built
    current: tuple[Said, ...]


@dataclass(frozen=True, slots=True)
class Begun:
    """The lane goes on with these rows."""

    turn: Turn
    rows: tuple[inbox.Row, ...]


@dataclass(frozen=True, slots=True)
class Later:
    """Rows wait that are not ready before this instant."""

    at: datetime


@dataclass(frozen=True, slots=True)
class Free:
    """Nothing waits."""


@dataclass(frozen=True, slots=True)
class Overtaken:
    """The turn may not end like this: its audience changed, or it is no longer ours."""


Next = Begun | Later | Free


@dataclass(frozen=True, slots=True)
class Parts:
    """What turns are made of, handed in once."""

    database: Database
    recorder: Recorder
    clock: Clock
    outbox: Outbox
    files: Files
    model: Model
    frame: prompts.Frame
    channels: Mapping[str, Channel]
    boot: BootId
    default_zone: str


class TurnSteps:
    def __init__(self, parts: Parts) -> None:
        self._p = parts
        self._greeted: set[tuple[str, str]] = set()

    async def recall(self, turn: Turn, rows: Sequence[inbox.Row]) -> Recalled:
        wanted = sorted({row.person for row in rows if row.person is not None})

        def query(connection: sa.Connection) -> Recalled:
            session = threads.get(connection, turn.session)
            if session is None:
                raise LookupError(f"session {turn.session} of a turn is gone")
            return Recalled(
                session,
                places.get(connection, session.place),
                transcript.history(connection, SessionScope(turn.session)),
                people.by_ids(connection, wanted),
            )

        return await self._p.database.read(query)

    async def prompt(self, rows: Sequence[inbox.Row], recalled: Recalled) -> Prompted:
        """Raises `TransientError` when a file of a message can be had only later."""
        said: list[Said] = []
        pictures: dict[MessageId, Sequence[Image]] = {}
        for row in rows:
            each, shown = await self._said(row, recalled)
            said.append(each)
            pictures[each.id] = shown
        built = prompts.build(self._p.frame, self._context(rows, recalled), recalled.history, said, pictures)
        return Prompted(built, tuple(said))

    async def complete(
        self, turn: Turn, rows: Sequence[inbox.Row], recalled: Recalled, prompted: Prompted
    ) -> tuple[Finished, Prompted]:
        """Ask the model; a request that is too long is asked again with less history.

        Returns the answer and the prompt that it answers. Raises like `Model.stream`.
        """
        for tries in range(SHORTER_TRIES):
            try:
                return await self._ask(turn, rows, prompted), prompted
            except ContextTooLongError:
                if not recalled.history or tries == SHORTER_TRIES - 1:
                    raise
                history, start = prompts.halved(recalled.history)
                recalled = replace(recalled, history=history)
                prompted = await self.prompt(rows, recalled)
                prompted = replace(prompted, built=replace(prompted.built, history_start=start))
        raise AssertionError("the loop returns or raises")

    @staticmethod
    def decide(finished: Finished) -> Decision:
        return decide(finished)

    async def commit(
        self,
        turn: Turn,
        rows: Sequence[inbox.Row],
        prompted: Prompted,
        finished: Finished,
        decision: Decision,
    ) -> Next | Overtaken:
        """Transcript, reply, audit and the end of the rows in one transaction; then the reply leaves."""
        channel = rows[-1].channel
        text = decision.text if isinstance(decision, Answer) else "…"
        greeting = await self._first_contact(rows[-1]) if isinstance(decision, Answer) else None
        if greeting is not None:
            text = f"{text}\n\n{FIRST_CONTACT}"
        planned = await self._p.outbox.plan(channel, Reply(reply_path(rows), text))

        def unit(tx: Tx) -> tuple[Next | Overtaken, tuple[Queued, ...]]:
            now = self._p.clock.now()
            outcome: Literal["answered", "silent"] = "silent" if isinstance(decision, Silent) else "answered"
            if not turns.finish(tx, turn, self._p.boot, outcome, finished.model, now):
                return Overtaken(), ()
            state = InState.SILENT if isinstance(decision, Silent) else InState.ANSWERED
            ended = inbox.end_turn(tx, turn.id, state, now)
            self._write_transcript(tx, turn, ended, prompted, decision, now)
            if greeting is not None:
                people.greet(tx, channel, greeting, now)
            ops = self._grown(tx, turn, channel, planned, silent=isinstance(decision, Silent))
            queued: tuple[Queued, ...] = ()
            if ops:
                origin = Origin(turn.session, turn.id, turn.audience_epoch)
                queued = (self._p.outbox.queue_operations(tx, channel, ops, origin),)
            self._audit_end(tx, turn, outcome, finished, [i for q in queued for i in q.ids], now)
            following, notices = self._claim_more(tx, turn.session, now)
            return following, (*queued, *notices)

        return await self._write_and_send(unit)

    # --- other ends ------------------------------------------------------------------------------------------------

    async def command(self, turn: Turn, row: inbox.Row) -> Next | Overtaken:
        """A turn without a model."""
        event = row.event
        assert isinstance(event, CommandInvoked)  # noqa: S101 - for the type checker; the lane has looked

        def unit(tx: Tx) -> tuple[Next | Overtaken, tuple[Queued, ...]]:
            now = self._p.clock.now()
            if not turns.finish(tx, turn, self._p.boot, "answered", None, now):
                return Overtaken(), ()
            inbox.end_turn(tx, turn.id, InState.ANSWERED, now)
            person = people.by_ids(tx.connection, [row.person] if row.person else []).get(row.person or PersonId(""))
            session = threads.get(tx.connection, turn.session)
            if person is None or session is None:
                text = "I do not know you any more."
            else:
                text = commands.run(
                    tx,
                    self._p.recorder,
                    commands.Asked(event, person, turn.session, session.place, now, self._p.model.provider),
                )
            epoch = turns.current_epochs(tx.connection, turn.session)[1]
            reply = Reply(event.reply_path, text)
            queued = self._p.outbox.queue(tx, row.channel, reply, Origin(turn.session, turn.id, epoch))
            self._record(
                tx, turn, TurnFinished("answered", "", f"/{event.name}", 0, 0, _milliseconds(turn, now), queued.ids)
            )
            following, notices = self._claim_more(tx, turn.session, now)
            return following, (queued, *notices)

        return await self._write_and_send(unit)

    async def stopped(self, turn: Turn, rows: Sequence[inbox.Row]) -> Next | Overtaken:
        """A person stopped the turn: its rows end, nothing is said by it but in a placeholder that stands already."""
        channel = rows[-1].channel
        planned = await self._p.outbox.plan(channel, Reply(reply_path(rows), STOPPED))

        def unit(tx: Tx) -> tuple[Next | Overtaken, tuple[Queued, ...]]:
            now = self._p.clock.now()
            if not turns.finish(tx, turn, self._p.boot, "stopped", None, now):
                return Overtaken(), ()
            inbox.end_turn(tx, turn.id, InState.STOPPED, now, "stopped")
            self._record(tx, turn, TurnFinished("stopped", "", "stopped", 0, 0, _milliseconds(turn, now), ()))
            queued: tuple[Queued, ...] = ()
            placeholder = self._placeholder(tx, turn, channel)
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
            queued: tuple[Queued, ...] = ()
            if rows:
                origin = Origin(turn.session, turn.id, turns.current_epochs(tx.connection, turn.session)[1])
                queued = (self._say(tx, turn, rows, text, origin),)
            following, notices = self._claim_more(tx, turn.session, now)
            return following, (*queued, *notices)

        return await self._write_and_send(unit)

    async def failed(self, turn: Turn, error: str) -> None:
        """An attempt failed by a bug: the turn waits to be run again, and the attempt counts."""

        def unit(tx: Tx) -> None:
            if turns.interrupt(tx, turn.id, self._p.boot):
                self._record(tx, turn, TurnFailed(turn.attempt, error, parked=False))

        await to_the_end(self._p.database.write(unit), "turn-failed")

    async def waits(self, turn: Turn, rows: Sequence[inbox.Row], text: str | None) -> None:
        """The turn cannot go on now: it is given back without counting, and the person is told once."""

        def unit(tx: Tx) -> tuple[None, tuple[Queued, ...]]:
            now = self._p.clock.now()
            turns.release(tx, turn.id, self._p.boot)
            if text is None or not journal.note(tx, turn.id, "told_that_it_waits", {}, "", now):
                return None, ()
            origin = Origin(turn.session, turn.id, turn.audience_epoch)
            return None, (self._say(tx, turn, rows, text, origin),)

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

        return await to_the_end(self._p.database.write(unit), "turn-resume")

    async def claim(self, session: SessionId) -> Next:
        """Begin the next turn of a session whose lane is free, if rows wait that may start one."""

        def unit(tx: Tx) -> tuple[Next, tuple[Queued, ...]]:
            found = threads.get(tx.connection, session)
            if found is None or found.lane_busy:
                return Free(), ()
            return self._claim_more(tx, session, self._p.clock.now())

        return await self._write_and_send(unit)

    # --- parts -----------------------------------------------------------------------------------------------------

    async def _ask(self, turn: Turn, rows: Sequence[inbox.Row], prompted: Prompted) -> Finished:
        path, channel = reply_path(rows), self._p.channels[rows[-1].channel]
        finished: Finished | None = None
        async with (
            Drafter(channel, path, turn.id, self._p.clock, lambda: self._stand_in(turn, channel, path)) as drafter,
            aclosing(converse(self._p.model, prompted.built.request)) as events,
        ):
            async for event in events:
                match event:
                    case TextDelta(text):
                        drafter.add(text)
                    case Restarted():
                        drafter.restart()
                    case Finished():
                        finished = event
        if finished is None:
            raise RuntimeError("the model's stream ended without its last event")
        return finished

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

    async def _stand_in(self, turn: Turn, channel: Channel, path: ReplyPath) -> Callable[[], Awaitable[str | None]]:
        """Put up the turn's placeholder (once, over restarts too); returns what finds its ref."""

        def unit(tx: Tx) -> tuple[OutboxId | None, tuple[Queued, ...]]:
            known = journal.result_of(tx.connection, turn.id, PLACEHOLDER, {})
            if known is not None or not turns.is_running(tx.connection, turn, self._p.boot):
                return (OutboxId(known) if known else None), ()
            origin = Origin(turn.session, turn.id, turn.audience_epoch)
            queued = self._p.outbox.queue(tx, channel.name, Reply(path, channel.placeholder or "…"), origin)
            journal.note(tx, turn.id, PLACEHOLDER, {}, queued.ids[-1], self._p.clock.now())
            return queued.ids[-1], (queued,)

        row_id = await self._write_and_send(unit)

        async def find() -> str | None:
            return None if row_id is None else await self._p.outbox.ref_of(row_id)

        return find

    def _placeholder(self, tx: Tx, turn: Turn, channel: str) -> OutboxId | None:
        """The turn's placeholder that still waits for its last words; asking takes it."""
        if self._p.channels[channel].placeholder is None:
            return None
        known = journal.result_of(tx.connection, turn.id, PLACEHOLDER, {})
        if known is None or not journal.note(tx, turn.id, PLACEHOLDER_TAKEN, {}, "", self._p.clock.now()):
            return None
        return OutboxId(known)

    def _grown(
        self, tx: Tx, turn: Turn, channel: str, planned: Sequence[OutboundOp], *, silent: bool
    ) -> Sequence[OutboundOp]:
        """What is really sent: the plan, or the plan grown out of the turn's placeholder; silence takes that away."""
        placeholder = self._placeholder(tx, turn, channel)
        if placeholder is None:
            return () if silent else planned
        return (growth.removal(planned, placeholder),) if silent else growth.grown(planned, placeholder)

    def _say(self, tx: Tx, turn: Turn, rows: Sequence[inbox.Row], text: str, origin: Origin) -> Queued:
        channel = rows[-1].channel
        planned = self._p.channels[channel].plan(Reply(reply_path(rows), text))
        ops = self._grown(tx, turn, channel, planned, silent=False)
        return self._p.outbox.queue_operations(tx, channel, ops, origin)

    async def _said(self, row: inbox.Row, recalled: Recalled) -> tuple[Said, Sequence[Image]]:
        event = row.event
        if not isinstance(event, MessageReceived):
            raise TypeError(f"inbox row {row.id} is no message")
        person = recalled.people.get(row.person) if row.person else None
        found = material.NOTHING
        if event.attachments:
            found = await material.gather(self._p.files, self._p.channels[row.channel], event.attachments)
        body = event.body
        return (
            Said(
                MessageId(row.id),
                row.turn or TurnId(""),
                "user",
                row.person,
                person.name if person else event.sender.name,
                event.ref,
                body,
                event.sender.proof,
                event.sent_at,
                found.files,
            ),
            found.pictures,
        )

    def _context(self, rows: Sequence[inbox.Row], recalled: Recalled) -> prompts.Context:
        asker = recalled.people.get(rows[-1].person) if rows[-1].person else None
        place = recalled.place
        return prompts.Context(
            self._p.clock.now(),
            asker.time_zone if asker else self._p.default_zone,
            recalled.session.audience,
            place.title if place and place.title else "a direct conversation",
            recalled.session.channel,
        )

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

    def _audit_end(
        self,
        tx: Tx,
        turn: Turn,
        outcome: Literal["answered", "silent"],
        finished: Finished,
        parts: Sequence[OutboxId],
        now: datetime,
    ) -> None:
        usage: Usage = finished.usage
        actor = Actor("model", finished.model)
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
        result, queued = await to_the_end(self._p.database.write(unit), "turn")
        self._p.outbox.sending(queued)
        return result

    def _record(self, tx: Tx, turn: Turn, payload: Payload, actor: Actor = ORCHESTRATOR) -> None:
        self._p.recorder.record(tx, Record(payload, actor, turn.session, turn.id))


def reply_path(rows: Sequence[inbox.Row]) -> ReplyPath:
    """Answers go to the last message of the turn."""
    for row in reversed(rows):
        if isinstance(row.event, MessageReceived | CommandInvoked):
            return row.event.reply_path
    raise ValueError("no row of the turn can be answered")


def _milliseconds(turn: Turn, now: datetime) -> int:
    return (now - turn.started_at) // timedelta(milliseconds=1)
