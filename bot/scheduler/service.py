"""What people do with schedules, each within the transaction that it is handed: make, pause, resume, remove, undo.

What reaches only the person who wants it is stored at once; what reaches another is made here only once it was
approved (`proposal`).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import pairwise

import sqlalchemy as sa

from bot.audit.events import Actor
from bot.audit.recorder import Recorder
from bot.kernel.errors import PermanentError
from bot.kernel.ids import JobId, PersonId, ProposalId, SessionId, new_id
from bot.kernel.values import dataclass
from bot.people import store as people
from bot.people.model import Person, Role
from bot.scheduler import store, triggers, wording
from bot.scheduler.model import UNSOLICITED, Every, Job, JobState, Kind, Rule
from bot.sessions.turns import current_epochs
from bot.storage.database import Tx

MOST_JOBS = 50
"""Of one person, active and paused."""
LONGEST_TEXT = 2_000
LONGEST_TITLE = 80
HANDLE = 6
SHORTEST = {Kind.REMINDER: timedelta(minutes=15)}
"""Between two dates of one job; of the other kinds, an hour: they may ask the model."""
GRACE: Mapping[Kind, timedelta] = {
    Kind.REMINDER: timedelta(hours=24),
    Kind.QUESTION: timedelta(hours=6),
    Kind.CHECK_IN: timedelta(hours=12),
    Kind.MORNING_BRIEF: timedelta(hours=4),
    Kind.EVENING_BRIEF: timedelta(hours=4),
    Kind.WEEKLY_REVIEW: timedelta(hours=24),
    Kind.COMMITMENT: timedelta(hours=8),
    Kind.NUDGE: timedelta(hours=4),
    Kind.UPKEEP: timedelta(days=2),
}
"""Missed by more than this while nothing ran, it is skipped."""
LIVE = (JobState.ACTIVE, JobState.PAUSED)


class UnknownScheduleError(PermanentError):
    """There is none, or none of theirs."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a person wants to have scheduled."""

    kind: Kind
    text: str
    """What is said, or asked; empty for kinds that find their own words."""
    rule: Rule
    zone: str
    to: PersonId | None = None
    """Whom it goes to; None: its owner."""
    department: str | None = None
    """Of a check-in."""


def handle(job: Job) -> str:
    """How people name it."""
    return job.id[-HANDLE:]


def reaches_only_owner(wish: Wish, owner: PersonId) -> bool:
    return wish.to is None or wish.to == owner


def checked(connection: sa.Connection, wish: Wish, owner: Person, now: datetime) -> Wish:
    """The wish, if it can be scheduled. Raises `PermanentError` with words for whoever asked."""
    if wish.kind is Kind.UPKEEP:
        raise PermanentError("upkeep belongs to the daemon")
    if not owner.active or not owner.internal or not owner.named:
        raise PermanentError("only people of the company's roster may schedule something")
    triggers.checked(wish.rule, wish.zone)
    at = wording.dates(wish.rule, wish.zone, now, 10)
    if not at:
        raise PermanentError("that time is past")
    shortest = SHORTEST.get(wish.kind, timedelta(hours=1))
    if any(after - before < shortest for before, after in pairwise(at)):
        raise PermanentError(f"that is too often: {_span(shortest)} at least lies between two times")
    if isinstance(wish.rule, Every) and wish.rule.interval < shortest:
        raise PermanentError(f"that is too often: {_span(shortest)} at least lies between two times")
    if len(wish.text) > LONGEST_TEXT:
        raise PermanentError(f"the text is too long: at most {LONGEST_TEXT} characters")
    if not wish.text.strip() and wish.kind in (Kind.REMINDER, Kind.QUESTION):
        raise PermanentError("it has no text")
    _check_kind(connection, wish, owner)
    if len(store.of_owner(connection, owner.id, LIVE)) >= MOST_JOBS:
        raise PermanentError(f"you have {MOST_JOBS} schedules already: remove one first")
    return wish


def _check_kind(connection: sa.Connection, wish: Wish, owner: Person) -> None:
    if wish.kind is Kind.CHECK_IN:
        if not wish.department:
            raise PermanentError("name the department that it is about")
        if owner.role is not Role.PRINCIPAL and wish.department not in owner.departments:
            raise PermanentError(f"a check-in on {wish.department} is for its own people and for principals")
    if reaches_only_owner(wish, owner.id):
        return
    if wish.kind is not Kind.REMINDER:
        raise PermanentError("only a fixed text can be scheduled for somebody else")
    recipient = people.get(connection, wish.to) if wish.to is not None else None
    if recipient is None or not recipient.active:
        raise PermanentError("whom it is for is not on the roster")


def _span(of: timedelta) -> str:
    return "an hour" if of == timedelta(hours=1) else f"{of // timedelta(minutes=1)} minutes"


