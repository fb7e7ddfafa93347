"""Operations on schedules. Whoever reaches the socket speaks as the person of this machine's terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import sqlalchemy as sa
from pydantic import Field

from bot.control.request import Request, operation
from bot.gateway.channel import LocalHandler
from bot.kernel.errors import PermanentError
from bot.kernel.ids import PersonId
from bot.kernel.values import dataclass
from bot.orchestrator.schedule_desk import ScheduleDesk, Told
from bot.orchestrator.today import words
from bot.people import store as people
from bot.people.model import Person
from bot.scheduler import wording
from bot.scheduler.model import Kind
from bot.scheduler.service import handle
from bot.storage.database import Database


class Listed(Request):
    everybody: bool = False


class One(Request):
    schedule: str


class Act(Request):
    schedule: str
    act: Literal["pause", "resume", "remove", "undo", "run"]


class Add(Request):
    sentence: str = Field(min_length=1, max_length=500)


class Stop(Request):
    reason: str = Field(min_length=1, max_length=500)


class Nothing(Request):
    pass


def handlers(database: Database, desk: ScheduleDesk, local_person: str | None) -> Mapping[str, LocalHandler]:
    """`local_person`: who speaks at this machine's terminal; None: the first principal."""
    operations = Operations(database, desk, local_person)
    return {
        "schedule.list": operation(Listed, operations.listed),
        "schedule.show": operation(One, operations.show),
        "schedule.add": operation(Add, operations.add),
        "schedule.act": operation(Act, operations.act),
        "schedule.stop": operation(Stop, operations.stop),
        "schedule.start": operation(Nothing, operations.start),
        "today": operation(Nothing, operations.today),
    }


@dataclass(frozen=True, slots=True)
class Operations:
    database: Database
    desk: ScheduleDesk
    local_person: str | None

    async def listed(self, request: Listed) -> Mapping[str, object]:
        person = await self._person()
        found = await self.desk.listed(person, everybody=request.everybody)
        own = [
            {"kind": Kind.UPKEEP.value, "name": each.name, "title": each.title, "next": each.next_at.isoformat()}
            for each in await self.desk.own(person)
        ]
        stopped = await self.desk.stopped()
        held = None if stopped is None else {"by": stopped[0], "because": stopped[1], "at": stopped[2].isoformat()}
        return {"schedules": [told(each) for each in found], "upkeep": own, "stopped": held}

    async def show(self, request: One) -> Mapping[str, object]:
        return {"schedule": told(await self.desk.one(await self._person(), request.schedule))}

    async def add(self, request: Add) -> Mapping[str, object]:
        added = await self.desk.add(await self._person(), request.sentence)
        schedule = None if added.job is None else told(added.job)
        return {"told": added.note, "schedule": schedule, "proposal": added.proposal}

    async def act(self, request: Act) -> Mapping[str, object]:
        return {"schedule": told(await self.desk.act(await self._person(), request.schedule, request.act))}

    async def stop(self, request: Stop) -> Mapping[str, object]:
        await self.desk.stop(await self._person(), request.reason)
        return {}

    async def start(self, request: Nothing) -> Mapping[str, object]:
        await self.desk.start(await self._person())
        return {}

    async def today(self, request: Nothing) -> Mapping[str, object]:
        return {"told": words(await self.desk.today(await self._person()))}

    async def _person(self) -> Person:
        def query(connection: sa.Connection) -> Person | None:
            if self.local_person:
                return people.get(connection, PersonId(self.local_person))
            principals = people.principals(connection)
            return principals[0] if principals else None

        found = await self.database.read(query)
        if found is None or not found.active:
            raise PermanentError("nobody speaks at this machine's terminal: see channels.terminal.person")
        return found


def told(of: Told) -> dict[str, object]:
    job = of.job
    return {
        "id": job.id,
        "name": handle(job),
        "kind": job.kind.value,
        "title": job.title,
        "text": str(job.payload.get("text", "")),
        "for": job.payload.get("for"),
        "department": job.payload.get("department"),
        "owner": job.owner,
        "rule": wording.text_of(job.rule, job.zone),
        "when": wording.described(job.rule, job.zone),
        "zone": job.zone,
        "state": job.state.value,
        "paused_because": job.paused_because,
        "next": [each.isoformat(timespec="seconds") for each in of.dates],
        "made_at": job.made_at.isoformat(),
        "history": [
            {
                "at": each.at.isoformat(),
                "run": each.run.value,
                "delivery": each.delivery.value,
                "attempts": each.attempts,
                "note": each.note,
            }
            for each in of.history
        ],
    }
