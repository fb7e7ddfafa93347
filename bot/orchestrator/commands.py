"""Commands: turns without a model. Each is a function of the transaction that ends it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from typing import Protocol

from bot.audit.events import Actor
from bot.audit.recorder import Recorder
from bot.gateway.commands import COMMANDS
from bot.gateway.events import CommandInvoked, PlaceKind, Proof
from bot.kernel.ids import ClaimId, SessionId
from bot.kernel.values import dataclass
from bot.llm import budget
from bot.llm.budget import Spender
from bot.llm.metered import Meter
from bot.memory.service import Eraser
from bot.orchestrator import memories, proposals, schedules
from bot.orchestrator.verdicts import Verdicts
from bot.people.model import Person, Role
from bot.sessions import places, threads
from bot.sessions.audience import Audience
from bot.sessions.manners import Hearing
from bot.storage.database import Tx


@dataclass(frozen=True, slots=True)
class Asked:
    """A command with what its handler needs."""

    event: CommandInvoked
    person: Person
    session: SessionId
    place: str
    now: datetime
    provider: str
    """Who computes the answers (`anthropic`, `offline`)."""
    meter: Meter
    eraser: Eraser | None = None
    """Makes memories vanish; None: nothing can be forgotten here."""
    channel: str = ""
    verdicts: Verdicts | None = None
    """Takes what people say about proposals; None: nothing is put to anybody here."""
    ranked: Sequence[ClaimId] = ()
    """What the search index found for the words of `/memories`, best first."""


class Handler(Protocol):
    def __call__(self, tx: Tx, recorder: Recorder, asked: Asked) -> str:
        """Do it, and return what is said."""
        ...


def run(tx: Tx, recorder: Recorder, asked: Asked) -> str:
    """Carry out a command that belongs into the lane; returns the reply (Markdown)."""
    return HANDLERS.get(asked.event.name, _unknown)(tx, recorder, asked)


def _unknown(tx: Tx, recorder: Recorder, asked: Asked) -> str:
    name = asked.event.name
    near = [_MEANT[name]] if name in _MEANT else get_close_matches(name, COMMANDS, 1)
    meant = f"; did you mean `/{near[0]}`?" if near else "."
    return f"I know no command `/{name}`{meant} `/help` lists those that I know."


_MEANT = {
    "undo": "retract",
    "dispute": "retract",
    "delete": "forget",
    "erase": "forget",
    "edit": "correct",
    "change": "correct",
    "list": "memories",
    "search": "memories",
}
"""Words that other programs have for it."""


def _help(tx: Tx, recorder: Recorder, asked: Asked) -> str:
    lines = "\n".join(f"- `/{command.name}` – {command.summary}" for command in COMMANDS.values())
    return (
        "Write to me as you would to a colleague: a question, a decision, a document. I remember what was said in this "
        f"thread.\n\nWords that I know:\n\n{lines}\n- `/keep` – with a file: keep it among the company's documents; "
        "alone: the file that was sent last"
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
    if wish in LISTENING:
        hearing, answer = LISTENING[wish]
        places.listen(tx, asked.place, hearing)
        return answer
    places.declare(tx, recorder, asked.place, Audience(wish), Actor("person", asked.person.id), asked.now)
    after = places.get(tx.connection, asked.place)
    return _describe(after or known)


def _may_not_declare(asked: Asked, known: places.Known, wish: str) -> str | None:
    if wish not in DECLARABLE and wish not in LISTENING:
        words = "`, `/room ".join((*DECLARABLE, *LISTENING))
        return f"I understand `/room`, and from a principal `/room {words}`."
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


def _privacy(tx: Tx, recorder: Recorder, asked: Asked) -> str:
    known = places.get(tx.connection, asked.place)
    here = _describe(known) if known is not None else "I know nothing of this place yet."
    heard = _HEARD[known.hears if known is not None else Hearing.ADDRESSED]
    provider = (
        "No model provider reads along: answers are made on this machine by fixed rules."
        if asked.provider == "offline"
        else f"To answer, I send what is said here, and what I remember of it, to the provider {asked.provider}."
    )
    return (
        f"{here}\n\n- Whoever runs the machine that I live on can technically read everything that I keep; reading "
        f"private conversations takes a reason and is written into the audit.\n- {provider}\n- {heard}\n"
        "- I keep what was said until it is erased. `/new` makes me stop looking at what was said here before; to have "
        "a whole conversation erased, ask a principal of your company.\n- What I remember of it stands in `/memories`: "
        "`/correct` puts right, and `/forget` erases, what you said.\n- The platform itself keeps its own copy by its "
        "own rules."
    )


def _usage(tx: Tx, recorder: Recorder, asked: Asked) -> str:
    known = places.get(tx.connection, asked.place)
    if asked.meter.free:
        return "Answers are made on this machine by fixed rules: they cost nothing."
    if not asked.person.internal or known is None or known.audience is Audience.EXTERNAL:
        return "What I spend is told to people of the company only, where nobody else reads."
    # The figures of everybody are the principal's, and not a whole room's.
    everybody = asked.person.role is Role.PRINCIPAL and known.audience is Audience.PERSON
    spender = Spender("", asked.person.id, asked.session)
    lines = [
        budget.standing(account, spent, asked.person.time_zone)
        for account, spent in asked.meter.standing(spender, everybody=everybody)
    ]
    more = "\n\n`openexecutive usage` shows it by day, model, person and purpose." if everybody else ""
    return "\n".join(lines) + more


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


LISTENING = {
    "listen": (
        Hearing.ALL,
        (
            "From now on I hear everything that is said here, keep it, and speak when I think that I am spoken to. "
            "`/room threads` or `/room quiet` ends that."
        ),
    ),
    "threads": (
        Hearing.THREADS,
        "From now on I hear what is addressed to me, and what is said in threads that I take part in.",
    ),
    "quiet": (Hearing.ADDRESSED, "From now on I hear only what is addressed to me, by my name or as an answer to me."),
}
_HEARD = {
    Hearing.ALL: "I also hear what is not addressed to me here.",
    Hearing.THREADS: (
        "What is not addressed to me is neither kept nor read by me, except in threads that I take part in."
    ),
    Hearing.ADDRESSED: "What is not addressed to me is neither kept nor read by me.",
}
DECLARABLE = ("room", "company", "external")
HANDLERS: Mapping[str, Handler] = {
    "help": _help,
    "new": _new,
    "room": _room,
    "privacy": _privacy,
    "pair": _pair,
    "usage": _usage,
    **memories.HANDLERS,
    **proposals.HANDLERS,
    **schedules.HANDLERS,
}
