"""Order within a thread, freedom between threads, retries, pauses and parking."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.gateway.channel import NotReadyError
from bot.kernel.errors import PermanentError, TransientError
from bot.outbox import store
from bot.outbox.service import GIVE_UP_AFTER, IDLE_POLL, NOT_READY_WAIT
from tests.outbox.channel import Gate
from tests.outbox.post import Post, State

SECOND = timedelta(seconds=1)


async def test_the_first_part_leaves_without_a_poll_and_the_rest_follows_in_order(post: Post) -> None:
    await post.queue("a", "1\n2\n3")
    await post.queue("a", "4")
    await post.settled()
    assert post.channel.texts == ["1", "2", "3", "4"]
    assert set((await post.by_state()).values()) == {"sent"}
    assert await post.types() == ["delivery_sent"] * 4


async def test_keys_are_the_rows_and_refs_lead_back_to_their_session(post: Post) -> None:
    await post.queue("a", "1\n2")
    await post.settled()
    assert len({sent.key for sent in post.channel.tried}) == 2
    known = await post.database.read(lambda c: store.session_of_refs(c, ["test:1", "test:2", "test:9"]))
    assert known == {"test:1": "session", "test:2": "session"}
    row = await post.database.read(lambda c: store.by_ref(c, ["test:9", "test:2"]))
    assert row is not None
    assert row.id == post.channel.tried[1].key


async def test_threads_do_not_wait_for_each_other(post: Post) -> None:
    gate = Gate()
    post.channel.sends["slow"] = [gate]
    await post.queue("a", "slow\nafter")
    await gate.entered.wait()
    for thread in "bcd":
        await post.queue(thread, f"quick in {thread}")
    await post.channel.until(tried=4)
    assert post.channel.texts == ["slow", "quick in b", "quick in c", "quick in d"]
    gate.open.set()
    await post.settled()
    assert post.channel.texts[-1] == "after"


async def test_a_second_reply_waits_behind_what_is_being_sent(post: Post) -> None:
    gate = Gate()
    post.channel.sends["1"] = [gate]
    await post.queue("a", "1")
    await gate.entered.wait()
    await post.queue("a", "2")
    await post.outbox._claim_due()
    assert post.channel.texts == ["1"]
    gate.open.set()
    await post.settled()
    assert post.channel.texts == ["1", "2"]


async def test_what_was_queued_but_not_handed_over_is_found_by_the_poll(post: Post) -> None:
    gate = Gate()
    post.channel.sends["1"] = [gate]
    await post.queue("a", "1")
    await post.queue("a", "2", send=False)
    gate.open.set()
    await post.settled()
    assert post.channel.texts == ["1", "2"]


async def test_the_pause_that_the_platform_asked_for_is_kept_and_nothing_overtakes(post: Post) -> None:
    post.channel.sends["1"] = [TransientError("slow down", timedelta(seconds=40))]
    await post.queue("a", "1\n2")
    await post.queue("a", "3")
    await post.settled()
    assert await post.states() == [
        State("1", "queued", "slow down", 1),
        State("2", "queued", None, 0),
        State("3", "queued", None, 0),
    ]
    assert await post.poll() == IDLE_POLL, "40 seconds are longer than the longest sleep"
    assert await post.later(39 * SECOND) == SECOND
    assert post.channel.texts == ["1"]
    await post.later(SECOND)
    assert post.channel.texts == ["1", "1", "2", "3"]
    assert [sent.again for sent in post.channel.tried] == [False] * 4, "it did not happen: nothing to mark"


async def test_without_a_wish_of_the_platform_pauses_grow(post: Post) -> None:
    post.channel.sends["1"] = [TransientError("down") for _ in range(4)]
    await post.queue("a", "1")
    await post.settled()
    waits = []
    for _ in range(4):
        due = await post.database.read(lambda c: store.next_due(c, post.clock.now()))
        assert due is not None
        waits.append(due - post.clock.now())
        await post.later(due - post.clock.now())
    assert post.channel.texts == ["1"] * 5
    for number, wait in enumerate(waits):
        assert SECOND * 2**number <= wait <= 2 * SECOND * 2**number
    assert (await post.types()).count("delivery_failed") == 4


async def test_a_pause_of_one_thread_is_woken_in_time_though_another_has_rows_behind_a_slow_send(post: Post) -> None:
    gate = Gate()
    post.channel.sends |= {"slow": [gate], "later": [TransientError("down", 5 * SECOND)]}
    await post.queue("a", "slow\nbehind")
    await gate.entered.wait()
    post.clock.advance(SECOND)
    await post.queue("b", "later")
    await post.until("later", "queued", "down")
    assert await post.outbox._claim_due() == 5 * SECOND
    gate.open.set()
    await post.settled()


async def test_a_reply_that_cannot_be_sent_for_three_days_is_parked(post: Post) -> None:
    post.channel.sends["1"] = [TransientError("down"), TransientError("still down")]
    await post.queue("a", "1\n2")
    await post.settled()
    await post.later(GIVE_UP_AFTER + SECOND)
    states = await post.states()
    assert [row.state for row in states] == ["parked", "parked"]
    assert states[0].reason == "not sent within 3 days: still down"


async def test_a_channel_that_is_not_ready_costs_no_attempt_and_wakes_its_rows(post: Post) -> None:
    post.channel.sends["1"] = [NotReadyError("connecting"), NotReadyError("connecting")]
    await post.queue("a", "1\n2")
    await post.settled()
    assert (await post.states())[0] == State("1", "queued", "not_ready", 0)
    assert await post.poll() == IDLE_POLL
    assert post.channel.texts == ["1"]
    await post.outbox.channel_ready("other")
    await post.poll()
    assert post.channel.texts == ["1"]
    await post.outbox.channel_ready("test")
    await post.poll()
    assert post.channel.texts == ["1", "1"]
    await post.later(NOT_READY_WAIT)
    assert post.channel.texts == ["1", "1", "1", "2"]
    assert (await post.states())[0] == State("1", "sent", None, 1)
    assert await post.types() == ["delivery_sent"] * 2


async def test_nothing_is_claimed_for_a_channel_that_cannot_send_so_that_no_death_makes_it_doubtful(post: Post) -> None:
    post.channel.connected = False
    await post.queue("a", "1\n2")
    await post.settled()
    assert await post.poll() == IDLE_POLL
    assert [row.state for row in await post.states()] == ["queued", "queued"]
    assert await post.recover("boot-2") == 0
    post.channel.connected = True
    await post.outbox.channel_ready("test")
    await post.poll()
    assert post.channel.texts == ["1", "2"]
    assert await post.types() == ["delivery_sent"] * 2


async def test_a_channel_that_gets_ready_does_not_shorten_pauses_of_the_platform(post: Post) -> None:
    post.channel.sends["1"] = [TransientError("slow down", timedelta(minutes=2))]
    await post.queue("a", "1")
    await post.settled()
    await post.outbox.channel_ready("test")
    await post.poll()
    assert post.channel.texts == ["1"]


async def test_what_never_can_be_sent_is_parked_with_the_parts_behind_it_and_the_next_reply_goes(post: Post) -> None:
    post.channel.sends["2"] = [PermanentError("chat not found: Ada's chat")]
    await post.queue("a", "1\n2\n3\n4")
    await post.queue("a", "next reply")
    await post.settled()
    assert post.channel.texts == ["1", "2", "next reply"]
    assert await post.by_state() == {
        "1": "sent", "2": "parked", "3": "parked", "4": "parked", "next reply": "sent",
    }  # fmt: skip
    parked = [payload for type_, payload in await post.audited() if type_ == "delivery_parked"]
    assert len(parked) == 3
    assert {str(payload["reason"]) for payload in parked} == {"permanent"}
    assert {row.reason for row in await post.states() if row.state == "parked"} == {"chat not found: Ada's chat"}


async def test_words_of_the_platform_are_erasable_text_in_the_audit(post: Post) -> None:
    post.channel.sends["1"] = [PermanentError("chat not found: Ada's chat")]
    await post.queue("a", "1")
    await post.settled()
    assert "Ada" not in repr(await post.audited())


async def test_a_row_of_a_channel_that_is_off_is_parked(post: Post) -> None:
    await post.queue("a", "1", send=False)
    await post.recover("boot-2")
    post.boot("boot-2", channels={})
    for row in await post.database.read(lambda c: store.in_doubt(c, post.outbox._boot)):
        post.outbox._drive(row)
    await post.settled()
    assert (await post.states())[0].state == "parked"
    assert ("delivery_parked", "channel_off") in [(t, p.get("reason")) for t, p in await post.audited()]


async def test_the_guard_parks_what_must_not_be_sent_any_more_and_the_next_reply_goes(post: Post) -> None:
    post.channel.sends["1"] = [TransientError("down", SECOND)]
    await post.queue("a", "1\n2")
    await post.queue("a", "harmless")
    await post.settled()
    post.guards.reasons["1"] = "audience_changed"
    await post.later(SECOND)
    assert post.channel.texts == ["1", "harmless"]
    states = await post.states()
    assert [(row.state, row.reason) for row in states[:2]] == [("parked", "audience_changed")] * 2
    assert [p["reason"] for t, p in await post.audited() if t == "delivery_parked"] == ["audience_changed"] * 2


async def test_a_bug_in_the_channel_is_tried_three_times_and_then_parked(post: Post) -> None:
    post.channel.sends["1"] = [ZeroDivisionError() for _ in range(5)]
    await post.queue("a", "1")
    await post.queue("b", "fine")
    await post.settled()
    for _ in range(5):
        await post.later(timedelta(minutes=5))
    assert post.channel.texts.count("1") == 3
    row = (await post.states())[0]
    assert (row.state, row.reason) == ("parked", "internal error (ZeroDivisionError)")
    assert (await post.by_state())["fine"] == "sent"


async def test_a_bug_in_the_guard_of_the_next_row_does_not_lose_the_outcome_of_this_one(post: Post) -> None:
    post.guards.bugs.add("2")
    await post.queue("a", "1\n2")
    await post.settled()
    assert await post.by_state() == {"1": "sent", "2": "queued"}
    await post.queue("b", "fine")
    await post.poll()
    assert (await post.by_state())["fine"] == "sent"
    post.guards.bugs.clear()
    await post.poll()
    assert await post.by_state() == {"1": "sent", "2": "sent", "fine": "sent"}
    assert post.channel.texts == ["1", "fine", "2"]


async def test_counts_and_parked_rows_are_told(post: Post) -> None:
    post.channel.sends |= {"bad": [PermanentError("no")], "late": [TransientError("down", SECOND)]}
    await post.queue("a", "good")
    await post.queue("b", "bad")
    await post.queue("c", "late\nmore")
    await post.settled()
    assert await post.database.read(store.counts) == {"queued": 2, "parked": 1}
    parked = await post.database.read(lambda c: store.parked(c, 10))
    assert [(row.channel, row.reason) for row in parked] == [("test", "no")]


async def test_an_empty_plan_is_refused(post: Post) -> None:
    with pytest.raises(ValueError, match="planned nothing"):
        await post.queue("a", "")
