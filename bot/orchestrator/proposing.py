"""The tools with which the model asks for something to be done outside: each makes a proposal, written when the turn
ends, that a person has to say yes to. Who it goes to is found out here, never taken from the text as it stands.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import sqlalchemy as sa
from pydantic import BaseModel, Field

from bot.audit.events import Actor
from bot.gateway.channel import Channel
from bot.gateway.events import MessageReceived, PlaceKind
from bot.gateway.pages import last_resort
from bot.gateway.text_links import inert
from bot.gateway.text_write import literal
from bot.intake import store as inbox
from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.ids import ClaimId, ProposalId, new_id
from bot.kernel.scope import SessionScope
from bot.kernel.values import dataclass
from bot.ledger import guard, store
from bot.ledger.acting.payload import LONGEST_LINE, LONGEST_TEXT
from bot.ledger.acting.profile import version_of
from bot.ledger.acting.telling import Telling, mail_address
from bot.ledger.model import Mode, Payload
from bot.ledger.service import Ledger, Wish
from bot.llm import lexical
from bot.memory import reading
from bot.memory.model import Claim
from bot.memory.reading import Purpose
from bot.orchestrator.intents import Ending, Intent
from bot.orchestrator.rooms_named import newest_thread
from bot.orchestrator.tools import Asker, Outcome, Tool
from bot.people import store as people
from bot.people.model import Person
from bot.sessions import taint
from bot.sessions.visible import visible
from bot.storage.database import Database, Tx
from bot.tasks import store as tasks

log = logging.getLogger(__name__)

MOST_IN_A_TURN = 5
MOST_WAITING = 30
"""Proposals of one person that wait at a time."""
TOLD = 0.6
"""Share of a memory's words from which a text that holds them counts as telling it."""
UNMADE = "ledger.unmade"
"""Task: who asked hears that it was not put forward, although the answer said so."""
ONLY_COMPANY = "Only people of the company can have me do things for them."


class Reasoned(BaseModel):
    reason: str = Field(description="why, in a sentence, for the person who decides", min_length=1, max_length=500)
    confidence: float | None = Field(None, ge=0, le=1, description="how sure you are that this is wanted like that")
    rests_on: list[str] = Field(
        default_factory=list, max_length=20, description="ids of the remembered lines that it tells or rests on"
    )


class Texted(Reasoned):
    text: str = Field(description="word for word what leaves (Markdown)", min_length=1, max_length=LONGEST_TEXT)


class Messaging(Texted):
    to: str | None = Field(None, description="who gets it: the person's name or id", min_length=1, max_length=80)
    room: str | None = Field(
        None, description="or the name of a room that the asker is in: its newest thread", min_length=1, max_length=120
    )


class Mailing(Texted):
    to: str = Field(description="one mail address", min_length=3, max_length=320)
    subject: str = Field(description="its subject", min_length=1, max_length=LONGEST_LINE)


class Profiling(Reasoned):
    field: str = Field(
        description="name, business, stage, goals, departments, people, rules, or one of the company's own",
        min_length=1,
        max_length=40,
    )
    lines: list[str] = Field(description="the whole new content, one text a line", min_length=1, max_length=60)
    audience: Literal["public", "company"] = Field("company", description="who may be told it")


class Remembering(Reasoned):
    id: str = Field(description="the remembered line's id", min_length=4, max_length=24)


WAITS = "Nothing is done before a person has said yes; say so, and to whom it was put."
DESCRIPTIONS: Mapping[str, str] = {
    "send_message": f"Propose a message to a person of the company, alone, or into a room. {WAITS}",
    "send_email": f"Propose a mail to any one address, inside or outside. {WAITS}",
    "reply_all": f"Propose an answer to the mail at hand that goes to everybody who got it. {WAITS}",
    "change_company_profile": f"Propose another content of a field of the company's profile. {WAITS}",
    "promote_memory": f"Propose that the whole company may see a remembered line. {WAITS}",
    "forget_memory": f"Propose that a remembered line is erased with the words that it rests on. {WAITS}",
}


