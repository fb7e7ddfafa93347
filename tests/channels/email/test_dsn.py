from __future__ import annotations

import pytest

from bot.gateway.events import DeliveryReported, MessageReceived, Outcome
from channels.email.mapping import to_event
from channels.email.proof import unproven
from tests.channels.email.support import OWN, mail, read

KEY = "0123456789abcdefghjkmnpq"
OURS = f"<{KEY}@bot.example>"


def bounce(
    action: str, original: str = f"Message-ID: {OURS}\nSubject: Re: x", kind: str = "message/rfc822", more: str = ""
) -> bytes:
    body = (
        "--B\nContent-Type: text/plain\n\nSorry.\n"
        f"--B\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; mx.example\n\n{more}"
        f"Final-Recipient: rfc822; ann@corp.example\nAction: {action}\nStatus: 5.1.1\n"
        "Diagnostic-Code: smtp; 550 5.1.1\n  no such user\n"
        f"--B\nContent-Type: {kind}\n\n{original}\n\nold text\n--B--"
    )
    return mail(
        body,
        **{"from": "MAILER-DAEMON@mx.example"},
        content_type='multipart/report; report-type=delivery-status; boundary="B"',
    )


def event(raw: bytes, mail_from: str = "") -> object:
    return to_event(read(raw, mail_from), OWN, unproven("test"))


@pytest.mark.case(82)
@pytest.mark.parametrize(
    ("action", "outcome"),
    [
        ("failed", Outcome.FAILED),
        ("delayed", Outcome.DELAYED),
        ("Delivered", Outcome.DELIVERED),
        ("nonsense", Outcome.FAILED),
    ],
)
@pytest.mark.parametrize("kind", ["message/rfc822", "text/rfc822-headers"])
def test_case_82_bounce_names_our_mail(action: str, outcome: Outcome, kind: str) -> None:
    found = event(bounce(action, kind=kind))
    assert isinstance(found, DeliveryReported)
    assert found.of == (f"email:{OURS}",)
    assert found.outcome is outcome


@pytest.mark.case(82)
def test_case_82_detail_says_why() -> None:
    found = event(bounce("failed"))
    assert isinstance(found, DeliveryReported)
    assert found.detail == "5.1.1 550 5.1.1 no such user"


@pytest.mark.case(82)
def test_case_82_the_worst_of_several_recipients_counts() -> None:
    found = event(bounce("delivered", more="Final-Recipient: rfc822; b@x.example\nAction: failed\nStatus: 5.2.2\n\n"))
    assert isinstance(found, DeliveryReported)
    assert (found.outcome, found.detail) == (Outcome.FAILED, "5.2.2")


@pytest.mark.case(82)
def test_case_82_bounce_without_form_is_matched_by_our_id_only() -> None:
    raw = mail(f"Hi. This is the mail program. Sorry.\n\nMessage-ID: {OURS}\n", **{"from": "MAILER-DAEMON@mx.example"})
    found = event(raw)
    assert isinstance(found, DeliveryReported)
    assert found.outcome is Outcome.FAILED
    other = event(mail("Sorry. Message-ID: <x@other.example>", **{"from": "MAILER-DAEMON@mx.example"}))
    assert isinstance(other, MessageReceived)
    assert other.automatic == "bounce"


@pytest.mark.case(82)
def test_case_82_bounce_that_names_nothing_is_a_machines_mail() -> None:
    found = event(bounce("failed", original="Subject: x"))
    assert isinstance(found, MessageReceived)
    assert found.automatic == "bounce"


@pytest.mark.case(82)
def test_case_82_a_person_who_quotes_an_id_is_no_bounce() -> None:
    found = event(mail(f"look: {OURS}"), "ann@corp.example")
    assert isinstance(found, MessageReceived)
    assert found.automatic is None
