"""Readers of pages: what schedules did within a span, and all of them a page at a time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from bot.kernel.ids import JobId, PersonId
from bot.scheduler import store
from bot.scheduler.service import LIVE
from bot.scheduler.tables import job, occurrence
from bot.storage.database import Database, Tx
from tests.clock import START, FakeClock

ADA = PersonId("ada")


def _job(number: int, **values: Any) -> dict[str, Any]:
    return {
        "id": f"j{number}", "kind": "reminder", "title": "", "rule": "cron", "rule_text": "0 9 * * *", "zone": "UTC",
        "owner": "ada", "payload": {}, "grace_seconds": 60, "state": "active", "next_at": START + timedelta(hours=1),
        "made_at": START, "changed_at": START, "version": 1, **values,
    }  # fmt: skip


async def _fill(database: Database) -> None:
    jobs = [_job(number, owner="ada" if number % 2 else "bob") for number in range(40)]
    jobs += [_job(100 + number, state="paused", next_at=None) for number in range(3)]
    runs = [
        {"job_id": each["id"], "at": START - timedelta(days=day), "run": "done", "delivery": "sent", "fence": 1,
         "attempts": 1, "started_at": START, "ended_at": START}
        for each in jobs for day in range(10)
    ]  # fmt: skip

    def unit(tx: Tx) -> None:
        tx.execute(job.insert(), jobs)
        tx.execute(occurrence.insert(), runs)

    await database.write(unit)


async def test_what_ones_own_did_within_a_span(database: Database, clock: FakeClock) -> None:
    await _fill(database)
    since, until = START - timedelta(days=2), START
    found = await database.read(lambda c: store.between(c, ADA, since, until, 1_000))
    assert {each.owner for each, _ in found} == {"ada"}
    assert [run.at for _, run in found] == sorted([since] * 23 + [START - timedelta(days=1)] * 23)
    everybody = await database.read(lambda c: store.between(c, None, since, until, 1_000))
    assert len(everybody) == 2 * 43


async def test_pages_follow_each_other_and_paused_ones_come_last(database: Database, clock: FakeClock) -> None:
    await _fill(database)
    seen: list[str] = []
    after = None
    while page := await database.read(lambda c, after=after: store.upcoming(c, ADA, LIVE, after, 7)):  # type: ignore[misc]
        seen += [each.id for each in page]
        after = page[-1]
    everything = await database.read(lambda c: store.of_owner(c, ADA, LIVE))
    assert seen == [each.id for each in everything]
    assert seen[-3:] == ["j100", "j101", "j102"]


async def test_history_goes_on_before_an_instant(database: Database, clock: FakeClock) -> None:
    await _fill(database)
    found = await database.read(lambda c: store.history(c, JobId("j1"), 3, START - timedelta(days=4)))
    assert [each.at for each in found] == [START - timedelta(days=day) for day in (5, 6, 7)]


async def test_a_span_is_read_along_the_time(database: Database, clock: FakeClock) -> None:
    await _fill(database)
    heard: list[tuple[str, Any]] = []

    def listen(_c: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool) -> None:
        heard.append((statement, parameters))

    sa.event.listen(sa.Engine, "before_cursor_execute", listen)
    try:
        await database.read(lambda c: store.between(c, None, START - timedelta(days=2), START, 100))
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", listen)
    statement, parameters = next(each for each in heard if "FROM occurrence" in each[0])

    def explain(connection: sa.Connection) -> list[str]:
        return [row.detail for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)]

    assert any("ix_occurrence_at" in each for each in await database.read(explain))
