"""Leaving acts at once, in one transaction; what is open is handed to somebody who may see it."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from bot.audit import timeline
from bot.audit.events import Actor
from bot.audit.recorder import Recorder
from bot.gateway.events import ReplyPath
from bot.gateway.operations import Send
from bot.kernel.errors import PermanentError
from bot.kernel.ids import BootId, JobId, PersonId
from bot.memory.model import Claim, Kind, Visibility, Work
from bot.orchestrator.leaving import HANDED, Departures, HandedOver, told
from bot.orchestrator.roster import Roster, UnknownPersonError
from bot.outbox import store as outbox
from bot.outbox.store import Origin as Cause
from bot.outbox.tables import Policy
from bot.outbox.tables import outbox as outbox_table
from bot.people import browsers, pairing, store, tokens
from bot.people.model import Handle, Origin, Role
from bot.scheduler import store as jobs
from bot.scheduler.model import Cron, Job, JobState
from bot.scheduler.model import Kind as JobKind
from bot.scheduler.service import Schedules, Wish
from bot.storage.database import Database
from bot.tasks.tables import task
from tests.clock import FakeClock
from tests.memory.desk import ADDRESSES, Desk
from tests.people.test_model import person
from tests.sessions.rooms import BOSS, CHANNEL, PEOPLE, Rooms

CLEO = PersonId("cleo")
BOB = PersonId("bob")


@pytest.fixture
async def desk(database: Database, recorder: Recorder, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setitem(ADDRESSES, "cleo", "9")
    rooms = Rooms(database, recorder, clock)
    await rooms.add_people(*PEOPLE)
    new = person("cleo", origin=Origin.PAIRED, handles=[Handle(CHANNEL, "9", Origin.PAIRED)])
    await rooms.write(lambda tx: store.add(tx, recorder, new, BOSS, clock.now()))
    return Desk(rooms)


@pytest.fixture
def departures(desk: Desk) -> Departures:
    rooms = desk.rooms
    roster = Roster(rooms.database, rooms.recorder, rooms.clock, "UTC", lambda: None, None)
    return Departures(roster, lambda: None)


async def _schedule(desk: Desk, text: str, kind: JobKind = JobKind.REMINDER) -> Job:
    cleo = await desk.rooms.database.read(lambda c: store.get(c, CLEO))
    assert cleo is not None
    wish = Wish(kind, text, Cron("0 9 * * *"), "UTC")
    by = Actor("person", CLEO)
    schedules = Schedules(desk.rooms.recorder)
    return await desk.write(lambda tx: schedules.make(tx, wish, cleo, None, by, desk.now))


async def _initiative(desk: Desk, session: Any, statement: str, **values: Any) -> Claim:
    return await desk.said(
        session,
        "cleo",
        statement,
        kind=Kind.INITIATIVE,
        work=Work.ACTIVE,
        owner=CLEO,
        messages=(statement,),
        subject=statement,
        **values,
    )


async def _job(desk: Desk, job: JobId) -> Job:
    found = await desk.rooms.database.read(lambda c: jobs.get(c, job))
    assert found is not None
    return found


async def _queued(desk: Desk, address: str) -> None:
    op = Send(ReplyPath(f"test:dm:{address}", address), "hello", "hello")
    cause, boot = Cause(None, None, None), BootId("")
    await desk.write(
        lambda tx: outbox.insert(tx, CHANNEL, [op], cause, Policy.RESEND_ONCE, boot, desk.now, may_leave=False)
    )


async def test_everything_of_theirs_ends_in_the_transaction_that_deactivates_them(
    desk: Desk, departures: Departures
) -> None:
    rooms, now = desk.rooms, desk.now
    link = await desk.write(lambda tx: browsers.make_link(tx, CLEO, None, now))
    entered = await desk.write(lambda tx: browsers.consume(tx, rooms.recorder, link, None, "x", now))
    assert not isinstance(entered, browsers.Refused)
    unused = await desk.write(lambda tx: browsers.make_link(tx, CLEO, None, now))
    by = Actor("person", CLEO)
    _, secret = await desk.write(lambda tx: tokens.make(tx, rooms.recorder, CLEO, "script", tokens.LONGEST, by, now))
    code_id, code = await desk.write(lambda tx: pairing.make(tx, rooms.recorder, CLEO, by, now))
    job = await _schedule(desk, "stand up")
    await _queued(desk, "9")
    await _queued(desk, "2")
    await _initiative(desk, await desk.alone("cleo"), "We move to Graz.")

    seen = await departures.preview(CLEO, await desk.by("boss"))
    assert (seen.browsers, seen.tokens, seen.queued, len(seen.schedules), len(seen.initiatives)) == (1, 1, 1, 1, 0)

    await departures.leave(CLEO, BOSS)
    assert await rooms.database.read(lambda c: browsers.check(c, entered[1], now)) is browsers.Refused.ENDED
    assert await rooms.database.read(lambda c: browsers.look(c, unused, None, now)) is browsers.Refused.UNKNOWN
    assert await rooms.database.read(lambda c: tokens.check(c, secret, now)) is tokens.Refused.REVOKED
    account = Handle(CHANNEL, "50", Origin.PAIRED)
    claimed = await desk.write(
        lambda tx: pairing.claim(tx, rooms.recorder, code, account, "x", direct=True, now=desk.now)
    )
    assert claimed is pairing.Claim.UNKNOWN
    assert (await _job(desk, job.id)).state is JobState.PAUSED
    rows = await rooms.database.read(lambda c: c.execute(sa.select(outbox_table.c.address, outbox_table.c.state)).all())
    assert {row.address: row.state for row in rows} == {"9": "parked", "2": "queued"}
    entries = await rooms.database.read(lambda c: timeline.newest(c, 100))
    told = {each.type for each in entries if each.actor == "boss"}
    assert {"person_changed", "auth_logout", "token_changed", "schedule_changed", "delivery_parked"} <= told
    assert code_id in "".join(str(each.payload) for each in entries if each.type == "pairing_code")
    with pytest.raises(UnknownPersonError):
        await departures.leave(CLEO, BOSS)


async def test_people_of_the_settings_and_the_last_principal_do_not_leave_here(
    desk: Desk, departures: Departures
) -> None:
    with pytest.raises(PermanentError, match="stands in the settings"):
        await departures.leave(BOB, BOSS)


async def _hand(desk: Desk, departures: Departures, to: str = "bob", **chosen: Any) -> HandedOver:
    return await departures.hand_over(CLEO, PersonId(to), await desk.by("boss"), **chosen)


async def test_open_initiatives_go_to_somebody_who_may_see_them(desk: Desk, departures: Departures) -> None:
    room = await desk.room("boss", "cleo")
    company = await _initiative(desk, room, "We open in Graz.", visibility=Visibility.COMPANY)
    among_two = await _initiative(desk, room, "We hire a driver.")
    private = await _initiative(desk, await desk.alone("cleo"), "I look for another job.")
    over = await _initiative(desk, room, "We sold the van.", visibility=Visibility.COMPANY)
    await desk.do("boss", "plan", over, {"work": Work.COMPLETED})
    await departures.leave(CLEO, BOSS)

    seen = await departures.preview(CLEO, await desk.by("boss"))
    assert {each.statement for each in seen.initiatives} == {"We open in Graz.", "We hire a driver."}
    handed = await _hand(desk, departures)
    assert [each.id for each in handed.initiatives] == [company.id]
    assert handed.hidden == 1
    assert (await desk.look(company)).owner == BOB
    for each in (among_two, private, over):
        assert (await desk.look(each)).owner == CLEO
    assert (await desk.audited()).count(("memory_work", "boss")) == 2


async def test_schedules_rest_with_their_new_owner_until_resumed(desk: Desk, departures: Departures) -> None:
    kept, chosen = await _schedule(desk, "water the plants"), await _schedule(desk, "pay the rent")
    brief = await _schedule(desk, "", JobKind.MORNING_BRIEF)
    await departures.leave(CLEO, BOSS)
    handed = await _hand(desk, departures, schedules=[chosen.id], initiatives=[])
    assert [each.id for each in handed.schedules] == [chosen.id]
    after = await _job(desk, chosen.id)
    assert (after.owner, after.state, after.session) == (BOB, JobState.PAUSED, None)
    assert "handed over" in (after.paused_because or "")
    assert [(await _job(desk, each.id)).owner for each in (kept, brief)] == [CLEO, CLEO]


@pytest.mark.parametrize("to", ["guest", "cleo", "nobody"])
async def test_only_somebody_of_the_company_takes_over(desk: Desk, departures: Departures, to: str) -> None:
    job = await _schedule(desk, "water the plants")
    await departures.leave(CLEO, BOSS)
    with pytest.raises(UnknownPersonError):
        await _hand(desk, departures, to)
    assert (await _job(desk, job.id)).owner == CLEO


async def test_the_last_principal_stays(desk: Desk, departures: Departures) -> None:
    new = person("dora", Role.PRINCIPAL, Origin.PAIRED)
    rooms = desk.rooms
    await desk.write(lambda tx: store.add(tx, rooms.recorder, new, BOSS, desk.now))
    await desk.write(lambda tx: store.deactivate(tx, rooms.recorder, PersonId("boss"), BOSS, desk.now))
    with pytest.raises(PermanentError, match="last principal"):
        await departures.leave(PersonId("dora"), BOSS)


async def test_who_takes_over_is_told_of_what_they_may_see(desk: Desk, departures: Departures) -> None:
    room = await desk.room("boss", "cleo")
    await _initiative(desk, room, "We open in Graz.", visibility=Visibility.COMPANY)
    await _initiative(desk, room, "We hire a driver.")
    job = await _schedule(desk, "water the plants")
    await departures.leave(CLEO, BOSS)
    await _hand(desk, departures)
    query = sa.select(task.c.payload).where(task.c.kind == HANDED)
    payload = await desk.rooms.database.read(lambda c: c.execute(query).scalar_one())
    text = await desk.rooms.database.read(lambda c: told(c, payload))
    assert text == (
        "boss handed over to you what was cleo's:\n\n- We open in Graz.\n"
        f"- water the plants (every day at 09:00 (UTC)): it rests until you say `/schedule resume {job.id[-6:]}`"
    )
    assert await desk.rooms.database.read(lambda c: told(c, {**payload, "initiatives": [], "schedules": []})) is None
