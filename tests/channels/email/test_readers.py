"""Who gets an answer, and the copies of it that are kept."""

from __future__ import annotations

import email
import email.policy
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.gateway.events import CommandInvoked, MessageReceived, Proof, ReplyPath
from bot.gateway.operations import OutboundOp, OutFile, Reply, Send
from bot.kernel.errors import PermanentError
from bot.kernel.ids import OutboxId, new_id
from channels.email import compose
from channels.email.maildir import Maildir
from tests.channels.email.harness import Running, running
from tests.channels.email.mailbox import ANN, ME, idle, reading
from tests.channels.email.support import OWN, Domain, Records, Roster, mail
from tests.channels.email.test_adapter import LOCAL, said
from tests.channels.inbox import MemoryInbox
from tests.channels.support import START
from tests.fakes.faults import Answer, CutBefore
from tests.fakes.imap import FakeImap
from tests.fakes.smtp import SmtpSink, parsed

BOB, CAROL, EVE = "bob@corp.example", "carol@corp.example", "eve@evil.example"
KEYS = [OutboxId(f"0123456789abcdefghjkmnp{n}") for n in range(5)]
CORP = Domain()
THREAD = f"email:{new_id(START)}"
TO_ALL = {"to": f"Executive <{ME}>, Bob <{BOB}>", "cc": f"{CAROL}, {EVE}, {ANN}, executive+notes@bot.example"}


async def asked(
    tmp_path: Path, raw: bytes, people: Sequence[str] = (ANN, BOB, CAROL), reply_all: str = "roster"
) -> MessageReceived:
    """What reaches the core of a mail of Ann's."""
    inbox = Roster(people)
    settings = {"address": ME, "per_user_from": ["corp.example"], "reply_all": reply_all}
    async with running(tmp_path, inbox, local_mode=False, resolver=Records(CORP.records), **settings) as channel:
        await said(channel, raw, ANN, ME)
    event = (*inbox.events, *inbox.turned_away)[0]
    assert isinstance(event, MessageReceived)
    return event


def readers(ops: Sequence[OutboundOp]) -> list[tuple[str, tuple[str, ...]]]:
    return [(op.path.address, op.path.also) for op in ops if isinstance(op, Send)]


@pytest.mark.case(85)
async def test_case_85_answer_goes_to_the_asker_alone_unless_set_otherwise(tmp_path: Path) -> None:
    event = await asked(tmp_path, CORP.sign(mail("x", **TO_ALL)), reply_all="asker")
    assert (event.reply_path.address, event.reply_path.also) == (ANN, ())
    assert {other.address for other in event.place.others} == {BOB, CAROL, EVE}


@pytest.mark.case(85)
async def test_case_85_of_the_others_only_the_roster_is_answered_too(tmp_path: Path) -> None:
    event = await asked(tmp_path, CORP.sign(mail("x", **TO_ALL), "from", "to", "cc", "date", "subject"))
    assert (event.reply_path.address, event.reply_path.also) == (ANN, (BOB, CAROL))
    assert set(event.reply_path.also) <= {other.address for other in event.place.others}


@pytest.mark.case(85)
@pytest.mark.parametrize(
    "raw",
    [
        mail("x", **TO_ALL),  # not proven
        CORP.sign(mail("x", **TO_ALL), "from", "to", "date", "subject"),  # Cc could be anybody's
        b"Cc: " + BOB.encode() + b"\r\n" + CORP.sign(mail("x"), "from", "to", "date", "subject"),
        CORP.sign(mail("x")),
    ],
)
async def test_case_85_recipients_that_are_not_the_askers_own_words_get_nothing(tmp_path: Path, raw: bytes) -> None:
    assert (await asked(tmp_path, raw)).reply_path.also == ()


