"""On each platform, from outside and without a language model: an approval is told whole to whoever asks why, two
people have to say yes where the settings want it, and silence is an outcome of its own."""

from __future__ import annotations

import email.utils
import json
from collections.abc import Mapping
from email.message import EmailMessage
from pathlib import Path

import pytest

from tests.e2e.daemon import Ahead, audited, command, running
from tests.e2e.desks import Desk, TelegramDesk
from tests.e2e.farends import base_settings, body_of, relay_settings
from tests.e2e.test_approvals import ASKED, BOSS, COLLEAGUE, EXECUTIVE, KIM, Mails, by_mail, ended, state, to
from tests.fakes.mailer import send_mail
from tests.fakes.smtp import SmtpSink
from tests.fakes.telegram import FakeTelegram

pytestmark = pytest.mark.timeout(300)
PRINCIPAL, ASKER, OTHER, BYSTANDER = range(4)


def settings_of(home: Path, desk: Desk, relay: SmtpSink, **more: str) -> dict[str, str]:
    mail = {"OPENEXECUTIVE_CHANNELS__EMAIL__ENABLED": "true"}
    return {**base_settings(home / "data"), **desk.settings(), **relay_settings(relay, EXECUTIVE), **mail, **more}


async def chain_of(settings: Mapping[str, str], home: Path) -> list[str]:
    """What `audit show` tells of the conversation in which it was asked for, about the proposal."""
    shown = await command("audit", "show", state(home)["session_id"], settings=settings, home=home)
    assert shown.code == 0, shown
    return [line for line in shown.out.splitlines() if "proposal" in line or "put forward" in line]


def in_order(lines: list[str], *wanted: str) -> bool:
    at = -1
    for each in wanted:
        found = next((number for number, line in enumerate(lines) if number > at and each in line), None)
        if found is None:
            return False
        at = found
    return True


async def test_why_and_the_audit_tell_who_said_what_and_what_was_done(home: Path, desk: Desk, relay: SmtpSink) -> None:
    settings = settings_of(home, desk, relay)
    async with running(settings, home, desk.name) as daemon:
        desk.say(ASKER, ASKED)
        question = await desk.asked(daemon, PRINCIPAL)
        assert KIM in question.text
        assert "We come to the fair." in question.text
        desk.press(BYSTANDER, question, "Approve")
        await daemon.until(lambda: len(audited(home / "data", "proposal_refused")) == 1)
        assert state(home)["state"] == "proposed"
        desk.press(PRINCIPAL, question, "Edit …")
        await desk.write(daemon, PRINCIPAL, "We come on Tuesday.")
        assert (await ended(daemon, home, "executed", "failed"))["state"] == "executed"
        await daemon.settled()
        desk.say(ASKER, "/why")
        told = await desk.read(daemon, "With it I put forward", "put to P0")
        lines = await chain_of(settings, home)
    handle = state(home)["id"][-6:]
    for words in (handle, KIM, "approved with an edit by P0", "done"):
        assert words in told
    assert in_order(
        lines, "put forward send_email", "asked p0", "has no say", "said approve", "approved with edit",
        "began send_email", "is done",
    ), lines  # fmt: skip
    (sent,) = to(relay, KIM)
    assert body_of(sent).strip() == "We come on Tuesday."


async def test_two_people_say_yes_to_one_content_and_an_edit_begins_anew(
    home: Path, desk: Desk, relay: SmtpSink
) -> None:
    rule = {
        "OPENEXECUTIVE_LEDGER__CLASSES__SEND_EMAIL__TWO_PERSONS": "true",
        "OPENEXECUTIVE_LEDGER__CLASSES__SEND_EMAIL__APPROVERS": '["p0", "p2"]',
    }
    async with running(settings_of(home, desk, relay, **rule), home, desk.name) as daemon:
        desk.say(ASKER, ASKED)
        first = await desk.asked(daemon, PRINCIPAL)
        other = await desk.asked(daemon, OTHER)
        assert "Two people must approve the same content." in first.text
        desk.press(PRINCIPAL, first, "Approve")
        await daemon.until(lambda: len(audited(home / "data", "proposal_voted")) == 1)
        desk.press(OTHER, other, "Edit …")
        await desk.write(daemon, OTHER, "We come on Tuesday.")
        again = await desk.asked(daemon, PRINCIPAL, 2)
        assert "We come on Tuesday." in again.text
        desk.press(PRINCIPAL, first, "Approve")
        await daemon.until(lambda: len(audited(home / "data", "proposal_refused")) == 1)
        assert (state(home)["state"], to(relay, KIM)) == ("proposed", [])
        desk.press(PRINCIPAL, again, "Approve")
        assert (await ended(daemon, home, "executed", "failed"))["state"] == "executed"
        await daemon.settled()
    (sent,) = to(relay, KIM)
    assert body_of(sent).strip() == "We come on Tuesday."


