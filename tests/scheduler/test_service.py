"""What people may do with schedules: their own at once, others' only after a yes, within bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeVar

import pytest

from bot.audit import timeline
from bot.audit.events import Actor
from bot.audit.recorder import Recorder
from bot.gateway.events import ReplyPath
from bot.gateway.operations import Send
from bot.kernel.errors import PermanentError
from bot.kernel.ids import BootId, OutboxId, PersonId, ProposalId
from bot.ledger.acting.handed import CreateSchedule
from bot.ledger.model import Proposal, State
from bot.outbox import store as outbox
from bot.outbox.store import Origin
from bot.outbox.tables import OutState, Policy
from bot.outbox.tables import outbox as outbox_table
from bot.people.model import Person
from bot.scheduler import following, store
from bot.scheduler.acting import Proposed, payload_of
from bot.scheduler.catching_up import Due
from bot.scheduler.gate import hold
from bot.scheduler.model import Cron, Delivery, Every, Job, JobState, Kind, Once, Rule, Run
from bot.scheduler.service import MOST_JOBS, Schedules, UnknownScheduleError, Wish, handle
from bot.scheduler.store import Outcome
from bot.storage.database import Database, Tx
from tests.clock import START, FakeClock
from tests.sessions.rooms import PEOPLE, Rooms

T = TypeVar("T")
BOSS, ADA, BOB, GUEST = PEOPLE
DAILY = Cron("0 9 * * *")
HOUR = timedelta(hours=1)


@dataclass
class Office:
    database: Database
    recorder: Recorder
    clock: FakeClock

    def __post_init__(self) -> None:
        self.schedules = Schedules(self.recorder)

    async def write(self, unit: Callable[[Tx], T]) -> T:
        return await self.database.write(unit)

    async def make(
        self,
        rule: Rule = DAILY,
        *,
        kind: Kind = Kind.REMINDER,
        text: str = "stand up",
        owner: Person = ADA,
        to: str | None = None,
        department: str | None = None,
        proposal: str | None = None,
    ) -> Job:
        wish = Wish(kind, text, rule, "UTC", PersonId(to) if to else None, department)
        approved = ProposalId(proposal) if proposal else None
        return await self.write(
            lambda tx: self.schedules.make(tx, wish, owner, None, Actor("person", owner.id), self.clock.now(), approved)
        )

    async def named(self, who: Person, given: str) -> Job:
        return await self.database.read(lambda c: self.schedules.named(c, who, given))

    async def audited(self) -> list[str]:
        entries = await self.database.read(lambda c: timeline.newest(c, 50))
        return [entry.type for entry in entries if entry.type.startswith("schedule")]


@pytest.fixture
async def office(database: Database, recorder: Recorder, clock: FakeClock) -> Office:
    await Rooms(database, recorder, clock).add_people(*PEOPLE)
    return Office(database, recorder, clock)


async def test_ones_own_reminder_is_stored_at_once(office: Office) -> None:
    job = await office.make()
    assert (job.owner, job.state, job.next_at, job.title) == ("ada", JobState.ACTIVE, START + 24 * HOUR, "stand up")
    assert await office.audited() == ["schedule_created"]


async def test_what_reaches_somebody_else_is_not_stored_without_a_yes(office: Office) -> None:
    with pytest.raises(PermanentError, match="needs a yes"):
        await office.make(to="bob")
    approved = await office.make(to="bob", proposal="p1")
    assert approved.payload["for"] == "bob"


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"rule": Once(START)}, "past"),
        ({"rule": Every(timedelta(minutes=10), START)}, "too often"),
        ({"rule": Cron("*/5 * * * *")}, "too often"),
        ({"rule": Cron("0,30 9 * * *"), "kind": Kind.QUESTION}, "too often"),
        ({"rule": Cron("nonsense")}, "no rule"),
        ({"text": "x" * 2_001}, "too long"),
        ({"text": " "}, "no text"),
        ({"owner": GUEST}, "roster"),
        ({"owner": replace(ADA, active=False)}, "roster"),
        ({"kind": Kind.UPKEEP}, "daemon"),
        ({"kind": Kind.CHECK_IN}, "name the department"),
        ({"kind": Kind.CHECK_IN, "department": "sales"}, "its own people"),
        ({"kind": Kind.QUESTION, "to": "bob", "proposal": "p1"}, "only a fixed text"),
        ({"to": "nobody", "proposal": "p1"}, "not on the roster"),
    ],
    ids=lambda value: str(value)[:60],
)
async def test_what_cannot_be_scheduled_is_refused_in_words(
    office: Office, values: dict[str, object], why: str
) -> None:
    with pytest.raises(PermanentError, match=why):
        await office.make(**values)  # type: ignore[arg-type]
    assert await office.audited() == []


async def test_a_person_has_so_many_schedules_and_no_more(office: Office) -> None:
    for number in range(MOST_JOBS):
        await office.make(text=f"number {number}")
    with pytest.raises(PermanentError, match="remove one first"):
        await office.make()
    await office.make(owner=BOB)


async def test_a_brief_chosen_again_moves(office: Office) -> None:
    first = await office.make(kind=Kind.MORNING_BRIEF, text="")
    again = await office.make(Cron("0 7 * * *"), kind=Kind.MORNING_BRIEF, text="")
    assert (again.id, again.rule) == (first.id, Cron("0 7 * * *"))
    assert await office.audited() == ["schedule_created", "schedule_changed"]
    assert (await office.make(kind=Kind.EVENING_BRIEF, text="")).id != first.id


async def test_check_ins_of_two_departments_stand_side_by_side(office: Office) -> None:
    sales = await office.make(kind=Kind.CHECK_IN, text="", owner=BOSS, department="sales")
    legal = await office.make(kind=Kind.CHECK_IN, text="", owner=BOSS, department="legal")
    assert sales.id != legal.id


async def test_a_schedule_is_named_by_the_end_of_its_id(office: Office) -> None:
    job = await office.make()
    assert (await office.named(ADA, f"`{handle(job)}`")).id == job.id
    assert (await office.named(BOSS, handle(job))).id == job.id
    for who, given in ((BOB, handle(job)), (ADA, "zzzzzz"), (ADA, ""), (ADA, handle(job)[-2:])):
        with pytest.raises(UnknownScheduleError):
            await office.named(who, given)


async def test_paused_resumed_removed_and_brought_back(office: Office) -> None:
    job = await office.make()
    by, now = Actor("person", "ada"), office.clock.now()
    job = await office.write(lambda tx: office.schedules.pause(tx, job, by, now))
    assert (job.state, job.next_at) == (JobState.PAUSED, None)
    with pytest.raises(PermanentError, match="does not run"):
        await office.write(lambda tx: office.schedules.pause(tx, job, by, now))
    job = await office.write(lambda tx: office.schedules.resume(tx, job, by, now))
    with pytest.raises(PermanentError, match="not paused"):
        await office.write(lambda tx: office.schedules.resume(tx, job, by, now))
    job = await office.write(lambda tx: office.schedules.undo(tx, job, by, now))
    assert job.state is JobState.REMOVED
    with pytest.raises(PermanentError, match="removed already"):
        await office.write(lambda tx: office.schedules.remove(tx, job, by, now))
    job = await office.write(lambda tx: office.schedules.undo(tx, job, by, now))
    assert (job.state, job.next_at) == (JobState.ACTIVE, START + 24 * HOUR)


async def test_whoever_is_gone_has_nothing_that_fires(office: Office) -> None:
    job = await office.make()
    other = await office.make(owner=BOB)
    count = await office.write(
        lambda tx: office.schedules.of_nobody_any_more(tx, PersonId("ada"), Actor("system", "t"), START)
    )
    assert count == 1
    states = [(await office.named(BOSS, handle(each))).state for each in (job, other)]
    assert states == [JobState.PAUSED, JobState.ACTIVE]


# --- what became of its message ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "reason", "delivery"),
    [
        (OutState.QUEUED, None, Delivery.QUEUED),
        (OutState.SENT, None, Delivery.SENT),
        (OutState.PARKED, "refused", Delivery.FAILED),
        (OutState.PARKED, "uncertain", Delivery.UNCERTAIN),
    ],
)
async def test_the_delivery_follows_the_message_apart_from_the_run(
    office: Office, state: OutState, reason: str | None, delivery: Delivery
) -> None:
    job = await office.make()
    at = job.next_at
    assert at is not None

    def fire(tx: Tx) -> None:
        path = ReplyPath("test:dm:2", "2")
        ids, _ = outbox.insert(
            tx, "test", [Send(path, "hi", "hi")], Origin(None, None, None), Policy.RESEND_ONCE, BootId("b"), at,
            may_leave=False,
        )  # fmt: skip
        held = hold(tx, office.recorder, "a", at)
        assert held is not None
        claimed = store.claim(tx, office.recorder, job, Due(at, None, 0, at + 24 * HOUR), held.fence, at)
        assert claimed is not None
        store.end(tx, office.recorder, claimed, Outcome(Run.DONE, Delivery.QUEUED, outbox=ids[0]), at)
        ended = None if state is OutState.QUEUED else at
        tx.execute(outbox_table.update().values(state=state.value, reason=reason, ended_at=ended))

    await office.write(fire)
    moved = await office.write(following.follow)
    (found,) = await office.database.read(lambda c: store.history(c, job.id, 5))
    assert (found.run, found.delivery) == (Run.DONE, delivery)
    assert moved == (delivery is not Delivery.QUEUED)
    assert await office.database.read(following.under_way) == (delivery is Delivery.QUEUED)
    last = await office.database.read(lambda c: store.last_delivered(c, job.id))
    assert last == (at if delivery is Delivery.SENT else None)


async def test_a_message_that_is_gone_counts_as_uncertain(office: Office) -> None:
    job = await office.make()
    at = job.next_at
    assert at is not None

    def fire(tx: Tx) -> None:
        held = hold(tx, office.recorder, "a", at)
        assert held is not None
        claimed = store.claim(tx, office.recorder, job, Due(at, None, 0, None), held.fence, at)
        assert claimed is not None
        store.end(tx, office.recorder, claimed, Outcome(Run.DONE, Delivery.QUEUED, outbox=OutboxId("gone")), at)

    await office.write(fire)
    await office.write(following.follow)
    (found,) = await office.database.read(lambda c: store.history(c, job.id, 5))
    assert found.delivery is Delivery.UNCERTAIN


# --- as the ledger makes them -----------------------------------------------------------------------------------------


def proposal(payload: dict[str, object]) -> Proposal:
    return Proposal(
        ProposalId("p1"), "create_schedule", payload, payload, "h", "k", None, None, PersonId("ada"), None,
        (PersonId("boss"),), False, (), (), "", None, False, State.EXECUTING, None, None, None, None, START,
        START + HOUR, None, None, None, held=False, version=1,
    )  # fmt: skip


async def test_what_was_approved_is_scheduled_and_can_be_taken_back(office: Office) -> None:
    action = CreateSchedule(Proposed(office.schedules, office.clock.now))
    wish = Wish(Kind.REMINDER, "Is the lease signed?", Once(START + 24 * HOUR), "Europe/Berlin", PersonId("bob"))
    approved = proposal(dict(action.checked(payload_of(wish, PersonId("ada")))))
    shown = action.show(approved.final)
    assert dict(shown.fields)["When"].endswith("Tuesday 2026-03-03 10:00 (Europe/Berlin)")
    assert (shown.body, dict(shown.fields)["For"]) == ("Is the lease signed?", "bob")
    assert await office.database.read(lambda c: action.guard(c, approved, START)) is None
    done = await office.write(lambda tx: action.effect(tx, approved, START))
    job = await office.named(BOSS, str(getattr(done, "result", "")))
    assert (job.owner, job.payload["for"], job.next_at) == ("ada", "bob", START + 24 * HOUR)
    executed = replace(approved, result=job.id)
    await office.write(lambda tx: action.undo(tx, executed, START))
    assert (await office.named(BOSS, job.id)).state is JobState.REMOVED
    with pytest.raises(PermanentError, match="removed already"):
        await office.write(lambda tx: action.undo(tx, executed, START))


async def test_what_came_too_late_or_for_nobody_is_refused_before_it_is_done(office: Office) -> None:
    action = CreateSchedule(Proposed(office.schedules, office.clock.now))
    wish = Wish(Kind.REMINDER, "Is it signed?", Once(START + HOUR), "UTC", PersonId("bob"))
    late = proposal(dict(payload_of(wish, PersonId("ada"))))
    office.clock.advance(2 * HOUR)
    assert await office.database.read(lambda c: action.guard(c, late, office.clock.now())) == "that time is past"
    assert "past" in dict(action.show(late.final).fields)["When"]
    nobody = proposal({**payload_of(replace(wish, rule=DAILY), PersonId("ada")), "for": "nobody"})
    refusal = await office.database.read(lambda c: action.guard(c, nobody, office.clock.now()))
    assert refusal == "whom it is for is not on the roster"
