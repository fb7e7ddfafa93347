"""Memories by the operator: what is shown for which reason, who hears of it, and what may be changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import sqlalchemy as sa

from bot.audit import timeline
from bot.audit.recorder import Recorder
from bot.control.memory_reader import VIEWED, WITHHELD, notice
from bot.control.ops_memory import Operations
from bot.control.wire import MalformedError
from bot.gateway.channel import LocalHandler
from bot.kernel.errors import PermanentError
from bot.memory import store, verify
from bot.memory.model import Claim, Held, Kind, Source, Status, Visibility
from bot.memory.tables import claim_event, evidence
from bot.sessions.audience import Audience
from bot.storage.database import Database
from bot.tasks.tables import task
from tests.clock import FakeClock
from tests.control.desk import Answers
from tests.memory.claims import MODEL
from tests.memory.desk import CountingEraser, Desk
from tests.sessions.rooms import PEOPLE, Rooms


class Operator(Desk):
    def __init__(self, rooms: Rooms) -> None:
        super().__init__(rooms)
        self.eraser = CountingEraser()
        self.rung = 0
        self.local_person: str | None = None

    @property
    def handlers(self) -> Mapping[str, LocalHandler]:
        rooms = self.rooms
        return Operations(
            rooms.database, rooms.recorder, rooms.clock, self.eraser, None, None, self._ring, self.local_person
        ).handlers()

    def _ring(self) -> None:
        self.rung += 1

    async def all(self, op: str, **fields: object) -> list[dict[str, Any]]:
        peer = Answers()
        await self.handlers[f"memory.{op}"](peer, {"op": f"memory.{op}", **fields})
        return peer.sent

    async def ask(self, op: str, **fields: object) -> dict[str, Any]:
        return (await self.all(op, **fields))[-1]

    async def statements(self, **fields: object) -> list[str]:
        return [each["statement"] for each in (await self.ask("list", **fields))["memories"]]

    async def told(self) -> list[Mapping[str, Any]]:
        """What waits to be told to people."""
        query = sa.select(task.c.payload).where(task.c.kind == VIEWED).order_by(task.c.seq)
        return list(await self.rooms.database.read(lambda c: c.execute(query).scalars().all()))


@pytest.fixture
async def desk(database: Database, recorder: Recorder, clock: FakeClock) -> Operator:
    rooms = Rooms(database, recorder, clock)
    await rooms.add_people(*PEOPLE)
    return Operator(rooms)


async def test_what_was_told_in_private_is_withheld_without_a_reason(desk: Operator) -> None:
    await desk.said(await desk.room("ada", "bob"), "bob", "BANANA.", subject="b")
    said = await desk.said(await desk.alone("ada"), "ada", "APRICOT.")
    assert await desk.statements() == [WITHHELD, "BANANA."]
    for op in ("show", "history"):
        answer = str(await desk.ask(op, id=said.handle))
        assert "APRICOT" not in answer
    assert "APRICOT" not in str(await desk.all("export"))
    assert await desk.statements(words=["apricot"]) == []
    assert await desk.told() == []


async def test_what_is_read_for_a_reason_is_recorded_and_told_to_whom_it_concerns(desk: Operator) -> None:
    await desk.said(await desk.room("ada", "bob"), "bob", "BANANA.", subject="b")
    said = await desk.said(await desk.alone("ada"), "ada", "APRICOT.")
    assert await desk.statements(reason="a court asks") == ["APRICOT.", "BANANA."]
    assert [dict(each) for each in await desk.told()] == [{"person": "ada", "count": 1, "reason": "a court asks"}]
    assert "a memory of a private conversation" in notice((await desk.told())[0])
    entries = await desk.rooms.database.read(lambda c: timeline.of_session(c, said.session))
    assert [(each.type, each.text) for each in entries if each.type == "content_viewed"] == [
        ("content_viewed", "a court asks")
    ]
    assert desk.rung == 1
    assert ("memory_viewed", "operator") in await desk.audited()


async def test_an_empty_reason_is_none(desk: Operator) -> None:
    await desk.said(await desk.alone("ada"), "ada", "APRICOT.")
    assert await desk.statements(reason="  ") == [WITHHELD]


async def test_a_room_that_got_wider_keeps_what_was_private_before(desk: Operator) -> None:
    room = await desk.room("ada")
    await desk.rooms.declare(Audience.ROOM, key="test:group")
    await desk.said(room, "ada", "APRICOT.")
    await desk.rooms.see(["4"], 3, key="test:group")
    assert (await desk.rooms.epochs(room))[1] > 0
    assert await desk.statements() == [WITHHELD]


async def test_of_what_the_company_sees_the_private_words_before_it_are_withheld(desk: Operator) -> None:
    said = await desk.said(await desk.alone("boss"), "boss", "The salaries are 5.")
    await desk.do("boss", "correct", said, "We launch.")
    await desk.do("boss", "promote", said)
    assert await desk.statements() == ["We launch."]
    assert "salaries" not in str(await desk.ask("show", id=said.id))
    assert "salaries" not in str(await desk.all("export"))
    assert "salaries" in str(await desk.ask("show", id=said.id, reason="a look"))


@pytest.mark.parametrize(("local_person", "hears"), [(None, ["ada"]), ("ada", ["boss"]), ("bob", ["boss", "ada"])])
async def test_nobody_is_told_what_they_read_themselves(
    desk: Operator, local_person: str | None, hears: list[str]
) -> None:
    """Who speaks at this machine's terminal, else the first principal, is who looks."""
    desk.local_person = local_person
    for who in ("ada", "boss"):
        await desk.said(await desk.alone(who), who, "APRICOT.", subject=who)
    await desk.statements(reason="a look")
    assert [each["person"] for each in await desk.told()] == hears
    assert ("memory_viewed", "operator") in await desk.audited()


