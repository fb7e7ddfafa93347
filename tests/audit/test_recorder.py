"""Records join the transaction of the change they tell of, and secrets do not get past the sink."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
import sqlalchemy as sa

from bot.audit import timeline
from bot.audit.events import Actor, AuthRefused, DaemonStarted, DeliveryParked, Record
from bot.audit.recorder import Recorder
from bot.audit.tables import audit, content
from bot.audit.verify import verify
from bot.kernel.ids import OutboxId, SessionId
from bot.kernel.logs import Redactor
from bot.kernel.supervise import Supervisor
from bot.storage.database import Database, StoreBusyError, Tx
from tests.clock import FakeClock
from tests.conftest import KEY, SECRET
from tests.storage.test_database import names, put


def _started(number: int) -> Record:
    return Record(DaemonStarted("boot", "1", number, 0), session=SessionId("s"))


def _change(recorder: Recorder, name: str, record: Record) -> Callable[[Tx], None]:
    def unit(tx: Tx) -> None:
        put(name)(tx)
        recorder.record(tx, record)

    return unit


async def _rows(database: Database) -> list[int]:
    return await database.read(lambda c: list(c.execute(sa.select(audit.c.id).order_by(audit.c.id)).scalars()))


async def _sound(database: Database, recorder: Recorder) -> bool:
    return not (await database.read(lambda c: verify(c, KEY, recorder.head))).broken


async def test_a_failed_audit_write_fails_the_change(database: Database, recorder: Recorder) -> None:
    unfit = Record(DaemonStarted("boot", "1", 1.5, 0))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="no place in an audit payload"):
        await database.write(_change(recorder, "changed", unfit))
    assert await database.read(names) == []
    assert await _rows(database) == []


async def test_an_audit_row_that_the_database_refuses_fails_the_change(database: Database, recorder: Recorder) -> None:
    refused = Record(DaemonStarted("boot", "1", 0, 0), Actor("nobody", "x"))  # type: ignore[arg-type]
    with pytest.raises(sa.exc.IntegrityError):
        await database.write(_change(recorder, "changed", refused))
    assert await database.read(names) == []


async def test_a_failed_change_leaves_no_record_and_the_head_where_it_was(
    database: Database, recorder: Recorder
) -> None:
    await database.write(_change(recorder, "a", _started(1)))
    head = recorder.head

    def fails(tx: Tx) -> None:
        recorder.record(tx, _started(2))
        raise KeyError("change failed")

    with pytest.raises(KeyError):
        await database.write(fails)
    assert recorder.head == head
    await database.write(_change(recorder, "b", _started(3)))
    assert await _rows(database) == [1, 2]
    assert await _sound(database, recorder)


async def test_a_full_disk_leaves_the_head_where_it_was(database: Database, recorder: Recorder) -> None:
    await database.write(_change(recorder, "a", _started(1)))
    head = recorder.head
    pages = await database.read(lambda c: c.exec_driver_sql("PRAGMA page_count").scalar())
    await database.write(lambda tx: tx.execute(sa.text(f"PRAGMA max_page_count = {pages}")).close())

    def large(tx: Tx) -> None:
        put("large", "x" * 1_000_000)(tx)
        recorder.record(tx, _started(2))

    with pytest.raises(StoreBusyError):
        await database.write(large)
    assert recorder.head == head
    await database.write(lambda tx: tx.execute(sa.text("PRAGMA max_page_count = 1000000")).close())
    await database.write(large)
    assert await _sound(database, recorder)


async def test_units_that_share_a_commit_chain_in_order(
    database: Database, recorder: Recorder, supervisor: Supervisor
) -> None:
    jobs = [supervisor.job("w", database.write(_change(recorder, f"{n:02}", _started(n)))) for n in range(25)]
    await asyncio.gather(*jobs)
    entries = await database.read(lambda c: timeline.of_session(c, SessionId("s")))
    assert [entry.payload["voided_turns"] for entry in entries] == list(range(25))
    assert [entry.id for entry in entries] == list(range(1, 26))
    assert await _sound(database, recorder)


async def test_a_failing_companion_leaves_the_chain_whole(
    database: Database, recorder: Recorder, supervisor: Supervisor
) -> None:
    def fails(tx: Tx) -> None:
        recorder.record(tx, _started(99))
        raise KeyError("fails")

    units = [_change(recorder, "a", _started(1)), fails, _change(recorder, "b", _started(2))]
    results = await asyncio.gather(
        *(supervisor.job("w", database.write(unit)) for unit in units), return_exceptions=True
    )
    assert isinstance(results[1], KeyError)
    entries = await database.read(lambda c: timeline.of_session(c, SessionId("s")))
    assert [entry.payload["voided_turns"] for entry in entries] == [1, 2]
    assert await _sound(database, recorder)


async def test_a_new_recorder_goes_on_where_the_chain_ended(
    database: Database, recorder: Recorder, clock: FakeClock
) -> None:
    await database.write(_change(recorder, "a", _started(1)))
    database._hooks.remove(recorder)
    again = await Recorder.open(database, clock, KEY, Redactor())
    assert again.head == recorder.head
    await database.write(_change(again, "b", _started(2)))
    assert await _rows(database) == [1, 2]
    assert await _sound(database, again)


async def _stored(database: Database) -> str:
    def query(connection: sa.Connection) -> str:
        rows = [*connection.execute(sa.select(audit)), *connection.execute(sa.select(content))]
        return repr([tuple(row) for row in rows])

    return await database.read(query)


@pytest.mark.parametrize(
    "secret",
    [
        SECRET,
        "sk-ant-api03-abcdefghijklmnop",
        "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1",
        "Bearer abcdefghijklmnopqrstuvwxyz",
    ],
    ids=["registered", "model key", "bot token", "bearer"],
)
async def test_secrets_are_masked_in_texts_and_payloads(database: Database, recorder: Recorder, secret: str) -> None:
    payload = AuthRefused("web", f"key {secret} refused", 1)
    await database.write(lambda tx: recorder.record(tx, Record(payload, text=f"he sent {secret} to us")))
    stored = await _stored(database)
    assert secret not in stored
    assert stored.count("[secret]") == 2
    assert await _sound(database, recorder)


@pytest.mark.parametrize("secret", ['with"quote', "with\\slash", "grüße-an-alle", "new\nline-secret"])
async def test_secrets_that_json_writes_differently_are_masked_too(
    database: Database, clock: FakeClock, secret: str
) -> None:
    recorder = await Recorder.open(database, clock, KEY, Redactor([secret]))
    payload = DeliveryParked(OutboxId("o"), "mail", f"<{secret}>")
    await database.write(lambda tx: recorder.record(tx, Record(payload)))
    entry = (await database.read(lambda c: timeline.newest(c, 1)))[0]
    assert entry.payload["reason"] == "<[secret]>"


async def test_texts_with_anything_in_them_are_kept(database: Database, recorder: Recorder) -> None:
    text = "NUL \x00, bidi \u202e, emoji 👩‍👩‍👧, line\r\nbreak"
    await database.write(
        lambda tx: recorder.record(tx, Record(DaemonStarted("b", "1", 0, 0), session=SessionId("s"), text=text))
    )
    entries = await database.read(lambda c: timeline.of_session(c, SessionId("s")))
    assert [(entry.text, entry.erased) for entry in entries] == [(text, False)]
    assert await _sound(database, recorder)


async def test_the_timeline_of_a_session_holds_its_own_events_only_in_order(
    database: Database, recorder: Recorder
) -> None:
    def unit(tx: Tx) -> None:
        for number, session in enumerate(("a", "b", "a", None)):
            recorder.record(
                tx,
                Record(DaemonStarted("b", "1", number, 0), session=SessionId(session) if session else None, text="t"),
            )

    await database.write(unit)
    entries = await database.read(lambda c: timeline.of_session(c, SessionId("a")))
    assert [entry.payload["voided_turns"] for entry in entries] == [0, 2]
    after = await database.read(lambda c: timeline.of_session(c, SessionId("a"), after=1))
    assert [entry.id for entry in after] == [3]


async def test_the_newest_events_of_everybody_come_without_texts(database: Database, recorder: Recorder) -> None:
    def unit(tx: Tx) -> None:
        for number in range(5):
            recorder.record(tx, Record(DaemonStarted("b", "1", number, 0), text="private"))

    await database.write(unit)
    entries = await database.read(lambda c: timeline.newest(c, 3))
    assert [entry.id for entry in entries] == [3, 4, 5]
    assert {entry.text for entry in entries} == {None}
    assert await database.read(lambda c: timeline.newest(c, 3, ("message_refused",))) == []
