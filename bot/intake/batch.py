"""One transaction's worth of intake: everything a platform delivered together.

Facts about all events are read first, in a few statements whatever their number; rows are written last, together. An
event that has to see the rows of an earlier one (an edit, a deletion, a move) has them written before its turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from bot.audit import events as audited
from bot.audit.events import Actor, Record, Refusal
from bot.audit.recorder import Recorder
from bot.gateway.channel import Accepted
from bot.gateway.codec import dump_event
from bot.gateway.events import (
    Addressed,
    Body,
    ButtonPressed,
    Chain,
    Change,
    CommandInvoked,
    DeliveryReported,
    FormSubmitted,
    InboundEvent,
    MembershipChanged,
    MessageDeleted,
    MessageEdited,
    MessageReceived,
    Place,
    PlaceKind,
    Proof,
    Sender,
    Span,
    SpanKind,
    Thread,
)
from bot.gateway.operations import Reply
from bot.intake import admit, store
from bot.intake.tables import Hold, InState
from bot.kernel.ids import BootId, InboxId, SessionId, new_id
from bot.outbox import store as outbox_store
from bot.outbox.service import Outbox, Queued
from bot.outbox.store import Origin
from bot.people import pairing
from bot.people import store as people
from bot.people.model import Handle, Person
from bot.people.model import Origin as HandleOrigin
from bot.sessions import places, threads, transcript, turns
from bot.sessions.places import Shift
from bot.sessions.threads import Session
from bot.sessions.turns import Turn
from bot.storage.database import Tx

REFUSED_KEPT = 20
"""Refused messages of one sender that are kept within an hour; further ones are only counted."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings that intake needs."""

    stale_after: timedelta
    album_wait: timedelta
    max_text: int
    pairing_requests: bool


@dataclass(slots=True)
class Familiar:
    """What was seen of rooms since the start: spares the look-up for every message. Only committed facts enter."""

    rooms: dict[str, tuple[str, int | None, frozenset[str]]] = field(default_factory=dict)
    participants: set[tuple[SessionId, str]] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Taken:
    """What came of a batch; effects outside the database follow after the commit."""

    answers: tuple[Accepted, ...]
    begun: tuple[tuple[Turn, tuple[store.Row, ...]], ...]
    waiting: tuple[SessionId, ...]
    immediate: tuple[store.Row, ...]
    queued: tuple[Queued, ...]
    rooms: dict[str, tuple[str, int | None, frozenset[str]]]
    participants: frozenset[tuple[SessionId, str]]
    forget_rooms: frozenset[str]


