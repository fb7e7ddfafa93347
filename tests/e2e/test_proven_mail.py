"""Mail where proof is required: a server in front that proves senders, a relay that answers leave by."""

from __future__ import annotations

import email
import email.policy
import textwrap
from pathlib import Path

import aiosmtplib
import pytest

from tests.channels.email.support import Domain
from tests.cli.dns_server import running_dns
from tests.e2e.daemon import audited, rows, running
from tests.e2e.farends import AUTHSERV, RelayEnd, arrived_mail, base_settings, body_of
from tests.fakes.faults import Answer, CutAfter
from tests.fakes.mailer import send_mail
from tests.fakes.smtp import SmtpSink, parsed

BOSS = "p0@company.example"
EXECUTIVE = "executive@company.example"

pytestmark = pytest.mark.timeout(300)


def mail(number: int, *headers: str, sender: str = BOSS) -> bytes:
    lines = [
        *headers,
        f"From: {sender}",
        f"To: {EXECUTIVE}",
        f"Date: {email.utils.format_datetime(email.utils.localtime())}",
        f"Message-ID: <x{number}@elsewhere.example>",
        "Subject: Urgent",
        "",
        f"Item {number} please",
    ]
    return ("\r\n".join(lines) + "\r\n").encode()


def results(verdict: str, authserv: str = AUTHSERV) -> str:
    methods = f"spf={verdict} smtp.mailfrom={BOSS}; dmarc={verdict} header.from=company.example"
    return f"Authentication-Results: {authserv}; {methods}"


@pytest.mark.case(83)
@pytest.mark.case(84)
@pytest.mark.parametrize(
    "headers",
    [
        pytest.param((), id="no proof"),
        pytest.param((results("fail"),), id="proof fails"),
        pytest.param((results("fail"), results("pass")), id="forged pass below a fail"),
        pytest.param((results("pass", "mx.evil.example"),), id="another server's word"),
    ],
)
async def test_case_83_case_84_a_spoofed_mail_gets_no_turn_and_no_answer(
    home: Path, relay: SmtpSink, headers: tuple[str, ...]
) -> None:
    end = RelayEnd(relay)
    settings = {**base_settings(home / "data"), **end.settings()}
    async with running(settings, home, "email", launcher={"E2E_MODEL": "numbers"}) as daemon:
        # 250: a refusal would make the server in front write a bounce to whoever was forged.
        assert (await send_mail(await daemon.smtp_port(), mail(1, *headers), BOSS, EXECUTIVE))[:3] == "2.0"
        await send_mail(await daemon.smtp_port(), mail(2, results("pass")), BOSS, EXECUTIVE)
        await relay.mails.wait(1, timeout=60)
        await daemon.settled()
    assert [arrived_mail(parsed(one)).numbers for one in relay.mails] == [(2,)]
    (row,) = rows(home / "data", "SELECT * FROM inbox WHERE state = 'refused'")
    assert (row["reason"], row["turn_id"]) == ("unproven", None)
    assert len(audited(home / "data", "message_refused")) == 1


async def test_a_stranger_with_proof_gets_no_turn_and_no_answer(home: Path, relay: SmtpSink) -> None:
    settings = {**base_settings(home / "data"), **RelayEnd(relay).settings()}
    stranger = "mallory@company.example"
    proof = results("pass").replace(BOSS, stranger)
    async with running(settings, home, "email", launcher={"E2E_MODEL": "numbers"}) as daemon:
        await send_mail(await daemon.smtp_port(), mail(1, proof, sender=stranger), stranger, EXECUTIVE)
        await send_mail(await daemon.smtp_port(), mail(2, results("pass")), BOSS, EXECUTIVE)
        await relay.mails.wait(1, timeout=60)
        await daemon.settled()
    assert [one.body["rcpt_tos"] for one in relay.mails] == [[BOSS]]
    assert [row["reason"] for row in rows(home / "data", "SELECT reason FROM inbox WHERE state = 'refused'")] == [
        "stranger"
    ]


