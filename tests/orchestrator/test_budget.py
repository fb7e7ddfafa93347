"""A turn that the budget has no room for is answered in words, without a call of the model."""

from __future__ import annotations

from datetime import timedelta

import pytest
import sqlalchemy as sa

from bot.gateway.events import Addressed
from bot.llm.budget import Limit, Limits
from bot.llm.model import ContextTooLongError, ToolUse, Usage
from bot.llm.tables import spend
from bot.people import store as people
from bot.sessions import places
from bot.sessions.audience import Audience
from bot.sessions.manners import Hearing
from bot.storage.database import Tx
from tests.clock import START
from tests.intake.events import GROUP, command, dm, message
from tests.orchestrator.office import Office, Said
from tests.sessions.rooms import Rooms

DOLLAR = 1_000_000


@pytest.fixture
async def office(office: Office) -> Office:
    def unit(tx: Tx) -> None:
        for address in ("1", "2", "3", "4"):
            people.greet(tx, "test", address, START)

    await office.database.write(unit)
    return office


async def reopen(office: Office, **most: float) -> None:
    """The next process, with these limits."""
    assert await office.outbox.drain(timedelta(seconds=20))
    await office.close()
    office.limits = Limits({Limit(name): round(value * DOLLAR) for name, value in most.items()}, 0.8)
    await office.open()


async def spent(office: Office) -> list[tuple[str, str | None, int]]:
    def query(connection: sa.Connection) -> list[tuple[str, str | None, int]]:
        rows = connection.execute(sa.select(spend).order_by(spend.c.id))
        return [(row.purpose, row.person_id, row.micros) for row in rows]

    return await office.database.read(query)


async def test_what_a_turn_used_is_written_with_it(office: Office) -> None:
    await office.hear(message("1", "one"))
    await office.ended("answered")
    assert await spent(office) == [("answer", "boss", 10 * 5 + 2 * 25)]


async def test_over_budget_the_person_is_told_which_limit_and_until_when_and_the_model_is_not_asked(
    office: Office,
) -> None:
    await reopen(office, person=0.01)
    await office.hear(message("1", "one"))
    await office.ended("refused")
    (said,) = await office.said(1)
    assert "your budget for today is used up (0 USD of 0.0100 USD spent)" in said.replace("0.00 USD", "0 USD")
    assert "Tuesday 2026-03-03 at 00:00 (UTC)" in said
    assert "`budget.person`" in said
    assert office.model.asked == []
    (refused,) = await office.audited("budget_refused")
    assert (refused.payload["budget"], refused.payload["subject"]) == ("person", "boss")
    (finished,) = await office.audited("turn_finished")
    assert finished.payload["outcome"] == "refused"


async def test_what_was_refused_is_kept_and_answered_on_a_word_the_next_day(office: Office) -> None:
    await reopen(office, person=0.01)
    await office.hear(message("1", "how are we doing?"))
    await office.ended("refused")
    await reopen(office, person=3)
    await office.hear(message("2", "and now?"))
    await office.ended("refused", "answered")
    assert "how are we doing?" in office.prompted()


async def test_people_from_outside_see_no_amounts(office: Office) -> None:
    await reopen(office, company=0.01)
    await office.hear(message("1", "hello", by="4", thread=dm("4")))
    await office.ended("refused")
    (said,) = await office.said(1)
    assert "the company's budget for today is used up." in said
    assert "USD" not in said


async def test_near_the_limit_the_person_is_told_once(office: Office) -> None:
    await reopen(office, person=0.05)
    office.model.usage = Usage(8_200, 0)
    await office.hear(message("1", "one"))
    await office.ended("answered")
    first, _, warning = await office.said(3)
    await reopen(office, person=0.08)
    await office.hear(message("2", "two"))
    await office.ended("answered", "answered")
    assert first == "Answer 1."
    assert (await office.said(4))[3:] == ["Answer 2."]
    assert "82% of your budget for today is spent (0.0410 USD of 0.0500 USD)" in warning
    assert len(await office.audited("budget_warned")) == 1


async def test_a_warning_stands_in_no_room_where_others_read(office: Office, rooms: Rooms) -> None:
    await rooms.see(["1", "4"], 3)
    await reopen(office, person=0.05)
    office.model.usage = Usage(8_200, 0)
    await office.hear(message("1", "one", thread=GROUP))
    await office.ended("answered")
    assert await office.said(1) == ["Answer 1."]


async def test_the_gate_is_paid_for_too_and_over_budget_it_is_silent(office: Office, rooms: Rooms) -> None:
    await rooms.see(["1", "2"], 3)
    await rooms.declare(Audience.ROOM)
    await office.hear(message("0", "hello", thread=GROUP, addressed=Addressed.MENTION))
    await office.ended("answered")
    await office.database.write(lambda tx: places.listen(tx, "test:room", Hearing.ALL))
    office.model.answer = lambda request: "no"
    await office.hear(message("1", "lunch?", thread=GROUP, addressed=Addressed.NOT))
    await office.ended("answered", "silent")
    assert [(purpose, person) for purpose, person, _ in await spent(office)] == [("answer", "boss"), ("gate", "boss")]
    await reopen(office, company=0)
    await office.hear(message("2", "when?", thread=GROUP, addressed=Addressed.NOT))
    await office.ended("answered", "silent", "silent")
    assert len(office.model.asked) == 2
    assert len(await office.audited("budget_refused")) == 1


async def test_a_turn_that_fails_settles_what_it_used(office: Office) -> None:
    steps: list[Said] = [[ToolUse("c", "look", {})], ContextTooLongError("too long")]
    office.model.answer = lambda request: steps.pop(0)
    await office.hear(message("1", "one"))
    await office.ended("parked")
    assert [(purpose, person) for purpose, person, _ in await spent(office)] == [("answer", "boss")]


async def test_usage_tells_a_member_of_their_own_and_the_principal_of_everybody(office: Office) -> None:
    await reopen(office, person=3, company=20)
    await office.hear(message("1", "one", by="2", thread=dm("2")))
    await office.ended("answered")
    await office.hear(command("2", "usage", by="2", thread=dm("2")))
    await office.hear(command("3", "usage", by="1", thread=dm("1")))
    await office.ended("answered", "answered", "answered")
    lines = await office.said(4)
    own = [line for line in lines if line.startswith("- Your budget")]
    assert len(own) == 2
    assert any("0.0001 USD of 3.00 USD spent" in line for line in own)
    assert sum(line.startswith("- The company's budget") for line in lines) == 1


async def test_usage_is_not_told_where_people_from_outside_read(office: Office) -> None:
    await office.hear(command("1", "usage", by="4", thread=dm("4")))
    await office.ended("answered")
    (said,) = await office.said(1)
    assert "people of the company only" in said
