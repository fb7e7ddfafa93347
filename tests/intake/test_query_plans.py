"""No statement on the path of a message reads a whole table: plans of everything that a busy day runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from bot.gateway.events import Change
from bot.intake import store
from bot.kernel.errors import TransientError, UncertainError
from bot.kernel.ids import BootId
from bot.kernel.scope import SessionScope
from bot.outbox import store as outbox_store
from bot.people import pairing
from bot.people import store as people
from bot.people.model import Handle, Origin
from bot.sessions import transcript, turns
from bot.storage.metadata import metadata
from tests.intake.desk import Desk
from tests.intake.events import DM, GROUP, command, delete, edit, membership, message, press, report
from tests.intake.test_happenings import answered, declared
from tests.intake.test_strangers import mail

SMALL = {"person", "cursor", "place"}
"""Tables that stay as small as the company; whole reads of them are fine."""


@contextmanager
def statements() -> Iterator[dict[str, Any]]:
    """Every statement that runs meanwhile, with parameters that it ran with."""
    heard: dict[str, Any] = {}

    def listen(_c: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, many: bool) -> None:
        heard[statement] = parameters[0] if many else parameters

    sa.event.listen(sa.Engine, "before_cursor_execute", listen)
    try:
        yield heard
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", listen)


async def plan(desk: Desk, statement: str, parameters: Any) -> list[str]:
    def explain(connection: sa.Connection) -> list[str]:
        rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters or ())
        return [row.detail for row in rows]

    return await desk.database.read(explain)


async def busy_day(desk: Desk) -> None:
    """Every kind of event, send, failure, repeat and restart."""
    desk.ask_strangers_in()
    await declared(desk)
    await desk.accept(message("10", "first"), command("11", "new"), command("12", "status"), press("13"))
    await desk.accept(message("14", "album", album="x"), message("10", "first"), message("15", by="666"))
    await desk.accept(edit("e1", "10", "better"), edit("e2", "14", "album?"), delete("d1", "14"))
    await answered(desk)
    await desk.accept(edit("e3", "10", "best"), delete("d2", "10"))
    await desk.accept(mail("20"), mail("21", "test:20"), report("r", "test:1"))
    desk.post.channel.sends = {
        "b": [TransientError("down", timedelta(seconds=1))], "c": [UncertainError("lost")], "d": [ValueError()],
    }  # fmt: skip
    for thread, text in (("a", "a\na2"), ("b", "b\nb2"), ("c", "c"), ("d", "d")):
        await desk.post.queue(thread, text)
    await desk.post.settled()
    await desk.post.outbox.channel_ready("test")
    await desk.post.later(timedelta(minutes=5))
    await desk.accept(
        membership("m1", Change.JOINED, "666"), membership("m2", Change.LEFT, "666"),
        membership("m3", Change.MOVED, moved_to="test:super"), membership("m4", Change.BLOCKED, "2"),
        membership("m5", Change.REMOVED, place_key="test:super"),
    )  # fmt: skip
    await desk.accept(message("30", thread=GROUP))
    session = (await desk.session(DM.key)).id
    now, recorder = desk.clock.now(), desk.post.recorder
    database = desk.database
    await database.read(lambda c: transcript.history(c, SessionScope(session)))
    await database.read(lambda c: store.waiting(c, session))
    await database.read(store.sessions_waiting)
    await database.read(store.outside_lanes)
    await database.read(lambda c: store.parked(c, 10))
    await database.read(lambda c: store.counts(c, now))
    await database.read(lambda c: outbox_store.parked(c, 10))
    await database.read(outbox_store.counts)
    await database.read(pairing.open_requests)
    await database.read(lambda c: people.by_handle(c, "test", ["1", "2"]))
    await database.read(turns.sessions_interrupted)
    await database.write(lambda tx: turns.void_older_boots(tx, BootId("boot-2")))
    await database.write(lambda tx: turns.resume(tx, session, BootId("boot-2"), now))
    await desk.post.recover("boot-2")
    await database.read(lambda c: outbox_store.in_doubt(c, BootId("boot-2")))
    await database.write(lambda tx: pairing.ask(tx, recorder, Handle("test", "9", Origin.PAIRED), "x", now))


async def test_nothing_on_the_path_of_a_message_reads_a_whole_table(desk: Desk) -> None:
    with statements() as heard:
        await busy_day(desk)
    partial = {
        index.name
        for table in metadata.tables.values()
        for index in table.indexes
        if index.dialect_options["sqlite"]["where"] is not None
    }
    checked = 0
    faults: list[str] = []
    for statement, parameters in heard.items():
        if not re.match(r"(SELECT|UPDATE|DELETE)\b", statement):
            continue
        checked += 1
        for line in await plan(desk, statement, parameters):
            scanned = re.match(r"SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?$", line)
            if scanned and scanned[1] in metadata.tables.keys() - SMALL and scanned[2] not in partial:
                faults.append(f"{line}: {statement}")
    assert checked > 60
    assert faults == []