async def test_nobody_answers_and_it_counts_as_that(home: Path, desk: Desk, relay: SmtpSink) -> None:
    settings = settings_of(home, desk, relay, OPENEXECUTIVE_LEDGER__EXPIRES_AFTER="3s")
    async with running(settings, home, desk.name) as daemon:
        desk.say(ASKER, ASKED)
        await desk.asked(daemon, PRINCIPAL)
        await ended(daemon, home, "auto_no_response")
        card = await command("ledger", "card", "send_email", "--json", settings=settings, home=home)
        await desk.read(daemon, "nobody answered in time")
        await daemon.until(lambda: not desk.questions(PRINCIPAL))
        await daemon.settled()
    counted = json.loads(card.out)["card"]
    assert (counted["no_response"]["count"], counted["rejected"]["count"]) == (1, 0)
    assert to(relay, KIM) == []


async def test_by_mail_why_and_the_audit_tell_the_same(home: Path, relay: SmtpSink) -> None:
    settings = by_mail(home, relay)
    async with running(settings, home, "email") as daemon:
        mails = Mails(daemon)
        await mails.write(COLLEAGUE, ASKED)
        await daemon.until(lambda: bool(to(relay, COLLEAGUE)) and bool(to(relay, BOSS)))
        answer = to(relay, COLLEAGUE)[0]
        token = str(to(relay, BOSS)[0]["Reply-To"]).strip("<>")
        await mails.write(BOSS, "edit\n\nWe come on Tuesday.", token)
        await daemon.until(lambda: any("on Tuesday" in body_of(one) for one in to(relay, BOSS)))
        again = next(one for one in to(relay, BOSS) if "on Tuesday" in body_of(one))
        await mails.write(BOSS, "yes", str(again["Reply-To"]).strip("<>"))
        await ended(daemon, home, "executed")
        await daemon.settled()
        await mails.write(COLLEAGUE, "/why", answers=answer)
        await daemon.until(lambda: any("With it I put forward" in body_of(one) for one in to(relay, COLLEAGUE)))
        told = next(one for one in to(relay, COLLEAGUE) if "With it I put forward" in body_of(one))
        lines = await chain_of(settings, home)
    for words in (KIM, "put to Ann", "edited by Ann", "approved with an edit by Ann", "done"):
        assert words in body_of(told)
    assert in_order(
        lines, "put forward send_email", "asked ann", "edited", "asked ann", "said approve",
        "approved with edit", "began send_email", "is done",
    ), lines  # fmt: skip


async def test_by_mail_nobody_answers_and_it_counts_as_that(home: Path, relay: SmtpSink) -> None:
    settings = {**by_mail(home, relay), "OPENEXECUTIVE_LEDGER__EXPIRES_AFTER": "3s"}
    async with running(settings, home, "email") as daemon:
        mails = Mails(daemon)
        await mails.write(COLLEAGUE, ASKED)
        await daemon.until(lambda: bool(to(relay, BOSS)))
        await ended(daemon, home, "auto_no_response")
        card = await command("ledger", "card", "send_email", "--json", settings=settings, home=home)
        await daemon.until(lambda: any("nobody answered in time" in body_of(one) for one in to(relay, COLLEAGUE)))
        await mails.write(BOSS, "yes", str(to(relay, BOSS)[0]["Reply-To"]).strip("<>"))  # too late
        await daemon.until(lambda: len(to(relay, BOSS)) == 2)
        await daemon.settled()
    counted = json.loads(card.out)["card"]
    assert (counted["no_response"]["count"], counted["rejected"]["count"]) == (1, 0)
    assert "nobody answered in time" in body_of(to(relay, BOSS)[1])
    assert to(relay, KIM) == []


