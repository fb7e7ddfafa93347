from __future__ import annotations

import asyncio
import queue
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.cli import link as link_module
from bot.cli.conversation import Accepted, Draft, Message, NotTaken
from bot.cli.link import Ended, Event, Link, Lost, Restored
from bot.control.client import ControlError, NotRunningError
from bot.gateway.events import MessageReceived, ReplyPath
from bot.gateway.operations import NotSent, Receipt
from bot.kernel.clock import SystemClock
from bot.kernel.errors import UncertainError
from bot.kernel.ids import TurnId
from bot.kernel.supervise import start
from channels.terminal import adapter
from tests.channels.terminal.talking import MAIN, Scene, key, reply, scene


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "RETRY_EVERY", 0.05)
    monkeypatch.setattr(adapter, "RETURN_WITHIN", 5.0)


class Watcher:
    """A link and what it showed."""

    def __init__(self, path: Path, before: Callable[[Event], None] = lambda event: None) -> None:
        self._events: queue.Queue[Event] = queue.Queue()
        self.texts: list[str] = []
        self._before = before
        self.link = Link(path, "main", SystemClock(), self._show)

    def _show(self, event: Event) -> None:
        self._before(event)
        if isinstance(event, Message):
            self.texts.append(event.text)
        self._events.put(event)

    async def next(self, kind: type[Event]) -> Event:
        while True:
            event = await asyncio.to_thread(self._events.get, timeout=10)
            if isinstance(event, kind):
                return event

    async def say(self, text: str) -> str:
        say_id = self.link.new_id()
        await asyncio.to_thread(self.link.say, say_id, text)
        return say_id


async def watching(s: Scene, before: Callable[[Event], None] = lambda event: None) -> Watcher:
    watcher = await asyncio.to_thread(Watcher, s.path, before)
    async with asyncio.timeout(10):
        while not s.channel._attached.of(MAIN):
            await s.channel._attached.change()
    return watcher


async def close(watcher: Watcher) -> None:
    await asyncio.to_thread(watcher.link.close)


async def test_question_draft_and_answer(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        watcher = await watching(s)
        say_id = await watcher.say("hello")
        assert await watcher.next(Accepted) == Accepted(say_id)
        await s.channel.draft(ReplyPath(MAIN, "principal"), TurnId("t"), "so f")
        assert await watcher.next(Draft) == Draft("so f")
        assert watcher.link.waits(say_id)
        await s.channel.send(reply("so far so good", ref=say_id), key("k1"), again=False)
        shown = await watcher.next(Message)
        assert isinstance(shown, Message)
        assert shown.covers == (say_id,)
        assert not watcher.link.waits(say_id)
        await close(watcher)


async def test_without_a_daemon_it_fails_at_once(tmp_path: Path) -> None:
    with pytest.raises(NotRunningError):
        await asyncio.to_thread(Watcher, tmp_path / "control.sock")


async def test_a_refused_hello_fails_at_once(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        with pytest.raises(ControlError, match="no name for a thread"):
            await asyncio.to_thread(Link, s.path, "Not A Thread", SystemClock(), lambda event: None)


async def test_what_the_store_cannot_take_is_said_again_until_it_can(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        watcher = await watching(s)
        s.inbox.fail(3)
        say_id = await watcher.say("hello")
        assert isinstance(await watcher.next(NotTaken), NotTaken)
        assert await watcher.next(Accepted) == Accepted(say_id)
        assert len(s.inbox.events) == 1
        await close(watcher)


@pytest.mark.case(142)
async def test_case_142_what_is_said_while_the_daemon_is_away_arrives_once(tmp_path: Path) -> None:
    async with scene(tmp_path) as first:
        watcher = await watching(first)
        early = await watcher.say("early")
        await watcher.next(Accepted)
    await watcher.next(Lost)
    late = await watcher.say("late")
    async with scene(tmp_path) as second:
        second.inbox._seen |= first.inbox._seen  # the store is the same
        await watcher.next(Restored)
        assert await watcher.next(Accepted) == Accepted(late)
        (event,) = second.inbox.events
        assert isinstance(event, MessageReceived)
        assert event.body.text == "late"
        await second.channel.send(reply("both", ref=late), key("k1"), again=False)
        await watcher.next(Message)
        assert not watcher.link.waits(early)
        await close(watcher)


@pytest.mark.case(143)
async def test_case_143_a_daemon_that_dies_before_the_ack_learns_that_it_was_shown(tmp_path: Path) -> None:
    """The daemon is cut off after the message was written and before its acknowledgement was read."""
    async with scene(tmp_path) as first:
        loop = asyncio.get_running_loop()

        def cut(event: Event) -> None:
            if isinstance(event, Message) and event.key == "k1":
                asyncio.run_coroutine_threadsafe(first.channel.close(), loop).result(10)

        watcher = await watching(first, cut)
        with pytest.raises(UncertainError):
            await first.channel.send(reply("once"), key("k1"), again=False)
    async with scene(tmp_path) as second:
        found = await second.channel.find(reply("once"), key("k1"), second.bench.clock.now())
        assert isinstance(found, Receipt)
        await close(watcher)
    assert watcher.texts == ["once"]


@pytest.mark.case(143)
async def test_case_143_a_message_that_comes_twice_is_shown_once(tmp_path: Path) -> None:
    async with scene(tmp_path) as first:
        watcher = await watching(first)
        await first.channel.send(reply("once"), key("k1"), again=False)
    await watcher.next(Lost)
    async with scene(tmp_path) as second:
        await watcher.next(Restored)
        second.channel._attached._shown.clear()  # as if the client could not tell
        assert isinstance(await second.channel.send(reply("once"), key("k1"), again=True), Receipt)
        await second.channel.send(reply("next"), key("k2"), again=False)
        await close(watcher)
    assert watcher.texts == ["once", "next"]


@pytest.mark.case(143)
async def test_case_143_a_message_that_was_not_shown_is_known_not_to_be(tmp_path: Path) -> None:
    """The client cannot show it (its own terminal is gone): it acknowledges nothing."""

    def broken(event: Event) -> None:
        if isinstance(event, Message):
            raise BrokenPipeError(32, "Broken pipe")

    async with scene(tmp_path) as s:
        watcher = await watching(s, broken)
        sending = start("send", s.channel.send(reply("lost"), key("k1"), again=False))
        assert isinstance(await watcher.next(Ended), Ended)
        await close(watcher)
        with pytest.raises(UncertainError):
            await sending
        assert watcher.texts == []


async def test_an_acknowledged_message_has_reached_the_daemon_when_the_client_ends(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        for n in range(30):
            watcher = await watching(s)
            sending = start("send", s.channel.send(reply("x"), key(f"k{n}"), again=False))
            await watcher.next(Message)
            await close(watcher)
            assert isinstance(await sending, Receipt)
            await s.until_gone()


async def test_a_client_that_is_back_without_it_lets_it_be_sent_again(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        watcher = await watching(s)
        (client,) = s.channel._attached.of(MAIN)
        s.channel._attached.handing("k1", client)  # as if it was cut off before it arrived
        found = await s.channel.find(reply("x"), key("k1"), s.bench.clock.now())
        assert isinstance(found, NotSent)
        await close(watcher)
