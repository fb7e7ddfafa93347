"""The product under a life: intake, turns, offline extraction, the real index, people's own moves, erasure.

What is believed is what the prompt's block shows for the question. Other readers, for what was forgotten: the list of
memories, the tools, the whole transcript, and everything that the database holds.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import sqlalchemy as sa

from bot.app.erasing import forgetting
from bot.app.opening import Store
from bot.audit.events import Actor
from bot.audit.recorder import Recorder
from bot.erasure.copies import no_copies
from bot.erasure.service import FINISH
from bot.gateway.events import Body, Span, SpanKind, Thread
from bot.kernel.ids import ClaimId, PersonId, SessionId
from bot.kernel.logs import Redactor
from bot.kernel.scope import PersonScope, SessionScope
from bot.kernel.supervise import Supervisor
from bot.llm.offline import OfflineModel
from bot.memory import reading, recall
from bot.memory.indexing import Indexing
from bot.memory.model import STANDING
from bot.memory.ranking import IndexRanker
from bot.memory.reading import Purpose
from bot.memory.recall import Recall
from bot.memory.service import Acting, Memories
from bot.memory.tables import claim
from bot.orchestrator import recollection
from bot.people import store as people
from bot.retrieval.recall.index import RecallIndex
from bot.retrieval.use3 import Use3
from bot.sessions import threads
from bot.sessions.audience import Audience
from bot.sessions.visible import visible
from bot.storage.database import Database, Tx
from bot.tasks.store import Task
from bot.tasks.worker import Done
from tests.clock import FakeClock
from tests.conftest import KEY
from tests.evaluation.lives.script import (
    Checkpoint,
    Correct,
    Delete,
    Edit,
    Forget,
    GuestJoins,
    Key,
    NewHistory,
    Restart,
    Retract,
    Say,
    Step,
)
from tests.extraction.reading import Reader
from tests.intake.events import command, delete, edit, message
from tests.orchestrator.office import Office
from tests.orchestrator.test_basics import ASKER
from tests.sessions.rooms import PEOPLE, Rooms

ACCOUNTS = {"Marta": "1", "Jonas": "2"}
PERSONS = {"Marta": PersonId("boss"), "Jonas": PersonId("ada")}
GUEST = "4"
BUDGET = 1_200
EMBEDDER = Use3()
"""Loaded once for all lives."""


@asynccontextmanager
async def product(folder: Path) -> AsyncIterator[Product]:
    clock = FakeClock()
    async with Database.open(folder / "store.db") as database:
        recorder = await Recorder.open(database, clock, KEY, Redactor([]))
        rooms = Rooms(database, recorder, clock)
        await rooms.add_people(*PEOPLE)
        for thread in ("one", "two"):
            await rooms.see([*ACCOUNTS.values()], 3, key=f"test:{thread}")
            await rooms.declare(Audience.ROOM, key=f"test:{thread}")
        supervisor = Supervisor()
        index = RecallIndex(database, [EMBEDDER], supervisor, lambda tx: None, patience=timedelta(seconds=30))
        own = Product(Office(database, recorder, clock, rooms), index)
        try:
            await own.open()
            yield own
        finally:
            await own.office.close()
            await index.close()
            await supervisor.stop()


class Product:
    name = "openexecutive"

    def __init__(self, office: Office, index: RecallIndex) -> None:
        self.office = office
        self.index = index
        self.indexing = Indexing(office.database, index)
        self.memories = Memories(office.recorder)
        self.eraser = forgetting(Store(office.database, office.recorder, office.clock, KEY), lambda: None, no_copies)
        ranker = IndexRanker(index, self.indexing, office.clock, self._embed)
        self.recall = Recall(office.database, ranker, BUDGET)
        self.reader = Reader(office)
        self.reader.others[FINISH] = _files_are_not_looked_at
        self._value: dict[Key, str] = {}
        self._speaker: dict[Key, str] = {}
        self._by: dict[str, str] = {}
        """Who wrote a message."""
        self._threads: dict[str, str] = {}
        self._edits = 0
        self._lags: list[float] = []

    async def open(self) -> None:
        self.office.model.provider = OfflineModel.provider
        await self.office.open()
        await self.reader.open()

    async def _embed(self) -> None:
        await self.index.catch_up()

    # --- steps --------------------------------------------------------------------------------------------------------

    async def apply(self, step: Step) -> None:
        self.office.clock.advance(timedelta(minutes=7))
        match step:
            case Say():
                await self._say(step)
            case Edit():
                await self._edit(step)
            case Delete():
                self._edits += 1
                await self.office.hear(delete(f"d{self._edits}", step.ref, at=self.office.clock.now()))
                await self.reader.settled()
            case Correct():
                await self._act(step.key, "correct", step.text)
                self._value[step.key] = step.value
            case Retract():
                await self._act(step.key, "retract", "")
            case Forget():
                await self._forget(step.key)
            case NewHistory():
                self._edits += 1
                self.reader.said += 1
                await self.office.hear(
                    command(f"n{self._edits}", "new", thread=self.thread(step.thread), at=self.office.clock.now())
                )
                await self.office.ended(*["answered"] * self.reader.said)
            case GuestJoins():
                await self.office.rooms.see([GUEST], 4, key=f"test:{step.thread}")
            case Restart():
                await self.office.kill()
                self.office.supervisor = Supervisor()
                await self.office.open()
                self.reader.start()
            case Checkpoint():
                pass

    async def _say(self, step: Say) -> None:
        text = step.text
        body = Body(text)
        if step.quoted is not None:
            text = f"{step.text}\n{step.quoted}"
            start = len(step.text) + 1
            body = Body(text, (Span(0, start, SpanKind.OWN), Span(start, len(text), SpanKind.QUOTED)))
        self._by[step.ref] = step.who
        self._threads[step.ref] = step.thread
        if step.key is not None and step.value is not None:
            self._value[step.key], self._speaker[step.key] = step.value, step.who
        office = self.office
        self.reader.said += 1
        await office.hear(
            message(
                step.ref, text, by=ACCOUNTS[step.who], thread=self.thread(step.thread), at=office.clock.now(), body=body
            )
        )
        await office.ended(*["answered"] * self.reader.said)
        answered = time.perf_counter()
        await self.reader.settled()
        await self.indexing.bring()
        self._lags.append(time.perf_counter() - answered)

    async def _edit(self, step: Edit) -> None:
        self._edits += 1
        self._value[step.key] = step.value
        happened = edit(
            f"e{self._edits}", step.ref, step.text, by=ACCOUNTS[self._by[step.ref]], at=self.office.clock.now()
        )
        await self.office.hear(replace(happened, thread=self.thread(self._threads[step.ref])))
        await self.reader.settled()

    async def _act(self, key: Key, what: str, text: str) -> None:
        person = PERSONS[self._speaker[key]]
        now = self.office.clock.now()

        def unit(tx: Tx) -> None:
            known = people.get(tx.connection, person)
            by = Acting(Actor("person", person), PersonScope(person), known)
            for each in self._told(tx.connection, key):
                if what == "correct":
                    self.memories.correct(tx, by, each, text, "it was wrong", now)
                else:
                    self.memories.retract(tx, by, each, "it is not so", now)

        await self.office.database.write(unit)

    async def _forget(self, key: Key) -> None:
        person = PERSONS[self._speaker[key]]
        found = await self.office.database.read(lambda c: self._told(c, key, standing=False))
        await self.eraser.memories(found, Actor("person", person), "forget it")

    def _told(self, connection: sa.Connection, key: Key, *, standing: bool = True) -> list[ClaimId]:
        """The claims that tell the key's value, in its thread."""
        wanted = [
            claim.c.statement.contains(self._value[key]),
            claim.c.session_id == self.session_of(connection, key.thread),
        ]
        if standing:
            wanted.append(claim.c.status.in_(STANDING))
        else:
            wanted[0] = claim.c.statement.contains(key.entity)
            wanted.append(claim.c.status != "erased")
            wanted.append(claim.c.subject == self._subject(connection, key))
        return [ClaimId(each) for each in connection.execute(sa.select(claim.c.id).where(*wanted)).scalars()]

    def _subject(self, connection: sa.Connection, key: Key) -> str:
        found = connection.execute(
            sa.select(claim.c.subject)
            .where(
                claim.c.statement.contains(self._value[key]),
                claim.c.session_id == self.session_of(connection, key.thread),
            )
            .order_by(claim.c.seq.desc())
        ).scalar()
        return str(found)

    def session_of(self, connection: sa.Connection, thread: str) -> SessionId:
        found = threads.by_thread(connection, [f"test:{thread}"])
        return found[f"test:{thread}"].id if found else SessionId("")

    @staticmethod
    def thread(name: str) -> Thread:
        return Thread(f"test:{name}", f"test:{name}")

    # --- readers ------------------------------------------------------------------------------------------------------

    async def believed(self, key: Key, thread: str) -> str:
        session = await self.office.database.read(lambda c: self.session_of(c, thread))
        if not session:
            return ""
        scope = SessionScope(session)
        standing = await self.office.database.read(lambda c: recall.standing(c, visible(c, scope)))
        found = await self.recall.block(standing, key.question, self.office.clock.now(), "UTC")
        return found.text

    async def readers(self, key: Key) -> Mapping[str, str]:
        database = self.office.database
        session = await database.read(lambda c: self.session_of(c, key.thread))
        search, read = recollection.tools(database, self.recall)
        asker = replace(ASKER, scope=SessionScope(session))
        found = await search.run(asker, {"query": key.question, "limit": 20})
        view = await database.read(lambda c: visible(c, PersonScope(PERSONS["Marta"])))
        listed = await database.read(lambda c: reading.find(c, view, Purpose.REVIEW, reading.EVERYTHING, 500))
        handles = [each.handle for _, each in listed][:12]
        shown = await read.run(asker, {"ids": handles}) if handles else found
        return {
            "recall": found.text,
            "read_memory": shown.text,
            "memories": "\n".join(each.statement for _, each in listed),
            "database": await database.read(_everything, long=True),
        }

    def lags(self) -> list[float]:
        return self._lags

    async def orphans(self) -> int:
        query = (
            "SELECT count(*) FROM claim WHERE status <> 'erased' AND author_kind <> 'person' AND NOT EXISTS "
            "(SELECT 1 FROM evidence JOIN message ON message.id = message_id WHERE claim_id = claim.id)"
        )
        return await self.office.database.read(lambda c: int(c.execute(sa.text(query)).scalar_one()))


async def _files_are_not_looked_at(task: Task) -> Done:
    """The rest of an erasure is about bytes of the file; lives look at what can be read."""
    return Done()


def _everything(connection: sa.Connection) -> str:
    """All text of all tables."""
    names = connection.execute(sa.text("SELECT name FROM sqlite_master WHERE type = 'table'")).scalars().all()
    parts: list[str] = []
    for name in names:
        if "_fts" in name:
            continue
        for row in connection.execute(sa.text(f'SELECT * FROM "{name}"')):
            parts += [value for value in row if isinstance(value, str)]
    return "\n".join(parts)