async def test_a_mail_that_comes_back_is_told_to_who_asked_and_who_said_yes_and_counts_as_undelivered(
    home: Path, relay: SmtpSink
) -> None:
    settings = by_mail(home, relay)
    async with running(settings, home, "email") as daemon:
        mails = Mails(daemon)
        await mails.write(COLLEAGUE, ASKED)
        await daemon.until(lambda: bool(to(relay, BOSS)))
        await mails.write(BOSS, "yes", str(to(relay, BOSS)[0]["Reply-To"]).strip("<>"))
        await ended(daemon, home, "executed")
        (sent,) = to(relay, KIM)
        for _ in range(2):  # the far end says it again, as a mail of its own
            await send_mail(await daemon.smtp_port(), bounced(sent), "", EXECUTIVE)
        for person in (BOSS, COLLEAGUE):
            await daemon.until(
                lambda who=person: any("came back: it did not reach" in body_of(one) for one in to(relay, who))  # type: ignore[misc]
            )
        card = await command("ledger", "card", "send_email", "--json", settings=settings, home=home)
        lines = await chain_of(settings, home)
        await daemon.settled()
    counted = json.loads(card.out)["card"]
    assert (counted["undelivered"]["count"], counted["failed"]["count"]) == (1, 0)
    assert in_order(lines, "is done", "came back: it did not arrive"), lines
    for person in (BOSS, COLLEAGUE):
        told = [body_of(one) for one in to(relay, person) if "came back: it did not reach" in body_of(one)]
        assert len(told) == 1
        assert "no such user" in told[0]


def bounced(sent: EmailMessage) -> bytes:
    """What a mail server writes about a mail that it could not deliver (RFC 3464)."""
    status = f"Final-Recipient: rfc822; {KIM}\nAction: failed\nStatus: 5.1.1\nDiagnostic-Code: smtp; 550 no such user\n"
    parts = (
        "Content-Type: text/plain\n\nSorry.\n",
        f"Content-Type: message/delivery-status\n\nReporting-MTA: dns; mx.outside.example\n\n{status}",
        f"Content-Type: text/rfc822-headers\n\nMessage-ID: {sent['Message-ID']}\nSubject: {sent['Subject']}\n",
    )
    head = (
        f"From: MAILER-DAEMON@mx.outside.example\nTo: {EXECUTIVE}\nSubject: Undelivered\n"
        f"Date: {email.utils.formatdate()}\nMessage-ID: {email.utils.make_msgid(domain='mx.outside.example')}\n"
        'MIME-Version: 1.0\nContent-Type: multipart/report; report-type=delivery-status; boundary="B"\n\n'
    )
    return f"{head}{''.join(f'--B{chr(10)}{part}{chr(10)}' for part in parts)}--B--\n".encode()


async def test_after_the_daemon_was_away_an_open_question_is_put_again_once(
    home: Path, telegram: FakeTelegram, relay: SmtpSink
) -> None:
    desk, ahead = TelegramDesk(telegram, home / "data"), Ahead(home)
    settings = settings_of(home, desk, relay)
    again = "I was not there for a while"
    async with running(settings, home, desk.name, launcher=ahead.launcher) as daemon:
        desk.say(ASKER, ASKED)
        first = await desk.asked(daemon, PRINCIPAL)
        await daemon.settled()
    ahead.by(600)
    async with running(settings, home, desk.name, launcher=ahead.launcher) as daemon:
        for wait, person, count in ((600, OTHER, 2), (640, BYSTANDER, 4), (900, ASKER, 5)):
            ahead.by(wait)  # each new question lets the approvals be looked through
            desk.say(person, f"Send a mail to lee{wait}@outside.example about it: Number {wait}.")
            await desk.asked(daemon, PRINCIPAL, count)
            await daemon.settled()
        told = [question for question in desk.questions(PRINCIPAL) if again in question.text]
        assert [KIM in question.text for question in told] == [True]
        desk.press(PRINCIPAL, first, "Approve")
        await daemon.until(lambda: bool(to(relay, KIM)))
        await daemon.until(lambda: not any(KIM in question.text for question in desk.questions(PRINCIPAL)))
        await daemon.settled()
    assert len(to(relay, KIM)) == 1
