"""A person's day: what waits for them, what is due, what happened, what comes next, and what they may switch on."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import sqlalchemy as sa

from bot.audit.recorder import Recorder
from bot.gateway.text_write import literal
from bot.kernel.values import dataclass
from bot.ledger import showing
from bot.ledger import store as proposals
from bot.ledger.model import Proposal, State
from bot.llm.budget import local_day
from bot.memory.model import Claim
from bot.orchestrator.arranging import line
from bot.orchestrator.firing import news
from bot.orchestrator.firing.news import Promise, Waiting
from bot.orchestrator.telling import Words
from bot.people.model import Person
from bot.scheduler import store
from bot.scheduler.model import UNSOLICITED, Delivery, Job, JobState, Kind, Occurrence, Run
from bot.scheduler.service import LIVE
from bot.scheduler.wording import DELIVERIES, RUNS, titled, told
from bot.sessions import places
from bot.storage.database import Tx

if TYPE_CHECKING:
    from bot.orchestrator.commands import Asked

DEPARTMENT = "sales"
"""In the words of an offer: what is to be said there instead."""
AHEAD = timedelta(days=2)
BACK = timedelta(days=1)
TICK = timedelta(microseconds=1)
MOST = 100
"""Of memories, of what fired, and of what was decided, that is looked at."""
ALONE = "`/today` is about you alone: ask me in a direct message."
OFFERS = {
    Kind.MORNING_BRIEF: "morning brief every weekday at 8:30",
    Kind.EVENING_BRIEF: "evening brief every weekday at 17:30",
    Kind.WEEKLY_REVIEW: "weekly review every Friday at 16:00",
    Kind.COMMITMENT: "commitments every weekday at 9:00",
    Kind.NUDGE: "nudge every weekday at 14:00",
    Kind.CHECK_IN: f"check-in {DEPARTMENT} every Monday at 10:00",
}
"""The words behind `/schedule` that switch it on."""


@dataclass(frozen=True, slots=True)
class Fired:
    """A schedule of the person that came due lately."""

    job: Job
    occurrence: Occurrence


@dataclass(frozen=True, slots=True)
class Today:
    person: Person
    at: datetime
    waiting: tuple[Waiting, ...]
    due: tuple[Promise, ...]
    fired: tuple[Fired, ...]
    decided: tuple[Proposal, ...]
    """What they asked for, or could decide, and has ended lately."""
    new: tuple[Claim, ...]
    """Memories that were recorded or changed lately, as far as they may see them; the newest first."""
    next: tuple[Job, ...]
    names: Words
    off: tuple[Kind, ...]
    """Kinds that come unasked and that they have not chosen."""


def offer(kind: Kind, department: str) -> str:
    """The words that switch it on; `department` is what a check-in is about."""
    return OFFERS[kind].replace(DEPARTMENT, department) if kind is Kind.CHECK_IN else OFFERS[kind]


def today(connection: sa.Connection, person: Person, now: datetime) -> Today:
    """Everything under the person's own scope."""
    since = now - BACK
    found = news.gather(connection, person, since, now, MOST)
    jobs = store.of_owner(connection, person.id, LIVE)
    ran = store.between(connection, person.id, since, now + TICK, MOST)
    fired = [Fired(job, each) for job, each in ran if job.state is not JobState.REMOVED]
    decided = [
        each
        for each in proposals.newest(connection, MOST)
        if each.state is not State.PROPOSED
        and (each.asked_by == person.id or person.id in each.approvers)
        and (each.ended_at or each.decided_at or each.made_at) > since
    ]
    coming = [job for job in jobs if job.next_at is not None and job.next_at <= now + AHEAD]
    chosen = {job.kind for job in jobs}
    return Today(
        person,
        now,
        found.waiting,
        found.due,
        tuple(sorted(fired, key=lambda each: each.occurrence.at)),
        tuple(decided),
        found.new,
        tuple(coming),
        found.words,
        tuple(kind for kind in OFFERS if kind in UNSOLICITED and kind not in chosen),
    )


def words(of: Today) -> str:
    """As Markdown."""
    day = local_day(of.at, of.person.time_zone)
    due = [news.promise_line(of.names, each, day) for each in of.due]
    happened = [_fired(each) for each in of.fired] + [_decided(each) for each in of.decided]
    if of.new:
        happened.append(f"- memories that are new or changed: {len(of.new)} (`/memories`)")
    coming = [line(each) for each in of.next]
    parts = [
        *news.section("Waits for you", [each.line for each in of.waiting]),
        *news.section("Due", due),
        *news.section("Since yesterday", happened),
        *news.section("Next", coming, "`/schedule`"),
    ]
    text = "\n".join(parts).strip() or "Nothing waits for you, nothing is due, and nothing is scheduled."
    return f"**{day:%A} {day.isoformat()}**\n\n{text}{_offers(of)}"


def _offers(of: Today) -> str:
    if not of.off:
        return ""
    lines = "\n".join(f"- `/schedule {OFFERS[kind]}`" for kind in of.off)
    return f"\n\nOff until you choose it, twice a day at most:\n\n{lines}"


def _fired(of: Fired) -> str:
    run, delivery = of.occurrence.run, of.occurrence.delivery
    became = RUNS[run] if run is not Run.DONE or delivery is Delivery.NONE else DELIVERIES[delivery]
    note = f": {literal(of.occurrence.note)}" if of.occurrence.note and run in (Run.FAILED, Run.SKIPPED) else ""
    return f"- {told([of.occurrence.at], of.job.zone)} {literal(titled(of.job))} – {became}{note}"


def _decided(of: Proposal) -> str:
    return f"- `{of.id[-6:]}` {of.action.replace('_', ' ')} – {showing.OUTCOMES[of.state]}"


def command(tx: Tx, recorder: Recorder, asked: Asked) -> str:
    if not places.alone(places.get(tx.connection, asked.place), asked.person):
        return ALONE
    return words(today(tx.connection, asked.person, asked.now))
