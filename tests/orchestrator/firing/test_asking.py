"""Check-ins, follow-ups and nudges: each asks the right person about the right things, and not again and again."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from bot.kernel.ids import PersonId
from bot.memory.model import Held, Status, Work
from bot.memory.model import Kind as Memory
from bot.people import store as people
from bot.people.model import Change, Person
from bot.scheduler.model import Kind, Run
from tests.orchestrator.firing.desk import ADA, BOSS, DAY, Firing
from tests.orchestrator.office import Office


async def change(office: Office, person: Person) -> None:
    changes = [Change(person, "updated")]
    await office.database.write(lambda tx: people.apply(tx, office.recorder, changes, office.clock.now()))


async def test_a_check_in_is_about_its_department_and_no_other(firing: Firing) -> None:
    await firing.remembered("The sales site is built.", kind=Memory.INITIATIVE, department="sales")
    await firing.remembered("The contract is drafted.", kind=Memory.INITIATIVE, department="legal")
    await firing.remembered("Nobody's plan.", kind=Memory.INITIATIVE, department=None)
    await firing.remembered("Sales sells.", department="sales")
    await firing.remembered("Sold out.", kind=Memory.INITIATIVE, department="sales", work=Work.COMPLETED)
    await firing.make(Kind.CHECK_IN, owner=BOSS, department="sales")
    await firing.fire()
    text = "\n".join(firing.said)
    assert text.startswith("test:dm:1:")
    assert "The sales site is built." in text
    assert not any(other in text for other in ("contract", "Nobody", "sells", "Sold out"))


async def test_a_check_in_says_nothing_without_open_initiatives_or_to_who_has_left_the_department(
    firing: Firing,
) -> None:
    of_sales = replace(ADA, departments=("sales",))
    await change(firing.office, of_sales)
    await firing.make(Kind.CHECK_IN, owner=of_sales, department="sales")
    (fired,) = await firing.fire()
    assert (fired.run, fired.note) == (Run.NOTHING, "no initiative of the department is open")
    await firing.remembered("The sales site is built.", kind=Memory.INITIATIVE, department="sales")
    await change(firing.office, ADA)
    (fired,) = await firing.fire()
    assert (fired.run, fired.note) == (Run.NOTHING, "its owner is not of sales any more")
    assert firing.said == []


async def test_a_promise_is_followed_up_when_it_is_due_and_not_again_at_once(firing: Firing) -> None:
    due = firing.office.clock.now().date() + timedelta(days=2)
    ada = {"kind": Memory.INITIATIVE, "owner": PersonId("ada"), "due": due}
    await firing.remembered("Ada writes the plan.", **ada)
    await firing.remembered("Ada paints the wall.", **{**ada, "due": due + timedelta(days=30)})
    await firing.remembered("Bob writes the plan.", **{**ada, "owner": PersonId("bob")})
    await firing.make(Kind.COMMITMENT)
    runs = [(await firing.fire())[0].run for _ in range(4)]
    assert runs == [Run.DONE, Run.NOTHING, Run.NOTHING, Run.DONE]
    text = "\n".join(firing.said)
    assert text.count("Ada writes the plan. (due Wednesday 2026-03-04)") == 1
    assert text.count("Ada writes the plan. (due Wednesday 2026-03-04 – overdue)") == 1
    assert not any(other in text for other in ("paints", "Bob"))


async def test_a_nudge_names_what_waits_once_until_it_changes_or_has_cooled_down(firing: Firing) -> None:
    waits = {"status": Status.PENDING, "held": (Held.AUTHORITY,), "speaker": "ada"}
    await firing.make(Kind.NUDGE)
    runs = [(await firing.fire())[0].run]
    await firing.remembered("Ben may sign.", **waits)
    runs += [(await firing.fire())[0].run for _ in range(2)]
    await firing.remembered("Ben may pay.", **waits)
    runs += [(await firing.fire())[0].run for _ in range(3)]
    assert runs == [Run.NOTHING, Run.DONE, Run.NOTHING, Run.DONE, Run.NOTHING, Run.DONE]


async def test_what_may_wait_is_not_said_in_quiet_hours(firing: Firing) -> None:
    sleeper = replace(ADA, quiet_hours=("08:00", "10:00"))
    await change(firing.office, sleeper)
    await firing.remembered("Ben may sign.", status=Status.PENDING, held=(Held.AUTHORITY,), speaker="ada")
    await firing.make(Kind.NUDGE, owner=sleeper)
    (fired,) = await firing.fire(DAY)
    assert (fired.run, fired.note, firing.said) == (Run.NOTHING, "quiet hours", [])
