"""Briefs: what is new since the last one that arrived, within the reader's own scope, and never too often."""

from __future__ import annotations

from datetime import timedelta

from bot.kernel.errors import PermanentError
from bot.kernel.ids import PersonId, SessionId
from bot.llm.budget import Limit, Limits
from bot.memory.model import Held, Status, Visibility
from bot.memory.model import Kind as Memory
from bot.scheduler.model import Cron, Delivery, Kind, Run
from tests.orchestrator.firing.desk import BOB, DAILY, DAY, Firing


async def test_without_anything_new_one_line_says_so_and_no_model_is_asked(firing: Firing) -> None:
    await firing.make(Kind.MORNING_BRIEF)
    (fired,) = await firing.fire()
    assert (fired.run, fired.delivery, fired.note) == (Run.DONE, Delivery.SENT, "nothing new")
    assert len(firing.said) == 1
    assert "Nothing is new since Monday 2026-03-02 09:00 (UTC)." in firing.said[0]
    assert firing.office.model.asked == []


async def test_what_is_new_comes_with_an_opening_that_counts_on_the_budget_of_scheduled_work(firing: Firing) -> None:
    office = firing.office
    await firing.make(Kind.MORNING_BRIEF)
    office.clock.advance(timedelta(hours=1))
    await firing.remembered("The launch moves to May.", owner=PersonId("ada"), due=None)
    office.model.answer = lambda request: "May it is."
    (fired,) = await firing.fire(DAY - timedelta(hours=1))
    text = "\n".join(firing.said)
    assert "May it is." in text
    assert "The launch moves to May." in text
    assert fired.delivery is Delivery.SENT
    spent = await office.database.read(lambda c: c.exec_driver_sql("SELECT person_id, scheduled FROM spend").all())
    assert [tuple(row) for row in spent] == [("ada", 1)]


async def test_over_budget_the_lines_stand_alone(firing: Firing) -> None:
    firing.office.meter._limits = Limits({Limit.SCHEDULED: 0}, 0.8)
    await firing.make(Kind.MORNING_BRIEF)
    firing.office.clock.advance(timedelta(hours=1))
    await firing.remembered("The launch moves to May.")
    (fired,) = await firing.fire(DAY - timedelta(hours=1))
    assert firing.office.model.asked == []
    assert fired.run is Run.DONE
    assert any("The launch moves to May." in each for each in firing.said)


async def test_new_is_what_came_since_the_last_one_that_arrived(firing: Firing) -> None:
    office = firing.office
    office.model.answer = lambda request: PermanentError("no model")
    await firing.make(Kind.MORNING_BRIEF)
    office.clock.advance(timedelta(hours=1))
    await firing.remembered("First.")
    await firing.fire(DAY - timedelta(hours=1))
    assert any("First." in each for each in firing.said)
    office.clock.advance(timedelta(hours=1))
    await firing.remembered("Second.")
    before = len(firing.said)
    for line in ("**New or changed**",):
        office.channel.sends[line] = [PermanentError("blocked")]
    (lost,) = await firing.fire(DAY - timedelta(hours=1))
    assert lost.delivery is Delivery.UNCERTAIN
    before = len(firing.said)
    (again,) = await firing.fire(DAY)
    fresh = "\n".join(firing.said[before:])
    assert ("Second." in fresh, "First." in fresh, again.delivery) == (True, False, Delivery.SENT)


async def test_a_brief_shows_what_its_reader_may_see_and_no_more(firing: Firing) -> None:
    await firing.make(Kind.MORNING_BRIEF, owner=BOB)
    firing.office.clock.advance(timedelta(hours=1))
    await firing.remembered("Ada is leaving.", visibility=Visibility.SESSION, session=SessionId("of-ada"))
    await firing.remembered("We launch in May.")
    await firing.fire(DAY - timedelta(hours=1))
    text = "\n".join(firing.said)
    assert ("We launch in May." in text, "Ada is leaving" in text) == (True, False)


async def test_what_is_due_and_what_waits_stands_in_it(firing: Firing) -> None:
    now = firing.office.clock.now()
    await firing.remembered(
        "Ada writes the plan.", kind=Memory.INITIATIVE, owner=PersonId("ada"), due=now.date() + timedelta(days=3)
    )
    await firing.remembered("Ben may sign.", status=Status.PENDING, held=(Held.AUTHORITY,), speaker="ada")
    firing.office.model.answer = lambda request: PermanentError("no model")
    await firing.make(Kind.EVENING_BRIEF)
    await firing.fire()
    text = "\n".join(firing.said)
    assert "Ada writes the plan. (due Thursday 2026-03-05)" in text
    assert "Ben may sign." in text


async def test_no_more_than_two_messages_a_day_come_unasked(firing: Firing) -> None:
    for kind, hour in ((Kind.MORNING_BRIEF, 6), (Kind.EVENING_BRIEF, 7), (Kind.WEEKLY_REVIEW, 8)):
        await firing.make(kind, rule=Cron(f"0 {hour} * * *"))
    await firing.make(text="stand up", rule=DAILY)
    await firing.make(Kind.MORNING_BRIEF, rule=Cron("0 8 * * *"), owner=BOB)
    found = [await firing.fire(timedelta(hours=hours)) for hours in (21, 1, 1, 1)]
    assert [[each.run for each in fired] for fired in found] == [
        [Run.DONE], [Run.DONE], [Run.NOTHING, Run.DONE], [Run.DONE]
    ]  # fmt: skip
    assert found[2][0].note == "enough was said unasked today"
    (morning,) = await firing.fire(timedelta(hours=21))
    assert morning.run is Run.DONE
