"""A fixed text at its time: for its owner, or, as it was approved, for somebody else."""

from __future__ import annotations

from bot.kernel.errors import PermanentError
from bot.kernel.ids import PersonId
from bot.orchestrator.firing.speaking import Speaker, switch
from bot.people import store as people
from bot.scheduler.model import Job, Once
from bot.scheduler.store import Claimed
from bot.scheduler.worker import Fired


class Reminders:
    def __init__(self, speaker: Speaker) -> None:
        self._speaker = speaker

    async def handle(self, claimed: Claimed) -> Fired:
        job = claimed.job
        owner = await self._speaker.owner(job)
        if owner is None:
            return self._speaker.nobody(job)
        text, recipient = str(job.payload.get("text", "")), job.payload.get("for")
        if recipient is None:
            spot = await self._speaker.there(job, owner, job.title)
            whose = "Reminder" if spot.alone else f"Reminder for {owner.name}"
            return self._speaker.fired(claimed, await self._speaker.say(spot, f"{whose}: {text}{_off(job)}"))
        to = PersonId(str(recipient))
        person = await self._speaker.database.read(lambda c: people.get(c, to))
        if person is None or not person.active:
            raise PermanentError(f"whom it is for ({to}) is not on the roster any more")
        return self._speaker.fired(claimed, await self._speaker.say(await self._speaker.alone(person, job.title), text))


def _off(job: Job) -> str:
    return "" if isinstance(job.rule, Once) else f"\n\n{switch(job)}"
