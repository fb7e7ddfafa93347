"""Who is let in: pure."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from bot.audit.events import Refusal
from bot.gateway import commands
from bot.gateway.events import (
    Addressed,
    CommandInvoked,
    MessageReceived,
    Nature,
    PlaceKind,
    Proof,
    Sender,
)
from bot.intake.tables import Hold
from bot.kernel.values import dataclass
from bot.people.model import Person

_CODE = re.compile(
    r"\A\s*(?:/pair\s+)?([0-9a-hjkmnp-tv-z]{4}-?[0-9a-hjkmnp-tv-z]{4}-?[0-9a-hjkmnp-tv-z]{4})\s*\Z", re.I
)


@dataclass(frozen=True, slots=True)
class Admit:
    person: Person


@dataclass(frozen=True, slots=True)
class Refuse:
    reason: Refusal


@dataclass(frozen=True, slots=True)
class Ignore:
    """Not for the executive: nothing is stored."""


@dataclass(frozen=True, slots=True)
class TryCode:
    """Looks like a pairing code."""

    code: str


Decision = Admit | Refuse | Ignore | TryCode


def decide(event: MessageReceived | CommandInvoked, person: Person | None, *, overheard: bool) -> Decision:
    """`person`: who owns the sender's address on this channel, if anybody does. `overheard`: what people of the roster
    say to each other there is heard (see `sessions.manners`)."""
    sender = event.sender
    if sender.nature is Nature.SELF:
        return Ignore()
    if isinstance(event, MessageReceived):
        if event.automatic is not None:
            return Refuse(Refusal.AUTOMATIC)
        if event.addressed is Addressed.NOT:  # a code that stands where others read it is worth nothing any more
            code = _pairing_code(event)
            if code is not None:
                return TryCode(code)
            heard = overheard and person is not None and _not_a_known_person(sender, person) is None
            return Admit(person) if heard and person is not None else Ignore()
    refusal = _not_a_known_person(sender, person)
    code = _pairing_code(event)
    if code is not None and (refusal is None or refusal is Refusal.STRANGER):
        return TryCode(code)
    if refusal is not None:
        return Refuse(refusal)
    assert person is not None  # noqa: S101 - for the type checker; `_not_a_known_person` has refused it
    return Admit(person)


def hold(event: MessageReceived | CommandInvoked, now: datetime, stale_after: timedelta) -> Hold:
    """Chat messages that come in long after they were written start no turn by themselves; of those that were put to
    the executive it is said so."""
    if not event.live or now - event.sent_at <= stale_after:
        return Hold.NO
    overheard = isinstance(event, MessageReceived) and event.addressed is Addressed.NOT
    return Hold.TOLD if overheard else Hold.STALE


def immediate(event: CommandInvoked) -> bool:
    return commands.immediate(event.name)


def _not_a_known_person(sender: Sender, person: Person | None) -> Refusal | None:
    if sender.nature is Nature.BOT:
        return Refusal.BOT
    if sender.nature is Nature.ANONYMOUS:
        return Refusal.ANONYMOUS
    if person is None:
        return Refusal.STRANGER
    if not person.active:
        return Refusal.DEACTIVATED
    if sender.proof is Proof.NONE:
        return Refusal.UNPROVEN
    return None


def _pairing_code(event: MessageReceived | CommandInvoked) -> str | None:
    """A code is claimed by an account that the platform itself vouches for, hence never by mail."""
    if event.sender.proof is not Proof.PLATFORM:
        return None
    if isinstance(event, CommandInvoked):
        text = f"/pair {event.arguments}" if event.name == "pair" else ""
    else:
        text = event.body.text
    match = _CODE.match(text)
    return None if match is None else match[1].replace("-", "").lower()


def is_direct(event: MessageReceived | CommandInvoked) -> bool:
    return event.place.kind is PlaceKind.DIRECT
