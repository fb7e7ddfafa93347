"""An office whose schedules fire when the test says so, with real jobs, gate, outbox and intake."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from bot.audit.events import Actor
from bot.kernel.ids import ClaimId, PersonId, ProposalId, SessionId, new_id
from bot.llm.budget import Purpose
from bot.llm.metered import Metered
from bot.memory.model import Claim, Visibility, Work
from bot.memory.model import Kind as Memory
from bot.orchestrator.firing import questions
from bot.orchestrator.firing.asking import CheckIns, FollowUps, Nudges
from bot.orchestrator.firing.briefs import Asking, Briefs
from bot.orchestrator.firing.questions import Questions
from bot.orchestrator.firing.reminders import Reminders
from bot.orchestrator.firing.speaking import Speaker
from bot.people.model import Person
from bot.scheduler import following, store
from bot.scheduler.model import Cron, Job, Kind, Occurrence, Rule
from bot.scheduler.service import Schedules, Wish
from bot.scheduler.store import Claimed, Outcome
from bot.scheduler.worker import Worker
from bot.storage.database import Tx
from tests.memory.claims import claim, written
from tests.orchestrator.office import PATIENCE, Office
from tests.sessions.rooms import CHANNEL, PEOPLE

BOSS, ADA, BOB, GUEST = PEOPLE
DAY = timedelta(days=1)
DAILY = Cron("0 9 * * *")
"""The office's clock starts at nine: it fires a day later."""


@dataclass
class Firing:
    office: Office
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        office = self.office
        self.schedules = Schedules(office.recorder)
        self.speaker = Speaker(
            office.database, office.clock, office.outbox, {CHANNEL: office.channel}, self.schedules, "UTC"
        )
        asking = Asking(Metered(office.model, office.meter, Purpose.ANSWER), office.meter, office.recorder, "light")
        briefs = Briefs(self.speaker, asking)
        handlers = {
            Kind.REMINDER: Reminders(self.speaker).handle,
            Kind.QUESTION: Questions(self.speaker, office.intake.port).handle,
            Kind.MORNING_BRIEF: briefs.handle,
            Kind.EVENING_BRIEF: briefs.handle,
            Kind.WEEKLY_REVIEW: briefs.handle,
            Kind.CHECK_IN: CheckIns(self.speaker).handle,
            Kind.COMMITMENT: FollowUps(self.speaker).handle,
            Kind.NUDGE: Nudges(self.speaker).handle,
        }

        def tell(tx: Tx, claimed: Claimed, outcome: Outcome) -> None:
            self.told.append(outcome.note or "")

        self.worker = Worker(office.database, office.recorder, office.clock, office.supervisor, "a", handlers, tell)

    async def make(
        self,
        kind: Kind = Kind.REMINDER,
        text: str = "",
        rule: Rule = DAILY,
        *,
        owner: Person = ADA,
        to: str | None = None,
        department: str | None = None,
        session: SessionId | None = None,
    ) -> Job:
        wish = Wish(kind, text, rule, "UTC", PersonId(to) if to else None, department)
        approved = ProposalId("p") if to else None
        now = self.office.clock.now()
        return await self.office.database.write(
            lambda tx: self.schedules.make(tx, wish, owner, session, Actor("person", owner.id), now, approved)
        )

    async def fire(self, after: timedelta = DAY) -> list[Occurrence]:
        """Let time pass, fire what is due and let it be delivered; what became of each, the oldest first."""
        self.office.clock.advance(after)
        claimed, _ = await self.worker.look()
        for each in claimed:
            await self.worker.fire(each)
        assert await self.office.outbox.drain(timedelta(seconds=PATIENCE))
        await self.follow()
        found = []
        for each in claimed:
            job, at = each.job.id, each.occurrence.at
            history = await self.office.database.read(lambda c, job=job: store.history(c, job, 50))  # type: ignore[misc]
            found += [one for one in history if one.at == at]
        return found

    async def follow(self) -> None:
        def unit(tx: Tx) -> None:
            questions.look(tx)
            following.follow(tx)

        await self.office.database.write(unit)

    @property
    def said(self) -> list[str]:
        """What each thread was told, whole messages in order."""
        return [f"{sent.thread}: {sent.text}" for sent in self.office.channel.tried if sent.text.strip()]

    async def remembered(self, statement: str, **values: object) -> Claim:
        """A memory that the whole company may see."""
        now = self.office.clock.now()
        defaults: dict[str, object] = {
            "id": ClaimId(new_id(now)),
            "kind": Memory.DECISION,
            "statement": statement,
            "subject": f"s/{new_id(now)}",
            "visibility": Visibility.COMPANY,
        }
        if values.get("kind") is Memory.INITIATIVE:
            defaults["work"] = Work.ACTIVE
        made = claim(now, **(defaults | values))
        return await written(self.office.database, self.office.recorder, made)
