"""From a person's wish to a schedule: what reaches only them is stored, all else is put before whoever decides. Used by
the model's tool, the command and the API; each writes in its own transaction."""

from __future__ import annotations

import logging
import re
from datetime import datetime

import sqlalchemy as sa

from bot.audit.events import Actor
from bot.gateway.text_write import literal
from bot.kernel.errors import PermanentError
from bot.kernel.ids import JobId, PersonId, ProposalId, SessionId, TurnId, new_id
from bot.kernel.values import dataclass
from bot.ledger.service import Ledger
from bot.ledger.service import Wish as Asked
from bot.people import store as people
from bot.people.model import Person
from bot.scheduler import wording
from bot.scheduler.acting import ACTION, payload_of
from bot.scheduler.model import Job, Kind
from bot.scheduler.phrases import Wanted, wanted
from bot.scheduler.service import HANDLE, Schedules, Wish, checked, handle, reaches_only_owner
from bot.scheduler.when_rule import UnclearError
from bot.storage.database import Tx

log = logging.getLogger(__name__)

NO_LEDGER = "what reaches somebody else needs a yes, and nothing is put to anybody here"
NOT_UNDERSTOOD = (
    "I cannot read that as something to schedule. Say it like `remind me tomorrow at 9 to call Ben` or `every weekday "
    "at 8:30 send me the brief`."
)
_CHOSEN = re.compile(
    r"(?:(?P<kind>morning[ _-]?brief|evening[ _-]?brief|weekly[ _-]?review|commitments?|follow[ _-]?ups?|nudges?)"
    r"|check[ _-]?ins?\s+(?:on\s+)?(?P<department>[\w-]+))\s+(?P<when>.+)",
    re.IGNORECASE,
)
_KINDS = {
    "m": Kind.MORNING_BRIEF, "e": Kind.EVENING_BRIEF, "w": Kind.WEEKLY_REVIEW, "c": Kind.COMMITMENT,
    "f": Kind.COMMITMENT, "n": Kind.NUDGE,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Prepared:
    """A wish that can be carried out, under the id that it will have."""

    wish: Wish
    owner: Person
    note: str
    """What is said about it: what, when (the next dates), and how it is undone or who decides. Markdown, one line."""
    job: JobId
    proposal: ProposalId | None
    """It needs a yes."""


class Arranging:
    def __init__(self, schedules: Schedules, ledger: Ledger | None) -> None:
        self.schedules = schedules
        self._ledger = ledger

    def said(self, connection: sa.Connection, sentence: str, person: Person, now: datetime) -> Prepared:
        """A sentence of the person. Raises `PermanentError` with words for them."""
        chosen = _CHOSEN.fullmatch(sentence.strip())
        if chosen is not None:
            kind = _KINDS[chosen["kind"][0].lower()] if chosen["kind"] else Kind.CHECK_IN
            rule = wording.rule_of(chosen["when"], now, person.time_zone)
            wish = Wish(kind, "", rule, person.time_zone, department=chosen["department"])
            return self.prepared(connection, wish, person, now)
        found = wanted(sentence, now, person.time_zone)
        if found is None:
            raise UnclearError(NOT_UNDERSTOOD)
        return self.prepared(connection, _wish(connection, found, person), person, now)

    def prepared(self, connection: sa.Connection, wish: Wish, person: Person, now: datetime) -> Prepared:
        """Raises `PermanentError` with words for whoever asked."""
        checked(connection, wish, person, now)
        what = wording.KINDS[wish.kind]
        about = wish.text or wish.department
        named = f"{what}: {literal(_short(about))}" if about else what
        when = wording.described(wish.rule, wish.zone)
        at = wording.dates(wish.rule, wish.zone, now)
        dates = "" if len(at) == 1 and when.startswith("once") else f"; next: {wording.told(at, wish.zone)}"
        if reaches_only_owner(wish, person.id):
            known = self.schedules.chosen_before(connection, wish, person)
            job = known.id if known is not None else JobId(new_id(now))
            undo = f"`/schedule undo {job[-HANDLE:]}` takes it back"
            return Prepared(wish, person, f"Scheduled – {named} – {when}{dates}. {undo}.", job, None)
        if self._ledger is None or ACTION not in self._ledger.classes:
            raise PermanentError(NO_LEDGER)
        proposal = ProposalId(new_id(now))
        deciders = people.by_ids(connection, self._ledger.deciders(connection, ACTION, None))
        who = " or ".join(literal(each.name) for each in deciders.values()) or "nobody"
        recipient = people.get(connection, wish.to) if wish.to is not None else None
        to = literal(recipient.name) if recipient is not None else "?"
        note = f"For {to} – {named} – {when}{dates}: waits for a yes from {who} ({proposal[-6:]})."
        return Prepared(wish, person, note, JobId(""), proposal)

    def write(
        self,
        tx: Tx,
        of: Prepared,
        session: SessionId | None,
        actor: Actor,
        now: datetime,
        turn: TurnId | None = None,
        *,
        tainted: bool = False,
        key: str | None = None,
    ) -> Job | None:
        """Store it, or propose it (None), with `key` in place of the proposal's own. Raises `PermanentError` for what
        has become impossible since."""
        if of.proposal is None:
            return self.schedules.make(tx, of.wish, of.owner, session, actor, now, job_id=of.job)
        if self._ledger is None:
            raise PermanentError(NO_LEDGER)
        asked = Asked(
            ACTION,
            payload_of(of.wish, of.owner.id),
            key or of.proposal,
            f"{of.owner.name} wants it",
            session,
            turn,
            of.owner.id,
            tainted=tainted,
            id=of.proposal,
        )
        self._ledger.propose(tx, asked, actor, now)
        return None


def _wish(connection: sa.Connection, found: Wanted, person: Person) -> Wish:
    to = None if found.to is None else named(connection, found.to)
    if to is None or to.id == person.id:
        text = f"you wanted to be asked: {found.text}" if found.asks else found.text
        return Wish(found.kind, text, found.rule, person.time_zone)
    verb = "asks" if found.asks else "wants me to remind you"
    return Wish(found.kind, f"{person.name} {verb}: {found.text}", found.rule, person.time_zone, to.id)


def named(connection: sa.Connection, given: str) -> Person:
    """The one active person who is called like this: by their id, whole name, or one word of it. Raises
    `PermanentError`."""
    wish = " ".join(given.split()).casefold()
    everyone = [each for each in people.everyone(connection) if each.active]
    for found in (
        [each for each in everyone if wish in (each.id.casefold(), each.name.casefold())],
        [each for each in everyone if wish in each.name.casefold().split()],
    ):
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(f"{each.name} ({each.id})" for each in found)
            raise PermanentError(f"several people are called {given}: {names}")
    raise PermanentError(f"I know nobody called {given}")


def person_of(connection: sa.Connection, person: PersonId) -> Person:
    found = people.get(connection, person)
    if found is None:
        raise PermanentError(f"there is nobody with the id {person}")
    return found


def line(job: Job) -> str:
    """One schedule in a list (Markdown)."""
    state = "" if job.paused_because is None else f" – paused: {literal(job.paused_because)}"
    at = "" if job.next_at is None else f"; next {wording.told([job.next_at], job.zone)}"
    to = f" (for {literal(str(job.payload['for']))})" if job.payload.get("for") else ""
    return f"- `{handle(job)}` {literal(wording.titled(job))}{to} – {wording.described(job.rule, job.zone)}{at}{state}"


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 80 else f"{words[:79]}…"
