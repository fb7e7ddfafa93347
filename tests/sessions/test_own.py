"""A person's own conversations: what was said while they were there, and nothing else."""

from __future__ import annotations

from datetime import timedelta

import pytest
import sqlalchemy as sa

from bot.audit.recorder import Recorder
from bot.kernel.ids import MessageId, SessionId
from bot.retrieval.recall import store as recall
from bot.retrieval.recall.model import Entry, Kind
from bot.sessions import own, places
from bot.sessions.tables import message
from bot.storage.database import Database
from tests.clock import FakeClock
from tests.memory.desk import Desk, person
from tests.sessions.rooms import PEOPLE, Rooms


@pytest.fixture
async def desk(database: Database, recorder: Recorder, clock: FakeClock) -> Desk:
    rooms = Rooms(database, recorder, clock)
    await rooms.add_people(*PEOPLE)
    return Desk(rooms)


async def later(desk: Desk) -> None:
    desk.rooms.clock.advance(timedelta(minutes=5))


async def leaves(desk: Desk, key: str, address: str) -> None:
    await desk.write(lambda tx: places.leave(tx, desk.rooms.recorder, key, address, desk.now))


async def listed(desk: Desk, who: str, limit: int = 50, before: str | None = None) -> list[own.Own]:
    return await desk.rooms.database.read(lambda c: own.sessions(c, person(who), limit, before))


async def read(desk: Desk, who: str, session: SessionId, limit: int = 50, before: str | None = None) -> list[str]:
    after = MessageId(before) if before else None
    found = await desk.rooms.database.read(lambda c: own.said_in(c, person(who), session, limit, after))
    return [each.body.text for each in found]


async def got(desk: Desk, who: str, session: SessionId) -> own.Own | None:
    return await desk.rooms.database.read(lambda c: own.get(c, person(who), session))


async def index(desk: Desk) -> None:
    """All messages can be found."""

    def rows(connection: sa.Connection) -> list[Entry]:
        return [
            Entry(Kind.TURN, row.id, row.session_id, 0, 0, row.speaker, row.sent_at, row.text)
            for row in connection.execute(sa.select(message))
        ]

    entries = await desk.rooms.database.read(rows)
    await desk.write(lambda tx: recall.put(tx, Kind.TURN, entries, ()))


async def found(desk: Desk, who: str, words: str, limit: int = 50, before: int | None = None) -> list[str]:
    hits = await desk.rooms.database.read(lambda c: own.find(c, person(who), words, limit, before))
    return [each.said.body.text for each in hits.passages]


async def search(desk: Desk, who: str, words: str, before: int | None) -> own.Found:
    return await desk.rooms.database.read(lambda c: own.find(c, person(who), words, 50, before))


async def test_a_conversation_of_two_is_there_for_the_one_alone(desk: Desk) -> None:
    session = await desk.alone("ada")
    await later(desk)
    await desk.spoke(session, "ada", "Our runway is 14 months.", "Noted, 14.")
    (mine,) = await listed(desk, "ada")
    assert (mine.id, mine.begins, mine.thread) == (session, "Our runway is 14 months.", "test:dm:2")
    assert await read(desk, "ada", session) == ["Noted, 14.", "Our runway is 14 months."]
    for other in ("bob", "boss"):
        assert await listed(desk, other) == []
        assert await read(desk, other, session) == []
        assert await got(desk, other, session) is None


async def test_who_came_later_or_left_reads_only_what_was_said_while_they_were_there(desk: Desk) -> None:
    session = await desk.room("ada", "boss")
    await later(desk)
    await desk.spoke(session, "ada", "before bob", "answer before bob")
    await later(desk)
    await desk.rooms.see(["2", "1", "3"], 4, key="test:group")
    await desk.spoke(session, "ada", "with bob", "answer with bob")
    await later(desk)
    await leaves(desk, "test:group", "3")
    await later(desk)
    await desk.spoke(session, "ada", "after bob", "answer after bob")
    await index(desk)
    assert await read(desk, "bob", session) == ["answer with bob", "with bob"]
    assert len(await read(desk, "ada", session)) == 6
    (seen,) = await listed(desk, "bob")
    (whole,) = await listed(desk, "ada")
    assert seen.newest < whole.newest
    assert seen.begins is None, "what others said first is not theirs"
    assert await found(desk, "bob", "bob") == ["answer with bob", "with bob"]
    assert len(await found(desk, "ada", "bob")) == 6


