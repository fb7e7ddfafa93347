"""A question put beforehand comes in like a message of its owner, once, and is answered by an ordinary turn."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from bot.gateway.events import PlaceKind
from bot.kernel.ids import JobId
from bot.llm.budget import Limit, Limits
from bot.llm.model import Usage
from bot.llm.tables import spend
from bot.orchestrator.firing.questions import key_of
from bot.scheduler import store
from bot.scheduler.model import Delivery, Job, Once, Run
from bot.scheduler.model import Kind as Kinds
from tests.clock import START
from tests.intake import events
from tests.orchestrator.firing.desk import DAY, Firing
from tests.orchestrator.office import PATIENCE

ASKED = "tell me how the pipeline stands"


async def delivery(firing: Firing, job: Job) -> Delivery:
    await firing.follow()
    (found,) = await firing.office.database.read(lambda c: store.history(c, job.id, 5))
    return found.delivery


async def test_it_is_answered_alone_by_a_turn_and_its_delivery_is_followed(firing: Firing) -> None:
    office = firing.office
    office.model.answer = lambda request: "Three deals are open."
    job = await firing.make(Kinds.QUESTION, ASKED, Once(START + DAY))
    await firing.fire()
    assert (await office.said(1))[0] == "Three deals are open."
    await office.ended("answered")
    assert office.channel.tried[0].thread == "test:dm:2"
    assert ASKED in office.prompted()
    await firing.follow()
    assert await delivery(firing, job) is Delivery.SENT


async def test_it_goes_on_in_the_private_conversation_that_there_is(firing: Firing) -> None:
    rooms, office = firing.office.rooms, firing.office
    await rooms.see(["2"], key="test:dm:2", kind=PlaceKind.DIRECT, title="ada")
    session = await rooms.open("test:dm:2", place="test:dm:2")
    await firing.make(Kinds.QUESTION, ASKED, Once(START + DAY), session=session)
    await firing.fire()
    await office.said(1)
    await office.ended("answered")
    turns = await office.database.read(lambda c: c.exec_driver_sql("SELECT session_id FROM turn").scalars().all())
    assert list(turns) == [session]


async def test_asked_for_in_a_room_it_is_answered_alone_all_the_same(firing: Firing) -> None:
    await firing.office.rooms.see(["2", "3"], 3)
    session = await firing.office.rooms.open("test:room:thread")
    await firing.make(Kinds.QUESTION, ASKED, Once(START + DAY), session=session)
    await firing.fire()
    await firing.office.said(1)
    assert firing.office.channel.tried[0].thread == "test:dm:2"


async def test_it_counts_on_the_budget_of_scheduled_work(firing: Firing) -> None:
    await firing.make(Kinds.QUESTION, ASKED, Once(START + DAY))
    await firing.fire()
    await firing.office.ended("answered")
    rows = await firing.office.database.read(lambda c: c.execute(sa.select(spend.c.person_id, spend.c.scheduled)).all())
    assert [tuple(row) for row in rows] == [("ada", True)]


async def test_fired_again_by_another_process_it_comes_in_once(firing: Firing) -> None:
    job = await firing.make(Kinds.QUESTION, ASKED, Once(START + DAY))
    firing.office.clock.advance(DAY)
    (claimed,), _ = await firing.worker.look()
    handler = firing.worker._handlers[Kinds.QUESTION]
    await handler(claimed)
    await firing.worker.fire(claimed)
    await firing.office.ended("answered")
    assert len(await firing.office.rows()) == 1
    assert await firing.office.outbox.drain(timedelta(seconds=PATIENCE))
    await firing.follow()
    assert await delivery(firing, job) is Delivery.SENT


class _Trap:
    """Whoever reads errands out of people's words."""

    async def errand(self, *given: object) -> None:
        raise AssertionError("a scheduled question is read for errands")


@pytest.mark.parametrize("words", ["yes", "/new", "/keep"])
async def test_its_words_decide_nothing_and_command_nothing(firing: Firing, words: str) -> None:
    office = firing.office
    for name in ("_verdicts", "_keeping"):
        setattr(office.lanes._steps, name, _Trap())
    await firing.make(Kinds.QUESTION, words, Once(START + DAY))
    await firing.fire()
    await office.ended("answered")
    assert words in office.prompted()


async def test_no_memory_is_read_out_of_it(firing: Firing) -> None:
    office = firing.office
    office.reads = True
    await office.close()
    await office.open()
    again = Firing(office)
    await again.make(Kinds.QUESTION, "We launch in March. What is next?", Once(START + DAY))
    await again.fire()
    await office.ended("answered")
    queued = await office.database.read(
        lambda c: c.exec_driver_sql("SELECT count(*) FROM task WHERE kind = 'memory.extract'").scalar()
    )
    assert queued == 0


async def test_a_turn_that_fails_is_a_failed_delivery_of_a_run_that_went_well(firing: Firing) -> None:
    firing.office.model.answer = lambda request: RuntimeError("broken")
    job = await firing.make(Kinds.QUESTION, ASKED, Once(START + DAY))
    (fired,) = await firing.fire()
    assert fired.run is Run.DONE

    async def parked() -> bool:
        firing.office.clock.advance(timedelta(minutes=10))
        return [state for _, state in await firing.office.rows()] == ["parked"]

    for _ in range(50):
        if await parked():
            break
        await firing.office.clock.next_sleep()
    assert await delivery(firing, job) is Delivery.FAILED


def test_the_identity_is_that_of_the_occurrence() -> None:
    assert key_of(JobId("j"), START) != key_of(JobId("j"), START + DAY)
    assert key_of(JobId("j"), START) == f"schedule:j:{int(START.timestamp()) * 1_000_000}"


async def test_a_day_has_a_cap_of_its_own_for_what_nobody_asked_just_now(firing: Firing) -> None:
    office = firing.office
    office.model.usage = Usage(4_000, 500)
    office.meter._limits = Limits({Limit.SCHEDULED: 40_000}, 0.8)  # `budget.scheduled`, in millionths of a dollar
    for hour in (1, 2, 25):
        await firing.make(Kinds.QUESTION, ASKED, Once(START + timedelta(hours=hour)))
    await firing.fire(timedelta(hours=1))
    await office.ended("answered")
    await firing.fire(timedelta(hours=1))
    await office.ended("answered", "refused")
    assert "the budget for scheduled work of today is used up" in firing.said[-1]
    await office.hear(replace(events.message("m1", "Hello", by="2"), sent_at=office.clock.now()))
    await office.ended("answered", "refused", "answered")
    await firing.fire(timedelta(hours=23))
    await office.ended("answered", "refused", "answered", "answered")
    assert len(office.model.asked) == 3
