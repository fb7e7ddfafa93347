"""What a person finds who looks for something: what is believed, of all that they may see, best first."""

from __future__ import annotations

import pytest

from bot.memory import recall
from bot.memory.model import Kind
from bot.memory.reading import EVERYTHING, Filter
from bot.memory.recall import Recall
from tests.memory.desk import Desk, person
from tests.memory.ranker import Words


async def _finds(desk: Desk, who: str, query: str, wanted: Filter = EVERYTHING) -> list[str]:
    looking = Recall(desk.rooms.database, Words(desk.rooms.database), 1_000)
    return [each.claim.statement for each in await looking.best(person(who), query, wanted, 10)]


async def test_a_person_finds_what_was_said_where_they_were_and_what_the_company_sees(desk: Desk) -> None:
    await desk.said(await desk.alone("ada"), "ada", "The zebra is mine.")
    await desk.said(await desk.room("ada", "bob"), "bob", "The zebra is ours.", messages=("m2",))
    shown = await desk.said(await desk.alone("bob"), "bob", "The zebra is everyone's.", messages=("m3",))
    await desk.do("bob", "promote", shown)
    await desk.do("boss", "accept", shown)
    assert set(await _finds(desk, "ada", "zebra")) == {
        "The zebra is mine.", "The zebra is ours.", "The zebra is everyone's.",
    }  # fmt: skip
    assert set(await _finds(desk, "bob", "zebra")) == {"The zebra is ours.", "The zebra is everyone's."}
    assert await _finds(desk, "guest", "zebra") == []


async def test_only_what_is_believed_is_found_and_filters_hold(desk: Desk) -> None:
    room = await desk.alone("ada")
    gone = await desk.said(room, "ada", "The zebra is red.")
    await desk.said(room, "ada", "The zebra is green.", kind=Kind.FACT, subject="zebra/colour", messages=("m2",))
    await desk.do("ada", "retract", gone)
    assert await _finds(desk, "ada", "zebra") == ["The zebra is green."]
    assert await _finds(desk, "ada", "zebra", Filter(kinds=(Kind.DECISION,))) == []


async def test_who_came_later_does_not_find_what_was_said_before(desk: Desk) -> None:
    session = await desk.room("boss", "ada")
    await desk.said(session, "ada", "The zebra left.")
    await desk.rooms.see(["1", "2", "3"], 4, key="test:group")
    await desk.said(session, "ada", "The zebra is back.", subject="zebra/place", messages=("m2",))
    assert await _finds(desk, "bob", "zebra") == ["The zebra is back."]


async def test_of_many_conversations_the_newest_are_searched(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "MOST_SPACES", 1)
    await desk.said(await desk.alone("ada"), "ada", "The zebra was first.")
    await desk.said(await desk.room("ada", "bob"), "ada", "The zebra was last.", messages=("m2",))
    assert await _finds(desk, "ada", "zebra") == ["The zebra was last."]
