"""What each reader may see by themselves, and what people's yes does about memories."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from bot.app import ledger as wiring
from bot.app.ledger import Remembered
from bot.app.opening import Store
from bot.audit.recorder import Recorder
from bot.kernel.errors import PermanentError
from bot.kernel.ids import ClaimId, PersonId
from bot.ledger.guard import Readers, Sight
from bot.ledger.rules import Rules
from bot.memory.model import Claim, Visibility
from bot.sessions.audience import Audience
from bot.storage.database import Database
from config.ledger import ACTIONS, ActionClass, Department, Deputy, Ledger
from config.schema import Settings
from tests.clock import FakeClock
from tests.ledger.test_moves import made
from tests.memory.desk import CountingEraser, Desk
from tests.sessions.rooms import PEOPLE, Rooms

ADA, BOB, GUEST = (PersonId(each) for each in ("ada", "bob", "guest"))


@pytest.fixture
async def desk(database: Database, recorder: Recorder, clock: FakeClock) -> Desk:
    rooms = Rooms(database, recorder, clock)
    await rooms.add_people(*PEOPLE)
    return Desk(rooms)


async def _sights(desk: Desk, readers: Readers, *claims: Claim) -> Mapping[ClaimId, Sight]:
    ids = [each.id for each in claims]
    return await desk.rooms.database.read(lambda c: wiring.sights(c, ids, readers))


async def test_a_fact_is_seen_by_who_was_there_and_hidden_from_all_others(desk: Desk) -> None:
    own = await desk.said(await desk.alone("ada"), "ada")
    everybodys = await desk.said(
        await desk.alone("boss"), "boss", "We grow.", visibility=Visibility.COMPANY, subject="a/b"
    )
    for readers, sees_own, sees_everybodys in (
        (Readers(people=(ADA,)), Sight.SEEN, Sight.SEEN),
        (Readers(people=(BOB,)), Sight.HIDDEN, Sight.SEEN),
        (Readers(people=(ADA, BOB)), Sight.HIDDEN, Sight.SEEN),
        (Readers(people=(GUEST,)), Sight.HIDDEN, Sight.HIDDEN),
        (Readers(people=(ADA,), outside=True), Sight.HIDDEN, Sight.HIDDEN),
        (Readers(), Sight.HIDDEN, Sight.HIDDEN),
    ):
        found = await _sights(desk, readers, own, everybodys)
        assert (found[own.id], found[everybodys.id]) == (sees_own, sees_everybodys), readers


async def test_a_room_sees_what_everybody_in_it_may_see(desk: Desk) -> None:
    session = await desk.room("ada", "bob")
    await desk.rooms.declare(Audience.ROOM, key="test:group")
    here = await desk.said(session, "ada")
    elsewhere = await desk.said(await desk.alone("ada"), "ada", "A secret.", subject="a/b")
    found = await _sights(desk, Readers(session=session), here, elsewhere)
    assert (found[here.id], found[elsewhere.id]) == (Sight.SEEN, Sight.HIDDEN)


async def test_what_does_not_stand_any_more_is_gone_and_what_nobody_knows_is_not_answered(desk: Desk) -> None:
    own = await desk.said(await desk.alone("ada"), "ada")
    await desk.do("ada", "retract", own)
    nobodys = ClaimId("0" * 24)
    found = await desk.rooms.database.read(lambda c: wiring.sights(c, [own.id, nobodys], Readers(people=(ADA,))))
    assert found == {own.id: Sight.GONE}


async def test_a_yes_promotes_and_forgets_and_a_memory_that_is_gone_cannot_be(desk: Desk) -> None:
    rooms, eraser = desk.rooms, CountingEraser()
    remembered = Remembered(Store(rooms.database, rooms.recorder, rooms.clock, b"k" * 32), lambda: eraser)
    own = await desk.said(await desk.alone("ada"), "ada")
    proposal = made()
    assert await rooms.database.read(lambda c: remembered.version(c, own.id)) == own.version
    await desk.write(lambda tx: remembered.promote(tx, own.id, proposal, desk.now))
    assert (await desk.look(own)).visibility is Visibility.COMPANY
    await desk.write(lambda tx: remembered.demote(tx, own.id, proposal, desk.now))
    assert (await desk.look(own)).visibility is Visibility.SESSION
    with pytest.raises(PermanentError, match="does not see it any more"):
        await desk.write(lambda tx: remembered.demote(tx, own.id, proposal, desk.now))
    await desk.write(lambda tx: remembered.forget(tx, own.id, proposal, desk.now))
    with pytest.raises(PermanentError, match="gone"):
        await desk.write(lambda tx: remembered.promote(tx, ClaimId("0" * 24), proposal, desk.now))


def test_settings_say_who_decides() -> None:
    own = Ledger(
        classes={"send_email": ActionClass(approvers=("ada", "bob"), two_persons=True), "forget": ActionClass()},
        departments={"finance": Department(head="ada"), "legal": Department()},
        deputies={"ada": Deputy(person="bob")},
    )
    found = wiring.rules(Settings(ledger=own))
    assert found == Rules(
        own.expires_after, own.remind_before, {"send_email": (ADA, BOB)}, {"finance": ADA}, {ADA: BOB},
        frozenset({"send_email"}),
    )  # fmt: skip


def test_the_classes_that_settings_know_are_those_that_there_are(desk: Desk) -> None:
    from bot.ledger.acting import handed, profile, telling

    kinds = (
        telling.SendMessage, telling.SendEmail, telling.ReplyAll, profile.ChangeCompanyProfile, handed.PromoteMemory,
        handed.Forget, handed.CreateSchedule,
    )  # fmt: skip
    assert sorted(each.name for each in kinds) == list(ACTIONS)
