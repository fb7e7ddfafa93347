"""How the server behaves on the wire, with raw bytes."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
import trustme

from bot.gateway.channel import Accepted, Cursor
from bot.gateway.events import InboundEvent, MessageReceived
from channels.email import server
from tests.channels.email.harness import running
from tests.channels.inbox import MemoryInbox
from tests.fakes.mailer import RawClient, send_mail

ME, YOU = b"principal@localhost", b"executive@localhost"
HEAD = b"From: principal@localhost\r\nTo: executive@localhost\r\nSubject: s\r\nMessage-ID: <1@localhost>\r\n\r\n"


def texts(inbox: MemoryInbox) -> list[str]:
    return [e.body.text for e in inbox.events if isinstance(e, MessageReceived)]


class Broken(MemoryInbox):
    """Accepting fails as a bug does, the first time."""

    bugs = 1

    async def accept(self, events: Sequence[InboundEvent], cursor: Cursor | None = None) -> Sequence[Accepted]:
        if self.bugs:
            self.bugs -= 1
            raise ZeroDivisionError("secret internals at /data/store.db")
        return await super().accept(events, cursor)


@pytest.mark.case(108)
async def test_case_108_a_bug_is_a_passing_fault_with_fixed_words(tmp_path: Path) -> None:
    inbox = Broken()
    async with running(tmp_path, inbox) as mail, RawClient(mail.port) as client:
        assert await client.transact(ME, YOU, HEAD + b"x\r\n.\r\n") == server.LATER
        assert await client.transact(ME, YOU, HEAD + b"x\r\n.\r\n") == server.OK
    assert texts(inbox) == ["x"]


@pytest.mark.case(108)
async def test_case_108_full_disk_is_a_passing_fault(tmp_path: Path) -> None:
    inbox = MemoryInbox()
    inbox.fail(2)
    async with running(tmp_path, inbox) as mail, RawClient(mail.port) as client:
        for expected in (server.LATER, server.LATER, server.OK, server.OK):
            assert await client.transact(ME, YOU, HEAD + b"x\r\n.\r\n") == expected
    assert texts(inbox) == ["x"]


@pytest.mark.case(108)
async def test_case_108_accepted_is_said_only_after_the_commit(tmp_path: Path) -> None:
    class Slow(MemoryInbox):
        def __init__(self) -> None:
            super().__init__()
            self.reached, self.release = asyncio.Event(), asyncio.Event()

        async def accept(self, events: Sequence[InboundEvent], cursor: Cursor | None = None) -> Sequence[Accepted]:
            self.reached.set()
            await self.release.wait()
            return await super().accept(events, cursor)

    inbox = Slow()
    async with running(tmp_path, inbox) as mail, RawClient(mail.port, timeout=0.2) as client:
        with pytest.raises(TimeoutError):
            await client.transact(ME, YOU, HEAD + b"x\r\n.\r\n")
        assert inbox.reached.is_set()
        inbox.release.set()
        await inbox.wait()
        client._timeout = 10.0
        assert await client.reply() == server.OK


@pytest.mark.case(109)
async def test_case_109_too_large_gets_one_answer_after_the_final_dot(tmp_path: Path) -> None:
    inbox = MemoryInbox()
    async with running(tmp_path, inbox, smtp={"max_size": 65_536}) as mail, RawClient(mail.port) as client:
        assert await client.transact(ME, YOU, HEAD + b"x" * 70 * 1024 + b"\r\n.\r\n") == server.TOO_LARGE
        assert await client.command(b"NOOP") == "250 OK"
        assert await client.transact(ME, YOU, HEAD + b"line\r\n" * 20_000 + b".\r\n") == server.TOO_LARGE
        assert await client.transact(ME, YOU, HEAD + b"small\r\n.\r\n") == server.OK
    assert texts(inbox) == ["small"]


@pytest.mark.case(109)
async def test_case_109_declared_size_is_refused_before_the_text(tmp_path: Path) -> None:
    async with running(tmp_path, MemoryInbox(), smtp={"max_size": 65_536}) as mail, RawClient(mail.port) as client:
        assert "250-SIZE 65536" in await client.command(b"EHLO x")
        assert (await client.command(b"MAIL FROM:<%b> SIZE=70000" % ME)).startswith("552")


@pytest.mark.case(109)
@pytest.mark.parametrize("length", [999, 1_500, 70_000, 190_000])
async def test_case_109_long_lines_are_taken(tmp_path: Path, length: int) -> None:
    inbox = MemoryInbox()
    async with running(tmp_path, inbox) as mail, RawClient(mail.port) as client:
        body = b"a" * length + b"\r\n." + b"." + b"b" * length + b"\r\nend\r\n.\r\n"
        assert await client.transact(ME, YOU, HEAD + body) == server.OK
    assert texts(inbox) == ["a" * length + "\n." + "b" * length + "\nend"]


@pytest.mark.case(110)
@pytest.mark.parametrize("end", [b"\n.\n", b"\n.\r\n", b"\r.\r", b"\r\n.\n", b"\r\n.\r", b"\r.\r\n", b"\0\r\n.\0\r\n"])
async def test_case_110_only_crlf_dot_crlf_ends_the_text(tmp_path: Path, end: bytes) -> None:
    inbox = MemoryInbox()
    smuggled = (
        b"MAIL FROM:<boss@localhost>\r\nRCPT TO:<executive@localhost>\r\nDATA\r\nFrom: boss@localhost\r\n\r\nforged\r\n"
    )
    async with running(tmp_path, inbox) as mail, RawClient(mail.port) as client:
        assert await client.transact(ME, YOU, HEAD + b"x" + end + smuggled + b".\r\n") == server.OK
        assert await client.command(b"NOOP") == "250 OK"
    (text,) = texts(inbox)
    assert "forged" in text
    (event,) = inbox.events
    assert isinstance(event, MessageReceived)
    assert event.sender.address == "principal@localhost"


@pytest.mark.case(110)
async def test_case_110_dots_are_undoubled_once(tmp_path: Path) -> None:
    inbox = MemoryInbox()
    async with running(tmp_path, inbox) as mail, RawClient(mail.port) as client:
        assert await client.transact(ME, YOU, HEAD + b"..\r\n...two\r\n.one\r\n a.\r\n.\r\n") == server.OK
        assert await client.transact(ME, YOU, b".\r\n") == server.OK
    assert texts(inbox)[0] == ".\n..two\none\n a."


@pytest.mark.case(111)
async def test_case_111_eight_bit_text_is_kept_as_bytes(tmp_path: Path) -> None:
    inbox = MemoryInbox()
    async with running(tmp_path, inbox) as mail, RawClient(mail.port) as client:
        assert "8BITMIME" in await client.command(b"EHLO x")
        content = b"Content-Type: text/plain; charset=utf-8\r\n" + HEAD + "grüße 朱".encode() + b"\r\n.\r\n"
        assert await client.transact(ME, YOU, content) == server.OK
        (event,) = inbox.events
        assert isinstance(event, MessageReceived)
        assert event.raw is not None
        assert await mail.bench.files.read(event.raw) == content.removesuffix(b".\r\n")
    assert texts(inbox) == ["grüße 朱"]


@pytest.mark.case(111)
@pytest.mark.parametrize(
    "junk",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\xff\xfe\xfd",
        b"\0\0\0",
        b"GET / HTTP/1.1",
        b"",
        b" ",
        b"A" * 3_000,
        b"A" * 200_000,
        b"VRFY \xff",
        b"MAIL FROM:<\xff@x>",
        b"RCPT TO:<\xff>",
        b"AUTH PLAIN AAAA",
        b"HELP \xff",
        b"\xf0\x9f\x98\x80",
    ],
)
async def test_case_111_random_bytes_before_ehlo_are_survived(tmp_path: Path, junk: bytes) -> None:
    inbox = MemoryInbox()
    async with running(tmp_path, inbox) as mail, RawClient(mail.port) as client:
        answer = await client.command(junk)
        assert answer[:1] in {"2", "4", "5"}
        assert "Error: (" not in answer
        assert await client.transact(ME, YOU, HEAD + b"x\r\n.\r\n") == server.OK
    assert texts(inbox) == ["x"]


@pytest.mark.case(111)
async def test_case_111_addresses_beyond_ascii(tmp_path: Path) -> None:
    async with running(tmp_path, MemoryInbox()) as mail, RawClient(mail.port) as client:
        assert "SMTPUTF8" in await client.command(b"EHLO x")
        assert await client.command(b"MAIL FROM:<\xff\xfe@corp.example> SMTPUTF8") == server.BAD_SENDER
        assert (await client.command("MAIL FROM:<jörg@corp.example> SMTPUTF8".encode())).startswith("250")
        assert await client.command(b"RCPT TO:<\xff@localhost>") == server.NO_SUCH_RECIPIENT
        assert (await client.command(b"RCPT TO:<%b>" % YOU)).startswith("250")


@pytest.mark.case(87)
@pytest.mark.parametrize("recipient", ["executive@localhost", "Executive+Notes@LOCALHOST", "executive+@localhost"])
async def test_case_87_recipient_with_a_tag_is_taken(tmp_path: Path, recipient: str) -> None:
    inbox = MemoryInbox()
    async with running(tmp_path, inbox) as mail, RawClient(mail.port) as client:
        assert await client.transact(ME, recipient.encode(), HEAD + b"x\r\n.\r\n") == server.OK
    assert len(inbox.events) == 1


@pytest.mark.case(87)
@pytest.mark.parametrize(
    "recipient", ["other@localhost", "executive@localhost.evil.example", "executive2@localhost", "+x@localhost"]
)
async def test_case_87_other_recipients_are_refused(tmp_path: Path, recipient: str) -> None:
    async with running(tmp_path, MemoryInbox()) as mail, RawClient(mail.port) as client:
        assert await client.transact(ME, recipient.encode(), b"") == server.NO_SUCH_RECIPIENT


async def test_login_is_not_offered_and_not_relayed(tmp_path: Path) -> None:
    async with running(tmp_path, MemoryInbox()) as mail, RawClient(mail.port) as client:
        assert "AUTH" not in await client.command(b"EHLO x")
        assert client.greeting == "220 localhost ESMTP OpenExecutive"


async def test_starttls_where_a_certificate_is_set(tmp_path: Path) -> None:
    ca = trustme.CA()
    certificate = ca.issue_cert("localhost")
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    chain.write_bytes(b"".join(blob.bytes() for blob in certificate.cert_chain_pems))
    key.write_bytes(certificate.private_key_pem.bytes())
    trust = ssl.create_default_context()
    ca.configure_trust(trust)
    inbox = MemoryInbox()
    async with running(tmp_path, inbox, smtp={"certificate": str(chain), "key": str(key)}) as mail:
        assert await send_mail(mail.port, HEAD + b"x\r\n", ME.decode(), tls_context=trust) == server.OK[4:]
        async with RawClient(mail.port) as client:
            assert "STARTTLS" in await client.command(b"EHLO x")
            assert await client.command(b"STARTTLS") == "220 Ready to start TLS"
            await client.send(b"this is no handshake\r\n" * 20)
        assert await send_mail(mail.port, HEAD + b"y\r\n", ME.decode()) == server.OK[4:]
    assert texts(inbox) == ["x", "y"]


async def test_text_that_is_sent_before_the_handshake_is_thrown_away(tmp_path: Path) -> None:
    ca = trustme.CA()
    certificate = ca.issue_cert("localhost")
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    chain.write_bytes(b"".join(blob.bytes() for blob in certificate.cert_chain_pems))
    key.write_bytes(certificate.private_key_pem.bytes())
    inbox = MemoryInbox()
    smtp = {"certificate": str(chain), "key": str(key)}
    async with running(tmp_path, inbox, smtp=smtp) as mail, RawClient(mail.port) as client:
        await client.command(b"EHLO x")
        await client.send(b"STARTTLS\r\nMAIL FROM:<a@b.example>\r\n")
        assert await client.reply() == "220 Ready to start TLS"
        await client.send(b"RCPT TO:<executive@localhost>\r\nDATA\r\n" + HEAD + b"x\r\n.\r\n")
        assert await client.reply() == ""
    assert inbox.events == []


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"EHLO x\r\nMAIL FROM:<a@b.example>\r\n",
        b"EHLO x\r\nMAIL FROM:<a@b.example>\r\nRCPT TO:<executive@localhost>\r\nDATA\r\nhalf a",
    ],
)
async def test_client_that_leaves_in_the_middle_leaves_nothing(tmp_path: Path, said: bytes) -> None:
    inbox = MemoryInbox()
    async with running(tmp_path, inbox) as mail:
        async with RawClient(mail.port) as client:
            await client.send(said)
        assert await send_mail(mail.port, HEAD + b"x\r\n", ME.decode()) == server.OK[4:]
    assert texts(inbox) == ["x"]


@asynccontextmanager
async def bare(**options: object) -> AsyncIterator[int]:
    """The server alone, with limits of the test."""

    async def deliver(delivery: server.Delivery) -> str:
        return server.OK

    connections = server.Connections()
    given = server.Options(**({"hostname": "localhost", "max_size": 65_536} | options))  # type: ignore[arg-type]
    handler = server.Handler(deliver, lambda address: True)
    listener = await asyncio.get_running_loop().create_server(
        lambda: server.SmtpConnection(handler, given, connections), "127.0.0.1", 0
    )
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()
        await connections.close(timedelta(seconds=5))


async def test_silent_client_is_let_go() -> None:
    async with bare(idle=timedelta(seconds=0.1)) as port, RawClient(port) as client:
        assert await client.reply() == ""


async def test_client_that_trickles_its_text_is_let_go() -> None:
    async with bare(text=timedelta(seconds=0.2)) as port, RawClient(port) as client:
        assert await client.transact(ME, YOU, HEAD + b"half a") == ""


async def test_too_many_connections_are_put_off() -> None:
    async with bare(max_connections=1) as port, RawClient(port) as first:
        assert first.greeting.startswith("220")
        async with RawClient(port) as second:
            assert second.greeting == server.BUSY


async def test_stopping_tells_idle_clients_and_frees_the_port(tmp_path: Path) -> None:
    async with running(tmp_path, MemoryInbox()) as mail:
        client = await RawClient(mail.port).__aenter__()
    assert await client.reply() == server.LEAVING
    assert await client.reply() == ""
    await client.__aexit__(None, None, None)
