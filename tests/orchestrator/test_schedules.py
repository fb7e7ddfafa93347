"""From what a person says to what is scheduled: by the model's tool and by command; one's own at once, what reaches
others only after a yes. And a person's day."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import cast

import pytest

from bot.app import ledger as wiring
from bot.app import scheduling
from bot.app.opening import Store
from bot.audit.recorder import Recorder
from bot.gateway.channel import Channel
from bot.kernel.ids import PersonId
from bot.ledger import store as proposals
from bot.ledger.model import Proposal, State, Verdict
from bot.llm.model import Request, Text, ToolResult, ToolUse
from bot.memory.model import Held, Status, Visibility
from bot.memory.model import Kind as Memory
from bot.memory.service import Eraser
from bot.orchestrator.arranging import Arranging
from bot.orchestrator.scheduling import Scheduler
from bot.outbox.service import Outbox
from bot.people.model import Person
from bot.scheduler import store
from bot.scheduler.model import Job, JobState, Kind, Once
from bot.scheduler.service import LIVE, Schedules
from bot.storage.database import Database
from config.schema import Settings
from tests.clock import START, FakeClock
from tests.intake.events import GROUP, message
from tests.memory.claims import claim, written
from tests.orchestrator.office import Office, Said
from tests.orchestrator.test_lanes import greeted
from tests.orchestrator.test_memories import Talk
from tests.sessions.rooms import PEOPLE, Rooms

BOSS, ADA, BOB, GUEST = PEOPLE
TWO_MINUTES = timedelta(minutes=2)


class Desk(Talk):
    """`result`: what the tool told the model."""

    result = ""

    def wants(self, **arguments: object) -> None:
        """The model calls the tool once, then says so."""

        def answer(request: Request) -> Said:
            for block in request.messages[-1].content:
                if isinstance(block, ToolResult):
                    self.result = block.text
                    return "Understood."
            return [Text("One moment."), ToolUse("t1", "schedule", arguments)]

        self.office.model.answer = answer

    async def jobs(self, who: Person = ADA) -> list[Job]:
        states = (*LIVE, JobState.REMOVED)
        return await self.office.database.read(lambda c: store.of_owner(c, who.id, states))

    async def proposal(self) -> Proposal:
        return (await self.office.database.read(lambda c: proposals.newest(c, 1)))[0]


@pytest.fixture
async def desk(database: Database, recorder: Recorder, clock: FakeClock) -> AsyncIterator[Desk]:
    rooms = Rooms(database, recorder, clock)
    await rooms.add_people(*PEOPLE)
    built = Store(database, recorder, clock, b"k" * 32)

    def decides(outbox: Outbox, channels: Mapping[str, Channel]) -> wiring.Room:
        actions = scheduling.actions(built)
        room = wiring.build(built, Settings(), outbox, channels, lambda: cast("Eraser", None), lambda: None, actions)
        tools = Scheduler(database, Arranging(Schedules(recorder), room.ledger), lambda: None).tools()
        return replace(room, tools=[*room.tools, *tools])

    office = Office(database, recorder, clock, rooms, decides=decides)
    await office.open()
    await greeted(office, "1", "2", "3", "4")
    yield Desk(office)
    await office.close()


# --- the tool ---------------------------------------------------------------------------------------------------------


async def test_a_reminder_to_oneself_is_stored_with_the_answer_which_says_when_and_how_to_undo_it(desk: Desk) -> None:
    desk.wants(request="remind me in two minutes to call Ben")
    answer = await desk.ask("remind me in two minutes to call Ben", by="2")
    (job,) = await desk.jobs()
    assert (job.kind, job.payload["text"], job.rule) == (Kind.REMINDER, "call Ben", Once(START + TWO_MINUTES))
    assert answer.startswith("Understood.")
    assert "Scheduled – reminder: call Ben – once, Monday 2026-03-02 09:02" in answer
    assert f"`/schedule undo {job.id[-6:]}` takes it back" in answer
    assert [each.actor_kind for each in await desk.office.audited("schedule_created")] == ["model"]


async def test_the_next_three_dates_of_what_comes_again_are_told(desk: Desk) -> None:
    desk.wants(kind="morning_brief", when="every weekday at 8:30")
    answer = await desk.ask("please", by="2")
    assert (
        "morning brief – every weekday at 08:30 (UTC); next: Tuesday 2026-03-03 08:30, Wednesday 2026-03-04 08:30, "
        "Thursday 2026-03-05 08:30 (UTC)"
    ) in answer


async def test_what_is_unclear_comes_back_to_the_model_and_nothing_is_stored(desk: Desk) -> None:
    desk.wants(request="remind me at 3 to eat")
    await desk.ask("remind me at 3 to eat", by="2")
    assert desk.result == "Do you mean 03:00 or 15:00? Say it like that."
    desk.wants(request="we meet on Friday")
    await desk.ask("we meet on Friday", by="2")
    assert desk.result.startswith("I cannot read that as something to schedule")
    desk.wants(text="eat")
    await desk.ask("remind me", by="2")
    assert desk.result.startswith("say when")
    assert await desk.jobs() == []


async def test_a_turn_that_is_not_answered_schedules_nothing(desk: Desk) -> None:
    def answer(request: Request) -> Said | Exception:
        if any(isinstance(block, ToolResult) for block in request.messages[-1].content):
            return RuntimeError("broken after the tool")
        return [ToolUse("t1", "schedule", {"request": "remind me in two minutes to call Ben"})]

    desk.office.model.answer = answer
    await desk.office.hear(message("k", "x", by="2"))
    await desk.office.model.until(asked=2)
    assert await desk.jobs() == []


async def test_what_reaches_somebody_else_is_proposed_with_its_dates_and_fires_only_after_the_yes(desk: Desk) -> None:
    desk.wants(request="ask Bob on Friday whether the lease is signed")
    answer = await desk.ask("ask Bob on Friday whether the lease is signed", by="2")
    assert await desk.jobs() == []
    assert "waits for a yes from boss" in answer
    assert "Friday 2026-03-06 09:00" in answer
    made = await desk.proposal()
    assert (made.action, made.asked_by, made.state) == ("create_schedule", "ada", State.PROPOSED)
    assert made.final["text"] == "ada asks: whether the lease is signed"
    room = desk.office.room
    assert room is not None
    now = desk.office.clock.now()
    await desk.office.database.write(
        lambda tx: room.ledger.vote(tx, made.id, BOSS, Verdict.APPROVE, made.hash, "test", now)
    )
    room.ring()

    async def done() -> bool:
        return (await desk.proposal()).state is State.EXECUTED

    await desk.office.until(done)
    (job,) = await desk.jobs()
    assert (job.payload["for"], job.payload["text"]) == ("bob", "ada asks: whether the lease is signed")


@pytest.mark.parametrize("named", ["Nobody", "b"])
async def test_whoever_is_not_known_gets_nothing(desk: Desk, named: str) -> None:
    desk.wants(kind="reminder", text="hi", when="tomorrow at 9", to=named)
    await desk.ask("please", by="2")
    assert desk.result == f"I know nobody called {named}"


async def test_guests_schedule_nothing(desk: Desk) -> None:
    desk.wants(request="remind me in two minutes to call Ben")
    await desk.office.hear(message("k", "x", by="4"))
    await desk.office.until(lambda: _said(desk))
    assert desk.result == "Only people of the company can have something scheduled."
    assert await desk.jobs(GUEST) == []


async def _said(desk: Desk) -> bool:
    return bool(desk.result)


async def test_one_answer_schedules_so_much_and_no_more(desk: Desk) -> None:
    calls = [ToolUse(f"t{number}", "schedule", {"text": f"n{number}", "when": "tomorrow at 9"}) for number in range(7)]

    def answer(request: Request) -> Said:
        if any(isinstance(block, ToolResult) for block in request.messages[-1].content):
            return "Done."
        return calls

    desk.office.model.answer = answer
    await desk.ask("please", by="2")
    assert len(await desk.jobs()) == 5


# --- the command ------------------------------------------------------------------------------------------------------


async def test_a_sentence_behind_the_command_is_scheduled_without_a_model(desk: Desk) -> None:
    answer = await desk.say("schedule", "remind me in two minutes to call Ben", by="2")
    (job,) = await desk.jobs()
    assert job.id[-6:] in answer
    assert desk.office.model.asked == []
    assert "call Ben" in await desk.say("schedule", by="2")


async def test_what_was_made_is_paused_resumed_removed_and_brought_back_by_its_name(desk: Desk) -> None:
    answer = await desk.say("schedule", "nudge every weekday at 14:00", by="2")
    name = re.findall(r"undo (\w{6})", answer)[0]
    assert (await desk.say("schedule", f"pause {name}", by="2")).startswith("Paused: nudge")
    assert "paused: its owner paused it" in await desk.say("schedule", "list", by="2")
    assert "next Monday 2026-03-02 14:00" in await desk.say("schedule", f"resume {name}", by="2")
    assert (await desk.say("schedule", f"remove {name}", by="2")).startswith("Removed: nudge")
    assert (await desk.say("schedule", by="2")).startswith("Nothing is scheduled.")
    assert "14:00" in await desk.say("schedule", f"undo {name}", by="2")
    assert [job.state for job in await desk.jobs()] == [JobState.ACTIVE]


async def test_nobody_sees_or_changes_what_is_somebody_elses(desk: Desk) -> None:
    answer = await desk.say("schedule", "remind me tomorrow at 9 to call Kim", by="2")
    name = re.findall(r"undo (\w{6})", answer)[0]
    assert "call Kim" not in await desk.say("schedule", by="3")
    assert await desk.say("schedule", f"remove {name}", by="3") == (
        f"No schedule of yours is called `{name}`: `/schedule` lists them."
    )


async def test_in_a_room_only_what_was_made_there_is_shown_and_changed(desk: Desk) -> None:
    await desk.office.rooms.see(["2", "3"], 3)
    answer = await desk.say("schedule", "remind me tomorrow at 9 to fire Bob", by="2")
    name = re.findall(r"undo (\w{6})", answer)[0]
    await desk.say("schedule", "remind me tomorrow at 10 to greet Bob", by="2", thread=GROUP)
    shown = await desk.say("schedule", by="2", thread=GROUP)
    assert ("greet Bob" in shown, "fire Bob" in shown) == (True, False)
    refused = await desk.say("schedule", f"pause {name}", by="2", thread=GROUP)
    assert refused == "That one was not made here: tell me alone."


async def test_what_cannot_be_read_is_said(desk: Desk) -> None:
    assert "I cannot read that" in await desk.say("schedule", "something nice", by="2")
    assert await desk.say("schedule", "check-in sales every Monday at 10", by="2") == (
        "A check-in on sales is for its own people and for principals."
    )


async def test_a_principal_stops_and_starts_all_firing_alone_with_the_executive(desk: Desk) -> None:
    assert (await desk.say("schedule", "stop moving house", by="2")).startswith("Only a principal")
    assert (await desk.say("schedule", "stop moving house", by="1")).startswith("No schedule fires")
    assert "Nothing fires at the moment: moving house" in await desk.say("schedule", by="2")
    await desk.say("schedule", "start", by="1")
    assert "Nothing fires" not in await desk.say("schedule", by="2")


# --- a person's day ---------------------------------------------------------------------------------------------------


async def test_today_shows_what_waits_is_due_happened_and_comes_next_and_what_can_be_switched_on(desk: Desk) -> None:
    office = desk.office
    now = office.clock.now()
    ours = {"visibility": Visibility.COMPANY, "speaker": "ada"}
    plan = claim(
        now, statement="Ada writes the plan.", kind=Memory.INITIATIVE, subject="plan/x", owner=PersonId("ada"),
        due=now.date(), **ours,
    )  # fmt: skip
    await written(office.database, office.recorder, plan)
    pending = claim(
        now, statement="Ben may sign.", subject="sign/x", status=Status.PENDING, held=(Held.AUTHORITY,), **ours
    )
    await written(office.database, office.recorder, pending)
    await desk.say("schedule", "remind me today at 17:00 to call Ben", by="2")
    await desk.say("schedule", "evening brief every day at 18:00", by="2")
    text = await desk.say("today", by="2")
    for expected in (
        "**Monday 2026-03-02**", "Ben may sign.", "Ada writes the plan. (due today)", "call Ben",
        "`/schedule morning brief every weekday at 8:30`", "memories that are new or changed",
    ):  # fmt: skip
        assert expected in text, expected
    assert "evening brief every weekday" not in text


async def test_an_approval_waits_on_the_day_of_whoever_may_give_it(desk: Desk) -> None:
    await desk.say("schedule", "ask Bob on Friday whether the lease is signed", by="2")
    made = await desk.proposal()
    assert f"approval `{made.id[-6:]}` (create schedule)" in await desk.say("today", by="1")
    assert made.id[-6:] not in await desk.say("today", by="3")


async def test_a_day_is_shown_to_its_person_alone(desk: Desk) -> None:
    await desk.office.rooms.see(["2", "3"], 3)
    assert "ask me in a direct message" in await desk.say("today", by="2", thread=GROUP)


async def test_an_empty_day_says_so(desk: Desk) -> None:
    text = await desk.say("today", by="3")
    assert "Nothing waits for you, nothing is due, and nothing is scheduled." in text