@dataclass(frozen=True, slots=True)
class Planned:
    """What shall be proposed, before its links and its facts are looked at."""

    action: str
    payload: Payload
    given: Reasoned
    facts: tuple[ClaimId, ...]


class Proposing:
    def __init__(
        self,
        database: Database,
        ledger: Ledger,
        channels: Mapping[str, Channel],
        mail: str,
        ring: Callable[[], None],
    ) -> None:
        """`ring` is called after proposals were committed."""
        self._database = database
        self._ledger = ledger
        self._channels = channels
        self._mail = mail
        self._ring = ring

    def tools(self) -> list[Tool[Any]]:
        handlers: Sequence[tuple[str, type[BaseModel], Any]] = (
            ("send_message", Messaging, self.message),
            ("send_email", Mailing, self.email),
            ("reply_all", Texted, self.answer_all),
            ("change_company_profile", Profiling, self.profile),
            ("promote_memory", Remembering, self.promote),
            ("forget_memory", Remembering, self.forget),
        )
        known = set(self._ledger.classes)
        return [
            Tool(name, DESCRIPTIONS[name], arguments, handler)
            for name, arguments, handler in handlers
            if name.replace("forget_memory", "forget") in known
        ]

    # --- one tool each ---------------------------------------------------------------------------------------------

    async def message(self, asker: Asker, arguments: Messaging) -> Outcome:
        to, room, person = arguments.to, arguments.room, asker.person
        if (to is None) == (room is None):
            return Outcome("Say either to whom it goes, or into which room.", is_error=True)
        if room is not None:
            there = await self._database.read(lambda c: newest_thread(c, room, person)) if person else ONLY_COMPANY
            if isinstance(there, str):
                return Outcome(there, is_error=True)
            thread, session = there
            into = {
                "to": [], "named": session.title or room, "channel": session.channel, "thread": thread,
                "read_by": session.audience.value, "epoch": session.audience_epoch, "text": arguments.text,
                "discloses": [],
            }  # fmt: skip
            return await self._propose(asker, "send_message", into, arguments)
        found = await self._database.read(lambda c: _person(c, to or ""))
        if isinstance(found, str):
            return Outcome(found, is_error=True)
        way = await self._way(found)
        if way is None:
            return Outcome(f"{found.name} cannot be reached alone on any channel.", is_error=True)
        channel, own, address = way
        payload = {
            "to": [found.id], "named": found.name, "channel": channel, "thread": own, "address": address,
            "text": arguments.text, "discloses": [],
        }  # fmt: skip
        return await self._propose(asker, "send_message", payload, arguments)

    async def email(self, asker: Asker, arguments: Mailing) -> Outcome:
        if self._mail not in self._channels:
            return Outcome("Mail is switched off here.", is_error=True)
        payload = {
            "to": [mail_address(arguments.to)], "subject": " ".join(arguments.subject.split()),
            "thread": f"{self._mail}:{new_id(asker.now)}", "text": arguments.text, "discloses": [],
        }  # fmt: skip
        return await self._propose(asker, "send_email", payload, arguments)

    async def answer_all(self, asker: Asker, arguments: Texted) -> Outcome:
        rows = await self._database.read(lambda c: inbox.of_turn(c, asker.turn))
        mails = [row.event for row in rows if isinstance(row.event, MessageReceived)]
        if not mails or mails[-1].place.kind is not PlaceKind.MAIL:
            return Outcome("This conversation is no mail: there is nobody else to answer.", is_error=True)
        mail = mails[-1]
        everybody = [mail.sender.address, *(each.address for each in mail.place.others)]
        payload = {
            "to": everybody, "subject": " ".join((mail.reply_path.subject or "(no subject)").split()),
            "thread": mail.reply_path.thread, "ref": mail.ref, "chain": list(mail.reply_path.chain),
            "text": arguments.text, "discloses": [],
        }  # fmt: skip
        return await self._propose(asker, "reply_all", payload, arguments)

    async def profile(self, asker: Asker, arguments: Profiling) -> Outcome:
        replaces = await self._database.read(lambda c: version_of(c, arguments.field))
        payload = {
            "field": arguments.field, "lines": arguments.lines, "audience": arguments.audience, "replaces": replaces
        }  # fmt: skip
        return await self._propose(asker, "change_company_profile", payload, arguments)

    async def promote(self, asker: Asker, arguments: Remembering) -> Outcome:
        return await self._about_memory(asker, "promote_memory", arguments)

    async def forget(self, asker: Asker, arguments: Remembering) -> Outcome:
        return await self._about_memory(asker, "forget", arguments)

    async def _about_memory(self, asker: Asker, action: str, arguments: Remembering) -> Outcome:
        found = await self._database.read(lambda c: _claims(c, asker.scope, [arguments.id]))
        if len(found) != 1:
            return Outcome("Nothing with such an id is remembered here.", is_error=True)
        (claim,) = found
        payload = {"memory": claim.id, "version": claim.version}
        return await self._propose(asker, action, payload, arguments, (claim.id,))

    # --- what they have in common ----------------------------------------------------------------------------------

    async def _propose(
        self, asker: Asker, action: str, payload: Payload, given: Reasoned, facts: Sequence[ClaimId] = ()
    ) -> Outcome:
        """Raises `PermanentError` with words for the model."""
        person = asker.person
        if person is None or not person.internal or not person.named:
            return Outcome(ONLY_COMPANY, is_error=True)
        asker.tally["proposals"] += 1
        if asker.tally["proposals"] > MOST_IN_A_TURN:
            return Outcome(f"At most {MOST_IN_A_TURN} things can be proposed in one answer.", is_error=True)
        kind = self._ledger.action(action)
        kept = kind.checked(payload)
        department = self._department(person)

        def query(connection: sa.Connection) -> tuple[list[str], list[Claim], bool, int]:
            deciders = self._ledger.deciders(connection, action, department)
            known = people.by_ids(connection, deciders)
            claims = _claims(connection, asker.scope, given.rests_on)
            automatic = self._ledger.mode(connection, action).mode is Mode.AUTO_EXECUTE
            if isinstance(kind, Telling):
                kind.reading(connection, kept)
            open_ones = sum(each.asked_by == person.id for each in store.waiting(connection, 1_000))
            return [known[each].name for each in deciders if each in known], claims, automatic, open_ones

        names, claims, automatic, open_ones = await self._database.read(query)
        if open_ones >= MOST_WAITING:
            return Outcome(f"{open_ones} proposals of {person.name} wait already: let these be decided.", is_error=True)
        proposal = ProposalId(new_id(asker.now))
        planned = Planned(action, kept, given, tuple(dict.fromkeys((*facts, *(each.id for each in claims)))))
        shown = kind.show(kept)
        about = f"{shown.what} ({literal(shown.fields[0][1])})" if shown.fields else shown.what
        who = _either(names)
        waits = f"waits for a yes from {who}" if not automatic else f"is done, or waits for {who} where it is unusual"
        note = f"{about}: {waits} ({proposal[-6:]}); nothing leaves before."
        intent = Intent(
            note, lambda tx, ending: self._write(tx, ending, proposal, planned, person, department), self._ring
        )
        return Outcome(
            f"Proposed as {proposal[-6:]}. It {waits}. It has not been done. The answer says this by itself.",
            intents=(intent,),
        )

    def _department(self, person: Person) -> str | None:
        heads = self._ledger.rules.heads
        return next((each for each in person.departments if each in heads), None)

    def _write(
        self, tx: Tx, ending: Ending, proposal: ProposalId, planned: Planned, person: Person, department: str | None
    ) -> None:
        """In the transaction that ends the turn: now it is known what the turn has read."""
        kind, payload = self._ledger.action(planned.action), dict(planned.payload)
        text = payload.get("text")
        facts = list(planned.facts)
        plain = True
        if isinstance(kind, Telling) and isinstance(text, str):
            payload["text"] = inert(text, ending.links)
            facts = list(dict.fromkeys((*facts, *_told_in(tx.connection, ending, text))))
            hidden = _hidden(tx.connection, kind, payload, facts)
            payload["discloses"] = list(hidden)
            plain = not hidden and guard.written_to(tx.connection, planned.action, guard.whom(payload))
        wish = Wish(
            planned.action,
            payload,
            f"{ending.turn}:{proposal}",
            planned.given.reason,
            ending.session,
            ending.turn,
            person.id,
            department,
            tuple(facts),
            planned.given.confidence,
            ending.untrusted or taint.is_tainted(tx.connection, ending.session),
            plain,
            proposal,
        )
        try:
            self._ledger.propose(tx, wish, Actor("model", ending.model), ending.now)
        except PermanentError as error:  # nobody may decide any more: the last principal left meanwhile
            log.warning("proposal %s of turn %s is not made: %s", proposal, ending.turn, error.message)
            shown = kind.show(payload)
            about = f"{shown.what} ({literal(shown.fields[0][1])})" if shown.fields else shown.what
            text = (
                f"Not put forward after all ({proposal[-6:]}): {about}. {error.message[:1].upper()}{error.message[1:]}."
            )
            told = {"person": person.id, "about": f"Not put forward: {shown.what}", "text": text}
            tasks.enqueue(tx, UNMADE, proposal, told, ending.now, lane=f"{UNMADE}:{person.id}")

    async def _way(self, person: Person) -> tuple[str, str, str] | None:
        """Where the person is reached alone: channel, thread, address. Channels with buttons are chats: they first, but
        for one that is read only by looking."""
        handles = sorted(person.handles, key=lambda each: (not self._chats(each.channel), each.channel, each.address))
        for each in handles:
            channel = self._channels.get(each.channel)
            if channel is None:
                continue
            try:
                path = await channel.direct(each.address)
            except (PermanentError, TransientError) as error:
                log.info("%s cannot be reached on %s: %s", person.id, each.channel, error.message)
                continue
            return each.channel, path.thread, path.address
        return None

    def _chats(self, channel: str) -> bool:
        known = self._channels.get(channel)
        return known is not None and known.has_buttons and not last_resort(known)


