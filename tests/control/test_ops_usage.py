"""What was spent, as the operator sees it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bot.control.wire import MalformedError
from bot.kernel.ids import PersonId, SessionId
from bot.llm import spending
from bot.llm.budget import Purpose, Spender, local_day
from bot.llm.model import Usage
from bot.llm.spending import Line
from tests.control.desk import Desk


async def spend(desk: Desk, number: int, person: str | None, days_ago: int = 0) -> None:
    at = desk.clock.now() - timedelta(days=days_ago)
    spender = Spender("t", PersonId(person) if person else None, SessionId("s"))
    usage = Usage(100, 10)
    line = Line(f"l{number}", at, local_day(at, "Europe/Berlin"), spender, Purpose.ANSWER, "m", usage, 750, False)
    await desk.database.write(lambda tx: spending.add(tx, line))


async def summed(desk: Desk, **fields: object) -> list[dict[str, Any]]:
    lines = (await desk.ask("usage", **fields))["lines"]
    assert isinstance(lines, list)
    return lines


async def test_it_is_summed_up_by_person_with_names(desk: Desk) -> None:
    await spend(desk, 1, "anna")
    await spend(desk, 2, "anna", days_ago=3)
    await spend(desk, 3, None)
    lines = {(line["key"], line["name"]): line for line in await summed(desk, by="person")}
    assert lines["anna", "Anna"]["calls"] == 2
    assert lines["anna", "Anna"]["micros"] == 1_500
    assert lines["", None]["calls"] == 1


async def test_only_the_days_that_are_asked_for(desk: Desk) -> None:
    await spend(desk, 1, "anna")
    await spend(desk, 2, "anna", days_ago=3)
    assert [line["calls"] for line in await summed(desk, by="day", days=2)] == [1]


@pytest.mark.parametrize("fields", [{"by": "colour"}, {"days": 0}])
async def test_what_cannot_be_asked_is_told(desk: Desk, fields: dict[str, object]) -> None:
    with pytest.raises(MalformedError):
        await desk.ask("usage", **fields)
