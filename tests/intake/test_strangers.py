"""Who is not let in: refused without an answer, counted, kept within bounds; codes and requests by chat."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.audit.events import Actor, Refusal
from bot.gateway.channel import Accepted
from bot.gateway.events import Addressed, Chain, CommandInvoked, MessageReceived, Nature, Proof, ReplyPath, Thread
from bot.gateway.operations import Reply
from bot.intake.speech import REFUSED_KEPT
from bot.kernel.ids import PersonId
from bot.outbox.store import Origin
from bot.people import pairing
from bot.people import store as people
from bot.storage.database import Tx
from tests.intake.desk import Desk
from tests.intake.events import GROUP, command, message, sender
from tests.sessions.rooms import BOSS

STRANGER = "666"


async def refused(desk: Desk, number: int, *, start: int = 0) -> None:
    for n in range(start, start + number):
        assert await desk.one(message(f"s{n}", f"let me in {n}", by=STRANGER)) is Accepted.REFUSED


async def report(desk: Desk) -> int:
    return await desk.database.write(desk.intake.report_refusals)


async def test_a_stranger_gets_no_turn_no_session_and_no_answer(desk: Desk) -> None:
    await refused(desk, 1)
    rows = await desk.rows()
    assert [(row.state.value, row.session, row.person) for row in rows] == [("refused", None, None)]
    assert desk.heard.begun == []
    assert desk.heard.waits == []
    assert desk.heard.at_once == []
    assert await desk.said() == []
    assert not await desk.intake.port("test").is_known(STRANGER)
    assert await desk.intake.port("test").is_known("1")
    assert await desk.audited("message_refused") == [
        {"channel": "test", "reason": "stranger", "count": 1, "inbox": rows[0].id}
    ]


async def test_many_refusals_are_one_row_an_hour_with_a_count_and_twenty_are_kept(desk: Desk) -> None:
    await refused(desk, 35)
    assert len(await desk.rows()) == REFUSED_KEPT == 20
    assert len(await desk.audited("message_refused")) == 1
    assert await report(desk) == 0, "the hour is not over"
    desk.clock.advance(timedelta(hours=1))
    assert await report(desk) == 1
    assert [p["count"] for p in await desk.audited("message_refused")] == [1, 34]
    assert await report(desk) == 0
    await refused(desk, 1, start=50)
    assert [p["count"] for p in await desk.audited("message_refused")] == [1, 34, 1]


async def test_a_refusal_is_logged_once_an_hour_for_each_sender_with_its_reason(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    await refused(desk, 3)
    note = replace(sender("1", proof=Proof.NONE), note="no signature of corp.example")
    await desk.one(message("u", by=note))
    said = [record.message for record in caplog.records if "refused" in record.message]
    assert said == [
        "test: what '666' writes is refused: nobody in `people` has this address here",
        "test: what '1' writes is refused: it is not proven who wrote it (no signature of corp.example)",
    ]
    desk.clock.advance(timedelta(hours=1))
    await refused(desk, 2, start=10)
    assert len([record for record in caplog.records if "666" in record.message]) == 2


async def test_a_single_refusal_needs_no_second_row(desk: Desk) -> None:
    await refused(desk, 1)
    desk.clock.advance(timedelta(hours=1))
    assert await report(desk) == 0


async def test_refusals_are_counted_by_sender_and_reason(desk: Desk) -> None:
    await refused(desk, 2)
    for n in range(3):
        await desk.one(message(f"b{n}", by=sender(STRANGER, Nature.BOT)))
    await desk.one(message("o", by="667"))
    assert len(await desk.audited("message_refused")) == 3
    desk.clock.advance(timedelta(hours=1))
    await report(desk)
    counts = sorted((str(p["reason"]), int(str(p["count"]))) for p in await desk.audited("message_refused"))
    assert counts == [("bot", 1), ("bot", 2), ("stranger", 1), ("stranger", 1), ("stranger", 1)]


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (message("1", by=sender("1", proof=Proof.NONE)), Refusal.UNPROVEN),
        (message("1", by=sender("1", nature=Nature.ANONYMOUS)), Refusal.ANONYMOUS),
        (message("1", automatic="auto_reply"), Refusal.AUTOMATIC),
        (command("1", "stop", by=STRANGER), Refusal.STRANGER),
        (message("1", "abcd-efgh-jkmn", by=STRANGER), Refusal.BAD_CODE),
    ],
    ids=["unproven", "anonymous", "automatic", "command", "guessed code"],
)
async def test_why_is_recorded(desk: Desk, event: MessageReceived | CommandInvoked, reason: Refusal) -> None:
    assert await desk.one(event) is Accepted.REFUSED
    assert [p["reason"] for p in await desk.audited("message_refused")] == [reason.value]
    assert desk.heard.begun == []
    assert desk.heard.at_once == []


async def test_addresses_of_strangers_are_erasable_text(desk: Desk) -> None:
    await refused(desk, 2)
    desk.clock.advance(timedelta(hours=1))
    await report(desk)
    assert STRANGER not in repr(await desk.audited("message_refused"))


async def test_who_was_deactivated_is_refused_as_such(desk: Desk) -> None:
    await desk.database.write(
        lambda tx: people.deactivate(tx, desk.post.recorder, PersonId("ada"), BOSS, desk.clock.now())
    )
    assert await desk.one(message("1", by="2")) is Accepted.REFUSED
    assert [p["reason"] for p in await desk.audited("message_refused")] == ["deactivated"]
    assert not await desk.intake.port("test").is_known("2")


async def test_a_refused_message_that_is_delivered_again_is_a_duplicate(desk: Desk) -> None:
    await desk.one(message("1", by=STRANGER))
    assert await desk.one(message("1", by=STRANGER)) is Accepted.DUPLICATE


# --- codes --------------------------------------------------------------------------------------------------------


async def code(desk: Desk) -> tuple[str, str]:
    def unit(tx: Tx) -> tuple[str, str]:
        return pairing.make(tx, desk.post.recorder, PersonId("boss"), Actor("system", "operator"), desk.clock.now())

    return await desk.database.write(unit)


async def state(desk: Desk, code_id: str) -> str:
    found = await desk.database.read(lambda c: pairing.state(c, code_id))
    assert found is not None
    return found.state


@pytest.mark.parametrize("form", ["{}", "/pair {}"])
async def test_a_code_in_a_direct_message_is_claimed_and_answered(desk: Desk, form: str) -> None:
    code_id, words = await code(desk)
    assert await desk.one(message("1", form.format(words), by=STRANGER)) is Accepted.NEW
    assert await state(desk, code_id) == "claimed"
    assert [text[:16] for text in await desk.said()] == ["I have your code"]
    assert desk.heard.begun == []
    assert words not in repr(await desk.audited())
    await desk.database.write(
        lambda tx: pairing.confirm(tx, desk.post.recorder, code_id, Actor("system", "operator"), desk.clock.now())
    )
    assert await desk.one(message("2", "hello", by=STRANGER)) is Accepted.NEW
    assert desk.heard.texts == [["hello"]]


@pytest.mark.parametrize("addressed", [Addressed.MENTION, Addressed.NOT])
@pytest.mark.parametrize("by", ["1", STRANGER])
async def test_a_code_where_others_read_is_burned_and_said_so(desk: Desk, by: str, addressed: Addressed) -> None:
    code_id, words = await code(desk)
    assert await desk.one(message("1", words, by=by, thread=GROUP, addressed=addressed)) is Accepted.NEW
    assert await state(desk, code_id) == "burned"
    assert len(await desk.said()) == 1
    assert desk.heard.begun == []


async def test_ordinary_words_that_look_like_a_code_are_a_message_or_nothing(desk: Desk) -> None:
    words = "abcdefghjkmn"
    assert await desk.one(message("1", words)) is Accepted.NEW
    assert desk.heard.texts == [[words]]
    assert await desk.one(message("2", words, thread=GROUP, addressed=Addressed.NOT)) is Accepted.IGNORED
    assert len(await desk.rows()) == 1


# --- requests -----------------------------------------------------------------------------------------------------


async def test_where_it_is_set_a_stranger_is_told_once_that_the_wish_was_passed_on(desk: Desk) -> None:
    desk.ask_strangers_in()
    await refused(desk, 3)
    assert len(await desk.said()) == 1
    requests = await desk.database.read(pairing.open_requests)
    assert [(r.channel, r.address) for r in requests] == [("test", STRANGER)]


@pytest.mark.parametrize(
    "event",
    [
        message("1", by=STRANGER, thread=GROUP, addressed=Addressed.MENTION),
        message("1", by=sender(STRANGER, proof=Proof.NONE)),
        message("1", by=sender(STRANGER, proof=Proof.LOCAL)),
        message("1", by=sender(STRANGER, Nature.BOT)),
    ],
    ids=["in a group", "unproven", "local", "bot"],
)
async def test_others_cannot_ask_to_be_let_in(desk: Desk, event: MessageReceived) -> None:
    desk.ask_strangers_in()
    assert await desk.one(event) is Accepted.REFUSED
    assert await desk.said() == []
    assert await desk.database.read(pairing.open_requests) == []


# --- mail threads -------------------------------------------------------------------------------------------------


def mail(key: str, *refs: str, by: str = "1", proof: Proof = Proof.DOMAIN) -> MessageReceived:
    return message(key, f"mail {key}", by=sender(by, proof=proof), thread=Chain("test", refs), live=False)


async def mails(desk: Desk) -> list[MessageReceived]:
    return [row.event for row in await desk.rows() if isinstance(row.event, MessageReceived)]


async def keys(desk: Desk) -> list[str]:
    return [each.thread.key for each in await mails(desk) if isinstance(each.thread, Thread)]


async def test_an_answer_to_a_known_mail_joins_its_thread(desk: Desk) -> None:
    await desk.accept(mail("1"))
    await desk.accept(mail("2", "test:unknown", "test:1"))
    first, second = await keys(desk)
    assert first == second
    rows = await desk.rows()
    assert rows[0].session == rows[1].session
    assert (await mails(desk))[1].reply_path.thread == first


async def test_an_answer_within_the_same_delivery_joins_too(desk: Desk) -> None:
    await desk.accept(mail("1"), mail("2", "test:1"))
    first, second = await keys(desk)
    assert first == second


async def test_an_answer_to_our_own_mail_joins(desk: Desk) -> None:
    await desk.accept(mail("1"))
    key = (await keys(desk))[0]
    session = (await desk.session(key)).id
    reply = Reply(ReplyPath(key, "1"), "our answer")
    origin = Origin(session, None, 0)
    outbox = desk.post.outbox
    queued = await desk.database.write(lambda tx: outbox.queue(tx, "test", reply, origin))
    outbox.sending([queued])
    await desk.post.settled()
    await desk.accept(mail("2", "test:1"), mail("3", "test:nothing"))
    threads = await keys(desk)
    assert threads[1] == key
    assert threads[2] != key


@pytest.mark.case(85)
async def test_case_85_who_knows_a_message_id_but_takes_no_part_gets_a_thread_of_their_own(desk: Desk) -> None:
    await desk.accept(mail("1"))
    await desk.accept(mail("2", "test:1", by="2"))
    first, second = await keys(desk)
    assert first != second
    rows = await desk.rows()
    assert rows[0].session != rows[1].session
    port = desk.intake.port("test")
    assert await port.participates(["test:1"], "1")
    assert not await port.participates(["test:1"], "2")
    assert not await port.participates(["test:none"], "1")


@pytest.mark.case(85)
@pytest.mark.parametrize(("by", "proof"), [(STRANGER, Proof.DOMAIN), ("1", Proof.NONE)], ids=["stranger", "unproven"])
async def test_case_85_who_is_not_let_in_joins_nothing(desk: Desk, by: str, proof: Proof) -> None:
    await desk.accept(mail("1"))
    assert await desk.one(mail("2", "test:1", by=by, proof=proof)) is Accepted.REFUSED
    assert (await desk.rows())[1].session is None
    assert len(desk.heard.begun) == 1


@pytest.mark.case(85)
async def test_case_85_the_nearest_thread_of_ones_own_counts(desk: Desk) -> None:
    await desk.accept(mail("a"), mail("b"), mail("c", by="2"))
    await desk.accept(mail("2", "test:c", "test:b", "test:a"))
    threads = await keys(desk)
    assert threads[3] == threads[1]


async def test_another_reader_of_a_mail_is_seen_in_its_room(desk: Desk) -> None:
    first = mail("1")
    wide = replace(first, place=replace(first.place, others=(sender(STRANGER),)))
    await desk.accept(wide)
    assert (await desk.session((await keys(desk))[0])).audience.value == "external"
