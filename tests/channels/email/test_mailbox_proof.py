"""Who is believed in mail that a mailbox holds, and what becomes of the others."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.gateway.events import DeliveryReported, Proof
from tests.channels.email.mailbox import ANN, CORP, PASS, RESULTS, at, idle, message, reading, signed, texts
from tests.channels.email.support import Domain, Records, Roster, mail
from tests.channels.email.test_dsn import bounce
from tests.channels.support import START
from tests.fakes.imap import FakeImap


@pytest.mark.case(83)
async def test_case_83_silent_dns_puts_off_one_message_and_not_the_next(tmp_path: Path) -> None:
    other = Domain("other.example")
    broken = Records(CORP.records | other.records, ["s1._domainkey.other.example"])
    inbox = Roster([ANN, "bob@other.example"])
    async with FakeImap() as fake:
        domains: dict[str, Any] = {"per_user_from": ["corp.example", "other.example"]}
        async with reading(tmp_path, fake, inbox, resolver=broken, **domains) as channel:
            await idle(fake)
            await channel.bench.clock.sleeper()
            late = other.sign(mail("late", **{"from": "bob@other.example"}))
            fake.world.deliver(late, at=START)
            fake.world.deliver(signed("next"), at=START)
            await idle(fake, 2)
            assert texts(inbox) == ["next"]
            assert fake.world.uids() == [1]
            channel.channel.reader.resolver = lambda: Records(CORP.records | other.records)
            await channel.bench.clock.skip()
            await inbox.wait(2)
            await idle(fake, 3)
        assert texts(inbox) == ["next", "late"]
        assert fake.world.uids() == []


@pytest.mark.case(83)
async def test_case_83_dns_that_is_silent_for_a_day_proves_nobody(tmp_path: Path) -> None:
    inbox = Roster([ANN])
    silent = Records({}, ["*"])
    async with FakeImap() as fake, reading(tmp_path, fake, inbox, resolver=silent) as channel:
        await idle(fake)
        await channel.bench.clock.sleeper()
        fake.world.deliver(signed("x"), at=START)
        await idle(fake, 2)
        assert inbox.turned_away == []
        await channel.bench.clock.sleeper()
        channel.bench.clock.advance(timedelta(days=1))
        await inbox.until(lambda: bool(inbox.turned_away))
        (event,) = inbox.turned_away
        assert "no answer" in message(event).sender.note


async def test_strangers_are_audited_and_moved_and_fill_no_disk(tmp_path: Path) -> None:
    inbox = Roster([ANN])
    async with FakeImap() as fake:
        async with reading(tmp_path, fake, inbox) as channel:
            await idle(fake)
            fake.world.deliver(mail("Buy", **{"from": "eve@evil.example"}), at=START)
            await idle(fake, 2)
            assert channel.bench.files.blobs == {}
        assert inbox.events == []
        (event,) = inbox.turned_away
        assert "per_user_from" in message(event).sender.note
        assert fake.world.uids() == []


@pytest.mark.case(82)
async def test_case_82_bounce_in_the_mailbox_becomes_a_report(tmp_path: Path) -> None:
    inbox = Roster([ANN])
    async with FakeImap() as fake, reading(tmp_path, fake, inbox):
        await idle(fake)
        fake.world.deliver(b"Return-Path: <>\r\n" + bounce("failed"), at=START)
        await inbox.wait(1)
    assert isinstance(inbox.events[0], DeliveryReported)


@pytest.mark.case(78)
async def test_case_78_null_return_path_is_a_machine_and_none_is_not(tmp_path: Path) -> None:
    inbox = Roster([ANN])
    async with FakeImap() as fake, reading(tmp_path, fake, inbox):
        await idle(fake)
        fake.world.deliver(b"Return-Path: <>\r\n" + signed("away"), at=START)
        fake.world.deliver(signed("there"), at=START)
        await inbox.wait(2)
    assert [message(e).automatic for e in inbox.events] == ["bounce", None]


@pytest.mark.case(84)
@pytest.mark.parametrize(
    ("head", "proof"),
    [
        (PASS + b"; spf=pass smtp.mailfrom=ann@corp.example\r\n", Proof.DOMAIN),
        (PASS + b"; spf=pass smtp.mailfrom=eve@corp.example\r\nReturn-Path: <ann@corp.example>\r\n", Proof.NONE),
        (PASS + b"; spf=pass smtp.mailfrom=corp.example\r\nReturn-Path: <ann@corp.example>\r\n", Proof.NONE),
        (PASS.replace(b"pass", b"fail") + b"\r\nReceived: by x\r\n" + PASS + b"\r\n", Proof.NONE),
        (PASS.replace(b"mx.bot", b"mx.evil") + b"\r\n", Proof.NONE),
        (b"", Proof.NONE),
    ],
)
async def test_case_84_word_of_the_mailboxs_own_server(tmp_path: Path, head: bytes, proof: Proof) -> None:
    inbox = Roster([ANN])
    async with FakeImap() as fake, reading(tmp_path, fake, inbox, **RESULTS):
        await idle(fake)
        fake.world.deliver(head + mail("Hello."), at=START)
        await idle(fake, 2)
    (event,) = (*inbox.events, *inbox.turned_away)
    assert message(event).sender.proof is proof


async def test_replayed_mail_is_measured_by_its_arrival(tmp_path: Path) -> None:
    """After a long downtime mail is as provable as on the day it came; an old Date on a fresh arrival is not."""
    inbox = Roster([ANN])
    async with FakeImap() as fake, reading(tmp_path, fake, inbox) as channel:
        await idle(fake)
        channel.bench.clock.advance(timedelta(days=20))
        fake.world.deliver(signed("waited"), at=START)
        fake.world.deliver(signed("replayed"), at=at(days=19))
        await inbox.until(lambda: len(inbox.events) + len(inbox.turned_away) == 2)
    assert texts(inbox) == ["waited"]
    assert message(inbox.events[0]).sent_at == START
