"""Which approver is owed what: a proposal that they have not been shown as it is now, a reminder before it expires, and
once more what they were shown before a stretch in which their press cannot have come in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import sqlalchemy as sa

from bot.kernel.ids import PersonId, ProposalId
from bot.kernel.values import dataclass
from bot.ledger import asks, rules, store
from bot.ledger.model import Proposal
from bot.ledger.rules import Rules
from bot.orchestrator import gaps
from bot.orchestrator.gaps import Gap
from bot.people import store as people
from bot.people.model import Person

MOST = 200


@dataclass(frozen=True, slots=True)
class Due:
    """One proposal, as it is now, for one approver."""

    proposal: Proposal
    person: Person
    reminder: bool
    lost: frozenset[str] = frozenset()
    """Channels on which it could not be brought to them."""


@dataclass(frozen=True, slots=True)
class Again:
    """What one person was asked on a channel before the end of a stretch in which it received nothing."""

    person: Person
    gap: Gap
    proposals: tuple[Proposal, ...]


@dataclass(frozen=True, slots=True)
class Owed:
    due: Sequence[Due]
    again: Sequence[Again]
    next_at: datetime | None
    """When the next one will be."""


def owed(connection: sa.Connection, own: Rules, now: datetime, over: Mapping[str, Gap]) -> Owed:
    """`over`: the last stretch of silence of each channel."""
    waiting = [each for each in store.waiting(connection, MOST) if each.expires_at > now]
    everyone = {each.id: each for each in people.everyone(connection)} if waiting else {}
    owing = _Owing(connection, now, over)
    ids = [each.id for each in waiting]
    asked, gone = asks.of_proposals(connection, ids), asks.lost(connection, ids) if ids else frozenset()
    shown = {(each.proposal, each.person, each.hash, each.reminder) for each in asked if each.outbox not in gone}
    lost: dict[tuple[ProposalId, PersonId], set[str]] = {}
    for each in asked:
        if each.outbox in gone:
            lost.setdefault((each.proposal, each.person), set()).add(each.channel)
    for of in waiting:
        remind_at = rules.reminder_at(own, of.made_at, of.expires_at)
        for person_id in of.approvers:
            person = everyone.get(person_id)
            if person is None or not person.internal or has_voted(of, person_id):
                continue
            known = (of.id, person_id, of.hash)
            reminder = (*known, False) in shown or (*known, True) in shown
            at = now if not reminder else remind_at
            if at is None or (*known, True) in shown:
                continue
            tried = frozenset(lost.get((of.id, person_id), ()))
            owing.show(Due(of, person, reminder, tried), max(at, now))
    if over:
        owing.look_back(waiting, everyone)
    return owing.found()


class _Owing:
    def __init__(self, connection: sa.Connection, now: datetime, over: Mapping[str, Gap]) -> None:
        self._connection = connection
        self._now = now
        self._over = over
        self._due: list[Due] = []
        self._again: list[Again] = []
        self._later: list[datetime] = []

    def found(self) -> Owed:
        return Owed(self._due, self._again, min(self._later, default=None))

    def show(self, due: Due, at: datetime) -> None:
        """Quiet hours do not hold for what somebody asked for themselves."""
        if due.person.id != due.proposal.asked_by or due.reminder:
            at = rules.outside_quiet_hours(at, due.person)
        if at <= self._now:
            self._due.append(due)
        else:
            self._later.append(at)

    def look_back(self, waiting: Sequence[Proposal], everyone: Mapping[PersonId, Person]) -> None:
        """What was on somebody's screen before a stretch ended, and was not brought to mind since."""
        newest: dict[tuple[ProposalId, PersonId], tuple[asks.Ask, datetime]] = {
            (each.proposal, each.person): (each, at)
            for each, at in asks.arrived(self._connection, [each.id for each in waiting])
        }
        now_due = {(each.proposal.id, each.person.id) for each in self._due}
        found: dict[tuple[PersonId, str], list[Proposal]] = {}
        for of in waiting:
            for person in of.approvers:
                ask, at = newest.get((of.id, person), (None, None))
                if ask is None or at is None or ask.hash != of.hash or (of.id, person) in now_due:
                    continue
                gap = self._over.get(ask.channel)
                if gap is None or at >= gap.ended_at or has_voted(of, person) or person not in everyone:
                    continue
                found.setdefault((person, ask.channel), []).append(of)
        for (person_id, channel), proposals in found.items():
            self._once(everyone[person_id], self._over[channel], tuple(proposals))

    def _once(self, person: Person, gap: Gap, proposals: tuple[Proposal, ...]) -> None:
        if not person.internal or gaps.asked_since(self._connection, gap, person.id):
            return
        at = rules.outside_quiet_hours(max(self._now, gap.ended_at + gaps.SETTLE), person)
        if at <= self._now:
            self._again.append(Again(person, gap, proposals))
        else:
            self._later.append(at)


def has_voted(of: Proposal, person: PersonId) -> bool:
    return any(each.person == person and each.digest == of.hash for each in of.votes)
