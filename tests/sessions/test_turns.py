"""The lane: one turn at a time, and what becomes of it when its process dies."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from bot.kernel.ids import BootId, SessionId
from bot.sessions import turns
from bot.sessions.tables import turn as turn_table
from bot.sessions.turns import Turn
from tests.sessions.rooms import BOOT, Rooms

NEXT = BootId("boot-2")


@pytest.fixture
async def session(rooms: Rooms) -> SessionId:
    await rooms.see(["1"])
    return await rooms.open()


async def begin(rooms: Rooms, session: SessionId, boot: BootId = BOOT) -> Turn:
    epochs = await rooms.epochs(session)
    return (await rooms.write(lambda tx: turns.begin(tx, [(session, epochs)], boot, rooms.clock.now())))[0]


async def finish(rooms: Rooms, turn: Turn, boot: BootId = BOOT) -> bool:
    return await rooms.write(
        lambda tx: turns.finish(tx, turn, boot, "answered", "m", rooms.clock.now(), untrusted=False)
    )


async def resume(rooms: Rooms, session: SessionId, boot: BootId) -> Turn | None:
    return await rooms.write(lambda tx: turns.resume(tx, session, boot, rooms.clock.now()))


async def state(rooms: Rooms, turn: Turn) -> str:
    return await rooms.database.read(
        lambda c: str(c.execute(sa.select(turn_table.c.state).where(turn_table.c.id == turn.id)).scalar_one())
    )


async def test_a_session_has_one_running_turn(rooms: Rooms, session: SessionId) -> None:
    first = await begin(rooms, session)
    with pytest.raises(sa.exc.IntegrityError, match="UNIQUE"):
        await begin(rooms, session)
    assert await finish(rooms, first)
    await begin(rooms, session)


async def test_an_interrupted_turn_keeps_its_lane(rooms: Rooms, session: SessionId) -> None:
    first = await begin(rooms, session)
    assert await rooms.write(lambda tx: turns.interrupt(tx, first.id, BOOT))
    with pytest.raises(sa.exc.IntegrityError, match="UNIQUE"):
        await begin(rooms, session)


async def test_sessions_do_not_share_a_lane(rooms: Rooms, session: SessionId) -> None:
    other = await rooms.open("test:room:7")
    lanes = [(session, (0, 0)), (other, (0, 0))]
    begun = await rooms.write(lambda tx: turns.begin(tx, lanes, BOOT, rooms.clock.now()))
    assert [turn.session for turn in begun] == [session, other]
    assert await rooms.write(lambda tx: turns.begin(tx, [], BOOT, rooms.clock.now())) == []


async def test_a_turn_is_finished_once_and_only_by_its_own_boot(rooms: Rooms, session: SessionId) -> None:
    turn = await begin(rooms, session)
    assert not await finish(rooms, turn, NEXT)
    assert await finish(rooms, turn)
    assert not await finish(rooms, turn)


async def test_a_turn_is_not_finished_once_its_audience_was_widened(rooms: Rooms, session: SessionId) -> None:
    turn = await begin(rooms, session)
    await rooms.write(lambda tx: tx.execute(sa.text("UPDATE session SET audience_epoch = 1")).close())
    assert not await finish(rooms, turn)
    assert await state(rooms, turn) == "running"


async def test_the_next_boot_takes_up_what_an_older_one_left_and_counts_the_attempts(
    rooms: Rooms, session: SessionId
) -> None:
    turn = await begin(rooms, session)
    other = await rooms.open("test:room:7")
    mine = await begin(rooms, other, NEXT)
    assert await rooms.write(lambda tx: turns.void_older_boots(tx, NEXT)) == [session]
    assert await rooms.database.read(turns.sessions_interrupted) == [session]
    again = await resume(rooms, session, NEXT)
    assert again is not None
    assert (again.id, again.attempt) == (turn.id, 2)
    assert await resume(rooms, session, NEXT) is None, "it runs already"
    assert not await finish(rooms, turn, BOOT), "the dead process has no say any more"
    assert await state(rooms, mine) == "running"
    await rooms.write(lambda tx: turns.void_older_boots(tx, BootId("boot-3")))
    third = await resume(rooms, session, BootId("boot-3"))
    assert third is not None
    assert third.attempt == 3


async def test_a_turn_that_only_waited_is_given_back_uncounted(rooms: Rooms, session: SessionId) -> None:
    turn = await begin(rooms, session)
    assert await rooms.write(lambda tx: turns.release(tx, turn.id, BOOT))
    assert not await rooms.write(lambda tx: turns.release(tx, turn.id, BOOT))
    again = await resume(rooms, session, BOOT)
    assert again is not None
    assert again.attempt == 1


async def test_a_turn_taken_up_again_has_the_epochs_of_now(rooms: Rooms, session: SessionId) -> None:
    turn = await begin(rooms, session)
    await rooms.write(lambda tx: turns.interrupt(tx, turn.id, BOOT))
    await rooms.write(
        lambda tx: tx.execute(sa.text("UPDATE session SET audience_epoch = 3, history_epoch = 2")).close()
    )
    again = await resume(rooms, session, BOOT)
    assert again is not None
    assert (again.history_epoch, again.audience_epoch) == (2, 3)


async def test_a_parked_turn_frees_the_lane_and_a_finished_one_stays_finished(rooms: Rooms, session: SessionId) -> None:
    turn = await begin(rooms, session)
    await rooms.write(lambda tx: turns.park(tx, turn.id, rooms.clock.now()))
    assert await state(rooms, turn) == "parked"
    following = await begin(rooms, session)
    await finish(rooms, following)
    await rooms.write(lambda tx: turns.park(tx, following.id, rooms.clock.now()))
    assert await state(rooms, following) == "finished"


@pytest.mark.parametrize("change", ["state = 'finished'", "state = 'odd'", "outcome = 'answered'"])
async def test_states_outside_the_machine_cannot_be_stored(rooms: Rooms, session: SessionId, change: str) -> None:
    await begin(rooms, session)
    with pytest.raises(sa.exc.IntegrityError, match="CHECK"):
        await rooms.write(lambda tx: tx.execute(sa.text(f"UPDATE turn SET {change}")).close())
