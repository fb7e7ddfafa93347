"""A backup is made beside the work, whole or not at all; put back, it is what it was, without what was erased since."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from bot.app.erasing import erasure, forgetting
from bot.app.opening import Store
from bot.app.restoring import restore
from bot.audit.events import SYSTEM, Actor, Record, SettingChanged
from bot.audit.recorder import Recorder
from bot.backup import archive, folder, restoring
from bot.backup.making import COPY, Maker
from bot.backup.nightly import KIND, TRIES, Nightly
from bot.backup.sealed import DamagedBackupError
from bot.erasure import journal
from bot.gateway.events import ReplyPath
from bot.gateway.operations import Send
from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.ids import BlobHash, BootId, DocumentId, OutboxId, TaskId
from bot.kernel.logs import Redactor
from bot.kernel.supervise import start
from bot.knowledge import store as documents
from bot.knowledge.model import Origin as Brought
from bot.knowledge.model import Status
from bot.knowledge.store import New, Read
from bot.outbox import held as held_out
from bot.outbox import store as outbox_store
from bot.outbox.store import Origin
from bot.outbox.tables import Policy, outbox
from bot.scheduler.tables import job
from bot.storage.database import Database, Tx
from bot.tasks.store import Task
from bot.tasks.tables import TaskState
from bot.tasks.tables import task as tasks_table
from bot.tasks.worker import Done
from config.schema import Settings
from tests.clock import START, FakeClock
from tests.conftest import KEY
from tests.erasure.memory_desk import CONTROL, CONTROL_QUOTE, QUOTE, SAID, STATEMENT, remember, said_in, session_of
from tests.intake.events import message
from tests.orchestrator.office import Office
from tests.sessions.rooms import PEOPLE, Rooms

OPERATOR = Actor("system", "operator")
KEPT = {"keys/audit.key": KEY, "blobs/ab/abcdef": b"a file", "maildir/new/1.x": b"a mail"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    for name, content in KEPT.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)
    return path


@pytest.fixture
async def database(all_tables: list[str], data: Path) -> AsyncIterator[Database]:
    async with Database.open(data / archive.DATABASE) as database:
        yield database


@pytest.fixture
async def office(database: Database, recorder: Recorder, clock: FakeClock) -> AsyncIterator[Office]:
    rooms = Rooms(database, recorder, clock)
    await rooms.add_people(*PEOPLE)
    office = Office(database, recorder, clock, rooms)
    await office.open()
    yield office
    await office.close()


def maker(office: Office, data: Path, passphrase: str | None = None, keep: int = 2) -> Maker:
    return Maker(
        office.database, office.recorder, office.clock, data, data / "backups", keep, passphrase, "0.1", asyncio.Lock()
    )


def store_of(office: Office) -> Store:
    return Store(office.database, office.recorder, office.clock, KEY)


def settings_of(data: Path, passphrase: str | None = None) -> Settings:
    return Settings.model_validate({"data_dir": data, "backup": {"passphrase": passphrase} if passphrase else {}})


async def back(office: Office, data: Path, backup: Path, erasures: Path | None, passphrase: str | None = None) -> Any:
    into = data.parent / "restored"
    return await restore(settings_of(data, passphrase), Redactor([]), office.clock, backup, into, erasures)


def rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def names(path: Path) -> list[str]:
    return sorted(each.name for each in path.iterdir())


async def talk(office: Office) -> None:
    await office.hear(message("1", SAID))
    await office.ended("answered")
    await office.said(1)


@pytest.mark.parametrize("passphrase", [None, "correct horse"])
async def test_what_is_put_back_is_what_there_was(office: Office, data: Path, passphrase: str | None) -> None:
    await talk(office)
    made = await maker(office, data, passphrase).make(OPERATOR, "asked")
    head = made.manifest.audit_id
    assert made.path.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in (data / "backups").iterdir()] == [made.path.name]
    if passphrase:
        body = made.path.read_bytes()
        assert b"audit.key" not in body
        assert KEY not in body
    await office.database.write(lambda tx: office.recorder.record(tx, Record(SettingChanged((), "later"), SYSTEM)))
    done = await back(office, data, made.path, None, passphrase)
    into = data.parent / "restored"
    for name, content in KEPT.items():
        assert (into / name).read_bytes() == content
        assert (into / name).stat().st_mode & 0o777 == 0o600
    assert done.manifest.audit_id == head
    assert rows(into / archive.DATABASE, "SELECT text FROM message WHERE role = 'user'") == [(SAID,)]
    (last,) = rows(into / archive.DATABASE, "SELECT type, id FROM audit ORDER BY id DESC LIMIT 1")
    assert last == ("backup_restored", head + 1)
    (told,) = await office.audited("backup_made")
    assert (told.payload["head"], told.payload["encrypted"], told.payload["elsewhere"]) == (
        head,
        passphrase is not None,
        False,
    )


async def test_it_is_made_while_others_write(office: Office, data: Path) -> None:
    def note(tx: Tx) -> None:
        office.recorder.record(tx, Record(SettingChanged((), "x" * 500), SYSTEM))

    async def write() -> int:
        count = 0
        while not making.done():
            await office.database.write(note)
            count += 1
        return count

    for _ in range(40):
        await office.database.write(note)
    making = start("backup", maker(office, data).make(OPERATOR, "asked"))
    assert await write() > 0
    made = await making
    done = await back(office, data, made.path, None)
    assert done.manifest.audit_hash == made.manifest.audit_hash


async def test_older_ones_go_and_those_made_elsewhere_stay(office: Office, data: Path, tmp_path: Path) -> None:
    one = maker(office, data, keep=2)
    names = []
    for _ in range(3):
        names.append((await one.make(OPERATOR, "asked")).path.name)
        office.clock.advance(timedelta(days=1))
    assert sorted(path.name for path in (data / "backups").iterdir()) == names[1:]
    for _ in range(3):
        await one.make(OPERATOR, "asked", tmp_path / "usb")
    assert len(list((tmp_path / "usb").iterdir())) == 3
    assert len(list((data / "backups").iterdir())) == 2


async def test_on_a_full_disk_nothing_half_is_left(office: Office, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(*_: object) -> None:
        raise OSError(28, "No space left on device")

    one = maker(office, data)
    before = names(data)
    with monkeypatch.context() as patched:
        patched.setattr(archive, "_add", dies)
        with pytest.raises(TransientError, match="No space left"):
            await one.make(OPERATOR, "asked")
    assert list((data / "backups").iterdir()) == []
    assert names(data) == sorted([*before, "backups"])
    await one.make(OPERATOR, "asked")
    assert len(folder.whole(data / "backups")) == 1


async def test_what_a_maker_that_died_has_left_is_swept_and_never_counts(office: Office, data: Path) -> None:
    one = maker(office, data)
    name = folder.name_of(START) + folder.UNFINISHED
    (data / "backups").mkdir()
    for left in (data / "backups" / name, data / COPY, data / f"{COPY}.unfinished"):
        left.touch()
    assert folder.whole(data / "backups") == []
    await one.make(OPERATOR, "asked")
    assert len(list((data / "backups").iterdir())) == 1
    assert not any(name.startswith(COPY) for name in names(data))


@pytest.mark.parametrize("change", ["cut", "byte", "other"])
async def test_a_damaged_one_is_refused_and_leaves_the_folder_alone(office: Office, data: Path, change: str) -> None:
    made = await maker(office, data).make(OPERATOR, "asked")
    body = bytearray(made.path.read_bytes())
    match change:
        case "cut":
            del body[-200:]
        case "byte":
            body[len(body) // 2] ^= 1
        case "other":
            body = bytearray(b"PK\x03\x04" + bytes(100))
    made.path.write_bytes(body)
    with pytest.raises(DamagedBackupError):
        await back(office, data, made.path, None)
    assert not (data.parent / "restored").exists()


async def test_a_chain_that_does_not_hold_is_refused(office: Office, data: Path) -> None:
    await talk(office)
    (data / "keys" / "audit.key").write_bytes(b"z" * 32)
    made = await maker(office, data).make(OPERATOR, "asked")
    with pytest.raises(DamagedBackupError, match="audit"):
        await back(office, data, made.path, None)
    assert not (data.parent / "restored").exists()


async def test_a_folder_that_is_not_empty_is_let_be(office: Office, data: Path) -> None:
    made = await maker(office, data).make(OPERATOR, "asked")
    into = data.parent / "restored"
    into.mkdir()
    (into / "mine.txt").touch()
    with pytest.raises(PermanentError, match="not empty"):
        await back(office, data, made.path, None)
    assert [path.name for path in into.iterdir()] == ["mine.txt"]


async def test_a_restore_that_died_is_begun_anew(office: Office, data: Path) -> None:
    made = await maker(office, data).make(OPERATOR, "asked")
    into = data.parent / "restored"
    into.mkdir()
    staging = restoring.beside(into)
    staging.mkdir()
    (staging / "half").touch()
    await back(office, data, made.path, None)
    assert (into / archive.DATABASE).exists()
    assert not (into / "half").exists()
    assert not staging.exists()


async def test_what_was_forgotten_since_stays_forgotten(office: Office, data: Path) -> None:
    await talk(office)
    session = await session_of(office)
    said = (await said_in(office, session))[0]
    made = await remember(office, said, session, QUOTE, STATEMENT)
    kept = await remember(office, said, session, CONTROL_QUOTE, CONTROL)
    backup = await maker(office, data).make(OPERATOR, "asked")
    await forgetting(store_of(office), lambda: None).memories([made.id], OPERATOR, "private")
    erasures = data / "backups" / journal.NAME
    await journal.write_out(office.database, erasures)

    done = await back(office, data, backup.path, erasures)
    assert done.replayed.memories == 1
    into = data.parent / "restored" / archive.DATABASE
    found = dict(rows(into, "SELECT id, status FROM claim"))
    assert found == {made.id: "erased", kept.id: "active"}
    assert not rows(into, "SELECT 1 FROM message WHERE text LIKE '%Zanzibar%'")
    tombstones = "SELECT digest, space, of, forgotten_at FROM tombstone ORDER BY 1, 2, 3"
    assert set(rows(data / archive.DATABASE, tombstones)) <= set(rows(into, tombstones))
    assert b"anzibar" not in into.read_bytes()


async def test_words_that_were_not_remembered_yet_when_the_backup_was_made_go_too(office: Office, data: Path) -> None:
    await talk(office)
    backup = await maker(office, data).make(OPERATOR, "asked")
    session = await session_of(office)
    said = (await said_in(office, session))[0]
    made = await remember(office, said, session, QUOTE, STATEMENT)
    await forgetting(store_of(office), lambda: None).memories([made.id], OPERATOR, "private")
    erasures = data / "backups" / journal.NAME
    await journal.write_out(office.database, erasures)
    done = await back(office, data, backup.path, erasures)
    assert (done.replayed.memories, done.replayed.messages) == (0, 1)
    assert b"anzibar" not in (data.parent / "restored" / archive.DATABASE).read_bytes()


async def test_a_conversation_that_was_deleted_since_stays_deleted(office: Office, data: Path) -> None:
    await talk(office)
    backup = await maker(office, data).make(OPERATOR, "asked")
    await erasure(store_of(office), lambda: None).session(await session_of(office), OPERATOR, "x", approved_too=False)
    erasures = data / "backups" / journal.NAME
    await journal.write_out(office.database, erasures)
    done = await back(office, data, backup.path, erasures)
    assert done.replayed.sessions == 1
    assert not rows(data.parent / "restored" / archive.DATABASE, "SELECT 1 FROM message")


async def test_a_document_that_was_removed_since_stays_removed(office: Office, data: Path) -> None:
    now = office.clock.now()

    def bring(tx: Tx) -> DocumentId:
        blob = BlobHash("f" * 64)
        new = New("plan.md", Brought.SENT, "company", "plan", "text/markdown", blob, blob, now)
        added = documents.add(tx, new, now)
        documents.finish(tx, office.recorder, added, Status.APPROVED, Read(None, 1, 0, None, None), OPERATOR, now)
        return added.id

    document = await office.database.write(bring)
    backup = await maker(office, data).make(OPERATOR, "asked")
    await office.database.write(lambda tx: documents.begin_removal(tx, office.recorder, document, OPERATOR))
    erasures = data / "backups" / journal.NAME
    await journal.write_out(office.database, erasures)
    done = await back(office, data, backup.path, erasures)
    assert done.replayed.documents == 1
    into = data.parent / "restored" / archive.DATABASE
    assert rows(into, "SELECT status FROM document") == [("removing",)]
    assert rows(into, "SELECT count(*) FROM task WHERE kind LIKE '%erase%'") == [(1,)]


async def test_what_waited_is_held_until_somebody_has_looked(office: Office, data: Path) -> None:
    await talk(office)
    op = Send(ReplyPath("test:dm:1", "1"), "later", "later")
    origin = Origin(await session_of(office), None, 0)

    def queue(tx: Tx) -> None:
        outbox_store.insert(tx, "test", [op], origin, Policy.RESEND_ONCE, BootId("b"), START, may_leave=False)

    await office.close()
    await office.database.write(queue)
    backup = await maker(office, data).make(OPERATOR, "asked")
    done = await back(office, data, backup.path, None)
    assert (done.held_out, done.held_in) == (1, 0)
    async with Database.open(data.parent / "restored" / archive.DATABASE) as restored:
        recorder = await Recorder.open(restored, office.clock, KEY, Redactor([]))
        (held,) = await restored.read(held_out.held)
        assert (held.channel, held.kind) == ("test", "send")
        unknown = OutboxId("nothing")
        ids = await restored.write(lambda tx: held_out.release(tx, recorder, [held.id, unknown], OPERATOR, START))
        assert ids == [held.id]
        state = sa.select(outbox.c.state).where(outbox.c.id == held.id)
        assert await restored.read(lambda c: c.execute(state).scalar()) == "queued"
        assert await restored.read(held_out.held) == []


async def test_schedules_do_not_fire_until_somebody_lets_them(office: Office, data: Path) -> None:
    columns = {
        "id": "j", "kind": "reminder", "title": "t", "rule": "once", "rule_text": "x", "zone": "UTC", "payload": {},
        "grace_seconds": 60, "state": "active", "next_at": START, "made_at": START, "changed_at": START, "version": 1,
    }  # fmt: skip
    none = await maker(office, data).make(OPERATOR, "asked")
    await back(office, data, none.path, None)
    into = data.parent / "restored" / archive.DATABASE
    assert rows(into, "SELECT 1 FROM scheduler_pause") == []
    (data.parent / "restored").rename(data.parent / "first")
    await office.database.write(lambda tx: tx.append(job, columns))
    some = await maker(office, data).make(OPERATOR, "asked")
    await back(office, data, some.path, None)
    assert len(rows(into, "SELECT 1 FROM scheduler_pause")) == 1


async def test_messages_that_waited_for_an_answer_are_held_too(office: Office, data: Path) -> None:
    office.model.gate.clear()
    await office.hear(message("1", SAID))
    await office.model.until(asked=1)
    await office.hear(message("2", "and this"))
    backup = await maker(office, data).make(OPERATOR, "asked")
    done = await back(office, data, backup.path, None)
    assert done.held_in == 2
    into = data.parent / "restored" / archive.DATABASE
    assert rows(into, "SELECT DISTINCT state, reason FROM inbox") == [("parked", "restored")]
    assert rows(into, "SELECT state FROM turn") == [("parked",)]


async def test_the_night_makes_one_and_queues_the_next_whatever_becomes_of_it(office: Office, data: Path) -> None:
    nightly = Nightly(maker(office, data), "02:30", "UTC", enabled=True)
    await office.database.write(nightly.start)
    await office.database.write(nightly.start)

    async def queued() -> list[Any]:
        query = sa.select(tasks_table.c.run_at).where(tasks_table.c.kind == KIND)
        return list(await office.database.read(lambda c: c.execute(query).scalars().all()))

    assert len(await queued()) == 1

    async def night(attempt: int) -> None:
        task = Task(TaskId("t"), KIND, KIND, KIND, {}, TaskState.RUNNING, attempt, START, None)
        done = await nightly.handlers()[KIND](task)
        await office.database.write(lambda tx: tx.execute(tasks_table.delete()))
        assert isinstance(done, Done)
        assert done.apply is not None
        await office.database.write(done.apply)

    await night(1)
    assert len(folder.whole(data / "backups")) == 1
    assert len(await queued()) == 1
    impossible = replace(maker(office, data), folder=data / "keys" / "audit.key")
    nightly = Nightly(impossible, "02:30", "UTC", enabled=True)
    await night(TRIES)
    assert len(await queued()) == 1
    (failed,) = await office.audited("backup_failed")
    assert failed.payload["attempts"] == TRIES


async def test_switched_off_it_makes_none(office: Office, data: Path) -> None:
    nightly = Nightly(maker(office, data), "02:30", "UTC", enabled=False)
    task = Task(TaskId("t"), KIND, KIND, KIND, {}, TaskState.RUNNING, 1, START, None)
    done = await nightly.handlers()[KIND](task)
    assert isinstance(done, Done)
    assert done.empty
    assert folder.whole(data / "backups") == []
    assert nightly.following() is None
