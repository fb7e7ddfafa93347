"""Who hears of what is done with memories: principals of a wish, and whoever told what was read in private."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import sqlalchemy as sa

from bot.app.opening import Store
from bot.app.rights import handlers
from bot.audit.events import SYSTEM, Actor
from bot.audit.recorder import Recorder
from bot.control.memory_reader import VIEWED
from bot.kernel.ids import BlobHash, PersonId
from bot.knowledge import store as documents
from bot.knowledge.model import Document, Origin
from bot.knowledge.model import Status as DocumentStatus
from bot.knowledge.store import New, Read
from bot.knowledge.tasks import Kind as Asked
from bot.knowledge.tasks import Queue
from bot.memory.model import Held, Kind, Status, Trust, Work
from bot.memory.moves import ASKED, HELD
from bot.orchestrator.leaving import HANDED
from bot.orchestrator.telling import GUEST_WAITS
from bot.storage.database import Database, Tx
from bot.tasks import store as tasks
from bot.tasks.store import Task
from bot.tasks.tables import TaskState, task
from bot.tasks.worker import Done
from tests.clock import FakeClock
from tests.memory.desk import Desk
from tests.sessions.rooms import PEOPLE, Rooms


class Told:
    """Runs what waits, as the worker does, and keeps what is said to whom."""

    def __init__(self, desk: Desk, store: Store) -> None:
        self.desk = desk
        self.said: list[tuple[str, str]] = []
        self.subjects: list[str] = []
        self._handlers = handlers(store, self._tell)

    async def _tell(self, person: PersonId, about: str, text: str) -> Callable[[Tx], None]:
        self.subjects.append(about)
        return lambda _: self.said.append((person, text))

    async def run(self, kind: str) -> list[bool]:
        """Whether there was nothing to do, of each that waits."""
        rows = await self.desk.rooms.database.read(
            lambda c: c.execute(sa.select(task.c.id, task.c.key, task.c.payload).where(task.c.kind == kind)).all()
        )
        empty = []
        for row in rows:
            done = await self._handlers[kind](
                Task(row.id, kind, row.key, kind, row.payload, TaskState.RUNNING, 1, self.desk.now, None)
            )
            assert isinstance(done, Done)
            empty.append(done.empty)
            if done.apply is not None:
                await self.desk.write(done.apply)
        return empty


@pytest.fixture
async def told(database: Database, recorder: Recorder, clock: FakeClock) -> Told:
    rooms = Rooms(database, recorder, clock)
    await rooms.add_people(*PEOPLE)
    return Told(Desk(rooms), Store(database, recorder, clock, b"k" * 32))


async def test_a_wish_is_put_before_the_principals_with_its_sentence_and_how_to_answer(told: Told) -> None:
    desk = told.desk
    said = await desk.said(await desk.alone("ada"), "ada", "See https://evil.example/?d=1")
    await desk.do("ada", "promote", said)
    assert await told.run(ASKED) == [False]
    ((person, text),) = told.said
    assert person == "boss"
    assert text.startswith("ada wants the company to see this memory:")
    assert f"`/accept {said.handle}`" in text
    assert "](https" not in text
    assert "<https" not in text


async def test_a_wish_that_was_decided_or_taken_back_is_not_told_any_more(told: Told) -> None:
    desk = told.desk
    said = await desk.said(await desk.alone("ada"), "ada")
    await desk.do("ada", "promote", said)
    await desk.do("ada", "reject", said)
    assert await told.run(ASKED) == [True]
    assert told.said == []


async def test_whose_words_wait_for_a_yes_hears_why_and_not_the_words_again(told: Told) -> None:
    desk = told.desk
    said = await desk.said(
        await desk.alone("ada"), "ada", "Pay Eve 500 euros.", status=Status.PENDING, held=(Held.PAYMENT,)
    )
    payload: Mapping[str, Any] = {"person": "ada", "claims": [said.id]}
    await desk.write(lambda tx: tasks.enqueue(tx, HELD, "k", payload, desk.now, lane=HELD) is None)
    assert await told.run(HELD) == [False]
    ((person, text),) = told.said
    assert person == "ada"
    assert f"`{said.handle}`: it is about money. A principal decides: `/accept {said.handle}` puts it before" in text
    assert "/memories pending" in text
    assert "Eve" not in text
    await desk.do("ada", "reject", said)
    assert await told.run(HELD) == [True]
    assert len(told.said) == 1


async def test_what_a_member_puts_before_the_principals_is_told_with_why_it_waits(told: Told) -> None:
    desk = told.desk
    said = await desk.said(
        await desk.alone("ada"), "ada", "Pay Eve 500 euros.", status=Status.PENDING, held=(Held.PAYMENT,)
    )
    await desk.do("ada", "accept", said)
    assert await told.run(ASKED) == [False]
    ((person, text),) = told.said
    assert person == "boss"
    assert text.startswith("ada asks that I go by this, where it was said; it waits because it is about money:")
    assert "Pay Eve 500 euros." in text


async def test_a_guest_is_told_that_their_words_wait_and_not_for_what(told: Told) -> None:
    desk = told.desk
    said = await desk.said(
        await desk.alone("guest"), "guest", status=Status.PENDING, held=(Held.UNTRUSTED,), trust=Trust.GUEST
    )
    payload: Mapping[str, Any] = {"person": "guest", "claims": [said.id]}
    await desk.write(lambda tx: tasks.enqueue(tx, HELD, "k", payload, desk.now, lane=HELD) is None)
    await told.run(HELD)
    assert told.said == [("guest", GUEST_WAITS)]


async def test_what_was_read_in_private_is_told_with_its_reason(told: Told) -> None:
    payload: Mapping[str, Any] = {"person": "ada", "count": 3, "reason": "a court asks"}
    await told.desk.write(lambda tx: tasks.enqueue(tx, VIEWED, "k", payload, told.desk.now, lane=VIEWED) is None)
    await told.run(VIEWED)
    ((person, text),) = told.said
    assert person == "ada"
    assert "3 memories" in text
    assert "a court asks" in text
    assert told.subjects == ["A private conversation was read"]


async def test_who_takes_over_from_somebody_who_leaves_is_told_once(told: Told) -> None:
    room = await told.desk.room("boss", "bob")
    claim = await told.desk.said(
        room, "boss", "We open in Graz.", kind=Kind.INITIATIVE, work=Work.ACTIVE, owner=PersonId("bob")
    )
    payload = {"to": "bob", "of": "Cleo", "by": "boss", "initiatives": [claim.id], "schedules": []}
    await told.desk.write(lambda tx: tasks.enqueue(tx, HANDED, "k", payload, told.desk.now, lane=HANDED))
    assert await told.run(HANDED) == [False]
    assert told.said == [("bob", "boss handed over to you what was Cleo's:\n\n- We open in Graz.")]
    assert told.subjects == ["What was handed over to you"]


async def _brought(told: Told, by: str, audience: str = "company") -> Document:
    now, recorder = told.desk.now, told.desk.rooms.recorder
    name = "plan.md"
    new = New(
        name, Origin.SENT, audience, name, "text/markdown", BlobHash("b" * 64), "b" * 64, now, uploader=PersonId(by)
    )

    def unit(tx: Tx) -> Document:
        added = documents.add(tx, new, now)
        documents.finish(tx, recorder, added, DocumentStatus.PENDING, Read(None, 10, 0, "Plan", None), SYSTEM, now)
        found = documents.get(tx.connection, added.id)
        assert found is not None
        Queue(None).waits(tx, found, now)
        return found

    return await told.desk.write(unit)


async def test_principals_hear_of_a_document_that_waits_and_who_brought_it_of_the_end(told: Told) -> None:
    recorder, now = told.desk.rooms.recorder, told.desk.now
    document = await _brought(told, "ada", "department:finance")
    assert await told.run(Asked.WAITS.value) == [False]
    ((to, text),) = told.said
    assert to == "boss"
    assert text.startswith("ada brought **plan.md** for the finance department. It waits for a principal's yes: in the")
    by = Actor("person", "boss")

    def reject(tx: Tx) -> None:
        Queue(None).decided(tx, documents.reject(tx, recorder, document.id, "out of date", by, now), now)

    await told.desk.write(reject)
    assert await told.run(Asked.ENDED.value) == [False]
    assert told.said[1:] == [("ada", "**plan.md**: boss said no (out of date): I do not keep it.")]
    assert await told.run(Asked.WAITS.value) == [True], "it does not wait any more"


async def test_what_a_principal_brought_is_put_to_nobody(told: Told) -> None:
    await _brought(told, "boss")
    assert await told.run(Asked.WAITS.value) == []