@pytest.mark.case(143)
async def test_case_143_a_relay_that_breaks_off_after_the_text_gets_it_once_more_under_the_same_id(
    home: Path, relay: SmtpSink
) -> None:
    settings = {**base_settings(home / "data"), **RelayEnd(relay).settings()}
    relay.faults.plan("MESSAGE", CutAfter())
    async with running(settings, home, "email", launcher={"E2E_MODEL": "numbers"}) as daemon:
        await send_mail(await daemon.smtp_port(), mail(1, results("pass")), BOSS, EXECUTIVE)
        await relay.mails.wait(2, timeout=60)
        await daemon.settled()
    first, second = (email.message_from_bytes(one.raw, policy=email.policy.default) for one in relay.mails)
    assert first["Message-ID"] == second["Message-ID"]
    assert [arrived_mail(first).marked, arrived_mail(second).marked] == [False, True]
    assert "may reach you a second time" in body_of(second)
    assert len(audited(home / "data", "delivery_uncertain")) == 1


async def test_a_relay_that_says_later_gets_it_later_and_once(home: Path, relay: SmtpSink) -> None:
    settings = {**base_settings(home / "data"), **RelayEnd(relay).settings()}
    relay.faults.plan("MESSAGE", Answer(451))
    async with running(settings, home, "email", launcher={"E2E_MODEL": "numbers"}) as daemon:
        await send_mail(await daemon.smtp_port(), mail(1, results("pass")), BOSS, EXECUTIVE)
        await relay.mails.wait(1, timeout=60)
        await daemon.settled()
    assert [arrived_mail(parsed(one)).marked for one in relay.mails] == [False]
    assert len(audited(home / "data", "delivery_failed")) == 1


async def test_mail_to_somebody_else_is_not_taken(home: Path, relay: SmtpSink) -> None:
    settings = {**base_settings(home / "data"), **RelayEnd(relay).settings()}
    async with running(settings, home, "email", launcher={"E2E_MODEL": "numbers"}) as daemon:
        with pytest.raises(aiosmtplib.SMTPRecipientRefused):
            await send_mail(await daemon.smtp_port(), mail(1, results("pass")), BOSS, "other@company.example")
    assert rows(home / "data", "SELECT * FROM inbox") == []


@pytest.mark.case(83)
async def test_case_83_without_a_server_in_front_only_a_signature_of_the_senders_domain_proves(
    home: Path, relay: SmtpSink
) -> None:
    domain = Domain("company.example")
    # One TXT string holds 255 characters at most (RFC 1035 s3.3): a key comes in several.
    texts = {name: '" "'.join(textwrap.wrap(values[0], 250)) for (name, _), values in domain.records.items()}
    async with running_dns(texts) as nameserver:
        settings = {
            **base_settings(home / "data"),
            **RelayEnd(relay).settings(),
            "OPENEXECUTIVE_CHANNELS__EMAIL__PROOF": "auto",
            "OPENEXECUTIVE_CHANNELS__EMAIL__NAMESERVERS": f'["{nameserver}"]',
        }
        del settings["OPENEXECUTIVE_CHANNELS__EMAIL__AUTHSERV_ID"]
        async with running(settings, home, "email", launcher={"E2E_MODEL": "numbers"}) as daemon:
            await send_mail(await daemon.smtp_port(), mail(1, results("pass")), BOSS, EXECUTIVE)
            await send_mail(await daemon.smtp_port(), domain.sign(mail(2)), BOSS, EXECUTIVE)
            await relay.mails.wait(1, timeout=60)
            await daemon.settled()
    assert [arrived_mail(parsed(one)).numbers for one in relay.mails] == [(2,)]
    assert [row["reason"] for row in rows(home / "data", "SELECT reason FROM inbox ORDER BY seq")] == ["unproven", None]
