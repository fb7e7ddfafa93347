"""The whole channel: SMTP in, an inbox in memory, a Maildir or a relay out."""

from __future__ import annotations

import asyncio
import contextlib
import email
import email.policy
from datetime import timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from bot.gateway.channel import NotReadyError
from bot.gateway.events import CommandInvoked, DeliveryReported, MessageReceived, Proof, ReplyPath
from bot.gateway.operations import CannotTell, Edit, NotSent, OutFile, Receipt, Reply, Send
from bot.kernel.errors import PermanentError, TransientError, UncertainError
from bot.kernel.ids import BlobHash, OutboxId
from bot.kernel.supervise import cancel
from channels.email import build, server
from config.schema import Email
from tests.channels.email.harness import Running, running
from tests.channels.email.support import Domain, Records, Roster, mail
from tests.channels.email.test_dsn import bounce
from tests.channels.inbox import MemoryInbox
from tests.channels.support import START, Bench
from tests.fakes.faults import Answer, CutAfter
from tests.fakes.mailer import RawClient, send_mail
from tests.fakes.smtp import SmtpSink

KEY = OutboxId("0123456789abcdefghjkmnpq")
LOCAL = {"from": "Principal <principal@localhost>", "to": "executive@localhost"}


async def said(
    running_: Running, raw: bytes, mail_from: str = "principal@localhost", rcpt: str = "executive@localhost"
) -> str:
    """The whole reply to a mail, code included."""
    async with RawClient(running_.port, timeout=60.0) as client:
        stuffed = raw.replace(b"\r\n.", b"\r\n..")
        return await client.transact(mail_from.encode(), rcpt.encode(), stuffed + b"\r\n.\r\n")


def path(event: object) -> ReplyPath:
    assert isinstance(event, MessageReceived)
    return event.reply_path