async def test_memories_are_listed_by_filter_and_as_of_an_instant(desk: Operator) -> None:
    room = await desk.room("ada", "bob")
    await desk.said(room, "ada", "APRICOT.", kind=Kind.FACT)
    between = desk.now.isoformat()
    await desk.said(room, "bob", "BANANA.", subject="b", status=Status.PENDING, held=(Held.PAYMENT,))
    assert await desk.statements(kind=["fact"]) == ["APRICOT."]
    assert await desk.statements(speaker="bob") == ["BANANA."]
    assert await desk.statements(pending=True) == ["BANANA."]
    assert await desk.statements(until=between) == ["APRICOT."]
    assert await desk.statements(known=between) == ["APRICOT."]
    with pytest.raises(MalformedError):
        await desk.ask("list", kind=["plan"])


async def test_changes_are_the_operators_and_need_a_reason(desk: Operator) -> None:
    said = await desk.said(await desk.room("ada", "bob"), "ada", "Move.", kind=Kind.INITIATIVE)
    answer = await desk.ask("edit", id=said.handle, statement="Move soon.", due="2026-05-01", owner="bob", reason="x")
    assert (answer["memory"]["statement"], answer["memory"]["due"], answer["memory"]["owner"]) == (
        "Move soon.",
        "2026-05-01",
        "bob",
    )
    await desk.ask("edit", id=said.id, due="", owner="", reason="x")
    assert ((await desk.look(said)).due, (await desk.look(said)).owner) == (None, None)
    with pytest.raises(PermanentError):
        await desk.ask("edit", id=said.id, statement="No.", reason="x", version=1)
    with pytest.raises(PermanentError):
        await desk.ask("edit", id=said.id, reason="x")
    with pytest.raises(MalformedError):
        await desk.ask("retract", id=said.id)
    for op, status in (("retract", Status.RETRACTED), ("restore", Status.ACTIVE), ("dispute", Status.DISPUTED)):
        await desk.ask(op, id=said.id, reason="x")
        assert (await desk.look(said)).status is status
    assert {actor for _, actor in await desk.audited()} == {"operator"}


async def test_changing_what_is_private_does_not_show_it(desk: Operator) -> None:
    said = await desk.said(await desk.alone("ada"), "ada", "APRICOT.")
    assert "APRICOT" not in str(await desk.ask("retract", id=said.id, reason="x"))
    assert "APRICOT" not in str(await desk.ask("forget", id=said.id, reason="x"))


