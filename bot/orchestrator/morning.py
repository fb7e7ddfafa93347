"""What the first page of the console shows beside `today`: the newest brief, initiatives by their state, what waits for
a principal besides, and what may still be spent. Under the person's own scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import sqlalchemy as sa

from bot.gateway.operations import Send
from bot.kernel.values import dataclass
from bot.llm.budget import Account, Spender
from bot.llm.metered import Meter
from bot.memory import reading
from bot.memory.model import Claim, Kind, Status, Work
from bot.memory.reading import Filter, Purpose
from bot.memory.recall import names_of
from bot.orchestrator.firing import news
from bot.orchestrator.today import Today, today
from bot.outbox import store as outbox
from bot.people import pairing
from bot.people import store as people
from bot.people.model import Person, Role
from bot.scheduler import store
from bot.scheduler.model import Delivery, JobState, Occurrence
from bot.scheduler.model import Kind as Job
from bot.scheduler.service import LIVE
from bot.sessions import places

BRIEFS = (Job.MORNING_BRIEF, Job.EVENING_BRIEF, Job.WEEKLY_REVIEW)
LOOK_BACK = timedelta(days=7)
"""An older brief is not shown any more."""
SHOWN = (Work.ACTIVE, Work.BLOCKED, Work.PROPOSED, Work.COMPLETED)
"""States of initiatives that are shown, in this order."""
MOST_INITIATIVES = 150


@dataclass(frozen=True, slots=True)
class Brief:
    kind: Job
    at: datetime
    text: str
    """As it was said, without any markup."""


@dataclass(frozen=True, slots=True)
class Morning:
    today: Today
    review: tuple[Claim, ...]
    """Memories that wait for their word."""
    brief: Brief | None
    initiatives: Mapping[Work, Sequence[Claim]]
    """The last touched first."""
    rooms: int
    """Of which nobody has said who reads there; principals are asked."""
    requests: int
    """Accounts that ask to be let in; principals decide."""
    departments: tuple[str, ...]
    """On which they may choose a check-in."""
    names: Mapping[str, str]
    """Of people, by id."""


@dataclass(frozen=True, slots=True)
class Spent:
    account: Account
    micros: int


def morning(connection: sa.Connection, person: Person, now: datetime) -> Morning:
    found = today(connection, person, now)
    review = tuple(each.claim for each in found.waiting if each.claim is not None)
    initiatives = _initiatives(connection, person)
    decides = person.role is Role.PRINCIPAL
    claims = [*review, *found.new, *(each.claim for each in found.due)]
    claims += [each for of in initiatives.values() for each in of]
    return Morning(
        found,
        review,
        _brief(connection, person, now),
        initiatives,
        places.undescribed(connection) if decides else 0,
        len(pairing.open_requests(connection)) if decides else 0,
        _departments(connection) if decides else person.departments,
        names_of(connection, claims),
    )


def budget(meter: Meter, person: Person) -> list[Spent]:
    """The person's own limits and, for principals, everybody's; none where answers cost nothing."""
    if meter.free or not person.internal:
        return []
    decides = person.role is Role.PRINCIPAL
    spender = Spender("", person.id, None, scheduled=decides)
    return [Spent(account, micros) for account, micros in meter.standing(spender, everybody=decides)]


def _initiatives(connection: sa.Connection, person: Person) -> dict[Work, list[Claim]]:
    wanted = Filter(kinds=(Kind.INITIATIVE,), statuses=(Status.ACTIVE, Status.DISPUTED))
    found = reading.find(connection, news.view_of(connection, person), Purpose.PROMPT, wanted, MOST_INITIATIVES)
    by_state: dict[Work, list[Claim]] = {state: [] for state in SHOWN}
    for _, each in sorted(found, key=lambda pair: pair[1].touched_at, reverse=True):
        if each.work in by_state:
            by_state[each.work].append(each)
    return by_state


def _brief(connection: sa.Connection, person: Person, now: datetime) -> Brief | None:
    """The newest that was said and did not fail to arrive."""
    newest: tuple[Job, Occurrence] | None = None
    for job in store.of_owner(connection, person.id, (*LIVE, JobState.DONE), BRIEFS):
        for each in store.history(connection, job.id, 5):
            said = each.outbox is not None and each.delivery is not Delivery.FAILED and each.at > now - LOOK_BACK
            if said and (newest is None or each.at > newest[1].at):
                newest = job.kind, each
    if newest is None or newest[1].outbox is None:
        return None
    ops = outbox.reply_of(connection, newest[1].outbox)
    text = "\n".join(op.plain for op in ops if isinstance(op, Send)).strip()
    return Brief(newest[0], newest[1].at, text) if text else None


def _departments(connection: sa.Connection) -> tuple[str, ...]:
    return tuple(sorted({each for one in people.everyone(connection) if one.active for each in one.departments}))
