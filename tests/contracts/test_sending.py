"""What the executive says arrives: whole, in order, once; and what did not is told as what it was."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from bot.gateway.channel import NotReadyError
from bot.gateway.events import ButtonPressed
from bot.gateway.operations import (
    Ask,
    CannotTell,
    Choice,
    Delete,
    Edit,
    Found,
    NotSent,
    OpenThread,
    OutboundOp,
    React,
    Receipt,
    Reply,
    Send,
    asking,
)
from bot.kernel.errors import PermanentError, TransientError, UncertainError
from bot.kernel.ids import OutboxId, TurnId
from tests.contracts.bench import ALL_OPS, Bench, Draft, Who, marked, until
from tests.contracts.those import those

TURN = TurnId("turn")


async def test_an_answer_arrives_where_it_was_asked(bench: Bench) -> None:
    path = await bench.path()
    (receipt,) = await bench.say(path, "**Fourteen** months.")
    await bench.until_shown("Fourteen")
    assert len(bench.far.shown()) == 1
    assert receipt.ref is not None
    assert receipt.ref.startswith(f"{bench.channel.name}:")


@pytest.mark.parametrize("shape", ["prose", "one line", "code", "emoji"])
async def test_a_long_answer_arrives_whole_and_in_order(bench: Bench, shape: str) -> None:
    numbered = [f"w{number:05d}" for number in range(1600)]
    text = {
        "prose": "\n\n".join(" ".join(numbered[at : at + 40]) for at in range(0, len(numbered), 40)),
        "one line": " ".join(numbered),
        "code": "```text\n" + "\n".join(numbered) + "\n```",
        "emoji": " ".join(f"{word} 😀😀" for word in numbered),
    }[shape]
    path = await bench.path()
    await bench.say(path, text)
    await bench.until_shown(numbered[-1])
    shown = bench.far.shown()
    assert re.findall(r"w\d{5}", "\n".join(shown)) == numbered
    if bench.can.limit is not None:
        assert len(shown) > 1
        assert max(bench.far.units(one) for one in shown) <= bench.can.limit


@those(lambda can: can.draft is Draft.PLACEHOLDER)
async def test_a_placeholder_grows_into_the_answer(bench: Bench) -> None:
    path = await bench.path()
    assert bench.channel.placeholder is not None
    (standing,) = await bench.say(path, bench.channel.placeholder)
    assert standing.ref is not None
    await bench.channel.draft(path, TURN, "Fourteen mon", standing.ref)
    await bench.until_shown("Fourteen mon")
    (final,) = [
        Edit(op.path, standing.ref, op.text, op.plain)
        for op in bench.channel.plan(Reply(path, "Fourteen months."))
        if isinstance(op, Send)
    ]
    await bench.channel.send(final, bench.key(), again=False)
    await bench.channel.draft(path, TURN, "Fourteen months. And", standing.ref)
    await bench.until_shown("Fourteen months.")
    assert bench.far.shown() == ["Fourteen months."]


@those(lambda can: can.draft is Draft.OWN)
async def test_drafts_leave_nothing_behind_but_the_answer(bench: Bench) -> None:
    path = await bench.path()
    assert bench.channel.placeholder is None
    await bench.channel.draft(path, TURN, "Fourteen mon")
    await until(lambda: any("Fourteen mon" in one for one in bench.far.drafts()))
    assert bench.far.shown() == []
    await bench.say(path, "Fourteen months.")
    await bench.until_shown("Fourteen months.")
    assert bench.far.shown() == ["Fourteen months."]


@those(lambda can: can.draft is Draft.NONE)
async def test_where_there_are_no_drafts_nothing_is_shown_early(bench: Bench) -> None:
    path = await bench.path()
    await bench.channel.draft(path, TURN, "Fourteen mon")
    await bench.channel.draft(path, TURN, None)
    await bench.say(path, "Fourteen months.")
    await bench.until_shown("Fourteen months.")
    assert len(bench.far.shown()) == 1


@those(lambda can: can.pauses)
async def test_a_pause_is_told_with_its_length_and_drafts_keep_it(bench: Bench) -> None:
    path = await bench.path()
    (standing,) = await bench.say(path, "…")
    bench.far.pause(120)
    with pytest.raises(TransientError) as refused:
        await bench.say(path, "Fourteen months.")
    assert not isinstance(refused.value, UncertainError | NotReadyError)
    assert refused.value.retry_after is not None
    assert timedelta(seconds=60) <= refused.value.retry_after <= timedelta(seconds=121)
    before = bench.far.signs()
    for _ in range(3):
        await bench.channel.draft(path, TURN, "Fourteen mon", standing.ref)
        await bench.channel.draft(path, TURN, None, None)
    assert bench.far.signs() == before
    assert "Fourteen" not in "".join(bench.far.shown())


@those(lambda can: can.network and not can.pauses)
async def test_a_refusal_that_may_pass_is_told_as_one(bench: Bench) -> None:
    path = await bench.path()
    bench.far.pause(0)
    with pytest.raises(TransientError) as refused:
        await bench.say(path, "Fourteen months.")
    assert not isinstance(refused.value, UncertainError | NotReadyError)
    assert bench.far.shown() == []
    await bench.say(path, "Fourteen months.")
    assert len(bench.far.shown()) == 1


@those(lambda can: can.network)
async def test_a_far_end_that_is_not_there_was_not_tried(bench: Bench) -> None:
    path = await bench.path()
    (op,) = bench.channel.plan(Reply(path, "Fourteen months."))
    key = bench.key()
    await gone(bench)
    with pytest.raises(TransientError) as refused:
        await bench.channel.send(op, key, again=False)
    assert refused.value.message
    await back(bench)
    await settle(bench, op, key, refused.value)
    await bench.until_shown("Fourteen months.")
    assert len(bench.far.shown()) == 1


@pytest.mark.case(143)
@those(lambda can: can.network)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_case_143_a_cut_is_in_doubt_and_the_doubt_is_settled(bench: Bench, after: bool) -> None:
    path = await bench.path()
    (op,) = bench.channel.plan(Reply(path, "Fourteen months."))
    key = bench.key()
    bench.far.cut(after=after)
    try:
        await bench.channel.send(op, key, again=False)
    except UncertainError as error:
        await settle(bench, op, key, error)
    await bench.until_shown("Fourteen months.")
    shown = bench.far.shown()
    if bench.can.certain:
        assert len(shown) == 1
    else:
        assert len(shown) == (2 if after else 1)
        assert [marked(one) for one in shown] == ([False, True] if after else [True])


async def test_a_send_can_be_asked_about(bench: Bench) -> None:
    path = await bench.path()
    (op,) = bench.channel.plan(Reply(path, "Fourteen months."))
    key, never = bench.key(), bench.key()
    await bench.channel.send(op, key, again=False)
    await bench.until_shown("Fourteen months.")
    found = await find(bench, op, key)
    other = await find(bench, Send(path, "never said", "never said"), never)
    if bench.can.certain:
        assert isinstance(found, Receipt | NotSent)
        assert not isinstance(other, Receipt)
        if isinstance(found, NotSent):  # doing it again is doing it once
            await bench.channel.send(op, key, again=False)
        assert len(bench.far.shown()) == 1
    else:
        assert isinstance(found, CannotTell)
        assert isinstance(other, CannotTell)


@those(lambda can: can.network)
async def test_a_refusal_for_good_says_in_words_why(bench: Bench) -> None:
    path = await bench.path()
    bench.far.refuse()
    with pytest.raises(PermanentError) as refused:
        await bench.say(path, "Fourteen months.")
    assert len(refused.value.message.split()) >= 4
    assert bench.far.shown() == []


async def test_each_kind_of_operation_is_carried_out_or_refused_in_words(bench: Bench) -> None:
    event = await bench.heard()
    path = event.reply_path if event.reply_path.thread else (await bench.path())
    (receipt,) = await bench.say(path, "a message")
    target = receipt.ref or "nothing"
    ops: list[OutboundOp] = [
        Edit(path, target, "edited", "edited"),
        React(path, event.ref, "👀"),
        Ask(path, "Yes?", "Yes?", (Choice("token:1", "Yes"),)),
        OpenThread(path, "A title", None),
        Delete(path, target),
    ]
    assert {op.kind for op in ops} | {"send"} == ALL_OPS
    for op in ops:
        if op.kind in bench.can.ops:
            await bench.channel.send(op, bench.key(), again=False)
        else:
            with pytest.raises(PermanentError, match=r"\w+ \w+"):
                await bench.channel.send(op, bench.key(), again=False)
    assert ("a message" in "\n".join(bench.far.shown())) == ("delete" not in bench.can.ops)


@those(lambda can: can.buttons)
async def test_a_question_has_buttons_beneath_its_whole_text_and_a_press_is_answered_at_once(bench: Bench) -> None:
    assert bench.channel.has_buttons
    path = await bench.channel.direct(bench.far.address(Who.ANN))
    choices = [Choice("place:r:one", "only ours"), Choice("place:x:one", "outsiders")]
    ops = asking(bench.channel.plan(Reply(path, "Who reads there?")), choices, None)
    receipts = [await bench.channel.send(op, bench.key(), again=False) for op in ops]
    await bench.until_shown("Who reads there?")
    assert receipts[-1].ref is not None
    await bench.far.presses(Who.ANN, receipts[-1].ref, "place:x:one")

    def presses() -> list[ButtonPressed]:
        return [one for one in bench.inbox.events if isinstance(one, ButtonPressed)]

    await until(lambda: bool(presses()))
    (press,) = presses()
    assert (press.token, press.ref) == ("place:x:one", receipts[-1].ref)
    assert press.sender.address == bench.far.address(Who.ANN)
    assert press.response is not None
    await bench.channel.respond(press.response, "Noted.")
    await until(lambda: "Noted." in bench.far.responses())


@those(lambda can: not can.buttons)
async def test_where_there_are_no_buttons_a_question_is_its_text(bench: Bench) -> None:
    assert not bench.channel.has_buttons
    path = await bench.path()
    await bench.say(path, "Who reads there? Say it with `/room room`.")
    await bench.until_shown("/room room")
    ask = Ask(path, "Yes?", "Yes?", (Choice("t", "Yes"),))
    with pytest.raises(PermanentError):
        await bench.channel.send(ask, bench.key(), again=False)


async def test_somebody_can_be_written_to_unasked(bench: Bench) -> None:
    path = await bench.channel.direct(bench.far.address(Who.ANN))
    assert path.address == bench.far.address(Who.ANN)
    await bench.say(path, "Good morning.")
    await bench.until_shown("Good morning.")


async def test_a_message_is_erased_or_said_to_stay(bench: Bench) -> None:
    path = await bench.path()
    (receipt,) = await bench.say(path, "to be forgotten")
    await bench.until_shown("to be forgotten")
    assert receipt.ref is not None
    assert await bench.channel.erase(path, receipt.ref) is bench.can.erases
    if bench.can.erases:
        await until(lambda: bench.far.shown() == [])
    assert bool(bench.far.shown()) is not bench.can.erases


async def settle(bench: Bench, op: OutboundOp, key: OutboxId, error: TransientError) -> None:
    """What the outbox does after a failure: ask where it is in doubt; where that does not help, once more, marked."""
    if not isinstance(error, UncertainError):
        await bench.channel.send(op, key, again=False)
        return
    match await find(bench, op, key):
        case Receipt():
            return
        case NotSent():
            await bench.channel.send(op, key, again=False)
        case CannotTell():
            await bench.channel.send(op, key, again=True)


async def find(bench: Bench, op: OutboundOp, key: OutboxId) -> Found:
    """Ask; and again later where it is too early to tell."""
    at = bench.clock.now()
    while True:
        try:
            return await bench.channel.find(op, key, at)
        except TransientError as error:
            if error.retry_after is None:
                raise
            bench.clock.jump(error.retry_after)


async def gone(bench: Bench) -> None:
    """The far end goes away; on platforms that are connected to, the adapter has noticed."""
    await bench.far.down()
    if bench.can.depends:
        await until(lambda: not bench.channel.health().receiving)


async def back(bench: Bench) -> None:
    await bench.far.up()
    if bench.can.depends:
        await until(lambda: bench.channel.health().receiving)
