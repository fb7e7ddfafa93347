"""What one delivery becomes: duplicates, lanes, albums, late messages, poison, cursors."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from bot.gateway.channel import Accepted, Cursor
from bot.gateway.events import Addressed, Body, InboundEvent, MessageReceived, Span, SpanKind
from bot.intake import batch, store
from bot.intake.model import Taken
from bot.intake.tables import Hold
from bot.kernel.errors import TransientError
from bot.kernel.ids import BootId
from bot.sessions.tables import turn
from tests.clock import START
from tests.intake.desk import Desk
from tests.intake.events import DM, GROUP, TOPIC, command, message, press
from tests.sessions.rooms import CHANNEL

NEW, DUPLICATE, IGNORED, REFUSED = Accepted.NEW, Accepted.DUPLICATE, Accepted.IGNORED, Accepted.REFUSED


async def test_a_message_into_a_free_lane_begins_a_turn_in_the_same_commit(desk: Desk) -> None:
    assert await desk.accept(message("1", "hello")) == (NEW,)
    assert desk.heard.texts == [["hello"]]
    begun, rows = desk.heard.begun[0]
    stored = await desk.rows()
    assert stored == list(rows)
    assert (stored[0].state.value, stored[0].turn, stored[0].person) == ("claimed", begun.id, "boss")
    assert (await desk.session(DM.key)).lane_busy
    assert [p["messages"] for p in await desk.audited("turn_started")] == [[stored[0].id]]
    assert desk.heard.waits == []


async def test_messages_of_one_delivery_are_one_turn_in_order(desk: Desk) -> None:
    assert await desk.accept(*(message(str(n), f"m{n}") for n in range(4))) == (NEW,) * 4
    assert desk.heard.texts == [["m0", "m1", "m2", "m3"]]


async def test_while_a_turn_runs_messages_wait_and_are_answered_together(desk: Desk) -> None:
    await desk.accept(message("1", "first"))
    await desk.accept(message("2", "second"))
    await desk.accept(message("3", "third"))
    session = (await desk.session(DM.key)).id
    assert desk.heard.texts == [["first"]]
    assert desk.heard.waits == [session, session]
    assert await desk.waiting(DM.key) == ["second", "third"]
    await desk.finish(desk.heard.begun[0][0])
    assert await desk.waiting(DM.key) == ["second", "third"]


async def test_rows_that_wait_go_before_a_message_that_comes_into_a_free_lane(desk: Desk) -> None:
    await desk.accept(message("1", "first"))
    await desk.accept(message("2", "waits"))
    await desk.finish(desk.heard.begun[0][0])
    await desk.accept(message("3", "new"))
    assert desk.heard.texts == [["first"]], "the lane is free, but its next turn is not the newcomer's alone"
    assert await desk.waiting(DM.key) == ["waits", "new"]


async def test_threads_have_lanes_of_their_own(desk: Desk) -> None:
    events = [message("1", "here", thread=GROUP), message("2", "there", thread=TOPIC), message("3", "me")]
    await desk.accept(*events)
    assert desk.heard.texts == [["here"], ["there"], ["me"]]


@pytest.mark.parametrize(
    ("words", "first", "rest"),
    [
        (["a", "b", "/new", "c"], ["a", "b"], ["/new"]),
        (["/new", "a"], ["/new"], ["a"]),
        (["/new", "/help", "a"], ["/new"], ["/help"]),
        (["a", "/new", "/help"], ["a"], ["/new"]),
        (["a"], ["a"], []),
    ],
)
async def test_a_turn_takes_the_messages_up_to_the_first_command_or_one_command_alone(
    desk: Desk, words: list[str], first: list[str], rest: list[str]
) -> None:
    events = [command(str(n), w[1:]) if w.startswith("/") else message(str(n), w) for n, w in enumerate(words)]
    await desk.accept(*events)
    assert desk.heard.texts == [first]
    assert await desk.waiting(DM.key) == rest


async def test_waiting_rows_are_told_apart_by_the_same_rule(desk: Desk) -> None:
    await desk.accept(message("0", "busy"))
    for number, word in enumerate(["a", "b", "/new", "c"], 1):
        await desk.accept(command(str(number), "new") if word == "/new" else message(str(number), word))
    assert await desk.waiting(DM.key) == ["a", "b"]


async def test_commands_that_do_not_wait_and_presses_run_beside_the_lane(desk: Desk) -> None:
    await desk.accept(message("1", "busy"))
    assert await desk.accept(command("2", "stop"), press("3")) == (NEW, NEW)
    assert [row.event.kind for row in desk.heard.at_once] == ["command", "press"]
    assert desk.heard.waits == []
    left = await desk.database.read(store.outside_lanes)
    assert [row.id for row in left] == [row.id for row in desk.heard.at_once]


# --- duplicates ---------------------------------------------------------------------------------------------------


async def test_a_repeat_within_a_delivery_is_a_duplicate(desk: Desk) -> None:
    assert await desk.accept(message("1"), message("1"), message("2")) == (NEW, DUPLICATE, NEW)
    assert len(await desk.rows()) == 2


async def test_a_repeat_after_a_restart_is_a_duplicate_and_says_of_what(desk: Desk) -> None:
    await desk.accept(message("1"))
    desk.boot(BootId("boot-2"))
    assert await desk.one(message("1")) is DUPLICATE
    row = (await desk.rows())[0]
    assert await desk.audited("message_duplicate") == [{"channel": CHANNEL, "inbox": row.id, "kind": "message"}]


@pytest.mark.parametrize("keys", [("test:event-1",), ("test:1",), ("test:new", "test:1")], ids=str)
async def test_one_known_identity_of_several_is_enough(desk: Desk, keys: tuple[str, ...]) -> None:
    await desk.accept(replace(message("1"), keys=("test:event-1", "test:1")))
    assert await desk.one(replace(message("1"), keys=keys)) is DUPLICATE
    assert len(desk.heard.begun) == 1


async def test_the_same_event_from_two_deliveries_at_once_is_taken_once(desk: Desk) -> None:
    port = desk.intake.port(CHANNEL)
    jobs = [desk.post.supervisor.job("accept", port.accept([message("1")])) for _ in range(5)]
    answers = await asyncio.gather(*jobs)
    assert sorted(answer[0].value for answer in answers) == ["duplicate"] * 4 + ["new"]
    assert len(desk.heard.begun) == 1


async def test_what_is_ignored_leaves_nothing_behind(desk: Desk) -> None:
    event = message("1", thread=GROUP, addressed=Addressed.NOT)
    assert await desk.accept(event, event) == (IGNORED, IGNORED)

    def everything(connection: sa.Connection) -> int:
        tables = ("inbox", "seen", "session", "place", "audit WHERE type <> 'person_changed'")
        return sum(connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one() for table in tables)

    assert await desk.database.read(everything) == 0


# --- albums, late messages, long ones -----------------------------------------------------------------------------


async def test_an_album_waits_for_its_parts_wherever_they_are_delivered(desk: Desk) -> None:
    wait = desk.rules.album_wait
    await desk.accept(message("1", "a", album="x"), message("2", "b", album="x"))
    assert desk.heard.begun == []
    session = (await desk.session(DM.key)).id
    assert desk.heard.waits == [session]
    desk.clock.advance(wait / 2)
    await desk.accept(message("3", "c", album="x"))

    def soonest(connection: sa.Connection) -> timedelta | None:
        return store.soonest(connection, session, desk.clock.now())

    assert await desk.database.read(soonest) == wait, "the last part starts the wait anew for all"
    assert await desk.waiting(DM.key) == ["a", "b", "c"]
    desk.clock.advance(wait)
    assert await desk.database.read(soonest) == timedelta()


async def test_a_message_that_comes_hours_late_starts_no_turn(desk: Desk) -> None:
    desk.clock.advance(timedelta(hours=3))
    assert await desk.one(message("1", "old")) is NEW
    assert desk.heard.begun == []
    assert len(desk.heard.waits) == 1
    assert [row.hold for row in await desk.rows()] == [Hold.STALE]
    await desk.accept(message("2", "new", at=desk.clock.now()))
    assert desk.heard.begun == [], "the one who works on the lane says first that the executive was away"
    assert await desk.waiting(DM.key) == ["old", "new"]


async def test_what_is_no_chat_is_never_too_late(desk: Desk) -> None:
    desk.clock.advance(timedelta(days=2))
    await desk.accept(message("1", "a letter", live=False))
    assert desk.heard.texts == [["a letter"]]


@pytest.mark.parametrize("size", [999, 1_000, 1_001, 50_000])
async def test_too_long_a_message_is_cut_visibly(desk: Desk, size: int) -> None:
    await desk.accept(message("1", "x" * size))
    text = desk.heard.texts[0][0]
    assert text.startswith("x" * min(size, 1_000))
    assert ("cut here" in text) == (size > 1_000)
    assert len(text) < 1_200


async def test_what_a_cut_message_says_of_the_cut_is_not_the_senders_own_word(desk: Desk) -> None:
    spans = (Span(0, 900, SpanKind.OWN), Span(900, 1_500, SpanKind.QUOTED), Span(1_500, 3_000, SpanKind.OWN))
    for key, body in (("1", Body("x" * 3_000, spans)), ("2", Body("x" * 3_000))):
        await desk.accept(message(key, body=body))
        event = (await desk.rows())[-1].event
        assert isinstance(event, MessageReceived)
        kept = event.body
        assert set(kept.own()) == {"x"}
        assert [s.start for s in kept.spans] == [0, *(s.end for s in kept.spans[:-1])], "no gap, no overlap"
        assert kept.spans[-1].end == len(kept.text)


# --- faults -------------------------------------------------------------------------------------------------------


def poisoned(key: str) -> InboundEvent:
    """Trips over a bug: a time that says of no zone."""
    return command(key, "help", at=START.replace(tzinfo=None))


async def test_an_event_that_trips_over_a_bug_is_parked_and_the_others_go_on(desk: Desk) -> None:
    cursor = Cursor("updates", "7")
    answers = await desk.accept(message("1", "a"), poisoned("2"), message("3", "b"), cursor=cursor)
    assert list(answers) == [NEW, REFUSED, NEW]
    assert await desk.states() == [("a", "claimed"), ("/help", "parked"), ("b", "queued")]
    assert await desk.intake.port(CHANNEL).cursor("updates") == "7"
    assert [row.reason for row in await desk.database.read(lambda c: store.parked(c, 5))] == [
        "internal error (TypeError)"
    ]
    assert await desk.one(poisoned("2")) is DUPLICATE


@pytest.mark.parametrize("half", [chr(0xD83D), chr(0xDC00), f"a{chr(0xDFFF)}b"], ids=ascii)
async def test_half_a_character_does_not_cost_the_message(desk: Desk, half: str) -> None:
    event = message("1", f"hi {half}!", by=replace(message("1").sender, name=f"N{half}"))
    assert await desk.one(event) is NEW
    assert desk.heard.texts == [[f"hi {half}!".encode("utf-16", "surrogatepass").decode("utf-16", "replace")]]


async def test_half_a_character_in_an_identity_is_still_one_identity(desk: Desk) -> None:
    event = replace(message("1"), keys=("test:\ud83d",))
    assert await desk.one(event) is NEW
    assert await desk.one(event) is DUPLICATE


async def test_a_store_that_cannot_take_it_stores_nothing_and_says_so(desk: Desk) -> None:
    await desk.database.write(lambda tx: tx.execute(sa.text("PRAGMA busy_timeout = 10")).close())
    with closing(sqlite3.connect(desk.database.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(TransientError):
            await desk.accept(message("1"), poisoned("2"), cursor=Cursor("updates", "7"))
        other.execute("ROLLBACK")
    assert await desk.rows() == []
    assert desk.heard.begun == []
    assert await desk.intake.port(CHANNEL).cursor("updates") is None
    assert await desk.accept(message("1")) == (NEW,)


async def test_a_peer_that_hangs_up_during_the_commit_is_answered_all_the_same(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = asyncio.Event()
    take = batch.Batch.take

    def signalled(self: batch.Batch, events: list[InboundEvent]) -> Taken:
        began.set()
        return take(self, events)

    monkeypatch.setattr(batch.Batch, "take", signalled)
    caller = desk.post.supervisor.job("peer", desk.accept(message("1", "hello")))
    await began.wait()
    caller.cancel()
    await asyncio.wait({caller})
    assert caller.cancelled()
    assert desk.heard.texts == [["hello"]], "the turn that was begun is worked on"


async def test_the_cursor_goes_with_the_events(desk: Desk) -> None:
    port = desk.intake.port(CHANNEL)
    assert await port.cursor("updates") is None
    await desk.accept(message("1"), cursor=Cursor("updates", "5"))
    await desk.accept(cursor=Cursor("updates", "6"))
    assert await port.cursor("updates") == "6"
    assert await port.cursor("other") is None
    assert await desk.intake.port("other").cursor("updates") is None


async def test_units_of_intake_that_share_a_commit_do_not_disturb_each_other(desk: Desk) -> None:
    port = desk.intake.port(CHANNEL)
    events = [message(f"{n}", f"m{n}") for n in range(10)]
    jobs = [desk.post.supervisor.job("accept", port.accept([event])) for event in [*events, poisoned("x")]]
    answers = await asyncio.gather(*jobs)
    assert [answer[0] for answer in answers] == [NEW] * 10 + [REFUSED]
    assert desk.heard.texts == [["m0"]]
    assert await desk.waiting(DM.key) == [f"m{n}" for n in range(1, 10)]
    running = await desk.database.read(lambda c: c.execute(sa.select(sa.func.count()).select_from(turn)).scalar_one())
    assert running == 1
