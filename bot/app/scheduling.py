"""The scheduler, wired: what each kind of schedule does, who fires, and where people see and change theirs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from bot.app.erasing import teller
from bot.app.opening import Store
from bot.audit.events import SYSTEM
from bot.gateway.channel import Channel, Inbox, LocalHandler
from bot.kernel.ids import BootId, PersonId
from bot.kernel.supervise import Supervisor
from bot.kernel.values import dataclass
from bot.ledger.acting.handed import CreateSchedule
from bot.ledger.actions import Action
from bot.ledger.service import Ledger
from bot.llm.metered import Meter, Metered
from bot.orchestrator.arranging import Arranging
from bot.orchestrator.firing import questions
from bot.orchestrator.firing.asking import CheckIns, FollowUps, Nudges
from bot.orchestrator.firing.briefs import Asking, Briefs
from bot.orchestrator.firing.questions import Questions
from bot.orchestrator.firing.reminders import Reminders
from bot.orchestrator.firing.speaking import Speaker, switch
from bot.orchestrator.schedule_desk import ScheduleDesk
from bot.orchestrator.scheduling import Scheduler
from bot.orchestrator.tools import Tool
from bot.outbox.service import Outbox
from bot.scheduler import following
from bot.scheduler.acting import Proposed
from bot.scheduler.alarm import ApAlarm
from bot.scheduler.model import Kind
from bot.scheduler.service import Schedules
from bot.scheduler.store import Claimed, Outcome
from bot.scheduler.worker import Handler, Worker
from bot.storage.database import StoreBusyError, Tx
from bot.tasks import store as tasks
from bot.tasks.store import Task
from bot.tasks.worker import Done
from bot.tasks.worker import Handler as TaskHandler
from config.schema import Settings

log = logging.getLogger(__name__)

FAILED = "schedule.failed"
"""Task: the owner of a schedule hears that it failed."""


def actions(store: Store) -> Sequence[Action]:
    """For the ledger."""
    return (CreateSchedule(Proposed(Schedules(store.recorder), store.clock.now)),)


@dataclass(frozen=True, slots=True)
class Room:
    store: Store
    worker: Worker
    desk: ScheduleDesk
    tools: Sequence[Tool[Any]]
    handlers: Mapping[str, TaskHandler]

    def start(self, work: Supervisor) -> None:
        work.service("scheduler", self._run())
        work.service("deliveries", following.run(self.store.database, self.store.clock, questions.look))

    async def _run(self) -> None:
        alarm = ApAlarm(self.worker.ring)
        try:
            await self.worker.run(alarm)
        finally:
            alarm.stop()

    def departed(self, tx: Tx, person: PersonId, now: datetime) -> None:
        """Nothing of theirs fires any more."""
        Schedules(self.store.recorder).of_nobody_any_more(tx, person, SYSTEM, now)

    async def stop(self) -> None:
        """After the firing has ended: another process may take the gate at once."""
        try:
            await self.worker.stop()
        except StoreBusyError as error:  # its lease ends by itself
            log.warning("the gate is not given up: %s", error.message)

    def operations(self, settings: Settings) -> Mapping[str, LocalHandler]:
        """Of the socket."""
        from bot.control import ops_schedule

        return ops_schedule.handlers(self.store.database, self.desk, settings.channels.terminal.person)


def build(
    store: Store,
    settings: Settings,
    outbox: Outbox,
    channels: Mapping[str, Channel],
    work: Supervisor,
    boot: BootId,
    ledger: Ledger,
    model: Metered,
    meter: Meter,
    inboxes: Callable[[str], Inbox],
    ring: Callable[[], None],
) -> Room:
    """`inboxes`: of a channel by name, asked for when something fires. `ring` wakes whoever runs tasks, and the
    ledger."""
    schedules = Schedules(store.recorder)
    speaker = Speaker(store.database, store.clock, outbox, channels, schedules, settings.company.time_zone)
    briefs = Briefs(speaker, Asking(model, meter, store.recorder, settings.llm.models.light))
    handlers: dict[Kind, Handler] = {
        Kind.REMINDER: Reminders(speaker).handle,
        Kind.QUESTION: Questions(speaker, inboxes).handle,
        Kind.MORNING_BRIEF: briefs.handle,
        Kind.EVENING_BRIEF: briefs.handle,
        Kind.WEEKLY_REVIEW: briefs.handle,
        Kind.CHECK_IN: CheckIns(speaker).handle,
        Kind.COMMITMENT: FollowUps(speaker).handle,
        Kind.NUDGE: Nudges(speaker).handle,
    }

    def failed(tx: Tx, claimed: Claimed, outcome: Outcome) -> None:
        """Durable: it is told also if nobody can be reached now."""
        job = claimed.job
        if job.owner is None:
            return
        text = f"A schedule of yours failed: {job.title}. {outcome.note or ''}".strip()
        payload = {"person": job.owner, "text": f"{text}\n\n{switch(job)}"}
        key = f"{job.id}:{claimed.occurrence.at.isoformat()}"
        tasks.enqueue(tx, FAILED, key, payload, store.clock.now(), lane=f"{FAILED}:{job.owner}")

    tell = teller(store, outbox, channels)

    async def tell_failure(task: Task) -> Done:
        return Done(await tell(PersonId(task.payload["person"]), "A schedule failed", task.payload["text"]))

    worker = Worker(store.database, store.recorder, store.clock, work, boot, handlers, failed)

    def changed() -> None:
        worker.ring()
        ring()

    desk = ScheduleDesk(store.database, store.recorder, store.clock, ledger, changed)
    tools = Scheduler(store.database, Arranging(schedules, ledger), changed).tools()
    return Room(store, worker, desk, tools, {FAILED: tell_failure})
