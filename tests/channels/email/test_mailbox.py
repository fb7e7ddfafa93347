"""A mailbox as the way in: taken after the commit, moved after that, once, whatever breaks in between."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.gateway.events import CommandInvoked, InboundEvent
from channels.email import imap_in
from channels.email.imap_in import return_path
from channels.email.imap_place import EVER, MAX_LATER, Place, search_since
from tests.channels.email.mailbox import (
    ANN,
    CORP,
    ME,
    PASS,
    RESULTS,
    at,
    idle,
    message,
    reading,
    reading_slowly,
    signed,
    texts,
)
from tests.channels.email.support import Roster, mail
from tests.channels.support import START
from tests.fakes.faults import Answer, CutAfter, CutBefore, Delay
from tests.fakes.imap import FakeImap


async def test_old_mail_is_left_alone_and_new_mail_is_taken_and_moved(tmp_path: Path) -> None:
    inbox = Roster([ANN])
    async with FakeImap() as fake:
        fake.world.deliver(signed("old"), at=at(days=-1))
        async with reading(tmp_path, fake, inbox) as channel:
            await idle(fake)
            fake.world.deliver(signed("new"), at=START)
            await idle(fake, 2)
            assert channel.channel.health().receiving
            assert channel.channel.health().where == f"{ME} at 127.0.0.1, INBOX"
        assert texts(inbox) == ["new"]
        assert fake.world.uids() == [1]
        assert len(fake.world.contents("Executive")) == 1
        assert fake.world.folders["Executive"].messages[0].flags == set()


async def test_all_of_it_is_taken_where_that_is_wanted(tmp_path: Path) -> None:
    inbox = Roster([ANN])
    async with FakeImap() as fake:
        for text in ("one", "two"):
            fake.world.deliver(signed(text), at=START)
        async with reading(tmp_path, fake, inbox, imap={"only_new": False}):
            await idle(fake)
    assert texts(inbox) == ["one", "two"]


async def test_mail_of_the_downtime_is_new(tmp_path: Path) -> None:
    inbox = Roster([ANN])
    async with FakeImap() as fake:
        async with reading(tmp_path, fake, inbox):
            await idle(fake)
        fake.world.deliver(signed("meanwhile"), at=START)
        async with reading(tmp_path, fake, inbox):
            await idle(fake, 2)
    assert texts(inbox) == ["meanwhile"]


async def test_moved_only_after_the_commit(tmp_path: Path) -> None:
    inbox = Roster([ANN])
    async with FakeImap() as fake:
        fake.world.create("Executive")
        async with reading(tmp_path, fake, inbox) as channel:
            await idle(fake)
            fake.faults.plan("UID MOVE", Delay(gate="move"))
            inbox.fail(1)
            fake.world.deliver(signed("new"), at=START)
            await inbox.until(lambda: len(inbox.refused) == 1)
            assert fake.requests.count("UID MOVE") == 0
            await channel.bench.clock.sleeper()  # the idle timer of before
            await channel.bench.clock.skip()  # the store recovers
            await fake.faults.gate("move").reached.wait()
            assert texts(inbox) == ["new"]
            (stored,) = inbox._cursors.values()
            assert json.loads(stored)["uid"] == 1
            assert fake.world.uids() == [1]
            fake.faults.gate("move").release()
            await idle(fake, 2)
            assert fake.world.uids() == []


@pytest.mark.parametrize("fault", [CutBefore(), CutAfter()])
@pytest.mark.parametrize("verb", ["UID SEARCH", "UID FETCH", "UID MOVE"])
async def test_a_cut_at_any_step_loses_and_doubles_nothing(
    tmp_path: Path, verb: str, fault: CutBefore | CutAfter
) -> None:
    inbox = Roster([ANN])
    async with FakeImap() as fake:
        fake.world.create("Executive")
        async with reading(tmp_path, fake, inbox) as channel:
            await idle(fake)
            await channel.bench.clock.sleeper()
            fake.faults.plan(verb, fault)
            for text in ("one", "two"):
                fake.world.deliver(signed(text), at=START)
            await channel.bench.clock.skip()
            await idle(fake, 2)
        assert texts(inbox) == ["one", "two"]
        assert fake.world.uids() == []
        assert len(fake.world.contents("Executive")) == 2


async def test_without_move_by_copy_and_expunge(tmp_path: Path) -> None:
    inbox = Roster([ANN])
    async with FakeImap(without=("MOVE",)) as fake:
        async with reading(tmp_path, fake, inbox):
            await idle(fake)
            fake.world.deliver(signed("new"), at=START)
            await idle(fake, 2)
        assert fake.world.uids() == []
        assert len(fake.world.contents("Executive")) == 1


async def test_folder_that_takes_nothing_costs_no_mail(tmp_path: Path) -> None:
    inbox = Roster([ANN])
    async with FakeImap() as fake:
        fake.faults.plan("UID MOVE", Answer(400, "NO [OVERQUOTA] full"), times=9)
        async with reading(tmp_path, fake, inbox):
            await idle(fake)
            fake.world.deliver(signed("one"), at=START)
            await idle(fake, 2)
            fake.world.deliver(signed("two"), at=START)
            await idle(fake, 3)
        assert texts(inbox) == ["one", "two"]
        assert fake.world.uids() == [1, 2]


async def test_mail_may_stay_where_it_is(tmp_path: Path) -> None:
    inbox = Roster([ANN])
    async with FakeImap() as fake:
        for _ in range(2):
            async with reading(tmp_path, fake, inbox, imap={"processed": "none"}):
                await idle(fake, fake.requests.count("IDLE") + 1)
                fake.world.deliver(signed(f"n{len(inbox.events)}"), at=START)
                await idle(fake, fake.requests.count("IDLE") + 1)
        assert texts(inbox) == ["n0", "n1"]
        assert len(inbox.batches) == 3  # the first start's place, and one for each mail
        assert fake.world.uids() == [1, 2]


@pytest.mark.parametrize("when", ["down", "up"])
async def test_new_uidvalidity_reads_again_and_takes_nothing_twice(tmp_path: Path, when: str) -> None:
    inbox = Roster([ANN])
    stay = {"processed": "none"}
    async with FakeImap() as fake:
        fake.world.deliver(signed("old"), at=at(days=-30))
        fake.world.deliver(signed("just before"), at=at(hours=-1))
        async with reading(tmp_path, fake, inbox, imap=stay) as channel:
            await idle(fake)
            fake.world.deliver(signed("one"), at=at(minutes=1))
            await idle(fake, 2)
            if when == "up":
                fake.world.rebuild()
                fake.world.deliver(signed("two"), at=at(minutes=2))
                fake.bye("rebuilt")
                for _ in range(2):
                    await channel.bench.clock.sleeper()
                await channel.bench.clock.skip()
                await idle(fake, 3)
        if when == "down":
            fake.world.rebuild()
            fake.world.deliver(signed("two"), at=at(minutes=2))
            async with reading(tmp_path, fake, inbox, imap=stay):
                await idle(fake, 3)
    assert texts(inbox) == ["one", "two"]


async def test_new_uidvalidity_interrupted_begins_again(tmp_path: Path) -> None:
    inbox = Roster([ANN])
    async with FakeImap() as fake:
        async with reading(tmp_path, fake, inbox):
            await idle(fake)
        for text in ("one", "two", "three"):
            fake.world.deliver(signed(text), at=START)
        fake.world.rebuild()
        fake.world.create("Executive")
        fake.faults.plan(
            "UID MOVE",
        )
        fake.faults.plan("UID MOVE", CutBefore())
        async with reading_slowly(tmp_path, fake, inbox) as channel:
            await channel.bench.clock.skip()
            await idle(fake, 2)
        assert sorted(texts(inbox)) == ["one", "three", "two"]
        assert fake.world.uids() == []


async def test_wrong_password_is_said_and_tried_again(tmp_path: Path) -> None:
    inbox = Roster([ANN])
    async with FakeImap(users={ME: "new"}) as fake, reading_slowly(tmp_path, fake, inbox) as channel:
        await channel.bench.clock.sleeper()
        health = channel.channel.health()
        assert not health.receiving
        assert "Invalid credentials" in (health.reason or "")
        assert "channels.email.imap.username and password" in (health.reason or "")
        fake.users[ME] = "pass word"
        channel.bench.clock.advance(timedelta(minutes=5))
        await channel.bench.ready()
        assert channel.channel.health().receiving


async def test_waits_grow_while_the_server_is_away(tmp_path: Path) -> None:
    inbox = Roster([ANN])
    async with FakeImap() as fake:
        await fake.down()
        async with reading_slowly(tmp_path, fake, inbox) as channel:
            waits = [await channel.bench.clock.skip() for _ in range(12)]
            assert "cannot be reached" in (channel.channel.health().reason or "")
            assert waits[0] <= timedelta(seconds=1)
            assert timedelta(minutes=2) <= waits[-1] <= timedelta(minutes=5)
            await fake.up()
            await channel.bench.clock.skip()
            await channel.bench.ready()
            assert channel.channel.health().receiving


async def test_bye_is_said_and_the_mailbox_opened_again(tmp_path: Path) -> None:
    inbox = Roster([ANN])
    async with FakeImap() as fake, reading(tmp_path, fake, inbox) as channel:
        await idle(fake)
        await channel.bench.clock.sleeper()
        fake.bye("Maintenance until noon")
        await channel.bench.clock.sleeper()
        assert "Maintenance until noon" in (channel.channel.health().reason or "")
        fake.world.deliver(signed("while away"), at=START)
        channel.bench.clock.advance(timedelta(seconds=5))
        await inbox.wait(1)
        await idle(fake, 2)
        assert channel.channel.health().receiving


async def test_idle_is_renewed_before_29_minutes(tmp_path: Path) -> None:
    inbox = Roster([ANN])
    async with FakeImap() as fake, reading(tmp_path, fake, inbox) as channel:
        await idle(fake)
        assert await channel.bench.clock.skip() < timedelta(minutes=29)
        await idle(fake, 2)
        fake.world.deliver(signed("later"), at=START)
        await inbox.wait(1)


async def test_server_without_idle_is_asked(tmp_path: Path) -> None:
    inbox = Roster([ANN])
    async with FakeImap(without=("IDLE",)) as fake, reading(tmp_path, fake, inbox, imap={"poll": "20s"}) as channel:
        assert await channel.bench.clock.sleeper() == timedelta(seconds=20)
        fake.world.deliver(signed("new"), at=START)
        channel.bench.clock.advance(timedelta(seconds=20))
        await inbox.wait(1)


@pytest.mark.case(109)
async def test_case_109_too_large_a_mail_is_named_and_its_body_never_fetched(tmp_path: Path) -> None:
    inbox = Roster([ANN])
    head = PASS + b"; spf=pass smtp.mailfrom=ann@corp.example\r\n"
    big = head + mail("x" * 80_000, subject="All our plans")
    async with FakeImap() as fake:
        async with reading(tmp_path, fake, inbox, imap={"max_size": 65_536}, **RESULTS):
            await idle(fake)
            fake.world.deliver(big, at=START)
            await idle(fake, 2)
        event = message(inbox.events[0])
        assert event.body.text == "All our plans"
        (file,) = event.attachments
        assert (file.size, file.blob) == (len(big), None)
        assert "larger than 65536 bytes" in (file.fault or "")
        assert not any("BODY.PEEK[]" in r.body["arguments"] for r in fake.requests.of("UID FETCH"))
        assert fake.world.uids() == []


async def test_message_that_vanishes_is_no_fault(tmp_path: Path) -> None:
    inbox = Roster([ANN])
    async with FakeImap() as fake, reading(tmp_path, fake, inbox):
        await idle(fake)
        fake.faults.plan("UID FETCH")
        fake.faults.plan("UID FETCH", Delay(gate="fetch"))
        fake.world.deliver(signed("gone"), at=START)
        await fake.faults.gate("fetch").reached.wait()
        fake.world.remove(1)
        fake.world.deliver(signed("there"), at=START)
        fake.faults.gate("fetch").release()
        await inbox.wait(1)
    assert texts(inbox) == ["there"]


async def test_one_that_cannot_be_read_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inbox = Roster([ANN])
    async with FakeImap() as fake, reading(tmp_path, fake, inbox) as channel:
        await idle(fake)
        await channel.bench.clock.sleeper()
        whole = channel.channel.reader.read

        async def broken(raw: bytes, *args: Any, **more: Any) -> InboundEvent:
            if b"poison" in raw:
                raise RuntimeError("a fault of ours")
            return await whole(raw, *args, **more)

        monkeypatch.setattr(channel.channel.reader, "read", broken)
        fake.world.deliver(signed("poison"), at=START)
        fake.world.deliver(signed("good"), at=START)
        await idle(fake, 2)
        assert texts(inbox) == ["good"]
        assert fake.world.uids() == [1]
        monkeypatch.setattr(channel.channel.reader, "read", whole)
        await channel.bench.clock.skip()
        await inbox.wait(2)
    assert texts(inbox) == ["good", "poison"]


async def test_both_ways_in_take_one_mail_once(tmp_path: Path) -> None:
    from tests.channels.email.test_adapter import said

    inbox = Roster([ANN])
    async with FakeImap() as fake, reading(tmp_path, fake, inbox, smtp={}) as channel:
        await idle(fake)
        if channel.channel.port is None:
            await channel.bench.ready()
        raw = signed("twice")
        await said(channel, raw, ANN, ME)
        fake.world.deliver(b"Received: by x\r\n" + raw, at=START)
        await idle(fake, 2)
        assert texts(inbox) == ["twice"]
        assert fake.world.uids() == []
        assert ", " in (channel.channel.health().where or "")


async def test_command_from_a_mailbox(tmp_path: Path) -> None:
    inbox = Roster([ANN])
    async with FakeImap() as fake, reading(tmp_path, fake, inbox):
        await idle(fake)
        fake.world.deliver(CORP.sign(mail("/status")), at=START)
        await inbox.wait(1)
    assert isinstance(inbox.events[0], CommandInvoked)


async def test_more_messages_than_one_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imap_in, "BATCH", 3)
    inbox = Roster([ANN])
    async with FakeImap() as fake, reading(tmp_path, fake, inbox):
        await idle(fake)
        for number in range(10):
            fake.world.deliver(signed(f"n{number}"), at=START)
        await inbox.wait(10)
    assert texts(inbox) == [f"n{number}" for number in range(10)]


def test_place_is_stored_and_read_back() -> None:
    for since in (START, EVER):
        place = Place(7, 3, 9, since, (4, 5))
        assert Place.load(place.dump()) == place


def test_place_moves_on() -> None:
    place = Place(7, 3, 9, START, (4,))
    assert place.after(10) == Place(7, 3, 10, START, (4,))
    assert place.after(4) == Place(7, 3, 9, START)
    assert place.past(12) == Place(7, 3, 12, START, (4,))
    assert place.without([4]).later == ()
    later = place.put_off(10)
    assert later == Place(7, 3, 10, START, (4, 10))
    assert later.put_off(10) == later
    full = Place(7, 0, 600, START, tuple(range(MAX_LATER)))
    assert full.put_off(601) is None


def test_search_key_is_english_whatever_the_locale() -> None:
    assert search_since(START.date()) == "SINCE 30-Nov-2026"


@pytest.mark.parametrize(
    ("head", "path"),
    [
        (b"Return-Path: <>\r\n", ""),
        (b"Return-Path: <a@b>\r\nReturn-Path: <forged@b>\r\n", "a@b"),
        (b"return-path: a@b\r\n", "a@b"),
        (b"", "unknown"),
    ],
)
def test_topmost_return_path(head: bytes, path: str) -> None:
    assert return_path(head + mail("x")) == path
