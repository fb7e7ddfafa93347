"""Turns from end to end: one at a time in a session, fair among people, stopped, parked, given back, taken up again."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from bot.gateway.operations import Delete, Edit, Send
from bot.kernel.errors import TransientError
from bot.llm.model import BadRequestError, ContextTooLongError, CredentialsError
from bot.orchestrator.decide import SILENCE
from bot.orchestrator.ends import FIRST_CONTACT, STOPPED
from bot.orchestrator.lanes import CREDENTIALS, GAVE_UP, OVERLOADED, TOO_LONG, UNAVAILABLE
from bot.sessions.audience import Audience
from tests.clock import START
from tests.intake.events import GROUP, command, dm, message
from tests.orchestrator.office import Office
from tests.sessions.rooms import Rooms

MOMENT = timedelta(milliseconds=500)


async def greeted(office: Office, *addresses: str) -> None:
    """These accounts have been told already what becomes of their words."""
    from bot.people import store as people

    for address in addresses:
        await office.database.write(lambda tx, a=address: people.greet(tx, "test", a, START))  # type: ignore[misc]


@pytest.fixture
async def old(office: Office) -> Office:
    """An office where everybody has been greeted."""
    await greeted(office, "1", "2", "3", "4")
    return office


async def team_room(rooms: Rooms) -> None:
    """A group of three that counts as internal."""
    await rooms.see(["1", "2"], 3)
    await rooms.declare(Audience.ROOM)


async def sleeps(office: Office, at_most: timedelta) -> timedelta:
    """Wait until somebody sleeps for no longer than this (the outbox always sleeps, for longer); for how long."""
    async with asyncio.timeout(20):
        while (wait := await office.clock.next_sleep()) > at_most:  # noqa: ASYNC110 - each round asks the clock
            await asyncio.sleep(0)
        return wait


async def pause_is_over(office: Office) -> None:
    """Let the pause before the next attempt be over."""
    office.clock.advance(await sleeps(office, timedelta(seconds=5)))


async def test_messages_that_come_during_a_turn_are_one_turn_after_it(old: Office) -> None:
    old.model.gate.clear()
    await old.hear(message("1", "one"))
    await old.model.until(asked=1)
    await old.hear(message("2", "two"))
    await old.hear(message("3", "three"))
    assert len(old.model.asked) == 1
    old.model.gate.set()
    await old.ended("answered", "answered", "answered")
    assert await old.said(2) == ["Answer 1.", "Answer 2."]
    last = old.model.asked[1].messages[-1].content
    assert ["two" in repr(block) or "three" in repr(block) for block in last] == [False, True, True]


# --- the audience changes under a turn --------------------------------------------------------------------------------


async def test_a_turn_whose_audience_widens_is_run_again_and_shows_nothing_from_before(
    old: Office, rooms: Rooms
) -> None:
    await team_room(rooms)
    await old.hear(message("1", "the secret is 42", thread=GROUP))
    await old.ended("answered")
    old.model.gate.clear()
    await old.hear(message("2", "what now", thread=GROUP))
    await old.model.until(asked=2)
    assert "the secret is 42" in old.prompted()
    await rooms.see(["4"], 4)  # a guest arrives while the model thinks
    assert await rooms.audience() is Audience.EXTERNAL
    old.model.gate.set()
    await old.ended("answered", "answered")
    assert len(old.model.asked) == 3
    assert "the secret is 42" not in old.prompted()
    assert "people from outside may read this" in old.prompted()
    assert (await old.said(2))[1:] == ["Answer 3."]
    starts = [entry.payload["attempt"] for entry in await old.audited("turn_started")]
    assert starts == [1, 1, 1], "an audience that changed does not count as a failed attempt"


async def test_a_turn_that_is_overtaken_again_and_again_is_parked_and_says_so(old: Office, rooms: Rooms) -> None:
    await team_room(rooms)

    async def widen() -> None:
        """A guest comes (and was gone for a moment before)."""
        if await rooms.audience() is Audience.EXTERNAL:
            await rooms.leave("4", 3)
        await rooms.see(["4"], 4)

    old.model.gate.clear()
    await old.hear(message("1", "hello", thread=GROUP))
    for number in range(1, 4):
        await old.model.until(asked=number, thinking=1)
        await widen()
        old.model.gate.set()
        await old.model.until(thinking=0)
        old.model.gate.clear()
    await old.ended("parked")
    assert await old.said(1) == [GAVE_UP]
    (failed,) = await old.audited("turn_failed")
    assert (failed.payload["error"], failed.payload["parked"]) == ("audience_changed", True)


# --- what came too late ----------------------------------------------------------------------------------------------


async def test_rows_that_came_too_late_are_named_once_and_answered_on_a_word(old: Office) -> None:
    early = START - timedelta(hours=3)
    await old.hear(message("1", "are you there", at=early), message("2", "hello", at=early))
    (notice,) = await old.said(1)
    assert notice.startswith("I was away when you wrote (2 messages, the first at 2026-03-02 06:00 UTC)")
    assert old.model.asked == []
    assert [state for _, state in await old.rows()] == ["queued", "queued"]
    await old.hear(message("3", "now"))
    await old.ended("answered", "answered", "answered")
    last = [repr(block) for block in old.model.asked[0].messages[-1].content]
    assert [any(word in block for block in last) for word in ("are you there", "hello", "now")] == [True] * 3
    assert await old.said(2) == [notice, "Answer 1."]


# --- stop ------------------------------------------------------------------------------------------------------------


async def test_a_stop_ends_the_turn_and_what_waits_goes_on(old: Office) -> None:
    old.model.gate.clear()
    await old.hear(message("1", "one"))
    await old.model.until(asked=1)
    await old.hear(message("2", "two"))
    await old.hear(command("3", "stop"))
    await old.model.until(asked=2)
    old.model.gate.set()
    await old.ended("stopped", "answered", "answered")
    assert sorted(await old.said(2)) == ["Answer 2.", "Stopped."]
    assert "one" not in old.prompted(), "a turn that was stopped is no part of the history"


async def test_a_stop_ends_the_pause_before_another_attempt(old: Office) -> None:
    def overloaded(_: object) -> TransientError:
        return TransientError("overloaded", timedelta(hours=1))

    old.model.answer = overloaded
    await old.hear(message("1", "one"))
    assert await old.said(1) == [UNAVAILABLE.format(why=OVERLOADED)]
    await old.hear(command("2", "stop"))
    await old.ended("stopped", "answered")
    assert len(old.model.asked) == 1, "nothing is asked again: the pause of an hour was ended by the stop"


async def test_a_stop_where_nothing_runs_says_so(old: Office) -> None:
    await old.hear(command("1", "stop"))
    assert await old.said(1) == ["Nothing is running here."]


# --- failures ---------------------------------------------------------------------------------------------------------


async def test_a_model_that_is_away_is_told_once_and_the_turn_is_answered_later(old: Office) -> None:
    failures = [TransientError("overloaded")] * 3
    old.model.answer = lambda _: failures.pop() if failures else "Here I am."
    await old.hear(message("1", "one"))
    for number in (1, 2, 3):
        await old.model.until(asked=number, thinking=0)
        await pause_is_over(old)
    await old.ended("answered")
    assert await old.said(2) == [UNAVAILABLE.format(why=OVERLOADED), "Here I am."]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ContextTooLongError("too long"), TOO_LONG),
        (BadRequestError("no"), "the model refused it as it stands"),
    ],
)
async def test_what_can_never_work_is_parked_and_the_lane_goes_on(old: Office, error: Exception, text: str) -> None:
    old.model.answer = lambda request: error if "poison" in repr(request) else "Fine."
    await old.hear(message("1", "poison"))
    await old.ended("parked")
    await old.hear(message("2", "two"))
    await old.ended("parked", "answered")
    texts = await old.said(2)
    assert text in texts[0]
    assert texts[1] == "Fine."


async def test_a_bug_is_tried_three_times_and_then_parked(old: Office) -> None:
    old.model.answer = lambda _: KeyError("a bug")
    await old.hear(message("1", "one"))
    for number in (1, 2):
        await old.model.until(asked=number, thinking=0)
        await pause_is_over(old)
    await old.ended("parked")
    assert await old.said(1) == [GAVE_UP]
    assert [entry.payload["parked"] for entry in await old.audited("turn_failed")] == [False, False, True]


async def test_refused_credentials_wait_and_are_told_without_a_secret(old: Office) -> None:
    old.model.answer = lambda _: CredentialsError("401 invalid x-api-key")
    await old.hear(message("1", "one"))
    assert await old.said(1) == [UNAVAILABLE.format(why=CREDENTIALS)]
    assert [state for _, state in await old.rows()] == ["claimed"]


# --- many at once ---------------------------------------------------------------------------------------------------


async def test_one_person_takes_no_more_than_their_places_and_others_pass_them(old: Office) -> None:
    old.model.gate.clear()
    for number in range(4):
        thread = dm(f"1:{number}")
        await old.hear(message(f"a{number}", "flood", by="1", thread=thread))
    await old.model.until(asked=old.per_person)
    await old.hear(message("b", "from ada", by="2"))
    await old.model.until(asked=old.per_person + 1)
    assert "from ada" in old.prompted()
    assert old.model.thinking == old.per_person + 1
    old.model.gate.set()
    await old.ended(*["answered"] * 5)


async def test_all_together_take_no_more_than_the_places_there_are(old: Office) -> None:
    old.model.gate.clear()
    for address in ("1", "2", "3"):
        for number in range(2):
            await old.hear(message(f"{address}{number}", "x", by=address, thread=dm(f"{address}:{number}")))
    await old.model.until(thinking=old.at_once)
    assert len(old.model.asked) == old.at_once
    old.model.gate.set()
    await old.ended(*["answered"] * 6)


# --- stopping and starting --------------------------------------------------------------------------------------------


async def test_a_drain_waits_for_turns_that_end_and_begins_no_other(old: Office) -> None:
    old.model.gate.clear()
    await old.hear(message("1", "one"))
    await old.model.until(asked=1)
    await old.hear(message("2", "two"))
    old.model.gate.set()
    assert await old.lanes.drain(timedelta(seconds=10))
    assert [state for _, state in await old.rows()] == ["answered", "claimed"]


async def test_a_drain_gives_back_what_takes_too_long_without_counting_and_the_next_start_answers(old: Office) -> None:
    for number in range(4):  # more often than a turn may fail
        old.model.gate.clear()
        if number == 0:
            await old.hear(message("1", "one"))
        await old.model.until(asked=number + 1)
        assert not await old.lanes.drain(timedelta(milliseconds=20))
        await old.kill()
        if number == 3:
            old.model.gate.set()
        await old.open()
    await old.ended("answered")
    assert [entry.payload["attempt"] for entry in await old.audited("turn_started")] == [1] * 5
    assert await old.said(1) == ["Answer 5."]


# --- placeholders ----------------------------------------------------------------------------------------------------


@pytest.fixture
async def slow(old: Office) -> Office:
    """A channel with a placeholder, and a model that thinks long enough for one to be put up."""
    old.channel.stands_in = "…"
    old.model.gate.clear()
    return old


async def put_up(office: Office) -> None:
    """Wait until the placeholder of the running turn is on the platform."""
    before = len(office.channel.tried)
    await sleeps(office, MOMENT)
    office.clock.advance(MOMENT)
    await office.said(before + 1)
    assert office.channel.texts[-1] == "…"


async def test_a_quick_answer_needs_no_placeholder(slow: Office) -> None:
    slow.model.gate.set()
    await slow.hear(message("1", "one"))
    assert await slow.said(1) == ["Answer 1."]


async def test_a_placeholder_grows_into_the_answer(slow: Office) -> None:
    await slow.hear(message("1", "one"))
    await slow.model.until(asked=1)
    await put_up(slow)
    slow.model.gate.set()
    first, last = await slow.ops(2)
    assert isinstance(first, Send)
    assert isinstance(last, Edit)
    assert (last.target, last.text) == ("test:1", "Answer 1.")


async def test_a_placeholder_is_put_up_once_over_a_restart(slow: Office) -> None:
    await slow.hear(message("1", "one"))
    await slow.model.until(asked=1)
    await put_up(slow)
    await slow.kill()
    await slow.open()
    await slow.model.until(asked=2)
    await sleeps(slow, MOMENT)
    slow.clock.advance(MOMENT)
    slow.model.gate.set()
    ops = await slow.ops(2)
    assert [op.kind for op in ops] == ["send", "edit"]
    assert slow.channel.texts == ["…", "Answer 2."]


async def test_a_stop_takes_the_placeholder(slow: Office) -> None:
    await slow.hear(message("1", "one"))
    await slow.model.until(asked=1)
    await put_up(slow)
    await slow.hear(command("2", "stop"))
    await slow.ended("stopped", "answered")
    ops = await slow.ops(3)
    edits = [op for op in ops if isinstance(op, Edit)]
    assert [(op.target, op.text) for op in edits] == [("test:1", STOPPED)]


async def test_a_parked_turn_takes_the_placeholder(slow: Office) -> None:
    await slow.hear(message("1", "one"))
    await slow.model.until(asked=1)
    await put_up(slow)
    await slow.kill()
    slow.model.answer = lambda _: BadRequestError("no")
    await slow.open()
    await slow.ended("parked")
    ops = await slow.ops(2)
    assert [op.kind for op in ops] == ["send", "edit"]


async def test_silence_takes_the_placeholder_away(slow: Office) -> None:
    slow.model.answer = lambda _: SILENCE
    await slow.hear(message("1", "thanks"))
    await slow.model.until(asked=1)
    await put_up(slow)
    slow.model.gate.set()
    await slow.ended("silent")
    last = (await slow.ops(2))[-1]
    assert isinstance(last, Delete)
    assert last.target == "test:1"


async def test_a_notice_takes_the_placeholder_and_the_answer_comes_as_a_message_of_its_own(slow: Office) -> None:
    await slow.hear(message("1", "one"))
    await slow.model.until(asked=1)
    await put_up(slow)
    await slow.kill()
    failures: list[Exception] = [TransientError("overloaded")]
    slow.model.answer = lambda _: failures.pop() if failures else "Late."
    await slow.open()
    await slow.said(2)
    slow.model.gate.set()
    await pause_is_over(slow)
    await slow.ended("answered")
    ops = await slow.ops(3)
    assert [op.kind for op in ops] == ["send", "edit", "send"]
    assert slow.channel.texts == ["…", UNAVAILABLE.format(why=OVERLOADED), "Late."]


# --- the first time ---------------------------------------------------------------------------------------------------


async def test_an_account_is_told_once_what_becomes_of_its_words_over_a_restart_too(office: Office) -> None:
    await office.hear(message("1", "one"))
    await office.ended("answered")
    assert FIRST_CONTACT in await office.said(2)
    await office.hear(message("2", "two"))
    await office.ended("answered", "answered")
    await office.said(3)
    await office.kill()
    await office.open()
    await office.hear(message("3", "three"))
    await office.ended(*["answered"] * 3)
    texts = await office.said(4)
    assert texts.count(FIRST_CONTACT) == 1


async def test_nobody_is_told_in_a_room_or_by_silence(office: Office, rooms: Rooms) -> None:
    await team_room(rooms)
    await office.hear(message("1", "one", thread=GROUP))
    await office.ended("answered")
    office.model.answer = lambda _: SILENCE
    await office.hear(message("2", "thanks"))
    await office.ended("answered", "silent")
    office.model.answer = lambda _: "Hello."
    await office.hear(message("3", "hello"))
    await office.ended("answered", "silent", "answered")
    texts = [text for text in await office.said(3) if text]
    assert texts == ["Answer 1.", "Hello.", FIRST_CONTACT]


async def test_every_account_is_told_for_itself(office: Office) -> None:
    await office.hear(message("1", "one", by="1"))
    await office.hear(message("2", "two", by="2"))
    await office.ended("answered", "answered")
    assert (await office.said(4)).count(FIRST_CONTACT) == 2
