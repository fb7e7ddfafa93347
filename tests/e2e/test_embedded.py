"""The embedded default: no account, no secret, no settings but a folder. Mail in by any SMTP client, answers in the
Maildir, and the same in a terminal."""

from __future__ import annotations

import asyncio
import email.utils
import itertools
import signal
import smtplib
from collections.abc import AsyncIterator
from email.message import EmailMessage
from pathlib import Path

import pytest

from tests.e2e.daemon import Daemon, audited, command, rows, running
from tests.e2e.farends import base_settings, body_of, maildir
from tests.fakes.mailer import RawClient

EXECUTIVE = "executive@localhost"
PRINCIPAL = "principal@localhost"
RUNWAY = "Our runway is 14 months."
QUESTION = "How long is our runway?"

pytestmark = pytest.mark.timeout(300)
_numbers = itertools.count(1)


@pytest.fixture
async def daemon(home: Path) -> AsyncIterator[Daemon]:
    async with running(base_settings(home / "data"), home, "email") as daemon:
        yield daemon


def mail(text: str, sender: str = PRINCIPAL, *, answers: EmailMessage | None = None, **headers: str) -> EmailMessage:
    """A plain mail; `answers`: the mail that it replies to."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = sender, EXECUTIVE, "Money"
    message["Date"] = email.utils.localtime()
    message["Message-ID"] = f"<m{next(_numbers)}@localhost>"
    if answers is not None:
        message["In-Reply-To"] = message["References"] = str(answers["Message-ID"])
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    message.set_content(text)
    return message


async def submit(daemon: Daemon, message: EmailMessage, envelope: str | None = None) -> int:
    """Send as any program would; the code of the answer to the text."""
    port = await daemon.smtp_port()

    def send() -> int:
        with smtplib.SMTP("127.0.0.1", port, timeout=60) as client:
            sender = str(message["From"]) if envelope is None else envelope
            try:
                client.send_message(message, sender, [EXECUTIVE])
            except smtplib.SMTPDataError as error:
                return error.smtp_code
        return 250

    return await asyncio.to_thread(send)


async def answer(daemon: Daemon, message: EmailMessage) -> EmailMessage:
    """The answer to a mail, once it is in the Maildir."""
    wanted = str(message["Message-ID"])

    def found() -> list[EmailMessage]:
        return [one for one in maildir(daemon.data / "maildir") if one["In-Reply-To"] == wanted]

    await daemon.until(lambda: bool(found()))
    (one,) = found()
    return one


async def ask(daemon: Daemon, message: EmailMessage) -> EmailMessage:
    assert await submit(daemon, message) == 250
    return await answer(daemon, message)


async def test_a_fact_told_by_mail_is_recalled_by_the_next_mail_of_the_thread(daemon: Daemon) -> None:
    first = await ask(daemon, mail(RUNWAY))
    second = await ask(daemon, mail(QUESTION, answers=first))
    assert "14 months" in body_of(second)
    assert second["To"] == PRINCIPAL
    assert second["Auto-Submitted"] == "auto-replied"


async def test_everything_is_kept_over_a_stop_and_a_kill(home: Path) -> None:
    settings = base_settings(home / "data")
    async with running(settings, home, "email") as daemon:
        first = await ask(daemon, mail(RUNWAY))
    async with running(settings, home, "email") as daemon:
        second = await ask(daemon, mail(QUESTION, answers=first))
        assert "14 months" in body_of(second)
        await daemon.settled()
        await daemon.kill()
    async with running(settings, home, "email") as daemon:
        third = await ask(daemon, mail(QUESTION, answers=second))
        assert "14 months" in body_of(third)
        assert len(maildir(daemon.data / "maildir")) == 3
    verified = await command("audit", "verify", settings=settings, home=home)
    assert (verified.code, verified.out.split(":")[0]) == (0, "sound"), verified
    assert len(audited(home / "data", "daemon_started")) == 3
    assert len(audited(home / "data", "daemon_stopped")) == 2


async def test_the_same_exchange_in_a_terminal(daemon: Daemon, home: Path) -> None:
    settings = base_settings(home / "data")
    told = await command("chat", "-m", RUNWAY, settings=settings, home=home)
    assert told.code == 0, told
    asked = await command("chat", "-m", QUESTION, settings=settings, home=home)
    assert asked.code == 0, asked
    assert "14 months" in asked.out


async def test_status_and_audit_speak_of_the_running_daemon(daemon: Daemon, home: Path) -> None:
    settings = base_settings(home / "data")
    await ask(daemon, mail(RUNWAY))
    await daemon.settled()
    status = await command("status", settings=settings, home=home)
    assert status.code == 0, status
    assert f"127.0.0.1:{await daemon.smtp_port()}" in status.out
    assert "1 answered" in status.out
    verified = await command("audit", "verify", settings=settings, home=home)
    assert verified.code == 0, verified
    shown = await command("audit", "show", "--type", "delivery_sent", settings=settings, home=home)
    assert shown.out.count("sent on email") == 1


@pytest.mark.parametrize(
    ("message", "code", "reason"),
    [
        pytest.param(mail("Let me in", "mallory@localhost"), 550, "stranger", id="stranger"),
        pytest.param(mail("Pay at once", "boss@company.example"), 550, "stranger", id="stranger from outside"),
        pytest.param(
            mail("Pay", Received="from x by y; Mon, 1 Jan 2026 00:00:00 +0000"), 550, "unproven", id="forwarded"
        ),
        pytest.param(mail("I am away", Auto_Submitted="auto-replied"), 250, "automatic", id="out of office"),
        pytest.param(mail("Hello again", X_OpenExecutive_Loop=EXECUTIVE), 250, "automatic", id="own mail comes back"),
    ],
)
async def test_what_is_not_let_in_gets_nothing_and_leaves_a_row_and_an_audit_row(
    daemon: Daemon, message: EmailMessage, code: int, reason: str
) -> None:
    assert await submit(daemon, message) == code
    known = await ask(daemon, mail(RUNWAY))
    await daemon.settled()
    assert [one["Message-ID"] for one in maildir(daemon.data / "maildir")] == [known["Message-ID"]]
    (row,) = rows(daemon.data, "SELECT * FROM inbox WHERE state = 'refused'")
    assert (row["reason"], row["turn_id"]) == (reason, None)
    assert len(audited(daemon.data, "message_refused")) == 1
    assert len(audited(daemon.data, "turn_started")) == 1


async def test_two_executives_that_answer_each_other_stop_at_once(daemon: Daemon) -> None:
    first = await ask(daemon, mail(RUNWAY))
    for back in range(3):
        again = mail("> " + body_of(first), answers=first, Auto_Submitted="auto-replied", X_Round=str(back))
        assert await submit(daemon, again, envelope="") == 250
    await daemon.settled()
    assert len(maildir(daemon.data / "maildir")) == 1
    assert len(rows(daemon.data, "SELECT 1 FROM inbox WHERE state = 'refused'")) == 3


async def test_a_mail_of_20_mb_is_taken_from_a_known_sender_and_leaves_nothing_of_a_stranger(daemon: Daemon) -> None:
    def large(sender: str) -> EmailMessage:
        message = mail(RUNWAY, sender)
        message.add_attachment(b"x" * 14_500_000, maintype="application", subtype="octet-stream", filename="big.bin")
        assert len(message.as_bytes()) > 19_500_000
        return message

    assert await submit(daemon, large("mallory@company.example")) == 550
    blobs = daemon.data / "blobs"
    assert not any(path.is_file() for path in blobs.rglob("*"))
    await ask(daemon, large(PRINCIPAL))
    await daemon.settled()
    assert len(maildir(daemon.data / "maildir")) == 1
    states = rows(daemon.data, "SELECT state FROM inbox ORDER BY seq")
    assert [row["state"] for row in states] == ["refused", "answered"]


@pytest.mark.case(109)
async def test_case_109_a_mail_over_the_limit_is_refused_once_and_the_next_one_is_answered(daemon: Daemon) -> None:
    async with RawClient(await daemon.smtp_port(), timeout=60) as client:
        content = b"Subject: x\r\n\r\n" + (b"y" * 998 + b"\r\n") * 27_000 + b".\r\n"
        assert (await client.transact(PRINCIPAL.encode(), EXECUTIVE.encode(), content))[:3] == "552"
    await ask(daemon, mail(RUNWAY))


@pytest.mark.parametrize(
    "broken",
    [
        b"Content-Type: text/plain; name*\r\n\r\nItem 1\r\n",
        b"To: (c):\r\nMessage-ID: <[a@example.com]>\r\n\r\nItem 1\r\n",
        b"Subject: =?x-nope?B?aGk=?=\r\nContent-Type: text/plain; charset=x-made-up\r\n\r\nItem 1\r\n",
        b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c",
        b"Content-Type: multipart/mixed\r\nContent-Transfer-Encoding: base64\r\n\r\n%%%not base64\r\n",
        b"\xff\xfe: \x00\r\n\r\n\x80\x81\r\n",
    ],
    ids=["name*", "bad To", "charsets", "cut multipart", "no boundary", "bytes"],
)
@pytest.mark.case(88)
@pytest.mark.case(89)
@pytest.mark.case(90)
async def test_case_88_case_89_case_90_broken_mime_never_stops_the_next_mail_and_is_kept(
    daemon: Daemon, broken: bytes
) -> None:
    async with RawClient(await daemon.smtp_port(), timeout=60) as client:
        content = b"From: %b\r\n%b\r\n.\r\n" % (PRINCIPAL.encode(), broken)
        reply = await client.transact(PRINCIPAL.encode(), EXECUTIVE.encode(), content)
        assert reply[:3] in ("250", "550")
    await ask(daemon, mail(RUNWAY))
    await daemon.settled()
    kept = rows(daemon.data, "SELECT state FROM inbox ORDER BY seq")
    assert len(kept) == 2
    assert kept[0]["state"] in ("answered", "refused")


async def test_the_embedded_default_holds_no_library_of_what_is_switched_off(home: Path) -> None:
    modules = home / "modules"
    async with running(base_settings(home / "data"), home, "email", launcher={"E2E_MODULES": str(modules)}) as daemon:
        await ask(daemon, mail(RUNWAY))
        await daemon.settled()
        daemon.signal(signal.SIGUSR1)
        await daemon.line("modules written")
    names = modules.read_text(encoding="utf-8").split()
    assert "bot.app" in names
    assert "channels.email.adapter" in names
    foreign = {"telegram", "anthropic", "httpx", "alembic", "aiosmtplib", "slack_sdk", "discord", "chromadb"}
    assert foreign.isdisjoint(name.partition(".")[0] for name in names)
    assert "channels.telegram" not in names
    unasked = ("memory", "ledger", "schedule", "knowledge", "backup", "export", "sessions", "tasks", "tokens")
    assert not {f"bot.control.ops_{room}" for room in unasked} & set(names)
