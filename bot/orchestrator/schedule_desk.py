"""What one person sees of schedules and does about them by a program: command line, API, console. They see their own
and, as a principal, everybody's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from hashlib import sha256
from typing import Literal

import sqlalchemy as sa

from bot.audit.events import Actor
from bot.audit.recorder import Recorder
from bot.kernel.clock import Clock
from bot.kernel.errors import PermanentError
from bot.kernel.ids import PersonId
from bot.kernel.values import dataclass
from bot.ledger import store as proposals
from bot.ledger.service import Ledger
from bot.orchestrator import month, today
from bot.orchestrator.arranging import Arranging, Prepared
from bot.orchestrator.month import Entry
from bot.orchestrator.own_timers import Timer, own_timers
from bot.orchestrator.today import Today
from bot.people import store as people
from bot.people.model import Person, Role
from bot.scheduler import store, wording
from bot.scheduler.model import Job, JobState, Kind, Occurrence
from bot.scheduler.service import LIVE, Schedules
from bot.storage.database import Database, Tx

HISTORY = 20
READ_WITHIN = timedelta(minutes=30)
"""A sentence that is confirmed later than this is read anew."""
Act = Literal["pause", "resume", "remove", "undo", "run"]
ONLY_OURS = "only people of the company's roster may schedule something"
ONLY_PRINCIPALS = "only a principal can stop or start all schedules"


class NotAllowedHereError(PermanentError):
    """It may be seen, but not be done by this person."""


@dataclass(frozen=True, slots=True)
class Told:
    """A schedule as this person may see it, with its next dates and what it did lately, the newest first."""

    job: Job
    dates: tuple[datetime, ...]
    history: tuple[Occurrence, ...]


@dataclass(frozen=True, slots=True)
class Preview:
    """What a sentence would be stored as."""

    kind: Kind
    about: str
    when: str
    dates: tuple[datetime, ...]
    to: str | None
    """Whose name it is for; None: only for who says it, and then stored without anybody's yes."""
    at: datetime
    """When it was read."""


@dataclass(frozen=True, slots=True)
class Added:
    note: str
    job: Told | None
    """None: it waits for a yes."""
    proposal: str | None


