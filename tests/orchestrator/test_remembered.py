"""What is remembered reaches the prompt of who may see it and of nobody else; what was shown is written down.

The ranker of these tests is careless: it finds claims of every session. What keeps them apart is the view alone.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from bot.kernel.ids import SessionId
from bot.kernel.scope import SessionScope
from bot.llm.model import ToolUse
from bot.memory.model import Claim, Held, Kind, Source, Status, Visibility, Work
from bot.memory.recall import Recall
from bot.memory.tables import claim_shown
from bot.orchestrator import recollection
from bot.orchestrator.tools import Outcome, Registry
from bot.sessions import threads
from bot.sessions.audience import Audience
from tests.intake.events import GROUP, command, message
from tests.memory.claims import claim, written
from tests.memory.ranker import Words
from tests.orchestrator.office import Office
from tests.orchestrator.test_basics import ASKER
from tests.orchestrator.test_lanes import greeted
from tests.sessions.rooms import Rooms


@pytest.fixture
async def remembering(office: Office) -> Office:
    await office.close()
    office.recall = Recall(office.database, Words(office.database, careless=True), 1_200)
    office.registry = Registry(recollection.tools(office.database, office.recall))
    await office.open()
    await greeted(office, "1", "2", "3", "4")
    return office


async def _session(office: Office, key: str) -> SessionId:
    return (await office.database.read(lambda c: threads.by_thread(c, [key])))[key].id


async def _plant(office: Office, session: SessionId, **values: Any) -> Claim:
    now = office.clock.now()
    return await written(office.database, office.recorder, claim(now, session=session, speaker="boss", **values))


async def _two_threads(office: Office) -> tuple[SessionId, SessionId]:
    await office.hear(message("1", "hi"), message("2", "hi", by="2"))
    await office.ended("answered", "answered")
    return await _session(office, "test:dm:1"), await _session(office, "test:dm:2")


async def test_a_thread_is_shown_its_own_memories_and_the_company_s_and_no_other_thread_s(remembering: Office) -> None:
    a, b = await _two_threads(remembering)
    await _plant(remembering, a, statement="APRICOT is decided.", subject="fruit/a")
    await _plant(remembering, a, statement="Take ALMOND.", subject="nut/a", kind=Kind.ADVICE)
    await _plant(remembering, b, statement="BLUEBERRY is decided.", subject="fruit/b")
    await _plant(remembering, b, statement="Take BRAZIL.", subject="nut/b", kind=Kind.ADVICE)
    await _plant(
        remembering, b, statement="CHERRY runs.", subject="fruit/c", kind=Kind.INITIATIVE, visibility=Visibility.COMPANY
    )
    await remembering.hear(message("3", "what is decided, what shall I take?"))
    await remembering.ended(*["answered"] * 3)
    shown = remembering.prompted()
    assert "APRICOT" in shown
    assert "ALMOND" in shown
    assert "CHERRY" in shown
    assert "BLUEBERRY" not in shown
    assert "BRAZIL" not in shown
    await remembering.hear(message("4", "what is decided, what shall I take?", by="2"))
    await remembering.ended(*["answered"] * 4)
    shown = remembering.prompted()
    assert "BLUEBERRY" in shown
    assert "BRAZIL" in shown
    assert "CHERRY" in shown
    assert "APRICOT" not in shown


async def test_with_a_guest_in_the_room_nothing_from_before_and_nothing_of_the_company_is_shown(
    remembering: Office, rooms: Rooms
) -> None:
    await rooms.see(["1", "2"], 3)
    await rooms.declare(Audience.COMPANY)
    await remembering.hear(message("1", "hi", thread=GROUP))
    await remembering.ended("answered")
    session = await _session(remembering, "test:room")
    await _plant(remembering, session, statement="APRICOT is decided.", subject="fruit/a")
    await _plant(
        remembering,
        session,
        statement="CHERRY runs.",
        subject="c/c",
        kind=Kind.INITIATIVE,
        visibility=Visibility.COMPANY,
    )
    await remembering.hear(message("2", "what is decided?", thread=GROUP))
    await remembering.ended("answered", "answered")
    assert "APRICOT" in remembering.prompted()
    assert "CHERRY" in remembering.prompted()
    await rooms.see(["4"], 4)
    await remembering.hear(message("3", "what is decided?", thread=GROUP))
    await remembering.ended(*["answered"] * 3)
    assert "APRICOT" not in remembering.prompted()
    assert "CHERRY" not in remembering.prompted()
    assert "<past_decisions" not in remembering.prompted()


async def test_after_new_the_history_is_cut_and_memories_stay(remembering: Office) -> None:
    a, _ = await _two_threads(remembering)
    await _plant(remembering, a, statement="APRICOT is decided.", subject="fruit/a")
    await remembering.hear(command("3", "new"))
    await remembering.ended(*["answered"] * 3)
    await remembering.hear(message("4", "what is decided?"))
    await remembering.ended(*["answered"] * 4)
    assert "APRICOT" in remembering.prompted()


@pytest.mark.parametrize(
    "values",
    [
        {"status": Status.PENDING, "held": ("untrusted",)},
        {"status": Status.RETRACTED},
        {"status": Status.SUPERSEDED, "replaced_by": "x"},
        {"source": Source.DELETED},
    ],
    ids=["pending", "retracted", "superseded", "source deleted"],
)
async def test_what_is_not_believed_is_not_shown(remembering: Office, values: dict[str, Any]) -> None:

    a, _ = await _two_threads(remembering)
    if "held" in values:
        values = values | {"held": (Held.UNTRUSTED,)}
    elif "status" in values:
        values = values | {"retired_at": remembering.clock.now()}
    await _plant(remembering, a, statement="APRICOT is decided.", subject="fruit/a", **values)
    await _plant(remembering, a, statement="ALMOND is decided.", subject="nut/a")
    await remembering.hear(message("3", "what is decided?"))
    await remembering.ended(*["answered"] * 3)
    assert "ALMOND" in remembering.prompted()
    assert "APRICOT" not in remembering.prompted()


async def test_what_was_shown_is_written_down_with_its_score(remembering: Office) -> None:
    a, _ = await _two_threads(remembering)
    one = await _plant(remembering, a, statement="APRICOT is decided.", subject="fruit/a")
    await remembering.hear(message("3", "what about apricot?"))
    await remembering.ended(*["answered"] * 3)
    (entry,) = await remembering.audited("memory_snapshot")
    assert entry.payload["claims"] == [one.id]
    assert entry.payload["scores"] == [1_000_000]
    rows = await remembering.database.read(lambda c: c.execute(sa.select(claim_shown)).all())
    assert [(row.claim_id, row.way, row.version, row.turn_id) for row in rows] == [(one.id, "block", 1, entry.turn)]


async def test_an_untouched_initiative_is_asked_about_in_one_turn_only(remembering: Office) -> None:
    a, _ = await _two_threads(remembering)
    long_ago = remembering.clock.now() - timedelta(days=40)
    await _plant(
        remembering,
        a,
        statement="CHERRY runs.",
        subject="c/c",
        kind=Kind.INITIATIVE,
        work=Work.ACTIVE,
        touched_at=long_ago,
    )
    await remembering.hear(message("3", "hello"))
    await remembering.ended(*["answered"] * 3)
    assert "ask whether it still stands" in remembering.prompted()
    await remembering.hear(message("4", "hello"))
    await remembering.ended(*["answered"] * 4)
    assert "ask whether it still stands" not in remembering.prompted()
    assert "1 untouched for 30 days" in remembering.prompted()


async def test_recall_and_read_memory_see_what_the_session_sees(remembering: Office) -> None:
    a, b = await _two_threads(remembering)
    mine = await _plant(remembering, a, statement="APRICOT is decided.", subject="fruit/a")
    foreign = await _plant(remembering, b, statement="BLUEBERRY is decided.", subject="fruit/b")
    await remembering.hear(message("3", "we spoke of PEACH"), message("4", "we spoke of PLUM", by="2"))
    await remembering.ended(*["answered"] * 4)
    assert remembering.recall is not None
    search, read = recollection.tools(remembering.database, remembering.recall)
    asker = replace(ASKER, scope=SessionScope(a))
    outcome = await search.run(asker, {"query": "what is decided and spoken of peach plum"})
    assert "APRICOT" in outcome.text
    assert "PEACH" in outcome.text
    assert "BLUEBERRY" not in outcome.text
    assert "PLUM" not in outcome.text
    assert not outcome.untrusted
    outcome = await read.run(asker, {"ids": [mine.handle, foreign.handle]})
    assert 'said 2026-03-02 10:00 by boss: "APRICOT is decided."' in outcome.text
    assert "BLUEBERRY" not in outcome.text
    outcome = await read.run(asker, {"ids": [foreign.handle, foreign.id]})
    assert outcome == Outcome("Nothing with such an id can be shown here.", is_error=True)


async def test_what_the_tools_showed_is_written_down_too(remembering: Office) -> None:
    a, _ = await _two_threads(remembering)
    one = await _plant(remembering, a, statement="APRICOT is decided.", subject="fruit/a")

    def answer(request: Any) -> Any:
        asked = len(remembering.model.asked)
        return (ToolUse("t1", "read_memory", {"ids": [one.handle]}),) if asked == 3 else "Done."

    remembering.model.answer = answer
    await remembering.hear(message("3", "show me"))
    await remembering.ended(*["answered"] * 3)
    ways = await remembering.database.read(
        lambda c: c.execute(sa.select(claim_shown.c.way).order_by(claim_shown.c.way)).scalars().all()
    )
    assert list(ways) == ["block", "read"]


async def test_filters_narrow_what_recall_finds(remembering: Office) -> None:
    a, _ = await _two_threads(remembering)
    await _plant(remembering, a, statement="APRICOT is decided.", subject="a/a", department="finance")
    await _plant(remembering, a, statement="ALMOND is decided.", subject="b/b", department="people")
    await _plant(remembering, a, statement="APPLE is advised.", subject="c/c", kind=Kind.ADVICE)
    assert remembering.recall is not None
    search, _ = recollection.tools(remembering.database, remembering.recall)
    asker = replace(ASKER, scope=SessionScope(a))
    for arguments, fruit in (({"department": "finance"}, "APRICOT"), ({"kind": "advice"}, "APPLE")):
        text = (await search.run(asker, {"query": "what is decided or advised", **arguments})).text
        assert [each for each in ("APRICOT", "ALMOND", "APPLE") if each in text] == [fruit]


async def test_memories_with_words_shows_what_fits_best_first(remembering: Office) -> None:
    a, _ = await _two_threads(remembering)
    await _plant(remembering, a, statement="APRICOT costs 4 euros.", subject="apricot/price")
    await _plant(remembering, a, statement="ALMOND is decided as the nut of the year.", subject="nut/choice")
    await remembering.hear(command("3", "memories", "which nut was decided?"))
    await remembering.ended(*["answered"] * 3)
    told = (await remembering.said(3))[-1]
    assert "ALMOND" in told
    assert "APRICOT" not in told


@pytest.mark.parametrize("words", ["xyzzy", "zzzzzz", "q1w2e3", "what is the"])
async def test_memories_with_words_that_none_has_shows_nothing_whatever_the_index_finds(
    remembering: Office, words: str
) -> None:
    a, _ = await _two_threads(remembering)
    await _plant(remembering, a, statement="APRICOT costs 4 euros.", subject="apricot/price")
    await remembering.hear(command("3", "memories", words))
    await remembering.ended(*["answered"] * 3)
    told = (await remembering.said(3))[-1]
    assert "nothing with these words" in told
    await remembering.hear(command("4", "memories", "apricots and their cost"))
    await remembering.ended(*["answered"] * 4)
    assert "APRICOT" in (await remembering.said(4))[-1]
