"""What people say: admitted into its session and lane, or refused, counted and kept within bounds."""

from __future__ import annotations

from dataclasses import replace

from bot.audit import events as audited
from bot.audit.events import SYSTEM, Actor, Refusal
from bot.gateway.channel import Accepted
from bot.gateway.events import (
    Addressed,
    Body,
    Chain,
    CommandInvoked,
    MessageReceived,
    Nature,
    Proof,
    Sender,
    Span,
    SpanKind,
    Thread,
)
from bot.gateway.operations import Reply
from bot.intake import admit, store
from bot.intake.model import Context
from bot.intake.rooms import Rooms
from bot.intake.rows import Rows
from bot.intake.tables import Hold
from bot.kernel.ids import InboxId, PersonId, new_id
from bot.outbox import store as outbox_store
from bot.people import pairing
from bot.people import store as people
from bot.people.model import Handle, Origin, Person, Role
from bot.sessions import manners, places, threads
from bot.sessions.manners import Heard, Hearing
from bot.sessions.threads import Session

REFUSED_KEPT = 20
"""Refused messages of one sender that are kept within an hour; further ones are only counted."""

CLAIM_TEXT = "I have your code. Please confirm in the terminal where you made it that this account is yours."
BURNED_TEXT = (
    "A code that others can read is worth nothing: this one is no longer valid. Make a new one, send it to me alone."
)


_WHY = {
    Refusal.STRANGER: "nobody in `people` has this address here",
    Refusal.UNPROVEN: "it is not proven who wrote it",
    Refusal.DEACTIVATED: "that person's entry was taken away",
    Refusal.AUTOMATIC: "a machine wrote it",
    Refusal.BOT: "it is a bot",
    Refusal.ANONYMOUS: "it is written as a group or channel, by nobody in particular",
    Refusal.BAD_CODE: "the pairing code is not valid",
}