async def test_answer_to_a_command_goes_to_whoever_gave_it(tmp_path: Path) -> None:
    inbox = Roster([ANN, BOB])
    settings: dict[str, Any] = {"address": ME, "per_user_from": ["corp.example"], "reply_all": "roster"}
    async with running(tmp_path, inbox, local_mode=False, resolver=Records(CORP.records), **settings) as channel:
        raw = CORP.sign(mail("/status", to=f"{ME}, {BOB}"), "from", "to", "cc", "date", "subject")
        await said(channel, raw, ANN, ME)
    (event,) = inbox.events
    assert isinstance(event, CommandInvoked)
    assert event.reply_path.also == ()
    assert [other.address for other in event.place.others] == [BOB]


async def test_everybody_gets_one_mail_that_names_the_others(tmp_path: Path) -> None:
    async with SmtpSink() as sink:
        relay = {"host": "127.0.0.1", "port": sink.port, "security": "none"}
        async with running(tmp_path, MemoryInbox(), local_mode=False, relay=relay, address=ME) as channel:
            blob = channel.bench.files.add(b"%PDF")
            path = ReplyPath(
                THREAD, ANN, "email:<q@corp.example>", "Plans", ("email:<q@corp.example>",), also=(BOB, CAROL)
            )
            ops = channel.channel.plan(Reply(path, "Answer", (OutFile("a.pdf", "application/pdf", blob),)))
            assert readers(ops) == [(ANN, (BOB, CAROL)), (BOB, (ANN, CAROL)), (CAROL, (ANN, BOB))]
            for op, key in zip(ops, KEYS, strict=False):
                await channel.channel.send(op, key, False)
        mails = [(entry.body["rcpt_tos"], parsed(entry)) for entry in sink.mails]
    assert [rcpt for rcpt, _ in mails] == [[ANN], [BOB], [CAROL]]
    assert [str(m["To"]) for _, m in mails] == [ANN, BOB, CAROL]
    assert str(mails[0][1]["Cc"]) == f"{BOB}, {CAROL}"
    tokens = {str(m["Reply-To"]) for _, m in mails}
    assert len(tokens) == 3  # nobody can answer in another's name
    assert {str(m["In-Reply-To"]) for _, m in mails} == {"<q@corp.example>"}
    assert len({str(m["Message-ID"]) for _, m in mails}) == 3


async def local_answer(channel: Running, inbox: Roster, key: OutboxId, *, again: bool = False) -> None:
    event = inbox.events[-1]
    assert isinstance(event, MessageReceived)
    assert event.sender.proof is Proof.LOCAL
    (op,) = channel.channel.plan(Reply(replace(event.reply_path, thread=THREAD), "Answer"))
    await channel.channel.send(op, key, again)


async def test_copy_in_the_maildirs_sent_folder_is_the_same_file(tmp_path: Path) -> None:
    inbox = Roster(["principal@localhost"])
    async with running(tmp_path, inbox) as channel:
        await said(channel, mail("Question", **LOCAL))
        await local_answer(channel, inbox, KEYS[0])
        await local_answer(channel, inbox, KEYS[0], again=True)
    root = tmp_path / "maildir"
    (delivered,), (copy,) = (root / "new").iterdir(), (root / ".Sent" / "cur").iterdir()
    assert copy.name == f"{delivered.name}:2,S"
    assert copy.stat().st_ino == delivered.stat().st_ino
    assert copy.parent.parent.stat().st_mode & 0o777 == 0o700


