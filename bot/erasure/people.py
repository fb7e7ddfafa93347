"""Erasing what is held of somebody who has left: their own conversations, what they wrote among others, what is
remembered of it, what waits to be said to them, and by which accounts they were known.

What the company may see was put there by a yes: it stays, without the words that it rested on, unless it is to go too.
Who they are stays as an id, so that the audit and what others did go on meaning something. The work is a durable task,
which can begin again at any point; its end has the receipt of every erasure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import groupby

import sqlalchemy as sa

from bot.audit.events import Actor, PersonErased, Record
from bot.audit.recorder import Recorder
from bot.erasure.memories import Forgetting
from bot.erasure.service import FINISH, LANE, Erasure
from bot.gateway.events import PlaceKind
from bot.kernel.clock import Clock
from bot.kernel.erasing import FORGOTTEN, Erased
from bot.kernel.errors import PermanentError
from bot.kernel.ids import ClaimId, DocumentId, MessageId, PersonId, SessionId
from bot.kernel.values import dataclass
from bot.knowledge.model import Status as DocumentStatus
from bot.knowledge.tables import document
from bot.memory import erasing as of_memory
from bot.memory.model import Status, Visibility
from bot.memory.tables import claim
from bot.people import store as people
from bot.people.model import Person
from bot.sessions.tables import message, participant, place, presence, session
from bot.storage.database import Database, Tx
from bot.tasks import store as tasks
from bot.tasks.store import Task
from bot.tasks.worker import Done, Handler

KIND = "erasure.person"
WHY = "person"
REASON = "somebody who has left had their data erased"
ACTOR = Actor("system", "erasure")
AT_ONCE = 20
"""Memories, or messages of one conversation, in a transaction."""


Rid = Callable[[Tx, Person, datetime], Erased]
"""Deletes what a room holds of a person, in the transaction that it is handed."""


@dataclass(frozen=True, slots=True)
class Held:
    """How many of what would be erased; `company` memories only where they are to go too."""

    conversations: int
    messages: int
    memories: int
    company: int
    documents: int
    accounts: int


@dataclass(frozen=True, slots=True)
class PersonErasure:
    database: Database
    recorder: Recorder
    clock: Clock
    erasure: Erasure
    forgetting: Forgetting
    rooms: Sequence[Rid]
    """What other rooms hold of a person besides, the roster last."""
    ring: Callable[[], None]
    """Wakes whoever runs tasks."""

    def preview(self, connection: sa.Connection, person: PersonId) -> Held:
        """Raises `PermanentError` for nobody known."""
        known = _known(connection, person)
        own = _conversations(connection, known)
        elsewhere = sa.select(sa.func.count()).where(*_wrote(person), message.c.session_id.not_in(own))
        return Held(
            len(own),
            int(connection.execute(elsewhere).scalar_one()),
            len(_claims(connection, person, Visibility.SESSION)),
            len(_claims(connection, person, Visibility.COMPANY)),
            len(_documents(connection, person)),
            len(known.handles),
        )

    async def begin(self, person: PersonId, actor: Actor, *, company_too: bool) -> Held:
        """Only of somebody who has left. Raises `PermanentError`."""

        def unit(tx: Tx) -> Held:
            known = _known(tx.connection, person)
            if known.active:
                raise PermanentError(f"{known.name} has not left: that comes first")
            now = self.clock.now()
            payload = {"person": person, "company_too": company_too}
            tasks.enqueue(tx, KIND, person, payload, now, lane=LANE)
            self.recorder.record(tx, Record(PersonErased(person, "begun", company_too), actor))
            return self.preview(tx.connection, person)

        held = await self.database.write(unit)
        self.ring()
        return held

    def handlers(self) -> Mapping[str, Handler]:
        return {KIND: self._handle}

    async def again(self, person: PersonId) -> None:
        """After a restore: what is left of somebody who was erased, without what the restore has erased by id."""
        await self.database.write(lambda tx: self._end(tx, person, self.clock.now()))

    # --- the work --------------------------------------------------------------------------------------------------

    async def _handle(self, task: Task) -> Done:
        person = PersonId(task.payload["person"])
        erased = await self._conversations(person)
        for each in await self.database.read(lambda c: _documents(c, person)):
            await self.erasure.document(each, ACTOR)
        await self._memories(person, Visibility.SESSION)
        if task.payload["company_too"]:
            await self._memories(person, Visibility.COMPANY)
        erased += await self._messages(person)

        def ended(tx: Tx) -> None:
            now = self.clock.now()
            total = erased + self._end(tx, person, now)
            payload = {
                "why": WHY,
                "session": None,
                "counts": dict(total.counts),
                "blobs": sorted(total.blobs),
                "sent": [list(each) for each in total.sent],
            }
            tasks.enqueue(tx, FINISH, f"{WHY}:{person}:{now.isoformat()}", payload, now, lane=LANE)
            self.recorder.record(tx, Record(PersonErased(person, "done", task.payload["company_too"]), ACTOR))

        return Done(ended)

    async def _memories(self, person: PersonId, seen_by: Visibility) -> None:
        while some := (await self.database.read(lambda c: _claims(c, person, seen_by)))[:AT_ONCE]:
            await self.forgetting.memories(some, ACTOR, REASON)

    async def _conversations(self, person: PersonId) -> Erased:
        total = Erased()
        for each in await self.database.read(lambda c: _conversations(c, _known(c, person)), long=True):

            def unit(tx: Tx, each: SessionId = each) -> Erased:
                return self.erasure.erase_in(tx, each, ACTOR, REASON, self.clock.now())

            total += await self.database.write(unit)
        return total

    async def _messages(self, person: PersonId) -> Erased:
        """What they wrote among others, a conversation after the other."""
        total = Erased()
        for some in await self.database.read(lambda c: _batches(c, person), long=True):

            def unit(tx: Tx, some: Sequence[MessageId] = some) -> Erased:
                now = self.clock.now()
                of_memory.let_persons_stand(tx, self.recorder, some, now)
                return self.forgetting.messages_in(tx, some, now)

            total += await self.database.write(unit)
        return total

    def _end(self, tx: Tx, person: PersonId, now: datetime) -> Erased:
        known = people.get(tx.connection, person)
        if known is None:
            return Erased()
        total = Erased()
        for room in self.rooms:
            total += room(tx, known, now)
        of_memory.note(tx, "person", [person], now)
        return total


def _known(connection: sa.Connection, person: PersonId) -> Person:
    found = people.get(connection, person)
    if found is None:
        raise PermanentError(f"there is nobody called {person}: see `openexecutive people list`")
    return found


def _wrote(person: PersonId) -> tuple[sa.ColumnElement[bool], ...]:
    """Their messages that still have words or files."""
    files = sa.type_coerce(message.c.files, sa.Text)
    return message.c.person_id == person, sa.or_(message.c.text.not_in(["", FORGOTTEN]), files != "[]")


def _conversations(connection: sa.Connection, person: Person) -> list[SessionId]:
    """In which nobody but them ever was or wrote, and of which something is left."""
    accounts = {(each.channel, each.address) for each in person.handles}
    mine = [sa.and_(session.c.channel == c, presence.c.address == a) for c, a in sorted(accounts)]
    if not mine:
        return []
    there = session.join(place, place.c.key == session.c.place_key).join(presence, presence.c.place_key == place.c.key)
    alone = place.c.kind.in_([PlaceKind.DIRECT.value, PlaceKind.MAIL.value])
    rows = connection.execute(
        sa.select(session.c.id, session.c.channel, session.c.place_key)
        .select_from(there)
        .where(sa.or_(*mine), alone)
        .distinct()
        .order_by(session.c.id)
    ).all()
    found = []
    for row in rows:
        present = sa.select(presence.c.address).where(presence.c.place_key == row.place_key)
        wrote = sa.select(participant.c.address).where(participant.c.session_id == row.id)
        addresses = connection.execute(sa.union(present, wrote)).scalars().all()
        said = sa.exists().where(
            message.c.session_id == row.id, message.c.role == "user", message.c.person_id.is_distinct_from(person.id)
        )
        if {(row.channel, each) for each in addresses} <= accounts and not connection.execute(sa.select(said)).scalar():
            found.append(SessionId(row.id))
    return [each for each in found if _holds(connection, each)]


def _holds(connection: sa.Connection, of: SessionId) -> bool:
    """Something that erasing would take: what the company may see stays in any case."""
    words = sa.exists().where(message.c.session_id == of)
    own = sa.exists().where(
        claim.c.session_id == of,
        claim.c.status != Status.ERASED.value,
        claim.c.visibility == Visibility.SESSION.value,
    )
    return bool(connection.execute(sa.select(sa.or_(words, own))).scalar())


def _claims(connection: sa.Connection, person: PersonId, seen_by: Visibility) -> list[ClaimId]:
    rows = connection.execute(
        sa.select(claim.c.id)
        .where(claim.c.speaker == person, claim.c.visibility == seen_by.value, claim.c.status != Status.ERASED.value)
        .order_by(claim.c.seq)
    )
    return [ClaimId(each) for each in rows.scalars()]


def _documents(connection: sa.Connection, person: PersonId) -> list[DocumentId]:
    """What they brought and nobody has said yes to."""
    kept = [DocumentStatus.APPROVED.value, DocumentStatus.WITHDRAWN.value, DocumentStatus.REMOVING.value]
    rows = connection.execute(
        sa.select(document.c.id).where(document.c.uploader == person, document.c.status.not_in(kept))
    )
    return [DocumentId(each) for each in rows.scalars()]


def _batches(connection: sa.Connection, person: PersonId) -> list[list[MessageId]]:
    """What they wrote, each batch of one conversation."""
    rows = connection.execute(
        sa.select(message.c.session_id, message.c.id)
        .where(*_wrote(person))
        .order_by(message.c.session_id, message.c.turn_id, message.c.position)
    ).all()
    by_session = [[MessageId(row.id) for row in part] for _, part in groupby(rows, key=lambda row: row.session_id)]
    return [of[at : at + AT_ONCE] for of in by_session for at in range(0, len(of), AT_ONCE)]