def _person(connection: sa.Connection, meant: str) -> Person | str:
    """The one active person of the roster whose id or name this is; else why there is none, in words."""
    wanted = meant.strip().lstrip("@").casefold()
    active = [each for each in people.everyone(connection) if each.active]
    by_id = [each for each in active if each.id == wanted]
    by_name = [each for each in active if each.name.casefold() == wanted]
    by_first_name = [each for each in active if each.name.casefold().split()[:1] == [wanted]]
    for found in (by_id, by_name, by_first_name):
        if len(found) == 1:
            return found[0]
        if found:
            return f"{meant} could mean several: {', '.join(f'{each.name} ({each.id})' for each in found)}."
    return f"I know nobody called {meant}."


def _claims(connection: sa.Connection, scope: SessionScope, handles: Sequence[str]) -> list[Claim]:
    """Those that the conversation may see."""
    view = visible(connection, scope)
    found: dict[ClaimId, Claim] = {}
    for each in handles:
        named = reading.named(connection, view, Purpose.PROMPT, each.strip().strip("[]"))
        if len(named) == 1:
            found[named[0].id] = named[0]
    return list(found.values())


def _hidden(connection: sa.Connection, kind: Telling, payload: Payload, facts: Sequence[ClaimId]) -> list[ClaimId]:
    """What its readers may not see by themselves. Where it must not go any more, nothing is named: the proposal says
    what was wanted, and the guard will not let it be done."""
    try:
        return kind.hidden(connection, payload, facts)
    except PermanentError:
        return []


def _told_in(connection: sa.Connection, ending: Ending, text: str) -> list[ClaimId]:
    """Memories that stood before the model in this turn and whose words the text holds, whatever the model says."""
    view = visible(connection, SessionScope(ending.session))
    shown, _ = reading.shown_in(connection, view, ending.turn)
    said = set(lexical.terms(text))
    found = []
    for claim, _ in shown:
        terms = set(lexical.terms(claim.statement))
        if len(terms) >= 2 and len(terms & said) / len(terms) >= TOLD:
            found.append(claim.id)
    return found


def _either(names: Sequence[str]) -> str:
    plain = [literal(each) for each in names]
    return plain[0] if len(plain) == 1 else f"{', '.join(plain[:-1])} or {plain[-1]}"
