"""Where a person looks for proposals: each sees their own, in order, and no table is read as a whole for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa

from bot.kernel.ids import ProposalId
from bot.ledger import reliability
from bot.ledger.shelves import Shelf, shelved
from bot.people.model import Person
from tests.ledger.workshop import ADA, BOB, BOSS, GUEST, Workshop, mail


async def _on(shop: Workshop, reader: Person, shelf: Shelf, before: ProposalId | None = None) -> list[str]:
    found = await shop.database.read(lambda c: shelved(c, reader, shelf, before, 3))
    return [each.key for each in found]


async def test_each_sees_what_they_decide_and_what_they_asked_for(shop: Workshop) -> None:
    await shop.propose("send_email", mail("1"), key="ada's", asked_by=ADA.id)
    await shop.propose("send_email", mail("2"), key="boss's", asked_by=BOSS.id)
    await shop.approved("send_email", mail("3"), key="decided", asked_by=ADA.id)
    shelves = {
        each.id: {shelf.value: await _on(shop, each, shelf) for shelf in Shelf} for each in (BOSS, ADA, BOB, GUEST)
    }
    assert shelves == {
        "boss": {"mine": ["ada's", "boss's"], "others": [], "asked": ["boss's"], "decided": ["decided"]},
        "ada": {"mine": [], "others": ["ada's"], "asked": ["decided", "ada's"], "decided": ["decided"]},
        "bob": {"mine": [], "others": [], "asked": [], "decided": []},
        "guest": {"mine": [], "others": [], "asked": [], "decided": []},
    }


async def test_pages_follow_each_other(shop: Workshop) -> None:
    made = [await shop.approved("send_email", mail(str(number)), key=str(number)) for number in range(7)]
    assert await _on(shop, BOSS, Shelf.DECIDED) == ["6", "5", "4"]
    assert await _on(shop, BOSS, Shelf.DECIDED, made[4].id) == ["3", "2", "1"]
    assert await _on(shop, ADA, Shelf.ASKED, made[1].id) == ["0"]
    assert await _on(shop, BOSS, Shelf.DECIDED, ProposalId("nothing")) == []


@contextmanager
def _heard() -> Iterator[list[tuple[str, Any]]]:
    heard: list[tuple[str, Any]] = []

    def listen(_c: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool) -> None:
        heard.append((statement, parameters))

    sa.event.listen(sa.Engine, "before_cursor_execute", listen)
    try:
        yield heard
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", listen)


async def _plan(shop: Workshop, shelf: Shelf, reader: Person, before: ProposalId | None) -> list[str]:
    with _heard() as heard:
        await shop.database.read(lambda c: shelved(c, reader, shelf, before, 25))
    statement, parameters = next(each for each in heard if "FROM proposal" in each[0])

    def explain(connection: sa.Connection) -> list[str]:
        return [row.detail for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)]

    return await shop.database.read(explain)


@pytest.mark.parametrize("reader", [BOSS, ADA], ids=["principal", "member"])
@pytest.mark.parametrize("shelf", list(Shelf))
async def test_each_shelf_is_read_along_an_index(shop: Workshop, shelf: Shelf, reader: Person) -> None:
    found = await _plan(shop, shelf, reader, ProposalId("x") if shelf in (Shelf.ASKED, Shelf.DECIDED) else None)
    first = next(each for each in found if each.startswith(("SEARCH proposal", "SCAN proposal")))
    wanted = {
        Shelf.MINE: "ix_proposal_open",
        Shelf.OTHERS: "ix_proposal_open",
        Shelf.ASKED: "ix_proposal_asked_by",
        Shelf.DECIDED: "INTEGER PRIMARY KEY",  # backwards from `before` on
    }[shelf]
    assert wanted in first, found
    assert shelf in (Shelf.MINE, Shelf.OTHERS) or not any("TEMP B-TREE" in each for each in found), found


async def test_a_card_takes_the_same_few_statements_whatever_was_decided(shop: Workshop) -> None:
    asked = []
    for number in range(6):
        await shop.approved("send_email", mail(str(number)), key=str(number))
        with _heard() as heard:
            await shop.database.read(lambda c: reliability.card(c, "send_email"))
        asked.append(len([each for each in heard if "proposal_event" in each[0]]))
    assert asked == [3] * 6
