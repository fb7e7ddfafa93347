"""What is new for a person, what is due, and what waits for them: read under their own scope, told as lines. Nothing of
it is made up, and no model is needed for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta

import sqlalchemy as sa

from bot.audit.events import Actor
from bot.gateway.text_write import literal
from bot.kernel.ids import ClaimId, PersonId
from bot.kernel.scope import PersonScope
from bot.kernel.values import dataclass
from bot.ledger import store as proposals
from bot.llm.budget import local_day
from bot.memory import reading
from bot.memory.model import STANDING, Claim, Kind, Status, Work
from bot.memory.reading import Filter, Purpose
from bot.memory.recall import names_of
from bot.memory.rights import Act, No, Verdict
from bot.memory.service import Acting, Memories, waiting
from bot.memory.tables import commitment
from bot.orchestrator.recollection import TRUSTED
from bot.orchestrator.telling import Words
from bot.people.model import Person
from bot.sessions.visible import Visible, visible
from bot.storage.metadata import exactly

MOST_LINES = 8
MOST_HELD = 20
"""Memories that wait for a person, of which is told."""
LOOKED_AT = 400
"""Claims that are gone through for what is new."""
DUE_WITHIN = timedelta(days=7)
OPEN = (Work.PROPOSED, Work.ACTIVE, Work.BLOCKED)
_STATUSES = tuple(Status(each) for each in STANDING)


@dataclass(frozen=True, slots=True)
class Promise:
    """An open commitment of the person."""

    claim: Claim
    due: date
    asked_at: datetime | None


@dataclass(frozen=True, slots=True)
class Waiting:
    """Something that waits for the person's word."""

    id: str
    line: str
    others: bool = False
    """It may tell what others wrote."""
    claim: Claim | None = None
    """The memory that it is; None: an approval."""


@dataclass(frozen=True, slots=True)
class News:
    new: tuple[Claim, ...]
    """Decisions, facts, initiatives and advice that were recorded or changed since, the newest first."""
    due: tuple[Promise, ...]
    waiting: tuple[Waiting, ...]
    words: Words

    @property
    def empty(self) -> bool:
        return not (self.new or self.due or self.waiting)

    @property
    def untrusted(self) -> bool:
        """What others wrote may stand in it."""
        claims = (*self.new, *(each.claim for each in self.due))
        return doubtful(claims) or any(each.others for each in self.waiting)


def doubtful(claims: Iterable[Claim]) -> bool:
    return any(each.trust not in TRUSTED for each in claims)


def view_of(connection: sa.Connection, person: Person) -> Visible:
    return visible(connection, PersonScope(person.id))


def gather(
    connection: sa.Connection, person: Person, since: datetime, now: datetime, looked_at: int = LOOKED_AT
) -> News:
    view = view_of(connection, person)
    found = reading.find(connection, view, Purpose.PROMPT, Filter(statuses=_STATUSES), looked_at)
    new = tuple(each for _, each in found if each.touched_at > since or each.recorded_at > since)
    today = local_day(now, person.time_zone)
    due = tuple(promises(connection, view, person.id, today + DUE_WITHIN))
    words = Words(names_of(connection, [*new, *(each.claim for each in due)]), person.time_zone)
    return News(new, due, tuple(waits_for(connection, person)), words)


def promises(connection: sa.Connection, view: Visible, owner: PersonId, until: date) -> list[Promise]:
    """Open ones that are due by then or overdue, the next first, as far as the scope may see them."""
    rows = connection.execute(
        sa.select(commitment.c.claim_id, commitment.c.due, commitment.c.asked_at)
        .where(commitment.c.owner == owner, exactly(commitment.c.state, "open"), commitment.c.due <= until)
        .order_by(commitment.c.due, commitment.c.claim_id)
        .limit(200)
    ).all()
    seen = reading.by_ids(connection, view, Purpose.PROMPT, [ClaimId(row.claim_id) for row in rows])
    return [
        Promise(seen[ClaimId(row.claim_id)], row.due, row.asked_at) for row in rows if ClaimId(row.claim_id) in seen
    ]


def waits_for(connection: sa.Connection, person: Person) -> list[Waiting]:
    """Approvals first, the next to expire before the others; then memories, those that their word moves."""
    found = [
        Waiting(each.id, f"- approval `{each.id[-6:]}` ({each.action.replace('_', ' ')}): `/ledger {each.id[-6:]}`")
        for each in proposals.open_for(connection, person.id)
    ]
    view = view_of(connection, person)
    by = Acting(Actor("person", person.id), view.scope, person)
    held: list[tuple[Claim, Verdict | No]] = []
    for number, each in enumerate(waiting(connection, view, MOST_HELD)):
        known = view.decides and number >= MOST_LINES  # what would come of their word is said of the first ones only
        held.append((each, Verdict.NOW if known else Memories.verdict(connection, by, Act.ACCEPT, each)))
    words = Words(names_of(connection, [each for each, _ in held]), person.time_zone)
    return found + [
        Waiting(each.id, words.waiting(each, yes), doubtful([each]), each)
        for each, yes in held
        if view.decides or (each.status is Status.PENDING and not isinstance(yes, No))
    ]


def open_initiatives(connection: sa.Connection, view: Visible, department: str | None = None) -> list[Claim]:
    """Those that are not finished, the longest untouched first."""
    wanted = Filter(kinds=(Kind.INITIATIVE,), statuses=_STATUSES, department=department)
    found = [each for _, each in reading.find(connection, view, Purpose.PROMPT, wanted, LOOKED_AT)]
    return sorted((each for each in found if each.work in OPEN), key=lambda each: each.touched_at)


def section(title: str, lines: Sequence[str], more: str = "") -> list[str]:
    """A heading with its lines, the rest as a count; nothing without lines."""
    if not lines:
        return []
    shown = list(lines[:MOST_LINES])
    left = len(lines) - len(shown)
    shown += [f"- and {left} more{f': {more}' if more else ''}"] if left else []
    return [f"**{literal(title)}**", "", *shown, ""]


def promise_line(words: Words, of: Promise, today: date) -> str:
    when = "today" if of.due == today else f"{of.due:%A} {of.due.isoformat()}"
    late = " – overdue" if of.due < today else ""
    return f"- `{of.claim.handle}` {literal(of.claim.statement)} (due {when}{late})"
