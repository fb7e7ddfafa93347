"""Commands: turns without a model. Each is a function of the transaction that ends it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from bot.audit.events import Actor
from bot.audit.recorder import Recorder
from bot.gateway.commands import COMMANDS
from bot.gateway.events import CommandInvoked, PlaceKind, Proof
from bot.kernel.ids import SessionId
from bot.people.model import Person, Role
from bot.sessions import places, threads
from bot.sessions.audience import Audience
from bot.storage.database import Tx


@dataclass(frozen=True, slots=True)
class Asked:
    """A command with what its handler needs."""

    event: CommandInvoked
    person: Person
    session: SessionId
    place: str
    now: datetime


class Handler(Protocol):
    def __call__(self, tx: Tx, recorder: Recorder, asked: Asked) -> str:
        """Do it, and return what is said."""
        ...


def run(tx: Tx, recorder: Recorder, asked: Asked) -> str:
    """Carry out a command of `gateway.commands.COMMANDS` that belongs into the lane; returns the reply (Markdown)."""
    return HANDLERS[asked.event.name](tx, recorder, asked)


def _help(tx: Tx, recorder: Recorder, asked: Asked) -> str:
    lines = "\n".join(f"- `/{command.name}` – {command.summary}" for command in COMMANDS.values())
    return (
        "Write to me as you would to a colleague: a question, a decision, a document. I remember what was said in this "
        f"thread.\n\nWords that I know:\n\n{lines}"
    )


def _new(tx: Tx, recorder: Recorder, asked: Asked) -> str:
    threads.new_history(tx, recorder, asked.session, Actor("person", asked.person.id))
    return "A fresh start: what was said here before is no longer shown to me."


def _room(tx: Tx, recorder: Recorder, asked: Asked) -> str:
    known = places.get(tx.connection, asked.place)
    if known is None:
        return "I know nothing of this place yet."
    wish = asked.event.arguments.strip().lower()
    if not wish:
        return _describe(known)
    refusal = _may_not_declare(asked, known, wish)
    if refusal is not None:
        return refusal
    places.declare(tx, recorder, asked.place, Audience(wish), Actor("person", asked.person.id), asked.now)
    after = places.get(tx.connection, asked.place)
    return _describe(after or known)


def _may_not_declare(asked: Asked, known: places.Known, wish: str) -> str | None:
    if wish not in DECLARABLE:
        return f"I understand `/room`, and from a principal `/room {'`, `/room '.join(DECLARABLE)}`."
    if asked.person.role is not Role.PRINCIPAL:
        return "Only a principal can say what a place is."
    if known.kind in (PlaceKind.DIRECT, PlaceKind.MAIL) or asked.event.sender.proof not in (
        Proof.PLATFORM,
        Proof.LOCAL,
    ):
        return (
            "This can be said only in the place itself, on its own platform. Who reads here follows from who is here."
        )
    return None


def _describe(known: places.Known) -> str:
    who = {
        Audience.PERSON: "only the two of us read here",
        Audience.ROOM: "the people of this room read here, all of them on the roster",
        Audience.COMPANY: "everyone in the company may read here",
        Audience.EXTERNAL: "people from outside may read here: I show nothing of other conversations",
    }[known.audience]
    return f"This place counts as **{known.audience.value}** – {who}. Reason: {known.because}."


def _pair(tx: Tx, recorder: Recorder, asked: Asked) -> str:
    return (
        "I know you already. To claim another account, run `openexecutive pair` and send me the code from that "
        "account, in a direct message."
    )


DECLARABLE = ("room", "company", "external")
HANDLERS: Mapping[str, Handler] = {"help": _help, "new": _new, "room": _room, "pair": _pair}