async def test_question_and_answer_in_the_maildir(tmp_path: Path) -> None:
    inbox = Roster(["principal@localhost"])
    async with running(tmp_path, inbox) as channel:
        assert await said(channel, mail("What is our runway?", message_id="<q@localhost>", **LOCAL)) == server.OK
        (event,) = inbox.events
        assert isinstance(event, MessageReceived)
        assert event.sender.proof is Proof.LOCAL
        (op,) = channel.channel.plan(Reply(path(event), "**Nine** months."))
        assert await channel.channel.find(op, KEY, START) == NotSent()
        receipt = await channel.channel.send(op, KEY, False)
        assert receipt.ref == f"email:<{KEY}@localhost>"
        again = await channel.channel.send(op, KEY, True)
        assert again == receipt
        assert await channel.channel.find(op, KEY, START) == receipt
    (file,) = (tmp_path / "maildir" / "new").iterdir()
    message = email.message_from_bytes(file.read_bytes(), policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    assert (message["To"], message["In-Reply-To"], message["Subject"]) == (
        "principal@localhost",
        "<q@localhost>",
        "Re: Plans",
    )
    body = message.get_body(("plain",))
    assert body is not None
    assert body.get_content().strip() == "Nine months."


async def test_answer_to_the_answer_names_our_message(tmp_path: Path) -> None:
    inbox = Roster(["principal@localhost"])
    async with running(tmp_path, inbox) as channel:
        ours = f"<{KEY}@localhost>"
        await said(channel, mail("And then?", message_id="<2@localhost>", references=f"<q@localhost> {ours}", **LOCAL))
    (event,) = inbox.events
    assert isinstance(event, MessageReceived)
    assert event.thread.refs == (f"email:{ours}", "email:<q@localhost>")  # type: ignore[union-attr]


async def test_stranger_gets_fixed_words_and_no_blob(tmp_path: Path) -> None:
    inbox = Roster(["principal@localhost"])
    async with running(tmp_path, inbox) as channel:
        assert await said(channel, mail("Hi", **{"from": "eve@evil.example"}), "eve@evil.example") == server.STRANGER
        assert channel.bench.files.blobs == {}
    assert inbox.events == []
    (event,) = inbox.turned_away
    assert isinstance(event, MessageReceived)
    assert event.body.text == "Hi"


async def test_forged_member_gets_the_words_of_a_stranger(tmp_path: Path) -> None:
    inbox = Roster(["principal@localhost", "ann@corp.example"])
    async with running(tmp_path, inbox) as channel:
        assert await said(channel, mail("Hi"), "ann@corp.example") == server.STRANGER
        forwarded = b"Received: from x by y\r\n" + mail("Hi", message_id="<r@x>", **LOCAL)
        assert await said(channel, forwarded) == server.STRANGER
    assert len(inbox.turned_away) == 2


async def test_refusal_behind_our_own_server_makes_no_bounce(tmp_path: Path) -> None:
    inbox = Roster(["ann@corp.example"])
    async with running(tmp_path, inbox, local_mode=False) as channel:
        assert await said(channel, mail("Hi"), "ann@corp.example") == server.OK
    assert len(inbox.turned_away) == 1


async def test_refusal_of_anybody_else_is_said(tmp_path: Path) -> None:
    inbox = Roster(["ann@corp.example"])
    for number, peers in enumerate(([], ["10.0.0.0/8"])):
        async with running(tmp_path, inbox, local_mode=False, smtp={"trusted_peers": peers}) as channel:
            raw = mail("Hi", message_id=f"<{number}@corp.example>")
            assert await said(channel, raw, "ann@corp.example") == server.STRANGER


@pytest.mark.case(84)
@pytest.mark.parametrize(("peers", "proven"), [(["127.0.0.1"], 1), (["10.0.0.0/8"], 0), ([], 0)])
async def test_case_84_results_count_from_trusted_peers_only(tmp_path: Path, peers: list[str], proven: int) -> None:
    inbox = Roster(["ann@corp.example"])
    settings: dict[str, Any] = {"proof": "header", "authserv_id": "mx.bot.example", "per_user_from": ["corp.example"]}
    word = "mx.bot.example; dmarc=pass header.from=corp.example; spf=pass smtp.mailfrom=ann@corp.example"
    async with running(tmp_path, inbox, local_mode=False, smtp={"trusted_peers": peers}, **settings) as channel:
        await said(channel, mail("Hi", authentication_results=word), "ann@corp.example")
    assert len(inbox.events) == proven


async def test_why_a_sender_is_unproven_is_noted(tmp_path: Path) -> None:
    inbox = Roster(["ann@corp.example"])
    async with running(tmp_path, inbox, local_mode=False) as channel:
        await said(channel, mail("Hi"), "ann@corp.example")
    (event,) = inbox.turned_away
    assert isinstance(event, MessageReceived)
    assert event.sender.note == "corp.example is not in per_user_from: its mail proves a domain, not a person"


@pytest.mark.case(87)
@pytest.mark.parametrize("rcpt", ["executive+notes@localhost", "EXECUTIVE+t-x-y@LocalHost"])
async def test_case_87_tags_that_mean_nothing_fall_to_the_base(tmp_path: Path, rcpt: str) -> None:
    inbox = Roster(["principal@localhost"])
    async with running(tmp_path, inbox) as channel:
        assert await said(channel, mail("Hi", **LOCAL), rcpt=rcpt) == server.OK
    assert len(inbox.events) == 1


async def test_refused_machine_mail_makes_no_bounce(tmp_path: Path) -> None:
    inbox = Roster(["principal@localhost"])
    async with running(tmp_path, inbox) as channel:
        raw = mail("Away", auto_submitted="auto-replied", **{"from": "eve@evil.example"})
        assert await said(channel, raw, "") == server.OK


@pytest.mark.parametrize(("local_mode", "proof"), [(False, "auto"), (True, "dmarc")])
async def test_local_mode_is_off_where_it_is_off(tmp_path: Path, local_mode: bool, proof: str) -> None:
    inbox = Roster(["principal@localhost"])
    async with running(tmp_path, inbox, local_mode=local_mode, proof=proof) as channel:
        await said(channel, mail("Hi", **LOCAL))
    assert inbox.events == []


@pytest.mark.case(83)
async def test_case_83_signed_mail_of_a_known_person_is_proven(tmp_path: Path) -> None:
    corp = Domain()
    inbox = Roster(["ann@corp.example"])
    settings = {"per_user_from": ["corp.example"], "address": "executive@bot.example"}
    async with running(tmp_path, inbox, local_mode=False, resolver=Records(corp.records), **settings) as channel:
        assert await said(channel, corp.sign(mail("One")), "ann@corp.example", "executive@bot.example") == server.OK
        forged = mail("Two", message_id="<2@x>")
        await said(channel, forged, "ann@corp.example", "executive@bot.example")
    assert [e.sender.proof for e in inbox.events if isinstance(e, MessageReceived)] == [Proof.DOMAIN]
    assert len(inbox.turned_away) == 1


@pytest.mark.case(83)
async def test_case_83_silent_dns_puts_the_mail_off(tmp_path: Path) -> None:
    corp = Domain()
    inbox = Roster(["ann@corp.example"])
    settings = {"per_user_from": ["corp.example"], "address": "executive@bot.example"}
    async with running(tmp_path, inbox, local_mode=False, resolver=Records({}, ["*"]), **settings) as channel:
        assert await said(channel, corp.sign(mail()), "ann@corp.example", "executive@bot.example") == server.LATER
    assert inbox.batches == []


@pytest.mark.case(83)
async def test_case_83_nameserver_that_is_not_there_puts_the_mail_off(
    tmp_path: Path, unused_udp_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from channels.email import resolver

    monkeypatch.setattr(resolver, "LOOKUP", timedelta(seconds=0.5))
    inbox = Roster(["ann@corp.example"])
    servers, own = [f"127.0.0.1:{unused_udp_port}"], "executive@bot.example"
    async with running(
        tmp_path, inbox, local_mode=False, address=own, per_user_from=["corp.example"], nameservers=servers
    ) as channel:
        assert await said(channel, mail(), "ann@corp.example", "executive@bot.example") == server.LATER


@pytest.mark.case(82)
async def test_case_82_bounce_becomes_a_report(tmp_path: Path) -> None:
    inbox = Roster(["principal@localhost"])
    async with running(tmp_path, inbox, address="executive@bot.example") as channel:
        assert await said(channel, bounce("failed"), "", "executive@bot.example") == server.OK
    (event,) = inbox.events
    assert isinstance(event, DeliveryReported)


@pytest.mark.case(78)
async def test_case_78_null_sender_is_taken_and_marked(tmp_path: Path) -> None:
    inbox = MemoryInbox()
    async with running(tmp_path, inbox) as channel:
        await said(channel, mail("Away", **LOCAL), "")
    (event,) = inbox.events
    assert isinstance(event, MessageReceived)
    assert event.automatic == "bounce"


@pytest.mark.case(104)
async def test_case_104_true_copies_are_one_and_others_are_kept(tmp_path: Path) -> None:
    inbox = MemoryInbox()
    async with running(tmp_path, inbox) as channel:
        for body in ("one", "one", "two"):
            assert await said(channel, mail(body, **LOCAL)) == server.OK
    assert [e.body.text for e in inbox.events if isinstance(e, MessageReceived)] == ["one", "two"]


@pytest.mark.case(88)
async def test_case_88_one_bad_mail_never_stops_the_next(tmp_path: Path) -> None:
    inbox = MemoryInbox()
    bad = [
        b"\xff\xfe",
        b"Content-Type: text/plain; name*\r\n\r\nx",
        b"From\r\n\r\n",
        b"\r\n\r\n",
        b"To: (c):\r\n: :\r\n\r\ny",
    ]
    async with running(tmp_path, inbox) as channel:
        for raw in bad:
            assert await said(channel, raw) == server.OK
        assert await said(channel, mail("good", **LOCAL)) == server.OK
    assert len(inbox.events) == len(bad) + 1


@pytest.mark.case(106)
async def test_case_106_attachments_are_stored_under_their_hash(tmp_path: Path) -> None:
    body = (
        "--B\nContent-Type: text/plain\n\nsee files\n"
        '--B\nContent-Type: application/pdf; name="../../x.pdf"\n\n%PDF\n'
        '--B\nContent-Type: application/pdf; name="big.pdf"\n\nmore than ten bytes\n--B--'
    )
    inbox = MemoryInbox()
    async with running(tmp_path, inbox, max_attachment=10) as channel:
        await said(channel, mail(body, content_type="multipart/mixed; boundary=B", **LOCAL))
        (event,) = inbox.events
        assert isinstance(event, MessageReceived)
        small, big = event.attachments
        assert (small.name, small.fault) == ("x.pdf", None)
        assert small.blob is not None
        assert (await channel.bench.files.read(small.blob)).strip() == b"%PDF"
        assert await channel.channel.fetch(small) == small.blob
        assert (big.name, big.blob) == ("big.pdf", None)
        assert big.fault is not None
        with pytest.raises(PermanentError):
            await channel.channel.fetch(big)


@pytest.mark.case(112)
async def test_case_112_answer_goes_to_a_known_reply_to(tmp_path: Path) -> None:
    inbox = Roster(["principal@localhost", "office@localhost"])
    async with running(tmp_path, inbox) as channel:
        await said(channel, mail("a", reply_to="office@localhost", **LOCAL))
        await said(channel, mail("b", reply_to="eve@evil.example", **LOCAL))
    assert [path(e).address for e in inbox.events] == ["office@localhost", "principal@localhost"]


async def test_command_by_mail(tmp_path: Path) -> None:
    inbox = Roster(["principal@localhost"])
    async with running(tmp_path, inbox) as channel:
        await said(channel, mail("/status\n\n-- \nP", **LOCAL))
    (event,) = inbox.events
    assert isinstance(event, CommandInvoked)
    assert event.name == "status"


@pytest.mark.parametrize("kind", ["parts", "one header", "headers", "lines"])
async def test_large_mail_does_not_hold_the_loop(tmp_path: Path, kind: str) -> None:
    inbox = MemoryInbox()
    part = "--B\nContent-Type: application/octet-stream\nContent-Transfer-Encoding: base64\n\n" + "QUJD" * 19 + "\n"
    body = "--B\nContent-Type: text/plain\n\n" + "> quoted line\nown line\n" * 20_000 + part * 100 + "--B--"
    async with running(tmp_path, inbox) as channel:
        raw = {
            "parts": mail(body, content_type="multipart/mixed; boundary=B", **LOCAL),
            "one header": mail("x", **(LOCAL | {"from": "(" * 5_000_000})),
            "headers": b"A: b\r\n" * 500_000,
            "lines": mail("\n" * 3_000_000, **LOCAL),
        }[kind]
        sending = channel.bench.supervisor.job("send", said(channel, raw))
        longest = 0.0
        loop = asyncio.get_running_loop()
        while not sending.done():
            before = loop.time()
            await asyncio.sleep(0.005)
            longest = max(longest, loop.time() - before)
        assert await sending == server.OK
        assert longest < 2.0


async def test_relay_takes_the_answer_and_cannot_be_asked(tmp_path: Path) -> None:
    async with SmtpSink() as sink:
        relay = {"host": "127.0.0.1", "port": sink.port, "security": "none"}
        async with running(tmp_path, MemoryInbox(), local_mode=False, relay=relay) as channel:
            blob = channel.bench.files.add(b"%PDF")
            reply = Reply(
                ReplyPath("t", "ann@corp.example", subject="Plans"),
                "Hello.",
                (OutFile("a.pdf", "application/pdf", blob),),
            )
            (op,) = channel.channel.plan(reply)
            assert isinstance(await channel.channel.send(op, KEY, False), Receipt)
            assert await channel.channel.find(op, KEY, START) == CannotTell()
            sink.faults.plan("MESSAGE", CutAfter())
            with pytest.raises(UncertainError):
                await channel.channel.send(op, KEY, False)
            await channel.channel.send(op, KEY, True)
        first, _, third = (email.message_from_bytes(m.raw, policy=email.policy.default) for m in sink.mails)
        assert first["Message-ID"] == third["Message-ID"]
        assert third["X-OpenExecutive-Resent"] == "yes"
        assert [p.get_filename() for p in first.iter_attachments()] == ["a.pdf"]
        assert not (tmp_path / "maildir").exists()


async def test_relay_that_is_away_is_not_ready(tmp_path: Path, unused_tcp_port: int) -> None:
    relay = {"host": "127.0.0.1", "port": unused_tcp_port, "security": "none"}
    async with running(tmp_path, MemoryInbox(), local_mode=False, relay=relay) as channel:
        assert channel.channel.health().sending
        with pytest.raises(NotReadyError):
            await channel.channel.send(Send(ReplyPath("t", "ann@corp.example"), "", "x"), KEY, False)
        health = channel.channel.health()
        assert (health.receiving, health.sending) == (True, False)
        assert str(unused_tcp_port) in (health.reason or "")


@pytest.mark.parametrize("refusal", [None, Answer(451), Answer(550)])
async def test_health_forgets_a_relay_that_is_back(tmp_path: Path, refusal: Answer | None) -> None:
    async with SmtpSink() as sink:
        relay = {"host": "127.0.0.1", "port": sink.port, "security": "none"}
        async with running(tmp_path, MemoryInbox(), local_mode=False, relay=relay) as channel:
            op = Send(ReplyPath("t", "ann@corp.example"), "", "x")
            await sink.down()
            with pytest.raises(NotReadyError):
                await channel.channel.send(op, KEY, False)
            await sink.up()
            if refusal is not None:
                sink.faults.plan("RCPT", refusal)
            with contextlib.suppress(TransientError, PermanentError):
                await channel.channel.send(op, KEY, False)
            assert channel.channel.health().sending
            assert channel.channel.health().reason is None


async def test_a_relay_that_is_back_is_found_without_a_mail_to_send(tmp_path: Path) -> None:
    """While health says that nothing can be sent nobody tries: the channel itself has to look."""
    async with SmtpSink() as sink:
        relay = {"host": "127.0.0.1", "port": sink.port, "security": "none"}
        async with running(tmp_path, MemoryInbox(), local_mode=False, relay=relay) as channel:
            op = Send(ReplyPath("t", "ann@corp.example"), "", "x")
            await sink.down()
            for _ in range(2):
                with pytest.raises(NotReadyError):
                    await channel.channel.send(op, KEY, False)
            channel.bench._ready.clear()
            await channel.bench.clock.skip()
            assert not channel.channel.health().sending
            await sink.up()
            await channel.bench.clock.skip()
            await channel.bench.ready()
            assert channel.channel.health().sending


@pytest.mark.parametrize("address", ["executive@localhost", "Executive+x@localhost", "nonsense", "unknown"])
async def test_answers_never_go_to_ourselves_or_nowhere(tmp_path: Path, address: str) -> None:
    async with running(tmp_path, MemoryInbox()) as channel:
        with pytest.raises(PermanentError):
            await channel.channel.send(Send(ReplyPath("t", address), "", "x"), KEY, False)


async def test_what_mail_cannot_do(tmp_path: Path) -> None:
    target = ReplyPath("t", "ann@corp.example")
    async with running(tmp_path, MemoryInbox()) as channel:
        with pytest.raises(PermanentError):
            await channel.channel.send(Edit(target, "email:<x>", "a", "a"), KEY, False)
        assert not await channel.channel.erase(target, "email:<x>")
        assert channel.channel.routes() == ()
        missing = Send(target, "", "x", (OutFile("a", "a/b", BlobHash("0" * 64)),))
        with pytest.raises(PermanentError):
            await channel.channel.send(missing, KEY, False)


async def test_port_in_use_is_said_and_tried_again(tmp_path: Path) -> None:
    taken = await asyncio.get_running_loop().create_server(asyncio.Protocol, "127.0.0.1", 0)
    port = taken.sockets[0].getsockname()[1]
    bench = Bench(tmp_path)
    channel = build(Email.model_validate({"smtp": {"port": port}}), bench.context, local_mode=True)
    task = bench.supervisor.service("email", channel.run(MemoryInbox()))
    try:
        await bench.clock.sleeper()
        assert not channel.health().receiving
        assert str(port) in (channel.health().reason or "")
        assert channel.port is None
        taken.close()
        await taken.wait_closed()
        bench.clock.advance(timedelta(minutes=5))
        await bench.ready()
        assert channel.health().receiving
        assert channel.port == port
        assert await send_mail(port, mail("x", **LOCAL), "principal@localhost")
    finally:
        await cancel(task)
    assert not channel.health().receiving


async def test_missing_certificate_is_said(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    settings = {"smtp": {"port": 0, "certificate": str(tmp_path / "no.pem"), "key": str(tmp_path / "no.key")}}
    channel = build(Email.model_validate(settings), bench.context, local_mode=True)
    task = bench.supervisor.service("email", channel.run(MemoryInbox()))
    try:
        await bench.clock.sleeper()
        assert "No such file" in (channel.health().reason or "")
    finally:
        await cancel(task)


async def test_many_at_once_are_all_taken(tmp_path: Path) -> None:
    inbox = MemoryInbox()
    async with running(tmp_path, inbox) as channel:
        mails = [mail(f"n{n}", message_id=f"<{n}@localhost>", **LOCAL) for n in range(200)]
        answers = await asyncio.gather(*(said(channel, raw) for raw in mails))
    assert set(answers) == {server.OK}
    assert sorted(e.body.text for e in inbox.events if isinstance(e, MessageReceived)) == sorted(
        f"n{n}" for n in range(200)
    )
