"""The fake is held against two clients that know nothing of it: the standard library's and aioimaplib."""

from __future__ import annotations

import asyncio
import imaplib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import aiohttp
import aioimaplib
import pytest

from tests.fakes.control import running_imap, running_oauth
from tests.fakes.faults import Answer
from tests.fakes.imap import FakeImap
from tests.fakes.oauth import DEVICE_GRANT

USER, PASSWORD = "executive@bot.example", "pass word"
RAW = b"From: ann@corp.example\r\nSubject: Hi (you)\r\n\r\nbody {5}\r\n)\r\n"
T = TypeVar("T")


async def by_stdlib(fake: FakeImap, work: Callable[[imaplib.IMAP4], T]) -> T:
    def run() -> T:
        with imaplib.IMAP4(fake.host, fake.port, timeout=10) as client:
            return work(client)

    return await asyncio.to_thread(run)


async def test_the_standard_librarys_client_reads_and_moves() -> None:
    async with FakeImap() as fake:
        fake.world.deliver(RAW, at=datetime(2026, 11, 3, 4, 5, 6, tzinfo=UTC))

        def work(client: imaplib.IMAP4) -> list[Any]:
            client.login(USER, PASSWORD)
            client.select()
            (size, body), end = client.uid("FETCH", "1", "(UID RFC822.SIZE INTERNALDATE BODY.PEEK[])")[1]
            assert isinstance(size, bytes)
            assert client.response("UIDVALIDITY")[1] == [str(fake.world.folders["INBOX"].validity).encode()]
            assert client.uid("COPY", "1", "Done")[0] == "NO"
            client.create("Done")
            assert client.uid("MOVE", "1", "Done")[0] == "OK"
            client.append("Done", "", imaplib.Time2Internaldate(0), b"x: y\r\n\r\n")
            return [size, body, end, client.uid("SEARCH", "ALL")[1]]

        size, body, _, left = await by_stdlib(fake, work)
        assert body == RAW
        assert b'INTERNALDATE " 3-Nov-2026 04:05:06 +0000"' in size
        assert left == [b""]
        assert fake.world.contents("Done") == [RAW, b"x: y\r\n\r\n"]
        assert fake.world.folders["Done"].messages[0].flags == set()


async def test_the_standard_librarys_client_logs_in_by_token() -> None:
    def token(text: str) -> Callable[[imaplib.IMAP4], str]:
        def work(client: imaplib.IMAP4) -> str:
            return client.authenticate("XOAUTH2", lambda _: f"user={USER}\1auth=Bearer {text}\1\1".encode())[0]

        return work

    async with FakeImap(tokens={USER: "good"}, without=("SASL-IR",)) as fake:
        assert await by_stdlib(fake, token("good")) == "OK"
        with pytest.raises(imaplib.IMAP4.error, match="AUTHENTICATIONFAILED"):
            await by_stdlib(fake, token("bad"))


async def test_wrong_password() -> None:
    async with FakeImap() as fake:
        with pytest.raises(imaplib.IMAP4.error, match="Invalid credentials"):
            await by_stdlib(fake, lambda client: client.login(USER, "wrong"))


async def test_aioimaplib_is_told_of_new_mail_while_it_idles() -> None:
    async with FakeImap() as fake:
        client = aioimaplib.IMAP4(fake.host, fake.port)
        await client.wait_hello_from_server()
        await client.login(USER, PASSWORD)
        await client.select()
        idle = await client.idle_start()
        fake.world.deliver(RAW)
        assert await client.wait_server_push(10) == [b"1 EXISTS"]
        client.idle_done()
        await idle
        found = await client.uid("fetch", "1", "BODY.PEEK[]")
        assert bytes(found.lines[1]) == RAW
        fake.world.rebuild()
        again = await client.select()
        assert any(b"UIDVALIDITY %d" % fake.world.folders["INBOX"].validity in line for line in again.lines)
        await client.logout()


@pytest.mark.parametrize("without", [(), ("UIDPLUS",)])
async def test_deletion_is_by_flag_and_expunge(without: tuple[str, ...]) -> None:
    async with FakeImap(without=without) as fake:
        for _ in range(3):
            fake.world.deliver(RAW)

        def work(client: imaplib.IMAP4) -> None:
            client.login(USER, PASSWORD)
            client.select()
            client.uid("STORE", "1,2", "+FLAGS", "(\\Deleted)")
            if without:
                client.expunge()
            else:
                client.uid("EXPUNGE", "2:3")

        await by_stdlib(fake, work)
        assert fake.world.uids() == ([3] if without else [1, 3])


async def test_the_fake_runs_as_a_process_of_its_own() -> None:
    async with running_imap("--user", "a:b") as fake:

        def work() -> bytes:
            with imaplib.IMAP4("127.0.0.1", fake.port, timeout=10) as client:
                client.login("a", "b")
                client.select()
                return bytes(client.uid("FETCH", "1", "(BODY.PEEK[])")[1][0][1])

        assert await fake.deliver(RAW, at="2026-11-03T04:05:06+00:00") == 1
        assert await asyncio.to_thread(work) == RAW
        await fake.act("rebuild")
        (message,) = await fake.folder()
        assert message["uid"] == 100
        assert [entry.endpoint for entry in await fake.requests("UID FETCH")] == ["UID FETCH"]
        await fake.plan("LOGIN", Answer(400, "NO not now"))
        with pytest.raises(imaplib.IMAP4.error, match="not now"):
            await asyncio.to_thread(work)


async def test_the_provider_of_logins_runs_as_a_process_of_its_own() -> None:
    async with running_oauth() as fake, aiohttp.ClientSession(fake.url) as session:
        form = {"client_id": "client", "grant_type": DEVICE_GRANT, "device_code": "device-code"}
        async with session.post("/token", data=form) as reply:
            assert (await reply.json())["error"] == "authorization_pending"
        await fake.answer("allow")
        async with session.post("/token", data=form) as reply:
            assert (await reply.json())["access_token"] == "access-1"
