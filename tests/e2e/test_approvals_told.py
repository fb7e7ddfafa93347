"""On each platform, from outside and without a language model: an approval is told whole to whoever asks why, two
people have to say yes where the settings want it, and silence is an outcome of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.e2e.daemon import audited, command, running
from tests.e2e.desks import Desk
from tests.e2e.farends import base_settings, body_of, relay_settings
from tests.e2e.test_approvals import ASKED, BOSS, COLLEAGUE, EXECUTIVE, KIM, Mails, by_mail, ended, state, to
from tests.fakes.smtp import SmtpSink

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