async def test_somebody_s_first_word_in_a_room_is_theirs_though_it_was_said_a_moment_before(desk: Desk) -> None:
    session = await desk.alone("ada")
    said, _ = await desk.spoke(session, "ada", "first words")
    moved = sa.update(message).where(message.c.id == said)
    await desk.write(lambda tx: tx.execute(moved.values(sent_at=desk.now - timedelta(seconds=2))))
    assert "first words" in await read(desk, "ada", session)


async def test_lists_and_texts_go_on_where_they_ended(desk: Desk) -> None:
    session = await desk.alone("ada")
    await later(desk)
    ids = [(await desk.spoke(session, "ada", f"number {n}", f"answer {n}"))[0] for n in range(4)]
    group = await desk.room("ada", "bob")
    await desk.spoke(group, "bob", "elsewhere")
    assert await read(desk, "ada", session, 3) == ["answer 3", "number 3", "answer 2"]
    assert await read(desk, "ada", session, 3, ids[2]) == ["answer 1", "number 1", "answer 0"]
    assert await read(desk, "ada", session, 3, "unknown") == []
    first = await listed(desk, "ada", 1)
    assert [each.id for each in first] == [group]
    assert [each.id for each in await listed(desk, "ada", 1, first[0].newest)] == [session]
    await index(desk)
    hits = await desk.rooms.database.read(lambda c: own.find(c, person("ada"), "number", 2))
    assert [each.said.body.text for each in hits.passages] == ["number 3", "number 2"]
    assert await found(desk, "ada", "number", 2, hits.more) == ["number 1", "number 0"]


async def test_a_search_among_many_goes_on_where_it_stopped(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    session, other = await desk.alone("ada"), await desk.alone("bob")
    await desk.spoke(session, "ada", "our word")
    for number in range(5):
        await desk.spoke(other, "bob", f"his word {number}")
    await index(desk)
    monkeypatch.setattr(own, "MOST_LOOKED_AT", 2)
    assert await found(desk, "ada", "word") == ["our word"], "with few conversations only these are looked at"
    monkeypatch.setattr(own, "FEW", 0)
    seen: list[str] = []
    more: int | None = None
    for _ in range(4):
        hits = await search(desk, "ada", "word", more)
        seen += [each.said.body.text for each in hits.passages]
        more = hits.more
    assert seen == ["our word"]
    assert more is None


@pytest.mark.parametrize("words", ['"', "text:", "a OR", "NEAR(", "*", "", "-", "runway AND", "{space} : x"])
async def test_what_is_looked_for_is_words_and_no_query(desk: Desk, words: str) -> None:
    session = await desk.alone("ada")
    await desk.spoke(session, "ada", "Our runway is 14 months.")
    await index(desk)
    await found(desk, "ada", words)


async def test_all_words_must_be_there_and_the_last_may_be_a_beginning(desk: Desk) -> None:
    session = await desk.alone("ada")
    await desk.spoke(session, "ada", "Our runway is 14 months.", "Good.")
    await index(desk)
    for words in ("runway", "Runway months", "14 run", "RUNWAYS"):
        assert await found(desk, "ada", words) == ["Our runway is 14 months."], words
    assert await found(desk, "ada", "runway rent") == []


async def test_pages_are_read_along_indexes(desk: Desk) -> None:
    session = await desk.alone("ada")

    def plans(connection: sa.Connection) -> list[str]:
        seen: list[str] = []

        def explain(conn: sa.Connection, _c: object, statement: str, parameters: object, *_: object) -> None:
            if statement.startswith("SELECT"):
                rows = conn.connection.cursor().execute(f"EXPLAIN QUERY PLAN {statement}", parameters)  # type: ignore[arg-type]
                seen.extend(str(row[3]) for row in rows or ())

        sa.event.listen(connection, "before_cursor_execute", explain)
        own.sessions(connection, person("ada"), 30)
        own.said_in(connection, person("ada"), session, 30)
        own.find(connection, person("ada"), "runway", 30)
        sa.event.remove(connection, "before_cursor_execute", explain)
        return seen

    steps = await desk.rooms.database.read(plans)
    # What the person's accounts are is gathered first; nothing else is read as a whole.
    assert not [
        each for each in steps if each.startswith("SCAN") and "mine" not in each and "recall_row_fts" not in each
    ]
