"""What a person wrote in a conversation is there for them, in order, with what became of it."""

from __future__ import annotations

import sqlalchemy as sa

from bot.intake import spoken
from bot.intake.spoken import Spoken
from bot.intake.tables import InState
from bot.kernel.ids import PersonId, SessionId
from bot.kernel.scope import PersonScope
from tests.intake import events
from tests.intake.desk import Desk

ADA, BOB = PersonScope(PersonId("ada")), PersonScope(PersonId("bob"))


async def read(
    desk: Desk, session: SessionId, scope: PersonScope, limit: int = 50, before: str | None = None
) -> list[Spoken]:
    return await desk.database.read(lambda c: spoken.in_session(c, scope, session, limit, before))


async def test_messages_and_commands_are_there_and_presses_are_not(desk: Desk) -> None:
    await desk.one(events.message("m1", "first", by="2", thread=events.dm("2")))
    await desk.one(events.command("c1", "help", by="2", thread=events.dm("2")))
    await desk.one(events.press("p1", by="2", thread=events.dm("2")))
    session = (await desk.session(events.dm("2").key)).id
    found = await read(desk, session, ADA)
    assert [(each.text, each.command, each.state) for each in found] == [
        ("/help", True, InState.QUEUED),
        ("first", False, InState.CLAIMED),
    ]
    assert [each.text for each in await read(desk, session, ADA, 1)] == ["/help"]
    assert [each.text for each in await read(desk, session, ADA, 1, found[0].id)] == ["first"]
    assert await read(desk, session, BOB) == []
    wanted = found[1].id
    assert await desk.database.read(lambda c: spoken.one(c, BOB, session, wanted)) is None
    assert await desk.database.read(lambda c: spoken.one(c, ADA, session, wanted)) == found[1]


async def test_a_session_is_read_along_its_index(desk: Desk) -> None:
    await desk.one(events.message("m1", "first", by="2", thread=events.dm("2")))
    session = (await desk.session(events.dm("2").key)).id

    def plan(connection: sa.Connection) -> list[str]:
        seen: list[str] = []

        def explain(conn: sa.Connection, _c: object, statement: str, parameters: object, *_: object) -> None:
            rows = conn.connection.cursor().execute(f"EXPLAIN QUERY PLAN {statement}", parameters)  # type: ignore[arg-type]
            seen.extend(str(row[3]) for row in rows or ())

        sa.event.listen(connection, "before_cursor_execute", explain)
        spoken.in_session(connection, ADA, session, 24)
        spoken.in_session(connection, ADA, session, 24, "x")
        sa.event.remove(connection, "before_cursor_execute", explain)
        return seen

    assert await desk.database.read(plan) == [
        "SEARCH inbox USING INDEX ix_inbox_session_id (session_id=?)",
        "SEARCH inbox USING INDEX ix_inbox_session_id (session_id=? AND id<?)",
    ]
