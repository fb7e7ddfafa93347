"""The chain shows what was changed, dropped, reordered or cut off, and tells erased from broken."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from bot.audit.chain import GENESIS, load_key
from bot.audit.events import Actor, DaemonStarted, MessageRefused, Record, Refusal
from bot.audit.recorder import Head, Recorder
from bot.audit.tables import audit, content
from bot.audit.verify import PAGE, Verdict, verify
from bot.kernel.errors import PermanentError
from bot.kernel.logs import Redactor
from bot.storage.database import Database
from tests.clock import FakeClock
from tests.conftest import KEY

ROWS = 6


def _record(number: int) -> Record:
    payload = MessageRefused("test", Refusal.STRANGER, number, None)
    return Record(payload, Actor("stranger", "test"), text=f"words of {number}")


@pytest.fixture
async def written(database: Database, recorder: Recorder) -> Database:
    for number in range(1, ROWS + 1):
        await database.write(lambda tx, n=number: recorder.record(tx, _record(n)))  # type: ignore[misc]
    return database


async def _verdict(database: Database, expected: Head | None = None, key: bytes = KEY) -> Verdict:
    return await database.read(lambda c: verify(c, key, expected))


def _tamper(path: Path, *statements: str) -> None:
    """What someone can do who holds the file: triggers are dropped first."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for name in ("update", "delete", "replace"):
            connection.execute(f"DROP TRIGGER audit_no_{name}")
        for statement in statements:
            assert connection.execute(statement).rowcount != 0, statement


async def test_a_chain_as_written_is_sound(written: Database, recorder: Recorder) -> None:
    verdict = await _verdict(written, recorder.head)
    assert verdict == Verdict(ROWS, 0, recorder.head, ())


async def test_an_empty_chain_is_sound(database: Database, recorder: Recorder) -> None:
    assert recorder.head == Head(0, GENESIS)
    assert await _verdict(database, recorder.head) == Verdict(0, 0, recorder.head, ())


async def test_a_chain_longer_than_a_page_is_checked_to_its_end(database: Database, recorder: Recorder) -> None:
    def many(tx: object) -> None:
        for number in range(PAGE + 5):
            recorder.record(tx, Record(DaemonStarted("boot", "1", number, 0)))  # type: ignore[arg-type]

    await database.write(many)
    assert await _verdict(database, recorder.head) == Verdict(PAGE + 5, 0, recorder.head, ())
    _tamper(database.path, f"UPDATE audit SET payload = '{{}}' WHERE id = {PAGE + 2}")
    assert (await _verdict(database)).broken == (f"row {PAGE + 2} was changed",)


@pytest.mark.parametrize(
    "column",
    ["at", "type", "actor_kind", "actor", "session_id", "turn_id", "payload", "content_mac"],
)
async def test_a_changed_row_is_named_whatever_was_changed(written: Database, column: str) -> None:
    value = {"actor_kind": "'system'", "at": "at + 1"}.get(column, "'other'")
    _tamper(written.path, f"UPDATE audit SET {column} = {value} WHERE id = 3")
    assert "row 3 was changed" in (await _verdict(written)).broken


async def test_a_changed_row_with_a_hash_made_without_the_key_is_named(written: Database) -> None:
    _tamper(written.path, f"UPDATE audit SET payload = '{{}}', hash = '{'0' * 64}' WHERE id = 3")
    assert (await _verdict(written)).broken == ("row 3 was changed", "row 4 does not continue row 3")


async def test_a_dropped_row_is_named(written: Database) -> None:
    _tamper(written.path, "DELETE FROM audit WHERE id IN (3, 4)")
    assert (await _verdict(written)).broken == ("rows 3 to 4 are missing",)


async def test_a_dropped_row_whose_successors_moved_up_is_noticed(written: Database) -> None:
    _tamper(
        written.path,
        "DELETE FROM audit WHERE id = 3",
        *(f"UPDATE audit SET id = {n - 1} WHERE id = {n}" for n in range(4, 7)),
    )
    assert "row 3 does not continue row 2" in (await _verdict(written)).broken


async def test_a_dropped_first_row_is_noticed(written: Database) -> None:
    _tamper(written.path, "DELETE FROM audit WHERE id = 1")
    assert (await _verdict(written)).broken == ("rows 1 to 1 are missing",)


