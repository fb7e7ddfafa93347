"""Reading back after downtime and gaps, against the stand-in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import timedelta

import pytest

from bot.gateway.events import Addressed, InboundEvent, MessageEdited, MessageReceived
from channels.slack import catchup
from tests.channels.slack.conftest import ANN, BEN, CLOSED, ROOM, Rig
from tests.channels.slack.test_receive import ME, texts
from tests.fakes.faults import Answer, CutBefore
from tests.fakes.slack_world import BOT_ID, BOT_USER

HOUR = timedelta(hours=1)


async def down(rig: Rig) -> None:
    """Receive something, stop, and let an hour pass."""
    await rig.start()
    rig.server.world.direct_message(ANN, "before")
    await rig.inbox.wait(1)
    await rig.server.sockets.settled()
    await rig.replace()
    rig.clock.advance(HOUR)


async def back(rig: Rig) -> None:
    await rig.start()
    await caught_up(rig)


async def caught_up(rig: Rig) -> None:
    mark = rig.channel._mark  # type: ignore[attr-defined]
    await rig.inbox.until(lambda: mark.open is None)


def received(events: Iterable[InboundEvent]) -> list[tuple[str, Addressed]]:
    return [(event.body.text, event.addressed) for event in events if isinstance(event, MessageReceived)]


async def test_what_was_said_while_down_is_read_back_in_order_and_once(rig: Rig) -> None:
    await down(rig)
    world = rig.server.world
    for n in range(5):
        world.direct_message(ANN, f"d{n}", tell=False)
    root = world.message(ROOM, ANN, f"{ME} in the channel", tell=False)["ts"]
    world.message(ROOM, BEN, "good morning", tell=False)
    world.message(ROOM, BEN, "and in its thread", thread_ts=root, tell=False)
    world.message(CLOSED, ANN, f"{ME} in private", tell=False)
    world.message(ROOM, BOT_USER, "our own", extra={"bot_id": BOT_ID}, tell=False)
    await back(rig)
    got = texts(rig.inbox.events)
    assert [text for text in got if text.startswith("d")] == [f"d{n}" for n in range(5)]
    assert got.index("@executive in the channel") < got.index("and in its thread")
    assert set(got) == {"before", *(f"d{n}" for n in range(5)), "@executive in the channel", "and in its thread"} | {
        "@executive in private"
    }
    assert len(got) == 9
    follow_up = next(event for event in received(rig.inbox.events) if event[0] == "and in its thread")
    assert follow_up[1] is Addressed.THREAD
    await rig.replace()
    await back(rig)
    assert len(rig.inbox.events) == 9, "a second start reads nothing twice"


async def test_replies_in_old_threads_are_found(rig: Rig) -> None:
    await rig.start()
    world = rig.server.world
    ours = world.message(ROOM, ANN, f"{ME} long ago")["ts"]
    await rig.inbox.wait(1)
    other = world.message(ROOM, BEN, "an old talk")["ts"]
    await rig.server.sockets.settled()
    await rig.replace()
    rig.clock.advance(timedelta(days=2))
    world.message(ROOM, BEN, "one more thing", thread_ts=ours, tell=False)
    world.message(ROOM, ANN, f"{ME} what do you say?", thread_ts=other, tell=False)
    world.message(ROOM, BEN, "yes, what?", thread_ts=other, tell=False)
    await back(rig)
    assert texts(rig.inbox.events)[1:] == ["one more thing", "@executive what do you say?", "yes, what?"]


async def test_a_thread_of_ours_older_than_the_window_is_still_read(rig: Rig) -> None:
    await rig.start()
    world = rig.server.world
    root = world.message(ROOM, ANN, f"{ME} begun")["ts"]
    await rig.inbox.wait(1)
    await rig.server.sockets.settled()
    await rig.replace()
    rig.clock.advance(timedelta(days=6))
    await back(rig)
    world.message(ROOM, ANN, "used again", thread_ts=root)
    await rig.inbox.wait(2)
    await rig.server.sockets.settled()
    await rig.replace()
    rig.clock.advance(timedelta(days=3))
    world.message(ROOM, ANN, "and now?", thread_ts=root, tell=False)
    await back(rig)
    assert texts(rig.inbox.events)[2:] == ["and now?"]


async def test_edits_made_while_down_are_reported(rig: Rig) -> None:
    await rig.start()
    world = rig.server.world
    said = world.direct_message(ANN, "at nine")
    await rig.inbox.wait(1)
    await rig.server.sockets.settled()
    await rig.replace()
    rig.clock.advance(HOUR)
    message = world.conversations[said["channel"]].messages[said["ts"]]
    message |= {"text": "at ten", "edited": {"user": ANN, "ts": world.stamp()}}
    await back(rig)
    edit = rig.inbox.events[-1]
    assert isinstance(edit, MessageEdited)
    assert edit.body.text == "at ten"


@pytest.mark.case(64)
@pytest.mark.parametrize("live_first", [True, False])
async def test_case_64_live_and_read_back_share_one_claim(rig: Rig, live_first: bool) -> None:
    await down(rig)
    said = rig.server.world.message(ROOM, ANN, f"{ME} both ways", tell=False)
    stored = rig.server.world.conversations[ROOM].messages[said["ts"]]
    if live_first:
        await rig.start()
        rig.server.world.tell(ROOM, stored)
        await caught_up(rig)
    else:
        await back(rig)
        rig.server.world.tell(ROOM, stored)
        await rig.server.sockets.settled()
    await rig.server.acks.wait(3)
    assert texts(rig.inbox.events) == ["before", "@executive both ways"]


async def test_pages_are_followed_and_pauses_waited_out(rig: Rig) -> None:
    await down(rig)
    direct = rig.server.world.direct(ANN).id
    for n in range(450):
        rig.server.world.message(direct, ANN, f"m{n}", tell=False)
    rig.server.faults.plan("users.conversations", Answer(429, retry_after=11))
    rig.server.faults.plan("conversations.history")
    rig.server.faults.plan("conversations.history", Answer(429, retry_after=12))
    await rig.start()
    while (await rig.sleeper()) != timedelta(seconds=11):
        pass
    rig.clock.advance(timedelta(seconds=11))
    while (await rig.sleeper()) != timedelta(seconds=12):
        pass
    rig.clock.advance(timedelta(seconds=12))
    await caught_up(rig)
    assert texts(rig.inbox.events)[1:] == [f"m{n}" for n in range(450)]
    direct_pages = [one for one in rig.server.requests.of("conversations.history") if one.body["channel"] == direct]
    assert len(direct_pages) <= 4, "no page is read twice"


async def test_a_failure_in_the_middle_is_begun_again_until_it_succeeds(rig: Rig) -> None:
    await down(rig)
    rig.server.world.message(ROOM, ANN, f"{ME} one", tell=False)
    rig.server.world.direct_message(ANN, "two", tell=False)
    rig.server.faults.plan("conversations.history", CutBefore(), times=2)
    rig.server.faults.plan("conversations.history", Answer(500))
    rig.inbox.fail()
    await rig.start()
    mark = rig.channel._mark  # type: ignore[attr-defined]
    assert mark.open is not None
    await rig.skip_until(lambda: mark.open is None)
    assert sorted(texts(rig.inbox.events)) == ["@executive one", "before", "two"]


async def test_where_reading_back_breaks_off_again_and_again_it_goes_on_where_it_was(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[int] = []

    class Pause:
        def delay(self, attempt: int, _asked: timedelta | None) -> timedelta:
            tries.append(attempt)
            return timedelta(seconds=1)

    monkeypatch.setattr(catchup, "PAUSE", Pause())
    await down(rig)
    said = ["first", "second", "third", "fourth"]
    for who, text in zip((ANN, BEN), said[:2], strict=True):
        rig.server.world.direct_message(who, text, tell=False)
    for room, text in zip((ROOM, CLOSED), said[2:], strict=True):
        rig.server.world.message(room, ANN, f"{ME} {text}", tell=False)
    for _ in said:  # one conversation is read, the next call breaks off
        rig.server.faults.plan("conversations.history")
        rig.server.faults.plan("conversations.history", Answer(500))
    await rig.start()
    mark = rig.channel._mark  # type: ignore[attr-defined]
    await rig.skip_until(lambda: mark.open is None)
    assert sorted(texts(rig.inbox.events)[1:]) == ["@executive fourth", "@executive third", "first", "second"]
    asked = Counter(one.body["channel"] for one in rig.server.requests.of("conversations.history"))
    assert sorted(asked.values()) == [1, 2, 2, 2], "what was read is not read again"
    assert tries == [1, 1, 1], "what gets on is not waited for ever longer"


async def test_after_a_new_gap_those_who_were_not_read_yet_come_first(rig: Rig) -> None:
    await down(rig)
    for text, who in (("first", ANN), ("second", BEN)):
        rig.server.world.direct_message(who, text, tell=False)
    for _ in range(2):
        rig.server.faults.plan("conversations.history")
    rig.server.faults.plan("conversations.history", Answer(500))
    await rig.start()
    mark, requests = rig.channel._mark, rig.server.requests  # type: ignore[attr-defined]
    await requests.until(lambda: requests.count("conversations.history") == 3)
    asked = [one.body["channel"] for one in requests.of("conversations.history")]
    mark.gap(rig.clock.now())
    await rig.skip_until(lambda: mark.open is None)
    after = [one.body["channel"] for one in requests.of("conversations.history")][3:]
    assert after.index(asked[2]) < after.index(asked[0]), "whose turn it was"
    assert set(asked) <= set(after), "a new gap concerns everybody"


async def test_a_conversation_that_cannot_be_read_keeps_no_other_from_it(rig: Rig) -> None:
    await down(rig)
    rig.server.world.message(ROOM, ANN, f"{ME} one", tell=False)
    rig.server.world.direct_message(ANN, "two", tell=False)
    rig.server.methods.scopes -= {"channels:history", "mpim:read"}
    await back(rig)
    assert texts(rig.inbox.events) == ["before", "two"]
    assert "channels:history" in (rig.channel.health().reason or "")


async def test_an_event_that_the_store_refused_is_read_back_even_if_it_never_comes_again(rig: Rig) -> None:
    await rig.start()
    rig.inbox.fail()
    rig.server.world.direct_message(ANN, "refused once")
    assert texts(await rig.inbox.wait(1)) == ["refused once"]
    assert rig.server.acks.count() == 0
    assert rig.server.sockets.redeliver() == 1
    await rig.server.acks.wait(1)
    assert len(rig.inbox.events) == 1


async def test_the_first_start_of_all_reads_nothing_back(rig: Rig) -> None:
    rig.server.world.direct_message(ANN, "long before", tell=False)
    rig.clock.advance(HOUR)
    await rig.start()
    rig.server.world.direct_message(ANN, "hello")
    await rig.inbox.wait(1)
    assert texts(rig.inbox.events) == ["hello"]
    assert rig.server.requests.count("users.conversations") == 0
    await rig.replace()
    rig.clock.advance(HOUR)
    await back(rig)
    assert rig.server.requests.count("users.conversations") == 1


async def test_a_process_that_died_before_anything_came_misses_nothing(rig: Rig) -> None:
    await rig.start()
    await rig.replace()
    rig.clock.advance(HOUR)
    rig.server.world.direct_message(ANN, "while down", tell=False)
    await back(rig)
    assert texts(rig.inbox.events) == ["while down"]
