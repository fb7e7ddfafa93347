"""A mail that was sent on somebody's yes and came back: it is done, and did not arrive."""

from __future__ import annotations

import pytest

from bot.gateway.events import DeliveryReported, Outcome
from bot.ledger import store
from bot.ledger.model import Op, State
from tests.clock import START
from tests.orchestrator.house import KIM, MAIL, House

DETAIL = "5.1.1 no such user here"


async def bounced(house: House, number: int = 1, outcome: Outcome = Outcome.FAILED) -> None:
    """The far end reports on the mail to Kim."""
    ref = f"email:{next(i for i, each in enumerate(house.mail.tried, 1) if each.text == MAIL['text'])}"
    event = DeliveryReported((f"email:dsn{number}",), (ref,), outcome, DETAIL, START)
    await house.office.intake.port("email").accept([event], None)


async def told(house: House) -> list[tuple[str, str]]:
    """Who was told what about it: thread and text."""
    await house.do_tasks()
    sent = [*house.office.channel.tried, *house.mail.tried]
    return [(each.thread, each.text) for each in sent if "came back: it did not reach" in each.text]


async def sent(house: House) -> None:
    await house.asks("send_email", **MAIL)
    (ask,) = await house.shown()
    await house.press(ask, "Approve")
    await house.becomes(State.EXECUTED)


async def test_the_asker_and_the_approver_are_told_once_and_the_card_counts_it(house: House) -> None:
    await sent(house)
    await bounced(house)
    await bounced(house, 2)
    after = await house.proposal()
    assert (after.state, after.came_back) == (State.EXECUTED, True)
    said = await told(house)
    assert len(said) == 2
    assert "test:dm:2" in {thread for thread, _ in said}
    assert all(KIM in text and DETAIL in text for _, text in said)
    events = await house.office.database.read(lambda c: store.history(c, after.id))
    assert [each.op for each in events].count(Op.BOUNCED) == 1
    assert len(await house.office.audited("action_bounced")) == 1
    room = house.office.room
    assert room is not None
    card = await house.office.database.read(lambda c: room.ledger.card(c, "send_email"))
    assert (card.undelivered.count, card.undelivered.of, card.failed.count) == (1, 1, 0)
    assert "came back" in await house.says("ledger", after.id[-6:])


@pytest.mark.parametrize("outcome", [Outcome.DELAYED, Outcome.DELIVERED])
async def test_what_is_only_late_or_has_arrived_is_no_bounce(house: House, outcome: Outcome) -> None:
    await sent(house)
    await bounced(house, outcome=outcome)
    assert not (await house.proposal()).came_back


async def test_a_bounce_of_an_ordinary_answer_concerns_no_proposal(house: House) -> None:
    await sent(house)
    event = DeliveryReported(("email:dsn",), ("test:1",), Outcome.FAILED, DETAIL, START)
    await house.office.intake.port("email").accept([event], None)
    assert not (await house.proposal()).came_back
    assert not await house.office.audited("action_bounced")


async def test_why_tells_what_the_last_answer_put_forward_and_what_came_of_it(house: House) -> None:
    await house.asks("send_email", **MAIL)
    handle = (await house.proposal()).id[-6:]
    waiting = await house.says("why", "", by="2")
    assert f"`{handle}` Send a mail ({KIM}), put to boss" in waiting
    assert "waits for a decision" in waiting
    (ask,) = await house.shown()
    await house.press(ask, "Approve")
    await house.becomes(State.EXECUTED)
    await house.hears("2", "done")
    done = await house.says("why", "", by="2")
    assert "    - approved by boss, Mon 2026-03-02 09:00" in done
    assert "    - done, Mon 2026-03-02 09:00" in done
    await bounced(house)
    assert "it came back: it did not arrive" in await house.says("why", "", by="2")
