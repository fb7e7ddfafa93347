"""Sends whose outcome is not known: asked about, sent again once and marked, or parked. Never doubled in silence."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest
import sqlalchemy as sa

from bot.gateway.operations import CannotTell, NotSent, Receipt
from bot.kernel.errors import PermanentError, TransientError, UncertainError
from bot.outbox import store
from bot.outbox.tables import Policy
from bot.storage.database import Database
from tests.outbox.channel import Gate
from tests.outbox.post import Post

SECOND = timedelta(seconds=1)


def lost() -> UncertainError:
    return UncertainError("connection cut")


async def test_a_send_that_arrived_is_found_and_not_repeated(post: Post) -> None:
    post.channel.sends["1"] = [lost()]
    post.channel.finds["1"] = [Receipt("test:found", post.clock.now())]
    await post.queue("a", "1\n2")
    await post.settled()
    assert post.channel.texts == ["1", "2"]
    assert await post.by_state() == {"1": "sent", "2": "sent"}
    assert [p["found"] for t, p in await post.audited() if t == "delivery_sent"] == [True, False]
    assert await post.database.read(lambda c: store.session_of_refs(c, ["test:found"])) == {"test:found": "session"}


async def test_a_send_that_did_not_arrive_is_sent_at_once_and_unmarked(post: Post) -> None:
    post.channel.sends["1"] = [lost()]
    post.channel.finds["1"] = [NotSent()]
    await post.queue("a", "1\n2")
    await post.settled()
    assert post.channel.texts == ["1", "1", "2"]


async def test_a_platform_that_swallows_every_try_is_given_pauses(post: Post) -> None:
    post.channel.sends["1"] = [lost() for _ in range(5)]
    post.channel.finds["1"] = [NotSent() for _ in range(5)]
    await post.queue("a", "1")
    await post.settled()
    assert post.channel.texts == ["1", "1"], "once at once, then with pauses"
    assert (await post.by_state())["1"] == "queued"


async def test_what_cannot_be_known_is_sent_once_more_and_marked(post: Post) -> None:
    post.channel.sends["1"] = [lost()]
    await post.queue("a", "1\n2")
    await post.settled()
    assert post.channel.texts == ["1", "1*", "2"]
    assert [(t, p.get("then")) for t, p in await post.audited()] == [
        ("delivery_uncertain", "resend_once"),
        ("delivery_sent", None),
        ("delivery_sent", None),
    ]


async def test_the_second_doubt_parks(post: Post) -> None:
    post.channel.sends["1"] = [lost(), lost()]
    await post.queue("a", "1\n2")
    await post.queue("a", "next")
    await post.settled()
    assert post.channel.texts == ["1", "1*", "next"]
    assert await post.by_state() == {"1": "parked", "2": "parked", "next": "sent"}
    assert [p["then"] for t, p in await post.audited() if t == "delivery_uncertain"] == ["resend_once", "park"]


async def test_a_marked_try_that_failed_for_sure_stays_marked(post: Post) -> None:
    post.channel.sends["1"] = [lost(), TransientError("down", SECOND), lost()]
    await post.queue("a", "1")
    await post.settled()
    await post.later(SECOND)
    assert post.channel.texts == ["1", "1*", "1*"]
    assert (await post.by_state())["1"] == "parked", "one try of doubt and one resend in doubt"


async def test_an_effect_that_must_not_happen_twice_is_parked_at_the_first_doubt(post: Post) -> None:
    post.channel.sends["1"] = [lost()]
    await post.queue("a", "1", Policy.PARK)
    await post.settled()
    assert post.channel.texts == ["1"]
    assert [(row.state, row.reason) for row in await post.states()] == [("parked", "uncertain")]


@pytest.mark.parametrize("answer", [CannotTell(), PermanentError("no history"), ZeroDivisionError()], ids=repr)
async def test_no_answer_is_taken_for_not_sent(post: Post, answer: CannotTell | Exception) -> None:
    post.channel.sends["1"] = [lost()]
    post.channel.finds["1"] = [answer]
    await post.queue("a", "1", Policy.PARK)
    await post.settled()
    assert (await post.by_state())["1"] == "parked"


async def test_a_platform_that_cannot_be_asked_now_is_asked_again_and_holds_the_thread(post: Post) -> None:
    post.channel.sends["1"] = [lost()]
    post.channel.finds["1"] = [TransientError("down", 30 * SECOND), Receipt("test:x", post.clock.now())]
    await post.queue("a", "1\n2")
    assert await post.clock.next_sleep() == 30 * SECOND
    await post.settled()
    assert await post.by_state() == {"1": "uncertain", "2": "queued"}
    await post.poll()
    assert post.channel.texts == ["1"]
    post.clock.advance(30 * SECOND)
    await post.channel.until(tried=2)
    await post.settled()
    assert await post.by_state() == {"1": "sent", "2": "sent"}
    assert post.channel.asked == ["1", "1"]


# --- a process that died ------------------------------------------------------------------------------------------


async def killed_while_sending(post: Post, text: str = "1\n2", policy: Policy = Policy.RESEND_ONCE) -> None:
    """The request is out, the process is not any more."""
    gate = Gate()
    post.channel.sends[text.splitlines()[0]] = [gate]
    await post.queue("a", text, policy)
    await gate.entered.wait()
    await post.die()
    assert await post.recover("boot-2") == 1


async def run_until_sent(post: Post, number: int) -> None:
    post.supervisor.service("outbox", post.outbox.run())
    await post.channel.until(tried=number)
    await post.settled()


@pytest.mark.parametrize(
    ("answer", "tries"),
    [(Receipt("test:x", None), ["1", "2"]), (NotSent(), ["1", "1", "2"]), (CannotTell(), ["1", "1*", "2"])],  # type: ignore[arg-type]
    ids=["arrived", "not arrived", "cannot tell"],
)
async def test_the_next_boot_finds_out_first(
    post: Post, answer: Receipt | NotSent | CannotTell, tries: list[str]
) -> None:
    await killed_while_sending(post)
    post.channel.finds["1"] = [answer]
    await run_until_sent(post, len(tries))
    assert post.channel.texts == tries
    assert set((await post.by_state()).values()) == {"sent"}
    assert len({sent.key for sent in post.channel.tried}) == 2, "the key of a row stays"


async def test_a_row_claimed_in_the_commit_but_never_tried_is_not_lost(post: Post) -> None:
    await post.queue("a", "1", send=False)
    assert await post.recover("boot-2") == 1
    post.channel.finds["1"] = [NotSent()]
    await run_until_sent(post, 1)
    assert post.channel.texts == ["1"]


async def test_a_death_while_asking_asks_again(post: Post) -> None:
    post.channel.sends["1"] = [lost()]
    post.channel.finds["1"] = [TransientError("down", 30 * SECOND), Receipt("test:x", post.clock.now())]
    await post.queue("a", "1")
    await post.clock.next_sleep()
    await post.die()
    assert await post.recover("boot-2") == 1
    post.supervisor.service("outbox", post.outbox.run())
    await post.channel.until(asked=2)
    await post.settled()
    assert await post.by_state() == {"1": "sent"}
    assert post.channel.texts == ["1"]


async def test_a_second_death_during_the_marked_try_parks(post: Post) -> None:
    await killed_while_sending(post, "1")
    gate = Gate()
    post.channel.sends["1"] = [gate]
    post.supervisor.service("outbox", post.outbox.run())
    await gate.entered.wait()
    assert post.channel.texts == ["1", "1*"]
    await post.die()
    assert await post.recover("boot-3") == 1
    post.supervisor.service("outbox", post.outbox.run())
    await post.until("1", "parked", "uncertain")
    assert post.channel.texts == ["1", "1*"]


async def test_an_older_process_has_no_say_any_more(post: Post) -> None:
    gate = Gate()
    post.channel.sends["1"] = [gate]
    await post.queue("a", "1")
    await gate.entered.wait()
    old = post.outbox
    await post.recover("boot-2")
    gate.open.set()
    await old.drain(timedelta(seconds=10))
    assert (await post.by_state())["1"] == "uncertain"


async def test_rows_that_only_waited_are_not_in_doubt_after_a_death(post: Post) -> None:
    post.channel.sends["1"] = [TransientError("down", 30 * SECOND)]
    await post.queue("a", "1\n2")
    await post.settled()
    await post.die()
    assert await post.recover("boot-2") == 0
    await post.later(30 * SECOND)
    assert post.channel.texts == ["1", "1", "2"]


# --- the store refuses --------------------------------------------------------------------------------------------


async def _set(database: Database, pragma: str) -> None:
    await database.write(lambda tx: tx.execute(sa.text(f"PRAGMA {pragma}")).close())


async def test_an_outcome_that_the_store_cannot_take_is_written_later_and_nothing_sent_twice(post: Post) -> None:
    await _set(post.database, "busy_timeout = 10")
    gate = Gate()
    post.channel.sends["1"] = [gate]
    await post.queue("a", "1\n2")
    await gate.entered.wait()
    with closing(sqlite3.connect(post.database.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        gate.open.set()
        for _ in range(3):
            await post.clock.next_sleep()
            post.clock.advance(timedelta(minutes=1))
        await post.clock.next_sleep()
        other.execute("ROLLBACK")
    assert post.channel.texts == ["1"]
    post.clock.advance(timedelta(minutes=5))
    await post.settled()
    assert post.channel.texts == ["1", "2"]
    assert await post.by_state() == {"1": "sent", "2": "sent"}


async def test_the_loop_outlives_a_locked_store(post: Post) -> None:
    post.channel.sends["1"] = [TransientError("down", SECOND)]
    await post.queue("a", "1")
    await post.settled()
    await _set(post.database, "busy_timeout = 10")
    with closing(sqlite3.connect(post.database.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        post.clock.advance(SECOND)
        post.supervisor.service("outbox", post.outbox.run())
        await post.clock.next_sleep()
        other.execute("ROLLBACK")
    post.clock.advance(timedelta(minutes=5))
    await post.until("1", "sent")
    assert post.supervisor.failure is None


# --- stopping -----------------------------------------------------------------------------------------------------


async def test_a_drain_waits_for_a_lane_to_its_end(post: Post) -> None:
    gate = Gate()
    post.channel.sends["1"] = [gate]
    await post.queue("a", "1\n2\n3")
    await gate.entered.wait()
    draining = post.supervisor.job("drain", post.outbox.drain(timedelta(seconds=10)))
    await asyncio.sleep(0)
    assert not draining.done()
    gate.open.set()
    assert await draining
    assert post.channel.texts == ["1", "2", "3"]
    assert set((await post.by_state()).values()) == {"sent"}


async def test_a_drain_has_a_bound(post: Post) -> None:
    gate = Gate()
    post.channel.sends["1"] = [gate]
    await post.queue("a", "1")
    await gate.entered.wait()
    assert not await post.outbox.drain(timedelta(milliseconds=20))
    gate.open.set()
    await post.settled()


async def test_a_drain_does_not_wait_for_a_platform_that_is_away(post: Post) -> None:
    post.channel.sends["1"] = [lost()]
    post.channel.finds["1"] = [TransientError("down", timedelta(minutes=5))]
    await post.queue("a", "1")
    await post.clock.next_sleep()
    assert await post.outbox.drain(timedelta(seconds=5))
    assert (await post.by_state())["1"] == "uncertain"
