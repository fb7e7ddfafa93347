"""The plan of faults, its gates, and the record."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.fakes.faults import ANY, FAULTS, Answer, CutAfter, CutBefore, Delay, FaultPlan, Record, Recorded, Twice


def test_entries_are_taken_in_order_and_the_named_endpoint_goes_first() -> None:
    plan = FaultPlan()
    plan.plan("send", CutBefore(), times=2)
    plan.plan("send")
    plan.plan("send", Delay(1), CutAfter())
    plan.plan(ANY, Twice())
    assert plan.take("edit") == (Twice(),)
    assert [plan.take("send") for _ in range(5)] == [
        (CutBefore(),),
        (CutBefore(),),
        (),
        (Delay(1), CutAfter()),
        (),
    ]


def test_faults_survive_json() -> None:
    faults = (Delay(gate="g", when="after"), CutBefore(), CutAfter(), Answer(429, retry_after=3), Twice())
    assert FAULTS.validate_python(json.loads(FAULTS.dump_json(faults))) == faults


async def test_a_gate_holds_until_released_and_stays_open() -> None:
    plan = FaultPlan()
    held = (Delay(gate="g", when="after"),)
    await plan.hold(held, "before")
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(plan.hold(held, "after"))
        await plan.gate("g").reached.wait()
        assert not waiting.done()
        plan.gate("g").release()
    await plan.hold(held, "after")


async def test_clear_lets_all_through_and_forgets() -> None:
    plan = FaultPlan()
    plan.dark = True
    plan.plan("send", CutBefore())
    async with asyncio.TaskGroup() as group:
        group.create_task(plan.hold((Delay(gate="g"),), "before"))
        await plan.gate("g").reached.wait()
        plan.clear()
    assert (plan.take("send"), plan.dark, plan.gate("g").reached.is_set()) == ((), False, False)


async def test_a_record_wakes_who_waits_for_it(tmp_path: Path) -> None:
    record = Record("request", tmp_path / "log", keep=2)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(record.wait(3, "send"))
        record.add("send", {"n": 1}, b"\xff")
        record.add("edit", {"n": 2})
        record.add("send", {"n": 3})
        assert not waiting.done()
        last = record.add("send", {"n": 4}, b"\x00raw", {"H": "v"})
    assert [entry.body["n"] for entry in waiting.result()] == [3, 4]
    assert (record.count("send"), record.count(), len(record)) == (3, 4, 2)
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [line.pop("kind") for line in lines] == ["request"] * 4
    assert Recorded.from_json(lines[-1]) == last
    with pytest.raises(TimeoutError):
        await record.wait(9, timeout=0.01)
