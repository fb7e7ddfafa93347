"""Somebody leaves: what ends at once, what another takes over, and what would be in either, for who decides it.

From the commit on nothing of theirs is let in: their browsers are signed out, their tokens, links and codes hold no
more, what they had scheduled rests, what waits to be sent to them is not sent, their yes to what is still open counts
no more (the ledger looks at who is there), and every room that they read in is judged anew.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from bot.audit.events import Actor
from bot.kernel.errors import PermanentError
from bot.kernel.ids import ClaimId, JobId, PersonId
from bot.kernel.scope import PersonScope
from bot.kernel.values import dataclass
from bot.ledger import store as ledger
from bot.memory import reading
from bot.memory.model import STANDING, Claim, Kind, Status, Work
from bot.memory.reading import Filter, Purpose
from bot.memory.service import Acting, Memories
from bot.orchestrator.roster import Roster, UnknownPersonError, active, not_the_last
from bot.outbox import held as outbox
from bot.people import browsers, pairing, store, tokens
from bot.people.model import Origin, Person
from bot.scheduler import store as jobs
from bot.scheduler import wording
from bot.scheduler.model import UNSOLICITED, Job, JobState
from bot.scheduler.service import LIVE, Schedules, handle
from bot.sessions.visible import visible
from bot.storage.database import Tx
from bot.tasks import store as tasks

GONE = "recipient_deactivated"
"""Reason of what waited to be sent to somebody who has left."""
HANDED = "people.handed"
MOST = 200
"""Initiatives that are handed over at once."""
OVER = (Work.COMPLETED, Work.DROPPED)


@dataclass(frozen=True, slots=True)
class Leaving:
    """What somebody's leaving ends, and what could be handed over."""

    person: Person
    browsers: int
    tokens: int
    votes: int
    """Proposals that wait for a yes of theirs among others."""
    queued: int
    """Messages that wait to be sent to them."""
    schedules: tuple[Job, ...]
    """That another can take over."""
    personal: int
    """Schedules that everybody chooses for themselves: they rest."""
    initiatives: tuple[Claim, ...]
    """Theirs, as far as whoever looks may see them."""


@dataclass(frozen=True, slots=True)
class HandedOver:
    to: Person
    initiatives: tuple[Claim, ...]
    schedules: tuple[Job, ...]
    hidden: int
    """Initiatives that stay as they are: the new owner was not there when they were told, and would not see them."""


