"""Thread keys, sessions, epochs and who takes part."""

from __future__ import annotations

from datetime import timedelta

import pytest
import sqlalchemy as sa

from bot.audit import timeline
from bot.kernel.ids import SessionId
from bot.sessions import threads, turns
from bot.sessions.audience import Audience
from tests.sessions.rooms import BOOT, BOSS, CHANNEL, ROOM, Rooms


async def test_a_thread_key_leads_to_its_session(rooms: Rooms) -> None:
    await rooms.see(["1", "2"], 3)
    one, two = await rooms.open(), await rooms.open(f"{ROOM}:7")
    found = await rooms.database.read(lambda c: threads.by_thread(c, [ROOM, f"{ROOM}:7", "test:none"]))
    assert {key: each.id for key, each in found.items()} == {ROOM: one, f"{ROOM}:7": two}
    assert found[ROOM] == threads.Session(one, CHANNEL, ROOM, Audience.EXTERNAL, 0, 0, lane_busy=False, title="Room")
    assert await rooms.database.read(lambda c: threads.key_of(c, two)) == f"{ROOM}:7"
    assert await rooms.database.read(lambda c: threads.get(c, SessionId("none"))) is None


async def test_a_thread_key_cannot_lead_to_two_sessions(rooms: Rooms) -> None:
    await rooms.see(["1"])
    await rooms.open()
    with pytest.raises(sa.exc.IntegrityError):
        await rooms.open()


async def test_a_session_needs_a_known_place(rooms: Rooms) -> None:
    with pytest.raises(sa.exc.IntegrityError, match="FOREIGN KEY"):
        await rooms.open("test:x", place="test:nowhere")


async def test_a_session_says_whether_its_lane_is_busy(rooms: Rooms) -> None:
    await rooms.see(["1"])
    session = await rooms.open()
    now = rooms.clock.now()
    begun = await rooms.write(lambda tx: turns.begin(tx, [(session, (0, 0))], BOOT, now))
    assert (await rooms.session(session)).lane_busy
    await rooms.write(lambda tx: turns.finish(tx, begun[0], BOOT, "answered", None, now, untrusted=False))
    assert not (await rooms.session(session)).lane_busy


async def test_new_raises_the_history_epoch_and_is_recorded(rooms: Rooms) -> None:
    await rooms.see(["1"])
    session = await rooms.open()
    assert await rooms.write(lambda tx: threads.new_history(tx, rooms.recorder, session, BOSS)) == 1
    assert await rooms.write(lambda tx: threads.new_history(tx, rooms.recorder, session, BOSS)) == 2
    assert await rooms.epochs(session) == (2, 0)
    entries = await rooms.database.read(lambda c: timeline.of_session(c, session))
    assert [(e.payload["change"], e.payload["history_epoch"], e.actor) for e in entries] == [
        ("opened", 0, "daemon"),
        ("epoch", 1, "boss"),
        ("epoch", 2, "boss"),
    ]


async def test_moved_threads_keep_their_sessions_under_new_keys(rooms: Rooms) -> None:
    await rooms.see(["1"])
    plain, topic = await rooms.open(), await rooms.open(f"{ROOM}:7")
    rooms.clock.advance(timedelta(seconds=1))
    await rooms.move(ROOM, "test:super")
    found = await rooms.database.read(lambda c: threads.by_thread(c, ["test:super", "test:super:7"]))
    assert {key: each.id for key, each in found.items()} == {"test:super": plain, "test:super:7": topic}
    assert await rooms.database.read(lambda c: threads.key_of(c, topic)) == "test:super:7"


async def test_a_moved_thread_takes_over_a_key_that_was_used_already_and_nobody_is_lost(rooms: Rooms) -> None:
    await rooms.see(["1"])
    old = await rooms.open()
    await rooms.see(["1"], key="test:super")
    early = await rooms.open("test:super", place="test:super")
    await rooms.move(ROOM, "test:super")
    found = await rooms.database.read(lambda c: threads.by_thread(c, ["test:super"]))
    assert found["test:super"].id == old
    assert (await rooms.session(early)).place == "test:super", "what waits in it still finds it"


async def test_other_places_whose_keys_begin_alike_stay(rooms: Rooms) -> None:
    await rooms.see(["1"])
    await rooms.see(["1"], key=f"{ROOM}2")
    other = await rooms.open(f"{ROOM}2", place=f"{ROOM}2")
    await rooms.move(ROOM, "test:super")
    assert await rooms.database.read(lambda c: threads.key_of(c, other)) == f"{ROOM}2"


async def test_who_takes_part_is_noted_once(rooms: Rooms) -> None:
    await rooms.see(["1"])
    one, two = await rooms.open(), await rooms.open(f"{ROOM}:7")
    pairs = [(one, "1"), (one, "1"), (two, "2")]
    await rooms.write(lambda tx: threads.add_participants(tx, pairs, rooms.clock.now()))
    await rooms.write(lambda tx: threads.add_participants(tx, pairs, rooms.clock.now()))
    assert await rooms.database.read(lambda c: threads.takes_part(c, [one, two], "1")) == {one}
    assert await rooms.database.read(lambda c: threads.takes_part(c, [one, two], "666")) == set()
    assert await rooms.database.read(lambda c: threads.takes_part(c, [], "1")) == set()
