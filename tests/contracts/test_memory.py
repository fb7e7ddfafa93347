"""What is remembered reaches the model of the thread that it belongs to, on every channel: read from the bytes that
reached its server."""

from __future__ import annotations

from typing import Any

import pytest

from bot.kernel.ids import SessionId
from bot.memory.model import EXECUTIVE, Kind, Visibility, Work
from tests.contracts.bench import Talk, Who
from tests.contracts.core import Core
from tests.contracts.test_audiences import trusted_room
from tests.contracts.those import those
from tests.memory.claims import claim, written

QUESTION = "What did we decide, what did you advise, and what is under way?"


async def plant(core: Core, session: SessionId, statement: str, **values: Any) -> None:
    """A claim that stands in a session, as if it had been learned there."""
    store = core.daemon.rooms.store
    values = {"speaker": Who.ANN.value, "subject": statement, **values}
    await written(
        store.database, store.recorder, claim(store.clock.now(), session=session, statement=statement, **values)
    )


def session_of(core: Core, words: str) -> SessionId:
    (row,) = core.rows("SELECT DISTINCT session_id FROM inbox WHERE event LIKE ?", f"%{words}%")
    return SessionId(row["session_id"])


async def remembered(core: Core, session: SessionId, decision: str, advice: str) -> None:
    await plant(core, session, f"We decided on {decision}.")
    await plant(core, session, f"Take {advice}.", kind=Kind.ADVICE, speaker=EXECUTIVE)


async def initiative(core: Core, session: SessionId) -> None:
    await plant(
        core, session, "CHERRY is rolled out.", kind=Kind.INITIATIVE, work=Work.ACTIVE, visibility=Visibility.COMPANY
    )


def shown(request: bytes) -> set[str]:
    return {word for word in ("APRICOT", "ALMOND", "BLUEBERRY", "BRAZIL", "CHERRY") if word.encode() in request}


async def test_a_thread_is_shown_its_own_memories_and_the_company_s_and_not_another_thread_s(core: Core) -> None:
    talk, asker = Talk.DIRECT, Who.ANN
    if core.far.can.groups:
        talk, asker = Talk.GROUP, await trusted_room(core)
    await core.turn(asker, "This is the first thread.", talk)
    await core.turn(Who.ANN, "This is the other thread.", Talk.OTHER)
    first, other = session_of(core, "first thread"), session_of(core, "other thread")
    assert first != other
    await remembered(core, first, "APRICOT", "ALMOND")
    await remembered(core, other, "BLUEBERRY", "BRAZIL")
    await initiative(core, other)
    assert shown(await core.turn(asker, QUESTION, talk)) == {"APRICOT", "ALMOND", "CHERRY"}
    seen = shown(await core.turn(Who.ANN, QUESTION, Talk.OTHER))
    assert seen >= {"BLUEBERRY", "BRAZIL"}
    assert not seen & {"APRICOT", "ALMOND"}


@pytest.mark.parametrize("newcomer", [Who.GIL, Who.EVE], ids=["guest", "outsider"])
@those(lambda can: can.groups)
async def test_with_somebody_from_outside_present_nothing_of_it_is_shown(core: Core, newcomer: Who) -> None:
    asker = await trusted_room(core)
    await core.turn(asker, "This is the first thread.", Talk.GROUP)
    first = session_of(core, "first thread")
    await remembered(core, first, "APRICOT", "ALMOND")
    await initiative(core, first)
    assert shown(await core.turn(asker, QUESTION, Talk.GROUP)) == {"APRICOT", "ALMOND", "CHERRY"}
    await core.far.joins(newcomer, Talk.GROUP)
    if core.far.channel != "email":
        await core.shows("I treat this place as", Talk.GROUP)
    assert shown(await core.turn(asker, QUESTION, Talk.GROUP)) == set()
