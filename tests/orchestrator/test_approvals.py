"""From what somebody asks the executive to do to what happens: who is asked, where, and whose word counts."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from bot.audit.events import SYSTEM
from bot.audit.recorder import Recorder
from bot.gateway.events import Body, Chain, MessageReceived, Place, PlaceKind, Proof, ReplyPath
from bot.gateway.forms import Form
from bot.gateway.operations import Ask, OutboundOp, Receipt, Send
from bot.kernel.errors import PermanentError
from bot.kernel.ids import OutboxId
from bot.ledger import store
from bot.ledger.model import Failure, State
from bot.llm.model import Request, ToolResult
from bot.orchestrator import approvals
from bot.people import store as people
from bot.people.model import Change
from bot.sessions.audience import Audience
from bot.storage.database import Database
from tests.intake import events
from tests.memory.desk import Desk
from tests.orchestrator.house import KIM, MAIL, House
from tests.orchestrator.office import Said
from tests.sessions.rooms import PEOPLE

BOSS, ADA, BOB, GUEST = PEOPLE


async def test_a_mail_to_an_outside_address_goes_out_once_as_its_approver_edited_it(house: House) -> None:
    answer = await house.asks("send_email", **MAIL)
    assert "I have put it forward." in answer
    assert "waits for a yes from" in answer
    assert house.mail.ops == []
    (ask,) = await house.shown()
    assert ask.path.thread == "test:dm:1", "to the approver alone, not where it was asked"
    for words in (KIM, "The fair", "We come to the fair.", "Ada wants it"):
        assert words in ask.text
    assert [each.label for each in ask.choices] == ["Approve", "Reject", "Edit …"]
    await house.press(ask, "Edit")
    form = house.answered
    assert isinstance(form, Form)
    assert form.fields[0].value == "We come to the fair."
    await house.submit(form, "We come on Tuesday.")
    (mail,) = await house.mails(KIM)
    assert (mail.text, mail.path.subject) == ("We come on Tuesday.", "The fair")
    after = await house.becomes(State.EXECUTED)
    assert (after.proposed["text"], after.final["text"]) == ("We come to the fair.", "We come on Tuesday.")
    assert (after.decided_by, after.asked_by) == (BOSS.id, ADA.id)
    done = await house.edited("done")
    assert "-We come to the fair." in done.text
    assert "+We come on Tuesday." in done.text
    assert len(house.mail.ops) == 1


async def test_who_asked_is_told_what_came_of_it_once(house: House) -> None:
    await house.asks("send_email", **MAIL)
    (ask,) = await house.shown()
    await house.press(ask, "Reject")

    async def told() -> bool:
        return any("rejected" in each.text for each in house.office.channel.tried if each.thread == "test:dm:2")

    await house.office.until(told)
    assert house.mail.ops == []


async def test_an_approver_is_asked_where_they_wrote_last(house: House) -> None:
    wrote = replace(
        events.message("w1", "hello", by=replace(events.sender("1"), address="boss@acme.example"),
                       thread=Chain("email", (), "email:w"), live=False),
        place=Place(PlaceKind.MAIL, "Work"), reply_path=ReplyPath("", "boss@acme.example", "email:w1"),
    )  # fmt: skip
    await house.office.intake.port("email").accept([wrote], None)
    await house.mails("boss@acme.example")
    await house.asks("send_email", **MAIL)
    asked = (await house.mails("boss@acme.example", 2))[-1]
    assert KIM in asked.text
    assert not [op for op in house.office.channel.ops if isinstance(op, Ask)]


async def test_who_has_to_look_to_hear_of_it_is_asked_elsewhere_first(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approvals, "last_resort", lambda channel: channel is house.office.channel)
    await house.asks("send_email", **MAIL)
    (asked,) = await house.mails("boss@acme.example")
    assert KIM in asked.text
    assert not [op for op in house.office.channel.ops if isinstance(op, Ask)]


async def test_who_cannot_be_reached_on_one_account_is_asked_on_another(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = house.office.channel.send

    async def refusing(op: OutboundOp, key: OutboxId, again: bool) -> Receipt:
        if isinstance(op, Ask):
            raise PermanentError("chat not found")
        return await send(op, key, again)

    monkeypatch.setattr(house.office.channel, "send", refusing)
    await house.asks("send_email", **MAIL)
    room = house.office.room
    assert room is not None

    async def asked() -> bool:
        room.ring()
        return any(KIM in each.text for each in house.mail.ops if isinstance(each, Send))

    await house.office.until(asked)
    for _ in range(3):  # and not again and again
        room.ring()
        assert await house.office.outbox.drain(timedelta(seconds=20))
    (asked_once,) = await house.mails("boss@acme.example")
    assert KIM in asked_once.text


@pytest.mark.parametrize("by", ["2", "3", "4", "9"], ids=["who asked", "a colleague", "a guest", "a stranger"])
async def test_a_press_by_anybody_else_does_nothing_and_is_audited(house: House, by: str) -> None:
    await house.asks("send_email", **MAIL)
    (ask,) = await house.shown()
    for label in ("Approve", "Reject", "Edit"):
        await house.press(ask, label, by=by)
        assert house.answered == "This is not yours to decide."
    assert (await house.proposal()).state is State.PROPOSED
    assert await house.refusals() == ["not_an_approver"] * 3
    assert house.mail.ops == []
    await house.press(ask, "Approve")
    await house.becomes(State.EXECUTED)


async def test_an_unproven_press_does_nothing(house: House) -> None:
    await house.asks("send_email", **MAIL)
    (ask,) = await house.shown()
    event = replace(
        events.press("p", ask.choices[0].token, thread=events.dm("1")), sender=events.sender("1", proof=Proof.NONE),
        response="r",
    )  # fmt: skip
    await house._responded(event)
    assert (await house.proposal()).state is State.PROPOSED
    assert await house.refusals() == ["not_proven"]


async def test_a_second_press_is_told_who_decided(house: House) -> None:
    await house.asks("send_email", **MAIL)
    (ask,) = await house.shown()
    await house.press(ask, "Reject")
    await house.press(ask, "Approve")
    assert house.answered == "That is settled already: rejected: it will not be done, by boss."
    assert (await house.proposal()).state is State.REJECTED
    assert await house.refusals() == ["decided"]


async def test_a_made_up_button_is_none(house: House) -> None:
    await house.asks("send_email", **MAIL)
    (ask,) = await house.shown()
    approve, reject, _ = (each.token for each in ask.choices)
    name, _, code = approve.rpartition(".")
    for made_up in (
        "ledger:a:" + "x" * 24,
        name,
        f"{name}.",
        f"{name}.{'x' * len(code)}",
        f"{name}.{reject.rpartition('.')[2]}",
        f"{name.replace('a:', 's:')}.{code}",
    ):
        await house.press(replace(ask, choices=(replace(ask.choices[0], token=made_up),)), "Approve")
        assert house.answered == "This button is no longer in use."
    assert (await house.proposal()).state is State.PROPOSED


async def test_no_button_can_be_made_from_what_stands_in_the_file(house: House) -> None:
    await house.asks("send_email", **MAIL)
    (ask,) = await house.shown()
    codes = [each.token.rpartition(".")[2] for each in ask.choices]
    assert len(set(codes)) == 3
    assert all(len(each.token) <= 64 for each in ask.choices)

    def whole_file(connection: sa.Connection) -> str:
        tables = connection.execute(sa.text("SELECT name FROM sqlite_master WHERE type = 'table'")).scalars().all()
        rows = [row for each in tables for row in connection.execute(sa.text(f'SELECT * FROM "{each}"'))]
        return "\n".join(str(tuple(row)) for row in rows)

    stored = await house.office.database.read(whole_file)
    assert ask.choices[0].token.rpartition(".")[0] in stored, "the row of the outbox names the showing"
    assert not [code for code in codes if code in stored]


async def test_silence_is_reminded_of_once_and_then_ends_as_no_response(house: House) -> None:
    await house.asks("send_email", **MAIL)
    await house.shown()
    house.office.clock.advance(timedelta(hours=42, minutes=1))
    _, reminder = await house.shown(2)
    assert reminder.text.startswith("*Still waiting for you:*")
    house.office.clock.advance(timedelta(hours=5))
    assert (await house.proposal()).state is State.PROPOSED
    house.office.clock.advance(timedelta(hours=1))
    after = await house.becomes(State.AUTO_NO_RESPONSE)
    assert after.decided_by is None
    await house.edited("nobody answered in time")
    assert len(await house.shown(2)) == 2
    await house.press(reminder, "Approve")
    assert "nobody answered" in str(house.answered)
    assert house.mail.ops == []
    room = house.office.room
    assert room is not None
    card = await house.office.database.read(lambda c: room.ledger.card(c, "send_email"))
    assert (card.no_response.count, card.rejected.count) == (1, 0)


async def test_an_approver_is_not_woken(database: Database, recorder: Recorder, house: House) -> None:
    sleeping = replace(BOSS, quiet_hours=("08:00", "11:00"), time_zone="UTC")
    now = house.office.clock.now()
    await database.write(lambda tx: people.apply(tx, recorder, [Change(sleeping, "updated")], now))
    await house.asks("send_email", **MAIL)
    await house.becomes(State.PROPOSED)
    room = house.office.room
    assert room is not None
    assert await room.approvals.once() == timedelta(minutes=1)
    assert not [op for op in house.office.channel.ops if isinstance(op, Ask)]
    house.office.clock.advance(timedelta(hours=2))
    await house.shown()


async def test_a_message_to_a_colleague_reaches_them_alone_after_a_yes(house: House) -> None:
    await house.asks("send_message", to="Bob", text="Is the lease signed?", reason="asked")
    (ask,) = await house.shown()
    assert "To: bob (bob), alone" in ask.text
    await house.press(ask, "Approve")
    await house.becomes(State.EXECUTED)
    (sent,) = [each for each in house.office.channel.tried if each.thread == "test:dm:3"]
    assert sent.text == "Is the lease signed?"


async def test_a_message_goes_into_the_newest_thread_of_a_room_that_the_asker_is_in(house: House) -> None:
    desk = Desk(house.office.rooms)
    await desk.room("ada", "bob", key="test:sales")
    await desk.rooms.see(["2", "3"], 3, key="test:sales", title="Sales")
    await desk.rooms.declare(Audience.ROOM, key="test:sales")
    said: dict[str, Any] = {"text": "The lease is signed.", "reason": "asked"}
    await house.asks("send_message", room="#sales", **said)
    (ask,) = await house.shown()
    assert "Into: Sales, read by room" in ask.text
    await house.press(ask, "Approve")
    await house.becomes(State.EXECUTED)
    assert [each.text for each in house.office.channel.tried if each.thread == "test:sales"] == [said["text"]]
    await house.asks("send_message", by="1", room="Sales", **said)
    assert len(await house.office.database.read(lambda c: store.newest(c, 5))) == 1, "the boss is not in there"


@pytest.mark.parametrize(
    ("by", "name", "arguments", "words"),
    [
        ("4", "send_email", MAIL, "Only people of the company"),
        ("2", "send_message", {"to": "Nobody", "text": "x", "reason": "r"}, "know nobody"),
        ("2", "send_email", {**MAIL, "to": "kim"}, "no mail address"),
        ("2", "reply_all", {"text": "x", "reason": "r"}, "no mail"),
        ("2", "promote_memory", {"id": "abcdef", "reason": "r"}, "Nothing with such an id"),
    ],
)
async def test_what_makes_no_sense_is_said_to_the_model_and_nothing_is_proposed(
    house: House, by: str, name: str, arguments: dict[str, object], words: str
) -> None:
    await house.asks(name, by, **arguments)
    results = [b.text for m in house.office.model.asked[-1].messages for b in m.content if isinstance(b, ToolResult)]
    assert words in results[-1]
    assert await house.office.database.read(lambda c: store.newest(c, 5)) == []


async def test_an_address_that_nobody_gave_is_inert_in_what_is_proposed(house: House) -> None:
    await house.asks("send_email", **{**MAIL, "text": "See https://evil.example/?d=SECRET"})
    made = await house.proposal()
    assert "https://evil.example" not in str(made.final["text"])


async def test_what_its_reader_cannot_see_is_named_before_anybody_says_yes(house: House) -> None:
    desk = Desk(house.office.rooms)
    secret = await desk.said(await desk.alone("ada"), "ada", "The price is 40 euros.")
    mail: dict[str, Any] = {**MAIL, "text": "Our price is 40 euros.", "rests_on": [secret.handle]}
    await house.asks("send_email", **mail)
    (ask,) = await house.shown()
    assert f"Tells them what they cannot see by themselves: {secret.handle}" in ask.text
    assert "1 more that you may not see" in ask.text, "it was told in private"
    assert "The price is" not in ask.text
    await house.press(ask, "Approve")
    await house.becomes(State.EXECUTED)
    assert len(house.mail.ops) == 1


async def test_what_rests_on_a_memory_that_was_taken_back_meanwhile_is_not_sent(house: House) -> None:
    desk = Desk(house.office.rooms)
    secret = await desk.said(await desk.alone("ada"), "ada", "The price is 40 euros.")
    mail: dict[str, Any] = {**MAIL, "rests_on": [secret.handle]}
    await house.asks("send_email", **mail)
    (ask,) = await house.shown()
    await desk.do("ada", "retract", secret)
    await house.press(ask, "Approve")
    assert (await house.becomes(State.FAILED)).failure is Failure.REFUSED
    assert house.mail.ops == []


# --- words instead of buttons -----------------------------------------------------------------------------------------


async def test_words_approve_the_content_that_they_name_and_no_other(house: House) -> None:
    await house.asks("send_email", **MAIL)
    await house.shown()
    made = await house.proposal()
    handle = made.id[-6:]
    assert f"`{handle}` Send a mail" in await house.says("ledger", "")
    whole = await house.says("ledger", handle)
    assert f"/approve {handle} {made.hash[:6]}" in whole
    assert "edited since" in await house.says("approve", f"{handle} 000000")
    assert (await house.proposal()).state is State.PROPOSED
    assert "Approved" in await house.says("approve", f"{handle} {made.hash[:6]}")
    await house.becomes(State.EXECUTED)
    assert len(await house.mails(KIM)) == 1


async def test_words_of_others_decide_nothing_and_others_do_not_even_see_it(house: House) -> None:
    await house.asks("send_email", **MAIL)
    made = await house.proposal()
    handle = made.id[-6:]
    assert await house.says("approve", f"{handle} {made.hash[:6]}", by="2") == "This is not yours to decide."
    assert "no such proposal" in await house.says("approve", f"{handle} {made.hash[:6]}", by="3")
    assert "no such proposal" in await house.says("ledger", handle, by="3")
    assert (await house.proposal()).state is State.PROPOSED
    assert "Rejected" in await house.says("reject", handle)


# --- mail -------------------------------------------------------------------------------------------------------------


async def _by_mail(
    house: House, ask: Send, text: str, proof: Proof = Proof.TOKEN, by: str = "boss@acme.example"
) -> str:
    """The approver answers the mail that asked; returns what they are told."""
    house.keys += 1
    chain = Chain("email", (), ask.path.thread)
    who = replace(events.sender(by, proof=proof), address=by)
    event: MessageReceived = replace(
        events.message(f"mail{house.keys}", text, by=who, thread=chain, body=Body(text), live=False),
        place=Place(PlaceKind.MAIL, "A decision"),
        reply_path=ReplyPath("", by, f"email:m{house.keys}"),
    )
    before = len(house.mail.ops)
    await house.office.intake.port("email").accept([event], None)

    async def holds() -> bool:
        return len(house.mail.ops) > before

    await house.office.until(holds)
    assert await house.office.outbox.drain(timedelta(seconds=20))
    said = house.mail.ops[before]
    assert isinstance(said, Send)
    return said.text


@pytest.fixture
async def by_mail(house: House) -> House:
    """Nobody can be reached but by mail."""
    channel = house.office.channel

    async def nowhere(address: str) -> ReplyPath:
        if address == "1":
            raise PermanentError("blocked")
        return ReplyPath(f"test:dm:{address}", address)

    channel.direct = nowhere  # type: ignore[method-assign]
    return house


async def test_a_yes_by_mail_counts_once_with_the_token_of_its_own_mail(by_mail: House) -> None:
    await by_mail.asks("send_email", **MAIL)
    (ask,) = await by_mail.mails("boss@acme.example")
    assert KIM in ask.text
    assert ask.path.subject is not None
    assert "decision" in ask.path.subject
    told = await _by_mail(by_mail, ask, "Yes\n\nBest, Boss")
    assert told.startswith("Approved")
    assert len(await by_mail.mails(KIM)) == 1
    await by_mail.becomes(State.EXECUTED)
    assert "settled already" in await _by_mail(by_mail, ask, "yes")
    assert len(await by_mail.mails(KIM)) == 1


@pytest.mark.parametrize("proof", [Proof.DOMAIN, Proof.LOCAL])
async def test_a_yes_by_mail_without_the_token_is_none(by_mail: House, proof: Proof) -> None:
    await by_mail.asks("send_email", **MAIL)
    (ask,) = await by_mail.mails("boss@acme.example")
    assert "cannot be sure" in await _by_mail(by_mail, ask, "yes", proof)
    assert (await by_mail.proposal()).state is State.PROPOSED
    assert await by_mail.refusals() == ["not_proven"]


@pytest.mark.parametrize("text", ["Sounds good to me", "yes but on Tuesday", "Yes\nbut please change the date first"])
async def test_a_mail_that_is_neither_yes_nor_no_decides_nothing(by_mail: House, text: str) -> None:
    await by_mail.asks("send_email", **MAIL)
    (ask,) = await by_mail.mails("boss@acme.example")
    assert "nothing was decided" in await _by_mail(by_mail, ask, text)
    assert (await by_mail.proposal()).state is State.PROPOSED


async def test_an_edit_by_mail_comes_back_to_be_confirmed(by_mail: House) -> None:
    await by_mail.asks("send_email", **MAIL)
    (ask,) = await by_mail.mails("boss@acme.example")
    await _by_mail(by_mail, ask, "edit\nWe come on Tuesday.")
    assert (await by_mail.proposal()).state is State.PROPOSED
    again = (await by_mail.mails("boss@acme.example", 3))[-1]
    assert "We come on Tuesday." in again.text
    assert again.path.thread != ask.path.thread
    assert "newer version" in await _by_mail(by_mail, ask, "yes")
    assert (await by_mail.proposal()).state is State.PROPOSED
    await _by_mail(by_mail, again, "yes")
    (mail,) = await by_mail.mails(KIM)
    assert mail.text == "We come on Tuesday."
    assert (await by_mail.becomes(State.EXECUTED)).failure is not Failure.UNCERTAIN


async def test_when_the_last_approver_leaves_while_the_model_thinks_who_asked_is_told(house: House) -> None:
    office = house.office
    house.wants("send_email", **MAIL)
    answer = office.model.answer

    def thinking(request: Request) -> Said:
        if isinstance(request.messages[-1].content[-1], ToolResult):
            office.model.gate.clear()
        return answer(request)

    office.model.answer = thinking
    await office.hear(events.message("m1", "please", by="2"))
    await office.model.until(asked=2, thinking=1)
    now = office.clock.now()
    await office.database.write(lambda tx: people.deactivate(tx, office.recorder, BOSS.id, SYSTEM, now))
    office.model.gate.set()
    await house.do_tasks()
    told = [each.text for each in office.channel.tried if each.thread == "test:dm:2"]
    assert "waits for a yes from boss" in told[0]
    assert told[1].startswith("Not put forward after all")
    assert KIM in told[1]
    assert "There is nobody who may approve this" in told[1]
    assert await office.database.read(lambda c: store.newest(c, 5)) == []
