"""What a person just did is taken back whole, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from datetime import date, timedelta
from typing import Any

import pytest

from bot.audit.events import Actor
from bot.memory import reverting, verify
from bot.memory.model import Claim, ConflictError, Held, Kind, Op, Status, Work
from bot.memory.moves import Move
from bot.memory.reading import Filter
from bot.memory.reverting import Step
from bot.memory.rows import CHANGEABLE, told, values_of
from tests.memory.claims import claim
from tests.memory.desk import MINUTE, Desk, person

AFTER = {"version", "touched_at", "retired_at"}
"""What undoing a change does not put back."""


async def act(desk: Desk, who: str, *acts: Callable[[], Any]) -> Step:
    """What is done between: the events of it."""
    first = await desk.rooms.database.read(reverting.newest) + 1
    for each in acts:
        await each()
    return Step(first, await desk.rooms.database.read(reverting.newest))


async def undo(desk: Desk, who: str, step: Step) -> list[Claim]:
    def unit(tx: Any) -> list[Claim]:
        return reverting.revert(Move(tx, desk.rooms.recorder, Actor("person", who), "undone", desk.now), step)

    found = await desk.write(unit)
    desk.rooms.clock.advance(MINUTE)
    return found


def same(one: Claim, other: Claim) -> bool:
    return all(getattr(one, each.name) == getattr(other, each.name) for each in fields(Claim) if each.name not in AFTER)


async def test_every_act_is_taken_back(desk: Desk) -> None:
    room = await desk.room("boss", "ada")
    plan = await desk.said(room, "ada", "Move.", kind=Kind.INITIATIVE, subject="move/plan")
    held = await desk.said(
        room, "ada", "Eve may sign.", status=Status.PENDING, held=(Held.AUTHORITY,), subject="eve/rights"
    )
    acts: list[tuple[str, Claim, tuple[Any, ...]]] = [
        ("correct", plan, ("Move to Rome.",)),
        ("plan", plan, ({"work": Work.ACTIVE, "owner": "bob", "due": date(2026, 5, 1)},)),
        ("promote", plan, ()),
        ("retract", plan, ()),
        ("dispute", plan, ()),
        ("accept", held, ()),
        ("reject", held, ()),
        ("correct", held, ("Eve may sign alone.",)),
    ]
    for name, of, given in acts:
        before = await desk.look(of)
        step = await act(desk, "boss", lambda name=name, of=of, given=given: desk.do("boss", name, of, *given))  # type: ignore[misc]
        assert not same(before, await desk.look(of)), name
        (after,) = await undo(desk, "boss", step)
        assert same(before, after), name
        assert after.version > before.version + 1
    assert (await desk.rooms.database.read(verify.faults)).sound is False  # the messages of these claims are not there
    assert (await desk.rooms.database.read(verify.faults)).gaps == []


async def test_what_else_an_act_moved_is_moved_back(desk: Desk) -> None:
    room = await desk.room("boss", "ada")
    old = await desk.said(room, "ada", "In March.")
    new = await desk.said(room, "ada", "In May.", status=Status.PENDING, held=(Held.OUTRANKED,), messages=("m2",))
    step = await act(desk, "boss", lambda: desk.do("boss", "accept", new))
    assert (await desk.look(old)).status is Status.SUPERSEDED
    await undo(desk, "boss", step)
    assert ((await desk.look(old)).status, (await desk.look(new)).status) == (Status.ACTIVE, Status.PENDING)
    assert (await desk.look(old)).replaced_by is None
    assert (await desk.look(new)).held == (Held.OUTRANKED,)


async def test_a_settled_dispute_is_open_again(desk: Desk) -> None:
    room = await desk.room("boss", "ada", "bob")
    mine = await desk.said(room, "ada", "In March.", status=Status.DISPUTED)
    theirs = await desk.said(room, "bob", "In May.", status=Status.DISPUTED, messages=("m2",))
    step = await act(desk, "boss", lambda: desk.do("boss", "accept", mine))
    assert (await desk.look(theirs)).status is Status.SUPERSEDED
    await undo(desk, "boss", step)
    assert {(await desk.look(each)).status for each in (mine, theirs)} == {Status.DISPUTED}


async def test_a_promotion_that_replaced_another_gives_it_its_place_back(desk: Desk) -> None:
    first = await desk.said(await desk.alone("ada"), "ada", "In March.")
    await desk.do("ada", "promote", first)
    await desk.do("boss", "accept", first)
    second = await desk.said(await desk.room("boss", "ada"), "ada", "In May.", messages=("m2",))
    step = await act(desk, "boss", lambda: desk.do("boss", "promote", second))
    assert (await desk.look(first)).status is Status.SUPERSEDED
    await undo(desk, "boss", step)
    assert await desk.sees(person("bob")) == ["In March."]
    assert (await desk.look(second)).standing


async def test_contrary_words_are_taken_back(desk: Desk) -> None:
    said = await desk.said(await desk.room("ada", "bob"), "ada", "In March.")
    step = await act(desk, "bob", lambda: desk.do("bob", "correct", said, "In May."))
    await undo(desk, "bob", step)
    assert (await desk.look(said)).status is Status.ACTIVE
    assert await desk.sees(person("ada"), wanted=Filter(statuses=(Status.RETRACTED,))) == ["In May."]
    assert [each.op for each in await desk.history(said, person("ada"))] == [Op.WRITTEN, Op.DISPUTED, Op.SETTLED]


async def test_only_ones_own_newest_act_can_be_taken_back_and_not_for_long(desk: Desk) -> None:
    room = await desk.room("boss", "ada")
    said = await desk.said(room, "ada", "In March.")
    step = await act(desk, "ada", lambda: desk.do("ada", "retract", said))
    for who, which in (
        ("boss", step),
        ("ada", Step(step.first - 1, step.last)),
        ("ada", Step(step.first, step.last + 1)),
        ("ada", Step(999, 999)),
    ):
        with pytest.raises(ConflictError):
            await undo(desk, who, which)
    desk.rooms.clock.advance(timedelta(days=2))
    with pytest.raises(ConflictError):
        await undo(desk, "ada", step)
    assert (await desk.look(said)).status is Status.RETRACTED


async def test_what_was_changed_since_is_left_and_so_is_the_rest(desk: Desk) -> None:
    room = await desk.room("boss", "ada")
    one = await desk.said(room, "ada", "In March.")
    step = await act(desk, "ada", lambda: desk.do("ada", "retract", one))
    await desk.do("boss", "restore", one)
    with pytest.raises(ConflictError):
        await undo(desk, "ada", step)
    assert (await desk.look(one)).version == 3


def test_every_field_that_an_event_tells_is_read_back() -> None:
    from tests.clock import START

    of = claim(START, owner="bob", due=date(2026, 5, 1), valid_from=START, status=Status.PENDING, held=(Held.PAYMENT,))
    assert values_of(told(of)) == {name: getattr(of, name) for name in sorted(CHANGEABLE)}
