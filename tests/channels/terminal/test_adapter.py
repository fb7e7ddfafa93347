from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bot.gateway.channel import Channel, NotReadyError
from bot.gateway.events import Attachment, CommandInvoked, MessageReceived, ReplyPath, Thread
from bot.gateway.operations import CannotTell, Delete, NotSent, Receipt
from bot.kernel.errors import PermanentError, UncertainError
from bot.kernel.ids import TurnId
from bot.kernel.supervise import cancel, start
from channels.terminal import adapter
from tests.channels.terminal.talking import MAIN, Scene, key, reply, scene


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "RETURN_WITHIN", 0.1)


# --- in --------------------------------------------------------------------------------------------------------------


async def test_what_is_said_is_accepted_once_it_is_durable(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        talker = await s.attach()
        await talker.say(type="say", id="say1", text="hello")
        assert await talker.hear() == {"type": "accepted", "id": "say1"}
        (event,) = s.inbox.events
        assert isinstance(event, MessageReceived)
        assert event.body.text == "hello"
        assert event.thread == Thread(MAIN, MAIN)


async def test_a_client_is_told_for_whom_it_speaks(tmp_path: Path) -> None:
    async with scene(tmp_path, person="anna") as s:
        talker = await s.connect(thread="budget")
        hello = await talker.hear()
    assert (hello["type"], hello["person"], hello["thread"]) == ("hello", "anna", "cli:anna:budget")


async def test_what_the_store_cannot_take_is_asked_for_again_and_stored_once(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        talker = await s.attach()
        s.inbox.fail()
        await talker.say(type="say", id="say1", text="hello")
        assert (await talker.hear())["type"] == "not_taken"
        assert s.inbox.events == []
        for _ in range(2):
            await talker.say(type="say", id="say1", text="hello")
            assert await talker.hear() == {"type": "accepted", "id": "say1"}
        assert len(s.inbox.events) == 1


async def test_nothing_is_taken_while_the_daemon_starts_or_stops(tmp_path: Path) -> None:
    async with scene(tmp_path, running=False) as s:
        talker = await s.attach()
        await talker.say(type="say", id="say1", text="hello")
        assert (await talker.hear())["type"] == "not_taken"
        assert not s.channel.health().receiving


async def test_an_empty_message_is_refused_by_name(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        talker = await s.attach()
        await talker.say(type="say", id="say1", text=" \n ")
        answer = await talker.hear()
        assert (answer["type"], answer["id"]) == ("refused", "say1")


async def test_commands_arrive_as_commands(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        talker = await s.attach()
        await talker.say(type="say", id="say1", text="/stop")
        await talker.hear()
        (event,) = s.inbox.events
        assert isinstance(event, CommandInvoked)
        assert event.name == "stop"


async def test_a_client_that_speaks_otherwise_is_told_so(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        talker = await s.attach()
        await talker.say(type="shout")
        assert (await talker.hear())["error"] == "refused"
        assert await talker.hears_the_end()


async def test_without_a_person_nobody_may_chat(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        s.channel._person = ""
        talker = await s.connect()
        assert "nobody to speak as" in str((await talker.hear())["message"])
        assert "nobody to speak as" in str(s.channel.health().reason)


# --- out -------------------------------------------------------------------------------------------------------------


@pytest.mark.case(146)
async def test_case_146_without_a_client_nothing_is_tried_and_attaching_rings(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        with pytest.raises(NotReadyError):
            await s.channel.send(reply("hi"), key("k1"), again=False)
        other = await s.attach("c0", thread="other")
        with pytest.raises(NotReadyError):
            await s.channel.send(reply("hi"), key("k1"), again=False)
        rung = s.bench.rung
        await s.attach()
        assert s.bench.rung == rung + 1
        await other.leave()


async def test_a_message_is_sent_only_once_it_was_shown(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        talker = await s.attach()
        sending = start("send", s.channel.send(reply("hi"), key("k1"), again=False))
        heard = await talker.hear()
        assert heard == {"type": "message", "key": "k1", "text": "hi", "re": "say1", "alone": False}
        assert not sending.done()
        await talker.say(type="ack", key="k1")
        assert (await sending).ref == "terminal:k1"


async def test_a_second_try_says_that_it_is_one(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        talker = await s.attach()
        sending = start("send", s.channel.send(reply("hi"), key("k1"), again=True))
        text = str((await talker.hear())["text"])
        assert text.endswith("\nhi")
        assert "may have reached you already" in text
        await talker.say(type="ack", key="k1")
        await sending


async def test_two_windows_of_one_thread_both_show_it(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        one, two = await s.attach("c1"), await s.attach("c2")
        sending = start("send", s.channel.send(reply("hi"), key("k1"), again=False))
        assert (await one.hear())["key"] == (await two.hear())["key"] == "k1"
        await one.leave()
        await two.say(type="ack", key="k1")
        await sending


async def test_drafts_reach_the_thread_and_never_fail(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        talker = await s.attach()
        path = ReplyPath(MAIN, "principal", "say1")
        await s.channel.draft(path, TurnId("t"), "so far")
        assert await talker.hear() == {"type": "draft", "turn": "t", "text": "so far"}
        await s.channel.draft(path, TurnId("t"), None)
        assert (await talker.hear())["text"] is None
        await s.channel.draft(ReplyPath("cli:principal:other", "principal"), TurnId("t"), "not for main")
        await s.channel.draft(path, TurnId("t"), "x" * (1 << 20))
        await talker.leave()
        await s.until_gone()
        await s.channel.draft(path, TurnId("t"), "nobody there")


# --- in doubt --------------------------------------------------------------------------------------------------------


async def lost_before_ack(s: Scene, client: str, name: str) -> None:
    """A client gets a message and its connection is cut before it has acknowledged it."""
    talker = await s.attach(client)
    sending = start("send", s.channel.send(reply("hi"), key(name), again=False))
    await talker.hear()
    await talker.leave()
    with pytest.raises(UncertainError):
        await sending


@pytest.mark.case(143)
@pytest.mark.parametrize("was_shown", [True, False])
async def test_case_143_a_client_that_comes_back_settles_the_doubt(tmp_path: Path, was_shown: bool) -> None:
    async with scene(tmp_path) as s:
        await lost_before_ack(s, "c1", "k1")
        finding = start("find", s.channel.find(reply("hi"), key("k1"), s.bench.clock.now()))
        await s.attach("c1", shown=["k0", "k1"] if was_shown else ["k0"])
        assert isinstance(await finding, Receipt if was_shown else NotSent)


@pytest.mark.case(143)
async def test_case_143_another_client_alone_cannot_tell(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        await lost_before_ack(s, "c1", "k1")
        await s.attach("c2")
        assert isinstance(await s.channel.find(reply("hi"), key("k1"), s.bench.clock.now()), CannotTell)


@pytest.mark.case(143)
async def test_case_143_after_a_restart_the_surviving_client_tells(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        finding = start("find", s.channel.find(reply("hi"), key("k1"), s.bench.clock.now()))
        await s.attach("c1", shown=["k1"])
        assert isinstance(await finding, Receipt)


@pytest.mark.case(143)
async def test_case_143_after_a_restart_a_client_that_has_not_shown_it_cannot_speak_for_others(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        await s.attach("c1", shown=["k0"])
        assert isinstance(await s.channel.find(reply("hi"), key("k1"), s.bench.clock.now()), CannotTell)


async def test_a_doubt_waits_for_somebody_to_ask(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        await lost_before_ack(s, "c1", "k1")
        await s.until_gone()
        finding = start("find", s.channel.find(reply("hi"), key("k1"), s.bench.clock.now()))
        await s.attach("c9", thread="other")
        assert not finding.done()
        await cancel(finding)


async def test_what_was_shown_already_is_not_sent_again(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        await lost_before_ack(s, "c1", "k1")
        back = await s.attach("c1", shown=["k1"])
        assert (await s.channel.send(reply("hi"), key("k1"), again=True)).ref == "terminal:k1"
        sending = start("send", s.channel.send(reply("next"), key("k2"), again=False))
        assert (await back.hear())["key"] == "k2"
        await back.say(type="ack", key="k2")
        await sending


async def test_a_client_that_never_acknowledges_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "ACK_WITHIN", 0.05)
    async with scene(tmp_path) as s:
        talker = await s.attach()
        with pytest.raises(UncertainError, match="does not say"):
            await s.channel.send(reply("hi"), key("k1"), again=False)
        await talker.hear()
        assert await talker.hears_the_end()


# --- the rest of the port --------------------------------------------------------------------------------------------


async def test_what_a_terminal_cannot_do_is_refused_for_good(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        await s.attach()
        with pytest.raises(PermanentError):
            await s.channel.send(Delete(ReplyPath(MAIN, "principal"), "x"), key("k1"), again=False)
        with pytest.raises(PermanentError):
            await s.channel.fetch(Attachment("a", "text/plain", 1))
        assert not await s.channel.erase(ReplyPath(MAIN, "principal"), "x")


async def test_it_keeps_the_contract_with_the_core(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        channel: Channel = s.channel
        assert channel.name == "terminal"
        assert channel.placeholder is None
        assert not channel.has_buttons
        assert await channel.direct("principal") == ReplyPath(MAIN, "principal")
        with pytest.raises(PermanentError):
            await channel.direct("anna")
        assert channel.health().receiving
        assert list(channel.routes()) == []


async def test_closing_ends_all_conversations(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        talkers = [await s.attach(f"c{n}", thread=f"t{n}") for n in range(3)]
        await s.channel.close()
        assert all(await asyncio.gather(*(talker.hears_the_end() for talker in talkers)))
        assert s.channel._attached.everyone() == []


async def test_many_conversations_side_by_side(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        talkers = [await s.attach(f"c{n}", thread=f"t{n}") for n in range(30)]

        async def exchange(n: int) -> None:
            for m in range(5):
                await talkers[n].say(type="say", id=f"s{m}", text=f"{n}.{m}")
                assert (await talkers[n].hear())["id"] == f"s{m}"
                thread = f"cli:principal:t{n}"
                sending = start("send", s.channel.send(reply("ok", thread, f"s{m}"), key(f"k{n}.{m}"), again=False))
                assert (await talkers[n].hear())["key"] == f"k{n}.{m}"
                await talkers[n].say(type="ack", key=f"k{n}.{m}")
                await sending

        await asyncio.gather(*(exchange(n) for n in range(30)))
        assert len(s.inbox.events) == 150