class Speech:
    def __init__(self, context: Context, rows: Rows, rooms: Rooms) -> None:
        self._context = context
        self._rows = rows
        self._rooms = rooms

    def take(self, event: MessageReceived | CommandInvoked) -> Accepted:
        heard = self._heard(event)
        if isinstance(event, MessageReceived) and heard is not Heard.SPOKEN_TO:
            event = replace(event, addressed=Addressed.NOT)
        person = self._vouched(event.sender) if heard is not Heard.UNHEARD else None
        match admit.decide(event, person, overheard=heard is Heard.OVERHEARD):
            case admit.Ignore():
                return Accepted.IGNORED
            case admit.TryCode(code):
                return self._try_code(event, code)
            case admit.Refuse(reason):
                return self._refuse(event, reason)
            case admit.Admit(person):
                return self._admit(event, person)

    def _vouched(self, sender: Sender) -> Person | None:
        """Who owns the sender's account. For a full member of the company's own workspace an entry is made at the first
        word; it is taken away once the platform says that they are none any more."""
        context = self._context
        person = context.owners.get(sender.address)
        if sender.nature is not Nature.PERSON or sender.proof is not Proof.PLATFORM:
            return person
        if person is None and sender.colleague:
            account = Handle(context.channel, sender.address, Origin.WORKSPACE)
            name = sender.name or sender.address
            new_one = Person(
                PersonId(new_id(context.now)), name, Role.MEMBER, (), context.rules.time_zone, None, Origin.WORKSPACE,
                True, frozenset({account}),
            )  # fmt: skip
            people.add(context.tx, context.recorder, new_one, SYSTEM, context.now)
            person = context.owners[sender.address] = new_one
        elif person is not None and person.active and not person.named and sender.colleague is False:
            people.deactivate(context.tx, context.recorder, person.id, SYSTEM, context.now)
            if context.departed is not None:
                context.departed(context.tx, person.id, context.now)
            person = context.owners[sender.address] = replace(person, active=False)
            context.familiar.rooms.clear()
        return person

    def _heard(self, event: MessageReceived | CommandInvoked) -> Heard:
        if not isinstance(event, MessageReceived) or not isinstance(event.thread, Thread):
            return Heard.SPOKEN_TO
        if event.addressed not in (Addressed.NOT, Addressed.THREAD):
            return Heard.SPOKEN_TO
        session = self._rows.sessions.get(event.thread.key)
        shared = (
            event.addressed is Addressed.THREAD
            and session is not None
            and self._shared(event.thread.key, session, event.sender)
        )
        hearing = session.hears if session is not None else self._hearing(event.thread.place)
        return manners.judge(event.addressed, hearing, shared=shared)

    def _hearing(self, place: str) -> Hearing:
        """Of a place in a thread that has no session."""
        known = places.get(self._context.tx.connection, place)
        return known.hears if known is not None else Hearing.THREADS

    def _shared(self, key: str, session: Session, sender: Sender) -> bool:
        """Whether several people write in the thread; strangers count, though nothing of theirs is kept."""
        if session.shared or sender.nature not in (Nature.PERSON, Nature.ANONYMOUS):
            return session.shared
        address = sender.address
        gathered = any(known == session.id and other != address for known, other in self._rows.participants)
        if not (gathered or threads.others(self._context.tx.connection, session.id, address)):
            return False
        threads.share(self._context.tx, session.id)
        self._rows.sessions[key] = replace(session, shared=True)
        return True

    def _admit(self, event: MessageReceived | CommandInvoked, person: Person) -> Accepted:
        event, session = self._resolve(fit(event, self._context.rules.max_text))
        row_id = InboxId(new_id(self._context.now))
        lane = not (isinstance(event, CommandInvoked) and admit.immediate(event))
        held = admit.hold(event, self._context.now, self._context.rules.stale_after) if lane else Hold.NO
        album = event.group if isinstance(event, MessageReceived) else None
        ready_at = self._context.now + self._context.rules.album_wait if album else self._context.now
        if album:
            self._rows.album(session.id, album, ready_at)
        self._rows.add(row_id, event, session.id, person, lane=lane, hold=held, album=album, ready_at=ready_at)
        message = event if isinstance(event, MessageReceived) else None
        for address in (event.sender.address, *self._invited(message)):
            if (session.id, address) not in self._context.familiar.participants:
                self._rows.participants[session.id, address] = None
        self._context.record(
            audited.MessageReceived(
                row_id,
                self._context.channel,
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

    def _invited(self, message: MessageReceived | None) -> list[str]:
        """People of the roster whom the sender asked into the thread: their answers join it."""
        owners = self._context.owners
        asked = () if message is None else message.invited
        return [address for address in asked if address in owners and owners[address].active]

    def _resolve(self, event: MessageReceived | CommandInvoked) -> tuple[MessageReceived | CommandInvoked, Session]:
        """Find (or open) the session, and look at the room before anything is said to belong to it."""
        context = self._context
        if isinstance(event.thread, Chain):
            key = self._chained(event.thread, event.sender.address) or f"{context.channel}:{new_id(context.now)}"
            joined = self._rows.sessions.get(key)
            thread = Thread(key, joined.place if joined else key)
            event = replace(event, thread=thread, reply_path=replace(event.reply_path, thread=key))
        else:
            thread = event.thread
        self._rooms.look_around(thread.place, event.place, event.sender)
        session = self._rows.sessions.get(thread.key)
        if session is None:
            session = threads.open_session(
                context.tx, context.recorder, context.channel, thread.key, thread.place, context.now
            )
            self._rows.sessions[thread.key] = session
        return event, session

    def _chained(self, chain: Chain, address: str) -> str | None:
        """The key of the thread that wrote to the sender, else of the nearest known message in whose session the sender
        takes part."""
        if chain.key is not None:
            self._rows.sessions |= threads.by_thread(self._context.tx.connection, [chain.key])
            return chain.key
        if self._rows.holds(chain.refs):
            self._rows.flush()
        connection = self._context.tx.connection
        known = outbox_store.session_of_refs(connection, chain.refs) | store.sessions_of_refs(connection, chain.refs)
        mine = threads.takes_part(connection, set(known.values()), address)
        for ref in chain.refs:
            if known.get(ref) in mine:
                key = threads.key_of(connection, known[ref])
                if key is not None:
                    self._rows.sessions |= threads.by_thread(connection, [key])
                    return key
        return None

    def _refuse(self, event: MessageReceived | CommandInvoked, reason: Refusal) -> Accepted:
        context = self._context
        address = event.sender.address
        number = store.count_refusal(context.tx, context.channel, address, reason.value, context.now)
        row_id: InboxId | None = None
        if number <= REFUSED_KEPT:
            row_id = InboxId(new_id(context.now))
            self._rows.add(row_id, event, None, None, refused=reason.value)
        if number == 1:  # of this sender, for this reason, in this hour
            why = _WHY.get(reason, reason.value) + (f" ({event.sender.note})" if event.sender.note else "")
            context.notes.append(f"{context.channel}: what {address!r} writes is refused: {why}")
            text = f"{address}: {event.sender.note}" if event.sender.note else address
            context.record(
                audited.MessageRefused(context.channel, reason, 1, row_id),
                Actor("stranger", context.channel),
                text=text,
            )
        if reason is Refusal.STRANGER and context.rules.pairing_requests:
            self._ask_to_be_let_in(event)
        return Accepted.REFUSED

    def _ask_to_be_let_in(self, event: MessageReceived | CommandInvoked) -> None:
        context = self._context
        if event.sender.proof in (Proof.NONE, Proof.LOCAL) or not admit.is_direct(event):
            return
        account = Handle(context.channel, event.sender.address, Origin.PAIRED)
        if pairing.ask(context.tx, context.recorder, account, event.sender.name, context.now) is not None:
            self._say(event, "I do not know you yet. I have passed on that you would like to talk to me.")

    def _try_code(self, event: MessageReceived | CommandInvoked, code: str) -> Accepted:
        context = self._context
        account = Handle(context.channel, event.sender.address, Origin.PAIRED)
        direct = admit.is_direct(event)
        result = pairing.claim(
            context.tx, context.recorder, code, account, event.sender.name, direct=direct, now=context.now
        )
        if result is pairing.Claim.UNKNOWN:
            if isinstance(event, MessageReceived) and event.addressed is Addressed.NOT:
                return Accepted.IGNORED
            person = context.owners.get(event.sender.address)
            if person is not None and person.active:
                return self._admit(event, person)
            return self._refuse(event, Refusal.BAD_CODE)
        row_id = InboxId(new_id(context.now))
        self._rows.add(row_id, event, None, None, answered=f"pairing code {result.value}")
        self._say(event, CLAIM_TEXT if result is pairing.Claim.CLAIMED else BURNED_TEXT)
        return Accepted.NEW

    def _say(self, event: MessageReceived | CommandInvoked, text: str) -> None:
        if isinstance(event.thread, Thread):
            self._context.say(Reply(event.reply_path, text))


def fit(event: MessageReceived | CommandInvoked, kept: int) -> MessageReceived | CommandInvoked:
    return event if isinstance(event, CommandInvoked) else replace(event, body=fit_body(event.body, kept))


def fit_body(body: Body, kept: int) -> Body:
    """Cut what is longer than `kept` characters, visibly."""
    if len(body.text) <= kept:
        return body
    note = f"\n[… cut here: the message has {len(body.text)} characters, I read the first {kept}]"
    # The note is nobody's own words: it must not be taken for what the sender said.
    spans = [Span(s.start, min(s.end, kept), s.kind) for s in body.spans if s.start < kept]
    own = spans or [Span(0, kept, SpanKind.OWN)]
    return Body(body.text[:kept] + note, (*own, Span(kept, kept + len(note), SpanKind.QUOTED)))
