"""The rooms of knowledge on a store of their own, with people, rooms and a reader of files."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import sqlalchemy as sa

from bot.audit import timeline
from bot.audit.recorder import Recorder
from bot.files.blobs import BlobFolder
from bot.files.extract import Extractor
from bot.files.sandbox import Sandbox
from bot.gateway.events import PlaceKind
from bot.kernel.ids import BlobHash, BootId, PersonId, SessionId, new_id
from bot.kernel.retry import Backoff
from bot.kernel.scope import OperatorScope, Scope, SessionScope
from bot.kernel.supervise import Supervisor
from bot.knowledge import passages
from bot.knowledge.builtin import BuiltIn
from bot.knowledge.model import Document, Origin
from bot.knowledge.removal import Eraser
from bot.knowledge.search import Search
from bot.knowledge.service import Bringing, Library
from bot.knowledge.tasks import Queue
from bot.knowledge.work import Worker
from bot.people import store as people
from bot.people.model import Change, Handle, Person, Role
from bot.people.model import Origin as PersonOrigin
from bot.retrieval.index import Index, Work
from bot.sessions.audience import Audience
from bot.sessions.tables import place, presence, session
from bot.storage.database import Database, Tx
from bot.tasks.worker import Worker as TaskRunner
from tests.clock import FakeClock
from tests.retrieval.embedders import WordEmbedder

OPERATOR = OperatorScope(None)
NOTE = """---
title: {title}
domain: {domain}
departments: [{departments}]
keywords: [{keywords}]
reviewed: 2026-11
---

## Method

{text}
"""


def person(key: str, role: Role = Role.MEMBER, departments: Sequence[str] = ()) -> Person:
    handle = Handle("telegram", key, PersonOrigin.SETTINGS)
    return Person(
        PersonId(key), key.title(), role, tuple(departments), "UTC", None, PersonOrigin.SETTINGS, True,
        frozenset({handle}),
    )  # fmt: skip


ANNA = person("anna", Role.PRINCIPAL)
FIN = person("fin", departments=["finance"])
MEL = person("mel")
GUS = person("gus", Role.GUEST)


@dataclass(slots=True)
class Desk:
    folder: Path
    database: Database
    recorder: Recorder
    clock: FakeClock
    supervisor: Supervisor
    blobs: BlobFolder
    library: Library
    search: Search
    eraser: Eraser
    index: Index
    built_in: BuiltIn
    worker: Worker
    runner: TaskRunner
    embedder: WordEmbedder
    used: set[BlobHash] = field(default_factory=set)

    async def store(self, data: bytes) -> BlobHash:
        return (await self.blobs.put(data, 1 << 30)).id

    async def bring(
        self, data: bytes, name: str, by: Person | None = None, origin: Origin = Origin.COMMAND, **more: object
    ) -> Document:
        bringing = Bringing(by, origin, **{"audience": "company", **more})  # type: ignore[arg-type]
        return await self.library.ingest(await self.store(data), name, bringing)

    async def found(self, question: str, scope: Scope = OPERATOR, **more: object) -> list[str]:
        """Names of the documents that a search finds."""
        answer = await self.search.search(scope, question, **more)  # type: ignore[arg-type]
        return list(dict.fromkeys(stub.name for stub in answer.stubs))

    async def room(self, key: str, audience: Audience, *present: Person) -> SessionScope:
        """A session in a room with these people in it."""
        now = self.clock.now()
        session_id = SessionId(new_id(now))

        def unit(tx: Tx) -> None:
            kind = PlaceKind.DIRECT if audience is Audience.PERSON else PlaceKind.CHANNEL
            tx.execute(
                place.insert().values(
                    key=key, channel="telegram", kind=kind.value, title=key, audience=audience.value, because="a test",
                    changed_at=now,
                )
            )  # fmt: skip
            for each in present:
                tx.execute(presence.insert().values(place_key=key, address=each.id, since=now))
            tx.execute(session.insert().values(id=session_id, channel="telegram", place_key=key, opened_at=now))

        await self.database.write(unit)
        return SessionScope(session_id)

    async def work(self) -> None:
        """Run what is due until nothing is."""
        running = self.supervisor.job("tasks", self.runner.run())
        while True:
            pending = await self.database.read(
                lambda c: c.execute(
                    sa.text("SELECT count(*) FROM task WHERE state IN ('queued', 'running') AND run_at <= :now"),
                    {"now": int(self.clock.now().timestamp() * 1_000_000)},
                ).scalar_one()
            )
            if not pending:
                break
            self.runner.ring()
            await asyncio.sleep(0.005)
        running.cancel()
        await asyncio.wait({running})

    async def audited(self) -> list[str]:
        entries = await self.database.read(lambda c: timeline.newest(c, 1_000))
        return [entry.type for entry in entries]

    def bytes_on_disk(self) -> bytes:
        return b"".join(path.read_bytes() for path in sorted(self.folder.rglob("*")) if path.is_file())


async def build(folder: Path, database: Database, recorder: Recorder, clock: FakeClock, supervisor: Supervisor) -> Desk:
    there = {each.id for each in await database.read(people.everyone)}
    for each in (each for each in (ANNA, FIN, MEL, GUS) if each.id not in there):
        await database.write(lambda tx, each=each: people.apply(tx, recorder, [Change(each, "added")], clock.now()))  # type: ignore[misc]
    boot = BootId(new_id(clock.now()))
    handlers: dict[str, object] = {}
    runner = TaskRunner(database, recorder, clock, supervisor, boot, handlers, Backoff())  # type: ignore[arg-type]
    queue = Queue(runner.ring)
    blobs = BlobFolder(folder / "blobs")
    embedder = WordEmbedder()
    asked: list[Worker] = []

    async def ask_for(work: Work) -> None:
        await asked[0].ask_for(work)

    index = Index(
        folder / "vectors", database, embedder, passages.texts_of(database), supervisor, ask_for,
        patience=timedelta(seconds=60), time_limit=timedelta(seconds=60),
    )  # fmt: skip
    library = Library(database, recorder, clock, blobs, Extractor(Sandbox(), page_ends=True), queue)
    notes = folder / "notes"
    built_in = BuiltIn(database, recorder, clock, notes)
    used: set[BlobHash] = set()

    async def noted() -> None: ...

    eraser = Eraser(database, recorder, blobs, index, lambda _, blob: blob in used, noted)
    worker = Worker(
        database, clock, queue, library, built_in, eraser, index, embedder.model, None, timedelta(minutes=1)
    )
    asked.append(worker)
    handlers.update(worker.handlers())
    return Desk(
        folder, database, recorder, clock, supervisor, blobs, library, Search(database, index, built_in.ready), eraser,
        index, built_in, worker, runner, embedder, used,
    )  # fmt: skip


def note(folder: Path, name: str, text: str, **more: str) -> None:
    """Put a built-in note into the folder of notes."""
    path = folder / "notes" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    fields = {"title": name, "domain": name.partition("/")[0], "departments": "finance", "keywords": "thing"} | more
    path.write_text(NOTE.format(text=text, **fields), encoding="utf-8")
