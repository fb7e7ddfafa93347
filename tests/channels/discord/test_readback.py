"""What was said while nobody listened is fetched: once, in order, and only where the executive is in use."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from bot.kernel.errors import TransientError
from channels.discord.client import MOST_MEMBERS
from channels.discord.keys import snowflake_at
from channels.discord.register import Register
from tests.channels.discord.conftest import ANN, BEN, BOT, EVE, FORUM, GENERAL, GUILD, ME, SECRET, Rig, texts
from tests.channels.inbox import MemoryInbox
from tests.channels.support import START, HandClock
from tests.fakes.discord import refused
from tests.fakes.faults import Answer, CutBefore, Delay


async def test_after_a_downtime_channels_in_use_direct_messages_and_threads_are_read_back(rig: Rig) -> None:
    await rig.start()
    rig.world.dm(ANN, "one")
    opened = rig.world.message(GENERAL, ANN, f"{ME} two")
    first, second = await rig.messages(2)
    await rig.say(first.reply_path, "answer one")
    await rig.say(second.reply_path, "answer two")
    await rig.stop()
    rig.world.dm(ANN, "three")
    rig.world.message(GENERAL, BEN, f"{ME} four")
    rig.world.message(GENERAL, BEN, "not for you")
    rig.world.message(opened["id"], ANN, "five")
    rig.world.message(SECRET, ANN, f"{ME} never used there")
    rig.inbox.events.clear()
    await rig.replace()
    await rig.start()
    await rig.messages(3)
    rig.world.dm(ANN, "six")
    await rig.messages(4)
    await rig.settled()
    assert sorted(texts(rig.inbox.events)) == ["@Exec four", "five", "six", "three"]
    five = next(e for e in await rig.messages(4) if e.body.text == "five")
    assert five.thread == second.thread
    assert five.addressed == "thread"
    four = next(e for e in await rig.messages(4) if e.body.text == "@Exec four")
    assert four.reply_path.opens == "four"
    await rig.replace()
    before = len(rig.inbox.events)
    await rig.start()
    assert len(rig.inbox.events) == before, "a second start finds nothing new"


async def test_an_archived_thread_of_ours_is_read_back_too(rig: Rig) -> None:
    await rig.start()
    opened = rig.world.message(GENERAL, ANN, f"{ME} plan")
    (event,) = await rig.messages()
    await rig.say(event.reply_path, "done")
    await rig.stop()
    rig.world.message(opened["id"], ANN, "one more thing")
    rig.world.set_thread(opened["id"], archived=True)
    await rig.replace()
    await rig.start()
    found = await rig.messages(2)
    assert found[1].body.text == "one more thing"
    assert found[1].thread == event.thread


async def test_threads_that_named_us_while_we_were_away_are_found(rig: Rig) -> None:
    await rig.start()
    rig.world.dm(ANN, "hello")
    await rig.messages()
    await rig.stop()
    rig.world.forum_post(FORUM, BEN, "Idea", f"{ME} look at this")
    await rig.replace()
    await rig.start()
    found = await rig.messages(2)
    assert found[1].body.text == "@Exec look at this"


async def test_people_of_the_roster_who_wrote_for_the_first_time_meanwhile_are_found(rig: Rig) -> None:
    rig.inbox = MemoryInbox(people=[str(ANN), str(BEN)])
    rig.world.dm(BEN, "long before anybody listened", at=(START - timedelta(hours=1)).timestamp())
    await rig.start()
    rig.world.dm(ANN, "hello")
    await rig.messages()
    await rig.stop()
    rig.world.dm(BEN, "my first words")
    rig.world.dm(EVE, "a stranger's words")
    await rig.replace()
    rig.server.faults.plan("createDM", Answer(503))
    await rig.start()
    await rig.replace()
    await rig.start()
    found = await rig.messages(2)
    assert found[1].body.text == "my first words"
    assert found[1].thread.key == f"discord:dm:{BEN}"
    await rig.settled()
    assert texts(rig.inbox.events) == ["hello", "my first words"]


async def test_first_words_are_found_however_much_was_heard_elsewhere_since(rig: Rig) -> None:
    def later(minutes: int) -> None:
        at = START + timedelta(minutes=minutes)
        rig.world.now = at.timestamp
        rig.clock.advance(at - rig.clock.now())

    rig.inbox = MemoryInbox(people=[str(ANN), str(BEN)])
    await rig.start()
    rig.world.dm(ANN, "hello")
    await rig.messages()
    await rig.stop()
    later(10)
    rig.world.dm(BEN, "my first words")
    later(12)
    rig.world.dm(ANN, "later")
    await rig.replace()
    rig.server.faults.plan("createDM", Answer(503), times=2)
    await rig.start()
    await rig.messages(2)
    later(14)
    rig.world.dm(ANN, "live")
    await rig.messages(3)
    await rig.settled()
    await rig.replace()
    await rig.start()
    await rig.messages(4)
    assert texts(rig.inbox.events)[-1] == "my first words"


@pytest.mark.parametrize("why", ["intent", "large"])
async def test_first_words_come_before_the_next_where_the_platform_lists_nobody(rig: Rig, why: str) -> None:
    rig.inbox = MemoryInbox(people=[str(ANN), str(BEN)])
    if why == "intent":
        rig.world.members_intent = False
    else:
        rig.world.guilds[str(GUILD)].more_members = MOST_MEMBERS
    await rig.begin()
    rig.world.dm(ANN, "hello")
    await rig.messages()
    await rig.stop()
    rig.world.dm(BEN, "my first words")
    rig.world.dm(EVE, "a stranger's words")
    for _ in range(2):
        await rig.replace()
        await rig.begin()
    assert texts(rig.inbox.events) == ["hello"]
    rig.world.dm(BEN, "are you there?")
    await rig.messages(3)
    await rig.settled()
    assert texts(rig.inbox.events) == ["hello", "my first words", "are you there?"]


async def test_first_words_come_before_a_command_given_next(rig: Rig) -> None:
    rig.inbox = MemoryInbox(people=[str(ANN), str(BEN)])
    rig.world.members_intent = False
    await rig.begin()
    rig.world.dm(ANN, "hello")
    await rig.messages()
    await rig.stop()
    rig.world.dm(BEN, "my first words")
    await rig.replace()
    await rig.begin()
    rig.world.command(rig.world.dm_channel(BEN).id, BEN, "status")
    await rig.commands()
    await rig.messages(2)
    assert texts(rig.inbox.events) == ["hello", "my first words"]


@pytest.mark.parametrize("resumed", [True, False])
async def test_who_is_in_a_guild_is_asked_again_if_the_line_breaks(rig: Rig, resumed: bool) -> None:
    rig.inbox = MemoryInbox(people=[str(ANN), str(BEN)])
    await rig.start()
    rig.world.dm(ANN, "hello")
    await rig.messages()
    await rig.stop()
    rig.world.dm(BEN, "my first words")
    await rig.replace()
    rig.server.faults.plan("requestMembers", CutBefore())
    asked = rig.server.frames.count("request_members")
    rig.run()
    await rig.server.frames.wait(asked + 1, "request_members")
    if not resumed:
        rig.server.gateway.forget()
    async with rig.hurrying():
        await rig.messages(2)
    assert texts(rig.inbox.events) == ["hello", "my first words"]


async def test_the_first_message_of_all_is_found_if_it_was_not_stored(rig: Rig) -> None:
    rig.inbox = MemoryInbox(people=[str(ANN)])
    rig.world.dm(ANN, "long before anybody listened")
    await rig.start()
    await rig.settled()
    await rig.stop()
    rig.world.dm(ANN, "my first words")
    await rig.replace()
    await rig.start()
    await rig.messages()
    await rig.settled()
    assert texts(rig.inbox.events)[-1] == "my first words"


@pytest.mark.case(64)
@pytest.mark.parametrize("live_first", [True, False])
async def test_case_64_live_and_read_back_are_one(rig: Rig, live_first: bool) -> None:
    await rig.start()
    rig.world.dm(ANN, "before")
    await rig.messages()
    await rig.stop()
    missed = rig.world.dm(ANN, "both ways")
    await rig.replace()
    gate = "history"
    rig.server.faults.plan("getMessages", Delay(gate=gate))
    rig.run()
    await rig.server.faults.gate(gate).reached.wait()
    if live_first:
        rig.server.gateway.dispatch("MESSAGE_CREATE", missed)
        rig.world.dm(ANN, "live")
    rig.server.faults.gate(gate).release()
    await rig.messages(2)
    if not live_first:
        rig.server.gateway.dispatch("MESSAGE_CREATE", missed)
        rig.world.dm(ANN, "live")
    await rig.messages(3)
    await rig.settled()
    assert texts(rig.inbox.events) == ["before", "both ways", "live"]


@pytest.mark.case(64, 73)
async def test_case_64_73_what_comes_live_meanwhile_waits_its_turn_and_has_one_owner(rig: Rig) -> None:
    await rig.start()
    rig.world.dm(ANN, "before")
    await rig.messages()
    await rig.stop()
    for n in range(3):
        rig.world.dm(ANN, f"missed {n}")
    await rig.replace()
    gate = "history"
    rig.server.faults.plan("getMessages", Delay(gate=gate))
    rig.run()
    await rig.server.faults.gate(gate).reached.wait()
    rig.world.dm(ANN, "live 0")
    rig.world.dm(BEN, "elsewhere")
    rig.world.dm(ANN, "live 1")
    await rig.inbox.until(lambda: "elsewhere" in texts(rig.inbox.events))
    assert "live 0" not in texts(rig.inbox.events), "in its own channel order holds"
    rig.server.faults.gate(gate).release()
    await rig.messages(7)
    await rig.settled()
    mine = [text for text in texts(rig.inbox.events) if text != "elsewhere"]
    assert mine == ["before", "missed 0", "missed 1", "missed 2", "live 0", "live 1"]


@pytest.mark.case(64)
@pytest.mark.parametrize("live", [True, False])
async def test_case_64_a_second_gap_while_the_first_is_read_back_is_read_too(rig: Rig, live: bool) -> None:
    await rig.start()
    rig.world.dm(ANN, "before")
    await rig.messages()
    await rig.stop()
    rig.world.dm(ANN, "first gap")
    await rig.replace()
    gate = "history"
    rig.server.faults.plan("getMessages", Delay(gate=gate, when="after"))
    rig.run()
    await rig.server.faults.gate(gate).reached.wait()  # the page is made, and on its way
    rig.server.gateway.invalidate(resumable=False)
    rig.world.dm(ANN, "second gap")
    async with rig.hurrying():
        await rig.server.frames.wait(3, "identify")
        await rig.settled()
    if live:
        rig.world.dm(ANN, "live")
        await rig.settled()
    rig.server.faults.gate(gate).release()
    await rig.messages(4 if live else 3)
    await rig.settled()
    assert texts(rig.inbox.events) == ["before", "first gap", "second gap", *(["live"] if live else [])]


async def test_long_gaps_are_read_page_by_page(rig: Rig) -> None:
    await rig.start()
    rig.world.dm(ANN, "m")
    await rig.messages()
    await rig.stop()
    for n in range(250):
        rig.world.dm(ANN, f"{n}")
    await rig.replace()
    await rig.start()
    await rig.messages(251)
    assert texts(rig.inbox.events)[1:] == [f"{n}" for n in range(250)]
    sizes = [len(batch) for batch in rig.inbox.batches if len(batch) > 1]
    assert sizes == [100, 100, 50]


@pytest.mark.parametrize("fault", [CutBefore(), Answer(503), Answer(429, retry_after=90)])
async def test_history_that_cannot_be_had_now_is_asked_again(rig: Rig, fault: CutBefore | Answer) -> None:
    await rig.start()
    rig.world.dm(ANN, "before")
    await rig.messages()
    await rig.stop()
    rig.world.dm(ANN, "missed")
    await rig.replace()
    rig.server.faults.plan("getMessages", fault)
    async with rig.hurrying():
        await rig.start()
        await rig.messages(2)
    assert texts(rig.inbox.events) == ["before", "missed"]


@pytest.mark.parametrize("code", [10003, 50001])
async def test_history_that_may_not_be_read_holds_up_nothing(rig: Rig, code: int) -> None:
    await rig.start()
    rig.world.dm(ANN, "before")
    await rig.messages()
    await rig.stop()
    rig.world.dm(ANN, "missed")
    await rig.replace()
    rig.server.faults.plan("getMessages", refused(code), times=3)  # hers twice, and Ben's
    await rig.start()
    rig.world.dm(ANN, "after")
    await rig.messages(2)
    assert texts(rig.inbox.events) == ["before", "after"]


async def test_a_page_that_cannot_be_stored_is_fetched_again(rig: Rig) -> None:
    await rig.start()
    rig.world.dm(ANN, "before")
    await rig.messages()
    await rig.stop()
    rig.world.dm(ANN, "missed")
    await rig.replace()
    rig.inbox.fail(1)
    rig.run()
    await rig.inbox.until(lambda: bool(rig.inbox.refused))
    async with rig.hurrying():
        await rig.messages(2)
    assert texts(rig.inbox.events) == ["before", "missed"]


async def test_channels_without_news_are_not_asked(rig: Rig) -> None:
    await rig.start()
    rig.world.message(GENERAL, ANN, f"{ME} hello")
    await rig.messages()
    await rig.replace()
    asked = rig.server.requests.count("getMessages")
    await rig.start()
    channels = {call.body["channel"] for call in rig.server.requests.of("getMessages")[asked:]}
    assert str(GENERAL) not in channels


async def test_strangers_do_not_fill_the_register(rig: Rig) -> None:
    rig.inbox = MemoryInbox(people=[str(ANN)])
    await rig.start()
    rig.world.dm(BEN, "hello?")
    rig.world.dm(ANN, "hello")
    await rig.messages(2)
    register = Register(rig.clock, 7)
    await register.load(rig.inbox)
    assert [str(channel) for channel in register.of_guild(0)] == [rig.world.dm_channel(ANN).id]


async def test_what_waits_together_is_committed_together(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    await rig.start()
    rig.world.dm(ANN, "warm")
    await rig.messages()
    gate = asyncio.Event()
    accept = rig.inbox.accept

    async def slow(*given: Any) -> Any:
        await gate.wait()
        return await accept(*given)

    monkeypatch.setattr(rig.inbox, "accept", slow)
    before = len(rig.inbox.batches)
    for n in range(20):
        rig.world.dm(ANN if n % 2 else BEN, f"m{n}")
    beats = rig.server.frames.count("heartbeat")
    rig.server.gateway.reconnect()
    await rig.server.frames.wait(1, "resume")
    assert rig.server.frames.count("heartbeat") >= beats
    gate.set()
    await rig.messages(21)
    assert texts(rig.inbox.events)[1:] == [f"m{n}" for n in range(20)]
    assert len(rig.inbox.batches) - before < 15
    await rig.replace()
    seen = len(rig.inbox.events)
    await rig.start()
    await rig.settled()
    rig.world.dm(BEN, "last")
    await rig.messages(22)
    assert len(rig.inbox.events) == seen + 1, "cursors that stayed behind repeat nothing"


# The register by itself.


async def test_the_register_keeps_positions_and_forgets_what_is_long_unused() -> None:
    clock = HandClock()
    inbox = MemoryInbox()
    register = Register(clock, 7)
    await register.load(inbox)
    inbox.batches.clear()  # it has noted when it began
    newer = snowflake_at(clock.now())
    register.enter(1, 100, newer, thread=True)
    register.enter(1, 100, newer + 5, thread=True)
    register.enter(2, 0, newer, thread=False)
    inbox.fail(1)
    with pytest.raises(TransientError):
        await register.save(inbox)
    await register.save(inbox)
    await register.save(inbox)
    assert len(inbox.batches) == 1, "written once, when it could be"
    cursor = register.cursor(1, newer + 9)
    assert cursor is not None
    await inbox.accept((), cursor)
    register.committed(1, newer + 9)
    assert register.cursor(1, newer + 3) is None
    assert register.cursor(3, newer) is None
    again = Register(clock, 7)
    await again.load(inbox)
    assert (again.position(1), again.position(2), again.position(3)) == (newer + 9, newer, None)
    assert again.threads() == {1}
    assert again.of_guild(100) == (1,)
    clock.advance(timedelta(days=8))
    again.enter(2, 0, newer, thread=False)
    assert 1 not in again
    assert again.recent(again.of_guild(0)) == (2,)


async def test_up_to_where_everything_was_heard_is_written_now_and_then() -> None:
    clock, inbox = HandClock(), MemoryInbox()
    register = Register(clock, 7)
    await register.load(inbox)
    register.ready()
    assert register.heard() == 0, "what was said before the first session is nobody's"
    inbox.batches.clear()
    said = [snowflake_at(clock.now() + timedelta(seconds=seconds)) for seconds in (0, 10, 20, 90)]
    for message in said:
        register.hear(message)
        await register.save(inbox)
    assert len(inbox.batches) == 2
    again = Register(clock, 7)
    await again.load(inbox)
    assert said[0] < again.heard() == said[3] - (said[1] - said[0]) * 6, "a minute behind"


async def test_a_damaged_register_begins_anew() -> None:
    inbox = MemoryInbox()
    inbox._cursors["discord:channels"] = "[1]"
    register = Register(HandClock(), 7)
    await register.load(inbox)
    assert register.of_guild(0) == ()
    assert BOT not in register
    assert GUILD not in register