async def test_reordered_rows_are_noticed(written: Database) -> None:
    _tamper(
        written.path,
        "UPDATE audit SET id = 100 WHERE id = 3",
        "UPDATE audit SET id = 3 WHERE id = 4",
        "UPDATE audit SET id = 4 WHERE id = 100",
    )
    broken = (await _verdict(written)).broken
    assert "row 3 does not continue row 2" in broken
    assert "row 3 was changed" in broken


async def test_a_cut_tail_is_seen_against_a_noted_head_only(written: Database, recorder: Recorder) -> None:
    noted = recorder.head
    _tamper(written.path, "DELETE FROM audit WHERE id > 4")
    assert (await _verdict(written)).broken == ()
    assert (await _verdict(written, noted)).broken == (
        "row 6 is not the one that was noted: rows were cut off or replaced",
    )


async def test_a_tail_cut_and_written_anew_is_seen_against_a_noted_head(
    written: Database, recorder: Recorder, clock: FakeClock
) -> None:
    noted = recorder.head
    _tamper(written.path, "DELETE FROM audit WHERE id > 4")
    again = await Recorder.open(written, clock, KEY, Redactor([]))
    written._hooks.remove(recorder)
    for number in (5, 6):
        await written.write(lambda tx, n=number: again.record(tx, _record(n + 10)))  # type: ignore[misc]
    assert (await _verdict(written)).broken == ()
    assert (await _verdict(written, noted)).broken != ()
    assert (await _verdict(written, again.head)).broken == ()


async def test_a_noted_head_that_was_passed_since_still_holds(written: Database, recorder: Recorder) -> None:
    noted = recorder.head
    await written.write(lambda tx: recorder.record(tx, _record(7)))
    assert (await _verdict(written, noted)).broken == ()


async def test_another_key_recognises_nothing(written: Database) -> None:
    assert len((await _verdict(written, key=b"x" * 32)).broken) == ROWS


async def test_an_erased_text_is_erased_not_broken(written: Database, recorder: Recorder, clock: FakeClock) -> None:
    erased = content.update().where(content.c.text == "words of 2").values(text=None, salt=None, erased_at=clock.now())
    await written.write(lambda tx: tx.execute(erased).close())
    assert await _verdict(written, recorder.head) == Verdict(ROWS, 1, recorder.head, ())


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("UPDATE content SET text = 'other words' WHERE text = 'words of 2'", "the text of row 2 was changed"),
        ("UPDATE content SET salt = x'00' WHERE text = 'words of 2'", "the text of row 2 was changed"),
        ("DELETE FROM content WHERE text = 'words of 2'", "the text of row 2 is gone without having been erased"),
    ],
)
async def test_a_changed_text_is_broken(written: Database, change: str, told: str) -> None:
    _tamper(written.path, change)
    assert (await _verdict(written)).broken == (told,)


async def test_texts_that_changed_places_are_broken(written: Database) -> None:
    ids = await written.read(lambda c: list(c.execute(sa.select(audit.c.content_id).order_by(audit.c.id)).scalars()))
    _tamper(
        written.path,
        f"UPDATE content SET id = 'spare' WHERE id = '{ids[1]}'",
        f"UPDATE content SET id = '{ids[1]}' WHERE id = '{ids[2]}'",
        f"UPDATE content SET id = '{ids[2]}' WHERE id = 'spare'",
    )
    assert (await _verdict(written)).broken == ("the text of row 2 was changed", "the text of row 3 was changed")


@pytest.mark.parametrize(
    "statement",
    [
        audit.update().where(audit.c.id == 2).values(actor="other"),
        audit.delete().where(audit.c.id == 2),
        audit.delete(),
        sa.text("INSERT OR REPLACE INTO audit SELECT * FROM audit WHERE id = 2"),
        sa.text("UPDATE OR IGNORE audit SET actor = 'other'"),
    ],
    ids=["update", "delete", "delete all", "replace", "update or ignore"],
)
async def test_the_database_refuses_to_change_audit_rows(written: Database, statement: sa.Executable) -> None:
    with pytest.raises(sa.exc.IntegrityError, match="never changed"):
        await written.write(lambda tx: tx.execute(statement).close())
    assert (await _verdict(written)).rows == ROWS


def test_the_key_is_made_once_readable_by_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "audit.key"
    key = load_key(path)
    assert len(key) == 32
    assert load_key(path) == key
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("damage", [bytes.fromhex("00"), b""], ids=["short", "empty"])
def test_a_damaged_key_is_refused_not_replaced(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "audit.key").write_bytes(damage)
    with pytest.raises(PermanentError, match="not an audit key"):
        load_key(tmp_path / "audit.key")
