"""The audit as one person may read it: nothing of rooms they were not in, and no words that are not theirs to read."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa

from bot.audit.events import (
    Actor,
    AuthLogin,
    BackupMade,
    ContentViewed,
    DaemonStarted,
    MessageDuplicate,
    Payload,
    PersonChanged,
    Record,
    SessionChanged,
    ToolCalled,
)
from bot.audit.events_ledger import ClassModeChanged, ProposalMade
from bot.audit.events_memory import MemoryEdited
from bot.audit.recorder import Recorder
from bot.audit.timeline import Entry
from bot.gateway.events import PlaceKind
from bot.kernel.ids import ClaimId, PersonId, ProposalId, SessionId, TurnId
from bot.kernel.scope import PersonScope
from bot.ledger.model import Mode
from bot.sessions import trail
from bot.sessions.trail import ADMINISTRATIVE, EVERYTHING, OPEN_TEXTS, Found, Wanted
from bot.storage.database import Database
from tests.clock import FakeClock
from tests.sessions.rooms import PEOPLE, Rooms

MINUTE = timedelta(minutes=1)
ADA = Actor("person", "ada")
MODEL = Actor("model", "m")


@pytest.fixture
async def rooms(database: Database, recorder: Recorder, clock: FakeClock) -> Rooms:
    rooms = Rooms(database, recorder, clock)
    await rooms.add_people(*PEOPLE)
    return rooms


async def _note(
    rooms: Rooms,
    payload: Payload,
    actor: Actor = MODEL,
    session: SessionId | None = None,
    text: str | None = None,
    turn: TurnId | None = None,
) -> None:
    await rooms.write(lambda tx: rooms.recorder.record(tx, Record(payload, actor, session, turn, text)))
    rooms.clock.advance(MINUTE)


async def _called(rooms: Rooms, name: str, session: SessionId | None, actor: Actor = MODEL, turn: str = "t") -> None:
    await _note(rooms, ToolCalled(name, "h", replayed=False), actor, session, turn=TurnId(turn))


async def _page(
    rooms: Rooms, who: str, wanted: Wanted = EVERYTHING, before: int | None = None, limit: int = 50
) -> Found:
    scope = PersonScope(PersonId(who))
    return await rooms.database.read(lambda c: trail.page(c, scope, wanted, before, limit))


async def _names(rooms: Rooms, who: str, wanted: Wanted = EVERYTHING) -> list[str]:
    return [str(each.payload["name"]) for each in (await _page(rooms, who, wanted)).entries if "name" in each.payload]


async def _direct(rooms: Rooms, address: str) -> SessionId:
    key = f"test:dm:{address}"
    await rooms.see([address], key=key, kind=PlaceKind.DIRECT, title="")
    return await rooms.open(key, place=key)


async def test_a_session_is_seen_by_those_in_its_room_and_by_nobody_else(rooms: Rooms) -> None:
    adas, bobs = await _direct(rooms, "2"), await _direct(rooms, "3")
    await _called(rooms, "of_ada", adas)
    await _called(rooms, "of_bob", bobs)
    await _called(rooms, "of_nobody", None)
    assert await _names(rooms, "ada") == ["of_ada"]
    assert await _names(rooms, "bob") == ["of_bob"]
    assert await _names(rooms, "boss") == [], "a principal reads nobody's direct messages"
    assert await _names(rooms, "guest") == []
    assert await _names(rooms, "nobody") == []
    for wanted in (Wanted(session=bobs), Wanted(types=("tool_called",)), Wanted(types=("tool_called", "x"))):
        assert "of_bob" not in await _names(rooms, "ada", wanted)
        assert await _names(rooms, "bob", wanted) == ["of_bob"]


async def test_only_what_happened_while_one_was_there(rooms: Rooms) -> None:
    await rooms.see(["1", "2"], 3)
    session = await rooms.open()
    await _called(rooms, "before", session)
    await rooms.see(["1", "2", "3"], 4)
    await _called(rooms, "during", session)
    await rooms.leave("3", 3)
    await _called(rooms, "after", session)
    assert await _names(rooms, "bob") == ["during"]
    assert await _names(rooms, "ada") == ["after", "during", "before"]
    scope = PersonScope(PersonId("bob"))
    of_turn = await rooms.database.read(lambda c: trail.of_turn(c, scope, TurnId("t")))
    assert [each.payload.get("name") for each in of_turn] == ["during"]
    assert await _names(rooms, "bob", Wanted(session=session)) == ["during"]


async def test_what_one_did_is_seen_wherever_it_was(rooms: Rooms) -> None:
    bobs = await _direct(rooms, "3")
    await _called(rooms, "by_ada", bobs, ADA)
    await _called(rooms, "by_boss", bobs, Actor("person", "boss"))
    await _called(rooms, "by_system", None, Actor("system", "ada"))
    assert await _names(rooms, "ada") == ["by_ada"]
    assert await _names(rooms, "ada", Wanted(actor=PersonId("ada"))) == ["by_ada"]
    assert await _names(rooms, "ada", Wanted(actor=PersonId("boss"))) == []
    assert await _names(rooms, "bob", Wanted(actor=PersonId("boss"))) == ["by_boss"]


async def test_what_is_done_to_the_company_is_for_principals(rooms: Rooms) -> None:
    bobs = await _direct(rooms, "3")
    told: list[Payload] = [
        DaemonStarted("b", "1", 0, 0),
        AuthLogin("web", "t"),
        PersonChanged(PersonId("bob"), "role", "command"),
        BackupMade("asked", 1, 1, 1, encrypted=True, elsewhere=False, removed=0),
        ClassModeChanged("send_email", Mode.PROPOSE),
    ]
    start = rooms.recorder.head.id
    for payload in told:
        await _note(rooms, payload, Actor("person", "bob"))
    await _note(rooms, AuthLogin("web", "t"), session=bobs)
    await _note(rooms, MessageDuplicate("test", "message", None))

    async def seen(who: str) -> list[str]:
        return [each.type for each in (await _page(rooms, who)).entries if each.id > start]

    assert await seen("boss") == [each.type for each in told][::-1]
    assert await seen("ada") == []
    assert await seen("guest") == []
    assert len(await seen("bob")) == len(told) + 1


async def test_words_are_withheld_but_ones_own_and_those_for_everybody(rooms: Rooms) -> None:
    await rooms.see(["1", "2", "3"], 4)
    session = await rooms.open()
    claim, proposal = ClaimId("c"), ProposalId("p")
    made = ProposalMade(proposal, "send_email", "h", (PersonId("boss"),), (), tainted=False, automatic=False)
    await _note(rooms, MemoryEdited(claim, 2), ADA, session, "old words\n-> new words")
    await _note(rooms, made, MODEL, session, "because of a secret plan")
    await _note(rooms, ContentViewed(session), Actor("system", "operator"), session, "a complaint")
    await _note(rooms, ClassModeChanged("send_email", Mode.PROPOSE), Actor("system", "operator"), None, "it went wrong")
    await _note(rooms, PersonChanged(PersonId("bob"), "role", "command"), ADA, None, "words about bob")

    async def texts(who: str) -> list[str]:
        return [each.text for each in (await _page(rooms, who)).entries if each.text is not None]

    assert await texts("bob") == ["a complaint"]
    assert await texts("boss") == ["it went wrong", "a complaint"]
    assert await texts("ada") == ["words about bob", "a complaint", "old words\n-> new words"]


async def test_lists_of_types_name_types_that_there_are() -> None:
    from bot.audit.vocabulary import VOCABULARY

    assert VOCABULARY.keys() >= ADMINISTRATIVE
    assert VOCABULARY.keys() >= OPEN_TEXTS


async def test_pages_follow_each_other_without_gap_and_without_repetition(
    rooms: Rooms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trail, "MOST_LOOKED_AT", 7)
    adas, bobs = await _direct(rooms, "2"), await _direct(rooms, "3")
    for number in range(40):
        await _called(rooms, f"n{number}", adas if number % 9 == 0 else bobs)

    for wanted in (EVERYTHING, Wanted(types=("tool_called",)), Wanted(session=adas)):
        seen: list[Entry] = []
        before: int | None = None
        for _ in range(40):
            found = await _page(rooms, "ada", wanted, before, limit=2)
            seen += found.entries
            before = found.older
            if before is None:
                break
        names = [each.payload["name"] for each in seen if each.type == "tool_called"]
        assert names == ["n36", "n27", "n18", "n9", "n0"]
        assert before is None


async def test_a_stretch_of_time(rooms: Rooms) -> None:
    adas = await _direct(rooms, "2")
    at: list[datetime] = []
    for number in range(6):
        at.append(rooms.clock.now())
        await _called(rooms, f"n{number}", adas)
    assert await _names(rooms, "ada", Wanted(since=at[2], until=at[4])) == ["n3", "n2"]
    assert await _names(rooms, "ada", Wanted(since=at[5])) == ["n5"]
    assert await _names(rooms, "ada", Wanted(until=at[0])) == []


async def test_places_are_those_one_was_in(rooms: Rooms) -> None:
    await rooms.see(["1", "2"], 3, title="Plans")
    group, adas = await rooms.open(), await _direct(rooms, "2")
    await _direct(rooms, "3")

    async def seen(who: str) -> set[SessionId]:
        scope = PersonScope(PersonId(who))
        return {each.session for each in await rooms.database.read(lambda c: trail.places(c, scope, 10))}

    assert await seen("ada") == {group, adas}
    assert await seen("boss") == {group}


PLANS = {
    "everything": (EVERYTHING, "SEARCH audit USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
    "a session": (Wanted(session=SessionId("s")), "SEARCH audit USING INDEX ix_audit_session_id_id"),
    "a type": (Wanted(types=("tool_called",)), "SEARCH audit USING INDEX ix_audit_type_id"),
    "a person": (Wanted(actor=PersonId("ada")), "SEARCH audit USING INDEX ix_audit_person"),
    "a person and a type": (
        Wanted(actor=PersonId("ada"), types=("tool_called",)),
        "SEARCH audit USING INDEX ix_audit_person",
    ),
}


@pytest.mark.parametrize(("wanted", "step"), PLANS.values(), ids=PLANS.keys())
async def test_pages_go_along_an_index_and_sort_nothing(rooms: Rooms, wanted: Wanted, step: str) -> None:
    session = await _direct(rooms, "2")
    await _note(rooms, SessionChanged("epoch", 1), ADA, session)
    plans: list[str] = []

    def watch(connection: sa.Connection) -> None:
        def explain(_c: object, _cur: object, statement: str, parameters: tuple[object, ...], *_: object) -> None:
            if statement.startswith("SELECT audit.id, audit.at"):
                rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
                plans.append("\n".join(str(row[3]) for row in rows))

        sa.event.listen(connection, "before_cursor_execute", explain)
        try:
            trail.page(connection, PersonScope(PersonId("boss")), wanted, None)
        finally:
            sa.event.remove(connection, "before_cursor_execute", explain)

    await rooms.database.read(watch)
    (plan,) = plans
    assert step in plan, plan
    assert "SCAN audit" not in plan, plan
    assert "TEMP B-TREE FOR ORDER BY" not in plan, plan