class Departures:
    def __init__(self, roster: Roster, ring: Callable[[], None]) -> None:
        """`ring` wakes whoever runs tasks: who takes over hears of it."""
        self._roster = roster
        self._ring = ring
        self._schedules = Schedules(roster.recorder)
        self._memories = Memories(roster.recorder)

    async def preview(self, person: PersonId, by: Acting) -> Leaving:
        """Raises `UnknownPersonError`."""
        return await self._roster.database.read(lambda c: _leaving(c, person, by, self._roster.clock.now()), long=True)

    async def leave(self, person: PersonId, actor: Actor) -> Person:
        """In one transaction. Raises `UnknownPersonError`, `PermanentError` with words."""
        recorder = self._roster.recorder

        def unit(tx: Tx) -> Person:
            known, now = active(tx, person), self._roster.clock.now()
            if known.origin is Origin.SETTINGS:
                raise PermanentError(
                    f"{known.name} stands in the settings ([people.{known.id}]): take the entry out and restart"
                )
            not_the_last(tx, known)
            store.deactivate(tx, recorder, person, actor, now)
            browsers.end(tx, recorder, person, None, actor, now)
            browsers.drop_links(tx, person)
            tokens.revoke_all(tx, recorder, person, actor, now)
            pairing.refuse_all(tx, recorder, person, actor)
            self._schedules.of_nobody_any_more(tx, person, actor, now)
            for each in sorted(known.handles, key=lambda one: (one.channel, one.address)):
                outbox.withdraw(tx, recorder, each.channel, each.address, GONE, actor, now)
            return known

        return await self._roster.changed(unit, actor)

    async def hand_over(
        self,
        person: PersonId,
        to: PersonId,
        by: Acting,
        *,
        initiatives: Collection[ClaimId] | None = None,
        schedules: Collection[JobId] | None = None,
    ) -> HandedOver:
        """Open initiatives and schedules of somebody get a new owner, in one transaction; those that were chosen, or
        (None) all. Only what whoever decides sees, and the new owner may see too, changes hands. A schedule rests until
        its new owner resumes it. Raises `UnknownPersonError`, `PermanentError`."""

        def unit(tx: Tx) -> HandedOver:
            now = self._roster.clock.now()
            new, known = active(tx, to), store.get(tx.connection, person)
            if known is None or known.id == new.id or not new.internal or not new.named:
                raise UnknownPersonError("what somebody leaves can be taken over by somebody else of the company")
            found = _leaving(tx.connection, person, by, now)
            wanted = [each for each in found.initiatives if initiatives is None or each.id in initiatives]
            view = visible(tx.connection, PersonScope(new.id))
            seen = reading.by_ids(tx.connection, view, Purpose.REVIEW, [each.id for each in wanted])
            reason = f"handed over from {known.name}"
            taken = [
                self._memories.plan(tx, by, each.id, {"owner": new.id}, reason, now).claim
                for each in wanted
                if each.id in seen
            ]
            moved = [
                self._schedules.hand_over(tx, each, new, by.actor, now)
                for each in found.schedules
                if schedules is None or each.id in schedules
            ]
            if taken or moved:
                ids = {"initiatives": [each.id for each in taken], "schedules": [each.id for each in moved]}
                payload = {"to": new.id, "of": known.name, "by": by.actor.id, **ids}
                tasks.enqueue(tx, HANDED, f"{person}:{now.isoformat()}", payload, now, lane=HANDED)
            return HandedOver(new, tuple(taken), tuple(moved), len(wanted) - len(taken))

        handed = await self._roster.database.write(unit)
        self._ring()
        return handed


def told(connection: sa.Connection, payload: Mapping[str, Any]) -> str | None:
    """What who takes over is told; None if nothing of it is theirs any more."""
    to = PersonId(payload["to"])
    by = store.get(connection, PersonId(payload["by"]))
    claims = [ClaimId(each) for each in payload["initiatives"]]
    seen = reading.by_ids(connection, visible(connection, PersonScope(to)), Purpose.REVIEW, claims)
    moved = [jobs.get(connection, JobId(each)) for each in payload["schedules"]]
    lines = [f"- {each.statement}" for each in seen.values() if each.owner == to]
    lines += [
        f"- {each.title} ({wording.described(each.rule, each.zone)}): it rests until you say `/schedule resume "
        f"{handle(each)}`"
        for each in moved
        if each is not None and each.owner == to
    ]
    if not lines:
        return None
    who = by.name if by is not None else "The operator"
    return "\n".join([f"{who} handed over to you what was {payload['of']}'s:", "", *lines])


def _leaving(connection: sa.Connection, person: PersonId, by: Acting, now: datetime) -> Leaving:
    known = store.get(connection, person)
    if known is None:
        raise UnknownPersonError(f"there is nobody called {person}")
    theirs = jobs.of_owner(connection, person, LIVE)
    handed = tuple(each for each in theirs if each.kind not in UNSOLICITED)
    running = [each for each in theirs if each.kind in UNSOLICITED and each.state is JobState.ACTIVE]
    return Leaving(
        known,
        len(browsers.listed(connection, person, now)),
        tokens.holding(connection, person, now),
        len(ledger.open_for(connection, person)),
        sum(outbox.waiting_for(connection, each.channel, each.address) for each in known.handles),
        handed,
        len(running),
        tuple(_initiatives(connection, person, by)),
    )


def _initiatives(connection: sa.Connection, person: PersonId, by: Acting) -> Sequence[Claim]:
    statuses = [Status(each) for each in STANDING]
    wanted = Filter(kinds=[Kind.INITIATIVE], statuses=statuses, owner=person)
    found = reading.find(connection, visible(connection, by.scope), Purpose.REVIEW, wanted, MOST)
    return [each for _, each in found if each.work not in OVER]
