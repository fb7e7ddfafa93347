from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest

from bot.audit.events import Actor
from bot.control.wire import MalformedError
from bot.gateway.channel import Channel, Health
from bot.gateway.events import Place, PlaceKind
from bot.gateway.operations import Receipt, Reply, Send
from bot.kernel.errors import PermanentError
from bot.kernel.ids import BootId, OutboxId, PersonId, SessionId
from bot.kernel.retry import Backoff
from bot.kernel.supervise import Supervisor, cancel, start
from bot.orchestrator.leaving import Departures
from bot.orchestrator.roster import Roster
from bot.outbox.service import Outbox
from bot.people import pairing, store
from bot.people.model import Handle, Origin, Person, Role
from bot.scheduler import store as jobs
from bot.scheduler.model import Cron, JobState, Kind
from bot.scheduler.service import Schedules, Wish
from bot.sessions import places, threads
from bot.sessions.audience import Audience
from bot.storage.database import Tx
from tests.control.desk import Desk, person

ROOM = "telegram:-1"


async def add(desk: Desk, new: Person) -> None:
    await desk.database.write(lambda tx: store.add(tx, desk.recorder, new, Actor("system", "test"), desk.clock.now()))


async def stranger_asks(desk: Desk, address: str = "77") -> str:
    account = Handle("telegram", address, Origin.PAIRED)
    request = await desk.database.write(lambda tx: pairing.ask(tx, desk.recorder, account, "Ben", desk.clock.now()))
    assert request is not None
    return request


async def claimed(desk: Desk, code: object, address: str = "99") -> pairing.Claim:
    account = Handle("telegram", address, Origin.PAIRED)
    return await desk.database.write(
        lambda tx: pairing.claim(tx, desk.recorder, str(code), account, "anna_on_tg", direct=True, now=desk.clock.now())
    )


async def test_status_is_the_daemons_word_and_what_is_parked(desk: Desk) -> None:
    assert await desk.ask("status") == {"version": "0.0.0", "parked": [], "ok": True}


@pytest.mark.parametrize(
    ("op", "fields"),
    [
        ("people.accept", {}),
        ("people.accept", {"id": "x", "role": "emperor"}),
        ("people.accept", {"id": 5}),
        ("people.list", {"surplus": 1}),
        ("pair.confirm", {"code_id": "x"}),
        ("audit.show", {"last": "many"}),
    ],
)
async def test_a_request_that_is_not_understood_names_the_fields(
    desk: Desk, op: str, fields: dict[str, object]
) -> None:
    with pytest.raises(MalformedError, match="cannot read this request"):
        await desk.ask(op, **fields)


async def test_people_are_listed_with_their_handles(desk: Desk) -> None:
    (anna,) = await desk.rows("people.list", "people")
    assert anna["id"] == "anna"
    assert anna["role"] == "principal"
    assert anna["handles"] == ["telegram:1"]


async def test_a_request_is_accepted_with_its_audit_rows(desk: Desk) -> None:
    request = await stranger_asks(desk)
    (shown,) = await desk.rows("people.requests", "requests")
    assert shown["id"] == request
    assert shown["address"] == "77"
    answer = await desk.ask("people.accept", id=request, role="guest")
    new = answer["person"]
    assert isinstance(new, dict)
    assert (new["role"], new["time_zone"], new["handles"]) == ("guest", "Europe/Berlin", ["telegram:77"])
    assert desk.forgotten == [True]
    assert [row for row in await desk.audited() if row[1] == "operator"] == [
        ("pairing_requested", "operator"),
        ("person_changed", "operator"),
        ("person_paired", "operator"),
    ]
    assert await desk.rows("people.requests", "requests") == []
    with pytest.raises(PermanentError, match="no open request"):
        await desk.ask("people.accept", id=request)


async def test_a_declined_request_is_gone_and_nobody_was_added(desk: Desk) -> None:
    request = await stranger_asks(desk)
    assert await desk.ask("people.decline", id=request) == {"ok": True}
    assert await desk.rows("people.requests", "requests") == []
    assert len(await desk.rows("people.list", "people")) == 1
    assert desk.forgotten == []
    with pytest.raises(PermanentError, match="no open request"):
        await desk.ask("people.decline", id=request)


