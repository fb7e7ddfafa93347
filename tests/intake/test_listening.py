"""Rooms that want to be listened to: what is not addressed is heard there, and nowhere else."""

from __future__ import annotations

from bot.gateway.channel import Accepted
from bot.gateway.events import Addressed
from bot.sessions import places
from tests.intake.desk import Desk
from tests.intake.events import GROUP, TOPIC, message, sender

NOT = Addressed.NOT


async def _listens(desk: Desk, *, on: bool) -> None:
    await desk.database.write(lambda tx: places.listen(tx, GROUP.place, on=on))


async def test_an_unaddressed_message_is_heard_where_the_executive_takes_part_and_the_room_wants_it(desk: Desk) -> None:
    assert await desk.one(message("1", thread=GROUP, addressed=Addressed.MENTION)) is Accepted.NEW
    assert await desk.one(message("2", thread=GROUP, addressed=NOT)) is Accepted.IGNORED
    await _listens(desk, on=True)
    assert await desk.one(message("3", thread=GROUP, addressed=NOT)) is Accepted.NEW
    await _listens(desk, on=False)
    assert await desk.one(message("4", thread=GROUP, addressed=NOT)) is Accepted.IGNORED


async def test_another_thread_of_the_room_is_not_heard(desk: Desk) -> None:
    await desk.one(message("1", thread=GROUP, addressed=Addressed.MENTION))
    await _listens(desk, on=True)
    assert await desk.one(message("2", thread=TOPIC, addressed=NOT)) is Accepted.IGNORED


async def test_a_stranger_in_such_a_room_is_neither_heard_nor_kept(desk: Desk) -> None:
    await desk.one(message("1", thread=GROUP, addressed=Addressed.MENTION))
    await _listens(desk, on=True)
    before = await desk.states()
    assert await desk.one(message("2", thread=GROUP, addressed=NOT, by=sender("stranger"))) is Accepted.IGNORED
    assert await desk.states() == before
