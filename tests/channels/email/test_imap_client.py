"""The client against the protocol-level server: syntax, faults, and what the server says unasked."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.kernel.supervise import cancel, start
from channels.email.imap_client import ImapClient, LoginRefusedError, LostError, RefusedError
from channels.email.imap_wire import Line, mailbox_name, quoted, read_line
from tests.fakes.faults import Answer, CutAfter, CutBefore, Delay
from tests.fakes.imap import FakeImap

USER, PASSWORD = "executive@bot.example", "pass word"
RAW = b"From: ann@corp.example\r\n\r\nHello {3}\r\n.\r\nA2 OK\r\n"
AT = datetime(2026, 11, 3, 4, 5, 6, tzinfo=UTC)


async def connected(fake: FakeImap, timeout: float = 10.0, max_literal: int = 1_000_000) -> ImapClient:
    tls = fake.client_context() if fake.security != "none" else None
    security: Any = fake.security
    host = "localhost" if tls else fake.host
    return await ImapClient.connect(host, fake.port, security, timedelta(seconds=timeout), max_literal, tls)


@asynccontextmanager
async def opened(fake: FakeImap, **more: Any) -> AsyncIterator[ImapClient]:
    client = await connected(fake, **more)
    try:
        await client.login(USER, PASSWORD)
        await client.select("INBOX")
        yield client
    finally:
        await client.close()


async def never() -> None:
    await asyncio.get_running_loop().create_future()


@pytest.mark.parametrize("security", ["none", "tls", "starttls"])
async def test_message_comes_as_it_is_stored(security: str) -> None:
    async with FakeImap(security=security) as fake:
        fake.world.deliver(RAW, at=AT)
        async with opened(fake) as client:
            (facts,) = await client.facts(await client.search("ALL"))
            assert (facts.uid, facts.size, facts.arrived) == (1, len(RAW), AT)
            assert await client.fetch(1) == RAW
            assert await client.fetch(1, header_only=True) == b"From: ann@corp.example\r\n\r\n"
            assert await client.fetch(9) is None
            assert await client.facts([9]) == ()
            await client.logout()
        assert fake.world.folders["INBOX"].messages[0].flags == set()


async def test_certificate_of_a_stranger_is_refused() -> None:
    async with FakeImap(security="tls") as fake:
        with pytest.raises(LostError, match="certificate"):
            await ImapClient.connect("localhost", fake.port, "tls", timedelta(seconds=5), 1, None)


async def test_password_is_not_sent_before_encryption() -> None:
    async with FakeImap(security="starttls") as fake:
        client = await connected(fake)
        await client.login(USER, PASSWORD)
        await client.close()
        verbs = [entry.endpoint for entry in fake.requests]
        assert verbs.index("STARTTLS") < verbs.index("LOGIN")


@pytest.mark.parametrize("password", ['quo"te\\back', "pässword", "p{5}", " ", "line\nbreak"])
async def test_any_password_is_carried(password: str) -> None:
    async with FakeImap(users={USER: password}) as fake:
        client = await connected(fake)
        await client.login(USER, password)
        await client.close()


async def test_wrong_password_and_wrong_token_are_said_at_once() -> None:
    async with FakeImap(tokens={USER: "good"}) as fake:
        client = await connected(fake)
        with pytest.raises(LoginRefusedError, match="Invalid credentials"):
            await client.login(USER, "wrong")
        with pytest.raises(LoginRefusedError, match="AUTHENTICATE failed"):
            await client.login_by_token(USER, "bad")
        await client.login_by_token(USER, "good")
        await client.close()


async def test_token_without_initial_response() -> None:
    async with FakeImap(tokens={USER: "good"}, without=("SASL-IR",)) as fake:
        client = await connected(fake)
        with pytest.raises(LoginRefusedError):
            await client.login_by_token(USER, "bad")
        await client.login_by_token(USER, "good")
        await client.close()


async def test_server_that_is_out_of_order_is_not_a_wrong_password() -> None:
    async with FakeImap() as fake:
        fake.faults.plan("LOGIN", Answer(400, "NO [UNAVAILABLE] try later"))
        client = await connected(fake)
        with pytest.raises(RefusedError, match="try later"):
            await client.login(USER, PASSWORD)
        await client.close()


@pytest.mark.parametrize("without", [(), ("MOVE",), ("MOVE", "UIDPLUS")])
async def test_move_into_a_folder_that_is_made(without: tuple[str, ...]) -> None:
    async with FakeImap(without=without) as fake:
        for number in range(3):
            fake.world.deliver(b"n: %d\r\n\r\n" % number)
        fake.world.folders["INBOX"].messages[2].flags.add("\\Deleted")  # somebody else's deletion
        async with opened(fake) as client:
            await client.move(2, "Exécutif & Co")
        assert fake.world.contents(mailbox_name("Exécutif & Co")) == [b"n: 1\r\n\r\n"]
        assert fake.world.uids() == ([1, 2, 3] if "UIDPLUS" in without else [1, 3])
        if "UIDPLUS" in without:
            assert fake.world.folders["INBOX"].messages[1].flags == {"\\Deleted"}


async def test_append_into_a_folder_that_is_made() -> None:
    async with FakeImap() as fake:
        async with opened(fake) as client:
            await client.append("Sent", RAW)
            await client.append("Sent", RAW)
        assert fake.world.contents("Sent") == [RAW, RAW]
        assert fake.world.folders["Sent"].messages[0].flags == {"\\Seen"}


async def test_refusal_leaves_the_connection_usable() -> None:
    async with FakeImap() as fake, opened(fake) as client:
        fake.faults.plan("UID MOVE", Answer(400, "NO [OVERQUOTA] full"))
        with pytest.raises(RefusedError, match="full") as caught:
            await client.move(1, "x")
        assert caught.value.code == "OVERQUOTA"
        await client.noop()


async def test_many_messages_in_one_answer() -> None:
    async with FakeImap() as fake:
        for _ in range(5_000):
            fake.world.deliver(b"a: b\r\n\r\n")
        async with opened(fake) as client:
            uids = await client.search("ALL")
            assert len(uids) == 5_000
            assert len(await client.facts(uids)) == 5_000


async def test_idle_ends_with_new_mail_or_with_time() -> None:
    async with FakeImap() as fake, opened(fake) as client:
        waiting = start("idle", client.idle(never()))
        await fake.requests.wait(1, "IDLE")
        fake.world.deliver(RAW)
        async with asyncio.timeout(10):
            await waiting
        assert client.changed
        client.changed = False
        await client.idle(asyncio.sleep(0))
        assert not client.changed
        await client.noop()


async def test_mail_announced_during_another_command_is_not_lost() -> None:
    async with FakeImap() as fake, opened(fake) as client:
        client.changed = False
        fake.world.deliver(RAW)  # told with the next answer, whatever it is
        await client.search("ALL")
        assert client.changed


@pytest.mark.parametrize("fault", [CutBefore(), CutAfter()])
async def test_a_cut_is_told_at_once(fault: CutBefore | CutAfter) -> None:
    async with FakeImap() as fake, opened(fake, timeout=60) as client:
        fake.faults.plan("NOOP", fault)
        async with asyncio.timeout(10):
            with pytest.raises(LostError, match="broke"):
                await client.noop()
            with pytest.raises(LostError):
                await client.noop()


async def test_bye_is_told_with_its_words_even_while_idling() -> None:
    async with FakeImap() as fake, opened(fake, timeout=60) as client:
        waiting = start("idle", client.idle(never()))
        await fake.requests.wait(1, "IDLE")
        fake.bye("Too many connections")
        async with asyncio.timeout(10):
            with pytest.raises(LostError, match="Too many connections"):
                await waiting


async def test_connection_that_is_silently_gone_is_probed_for() -> None:
    async with FakeImap() as fake, opened(fake) as client:
        connection = client._writer.get_extra_info("socket")
        assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        idle, every, times = (
            connection.getsockopt(socket.IPPROTO_TCP, option)
            for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
        )
        assert idle + every * times <= 60


async def test_silent_server_is_given_up() -> None:
    async with FakeImap() as fake, opened(fake, timeout=0.2) as client:
        fake.faults.plan("NOOP", Delay(gate="never"))
        with pytest.raises(LostError, match="does not answer"):
            await client.noop()


async def test_server_that_does_not_greet(unused_tcp_port: int) -> None:
    async with FakeImap() as fake:
        fake.faults.plan("CONNECT", Answer(400, "BYE too many connections"))
        with pytest.raises(LostError, match="too many connections"):
            await connected(fake)
    with pytest.raises(LostError, match="cannot be reached"):
        await ImapClient.connect("127.0.0.1", unused_tcp_port, "none", timedelta(seconds=5), 1, None)


async def test_literal_larger_than_asked_for_is_not_read() -> None:
    async with FakeImap() as fake:
        fake.world.deliver(b"x" * 2_000)
        async with opened(fake, max_literal=1_000) as client:
            with pytest.raises(LostError, match="2000 bytes"):
                await client.fetch(1)


async def test_cancelled_wait_leaves_nothing_behind() -> None:
    async with FakeImap() as fake:
        async with opened(fake) as client:
            waiting = start("idle", client.idle(never()))
            await fake.requests.wait(1, "IDLE")
            await cancel(waiting)
        assert {task.get_name() for task in asyncio.all_tasks()} & {
            "imap reader",
            "imap idle",
            "imap idle timer",
        } == set()


@pytest.mark.parametrize(
    ("text", "wire"),
    [("INBOX", "INBOX"), ("A&B", "A&-B"), ("Entwürfe", "Entw&APw-rfe"), ("日本語", "&ZeVnLIqe-"), ("😀", "&2D3eAA-")],
)
def test_folder_names_in_modified_utf7(text: str, wire: str) -> None:
    assert mailbox_name(text) == wire


@given(st.text())
def test_a_quoted_string_is_one_line_and_can_be_read_back(text: str) -> None:
    wire = quoted(text)
    if wire is None:
        assert not text.isascii() or set(text) & set("\0\r\n")
    else:
        assert not set(wire) & set(b"\r\n")
        assert wire[1:-1].replace(b'\\"', b'"').replace(b"\\\\", b"\\").decode() == text or "\\" in text


@given(st.lists(st.binary(max_size=40), max_size=3))
async def test_literals_of_any_bytes_are_read_whole(literals: list[bytes]) -> None:
    reader = asyncio.StreamReader()
    for literal in literals:
        reader.feed_data(b"* 1 FETCH X {%d}\r\n" % len(literal) + literal)
    reader.feed_data(b" end)\r\nA1 OK\r\n")
    line = await read_line(reader, 100)
    assert line.literals == tuple(literals)
    assert line.text.endswith(b" end)")
    assert await read_line(reader, 100) == Line(b"A1 OK")


def test_small_bodies_may_be_quoted_or_nil() -> None:
    assert Line(rb'* 1 FETCH (UID 1 BODY[] "a\"b")').body() == b'a"b'
    assert Line(b"* 1 FETCH (UID 1 BODY[] NIL)").body() == b""