class ScheduleDesk:
    def __init__(
        self, database: Database, recorder: Recorder, clock: Clock, ledger: Ledger | None, ring: Callable[[], None]
    ) -> None:
        """`ledger`: None where nothing is put to anybody. `ring` is called once something has changed."""
        self._database = database
        self._recorder = recorder
        self._clock = clock
        self._schedules = Schedules(recorder)
        self._arranging = Arranging(self._schedules, ledger)
        self._ring = ring

    async def listed(self, person: Person, *, everybody: bool = False) -> list[Told]:
        """Active and paused ones, the next to fire first. `everybody`: those of all people, for principals."""
        owner, now = self._whose(person, everybody), self._clock.now()

        def query(connection: sa.Connection) -> list[Told]:
            jobs = store.of_owner(connection, owner, LIVE)
            return [_told(connection, job, now, 1) for job in jobs if job.owner is not None]

        return await self._database.read(query, long=True)

    async def own(self, person: Person) -> Sequence[Timer]:
        """What the daemon does by itself, for principals; nothing of it can be changed here."""
        return await self._database.read(own_timers) if person.role is Role.PRINCIPAL else ()

    async def page(
        self, person: Person, after: str | None, limit: int, *, everybody: bool = False
    ) -> tuple[list[Told], str | None]:
        """As `listed`, a page of them from behind one on; also the last one's id, if there are more. Raises
        `UnknownScheduleError` for one that is not theirs to see."""
        owner, now = self._whose(person, everybody), self._clock.now()

        def query(connection: sa.Connection) -> tuple[list[Told], str | None]:
            behind = None if after is None else self._schedules.named(connection, person, after)
            jobs = store.upcoming(connection, owner, LIVE, behind, limit + 1)
            told = [_told(connection, job, now, 1) for job in jobs[:limit]]
            return told, jobs[limit - 1].id if len(jobs) > limit else None

        return await self._database.read(query, long=True)

    async def one(self, person: Person, given: str) -> Told:
        now = self._clock.now()
        return await self._database.read(
            lambda c: _told(c, self._schedules.named(c, person, given), now, HISTORY), long=True
        )

    async def history(self, person: Person, given: str, before: datetime | None, limit: int) -> Sequence[Occurrence]:
        """What one did before an instant, the newest first. Raises `UnknownScheduleError`."""
        return await self._database.read(
            lambda c: store.history(c, self._schedules.named(c, person, given).id, limit, before)
        )

    async def days(self, person: Person, since: datetime, until: datetime) -> Mapping[date, Sequence[Entry]]:
        """What theirs did and when they will fire, by day of the person's zone."""
        now = self._clock.now()

        def query(connection: sa.Connection) -> Mapping[date, Sequence[Entry]]:
            return month.days(connection, person, since, until, now)

        return await self._database.read(query, long=True)

    async def preview(self, person: Person, sentence: str) -> Preview:
        """What `add` would make of it. Raises `PermanentError` with words for them."""
        self._of_the_company(person)
        now = self._clock.now()

        def query(connection: sa.Connection) -> Preview:
            prepared = self._arranging.said(connection, sentence, person, now)
            wish = prepared.wish
            to = people.get(connection, wish.to) if wish.to is not None and wish.to != person.id else None
            return Preview(
                wish.kind,
                wish.text or wish.department or "",
                wording.described(wish.rule, wish.zone),
                tuple(wording.dates(wish.rule, wish.zone, now)),
                to.name if to else None,
                now,
            )

        return await self._database.read(query)

    async def add(self, person: Person, sentence: str, said_at: datetime | None = None) -> Added:
        """`said_at`: when the sentence was said, if not now: "in two hours" counts from then, and what was made of it
        already is not made again. Raises `PermanentError` with words for them."""
        self._of_the_company(person)

        def unit(tx: Tx) -> Added:
            now = self._clock.now()
            said = now if said_at is None else said_at
            if not now - READ_WITHIN <= said <= now:
                raise PermanentError("that was said a while ago: look at the dates again")
            prepared = self._arranging.said(tx.connection, sentence, person, said)
            key = None if said_at is None else _key(person.id, sentence, said_at)
            if key is not None and (waits := proposals.by_key(tx.connection, key)) is not None:
                return Added("It waits for a yes.", None, waits.id)
            made = None if said_at is None else _made(tx.connection, prepared, said_at)
            if made is None:
                made = self._arranging.write(tx, prepared, None, Actor("person", person.id), now, key=key)
            told = None if made is None else _told(tx.connection, made, now, 1)
            return Added(prepared.note, told, prepared.proposal)

        added = await self._database.write(unit)
        self._ring()
        return added

    async def act(self, person: Person, given: str, act: Act) -> Told:
        def unit(tx: Tx) -> Told:
            now, actor = self._clock.now(), Actor("person", person.id)
            job = self._schedules.named(tx.connection, person, given)
            acts: Mapping[Act, Callable[[Tx, Job, Actor, datetime], Job]] = {
                "pause": self._schedules.pause,
                "resume": self._schedules.resume,
                "remove": self._schedules.remove,
                "undo": self._schedules.undo,
                "run": self._hurried,
            }
            after = acts[act](tx, job, actor, now)
            return _told(tx.connection, after, now, HISTORY)

        told = await self._database.write(unit)
        self._ring()
        return told

    def _hurried(self, tx: Tx, job: Job, actor: Actor, now: datetime) -> Job:
        if job.state is not JobState.ACTIVE:
            raise PermanentError("it does not run: resume it first")
        return store.hurry(tx, self._recorder, job, actor, now)

    async def stop(self, person: Person, because: str) -> None:
        """No schedule fires but upkeep."""
        self._principal(person)
        now, actor = self._clock.now(), Actor("person", person.id)
        await self._database.write(lambda tx: store.stop_firing(tx, self._recorder, actor, because, now))

    async def start(self, person: Person) -> None:
        self._principal(person)
        actor = Actor("person", person.id)
        await self._database.write(lambda tx: store.let_fire(tx, self._recorder, actor))
        self._ring()

    async def stopped(self) -> tuple[str, str, datetime] | None:
        """By whom, why and since when nothing fires."""
        return await self._database.read(store.stopped)

    async def names(self, ids: Iterable[str | None]) -> Mapping[str, str]:
        """Of whoever owns schedules, gets what they say, or stopped them all."""
        known = [PersonId(each) for each in ids if each is not None]
        found = await self._database.read(lambda c: people.by_ids(c, known))
        return {str(key): each.name for key, each in found.items()}

    async def today(self, person: Person) -> Today:
        return await self._database.read(lambda c: today.today(c, person, self._clock.now()), long=True)

    @staticmethod
    def _whose(person: Person, everybody: bool) -> PersonId | None:
        if everybody and person.role is not Role.PRINCIPAL:
            raise NotAllowedHereError("only a principal sees everybody's schedules")
        return None if everybody else person.id

    @staticmethod
    def _of_the_company(person: Person) -> None:
        """Before a sentence is read: what is said of the names in it is not for guests."""
        if not person.internal:
            raise NotAllowedHereError(ONLY_OURS)

    @staticmethod
    def _principal(person: Person) -> None:
        if person.role is not Role.PRINCIPAL:
            raise NotAllowedHereError(ONLY_PRINCIPALS)


def _key(person: PersonId, sentence: str, said_at: datetime) -> str:
    """Of what is proposed for one saying of a sentence."""
    return sha256(f"schedule {person} {said_at.isoformat()} {sentence}".encode()).hexdigest()


def _made(connection: sa.Connection, of: Prepared, since: datetime) -> Job | None:
    """What the same words made since: a form that is sent twice schedules once."""
    wish = of.wish
    if of.proposal is not None:
        return None
    found = store.of_owner(connection, of.owner.id, (JobState.ACTIVE,), (wish.kind,))
    same = [each for each in found if each.made_at >= since and each.rule == wish.rule]
    return next((each for each in same if each.payload.get("text") == wish.text.strip()), None)


def _told(connection: sa.Connection, job: Job, now: datetime, history: int) -> Told:
    at = wording.dates(job.rule, job.zone, now) if job.state is JobState.ACTIVE else []
    if job.next_at is not None and (not at or job.next_at < at[0]):
        at = [job.next_at, *at[: wording.SHOWN - 1]]
    return Told(job, tuple(at), tuple(store.history(connection, job.id, history)))
