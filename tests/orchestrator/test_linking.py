"""An account becomes a person's in three steps, both sides taking part; all their accounts hear of it; it is undone."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import cast

import pytest
import sqlalchemy as sa

from bot.audit import timeline
from bot.audit.recorder import Recorder
from bot.gateway.channel import Channel
from bot.gateway.codec import load_operation
from bot.gateway.events import ReplyPath
from bot.gateway.operations import Send
from bot.kernel.errors import PermanentError
from bot.kernel.ids import PersonId
from bot.kernel.retry import Backoff
from bot.kernel.supervise import Supervisor, cancel
from bot.orchestrator.linking import TOLD, Linking, Telling
from bot.orchestrator.roster import Roster, UnknownPersonError, UnknownRequestError
from bot.outbox.tables import outbox as outbox_table
from bot.people import browsers, pairing, store
from bot.people.model import Handle, Origin
from bot.storage.database import Database
from bot.tasks.tables import task
from bot.tasks.worker import Worker
from tests.clock import FakeClock
from tests.outbox.channel import ScriptedChannel
from tests.outbox.post import Post
from tests.sessions.rooms import BOOT, BOSS, CHANNEL, PEOPLE, Rooms

ADA = PersonId("ada")


class There(ScriptedChannel):
    async def direct(self, address: str) -> ReplyPath:
        return ReplyPath(f"test:dm:{address}", address)


@pytest.fixture
async def rooms(database: Database, recorder: Recorder, clock: FakeClock) -> Rooms:
    rooms = Rooms(database, recorder, clock)
    await rooms.add_people(*PEOPLE)
    return rooms


@pytest.fixture
def linking(rooms: Rooms) -> Linking:
    roster = Roster(rooms.database, rooms.recorder, rooms.clock, "UTC", lambda: None, None)
    return Linking(roster, lambda: None)


async def _sent(rooms: Rooms, words: str, address: str = "99", name: str = "ada at home") -> pairing.Claim:
    account = Handle(CHANNEL, address, Origin.PAIRED)
    return await rooms.write(
        lambda tx: pairing.claim(tx, rooms.recorder, words, account, name, direct=True, now=rooms.clock.now())
    )


async def _linked(rooms: Rooms, linking: Linking, address: str = "99") -> None:
    code = await linking.code(ADA, BOSS)
    await _sent(rooms, code.words, address)
    await linking.link(code.id, BOSS)


async def _accounts(rooms: Rooms, who: PersonId = ADA) -> set[str]:
    found = await rooms.database.read(lambda c: store.get(c, who))
    assert found is not None
    return {each.address for each in found.handles}


async def test_a_code_that_the_account_has_sent_is_confirmed_with_its_id(rooms: Rooms, linking: Linking) -> None:
    code = await linking.code(ADA, BOSS)
    assert (await linking.look(code.id)).state.state == "open"
    with pytest.raises(UnknownRequestError, match="not claimed"):
        await linking.link(code.id, BOSS)
    await _sent(rooms, code.words)
    seen = await linking.look(code.id)
    assert (seen.state.state, seen.state.address, seen.state.shown_name) == ("claimed", "99", "ada at home")
    assert seen.owner is None
    assert "99" not in await _accounts(rooms)
    await linking.link(code.id, BOSS)
    assert "99" in await _accounts(rooms)
    entries = await rooms.database.read(lambda c: timeline.newest(c, 100))
    assert [(each.type, each.actor) for each in entries if each.type == "person_paired"] == [("person_paired", "boss")]


async def test_whose_the_account_was_is_said_before_it_changes_hands(rooms: Rooms, linking: Linking) -> None:
    code = await linking.code(ADA, BOSS)
    await _sent(rooms, code.words, "3")
    owner = (await linking.look(code.id)).owner
    assert owner is not None
    assert owner.id == "bob"
    await linking.link(code.id, BOSS)
    assert "3" not in await _accounts(rooms, PersonId("bob"))
    entries = await rooms.database.read(lambda c: timeline.newest(c, 100))
    changed = [
        (each.actor, each.payload["person"], each.payload["change"])
        for each in entries
        if each.type == "person_changed"
    ]
    assert ("boss", "bob", "handle_removed") in changed
    told = await rooms.database.read(
        lambda c: c.execute(sa.select(task.c.payload).where(task.c.kind == TOLD)).scalars()
    )
    assert {(each["person"], each["what"]) for each in told} == {("ada", "linked"), ("bob", "unlinked")}


async def test_a_refused_or_late_code_links_nothing(rooms: Rooms, linking: Linking) -> None:
    refused, late = await linking.code(ADA, BOSS), await linking.code(ADA, BOSS)
    for each in (refused, late):
        await _sent(rooms, each.words)
    await linking.refuse(refused.id, BOSS)
    rooms.clock.advance(timedelta(minutes=11))
    for each in (refused, late):
        with pytest.raises(UnknownRequestError):
            await linking.link(each.id, BOSS)
    assert await _accounts(rooms) == {"2"}
    with pytest.raises(UnknownRequestError):
        await linking.refuse(refused.id, BOSS)


async def test_all_accounts_are_told_of_a_linking_and_of_its_undoing(
    rooms: Rooms, linking: Linking, supervisor: Supervisor
) -> None:
    outbox = Post(rooms.database, rooms.recorder, rooms.clock, supervisor).outbox
    channel = cast(Channel, There(rooms.clock))
    handlers = Telling(rooms.database, rooms.clock, outbox, {CHANNEL: channel}).handlers()
    runner = Worker(rooms.database, rooms.recorder, rooms.clock, supervisor, BOOT, handlers, Backoff())
    running = supervisor.job("tasks", runner.run())

    async def told() -> list[tuple[str, str]]:
        while not (queued := await rooms.database.read(lambda c: c.execute(sa.select(outbox_table)).all())):
            runner.ring()
            await asyncio.sleep(0.005)
        await rooms.write(lambda tx: tx.execute(outbox_table.delete()))
        ops = [(each.address, load_operation(each.op)) for each in queued]
        return [(address, op.text) for address, op in ops if isinstance(op, Send)]

    await _linked(rooms, linking)
    first = await told()
    assert {address for address, _ in first} == {"2", "99"}
    assert all("boss has linked it" in text for _, text in first)
    await linking.unlink(ADA, CHANNEL, "99", BOSS)
    second = await told()
    assert {address for address, _ in second} == {"2", "99"}
    assert all("no longer taken for ada's" in text for _, text in second)
    await cancel(running)


async def test_unlinking_signs_out_whoever_came_in_by_that_account(rooms: Rooms, linking: Linking) -> None:
    await _linked(rooms, linking)
    now = rooms.clock.now()
    link = await rooms.write(lambda tx: browsers.make_link(tx, ADA, None, now))
    open_ = await rooms.write(lambda tx: browsers.make_link(tx, ADA, None, now))
    entered = await rooms.write(lambda tx: browsers.consume(tx, rooms.recorder, link, None, "x", now))
    assert not isinstance(entered, browsers.Refused)
    await linking.unlink(ADA, CHANNEL, "99", BOSS)
    assert await _accounts(rooms) == {"2"}
    assert await rooms.database.read(lambda c: browsers.check(c, entered[1], now)) is browsers.Refused.ENDED
    assert await rooms.database.read(lambda c: browsers.look(c, open_, None, now)) is browsers.Refused.UNKNOWN


async def test_what_stands_in_the_settings_and_the_last_account_stay(rooms: Rooms, linking: Linking) -> None:
    await _linked(rooms, linking)
    with pytest.raises(PermanentError, match="settings"):
        await linking.unlink(ADA, CHANNEL, "2", BOSS)
    with pytest.raises(UnknownRequestError):
        await linking.unlink(ADA, CHANNEL, "3", BOSS)
    with pytest.raises(UnknownPersonError):
        await linking.code(PersonId("nobody"), BOSS)
