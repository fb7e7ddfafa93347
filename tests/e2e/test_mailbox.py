"""Mail that comes in from a mailbox: killed at every step, the moments around the move included."""

from __future__ import annotations

import asyncio
import email
import email.policy
from email.message import EmailMessage
from pathlib import Path

import pytest

from tests.e2e.daemon import PATIENCE, Daemon
from tests.e2e.farends import AUTHSERV, MailboxEnd, counts
from tests.e2e.kills import Series
from tests.e2e.test_kill_points import IN_PROCESS, NO_WEB, expected, killed_at_every_step
from tests.fakes.faults import Delay
from tests.fakes.imap import FakeImap
from tests.fakes.smtp import SmtpSink

pytestmark = pytest.mark.timeout(400)


async def settled(daemon: Daemon, imap: FakeImap) -> None:
    await daemon.settled()
    await daemon.until(lambda: imap.world.uids() == [])


@pytest.mark.case(142)
@pytest.mark.case(143)
async def test_case_142_case_143_mail_from_a_mailbox_killed_at_every_step(
    home: Path, relay: SmtpSink, imap: FakeImap
) -> None:
    await killed_at_every_step(Series(MailboxEnd(imap, relay), home, IN_PROCESS, NO_WEB))
    assert imap.world.uids() == []


@pytest.mark.case(142)
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("verb", ["UID FETCH", "UID MOVE"])
async def test_case_142_killed_around_fetch_and_move(
    home: Path, relay: SmtpSink, imap: FakeImap, verb: str, when: str
) -> None:
    end = MailboxEnd(imap, relay)
    imap.world.create("Executive")
    series = Series(end, home, IN_PROCESS, NO_WEB)
    daemon = await series.start()
    try:
        await daemon.ready("email")
        imap.faults.plan(verb, Delay(gate="here", when="before" if when == "before" else "after"))
        number = await series.write(daemon, verb)
        async with asyncio.timeout(PATIENCE):
            await imap.faults.gate("here").reached.wait()
        await daemon.kill()
        imap.faults.clear()
        daemon = await series.start()
        await series.all_answered(daemon)
        await settled(daemon, imap)
        await daemon.stop()
    finally:
        await daemon.abandon()
    found = counts(end)[number]
    # Around the move the answer may be on its way already: then its outcome is in doubt, and the repeat is marked.
    assert found.plain + found.marked >= 1
    assert found.plain <= 1
    assert found.marked <= series.uncertain()
    assert len(imap.world.contents("Executive")) == 1


async def test_rebuilt_mailbox_is_answered_once(home: Path, relay: SmtpSink, imap: FakeImap) -> None:
    end = MailboxEnd(imap, relay)
    stay = {"OPENEXECUTIVE_CHANNELS__EMAIL__IMAP__PROCESSED": "none"}
    series = Series(end, home, IN_PROCESS, {**NO_WEB, **stay})
    daemon = await series.start()
    try:
        await daemon.ready("email")
        numbers = [await series.write(daemon, "tx1_after") for _ in range(3)]
        await series.all_answered(daemon)
        imap.world.rebuild()
        imap.bye("rebuilt")
        numbers.append(await series.write(daemon, "tx1_after"))
        await series.all_answered(daemon)
        await daemon.stop()
    finally:
        await daemon.abandon()
    assert counts(end) == dict.fromkeys(numbers, expected(end, "tx1_after"))


async def test_answer_to_our_mail_needs_no_other_proof(home: Path, relay: SmtpSink, imap: FakeImap) -> None:
    """The reply token alone proves who answers, in the thread of the first mail, through the whole program."""
    end = MailboxEnd(imap, relay)
    series = Series(end, home, IN_PROCESS, NO_WEB)
    daemon = await series.start()
    try:
        await daemon.ready("email")
        await series.write(daemon, "tx1_after")
        await series.all_answered(daemon)
        first = email.message_from_bytes(next(iter(relay.mails)).raw, policy=email.policy.default)
        reply_to = str(first["Reply-To"])
        assert "+t-" in reply_to
        asker = end.person(1)
        for sender, number in ((asker, 100), ("stranger@evil.example", 101), (end.person(2), 102)):
            mail = EmailMessage()
            mail["From"], mail["To"], mail["Date"] = sender, reply_to, email.utils.localtime()
            mail["Subject"], mail["Message-ID"] = "Re: Work", f"<answer{number}@x>"
            mail.set_content(f"message {number}")
            imap.world.deliver(mail.as_bytes(policy=email.policy.SMTP))
        await daemon.until(lambda: len(relay.mails) >= 2)
        await settled(daemon, imap)
        await daemon.stop()
    finally:
        await daemon.abandon()
    assert [entry.body["rcpt_tos"] for entry in relay.mails] == [[asker], [asker]]
    assert AUTHSERV not in str(first)