async def test_deactivating_acts_at_once_and_once(desk: Desk) -> None:
    await add(desk, person("cleo", Role.MEMBER, Origin.PAIRED, Handle("telegram", "3", Origin.PAIRED)))
    await desk.ask("people.deactivate", id="cleo")
    gone = await desk.database.read(lambda c: store.get(c, PersonId("cleo")))
    assert gone is not None
    assert not gone.active
    assert desk.forgotten == [True]
    assert ("person_changed", "operator") in await desk.audited()
    with pytest.raises(PermanentError, match="no active person"):
        await desk.ask("people.deactivate", id="cleo")


async def test_what_somebody_had_scheduled_rests_with_the_transaction_that_deactivates_them(desk: Desk) -> None:
    cleo = person("cleo", Role.MEMBER, Origin.PAIRED, Handle("telegram", "3", Origin.PAIRED))
    await add(desk, cleo)
    wish = Wish(Kind.REMINDER, "stand up", Cron("0 9 * * *"), "UTC")
    by, now = Actor("person", cleo.id), desk.clock.now()
    job = await desk.database.write(lambda tx: Schedules(desk.recorder).make(tx, wish, cleo, None, by, now))
    await desk.ask("people.deactivate", id="cleo")
    after = await desk.database.read(lambda c: jobs.get(c, job.id))
    assert after is not None
    assert (after.state, after.next_at) == (JobState.PAUSED, None)
    assert ("schedule_changed", "operator") in await desk.audited()


async def test_people_of_the_settings_are_read_only_here(desk: Desk) -> None:
    before = await desk.audited()
    with pytest.raises(PermanentError, match=r"\[people\.anna\]"):
        await desk.ask("people.deactivate", id="anna")
    assert await desk.audited() == before


async def test_the_last_principal_cannot_be_deactivated(desk: Desk) -> None:
    await add(desk, person("dora", Role.PRINCIPAL, Origin.PAIRED))

    def without_anna(tx: Tx) -> None:
        store.deactivate(tx, desk.recorder, PersonId("anna"), Actor("system", "test"), desk.clock.now())

    await desk.database.write(without_anna)
    with pytest.raises(PermanentError, match="last principal"):
        await desk.ask("people.deactivate", id="dora")


async def test_rooms_of_a_deactivated_person_are_judged_anew_in_the_same_unit(desk: Desk) -> None:
    await add(desk, person("cleo", Role.MEMBER, Origin.PAIRED, Handle("telegram", "3", Origin.PAIRED)))
    now = desk.clock.now()

    def room(tx: Tx) -> SessionId:
        seen = Place(PlaceKind.GROUP, "board", members=3)
        places.see(tx, desk.recorder, "telegram", ROOM, seen, ["1", "3"], now)
        places.declare(tx, desk.recorder, ROOM, Audience.ROOM, Actor("person", "anna"), now)
        return threads.open_session(tx, desk.recorder, "telegram", ROOM, ROOM, now).id

    session = await desk.database.write(room)
    (before,) = await desk.rows("rooms", "rooms")
    assert before["audience"] == "room"
    await desk.ask("people.deactivate", id="cleo")
    (after,) = await desk.rows("rooms", "rooms")
    assert after["audience"] == "external"
    found = await desk.database.read(lambda c: threads.get(c, session))
    assert found is not None
    assert found.audience_epoch == 1  # what was planned for the narrower room is no longer sent


class Said:
    """A channel of which only planning and sending is used."""

    def __init__(self) -> None:
        self.texts: asyncio.Queue[str] = asyncio.Queue()

    def plan(self, reply: Reply) -> list[Send]:
        return [Send(reply.path, reply.markdown, reply.markdown)]

    async def send(self, op: Send, key: OutboxId, again: bool) -> Receipt:
        self.texts.put_nowait(f"{op.path.thread} {op.text}")
        return Receipt("r", datetime(2026, 1, 1, tzinfo=UTC))

    def health(self) -> Health:
        return Health(receiving=True)


