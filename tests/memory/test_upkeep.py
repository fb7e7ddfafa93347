"""Nightly upkeep: what says the same is told once, and words are compared with the messages they stand in."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from bot.audit import timeline
from bot.audit.recorder import Recorder
from bot.kernel.ids import BootId, PersonId, SessionId
from bot.memory import store
from bot.memory.model import Claim, Kind, Source, Status, Visibility, Work
from bot.memory.tables import evidence as evidence_table
from bot.memory.upkeep import CONSOLIDATE, PREFLIGHT, Upkeep, merges, nearly, next_time
from bot.sessions.tables import message, place, session, turn
from bot.storage.database import Database
from bot.tasks import store as tasks
from bot.tasks.tables import task as task_table
from bot.tasks.worker import Done
from tests.clock import START, FakeClock
from tests.memory.claims import claim, evidence, written

PILOT = "We are starting a pilot with three schools in Graz."
BOOT = BootId("boot-1")


@pytest.fixture
def upkeep(database: Database, recorder: Recorder, clock: FakeClock) -> Upkeep:
    return Upkeep(database, recorder, clock, "Europe/Berlin")


def initiative(statement: str = PILOT, **values: Any) -> Claim:
    return claim(START, **{"kind": Kind.INITIATIVE, "statement": statement, "subject": statement[:20], **values})


async def run(database: Database, recorder: Recorder, clock: FakeClock, upkeep: Upkeep, kind: str) -> bool:
    """One night's run, as the worker does it. Whether there was something to do."""
    await database.write(upkeep.start)
    clock.advance(timedelta(days=1))

    def due(tx: Any) -> Any:
        tx.execute(task_table.update().where(task_table.c.kind == kind).values(run_at=clock.now()))
        tx.execute(task_table.update().where(task_table.c.kind != kind).values(run_at=clock.now() + timedelta(days=9)))
        return tasks.claim_due(tx, BOOT, clock.now())

    claimed = await database.write(due)
    done = await upkeep.handlers()[kind](claimed)
    assert isinstance(done, Done)

    def end(tx: Any) -> None:
        tasks.finish(tx, recorder, claimed, BOOT, clock.now(), empty=done.empty)
        if done.apply is not None:
            done.apply(tx)

    await database.write(end)
    return not done.empty


@pytest.mark.parametrize(
    ("other", "values", "same"),
    [
        ("We start a pilot with three schools in Graz.", {}, True),
        ("We are starting a pilot with three schools in Graz", {"speaker": "jonas"}, True),
        ("We are starting a pilot with two museums in Graz.", {}, False),
        (PILOT, {"owner": PersonId("jonas")}, False),
        (PILOT, {"due": date(2027, 2, 1)}, False),
        (PILOT, {"work": Work.COMPLETED}, False),
        (PILOT, {"by_person": True}, True),  # then it is the other one that goes
        (PILOT, {"status": Status.DISPUTED}, False),
        (PILOT, {"kind": Kind.DECISION, "work": None}, False),
    ],
)
def test_what_is_one_initiative(other: str, values: dict[str, Any], same: bool) -> None:
    first = initiative(owner=PersonId("marta"), due=date(2027, 1, 1), work=Work.ACTIVE)
    second = initiative(other, **values)
    found = merges([first, second])
    assert bool(found) is same
    if values.get("by_person"):
        assert found[0].gone == first


def test_numbers_tell_initiatives_apart() -> None:
    assert not nearly("Cut churn to 3 percent by June", "Cut churn to 2 percent by June")


async def test_duplicates_are_merged_with_their_words_and_it_is_said(
    database: Database, recorder: Recorder, clock: FakeClock, upkeep: Upkeep
) -> None:
    one = await written(database, recorder, initiative())
    other = await written(
        database, recorder, initiative("We start a pilot with three schools in Graz.", due=date(2027, 2, 1))
    )
    assert await run(database, recorder, clock, upkeep, CONSOLIDATE)
    kept, gone = await database.read(lambda c: (store.get(c, one.id), store.get(c, other.id)))
    assert kept is not None
    assert gone is not None
    assert (kept.status, kept.due) == (Status.ACTIVE, date(2027, 2, 1))
    assert (gone.status, gone.replaced_by) == (Status.SUPERSEDED, one.id)
    assert len(await database.read(lambda c: store.evidence_of(c, one.id))) == 2
    (said,) = await database.read(lambda c: timeline.newest(c, 50, ("memory_superseded",)))
    assert said.payload["merged"] is True
    assert said.session == "s1"
    assert not await run(database, recorder, clock, upkeep, CONSOLIDATE)