def test_copy_does_not_stand_in_the_way(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    box = Maildir(tmp_path / "maildir", "localhost")
    box.root.mkdir()
    box.sent.write_text("a file where the folder should be")
    box.deliver(KEYS[0], b"a: b\r\n\r\nx")
    assert len(list((box.root / "new").iterdir())) == 1
    assert "not copied" in caplog.text


def test_copy_never_counts_as_delivered_before_the_mail_is(tmp_path: Path) -> None:
    box = Maildir(tmp_path / "maildir", "localhost")
    assert box.find(KEYS[0]) is None
    box.deliver(KEYS[0], b"a: b\r\n\r\nx")
    (delivered,) = (box.root / "new").iterdir()
    delivered.unlink()  # its reader deleted it: it was delivered all the same
    assert box.find(KEYS[0]) is not None
    assert box.remove(KEYS[0])
    assert box.find(KEYS[0]) is None
    assert list((box.sent / "cur").iterdir()) == []


async def test_what_was_delivered_without_its_copy_gets_it_at_the_next_try(tmp_path: Path) -> None:
    box = Maildir(tmp_path / "maildir", "localhost")
    box.deliver(KEYS[0], b"a: b\r\n\r\nx")
    (copy,) = (box.sent / "cur").iterdir()
    copy.unlink()
    box.deliver(KEYS[0], b"a: b\r\n\r\nx")
    assert len(list((box.sent / "cur").iterdir())) == 1


async def sent_by_relay(channel: Running, key: OutboxId) -> None:
    (op,) = channel.channel.plan(Reply(ReplyPath(THREAD, ANN, subject="Plans"), "Answer"))
    await channel.channel.send(op, key, False)


def with_relay(sink: SmtpSink) -> dict[str, Any]:
    return {"host": "127.0.0.1", "port": sink.port, "security": "none"}


async def test_copy_in_the_mailboxs_sent_folder(tmp_path: Path) -> None:
    async with SmtpSink() as sink, FakeImap() as fake:
        async with reading(tmp_path, fake, Roster([ANN]), relay=with_relay(sink)) as channel:
            await sent_by_relay(channel, KEYS[0])
            assert await channel.bench.supervisor.drain(timedelta(seconds=10))
        assert [entry.raw for entry in sink.mails] == fake.world.contents("Sent")
        assert fake.world.folders["Sent"].messages[0].flags == {"\\Seen"}


@pytest.mark.parametrize("fault", [Answer(400, "NO [OVERQUOTA] full"), CutBefore()])
async def test_copy_that_fails_sends_nothing_again(
    tmp_path: Path, fault: Answer | CutBefore, caplog: pytest.LogCaptureFixture
) -> None:
    async with SmtpSink() as sink, FakeImap() as fake:
        async with reading(tmp_path, fake, Roster([ANN]), relay=with_relay(sink)) as channel:
            await idle(fake)
            fake.faults.plan("APPEND", fault)
            await sent_by_relay(channel, KEYS[0])
            await fake.requests.wait(1, "APPEND")
            await channel.bench.supervisor.drain(timedelta(seconds=10))
            assert channel.channel.health().receiving
        assert len(sink.mails) == 1
    assert "not copied to the Sent folder" in caplog.text


async def test_no_copy_of_what_the_relay_refused_or_where_none_is_wanted(tmp_path: Path) -> None:
    async with SmtpSink() as sink, FakeImap() as fake:
        relay = with_relay(sink)
        async with reading(tmp_path, fake, Roster([ANN]), relay=relay) as channel:
            sink.faults.plan("RCPT", Answer(550))
            with pytest.raises(PermanentError):
                await sent_by_relay(channel, KEYS[0])
            assert channel.bench.supervisor.running_jobs == 0
        async with reading(tmp_path, fake, Roster([ANN]), relay=relay, imap={"sent": "none"}) as channel:
            await sent_by_relay(channel, KEYS[1])
            assert channel.bench.supervisor.running_jobs == 0
        assert fake.requests.count("APPEND") == 0


def test_a_long_list_of_readers_is_folded(tmp_path: Path) -> None:
    others = tuple(f"colleague-number-{n}@corp.example" for n in range(10))
    op = Send(ReplyPath(THREAD, ANN, also=others), "", "x")
    raw = compose.compose(op, KEYS[0], OWN, (), START, again=False)
    assert max(len(line) for line in raw.split(b"\r\n")) <= 78
    message = email.message_from_bytes(raw, policy=email.policy.default)
    assert [a.addr_spec for a in message["Cc"].addresses] == list(others)
