"""Schedules and a person's day over the API: their own, and for principals everybody's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import date
from typing import TypeVar

from pydantic import AwareDatetime, BaseModel, Field

from bot.kernel.values import dataclass
from bot.llm.budget import local_day
from bot.orchestrator.schedule_desk import Act, ScheduleDesk, Told
from bot.orchestrator.today import OFFERS, Today
from bot.scheduler import wording
from bot.scheduler.model import Delivery, JobState, Kind, Occurrence, Run
from bot.scheduler.service import handle
from bot.web.api.model import Model
from bot.web.api.routing import Call, Operation

M = TypeVar("M", bound=Model)


class ScheduleQuery(Model):
    everybody: bool = Field(False, description="those of all people, for principals")


class ScheduleWish(Model):
    sentence: str = Field(min_length=1, max_length=500, description="like `remind me tomorrow at 9 to call Ben`")


class Fired(Model):
    at: AwareDatetime
    run: Run
    delivery: Delivery
    attempts: int
    note: str | None


class Schedule(Model):
    id: str
    name: str
    kind: Kind
    title: str
    text: str
    recipient: str | None
    """Whom it goes to; null: its owner."""
    department: str | None
    owner: str | None
    rule: str
    when: str
    zone: str
    state: JobState
    paused_because: str | None
    next: tuple[AwareDatetime, ...]
    made_at: AwareDatetime
    history: tuple[Fired, ...]


class Stopped(Model):
    by: str
    because: str
    at: AwareDatetime


class SchedulePage(Model):
    schedules: tuple[Schedule, ...]
    stopped: Stopped | None
    """Nothing fires at the moment."""


class ScheduleMade(Model):
    message: str
    schedule: Schedule | None
    proposal: str | None
    """It waits for a yes."""


class Waits(Model):
    id: str
    text: str


class Promised(Model):
    memory: str
    statement: str
    due: date
    overdue: bool


class Happened(Model):
    schedule: str
    title: str
    fired: Fired


class Ended(Model):
    proposal: str
    action: str
    state: str


class Day(Model):
    day: date
    waiting: tuple[Waits, ...]
    due: tuple[Promised, ...]
    happened: tuple[Happened, ...]
    decided: tuple[Ended, ...]
    new_memories: int
    next: tuple[Schedule, ...]
    off: tuple[Kind, ...]
    """What comes unasked and was not chosen."""
    offers: tuple[str, ...]
    """Sentences that switch them on, in the same order."""


@dataclass(frozen=True, slots=True)
class ScheduleApi:
    desk: ScheduleDesk

    def operations(self) -> list[Operation]:
        one = "/schedules/{id}"
        acts: tuple[tuple[Act, str], ...] = (
            ("pause", "Let it rest"),
            ("resume", "Let it go on"),
            ("remove", "Remove it"),
            ("undo", "Take back that it was made or removed"),
            ("run", "Let it fire now, besides its own times"),
        )
        return [
            Operation(
                "GET", "/schedules", "listSchedules", "Active and paused ones, the next to fire first", self.listed,
                SchedulePage, query=ScheduleQuery,
            ),
            Operation(
                "POST", "/schedules", "addSchedule", "Make one in words", self.add, ScheduleMade, body=ScheduleWish,
                accepted=_waits,
            ),
            Operation("GET", one, "getSchedule", "One with its next dates and what it did lately", self.one, Schedule),
            *(
                Operation("POST", f"{one}/{act}", f"{act}Schedule", summary, self._acting(act), Schedule)
                for act, summary in acts
            ),
            Operation("GET", "/today", "getToday", "What waits, is due, happened and comes next", self.today, Day),
        ]  # fmt: skip

    async def listed(self, call: Call) -> SchedulePage:
        found = await self.desk.listed(call.person, everybody=_of(call.query, ScheduleQuery).everybody)
        stopped = await self.desk.stopped()
        held = None if stopped is None else Stopped(by=stopped[0], because=stopped[1], at=stopped[2])
        return SchedulePage(schedules=tuple(_told(each) for each in found), stopped=held)

    async def add(self, call: Call) -> ScheduleMade:
        added = await self.desk.add(call.person, _of(call.body, ScheduleWish).sentence)
        schedule = None if added.job is None else _told(added.job)
        return ScheduleMade(message=added.note, schedule=schedule, proposal=added.proposal)

    async def one(self, call: Call) -> Schedule:
        return _told(await self.desk.one(call.person, call.path["id"]))

    def _acting(self, act: Act) -> Callable[[Call], Awaitable[Schedule]]:
        async def handle_it(call: Call) -> Schedule:
            return _told(await self.desk.act(call.person, call.path["id"], act))

        return handle_it

    async def today(self, call: Call) -> Day:
        return _day(await self.desk.today(call.person))


def _waits(answer: BaseModel) -> bool:
    return isinstance(answer, ScheduleMade) and answer.schedule is None


def _told(of: Told) -> Schedule:
    job = of.job
    recipient, department = job.payload.get("for"), job.payload.get("department")
    return Schedule(
        id=job.id,
        name=handle(job),
        kind=job.kind,
        title=job.title,
        text=str(job.payload.get("text", "")),
        recipient=None if recipient is None else str(recipient),
        department=None if department is None else str(department),
        owner=job.owner,
        rule=wording.text_of(job.rule, job.zone),
        when=wording.described(job.rule, job.zone),
        zone=job.zone,
        state=job.state,
        paused_because=job.paused_because,
        next=of.dates,
        made_at=job.made_at,
        history=tuple(_fired(each) for each in of.history),
    )


def _fired(of: Occurrence) -> Fired:
    return Fired(at=of.at, run=of.run, delivery=of.delivery, attempts=of.attempts, note=of.note)


def _day(of: Today) -> Day:
    day = local_day(of.at, of.person.time_zone)
    return Day(
        day=day,
        waiting=tuple(Waits(id=each.id, text=each.line.removeprefix("- ")) for each in of.waiting),
        due=tuple(
            Promised(memory=each.claim.id, statement=each.claim.statement, due=each.due, overdue=each.due < day)
            for each in of.due
        ),
        happened=tuple(
            Happened(schedule=each.job.id, title=each.job.title, fired=_fired(each.occurrence)) for each in of.fired
        ),
        decided=tuple(Ended(proposal=each.id, action=each.action, state=each.state.value) for each in of.decided),
        new_memories=len(of.new),
        next=tuple(_told(Told(job, tuple(wording.dates(job.rule, job.zone, of.at)), ())) for job in of.next),
        off=of.off,
        offers=tuple(OFFERS[kind] for kind in of.off),
    )


def _of(given: BaseModel | None, kind: type[M]) -> M:
    """The route has made it of this kind."""
    if not isinstance(given, kind):
        raise TypeError(f"{kind.__name__} was expected")
    return given
