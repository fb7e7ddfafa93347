"""Where a schedule speaks, and how what it says is queued with the end of its occurrence."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

import sqlalchemy as sa

from bot.audit.events import Actor
from bot.gateway.channel import Channel
from bot.gateway.events import PlaceKind, ReplyPath
from bot.gateway.operations import OutboundOp, Reply
from bot.intake.tables import inbox
from bot.kernel.clock import Clock
from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.ids import PersonId
from bot.kernel.values import dataclass
from bot.ledger.rules import outside_quiet_hours
from bot.llm.budget import local_day, midnight
from bot.orchestrator.cleaning import cleaned
from bot.outbox.service import Outbox, Queued
from bot.outbox.store import Origin
from bot.people import store as people
from bot.people.model import Person
from bot.scheduler import store
from bot.scheduler.model import MOST_UNSOLICITED, UNSOLICITED, Delivery, Job, Kind, Run
from bot.scheduler.service import Schedules, handle
from bot.scheduler.store import Claimed, Outcome
from bot.scheduler.worker import Fired
from bot.sessions import places, spoken, taint, threads
from bot.storage.database import Database, Tx

log = logging.getLogger(__name__)

ACTOR = Actor("system", "scheduler")
NOBODY = "its owner is not active any more"
ENOUGH = "enough was said unasked today"
QUIET = "quiet hours"


@dataclass(frozen=True, slots=True)
class Spot:
    """Where something is said: an account alone, or the conversation in which it was asked for."""

    channel: str
    path: ReplyPath
    origin: Origin
    alone: bool


@dataclass(slots=True)
class Message:
    """What is said by one occurrence."""

    spot: Spot
    text: str
    """Markdown."""
    ops: Sequence[OutboundOp]
    queued: list[Queued] = field(default_factory=list)


class Speaker:
    def __init__(
        self,
        database: Database,
        clock: Clock,
        outbox: Outbox,
        channels: Mapping[str, Channel],
        schedules: Schedules,
        zone: str,
    ) -> None:
        """`zone`: the company's."""
        self.database = database
        self.clock = clock
        self._outbox = outbox
        self._channels = channels
        self._schedules = schedules
        self._zone = zone

    async def owner(self, job: Job) -> Person | None:
        """None if they are not of the company any more."""
        if job.owner is None:
            return None
        owner = job.owner
        found = await self.database.read(lambda c: people.get(c, owner))
        return found if found is not None and found.internal else None

    def nobody(self, job: Job) -> Fired:
        """Nothing is said for whoever is gone, and nothing of theirs fires again."""

        def apply(tx: Tx) -> Outcome:
            if job.owner is not None:
                self._schedules.of_nobody_any_more(tx, job.owner, ACTOR, self.clock.now())
            return Outcome(Run.NOTHING, note=NOBODY)

        return Fired(apply)

    async def alone(self, person: Person, subject: str = "") -> Spot:
        """Where they wrote last, else the first of their accounts on which something can be said to them. Raises
        `PermanentError` if there is none, `TransientError` if there may be one later."""
        later: TransientError | None = None
        last = await self.database.read(lambda c: _wrote_last(c, person))
        for each in sorted(person.handles, key=lambda one: (one.channel != last, one.channel, one.address)):
            channel = self._channels.get(each.channel)
            if channel is None:
                continue
            try:
                path = await channel.direct(each.address)
            except TransientError as error:
                later = error
                continue
            except PermanentError as error:
                log.info("%s cannot be reached on %s: %s", person.id, each.channel, error.message)
                continue
            if path.subject is not None and subject:
                path = replace(path, subject=subject)
            return Spot(each.channel, path, Origin(None, None, None), alone=True)
        if later is not None:
            raise later
        raise PermanentError(f"{person.name} cannot be reached alone on any channel")

    async def there(self, job: Job, person: Person, subject: str = "") -> Spot:
        """Where the person asked for it, if they are still there and nobody more reads along; else they alone."""
        found = await self.database.read(lambda c: self._where_asked(c, job, person))
        if found is None:
            return await self.alone(person, subject)
        channel, path, origin, direct = found
        return Spot(channel, path, origin, alone=direct)

    def _where_asked(
        self, connection: sa.Connection, job: Job, person: Person
    ) -> tuple[str, ReplyPath, Origin, bool] | None:
        session = threads.get(connection, job.session) if job.session is not None else None
        if session is None or session.channel not in self._channels:
            return None
        place = places.get(connection, session.place)
        key = threads.key_of(connection, session.id)
        address = next((each.address for each in person.handles if each.channel == session.channel), None)
        if place is None or not place.open or place.kind is PlaceKind.MAIL or key is None or address is None:
            return None
        direct = place.kind is PlaceKind.DIRECT
        if not direct and job.payload.get("epoch") != session.audience_epoch:
            return None
        origin = Origin(session.id, None, session.audience_epoch)
        return session.channel, ReplyPath(thread=key, address=address), origin, direct

    async def say(self, spot: Spot, text: str) -> Message:
        """Plan what is said; addresses in it are made inert."""
        markdown = await cleaned(text, frozenset())
        return Message(spot, markdown, await self._outbox.plan(spot.channel, Reply(spot.path, markdown)))

    def fired(self, claimed: Claimed, message: Message, note: str | None = None, *, untrusted: bool = False) -> Fired:
        """The message leaves with the end of its occurrence, and stands in the conversation from then on. `untrusted`:
        what others wrote stands in it."""

        def apply(tx: Tx) -> Outcome:
            owner = claimed.job.owner
            if claimed.job.kind in UNSOLICITED and owner is not None and self._enough(tx, owner):
                return Outcome(Run.NOTHING, note=ENOUGH)
            spot = message.spot
            queued = self._outbox.queue_operations(tx, spot.channel, message.ops, spot.origin)
            message.queued[:] = [queued]
            session = spot.origin.session or spoken.alone_in(tx.connection, spot.path.thread)
            if session is not None:
                others = untrusted or _tainted(tx.connection, claimed.job)
                spoken.say(tx, session, message.text, self.clock.now(), untrusted=others)
            return Outcome(Run.DONE, Delivery.QUEUED, note, queued.ids[0])

        return Fired(apply, lambda: self._outbox.sending(message.queued))

    def _enough(self, tx: Tx, owner: PersonId) -> bool:
        person = people.get(tx.connection, owner)
        zone = person.time_zone if person is not None else self._zone
        since = midnight(local_day(self.clock.now(), zone), zone)
        return store.unsolicited_since(tx.connection, owner, since) >= MOST_UNSOLICITED

    def quiet(self, person: Person) -> bool:
        """Whether what may wait is not said to them now."""
        now = self.clock.now()
        return outside_quiet_hours(now, person) > now


def _wrote_last(connection: sa.Connection, person: Person) -> str | None:
    """The channel: some platforms let nothing be said to whoever never wrote there."""
    found: str | None = connection.execute(
        sa.select(inbox.c.channel).where(inbox.c.person_id == person.id).order_by(inbox.c.seq.desc()).limit(1)
    ).scalar()
    return found


def _tainted(connection: sa.Connection, job: Job) -> bool:
    """Whether the conversation in which it was asked for had read what others wrote, as it was then."""
    epoch = job.payload.get("epoch")
    if job.session is None or not isinstance(epoch, int):
        return False
    return taint.tainted_since(connection, job.session, epoch) is not None


def nothing(note: str) -> Fired:
    return Fired(lambda tx: Outcome(Run.NOTHING, note=note))


def switch(job: Job) -> str:
    """How it is switched off."""
    words = "stops this" if job.kind is not Kind.REMINDER else "stops it"
    return f"*`/schedule remove {handle(job)}` {words}.*"
