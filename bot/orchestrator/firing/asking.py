"""What asks people: how the initiatives of a department stand, what they promised, what waits for them."""

from __future__ import annotations

import hashlib
from datetime import timedelta

import sqlalchemy as sa

from bot.gateway.text_write import literal
from bot.kernel.scope import DepartmentScope
from bot.llm.budget import local_day
from bot.memory.recall import names_of
from bot.memory.tables import commitment
from bot.orchestrator.firing import news
from bot.orchestrator.firing.speaking import QUIET, Speaker, nothing, switch
from bot.orchestrator.telling import Words
from bot.people.model import Person, Role
from bot.scheduler import store
from bot.scheduler.model import Job, Run
from bot.scheduler.store import Claimed, Outcome
from bot.scheduler.worker import Fired
from bot.sessions.visible import visible
from bot.storage.database import Tx

ASK_AGAIN = timedelta(days=3)
"""A commitment is not asked about again before."""
AHEAD = timedelta(days=2)
COOL_DOWN = timedelta(days=2)
"""The same things that wait are not named again before."""
LOOK_BACK = 20
"""Occurrences of a nudge that are looked at for what it said last."""


class CheckIns:
    """How things stand in one department: of its company-wide initiatives, and of no other's."""

    def __init__(self, speaker: Speaker) -> None:
        self._speaker = speaker

    async def handle(self, claimed: Claimed) -> Fired:
        job = claimed.job
        owner = await self._speaker.owner(job)
        department = str(job.payload.get("department") or "")
        if owner is None:
            return self._speaker.nobody(job)
        if owner.role is not Role.PRINCIPAL and department not in owner.departments:
            return nothing(f"its owner is not of {department} any more")
        if self._speaker.quiet(owner):
            return nothing(QUIET)
        lines, others = await self._speaker.database.read(lambda c: _standing(c, department, owner), long=True)
        if not lines:
            return nothing("no initiative of the department is open")
        text = "\n".join(news.section(f"How does this stand in {department}?", lines))
        said = f"{text}\nA line on what moved, or is stuck, is enough.\n\n{switch(job)}"
        spot = await self._speaker.alone(owner, f"Check-in: {department}")
        return self._speaker.fired(claimed, await self._speaker.say(spot, said), untrusted=others)


def _standing(connection: sa.Connection, department: str, owner: Person) -> tuple[list[str], bool]:
    """As lines, and whether what others wrote may stand in them."""
    view = visible(connection, DepartmentScope(department))
    found = news.open_initiatives(connection, view, department)
    words = Words(names_of(connection, found), owner.time_zone)
    return [words.line(each) for each in found], news.doubtful(found)


class FollowUps:
    """What a person promised and is due soon, or overdue."""

    def __init__(self, speaker: Speaker) -> None:
        self._speaker = speaker

    async def handle(self, claimed: Claimed) -> Fired:
        job = claimed.job
        owner = await self._speaker.owner(job)
        if owner is None:
            return self._speaker.nobody(job)
        if self._speaker.quiet(owner):
            return nothing(QUIET)
        now = self._speaker.clock.now()
        today = local_day(now, owner.time_zone)

        def query(connection: sa.Connection) -> list[news.Promise]:
            view = news.view_of(connection, owner)
            due = news.promises(connection, view, owner.id, today + AHEAD)
            return [each for each in due if each.asked_at is None or each.asked_at <= now - ASK_AGAIN]

        due = await self._speaker.database.read(query, long=True)
        if not due:
            return nothing("nothing is due")
        shown = due[: news.MOST_LINES]
        words = Words({}, owner.time_zone)
        lines = [news.promise_line(words, each, today) for each in shown]
        text = "\n".join(news.section("You said that you would", lines))
        said = f"{text}\nHow does it stand?\n\n{switch(job)}"
        spot = await self._speaker.alone(owner, "What you promised")
        untrusted = news.doubtful(each.claim for each in shown)
        fired = self._speaker.fired(claimed, await self._speaker.say(spot, said), untrusted=untrusted)

        def apply(tx: Tx) -> Outcome:
            outcome = fired.apply(tx)
            if outcome.run is Run.DONE:
                asked = commitment.c.claim_id.in_([each.claim.id for each in shown])
                tx.execute(commitment.update().where(asked).values(asked_at=now))
            return outcome

        return Fired(apply, fired.after)


class Nudges:
    """What waits for a person's word, unless the same was named lately."""

    def __init__(self, speaker: Speaker) -> None:
        self._speaker = speaker

    async def handle(self, claimed: Claimed) -> Fired:
        job = claimed.job
        owner = await self._speaker.owner(job)
        if owner is None:
            return self._speaker.nobody(job)
        if self._speaker.quiet(owner):
            return nothing(QUIET)
        found = await self._speaker.database.read(lambda c: news.waits_for(c, owner), long=True)
        if not found:
            return nothing("nothing waits")
        mark = hashlib.sha256("\n".join(sorted(each.id for each in found)).encode()).hexdigest()[:16]
        if await self._speaker.database.read(lambda c: self._said_lately(c, job, mark)):
            return nothing("the same was named lately")
        text = "\n".join(news.section("Waits for you", [each.line for each in found], literal("/today")))
        spot = await self._speaker.alone(owner, "What waits for you")
        return self._speaker.fired(
            claimed, await self._speaker.say(spot, f"{text}\n{switch(job)}"), mark,
            untrusted=any(each.others for each in found),
        )  # fmt: skip

    def _said_lately(self, connection: sa.Connection, job: Job, mark: str) -> bool:
        since = self._speaker.clock.now() - COOL_DOWN
        return any(
            each.run is Run.DONE and each.started_at > since and (each.note or "").startswith(mark)
            for each in store.history(connection, job.id, LOOK_BACK)
        )
