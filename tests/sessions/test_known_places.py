"""Places as one person may see them, and how they are found."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from bot.audit.recorder import Recorder
from bot.gateway.events import PlaceKind
from bot.kernel.ids import PersonId, SessionId
from bot.kernel.scope import OperatorScope, PersonScope, Scope, SessionScope
from bot.sessions import known_places
from bot.storage.database import Database
from tests.clock import FakeClock
from tests.sessions.rooms import PEOPLE, Rooms

BOSS, ADA, GUEST = (PersonScope(PersonId(each)) for each in ("boss", "ada", "guest"))


@pytest.fixture
async def rooms(database: Database, recorder: Recorder, clock: FakeClock) -> Rooms:
    rooms = Rooms(database, recorder, clock)
    await rooms.add_people(*PEOPLE)
    await rooms.see(["1", "2"], 3, key="test:both")
    await rooms.see(["2", "55"], 3, key="test:hers")
    await rooms.see(["2"], key="test:dm:2", kind=PlaceKind.DIRECT)
    await rooms.see(["1", "2"], key="test:mail", kind=PlaceKind.MAIL)
    return rooms


async def _seen(rooms: Rooms, scope: Scope) -> list[str]:
    found = await rooms.database.read(lambda c: known_places.listed(c, scope, "", 100))
    return [each.known.key for each in found]


async def test_each_sees_where_they_are_and_principals_what_has_several_people(rooms: Rooms) -> None:
    assert await _seen(rooms, ADA) == ["test:both", "test:dm:2", "test:hers"]
    assert await _seen(rooms, BOSS) == ["test:both", "test:hers"]
    assert await _seen(rooms, GUEST) == []
    assert await _seen(rooms, SessionScope(SessionId("s"))) == []
    assert await _seen(rooms, OperatorScope(None)) == ["test:both", "test:dm:2", "test:hers"]
    await rooms.leave("2", key="test:both")
    assert await _seen(rooms, ADA) == ["test:dm:2", "test:hers"]


async def test_who_is_there_is_told_and_strangers_are_counted(rooms: Rooms) -> None:
    found = await rooms.database.read(lambda c: known_places.listed(c, ADA, "test:dm", 100))
    assert [[each.name for each in one.present] for one in found] == [["ada"], ["ada"]]
    assert [one.strangers for one in found] == [0, 1]


@pytest.mark.parametrize("scope", [BOSS, ADA])
async def test_no_list_is_made_by_looking_at_all_places_or_at_everybody(rooms: Rooms, scope: Scope) -> None:
    statements: list[tuple[str, object]] = []

    def query(connection: sa.Connection) -> list[str]:
        def seen(_c: object, _cursor: object, text: str, values: object, *_: object) -> None:
            statements.append((text, values))

        sa.event.listen(connection, "before_cursor_execute", seen)
        known_places.listed(connection, scope, "", 30)
        sa.event.remove(connection, "before_cursor_execute", seen)
        plans = []
        for text, values in statements:
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", values)  # type: ignore[arg-type]
            plans += [row.detail for row in plan]
        return plans

    plans = await rooms.database.read(query)
    assert [each for each in plans if each.startswith("SCAN") and "ix_place_listed" not in each] == []
    assert not any("TEMP B-TREE" in each for each in plans)
    assert any("ix_presence_address" in each for each in plans)
