"""What was said is shown within its session and its epochs only."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.gateway.events import Body, Proof, Span, SpanKind
from bot.kernel.ids import BlobHash, MessageId, PersonId, SessionId, new_id
from bot.kernel.scope import SessionScope
from bot.sessions import threads, transcript, turns
from bot.sessions.audience import Audience
from bot.sessions.transcript import DELETED, File, Said
from bot.sessions.turns import Turn
from bot.storage.database import Tx
from tests.sessions.rooms import BOOT, BOSS, Rooms

QUOTED = Body("own> quoted", (Span(0, 4, SpanKind.OWN), Span(4, 11, SpanKind.QUOTED)))


@pytest.fixture
async def session(rooms: Rooms) -> SessionId:
    await rooms.see(["1", "2"], 3)
    return await rooms.open()


async def say(rooms: Rooms, session: SessionId, *words: str, ref: str | None = None) -> Turn:
    """One turn: a question and its answers."""
    rooms.clock.advance(timedelta(seconds=1))
    now = rooms.clock.now()
    epochs = await rooms.epochs(session)
    turn = (await rooms.write(lambda tx: turns.begin(tx, [(session, epochs)], BOOT, now)))[0]
    said = [
        Said(
            MessageId(new_id(now)),
            turn.id,
            "user" if position == 0 else "assistant",
            PersonId("boss") if position == 0 else None,
            "Boss",
            ref if position == 0 else None,
            Body(text),
            Proof.PLATFORM,
            now,
        )
        for position, text in enumerate(words)
    ]

    def unit(tx: Tx) -> None:
        transcript.add(tx, turn, said, now)
        assert turns.finish(tx, turn, BOOT, "answered", None, now, untrusted=False)

    await rooms.write(unit)
    return turn


async def shown(rooms: Rooms, session: SessionId) -> list[str]:
    said = await rooms.database.read(lambda c: transcript.history(c, SessionScope(session)))
    return [each.body.text for each in said]


async def test_history_is_in_order(rooms: Rooms, session: SessionId) -> None:
    for number in range(5):
        await say(rooms, session, f"q{number}", f"a{number}", f"b{number}")
    assert await shown(rooms, session) == [f"{kind}{n}" for n in range(5) for kind in "qab"]


async def test_everything_about_a_message_comes_back(rooms: Rooms, session: SessionId) -> None:
    now = rooms.clock.now()
    turn = (await rooms.write(lambda tx: turns.begin(tx, [(session, (0, 0))], BOOT, now)))[0]
    file = File("a.pdf", "application/pdf", BlobHash("f" * 64), "read", "page 2 was empty")
    said = Said(
        MessageId("m"), turn.id, "user", PersonId("ada"), "Ada", "test:ref", QUOTED, Proof.DOMAIN, now, (file,), now
    )  # fmt: skip
    await rooms.write(lambda tx: transcript.add(tx, turn, [said], now))
    assert await rooms.database.read(lambda c: transcript.history(c, SessionScope(session))) == [said]
    assert await rooms.database.read(lambda c: transcript.by_ref(c, "test:ref")) == said
    assert await rooms.database.read(lambda c: transcript.by_ref(c, "test:none")) is None


async def test_other_sessions_are_not_shown(rooms: Rooms, session: SessionId) -> None:
    other = await rooms.open("test:room:7")
    await say(rooms, session, "mine")
    await say(rooms, other, "theirs")
    assert await shown(rooms, session) == ["mine"]
    assert await shown(rooms, other) == ["theirs"]


async def test_new_hides_what_was_said_before(rooms: Rooms, session: SessionId) -> None:
    await say(rooms, session, "before")
    await rooms.write(lambda tx: threads.new_history(tx, rooms.recorder, session, BOSS))
    assert await shown(rooms, session) == []
    await say(rooms, session, "after")
    assert await shown(rooms, session) == ["after"]


async def test_a_widening_hides_what_was_said_before_and_a_narrowing_does_not_bring_it_back(
    rooms: Rooms, session: SessionId
) -> None:
    await rooms.declare(Audience.ROOM)
    await say(rooms, session, "between us")
    await rooms.see(["666"], 4)
    assert await shown(rooms, session) == []
    await say(rooms, session, "with a stranger")
    await rooms.leave("666")
    assert await shown(rooms, session) == ["with a stranger"]


async def test_history_begins_where_it_was_cut(rooms: Rooms, session: SessionId) -> None:
    said = [await say(rooms, session, f"q{n}", f"a{n}") for n in range(4)]
    await rooms.write(lambda tx: transcript.start_history_at(tx, session, said[2].id))
    assert await shown(rooms, session) == ["q2", "a2", "q3", "a3"]


async def test_an_edit_changes_the_words_and_an_older_one_does_not(rooms: Rooms, session: SessionId) -> None:
    await say(rooms, session, "first", ref="r")
    at = rooms.clock.now() + timedelta(minutes=2)

    async def edit(text: str, minutes: int) -> bool:
        when = at + timedelta(minutes=minutes)
        return await rooms.write(lambda tx: transcript.mark_edited(tx, "r", Body(text), when))

    assert await edit("second", 0)
    assert not await edit("older", -1)
    assert not await edit("same instant", 0)
    assert await edit("third", 1)
    assert await shown(rooms, session) == ["third"]
    assert not await rooms.write(lambda tx: transcript.mark_edited(tx, "unknown", Body("x"), at))


async def test_a_deleted_message_shows_nothing_of_it_and_no_late_edit_brings_it_back(
    rooms: Rooms, session: SessionId
) -> None:
    await say(rooms, session, "regretted", "answer", ref="r")
    at = rooms.clock.now() + timedelta(minutes=1)
    assert await rooms.write(lambda tx: transcript.mark_deleted(tx, "r", at))
    assert not await rooms.write(lambda tx: transcript.mark_deleted(tx, "r", at))
    later = at + timedelta(minutes=1)
    assert not await rooms.write(lambda tx: transcript.mark_edited(tx, "r", Body("again"), later))
    assert await shown(rooms, session) == [DELETED, "answer"]