class Schedules:
    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def make(
        self,
        tx: Tx,
        wish: Wish,
        owner: Person,
        session: SessionId | None,
        actor: Actor,
        now: datetime,
        proposal: ProposalId | None = None,
        job_id: JobId | None = None,
    ) -> Job:
        """Store it; `job_id` was chosen beforehand, so that it can be named. A kind that comes unasked is there once a
        person (a check-in, once a department): chosen again, it moves. Raises `PermanentError`; also for what reaches
        another without a proposal that was approved."""
        if not reaches_only_owner(wish, owner.id) and proposal is None:
            raise PermanentError("what reaches somebody else needs a yes first")
        wish = checked(tx.connection, wish, owner, now)
        known = self.chosen_before(tx.connection, wish, owner)
        if known is not None:
            return store.change(tx, self._recorder, known, "edited", actor, now, rule=wish.rule)
        epoch = current_epochs(tx.connection, session)[1] if session is not None else None
        payload: dict[str, object] = {"text": wish.text.strip()}
        payload |= {"for": wish.to} if wish.to is not None and wish.to != owner.id else {}
        payload |= {"department": wish.department} if wish.department else {}
        payload |= {"epoch": epoch} if epoch is not None else {}
        new = Job(
            job_id or JobId(new_id(now)),
            wish.kind,
            _title(wish),
            wish.rule,
            wish.zone,
            owner.id,
            session,
            payload,
            GRACE[wish.kind],
            JobState.ACTIVE,
            triggers.next_after(wish.rule, wish.zone, now),
            0,
            now,
            None,
            1,
        )
        store.add(tx, self._recorder, new, actor, proposal)
        return new

    @staticmethod
    def chosen_before(connection: sa.Connection, wish: Wish, owner: Person) -> Job | None:
        """The job of this kind that the person has already, of those that there is one of each."""
        if wish.kind not in UNSOLICITED:
            return None
        for job in store.of_owner(connection, owner.id, (JobState.ACTIVE,)):
            if job.kind is wish.kind and job.zone == wish.zone and job.payload.get("department") == wish.department:
                return job
        return None

    # --- looking and changing ---------------------------------------------------------------------------------------

    @staticmethod
    def named(connection: sa.Connection, person: Person, given: str) -> Job:
        """The one job of the person that has this handle or id; a principal names everybody's. Raises
        `UnknownScheduleError`."""
        given = given.strip("`()[]., ").lower()
        everyone = person.role is Role.PRINCIPAL and person.active
        jobs = store.of_owner(connection, None if everyone else person.id, (*LIVE, JobState.REMOVED))
        mine = [job for job in jobs if given and job.id.endswith(given) and len(given) >= 4]
        mine = [job for job in mine if job.owner is not None]
        if len(mine) != 1:
            raise UnknownScheduleError(
                f"no schedule of yours is called `{given}`: `/schedule` lists them" if given else "say which one"
            )
        return mine[0]

    def pause(self, tx: Tx, job: Job, actor: Actor, now: datetime, because: str | None = None) -> Job:
        self._expect(job, JobState.ACTIVE, "it does not run")
        return store.change(tx, self._recorder, job, "paused", actor, now, because=because or "its owner paused it")

    def resume(self, tx: Tx, job: Job, actor: Actor, now: datetime) -> Job:
        self._expect(job, JobState.PAUSED, "it is not paused")
        return store.change(tx, self._recorder, job, "resumed", actor, now)

    def remove(self, tx: Tx, job: Job, actor: Actor, now: datetime) -> Job:
        if job.state is JobState.REMOVED:
            raise PermanentError("it is removed already")
        return store.change(tx, self._recorder, job, "removed", actor, now)

    def undo(self, tx: Tx, job: Job, actor: Actor, now: datetime) -> Job:
        """Take back the last thing that its owner did: what was removed runs again, what was made goes."""
        if job.state is JobState.REMOVED:
            return store.change(tx, self._recorder, job, "resumed", actor, now)
        return self.remove(tx, job, actor, now)

    def of_nobody_any_more(self, tx: Tx, owner: PersonId, actor: Actor, now: datetime) -> int:
        """Its owner was deactivated: nothing of theirs fires again by itself. Returns how many jobs that were."""
        jobs = store.of_owner(tx.connection, owner, (JobState.ACTIVE,))
        for job in jobs:
            store.change(tx, self._recorder, job, "paused", actor, now, because="its owner is not active any more")
        return len(jobs)

    def hand_over(self, tx: Tx, job: Job, to: Person, actor: Actor, now: datetime) -> Job:
        """To somebody else, to whom it speaks alone. It rests until they say that they want it. Raises
        `PermanentError` for what one chooses for oneself, and where they have too many."""
        if job.kind in UNSOLICITED or job.kind is Kind.UPKEEP:
            raise PermanentError("what comes unasked everybody chooses for themselves")
        if len(store.of_owner(tx.connection, to.id, LIVE)) >= MOST_JOBS:
            raise PermanentError(f"{to.name} has {MOST_JOBS} schedules already")
        because = "it was handed over: resume it if you want it"
        return store.change(tx, self._recorder, job, "handed_over", actor, now, because=because, owner=to.id)

    @staticmethod
    def _expect(job: Job, state: JobState, refusal: str) -> None:
        if job.state is not state:
            raise PermanentError(refusal)


def _title(wish: Wish) -> str:
    words = " ".join(wish.text.split()) or (wish.department or "")
    return words if len(words) <= LONGEST_TITLE else f"{words[: LONGEST_TITLE - 1]}…"