async def test_forgetting_is_told_before_it_is_done(desk: Operator) -> None:
    said = await desk.said(await desk.room("ada", "bob"), "ada")
    answer = await desk.ask("forget", id=said.id, reason="x")
    assert answer["would_vanish"] == {"memories": 1, "messages": 1}
    assert desk.eraser.erased == []
    answer = await desk.ask("forget", id=said.id, reason="x", yes=True)
    assert answer["vanished"] == {"memories": 1, "messages": 1}
    assert desk.eraser.erased == [said.id]


async def test_what_one_message_brought_is_undone(desk: Operator) -> None:
    room = await desk.room("ada", "bob")
    message, _ = await desk.spoke(room, "ada", "We launch in March.")
    said = await desk.said(room, "ada", messages=(message,))
    answer = await desk.ask("undo", message=message, reason="x")
    assert [each["id"] for each in answer["retracted"]] == [said.id]
    assert (await desk.look(said)).status is Status.RETRACTED


async def test_all_are_exported_over_several_pages(desk: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.control.ops_memory.PAGE", 2)
    room = await desk.room("ada", "bob")
    for number in range(5):
        await desk.said(room, "ada", f"Number {number}.", subject=f"n{number}")
    *parts, last = await desk.all("export")
    assert [each["memory"]["statement"] for each in parts] == [f"Number {number}." for number in (4, 3, 2, 1, 0)]
    assert parts[0]["memory"]["evidence"][0]["quote"] == "Number 4."
    assert parts[0]["memory"]["events"][0]["op"] == "written"
    assert last["count"] == 5


async def test_without_an_index_it_cannot_be_made_anew(desk: Operator) -> None:
    with pytest.raises(PermanentError, match="running daemon"):
        await desk.ask("reindex")


# --- whether it holds together ---------------------------------------------------------------------------------------


async def _founded(desk: Operator, text: str = "We launch in March.", **values: Any) -> Claim:
    room = await desk.room("ada", "bob")
    message, _ = await desk.spoke(room, "ada", text)
    return await desk.said(room, "ada", text, messages=(message,), **values)


async def test_a_sound_memory_is_found_sound(desk: Operator) -> None:
    said = await _founded(desk)
    await desk.do("ada", "correct", said, "We launch in April.")
    answer = await desk.ask("verify")
    assert (answer["sound"], answer["claims"], answer["index"]) == (True, 1, None)


async def test_words_that_do_not_stand_in_their_message_are_found(desk: Operator) -> None:
    said = await _founded(desk)
    nowhere = await desk.said(said.session, "ada", "Never said.", subject="x")
    marked = await desk.said(said.session, "ada", "Was edited.", subject="y", source=Source.EDITED)
    found = (await desk.ask("verify"))["unfounded"]
    assert found == [nowhere.id]
    assert marked.id not in found


async def test_missing_events_and_words_that_are_left_over_are_found(desk: Operator) -> None:
    said, kept = await _founded(desk), await desk.room("ada", key="test:other")
    gone = await desk.said(kept, "ada", "Gone.", subject="z", visibility=Visibility.COMPANY)
    await desk.write(lambda tx: store.erase(tx, desk.rooms.recorder, gone, MODEL, desk.now))
    assert (await desk.ask("verify"))["sound"]

    def damage(connection: sa.Connection) -> verify.Faults:
        connection.execute(sa.text("DROP TRIGGER claim_event_no_delete"))
        connection.execute(claim_event.delete().where(claim_event.c.claim_id == said.id))
        row = {"id": "e", "claim_id": gone.id, "message_id": "m", "start": 0, "end": 1, "quote": "x", "digest": "x"}
        connection.execute(evidence.insert().values(**row, speaker="ada", trust="proven", said_at=desk.now))
        return verify.faults(connection)

    found = await desk.write(lambda tx: damage(tx.connection))
    assert (found.gaps, found.stray) == ([said.id], [gone.id])
    assert not found.sound
