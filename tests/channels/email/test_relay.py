"""The outgoing side against a real server on loopback."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from bot.gateway.channel import NotReadyError
from bot.kernel.errors import OpenExecutiveError, PermanentError, TransientError, UncertainError
from channels.email.relay import RelaySender
from config.schema import Relay
from tests.fakes.faults import Answer, CutAfter, CutBefore, Fault
from tests.fakes.smtp import SmtpSink

CONTENT = b"Subject: x\r\n\r\n.\r\n..two\r\n.end\r\n"


def sender(sink: SmtpSink, **settings: object) -> RelaySender:
    given: dict[str, object] = {"host": "localhost", "port": sink.port, "security": "none", "timeout": 5}
    return RelaySender(Relay.model_validate(given | settings), "client.example", sink.client_context)


async def deliver(sink: SmtpSink, recipient: str = "ann@corp.example", **settings: object) -> None:
    await sender(sink, **settings).deliver("executive@bot.example", recipient, CONTENT)


async def test_mail_arrives_whole() -> None:
    async with SmtpSink() as sink:
        await deliver(sink)
        (mail,) = sink.mails
        assert mail.raw == CONTENT
        assert (mail.body["mail_from"], mail.body["rcpt_tos"]) == ("executive@bot.example", ["ann@corp.example"])
        assert mail.body["helo"] == "client.example"


async def test_starttls_and_login() -> None:
    async with SmtpSink(tls=True, users={"exec": "secret"}) as sink:
        await deliver(sink, security="starttls", username="exec", password=SecretStr("secret"))
        (mail,) = sink.mails
        assert (mail.body["tls"], mail.body["user"]) == (True, "exec")


async def test_refused_login_waits_and_says_what_to_do() -> None:
    async with SmtpSink(tls=True, users={"exec": "secret"}) as sink:
        with pytest.raises(NotReadyError, match=r"relay\.password") as caught:
            await deliver(sink, security="starttls", username="exec", password=SecretStr("wrong-one"))
        assert "wrong-one" not in caught.value.message


async def test_relay_without_starttls_is_not_spoken_to_in_the_clear() -> None:
    async with SmtpSink() as sink:
        with pytest.raises(NotReadyError):
            await deliver(sink, security="starttls")
        assert sink.mails.count() == 0
        assert "MAIL" not in [r.endpoint for r in sink.requests]


async def test_unknown_certificate_is_refused() -> None:
    async with SmtpSink(tls=True) as sink:
        relay = RelaySender(Relay(host="localhost", port=sink.port, security="starttls"), "client.example")
        with pytest.raises(NotReadyError):
            await relay.deliver("executive@bot.example", "ann@corp.example", CONTENT)
        assert sink.mails.count() == 0


async def test_nobody_listens() -> None:
    async with SmtpSink() as sink:
        await sink.down()
        with pytest.raises(NotReadyError):
            await deliver(sink)


@pytest.mark.parametrize("endpoint", ["MAIL", "RCPT", "DATA", "MESSAGE"])
@pytest.mark.parametrize(("status", "kind"), [(451, TransientError), (550, PermanentError)])
async def test_refusals_are_told_apart(endpoint: str, status: int, kind: type[OpenExecutiveError]) -> None:
    async with SmtpSink() as sink:
        sink.faults.plan(endpoint, Answer(status))
        with pytest.raises(kind) as caught:
            await deliver(sink)
        assert type(caught.value) is kind
        assert str(status) in caught.value.message
        await deliver(sink)
        assert sink.mails.count() == 1


@pytest.mark.parametrize(
    ("endpoint", "fault", "kind", "arrived"),
    [
        ("CONNECT", CutBefore(), NotReadyError, 0),
        ("CONNECT", Answer(421), NotReadyError, 0),
        ("MAIL", CutBefore(), TransientError, 0),
        ("RCPT", CutAfter(), TransientError, 0),
        ("DATA", CutBefore(), TransientError, 0),
        ("MESSAGE", CutBefore(), UncertainError, 0),
        ("MESSAGE", CutAfter(), UncertainError, 1),
    ],
)
async def test_broken_connection_is_uncertain_only_after_the_text(
    endpoint: str, fault: Fault, kind: type[OpenExecutiveError], arrived: int
) -> None:
    async with SmtpSink() as sink:
        sink.faults.plan(endpoint, fault)
        with pytest.raises(kind) as caught:
            await deliver(sink)
        assert type(caught.value) is kind
        assert sink.mails.count() == arrived


async def test_no_answer_to_the_text_is_uncertain() -> None:
    from tests.fakes.faults import Delay

    async with SmtpSink() as sink:
        sink.faults.plan("MESSAGE", Delay(gate="held"))
        with pytest.raises(UncertainError):
            await deliver(sink, timeout=0.3)


@pytest.mark.case(111)
async def test_case_111_address_beyond_ascii_needs_a_relay_that_can() -> None:
    async with SmtpSink() as sink:
        await deliver(sink, "jörg@corp.example")
        (mail,) = sink.mails
        assert mail.body["rcpt_tos"] == ["jörg@corp.example"]
        assert "SMTPUTF8" in mail.body["mail_options"]
