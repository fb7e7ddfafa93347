"""Two people have to say yes to one content, by buttons; whoever has left has no say any more."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from bot.audit.events import SYSTEM
from bot.audit.recorder import Recorder
from bot.gateway.forms import Form
from bot.gateway.operations import Ask
from bot.kernel.ids import PersonId
from bot.ledger.model import State
from bot.people import store as people
from bot.storage.database import Database
from config.schema import Settings
from tests.clock import FakeClock
from tests.orchestrator.house import KIM, MAIL, House, open_house

RULE = {"ledger": {"classes": {"send_email": {"approvers": ["boss", "bob"], "two_persons": True}}}}
ONE_MORE = "Noted. One more person has to say yes to the same content."


@pytest.fixture
async def house(database: Database, recorder: Recorder, clock: FakeClock) -> AsyncIterator[House]:
    house = await open_house(database, recorder, clock, Settings.model_validate(RULE))
    yield house
    await house.office.close()


async def asked(house: House, count: int = 2) -> dict[str, Ask]:
    """Who was asked last, by account."""
    return {each.path.address: each for each in await house.shown(count)}


async def test_the_first_yes_is_told_that_one_more_is_wanted_and_the_second_has_it_done(house: House) -> None:
    await house.asks("send_email", **MAIL)
    by = await asked(house)
    assert set(by) == {"1", "3"}
    assert all("Two people must approve the same content." in each.text for each in by.values())
    await house.press(by["1"], "Approve")
    assert house.answered == ONE_MORE
    await house.press(by["1"], "Approve")
    assert house.answered == ONE_MORE, "the same person twice is one person"
    assert (await house.proposal()).state is State.PROPOSED
    assert house.mail.ops == []
    await house.press(by["3"], "Approve", by="3")
    await house.becomes(State.EXECUTED)
    assert len(await house.mails(KIM)) == 1


async def test_an_edit_counts_as_a_yes_to_itself_only_and_goes_to_the_other_anew(house: House) -> None:
    await house.asks("send_email", **MAIL)
    by = await asked(house)
    await house.press(by["1"], "Approve")
    await house.press(by["3"], "Edit", by="3")
    form = house.answered
    assert isinstance(form, Form)
    await house.submit(form, "We come on Tuesday.", by="3")
    assert house.answered == ONE_MORE
    again = (await asked(house, 3))["1"]
    assert "We come on Tuesday." in again.text
    assert "It was edited since it was proposed." in again.text
    await house.press(by["1"], "Approve")
    assert "edited since you were shown it" in str(house.answered)
    assert house.mail.ops == []
    await house.press(again, "Approve")
    await house.becomes(State.EXECUTED)
    assert [each.text for each in await house.mails(KIM)] == ["We come on Tuesday."]


async def test_one_no_decides(house: House) -> None:
    await house.asks("send_email", **MAIL)
    by = await asked(house)
    await house.press(by["1"], "Approve")
    await house.press(by["3"], "Reject", by="3")
    await house.becomes(State.REJECTED)
    assert house.mail.ops == []


async def test_the_yes_of_somebody_who_has_left_counts_no_more(house: House) -> None:
    await house.asks("send_email", **MAIL)
    by = await asked(house)
    await house.press(by["3"], "Approve", by="3")
    office, now = house.office, house.office.clock.now()
    await office.database.write(lambda tx: people.deactivate(tx, office.recorder, PersonId("bob"), SYSTEM, now))
    await house.press(by["1"], "Approve")
    assert house.answered == ONE_MORE
    office.clock.advance(timedelta(seconds=1))
    assert (await house.proposal()).state is State.PROPOSED
    assert house.mail.ops == []