@pytest.mark.parametrize(
    "elsewhere", [{"session": SessionId("s2")}, {"audience_epoch": 1}, {"visibility": Visibility.COMPANY}]
)
async def test_nothing_is_merged_across_rooms_and_audiences(
    database: Database, recorder: Recorder, clock: FakeClock, upkeep: Upkeep, elsewhere: dict[str, Any]
) -> None:
    await written(database, recorder, initiative())
    await written(database, recorder, initiative(**elsewhere))
    assert not await run(database, recorder, clock, upkeep, CONSOLIDATE)


async def test_the_same_sentence_under_two_subjects_is_told_once(
    database: Database, recorder: Recorder, clock: FakeClock, upkeep: Upkeep
) -> None:
    one = await written(database, recorder, claim(START, subject="launch/date"))
    await written(database, recorder, claim(START, subject="launch/month"))
    await written(database, recorder, claim(START, subject="launch/month", speaker="jonas"))
    assert await run(database, recorder, clock, upkeep, CONSOLIDATE)
    standing = await database.read(lambda c: store.standing_in(c, SessionId("s1"), 0))
    assert sorted(each.speaker for each in standing) == ["jonas", "marta"]
    assert one.id in {each.id for each in standing}


async def said(database: Database, text: str) -> None:
    """A message m1 of the transcript."""

    def unit(tx: Any) -> None:
        tx.execute(
            place.insert().values(
                key="p", channel="test", kind="direct", title="", audience="person", because="", changed_at=START
            )
        )
        tx.execute(session.insert().values(id="s1", channel="test", place_key="p", opened_at=START))
        tx.execute(
            turn.insert().values(
                id="t1", session_id="s1", state="finished", boot=BOOT, attempt=1, history_epoch=0, audience_epoch=0,
                outcome="answered", started_at=START, finished_at=START,
            )
        )  # fmt: skip
        tx.execute(
            message.insert().values(
                id="m1", session_id="s1", turn_id="t1", position=0, role="user", speaker="Marta", text=text, spans=[],
                files=[], proof="platform", history_epoch=0, audience_epoch=0, sent_at=START, recorded_at=START,
            )
        )  # fmt: skip

    await database.write(unit)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("We launch in March.", Source.FRESH),
        ("We launch in March. (Typo corrected.)", Source.FRESH),  # the words stand where they stood
        ("We launch in April.", Source.EDITED),
        ("Well, we launch in March.", Source.EDITED),
    ],
)
async def test_words_are_compared_with_the_messages_they_stand_in(
    database: Database, recorder: Recorder, clock: FakeClock, upkeep: Upkeep, text: str, source: Source
) -> None:
    await said(database, text)
    one = await written(database, recorder, claim(START), [evidence("We launch in March.", START)])
    assert await run(database, recorder, clock, upkeep, PREFLIGHT) is (source is Source.EDITED)
    seen = await database.read(lambda c: store.get(c, one.id))
    assert seen is not None
    assert seen.source is source


async def test_each_run_queues_the_next_one(
    database: Database, recorder: Recorder, clock: FakeClock, upkeep: Upkeep
) -> None:
    await run(database, recorder, clock, upkeep, PREFLIGHT)
    rows = await database.read(
        lambda c: c.execute(
            sa.select(task_table.c.kind, task_table.c.run_at).where(task_table.c.state == "queued")
        ).all()
    )
    assert sorted(row.kind for row in rows) == [CONSOLIDATE, PREFLIGHT]
    assert all(row.run_at > clock.now() for row in rows)
    assert (
        await database.read(lambda c: c.execute(sa.select(sa.func.count()).select_from(evidence_table)).scalar()) == 0
    )


def test_the_hour_is_the_companys_own() -> None:
    assert next_time(datetime(2026, 1, 1, 1, tzinfo=UTC), "Europe/Berlin") == datetime(2026, 1, 1, 2, 30, tzinfo=UTC)
    assert next_time(datetime(2026, 1, 1, 3, tzinfo=UTC), "Europe/Berlin") == datetime(2026, 1, 2, 2, 30, tzinfo=UTC)
