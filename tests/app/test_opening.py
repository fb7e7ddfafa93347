"""Whoever is gone from the settings is gone in one transaction, with what they had scheduled."""

from __future__ import annotations

from datetime import timedelta

from bot.app.opening import Store, adopt_roster
from bot.audit import timeline
from bot.audit.events import Actor
from bot.audit.recorder import Recorder
from bot.kernel.ids import PersonId
from bot.people import store as people
from bot.scheduler import store as jobs
from bot.scheduler.model import Cron, JobState, Kind
from bot.scheduler.service import Schedules, Wish
from bot.storage.database import Database, Tx
from config.schema import Settings
from tests.clock import FakeClock

ANN, BEN = PersonId("ann"), PersonId("ben")
STATES = (JobState.ACTIVE, JobState.PAUSED)


def settings(*ids: str) -> Settings:
    return Settings.model_validate(
        {"people": {each: {"name": each.title(), "role": "principal" if each == "ann" else "member"} for each in ids}}
    )


async def test_what_somebody_had_scheduled_rests_with_the_start_that_finds_them_gone(
    database: Database, recorder: Recorder, clock: FakeClock
) -> None:
    store = Store(database, recorder, clock, b"k" * 32)
    await adopt_roster(store, settings("ann", "ben"), accept=False)

    def schedule(tx: Tx) -> None:
        for who in (ANN, BEN):
            owner = people.get(tx.connection, who)
            assert owner is not None
            wish = Wish(Kind.REMINDER, "stand up", Cron("0 9 * * *"), "UTC")
            Schedules(recorder).make(tx, wish, owner, None, Actor("person", who), clock.now())

    await database.write(schedule)
    clock.advance(timedelta(hours=1))
    await adopt_roster(store, settings("ann"), accept=False)
    (ann,) = await database.read(lambda c: jobs.of_owner(c, ANN, STATES))
    (ben,) = await database.read(lambda c: jobs.of_owner(c, BEN, STATES))
    assert ann.state is JobState.ACTIVE
    assert (ben.state, ben.next_at) == (JobState.PAUSED, None)
    told = [each.type for each in await database.read(lambda c: timeline.newest(c, 2))]
    assert told == ["person_changed", "schedule_changed"]
