"""An erased session is gone from every table, at once and whatever is going on in it; others are untouched."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from bot.app.erasing import erasers, is_used
from bot.audit.events import Actor
from bot.audit.verify import verify
from bot.erasure.service import FINISH, Erasure
from bot.erasure.work import NOTHING_BEYOND, RETENTION, Beyond, Work, next_night
from bot.files.blobs import BlobFolder
from bot.gateway.channel import Accepted
from bot.kernel.errors import PermanentError
from bot.kernel.ids import BlobHash, OutboxId, SessionId, TaskId
from bot.kernel.scope import SessionScope
from bot.knowledge import store as documents
from bot.knowledge.model import Origin, Status
from bot.knowledge.store import New, Read
from bot.knowledge.tables import document
from bot.knowledge.tasks import Kind, Queue
from bot.orchestrator.erasing import drop_prompts
from bot.sessions import compaction, listing, threads
from bot.sessions.tables import message as messages
from bot.sessions.tables import summary
from bot.storage.database import Tx
from bot.storage.metadata import metadata
from bot.tasks import store as tasks
from bot.tasks.store import Task
from bot.tasks.tables import TaskState
from bot.tasks.tables import task as task_table
from bot.tasks.worker import Done
from tests.clock import START
from tests.conftest import KEY
from tests.intake.events import GROUP, command, dm, edit, message
from tests.orchestrator.office import Office

OPERATOR = Actor("system", "operator")
SECRET = "zanzibar-merger"
OTHER = "unrelated-plan"


SUMMARY = {
    "id": "s", "history_epoch": 0, "audience_epoch": 0, "until_turn": "z", "turns": 1, "text": SECRET, "model": "m",
    "told": True, "created_at": START,
}  # fmt: skip


def erasure(office: Office) -> Erasure:
    return Erasure(office.database, office.recorder, office.clock, erasers(office.recorder), Queue(None), lambda: None)


def work(
    office: Office, folder: Path, kept_for: dict[str, timedelta] | None = None, beyond: Beyond = NOTHING_BEYOND
) -> Work:
    async def remove_copies(channel: str, keys: Sequence[OutboxId]) -> None:
        copies.append((channel, keys))

    copies: list[tuple[str, Sequence[OutboxId]]] = []
    return Work(
        office.database,
        office.recorder,
        office.clock,
        BlobFolder(folder),
        erasure(office),
        is_used,
        remove_copies,
        drop_prompts,
        kept_for or {},
        timedelta(days=30),
        "UTC",
        beyond,
    )


async def own(office: Office, key: str = "test:dm:1") -> SessionId:
    return (await office.database.read(lambda c: threads.by_thread(c, [key])))[key].id


async def everywhere(office: Office, word: str) -> list[str]:
    """Tables in which a word stands, in whatever column."""

    def query(connection: sa.Connection) -> list[str]:
        found = []
        for table in metadata.sorted_tables:
            for row in connection.execute(sa.text(f"SELECT * FROM {table.name}")):
                if any(word.casefold() in _readable(v).casefold() for v in row):
                    found.append(table.name)
                    break
        return found

    return await office.database.read(query, long=True)


def _readable(value: object) -> str:
    if not isinstance(value, bytes):
        return str(value)
    try:
        return zlib.decompress(value).decode()
    except zlib.error:
        return value.decode("latin-1")


async def talk(office: Office) -> None:
    await office.hear(message("1", f"about the {SECRET}"), message("2", OTHER, by="2", thread=dm("2")))
    await office.ended("answered", "answered")
    await office.hear(edit("e", "1", f"about the {SECRET} indeed"))
    await office.hear(command("3", "room", SECRET))
    await office.ended("answered", "answered", "answered")


async def finish(office: Office, room: Work) -> None:
    """Do the queued rest, as the worker does."""

    def due(connection: sa.Connection) -> list[Task]:
        ids = connection.execute(
            sa.select(task_table.c.id).where(task_table.c.kind == FINISH, task_table.c.ended_at.is_(None))
        )
        return [one for each in ids.scalars() if (one := tasks.get(connection, each)) is not None]

    for one in await office.database.read(due):
        done = await room.handlers()[FINISH](one)

        def unit(tx: Tx, task: Task = one, apply: Callable[[Tx], None] | None = done.apply) -> None:
            tx.execute(task_table.update().where(task_table.c.id == task.id).values(state="done", ended_at=START))
            if apply is not None:
                apply(tx)

        await office.database.write(unit)


async def test_every_table_forgets_the_session_and_keeps_the_others(office: Office) -> None:
    office.model.answer = lambda request: f"The {SECRET} is noted." if SECRET in repr(request) else f"Noted: {OTHER}."
    await talk(office)
    await office.said(3)
    assert {"message", "inbox", "outbox"} <= set(await everywhere(office, SECRET))
    kept = await everywhere(office, OTHER)
    counts = await erasure(office).session(await own(office), OPERATOR, "asked to", approved_too=False)
    assert await everywhere(office, SECRET) == []
    assert await everywhere(office, OTHER) == kept
    assert (counts["messages"], counts["events"], counts["replies"], counts["prompts"]) == (2, 2, 2, 1)
    verdict = await office.database.read(lambda c: verify(c, KEY))
    assert verdict.broken == ()


async def test_it_takes_a_reason_and_leaves_a_receipt_only_when_the_rest_is_done(
    office: Office, tmp_path: Path
) -> None:
    await talk(office)
    session = await own(office)
    await erasure(office).session(session, OPERATOR, "asked to", approved_too=False)
    (begun,) = await office.audited("session_erased")
    assert begun.session == session
    assert await office.audited("erasure_done") == []
    await finish(office, work(office, tmp_path / "blobs"))
    (done,) = await office.audited("erasure_done")
    assert (done.payload["messages"], done.payload["rewritten"], done.payload["why"]) == (2, True, "session")


async def test_what_was_erased_does_not_come_in_again_and_the_place_goes_on(office: Office) -> None:
    await talk(office)
    session = await own(office)
    await erasure(office).session(session, OPERATOR, "asked to", approved_too=False)
    assert list(await office.hear(message("1", f"about the {SECRET}"))) == [Accepted.DUPLICATE]
    await office.hear(message("9", "a new beginning"))
    await office.ended(*["answered"] * 4)
    assert SECRET not in office.prompted()
    assert await own(office) == session


async def test_a_running_turn_ends_without_a_trace_and_the_lane_is_free(office: Office) -> None:
    office.model.gate.clear()
    await office.hear(message("1", f"about the {SECRET}"))
    await office.model.until(asked=1)
    await erasure(office).session(await own(office), OPERATOR, "asked to", approved_too=False)
    office.model.answer = lambda request: f"The {SECRET}."
    office.model.gate.set()
    await office.hear(message("2", "hello again"))
    office.model.answer = lambda request: "Hello."
    await office.ended("stopped", "answered")
    assert await office.said(1) == ["Hello."]
    assert await everywhere(office, SECRET) == []


async def test_what_waits_is_stopped_and_not_sent(office: Office) -> None:
    office.model.gate.clear()
    await office.hear(message("1", "one"))
    await office.model.until(asked=1)
    await office.hear(message("2", f"and the {SECRET}"))
    await erasure(office).session(await own(office), OPERATOR, "asked to", approved_too=False)
    office.model.gate.set()
    await office.ended("stopped", "stopped")
    assert await everywhere(office, SECRET) == []


async def test_twice_is_once(office: Office) -> None:
    await talk(office)
    session = await own(office)
    await erasure(office).session(session, OPERATOR, "one", approved_too=False)
    again = await erasure(office).session(session, OPERATOR, "two", approved_too=False)
    assert again["messages"] == again["events"] == again["replies"] == 0


async def test_a_summary_alone_is_deleted_with_a_reason(office: Office, tmp_path: Path) -> None:
    await talk(office)
    session = await own(office)
    await office.database.write(lambda tx: tx.append(summary, SUMMARY | {"session_id": session}))
    assert await erasure(office).summary(session, OPERATOR, "it is wrong") == {"summaries": 1}
    await finish(office, work(office, tmp_path / "blobs"))
    assert "summary" not in await everywhere(office, SECRET)
    assert "message" in await everywhere(office, SECRET)
    (done,) = await office.audited("erasure_done")
    assert (done.payload["why"], done.payload["summaries"], done.payload["messages"]) == ("summary", 1, 0)


async def test_an_unknown_session_is_told(office: Office) -> None:
    with pytest.raises(PermanentError, match="no session nobody"):
        await erasure(office).session(SessionId("nobody"), OPERATOR, "x", approved_too=False)


async def test_a_file_goes_unless_something_else_refers_to_it(office: Office, tmp_path: Path) -> None:
    blobs = BlobFolder(tmp_path / "blobs")
    alone, shared = [(await blobs.put(data, 100)).id for data in (b"alone", b"shared")]
    room = work(office, tmp_path / "blobs")
    await office.hear(message("1", "one"), message("2", "two", by="2", thread=dm("2")))
    await office.ended("answered", "answered")

    def attach(tx: Tx) -> None:
        file = {"name": "f", "media_type": "text/plain", "text": None, "note": None}
        for key, hashes in (("test:dm:1", (alone, shared)), ("test:dm:2", (shared,))):
            session = threads.by_thread(tx.connection, [key])[key].id
            files = [{**file, "blob": each} for each in hashes]
            tx.execute(
                messages.update().where(messages.c.session_id == session, messages.c.role == "user").values(files=files)
            )

    await office.database.write(attach)
    await erasure(office).session(await own(office), OPERATOR, "asked to", approved_too=False)
    await finish(office, room)
    assert [await blobs.exists(BlobHash(each)) for each in (alone, shared)] == [False, True]


async def test_retention_erases_what_is_older_in_its_channel_and_nothing_else(office: Office, tmp_path: Path) -> None:
    office.model.answer = lambda request: f"Answer to {SECRET}." if SECRET in repr(request) else "Yes."
    await talk(office)
    office.clock.advance(timedelta(days=20))
    office.model.answer = lambda request: "Yes."
    await office.hear(message("9", "a younger word", at=office.clock.now()))
    await office.ended(*["answered"] * 4)
    room = work(office, tmp_path / "blobs", {"test": timedelta(days=10), "other": timedelta(0)})
    night = Task(TaskId("t"), RETENTION, RETENTION, RETENTION, {}, TaskState.RUNNING, 1, START, None)
    done = await room.handlers()[RETENTION](night)
    assert isinstance(done, Done)
    assert not done.empty
    await finish(office, room)
    assert await everywhere(office, SECRET) == []
    assert await everywhere(office, OTHER) == []
    assert {"message", "inbox"} <= set(await everywhere(office, "a younger word"))
    again = await room.handlers()[RETENTION](night)
    assert isinstance(again, Done)
    assert again.empty


async def test_a_summary_goes_with_what_retention_takes(office: Office, tmp_path: Path) -> None:
    await talk(office)
    session = await own(office)
    values = SUMMARY | {"session_id": session}
    await office.database.write(lambda tx: tx.append(summary, values))
    office.clock.advance(timedelta(days=20))
    await erasure(office).older([session], office.clock.now(), OPERATOR)
    assert await everywhere(office, SECRET) == []
    assert await office.database.read(lambda c: compaction.current(c, SessionScope(session))) is None


async def test_old_prompts_go_by_a_time_of_their_own(office: Office, tmp_path: Path) -> None:
    await talk(office)
    office.clock.advance(timedelta(days=31))
    room = work(office, tmp_path / "blobs")
    night = Task(TaskId("t"), RETENTION, RETENTION, RETENTION, {}, TaskState.RUNNING, 1, START, None)
    done = await room.handlers()[RETENTION](night)
    assert isinstance(done, Done)
    assert not done.empty
    assert "turn_prompt" not in await everywhere(office, "answer")
    assert "message" in await everywhere(office, SECRET)


@pytest.mark.parametrize(("zone", "hours"), [("UTC", 18), ("Europe/Berlin", 17), ("America/New_York", 23)])
def test_the_night_is_the_companys(zone: str, hours: int) -> None:
    assert next_night(START, zone) == START + timedelta(hours=hours)


async def test_the_list_tells_numbers_and_no_words(office: Office) -> None:
    await talk(office)
    await office.hear(message("7", "in the room", thread=GROUP))
    await office.ended(*["answered"] * 4)
    found = await office.database.read(lambda c: listing.newest(c, 10))
    by_place = {one.place: one for one in found}
    assert (by_place["test:dm:1"].turns, by_place["test:dm:1"].messages) == (2, 2)
    assert SECRET not in json.dumps([str(one) for one in found])


@pytest.mark.parametrize(
    ("approved_too", "left"), [(False, ["approved", "removing"]), (True, ["removing", "removing"])]
)
async def test_documents_that_were_sent_in_it_go_too_approved_ones_only_if_that_is_asked(
    office: Office, approved_too: bool, left: list[str]
) -> None:
    await talk(office)
    session = await own(office)

    def bring(tx: Tx) -> None:
        for name, status in (("approved.md", Status.APPROVED), ("waits.md", Status.PENDING)):
            blob = BlobHash(name)
            now = office.clock.now()
            new = New(name, Origin.SENT, "company", name, "text/markdown", blob, blob, now, session=session)
            read = documents.add(tx, new, now)
            documents.finish(tx, office.recorder, read, status, Read(None, 1, 0, None, None), OPERATOR, now)

    await office.database.write(bring)
    counts = await erasure(office).session(session, OPERATOR, "asked for", approved_too=approved_too)
    assert counts["documents"] == left.count("removing")

    def states(connection: sa.Connection) -> tuple[list[str], int]:
        found = connection.execute(sa.select(document.c.status).order_by(document.c.name)).scalars().all()
        erasing = sa.select(sa.func.count()).where(task_table.c.kind == Kind.ERASE.value)
        return list(found), connection.execute(erasing).scalar_one()

    assert await office.database.read(states) == (left, left.count("removing"))
