"""The first answers before which a memory stood."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from bot.audit.events_memory import MemorySnapshot
from bot.kernel.ids import SessionId, TurnId
from bot.memory import later, store
from bot.memory.model import Claim
from bot.sessions import turns
from bot.sessions.visible import visible
from bot.storage.database import Tx
from tests.memory.desk import MINUTE, Desk, person
from tests.sessions.rooms import BOOT


async def _stood(desk: Desk, session: SessionId, claim: Claim) -> TurnId:
    epochs = await desk.rooms.epochs(session)

    def unit(tx: Tx) -> TurnId:
        (turn,) = turns.begin(tx, [(session, epochs)], BOOT, desk.now)
        snapshot = MemorySnapshot("block", (claim.id,), (1,), (0,), (), 0)
        store.show(tx, turn.id, snapshot, desk.now)
        turns.finish(tx, turn, BOOT, "answered", "m", desk.now, untrusted=False)
        return turn.id

    found = await desk.write(unit)
    desk.rooms.clock.advance(MINUTE)
    return found


async def _found(desk: Desk, who: str, claim: Claim, limit: int = 10) -> list[TurnId]:
    def query(connection: sa.Connection) -> list[TurnId]:
        view = visible(connection, person(who))
        return [each.turn for each in later.first_shown(connection, view, claim.id, limit)]

    return await desk.rooms.database.read(query)


async def test_the_first_are_told_in_order_and_only_where_one_was(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    group, adas = await desk.room("ada", "bob"), await desk.alone("ada")
    claim = await desk.said(group, "ada", "We launch in May.")
    stood = [await _stood(desk, each, claim) for each in (group, adas, group, adas, group)]
    assert await _found(desk, "ada", claim) == stood
    assert await _found(desk, "ada", claim, 2) == stood[:2]
    assert await _found(desk, "bob", claim) == [stood[0], stood[2], stood[4]]
    assert await _found(desk, "boss", claim) == []
    monkeypatch.setattr(later, "LOOKED_AT", 3)
    assert await _found(desk, "bob", claim) == [stood[0], stood[2]]


async def test_however_often_it_stood_nothing_is_sorted_but_what_is_looked_at(desk: Desk) -> None:
    claim = await desk.said(await desk.room("ada", "bob"), "ada", "We launch in May.")
    plans: list[str] = []

    def query(connection: sa.Connection) -> None:
        def explain(_c: object, _cur: object, text: str, given: tuple[object, ...], *_: object) -> None:
            if "FROM claim_shown" in text and not text.startswith("EXPLAIN"):
                plans.append(
                    " / ".join(str(row[3]) for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", given))
                )

        view = visible(connection, person("ada"))
        sa.event.listen(connection, "before_cursor_execute", explain)
        later.first_shown(connection, view, claim.id, 5)
        sa.event.remove(connection, "before_cursor_execute", explain)

    await desk.rooms.database.read(query)
    (plan,) = plans
    inner = plan.partition("SEARCH claim_shown USING INDEX ix_claim_shown_claim_id")[2]
    assert inner, plan
    assert "TEMP B-TREE" not in inner.partition(" / SCAN")[0], plan
