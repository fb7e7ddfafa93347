"""The SMTP sink, driven through aiosmtplib and by raw bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from email.message import EmailMessage

import aiosmtplib
import pytest

from tests.fakes.faults import Answer, CutAfter, CutBefore, Delay, Twice
from tests.fakes.mailer import RawClient, send_mail
from tests.fakes.smtp import SmtpSink, parsed

MAIL = b"From: a@x.test\r\nSubject: Hi\r\n\r\n.dot\r\nbody \xe9\r\n"


@pytest.fixture
async def sink() -> AsyncIterator[SmtpSink]:
    async with SmtpSink() as running:
        yield running


async def test_envelope_and_bytes_are_kept(sink: SmtpSink) -> None:
    said = await send_mail(sink.port, MAIL, "a@x.test", ["b@y.test", "c+tag@y.test"])
    (mail,) = sink.mails
    assert "queued" in said
    assert mail.raw == MAIL
    assert mail.body["mail_from"] == "a@x.test"
    assert mail.body["rcpt_tos"] == ["b@y.test", "c+tag@y.test"]
    assert (mail.body["helo"], mail.body["tls"]) == ("client.test", False)
    assert [one.endpoint for one in sink.requests] == ["EHLO", "MAIL", "RCPT", "RCPT", "DATA", "QUIT"]


async def test_null_sender_and_a_parsed_message(sink: SmtpSink) -> None:
    message = EmailMessage()
    message["Subject"] = "Grüße 😀"
    message.set_content("hello")
    await send_mail(sink.port, message, "", "b@y.test")
    (mail,) = await sink.mails.wait(1)
    assert mail.body["mail_from"] == ""
    assert parsed(mail)["Subject"] == "Grüße 😀"


@pytest.mark.parametrize("verb", ["MAIL", "RCPT", "DATA", "MESSAGE"])
@pytest.mark.parametrize("code", [451, 550])
async def test_refusal_at_any_verb(sink: SmtpSink, verb: str, code: int) -> None:
    sink.faults.plan(verb, Answer(code))
    with pytest.raises(aiosmtplib.SMTPResponseException) as caught:
        await send_mail(sink.port, MAIL)
    assert caught.value.code == code
    assert not len(sink.mails)
    await send_mail(sink.port, MAIL)
    assert len(sink.mails) == 1


async def test_refusal_at_the_greeting(sink: SmtpSink) -> None:
    sink.faults.plan("CONNECT", Answer(554))
    with pytest.raises(aiosmtplib.SMTPException):
        await send_mail(sink.port, MAIL)
    sink.faults.plan("CONNECT", CutBefore())
    with pytest.raises(aiosmtplib.SMTPException):
        await send_mail(sink.port, MAIL)
    assert not len(sink.requests)


@pytest.mark.parametrize(
    ("verb", "cut", "kept"),
    [
        ("MAIL", CutBefore(), 0),
        ("DATA", CutBefore(), 0),
        ("MESSAGE", CutBefore(), 0),
        ("MESSAGE", CutAfter(), 1),
    ],
)
async def test_the_connection_is_cut(sink: SmtpSink, verb: str, cut: CutBefore | CutAfter, kept: int) -> None:
    sink.faults.plan(verb, cut)
    with pytest.raises(aiosmtplib.SMTPServerDisconnected):
        await send_mail(sink.port, MAIL)
    assert sink.mails.count() == kept


async def test_a_mail_can_be_held_after_it_was_taken(sink: SmtpSink) -> None:
    sink.faults.plan("MESSAGE", Delay(gate="taken", when="after"))
    async with asyncio.TaskGroup() as group:
        sending = group.create_task(send_mail(sink.port, MAIL))
        await sink.faults.gate("taken").reached.wait()
        assert (sink.mails.count(), sending.done()) == (1, False)
        sink.faults.gate("taken").release()
    assert "queued" in sending.result()


async def test_twice_and_greylisting() -> None:
    async with SmtpSink(greylist=True) as sink:
        sink.faults.plan("MESSAGE", Twice())
        with pytest.raises(aiosmtplib.SMTPRecipientRefused) as caught:
            await send_mail(sink.port, MAIL)
        assert caught.value.code == 451
        await send_mail(sink.port, MAIL)
        assert [mail.raw for mail in sink.mails] == [MAIL, MAIL]


async def test_starttls_and_auth() -> None:
    async with SmtpSink(tls=True, users={"exec": "secret"}) as sink:
        trusted = sink.client_context()
        with pytest.raises(aiosmtplib.SMTPResponseException):
            await send_mail(sink.port, MAIL)
        with pytest.raises(aiosmtplib.SMTPAuthenticationError):
            await send_mail(sink.port, MAIL, tls_context=trusted, login=("exec", "wrong"))
        await send_mail(sink.port, MAIL, tls_context=trusted, login=("exec", "secret"))
        (mail,) = sink.mails
        assert (mail.body["tls"], mail.body["user"]) == (True, "exec")


async def test_auth_without_tls() -> None:
    async with SmtpSink(users={"exec": "secret"}) as sink:
        with pytest.raises(aiosmtplib.SMTPResponseException) as caught:
            await send_mail(sink.port, MAIL)
        assert caught.value.code == 530
        await send_mail(sink.port, MAIL, login=("exec", "secret"))
        assert sink.mails.count() == 1


async def test_raw_bytes_go_through(sink: SmtpSink) -> None:
    content = b"Subject: x\r\n\r\na\n.\r\nb \xff\x00\n.\nc" + b"y" * 3000 + b"\r\n.\r\n"
    async with RawClient(sink.port) as raw:
        assert raw.greeting.startswith("220 sink.test")
        assert (await raw.transact(b"a@x.test", b"b@y.test", content)).startswith("250")
        assert (await raw.command(b"NONSENSE \xff")).startswith("500")
        assert (await raw.command(b"QUIT")).startswith("221")
        assert await raw.reply() == ""
    (mail,) = sink.mails
    assert mail.raw == content.removesuffix(b".\r\n")


async def test_down_refuses_and_up_is_the_same_port(sink: SmtpSink) -> None:
    port = sink.port
    await sink.down()
    with pytest.raises(aiosmtplib.SMTPConnectError):
        await send_mail(port, MAIL)
    await sink.up()
    await send_mail(port, MAIL)
    assert sink.mails.count() == 1
