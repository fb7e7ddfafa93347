"""Where several people talk: what is heard, and what counts as put to the executive."""

from __future__ import annotations

from bot.gateway.channel import Accepted
from bot.gateway.events import Addressed, Nature, Thread
from bot.sessions import places
from bot.sessions.manners import Hearing
from tests.intake.desk import Desk
from tests.intake.events import GROUP, TOPIC, command, message, sender

NOT, THREAD, MENTION, REPLY = Addressed.NOT, Addressed.THREAD, Addressed.MENTION, Addressed.REPLY


async def _hears(desk: Desk, hearing: Hearing) -> None:
    await desk.database.write(lambda tx: places.listen(tx, GROUP.place, hearing))


async def _taken(desk: Desk) -> dict[str, Addressed]:
    """How what was kept was addressed, by its text."""
    return {row.event.body.text: row.event.addressed for row in await desk.rows() if row.event.kind == "message"}


async def test_an_unaddressed_message_is_heard_where_the_room_wants_it(desk: Desk) -> None:
    assert await desk.one(message("1", thread=GROUP, addressed=MENTION)) is Accepted.NEW
    assert await desk.one(message("2", thread=GROUP, addressed=NOT)) is Accepted.IGNORED
    await _hears(desk, Hearing.ALL)
    assert await desk.one(message("3", thread=GROUP, addressed=NOT)) is Accepted.NEW
    for less in (Hearing.THREADS, Hearing.ADDRESSED):
        await _hears(desk, less)
        assert await desk.one(message(less, thread=GROUP, addressed=NOT)) is Accepted.IGNORED


async def test_a_room_that_wants_it_is_heard_in_all_its_threads(desk: Desk) -> None:
    await desk.one(message("1", thread=GROUP, addressed=MENTION))
    assert await desk.one(message("2", thread=TOPIC, addressed=NOT)) is Accepted.IGNORED
    await _hears(desk, Hearing.ALL)
    assert await desk.one(message("3", thread=TOPIC, addressed=NOT)) is Accepted.NEW
    elsewhere = Thread("test:other", "test:other")
    assert await desk.one(message("4", thread=elsewhere, addressed=NOT)) is Accepted.IGNORED


async def test_a_stranger_in_such_a_room_is_neither_heard_nor_kept(desk: Desk) -> None:
    await desk.one(message("1", thread=GROUP, addressed=MENTION))
    await _hears(desk, Hearing.ALL)
    before = await desk.states()
    assert await desk.one(message("2", thread=GROUP, addressed=NOT, by=sender("stranger"))) is Accepted.IGNORED
    assert await desk.states() == before


async def test_in_a_thread_with_one_person_every_message_is_for_the_executive(desk: Desk) -> None:
    await desk.accept(
        message("1", "opens", thread=TOPIC, addressed=MENTION),
        message("2", "at once", thread=TOPIC, addressed=THREAD),
    )
    await desk.one(message("3", "later", thread=TOPIC, addressed=THREAD))
    assert await _taken(desk) == {"opens": MENTION, "at once": THREAD, "later": THREAD}


async def test_in_a_thread_that_several_share_only_what_names_or_answers_it_is_for_the_executive(desk: Desk) -> None:
    await desk.one(message("1", "opens", thread=TOPIC, addressed=MENTION))
    await desk.one(message("2", "second person", by="2", thread=TOPIC, addressed=THREAD))
    await desk.one(message("3", "first person", thread=TOPIC, addressed=THREAD))
    await desk.one(message("4", "named", thread=TOPIC, addressed=MENTION))
    await desk.one(message("5", "answered", by="2", thread=TOPIC, addressed=REPLY))
    assert await _taken(desk) == {
        "opens": MENTION,
        "second person": NOT,
        "first person": NOT,
        "named": MENTION,
        "answered": REPLY,
    }


async def test_two_people_who_come_in_one_batch_share_the_thread(desk: Desk) -> None:
    await desk.accept(
        message("1", "opens", thread=TOPIC, addressed=MENTION),
        message("2", "second person", by="2", thread=TOPIC, addressed=THREAD),
        message("3", "first person", thread=TOPIC, addressed=THREAD),
    )
    assert await _taken(desk) == {"opens": MENTION, "second person": NOT, "first person": NOT}


async def test_who_gives_a_command_takes_part_and_a_command_is_always_for_the_executive(desk: Desk) -> None:
    await desk.one(message("1", "opens", thread=TOPIC, addressed=MENTION))
    await desk.one(command("2", "help", by="2", thread=TOPIC))
    await desk.one(message("3", "first person", thread=TOPIC, addressed=THREAD))
    assert (await _taken(desk))["first person"] is NOT
    assert await desk.one(command("4", "help", thread=TOPIC)) is Accepted.NEW


async def test_a_stranger_shares_a_thread_though_nothing_of_theirs_is_kept(desk: Desk) -> None:
    await desk.one(message("1", "opens", thread=TOPIC, addressed=MENTION))
    assert await desk.one(message("2", "nosy", by="stranger", thread=TOPIC, addressed=THREAD)) is Accepted.IGNORED
    await desk.one(message("3", "not for you", thread=TOPIC, addressed=THREAD))
    assert await _taken(desk) == {"opens": MENTION, "not for you": NOT}
    assert await desk.audited("message_refused") == []


async def test_a_machine_is_nobody_with_whom_a_thread_is_shared(desk: Desk) -> None:
    await desk.one(message("1", "opens", thread=TOPIC, addressed=MENTION))
    await desk.one(message("2", "beep", by=sender("9", Nature.BOT), thread=TOPIC, addressed=THREAD))
    await desk.one(message("3", "for you", thread=TOPIC, addressed=THREAD))
    assert (await _taken(desk))["for you"] is THREAD


async def test_in_a_quiet_room_a_shared_thread_is_not_overheard(desk: Desk) -> None:
    await desk.one(message("1", "opens", thread=TOPIC, addressed=MENTION))
    await _hears(desk, Hearing.ADDRESSED)
    assert await desk.one(message("2", by="2", thread=TOPIC, addressed=THREAD)) is Accepted.IGNORED
    assert await desk.one(message("3", by="2", thread=TOPIC, addressed=MENTION)) is Accepted.NEW