async def test_a_room_is_told_why_it_is_treated_differently(desk: Desk) -> None:
    said, supervisor = Said(), Supervisor()
    outbox = Outbox(
        desk.database,
        desk.recorder,
        desk.clock,
        supervisor,
        {"telegram": cast(Channel, said)},
        BootId("boot"),
        lambda connection, row: None,
        Backoff(),
    )
    roster = Roster(desk.database, desk.recorder, desk.clock, "UTC", lambda: None, outbox)
    await add(desk, person("cleo", Role.MEMBER, Origin.PAIRED, Handle("telegram", "3", Origin.PAIRED)))

    def room(tx: Tx) -> None:
        seen = Place(PlaceKind.GROUP, "board", members=3)
        places.see(tx, desk.recorder, "telegram", ROOM, seen, ["1", "3"], desk.clock.now())
        places.declare(tx, desk.recorder, ROOM, Audience.ROOM, Actor("person", "anna"), desk.clock.now())

    await desk.database.write(room)
    await Departures(roster, lambda: None).leave(PersonId("cleo"), Actor("system", "operator"))
    async with asyncio.timeout(10):
        text = await said.texts.get()
    assert text.startswith(f"{ROOM} From now on I treat this place as **external**:")
    assert await supervisor.drain(timedelta(seconds=10))


async def test_a_failed_change_leaves_no_trace(desk: Desk) -> None:
    before = await desk.audited()
    roster = Roster(desk.database, desk.recorder, desk.clock, "UTC", lambda: None, None)

    def change(tx: Tx) -> None:
        store.add(
            tx, desk.recorder, person("eve", Role.MEMBER, Origin.PAIRED), Actor("system", "test"), desk.clock.now()
        )
        raise PermanentError("no")

    with pytest.raises(PermanentError, match="no"):
        await roster.changed(change, Actor("system", "test"))
    assert await desk.audited() == before
    assert await desk.database.read(lambda c: store.get(c, PersonId("eve"))) is None


# --- pairing ---------------------------------------------------------------------------------------------------------


async def test_pairing_from_code_to_confirmed_handle(desk: Desk) -> None:
    made = await desk.ask("pair.make")
    assert made["person"]["id"] == "anna"  # type: ignore[index]
    waiting = start("wait", desk.ask("pair.wait", code_id=made["code_id"]))
    await desk.clock.sleeper()
    assert await claimed(desk, made["code"]) is pairing.Claim.CLAIMED
    desk.clock.advance(timedelta(seconds=1))
    async with asyncio.timeout(10):
        seen = await waiting
    assert (seen["state"], seen["channel"], seen["address"], seen["name"]) == (
        "claimed",
        "telegram",
        "99",
        "anna_on_tg",
    )
    answer = await desk.ask("pair.confirm", code_id=made["code_id"], yes=True)
    assert "telegram:99" in answer["person"]["handles"]  # type: ignore[index]
    assert ("person_paired", "operator") in await desk.audited()
    assert desk.forgotten == [True]


async def test_a_refused_pairing_links_nothing(desk: Desk) -> None:
    made = await desk.ask("pair.make", person="anna")
    await claimed(desk, made["code"])
    assert await desk.ask("pair.confirm", code_id=made["code_id"], yes=False) == {"ok": True}
    anna = await desk.database.read(lambda c: store.get(c, PersonId("anna")))
    assert anna is not None
    assert len(anna.handles) == 1
    with pytest.raises(PermanentError, match="not claimed"):
        await desk.ask("pair.confirm", code_id=made["code_id"], yes=True)
    with pytest.raises(PermanentError, match="no longer open"):
        await desk.ask("pair.confirm", code_id=made["code_id"], yes=False)


async def test_an_unclaimed_code_cannot_be_confirmed(desk: Desk) -> None:
    made = await desk.ask("pair.make")
    with pytest.raises(PermanentError, match="not claimed"):
        await desk.ask("pair.confirm", code_id=made["code_id"], yes=True)


async def test_waiting_ends_when_the_codes_time_is_up(desk: Desk) -> None:
    made = await desk.ask("pair.make")
    waiting = start("wait", desk.ask("pair.wait", code_id=made["code_id"]))
    await desk.clock.sleeper()
    desk.clock.advance(pairing.LIFETIME)
    async with asyncio.timeout(10):
        assert (await waiting)["state"] == "expired"
    assert await claimed(desk, made["code"]) is pairing.Claim.UNKNOWN


async def test_a_wait_can_be_given_up(desk: Desk) -> None:
    made = await desk.ask("pair.make")
    waiting = start("wait", desk.ask("pair.wait", code_id=made["code_id"]))
    await desk.clock.sleeper()
    await cancel(waiting)
    assert waiting.cancelled()


@pytest.mark.parametrize("who", ["nobody", ""])
async def test_a_code_for_nobody_is_not_made(desk: Desk, who: str) -> None:
    with pytest.raises(PermanentError, match="no active person"):
        await desk.ask("pair.make", person=who)