class Batch:
    def __init__(
        self,
        tx: Tx,
        recorder: Recorder,
        outbox: Outbox,
        rules: Rules,
        familiar: Familiar,
        channel: str,
        boot: BootId,
        now: datetime,
    ) -> None:
        self._tx = tx
        self._recorder = recorder
        self._outbox = outbox
        self._rules = rules
        self._familiar = familiar
        self._channel = channel
        self._boot = boot
        self._now = now
        self._seen: dict[str, InboxId] = {}
        self._owners: dict[str, Person] = {}
        self._keys: list[str] = []
        self._sessions: dict[str, Session] = {}
        self._new_keys: dict[str, InboxId] = {}
        self._new_rows: list[tuple[dict[str, Any], store.Row]] = []
        self._begun: list[tuple[Turn, tuple[store.Row, ...]]] = []
        self._waiting: dict[SessionId, None] = {}
        self._immediate: list[store.Row] = []
        self._queued: list[Queued] = []
        self._rooms: dict[str, tuple[str, int | None, frozenset[str]]] = {}
        self._participants: dict[tuple[SessionId, str], None] = {}
        self._forget: set[str] = set()

    def take(self, events: Sequence[InboundEvent]) -> Taken:
        connection = self._tx.connection
        self._seen = store.seen_before(connection, [key for event in events for key in event.keys])
        self._owners = people.by_handle(connection, self._channel, _addresses(events))
        self._keys = _thread_keys(events)
        self._sessions = threads.by_thread(connection, self._keys)
        answers = tuple(self._take_one(event) for event in events)
        self._flush()
        return Taken(
            answers,
            tuple(self._begun),
            tuple(self._waiting),
            tuple(self._immediate),
            tuple(self._queued),
            self._rooms,
            frozenset(self._participants),
            frozenset(self._forget),
        )

    def _take_one(self, event: InboundEvent) -> Accepted:
        duplicate_of = next((self._seen[key] for key in event.keys if key in self._seen), None)
        if duplicate_of is not None:
            self._record(audited.MessageDuplicate(self._channel, event.kind, duplicate_of))
            return Accepted.DUPLICATE
        match event:
            case MessageReceived() | CommandInvoked():
                return self._spoken(event)
            case MessageEdited():
                return self._edited(event)
            case MessageDeleted():
                return self._deleted(event)
            case ButtonPressed() | FormSubmitted():
                return self._pressed(event)
            case MembershipChanged():
                return self._membership(event)
            case DeliveryReported():
                return self._reported(event)

    # --- what people say -------------------------------------------------------------------------------------------

    def _spoken(self, event: MessageReceived | CommandInvoked) -> Accepted:
        decision = admit.decide(event, self._owners.get(event.sender.address))
        match decision:
            case admit.Ignore():
                return Accepted.IGNORED
            case admit.TryCode(code):
                return self._try_code(event, code)
            case admit.Refuse(reason):
                return self._refuse(event, reason)
            case admit.Admit(person):
                return self._admit(event, person)

    def _admit(self, event: MessageReceived | CommandInvoked, person: Person) -> Accepted:
        event, session = self._resolve(self._fit(event))
        row_id = InboxId(new_id(self._now))
        lane = not (isinstance(event, CommandInvoked) and admit.immediate(event))
        held = admit.hold(event, self._now, self._rules.stale_after) if lane else Hold.NO
        album = event.group if isinstance(event, MessageReceived) else None
        ready_at = self._now + self._rules.album_wait if album else self._now
        if album:
            self._album(session.id, album, ready_at)
        self._add_row(row_id, event, session.id, person, lane=lane, hold=held, album=album, ready_at=ready_at)
        if (session.id, event.sender.address) not in self._familiar.participants:
            self._participants[session.id, event.sender.address] = None
        message = event if isinstance(event, MessageReceived) else None
        self._record(
            audited.MessageReceived(
                row_id,
                self._channel,
                event.kind,
                message.addressed.value if message else "command",
                event.sender.proof.value,
                len(message.body.text)
                if message
                else len(event.arguments if isinstance(event, CommandInvoked) else ""),
                len(message.attachments) if message else 0,
                held is not Hold.NO,
            ),
            Actor("person", person.id),
            session.id,
        )
        return Accepted.NEW

    def _fit(self, event: MessageReceived | CommandInvoked) -> MessageReceived | CommandInvoked:
        """Cut what is too long, visibly."""
        return event if isinstance(event, CommandInvoked) else replace(event, body=self._fit_body(event.body))

    def _fit_body(self, body: Body) -> Body:
        kept = self._rules.max_text
        if len(body.text) <= kept:
            return body
        note = f"\n[… cut here: the message has {len(body.text)} characters, I read the first {kept}]"
        # The note is nobody's own words: it must not be taken for what the sender said.
        spans = [Span(s.start, min(s.end, kept), s.kind) for s in body.spans if s.start < kept]
        own = spans or [Span(0, kept, SpanKind.OWN)]
        return Body(body.text[:kept] + note, (*own, Span(kept, kept + len(note), SpanKind.QUOTED)))

    def _resolve(self, event: MessageReceived | CommandInvoked) -> tuple[MessageReceived | CommandInvoked, Session]:
        """Find (or open) the session, and look at the room before anything is said to belong to it."""
        if isinstance(event.thread, Chain):
            key = self._chained(event.thread, event.sender.address) or f"{self._channel}:{new_id(self._now)}"
            joined = self._sessions.get(key)
            thread = Thread(key, joined.place if joined else key)
            event = replace(event, thread=thread, reply_path=replace(event.reply_path, thread=key))
        else:
            thread = event.thread
        self._look_around(thread.place, event.place, event.sender)
        session = self._sessions.get(thread.key)
        if session is None:
            session = threads.open_session(self._tx, self._recorder, self._channel, thread.key, thread.place, self._now)
            self._sessions[thread.key] = session
        return event, session

    def _chained(self, chain: Chain, address: str) -> str | None:
        """The key of the thread that wrote to the sender, else of the nearest known message in whose session the sender
        takes part."""
        if chain.key is not None:
            self._sessions |= threads.by_thread(self._tx.connection, [chain.key])
            return chain.key
        if any(row.event.kind == "message" and row.event.ref in chain.refs for _, row in self._new_rows):
            self._flush()
        connection = self._tx.connection
        known = outbox_store.session_of_refs(connection, chain.refs) | store.sessions_of_refs(connection, chain.refs)
        mine = threads.takes_part(connection, set(known.values()), address)
        for ref in chain.refs:
            if known.get(ref) in mine:
                key = threads.key_of(connection, known[ref])
                if key is not None:
                    self._sessions |= threads.by_thread(connection, [key])
                    return key
        return None

    def _look_around(self, place_key: str, seen: Place, sender: Sender) -> None:
        present = frozenset({sender.address, *(other.address for other in seen.others)})
        fact = (seen.title, seen.members, present)
        known = self._rooms.get(place_key) or self._familiar.rooms.get(place_key)
        if known is not None and place_key not in self._forget and _nothing_new(known, fact):
            return
        self._after_shift(places.see(self._tx, self._recorder, self._channel, place_key, seen, present, self._now))
        together = present | (known[2] if known else frozenset())
        self._rooms[place_key] = (seen.title, seen.members, together)
        self._forget.discard(place_key)

    def _after_shift(self, shift: Shift | None) -> None:
        """A room is judged differently: its sessions have new epochs, and the room is told."""
        if shift is None:
            return
        stale = [key for key, session in self._sessions.items() if session.place == shift.place.key]
        self._flush()
        self._sessions |= threads.by_thread(self._tx.connection, stale)
        if shift.place.kind in (PlaceKind.GROUP, PlaceKind.CHANNEL):
            path = places.path_into(shift.place)
            text = f"From now on I treat this place as **{shift.place.audience.value}**: {shift.place.because}."
            self._queued.append(self._outbox.queue(self._tx, self._channel, Reply(path, text), NOWHERE))

    # --- who is not let in -----------------------------------------------------------------------------------------

    def _refuse(self, event: MessageReceived | CommandInvoked, reason: Refusal) -> Accepted:
        address = event.sender.address
        number = store.count_refusal(self._tx, self._channel, address, reason.value, self._now)
        row_id: InboxId | None = None
        if number <= REFUSED_KEPT:
            row_id = InboxId(new_id(self._now))
            self._add_row(row_id, event, None, None, refused=reason.value)
        if number == 1:
            text = f"{address}: {event.sender.note}" if event.sender.note else address
            self._record(
                audited.MessageRefused(self._channel, reason, 1, row_id), Actor("stranger", self._channel), text=text
            )
        if reason is Refusal.STRANGER and self._rules.pairing_requests:
            self._ask_to_be_let_in(event)
        return Accepted.REFUSED

    def _ask_to_be_let_in(self, event: MessageReceived | CommandInvoked) -> None:
        if event.sender.proof in (Proof.NONE, Proof.LOCAL) or not admit.is_direct(event):
            return
        account = Handle(self._channel, event.sender.address, HandleOrigin.PAIRED)
        if pairing.ask(self._tx, self._recorder, account, event.sender.name, self._now) is not None:
            self._say(event, "I do not know you yet. I have passed on that you would like to talk to me.")

    def _try_code(self, event: MessageReceived | CommandInvoked, code: str) -> Accepted:
        account = Handle(self._channel, event.sender.address, HandleOrigin.PAIRED)
        direct = admit.is_direct(event)
        result = pairing.claim(self._tx, self._recorder, code, account, event.sender.name, direct=direct, now=self._now)
        if result is pairing.Claim.UNKNOWN:
            if isinstance(event, MessageReceived) and event.addressed is Addressed.NOT:
                return Accepted.IGNORED
            person = self._owners.get(event.sender.address)
            if person is not None and person.active:
                return self._admit(event, person)
            return self._refuse(event, Refusal.BAD_CODE)
        row_id = InboxId(new_id(self._now))
        self._add_row(row_id, event, None, None, answered=f"pairing code {result.value}")
        self._say(event, CLAIM_TEXT if result is pairing.Claim.CLAIMED else BURNED_TEXT)
        return Accepted.NEW

    def _say(self, event: MessageReceived | CommandInvoked, text: str) -> None:
        if isinstance(event.thread, Thread):
            reply = Reply(event.reply_path, text)
            self._queued.append(self._outbox.queue(self._tx, self._channel, reply, NOWHERE))

    # --- what happens to messages and rooms ------------------------------------------------------------------------

    def _edited(self, event: MessageEdited) -> Accepted:
        self._flush()
        row = store.by_ref(self._tx.connection, event.ref)
        if row is None or not isinstance(row.event, MessageReceived) or row.session is None:
            return Accepted.IGNORED
        owner = self._owners.get(event.sender.address)
        if row.event.sender.address != event.sender.address or owner is None or not owner.active:
            return Accepted.IGNORED
        event = replace(event, body=self._fit_body(event.body))
        changed = replace(row.event, body=event.body)
        if row.edit is not None and row.edit.edited_at > event.edited_at:
            pass  # a newer one has come before it
        elif store.replace_event(self._tx, row.id, changed):
            self._record(audited.MessageEdited(row.id, "before_turn"), session=row.session)
        elif store.note_edit(self._tx, row.id, event) or transcript.mark_edited(
            self._tx, event.ref, event.body, event.edited_at
        ):
            self._record(audited.MessageEdited(row.id, "after_turn"), session=row.session)
        self._remember(event, row.id)
        return Accepted.NEW

    def _deleted(self, event: MessageDeleted) -> Accepted:
        self._flush()
        row = store.by_ref(self._tx.connection, event.ref)
        if row is None:
            return Accepted.IGNORED
        if store.end(self._tx, row.id, InState.STOPPED, self._now, "deleted by its writer"):
            self._record(audited.MessageDeleted(row.id, "before_turn"), session=row.session)
        elif self._emptied(row, event) or transcript.mark_deleted(self._tx, event.ref, event.deleted_at):
            self._record(audited.MessageDeleted(row.id, "after_turn"), session=row.session)
        self._remember(event, row.id)
        return Accepted.NEW

    def _emptied(self, row: store.Row, event: MessageDeleted) -> bool:
        """A message whose turn is running: what is kept of it afterwards is that it was deleted."""
        said = row.event
        if row.state is not InState.CLAIMED or not isinstance(said, MessageReceived) or isinstance(said.thread, Chain):
            return False
        emptied = MessageEdited(
            event.keys,
            said.ref,
            said.thread,
            said.place,
            said.sender,
            Body(transcript.DELETED),
            event.deleted_at,
            said.addressed,
            said.reply_path,
        )
        return store.note_edit(self._tx, row.id, emptied)

    def _pressed(self, event: ButtonPressed | FormSubmitted) -> Accepted:
        person = self._owners.get(event.sender.address)
        row_id = InboxId(new_id(self._now))
        session = self._sessions.get(event.thread.key)
        known = person if person is not None and person.active else None
        self._add_row(row_id, event, session.id if session else None, known, lane=False)
        return Accepted.NEW

    def _membership(self, event: MembershipChanged) -> Accepted:
        self._flush()
        self._forget.add(event.place_key)
        # Others may be waiting to run in this very transaction: forgetting too much costs them a look, no more.
        self._familiar.rooms.pop(event.place_key, None)
        self._rooms.pop(event.place_key, None)
        match event.change:
            case Change.JOINED:
                present = () if event.who is None else (event.who.address,)
                self._after_shift(
                    places.see(
                        self._tx, self._recorder, self._channel, event.place_key, event.place, present, self._now
                    )
                )
            case Change.LEFT if event.who is not None:
                self._after_shift(
                    places.leave(
                        self._tx, self._recorder, event.place_key, event.who.address, self._now, event.place.members
                    )
                )
            case Change.BLOCKED | Change.UNBLOCKED if event.who is not None:
                people.set_reachable(
                    self._tx, self._channel, event.who.address, reachable=event.change is Change.UNBLOCKED
                )
            case Change.MOVED if event.moved_to is not None:
                shift = places.move(self._tx, self._recorder, event.place_key, event.moved_to, self._now)
                threads.move_threads(self._tx, self._recorder, event.place_key, event.moved_to, self._now)
                self._forget.add(event.moved_to)
                self._sessions = threads.by_thread(self._tx.connection, self._keys)
                self._after_shift(shift)
            case Change.REMOVED:
                places.close(self._tx, event.place_key, self._now)
            case _:
                pass
        self._remember(event, InboxId(event.place_key))
        return Accepted.NEW

    def _reported(self, event: DeliveryReported) -> Accepted:
        row = outbox_store.by_ref(self._tx.connection, event.of)
        self._record(
            audited.DeliveryReported(row.id if row else None, self._channel, event.outcome.value),
            session=row.session if row else None,
            text=event.detail,
        )
        row_id = InboxId(new_id(self._now))
        self._add_row(row_id, event, row.session if row else None, None, answered="delivery report")
        return Accepted.NEW

    # --- rows ------------------------------------------------------------------------------------------------------

    def _add_row(
        self,
        row_id: InboxId,
        event: InboundEvent,
        session: SessionId | None,
        person: Person | None,
        *,
        lane: bool = False,
        hold: Hold = Hold.NO,
        album: str | None = None,
        ready_at: datetime | None = None,
        refused: str | None = None,
        answered: str | None = None,
    ) -> None:
        state = InState.REFUSED if refused else InState.ANSWERED if answered else InState.QUEUED
        values: dict[str, Any] = {
            "id": row_id,
            "channel": self._channel,
            "kind": event.kind,
            "lane": lane,
            "session_id": session,
            "turn_id": None,
            "ref": getattr(event, "ref", None),
            "address": event.sender.address if hasattr(event, "sender") else None,
            "person_id": person.id if person else None,
            "event": dump_event(event),
            "album": album,
            "hold": hold.value,
            "state": state.value,
            "reason": refused or answered,
            "received_at": self._now,
            "ready_at": ready_at or self._now,
            "ended_at": None if state is InState.QUEUED else self._now,
        }
        row = store.Row(
            row_id, self._channel, session, None, person.id if person else None, event, None, hold, state, self._now
        )
        self._new_rows.append((values, row))
        self._remember(event, row_id)

    def _remember(self, event: InboundEvent, row_id: InboxId) -> None:
        for key in event.keys:
            self._seen[key] = row_id
            self._new_keys[key] = row_id

    def _album(self, session: SessionId, album: str, until: datetime) -> None:
        for values, _ in self._new_rows:
            if values["session_id"] == session and values["album"] == album:
                values["ready_at"] = until
        store.album_waits(self._tx, session, album, until)

    def _flush(self) -> None:
        """Write what has gathered; free lanes take their rows at once."""
        threads.add_participants(self._tx, list(self._participants), self._now)
        if self._new_rows:
            self._claim_free_lanes()
            store.insert(self._tx, [values for values, _ in self._new_rows])
        store.remember(self._tx, self._new_keys)
        self._immediate += [r for v, r in self._new_rows if not v["lane"] and v["state"] == InState.QUEUED.value]
        self._new_rows, self._new_keys = [], {}

    def _claim_free_lanes(self) -> None:
        fresh: dict[SessionId, list[tuple[dict[str, Any], store.Row]]] = {}
        for values, row in self._new_rows:
            if values["lane"] and row.session is not None:
                fresh.setdefault(row.session, []).append((values, row))
        by_id = {session.id: session for session in self._sessions.values()}
        idle = [session for session in fresh if not by_id[session].lane_busy]
        blocked = store.has_waiting(self._tx.connection, idle) if idle else set()
        ready = [s for s in idle if s not in blocked and self._may_start(fresh[s])]
        begun = turns.begin(
            self._tx,
            [(s, (by_id[s].history_epoch, by_id[s].audience_epoch)) for s in ready],
            self._boot,
            self._now,
        )
        for turn in begun:
            claimed = self._claim_prefix(turn, fresh[turn.session])
            self._begun.append((turn, claimed))
            started = audited.TurnStarted(tuple(row.id for row in claimed), 1)
            self._recorder.record(self._tx, Record(started, audited.SYSTEM, turn.session, turn.id))
            self._set_busy(turn.session)
        self._waiting |= dict.fromkeys(s for s in fresh if s not in ready)

    def _may_start(self, rows: Sequence[tuple[dict[str, Any], store.Row]]) -> bool:
        return all(v["ready_at"] <= self._now and v["hold"] == Hold.NO.value for v, _ in rows)

    def _claim_prefix(self, turn: Turn, rows: Sequence[tuple[dict[str, Any], store.Row]]) -> tuple[store.Row, ...]:
        """The rows of a turn: all messages up to the first command, or one command alone."""
        claimed: list[store.Row] = []
        for values, row in rows:
            if claimed and "command" in (values["kind"], claimed[0].event.kind):
                break
            values["state"], values["turn_id"] = InState.CLAIMED.value, turn.id
            claimed.append(replace(row, turn=turn.id, state=InState.CLAIMED))
        return tuple(claimed)

    def _set_busy(self, session_id: SessionId) -> None:
        for key, session in self._sessions.items():
            if session.id == session_id:
                self._sessions[key] = replace(session, lane_busy=True)

    def _record(
        self,
        payload: audited.Payload,
        actor: Actor = audited.SYSTEM,
        session: SessionId | None = None,
        text: str | None = None,
    ) -> None:
        self._recorder.record(self._tx, Record(payload, actor, session, None, text))


NOWHERE = Origin(None, None, None)
CLAIM_TEXT = "I have your code. Please confirm in the terminal where you made it that this account is yours."
BURNED_TEXT = (
    "A code that others can read is worth nothing: this one is no longer valid. Make a new one, send it to me alone."
)


def _nothing_new(known: tuple[str, int | None, frozenset[str]], fact: tuple[str, int | None, frozenset[str]]) -> bool:
    title, members, present = fact
    return known[0] == title and (members is None or members == known[1]) and present <= known[2]


def _addresses(events: Iterable[InboundEvent]) -> list[str]:
    return [event.sender.address for event in events if not isinstance(event, _WITHOUT_SENDER)]


_WITHOUT_SENDER = (MessageDeleted, MembershipChanged, DeliveryReported)


def _thread_keys(events: Iterable[InboundEvent]) -> list[str]:
    return [
        event.thread.key
        for event in events
        if not isinstance(event, MembershipChanged | DeliveryReported) and isinstance(event.thread, Thread)
    ]
