"""What is offered for a memory can be done to it: by a principal, from wherever it stands."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from bot.kernel.ids import SessionId
from bot.memory.model import Claim, Held, Kind, Source, Status, Visibility, Work
from bot.memory.rights import Act, No, possible
from tests.memory.desk import CountingEraser, Desk

STATES: dict[str, dict[str, Any]] = {
    "waits": {"status": Status.PENDING, "held": (Held.AUTHORITY,)},
    "stands": {},
    "is disputed": {"status": Status.DISPUTED},
    "is the company's": {"visibility": Visibility.COMPANY},
    "is asked for": {"promotion_by": "ada"},
    "was deleted": {"source": Source.DELETED},
    "is an initiative": {"kind": Kind.INITIATIVE, "work": Work.PROPOSED},
}
USES = {Act.SETTLE: "accept", Act.DECLINE: "reject"}
GIVEN: dict[Act, tuple[Any, ...]] = {
    Act.CORRECT: ("In May.",),
    Act.PLAN: ({"work": Work.ACTIVE, "due": date(2026, 5, 1)},),
    Act.FORGET: (CountingEraser(),),
}


async def _there(desk: Desk, room: SessionId, state: str, number: int) -> Claim:
    return await desk.said(
        room, "ada", "In March.", subject=f"{state}/{number}", messages=(f"m{number}",), **STATES[state]
    )


@pytest.mark.parametrize("state", [*STATES, "is retracted"])
async def test_every_act_that_is_possible_is_done(desk: Desk, state: str) -> None:
    retracted, room = state == "is retracted", await desk.room("boss", "ada")

    async def one(number: int) -> Claim:
        made = await _there(desk, room, "stands" if retracted else state, number)
        return (await desk.do("boss", "retract", made)).claim if retracted else made

    acts = possible(await one(0))
    assert Act.FORGET in acts
    for number, act in enumerate(acts, 1):
        of = await one(number)
        await desk.do("boss", USES.get(act, act.value), of, *GIVEN.get(act, ()))
    by = await desk.by("boss")
    left = await one(99)
    verdicts = await desk.rooms.database.read(lambda c: desk.memories.verdicts(c, by, left))
    assert tuple(verdicts) == acts
    assert not any(isinstance(each, No) for each in verdicts.values())
