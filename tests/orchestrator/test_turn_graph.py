"""One turn as a graph: what is drawn, what is only counted, and what is kept from whom."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from bot.audit.events import (
    Actor,
    KnowledgeRetrieved,
    Payload,
    Record,
    SpecialistConsulted,
    ToolCalled,
    TurnFailed,
    TurnFinished,
)
from bot.audit.events_memory import ExtractionFailed, ExtractionFinished, ExtractionQueued, MemorySnapshot
from bot.audit.recorder import Recorder
from bot.kernel.ids import PersonId, SectionId, SessionId, TaskId, TurnId
from bot.kernel.scope import PersonScope
from bot.memory import store
from bot.memory.model import Claim
from bot.orchestrator import turn_graph
from bot.orchestrator.turn_graph import MOST, Node, Step, TurnGraph
from bot.sessions.tables import turn as turns
from bot.storage.database import Database, Tx
from tests.clock import FakeClock
from tests.memory.desk import Desk
from tests.sessions.rooms import PEOPLE, Rooms

MODEL = Actor("model", "m")
TASK = TaskId("x")


@pytest.fixture
async def desk(database: Database, recorder: Recorder, clock: FakeClock) -> Desk:
    rooms = Rooms(database, recorder, clock)
    await rooms.add_people(*PEOPLE)
    return Desk(rooms)


async def _turn(desk: Desk, session: SessionId, who: str = "ada", text: str = "Hello.") -> TurnId:
    await desk.spoke(session, who, text, "Noted.")
    query = sa.select(turns.c.id).order_by(turns.c.id.desc()).limit(1)
    return TurnId(await desk.rooms.database.read(lambda c: c.execute(query).scalar_one()))


async def _note(desk: Desk, session: SessionId, turn: TurnId, *payloads: Payload) -> None:
    def unit(tx: Tx) -> None:
        for payload in payloads:
            desk.rooms.recorder.record(tx, Record(payload, MODEL, session, turn))

    await desk.write(unit)


async def _stood(desk: Desk, turn: TurnId, *claims: Claim) -> None:
    ids, ones = tuple(each.id for each in claims), tuple(1 for _ in claims)
    snapshot = MemorySnapshot("recall", ids, ones, ones, (), 0)
    await desk.write(lambda tx: store.show(tx, turn, snapshot, desk.now))


async def _graph(desk: Desk, who: str, turn: TurnId) -> TurnGraph | None:
    scope = PersonScope(PersonId(who))
    return await desk.rooms.database.read(lambda c: turn_graph.graph(c, scope, turn))


async def _nodes(desk: Desk, who: str, turn: TurnId) -> dict[Step, list[Node]]:
    graph = await _graph(desk, who, turn)
    assert graph is not None
    found: dict[Step, list[Node]] = {}
    for node in graph.nodes:
        found.setdefault(node.step, []).append(node)
    return found


def _tool(name: str) -> ToolCalled:
    return ToolCalled(name, "h", replayed=False)


ENDED = TurnFinished("answered", "m", "end_turn", 1, 1, 5, ())


async def test_from_the_message_over_what_was_asked_to_the_answer(desk: Desk) -> None:
    session = await desk.alone("ada")
    turn = await _turn(desk, session, text="How long is our runway?")
    looked = KnowledgeRetrieved("search", (SectionId("a"), SectionId("b")), (), (), (), vectors=True, withheld=0)
    consulted = SpecialistConsulted("finance", "m", 1, 1, 0, 0, 9, "timed_out")
    called = (_tool("search_knowledge"), looked, _tool("consult_finance"), consulted, _tool("calculate"))
    await _note(desk, session, turn, *called, ENDED)
    graph = await _graph(desk, "ada", turn)
    assert graph is not None
    assert [(each.step, each.title, each.text) for each in graph.nodes] == [
        (Step.MESSAGE, "ada", "How long is our runway?"),
        (Step.LOOKUP, "Looked up", "2 passages"),
        (Step.TOOL, "Used a tool", "calculate"),
        (Step.CONSULT, "Asked finance", "timed out"),
        (Step.REPLY, "Answered", "Noted."),
    ]
    assert set(graph.edges) == {(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4)}


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (ExtractionQueued(TASK), "waits"),
        (ExtractionFailed(TASK, 1, "BadAnswer", final=False), "failed, is tried again"),
        (ExtractionFailed(TASK, 5, "BadAnswer", final=True), "failed"),
        (ExtractionFinished(TASK, "m", 1, 0, 0, 0, 0, 0), "nothing to remember"),
        (ExtractionFinished(TASK, "m", 1, 3, 2, 0, 1, 0), "2 written, 1 held"),
    ],
)
async def test_what_came_of_the_reading_is_told(desk: Desk, payload: Payload, text: str) -> None:
    session = await desk.alone("ada")
    turn = await _turn(desk, session)
    await _note(desk, session, turn, ENDED, payload)
    (read,) = (await _nodes(desk, "ada", turn))[Step.EXTRACTION]
    assert read.text == text


async def test_many_of_a_kind_are_counted(desk: Desk) -> None:
    session = await desk.alone("ada")
    known = [
        await desk.said(session, "ada", f"Thing {number} is so.", subject=f"thing/{number}")
        for number in range(MOST + 3)
    ]
    turn = await _turn(desk, session)
    await _stood(desk, turn, *known)
    await _note(desk, session, turn, *[_tool("calculate")] * (MOST + 1), ENDED)
    nodes = await _nodes(desk, "ada", turn)
    assert [each.text for each in nodes[Step.RECALL]][MOST:] == ["and 3 more"]
    assert [each.text for each in nodes[Step.TOOL]][MOST:] == ["and 1 more"]


async def test_a_memory_leads_to_the_first_later_answers_before_which_it_stood(desk: Desk) -> None:
    session, adas = await desk.room("ada", "bob"), await desk.alone("ada")
    turn = await _turn(desk, session)
    await _note(desk, session, turn, ENDED)
    learned = await desk.said(session, "ada", "We launch in May.", turn=turn)
    later = [await _turn(desk, each) for each in (session, adas, session)]
    for each in later:
        await _stood(desk, each, learned)
    shown = (await _nodes(desk, "ada", turn))[Step.LATER]
    assert [each.ref for each in shown] == later
    assert [each.ref for each in (await _nodes(desk, "bob", turn))[Step.LATER]] == [later[0], later[2]]
    graph = await _graph(desk, "ada", turn)
    assert graph is not None
    (memory,) = [at for at, each in enumerate(graph.nodes) if each.step is Step.MEMORY]
    assert [a for a, b in graph.edges if graph.nodes[b].step is Step.LATER] == [memory] * 3


@pytest.mark.parametrize(
    ("payload", "title"),
    [
        (TurnFinished("silent", "m", "end_turn", 1, 1, 5, ()), "Silent"),
        (TurnFailed(1, "Broken", parked=True), "Failed"),
        (_tool("calculate"), "Not answered yet"),
    ],
)
async def test_a_turn_without_an_answer_says_so(desk: Desk, payload: Payload, title: str) -> None:
    session = await desk.alone("ada")
    turn = TurnId("t0")
    await _note(desk, session, turn, payload)
    nodes = await _nodes(desk, "ada", turn)
    assert [each.title for each in nodes[Step.REPLY]] == [title]
    assert [each.text for each in nodes[Step.MESSAGE]] == ["whose words you may not see"]


async def test_of_a_turn_elsewhere_there_is_nothing(desk: Desk) -> None:
    session = await desk.alone("bob")
    turn = await _turn(desk, session, "bob")
    await _note(desk, session, turn, ENDED)
    assert await _graph(desk, "ada", turn) is None
    assert await _graph(desk, "boss", turn) is None
    assert await _graph(desk, "bob", TurnId("none")) is None
