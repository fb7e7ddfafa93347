"""Saying something to somebody: a message to a person or into a thread, a mail to anybody, an answer to all.

The message is a row of the outbox, written with the proposal's move; a send whose outcome cannot be found out parks.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime

import sqlalchemy as sa

from bot.gateway.channel import Channel
from bot.gateway.events import ReplyPath
from bot.gateway.operations import Delete, OutboundOp, Reply
from bot.kernel.errors import PermanentError
from bot.kernel.ids import ClaimId, OutboxId, PersonId, SessionId
from bot.kernel.values import dataclass
from bot.ledger.acting.payload import LONGEST_TEXT, UnfitError, line_of, number_of, only, text_of, texts_of
from bot.ledger.actions import Done, NotBefore, Sending, Shown
from bot.ledger.guard import Guard, Readers, Sight
from bot.ledger.model import Payload, Proposal
from bot.outbox import fate
from bot.outbox.service import Outbox
from bot.outbox.store import Origin
from bot.outbox.tables import Policy
from bot.people import store as people
from bot.people.model import Person
from bot.sessions import threads
from bot.sessions.audience import Audience
from bot.storage.database import Tx

_ADDRESS = re.compile(r"[^\s@<>,;\"]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,250}[A-Za-z0-9])?")
_NOBODY = Origin(None, None, None)


@dataclass(frozen=True, slots=True)
class Post:
    """What all of these need."""

    outbox: Outbox
    channels: Mapping[str, Channel]
    guard: Guard
    mail: str
    """Name of the channel of mail."""

    def send(self, tx: Tx, channel: str, reply: Reply, origin: Origin) -> Sending:
        if channel not in self.channels:
            raise PermanentError(f"{channel} is switched off")
        queued = self.outbox.queue(tx, channel, reply, origin, Policy.PARK)
        return Sending(queued.ids[0], lambda: self.outbox.sending((queued,)))


def mail_address(text: str) -> str:
    """A mail address as it is kept. Raises `PermanentError`."""
    found = text.strip()
    if not _ADDRESS.fullmatch(found):
        raise UnfitError(f"{found[:80]!r} is no mail address")
    return found.lower()


def _told(payload: Payload) -> tuple[tuple[str, str], ...]:
    """What is told to who may not see it by themselves."""
    told = texts_of(payload, "discloses")
    return (("Tells them what they cannot see by themselves", ", ".join(each[-6:] for each in told)),) if told else ()


@dataclass(frozen=True, slots=True)
class Reading:
    """Who will read something."""

    readers: Readers
    known: tuple[Person, ...] = ()
    """People among them, whose quiet hours count."""


class Telling(ABC):
    """What all of these have in common."""

    name: str
    promotable = True

    def __init__(self, post: Post) -> None:
        self._post = post

    @abstractmethod
    def reading(self, connection: sa.Connection, payload: Payload) -> Reading:
        """Who would read it now. Raises `PermanentError` if it must not go there any more."""

    def hidden(self, connection: sa.Connection, payload: Payload, rests_on: Sequence[ClaimId]) -> list[ClaimId]:
        """What of this its readers may not see by themselves. Raises `PermanentError`."""
        sights = self._post.guard.sights(connection, rests_on, self.reading(connection, payload).readers)
        return [each for each in rests_on if sights.get(each) is Sight.HIDDEN]

    def edited(self, payload: Payload, body: str) -> Payload:
        return {**payload, "text": body}

    def guard(self, connection: sa.Connection, proposal: Proposal, now: datetime) -> str | NotBefore | None:
        try:
            reading = self.reading(connection, proposal.final)
        except PermanentError as error:
            return error.message
        return self._post.guard.look(connection, proposal, reading.readers, reading.known, now)


class SendMessage(Telling):
    """To a person alone (`to` has their id), or into a thread (`to` is empty)."""

    name = "send_message"

    def checked(self, payload: Payload) -> Payload:
        to = texts_of(payload, "to")
        values: dict[str, object] = {
            "to": to,
            "named": line_of(payload, "named"),
            "channel": line_of(payload, "channel"),
            "thread": line_of(payload, "thread"),
            "text": text_of(payload, "text", LONGEST_TEXT),
            "discloses": texts_of(payload, "discloses"),
        }
        if len(to) > 1:
            raise UnfitError("a message goes to one person, or into one thread")
        if to:
            values["address"] = line_of(payload, "address")
        else:
            values["read_by"] = Audience(line_of(payload, "read_by")).value
            values["epoch"] = number_of(payload, "epoch")
        return only(payload, values)

    def show(self, payload: Payload) -> Shown:
        to = [str(each) for each in texts_of(payload, "to")]
        if to:
            where = ("To", f"{payload['named']} ({to[0]}), alone")
            how = ("By", f"{payload['channel']}, account {payload['address']}, thread {payload['thread']}")
        else:
            where = ("Into", f"{payload['named']}, read by {payload['read_by']} (version {payload['epoch']})")
            how = ("By", f"{payload['channel']}, thread {payload['thread']}")
        return Shown("Send a message", (where, how, *_told(payload)), str(payload["text"]))

    def reading(self, connection: sa.Connection, payload: Payload) -> Reading:
        to = texts_of(payload, "to")
        if to:
            person = people.get(connection, PersonId(to[0]))
            if person is None or not person.active or not _owns(person, payload):
                raise UnfitError("this person cannot be reached there any more")
            return Reading(Readers(people=(person.id,), outside=not person.internal), (person,))
        session = threads.by_thread(connection, [str(payload["thread"])]).get(str(payload["thread"]))
        if session is None:
            raise UnfitError("this thread is not known any more")
        if session.audience_epoch != payload["epoch"] or session.audience.wider_than(Audience(str(payload["read_by"]))):
            raise UnfitError("more people read there than when it was proposed")
        return Reading(Readers(outside=session.audience is Audience.EXTERNAL, session=session.id))

    def effect(self, tx: Tx, proposal: Proposal, now: datetime) -> Done | Sending:
        payload = proposal.final
        origin, thread, address = _NOBODY, str(payload["thread"]), str(payload.get("address", ""))
        if not address:
            session = threads.by_thread(tx.connection, [thread]).get(thread)
            if session is None:
                raise PermanentError("this thread is not known any more")
            origin = Origin(SessionId(session.id), None, session.audience_epoch)
        reply = Reply(ReplyPath(thread, address), str(payload["text"]))
        return self._post.send(tx, str(payload["channel"]), reply, origin)

    def undo(self, tx: Tx, proposal: Proposal, now: datetime) -> Done:
        channel = str(proposal.final["channel"])
        if channel == self._post.mail:
            raise PermanentError("a mail that was sent cannot be called back")
        refs = fate.of_message(tx.connection, OutboxId(proposal.result or "")).refs
        if not refs or any(ref is None for ref in refs):
            raise PermanentError("the platform gave the message no name by which it could be deleted")
        path = ReplyPath(str(proposal.final["thread"]), str(proposal.final.get("address", "")))
        ops: Sequence[OutboundOp] = [Delete(path, ref) for ref in refs if ref is not None]
        queued = self._post.outbox.queue_operations(tx, channel, ops, _NOBODY)
        return Done(queued.ids[0], lambda: self._post.outbox.sending((queued,)))


def _owns(person: Person, payload: Payload) -> bool:
    return any(each.channel == payload["channel"] and each.address == payload["address"] for each in person.handles)


class _Mail(Telling):
    """What mails have in common: they cannot be called back."""

    def reading(self, connection: sa.Connection, payload: Payload) -> Reading:
        addresses = texts_of(payload, "to")
        owners = people.by_handle(connection, self._post.mail, addresses)
        if any(not owner.active for owner in owners.values()):
            raise UnfitError("somebody it goes to is not with us any more")
        inside = [owner for owner in owners.values() if owner.internal]
        outside = len(inside) < len(addresses)
        return Reading(Readers(people=tuple(owner.id for owner in inside), outside=outside), tuple(owners.values()))

    def undo(self, tx: Tx, proposal: Proposal, now: datetime) -> Done:
        raise PermanentError("a mail that was sent cannot be called back")


class SendEmail(_Mail):
    """A mail of its own, to anybody."""

    name = "send_email"

    def checked(self, payload: Payload) -> Payload:
        to = [mail_address(each) for each in texts_of(payload, "to")]
        if len(to) != 1:
            raise UnfitError("a mail goes to one address")
        values = {
            "to": to,
            "subject": line_of(payload, "subject"),
            "thread": line_of(payload, "thread"),
            "text": text_of(payload, "text", LONGEST_TEXT),
            "discloses": texts_of(payload, "discloses"),
        }
        return only(payload, values)

    def show(self, payload: Payload) -> Shown:
        fields = (
            ("To", ", ".join(texts_of(payload, "to"))),
            ("Subject", str(payload["subject"])),
            ("Thread", str(payload["thread"])),
        )
        return Shown("Send a mail", (*fields, *_told(payload)), str(payload["text"]))

    def effect(self, tx: Tx, proposal: Proposal, now: datetime) -> Done | Sending:
        payload = proposal.final
        path = ReplyPath(str(payload["thread"]), texts_of(payload, "to")[0], subject=str(payload["subject"]))
        return self._post.send(tx, self._post.mail, Reply(path, str(payload["text"])), _NOBODY)


class ReplyAll(_Mail):
    """An answer to a mail that goes to everybody who got it, each with a mail of their own."""

    name = "reply_all"

    def checked(self, payload: Payload) -> Payload:
        to = list(dict.fromkeys(mail_address(each) for each in texts_of(payload, "to")))
        if not to or len(to) > 50:
            raise UnfitError("an answer to all goes to 1 to 50 addresses")
        values = {
            "to": to,
            "subject": line_of(payload, "subject"),
            "thread": line_of(payload, "thread"),
            "ref": line_of(payload, "ref"),
            "chain": texts_of(payload, "chain"),
            "text": text_of(payload, "text", LONGEST_TEXT),
            "discloses": texts_of(payload, "discloses"),
        }
        return only(payload, values)

    def show(self, payload: Payload) -> Shown:
        fields = (
            ("To", ", ".join(texts_of(payload, "to"))),
            ("Subject", str(payload["subject"])),
            ("Answers", f"{payload['ref']}, in {payload['thread']}, after {len(texts_of(payload, 'chain'))} mails"),
        )
        return Shown("Answer a mail to everybody who got it", (*fields, *_told(payload)), str(payload["text"]))

    def effect(self, tx: Tx, proposal: Proposal, now: datetime) -> Done | Sending:
        payload = proposal.final
        first, *also = texts_of(payload, "to")
        path = ReplyPath(
            str(payload["thread"]),
            first,
            ref=str(payload["ref"]),
            subject=str(payload["subject"]),
            chain=tuple(texts_of(payload, "chain")),
            also=tuple(also),
        )
        return self._post.send(tx, self._post.mail, Reply(path, str(payload["text"])), _NOBODY)
