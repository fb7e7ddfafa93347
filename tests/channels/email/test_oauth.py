"""Login by device code and by refreshed tokens, against a provider on loopback."""

from __future__ import annotations

import asyncio
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.gateway.channel import NotReadyError
from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.supervise import start
from channels.email import oauth
from channels.email.oauth import AccessTokens, Grant, ProviderError
from channels.email.relay import RelaySender
from config.schema import OAuth, Relay
from tests.channels.email.mailbox import ANN, ME, idle, reading_slowly, signed, texts
from tests.channels.email.support import Roster
from tests.channels.support import START, HandClock
from tests.fakes.faults import Answer, CutBefore
from tests.fakes.imap import FakeImap
from tests.fakes.oauth import FakeOAuth
from tests.fakes.smtp import SmtpSink


def settings(fake: FakeOAuth, **more: Any) -> OAuth:
    given = {
        "client_id": "client",
        "device_url": f"{fake.url}/device",
        "token_url": f"{fake.url}/token",
        "scope": "imap smtp",
    }
    return OAuth.model_validate(given | more)


def stored(tmp_path: Path, access: str = "access-0", left: timedelta = timedelta(hours=1)) -> Path:
    path = oauth.token_file(tmp_path)
    oauth.save(path, Grant(access, START + left, "refresh-0"))
    return path


async def test_person_types_the_code_and_the_login_is_there(tmp_path: Path) -> None:
    clock = HandClock()
    async with FakeOAuth() as fake:
        device = await oauth.begin(settings(fake, client_secret="s3cret"))
        assert (device.code, device.interval) == ("WDJB-MJHT", timedelta(seconds=5))
        assert device.url.endswith("/activate")
        waiting = start("login", oauth.finish(settings(fake), device, clock))
        for _ in range(2):
            assert await clock.skip() == timedelta(seconds=5)
        await fake.requests.wait(2, "token")
        fake.allow()
        await clock.skip()
        grant = await waiting
        first = fake.requests.of("device")[0].body
        assert (first["client_secret"], first["scope"]) == ("s3cret", "imap smtp")
    assert (grant.access_token, grant.refresh_token) == ("access-1", "refresh-1")
    assert grant.expires_at == clock.now() + timedelta(hours=1)
    path = oauth.token_file(tmp_path)
    oauth.save(path, grant)
    assert oauth.load(path) == grant
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert os.stat(path.parent).st_mode & 0o777 == 0o700
    assert list(path.parent.iterdir()) == [path]
    assert "access-1" not in repr(grant)
    assert "refresh-1" not in repr(grant)


async def test_provider_that_asks_to_slow_down_or_is_away_is_asked_less_often(tmp_path: Path) -> None:
    clock = HandClock()
    async with FakeOAuth() as fake:
        device = await oauth.begin(settings(fake))
        fake.faults.plan("token", Answer(400, "slow_down"))
        fake.faults.plan("token", CutBefore())
        fake.faults.plan("token", Answer(503))
        fake.allow()
        waiting = start("login", oauth.finish(settings(fake), device, clock))
        waits = [await clock.skip() for _ in range(4)]
        await waiting
    assert [wait.total_seconds() for wait in waits] == [5, 10, 20, 40]


@pytest.mark.parametrize(
    ("answer", "words"), [("access_denied", "refused in the browser"), ("expired_token", "not used in time")]
)
async def test_login_that_comes_to_nothing(answer: str, words: str) -> None:
    clock = HandClock()
    async with FakeOAuth() as fake:
        device = await oauth.begin(settings(fake))
        fake.answer = answer
        waiting = start("login", oauth.finish(settings(fake), device, clock))
        await clock.skip()
        with pytest.raises(PermanentError, match=words):
            await waiting


async def test_code_that_nobody_types_ends(tmp_path: Path) -> None:
    clock = HandClock()
    async with FakeOAuth() as fake:
        device = await oauth.begin(settings(fake))
        waiting = start("login", oauth.finish(settings(fake), device, clock))
        await clock.sleeper()
        clock.advance(timedelta(minutes=16))
        with pytest.raises(PermanentError, match="not used in time"):
            await waiting


async def test_wrong_client_is_said_without_the_providers_words() -> None:
    async with FakeOAuth(client_id="other") as fake:
        with pytest.raises(ProviderError, match="invalid_client") as caught:
            await oauth.begin(settings(fake))
    assert "secret details" not in str(caught.value)


@pytest.mark.parametrize("rotate", [False, True])
async def test_token_is_renewed_before_its_end_and_kept(tmp_path: Path, rotate: bool) -> None:
    clock = HandClock()
    async with FakeOAuth(rotate=rotate) as fake:
        fake.refresh_tokens.add("refresh-0")
        path = stored(tmp_path)
        access = AccessTokens(settings(fake), path, clock)
        assert await access.get() == "access-0"
        clock.advance(timedelta(minutes=59))
        got = await asyncio.gather(*(access.get() for _ in range(5)))
        assert set(got) == {"access-1"}
        assert fake.requests.count("token") == 1
        kept = oauth.load(path)
        assert kept is not None
        assert kept.refresh_token == ("refresh-1" if rotate else "refresh-0")
        clock.advance(timedelta(hours=2))
        assert await AccessTokens(settings(fake), path, clock).get() == "access-2"


async def test_who_must_act_is_told_what_to_do(tmp_path: Path) -> None:
    clock = HandClock()
    async with FakeOAuth() as fake:
        path = oauth.token_file(tmp_path)
        access = AccessTokens(settings(fake), path, clock)
        with pytest.raises(PermanentError, match="openexecutive mail login"):
            await access.get()
        stored(tmp_path, left=timedelta())
        with pytest.raises(PermanentError, match=r"no longer valid \(invalid_grant\)"):
            await access.get()
        fake.faults.plan("token", Answer(503))
        with pytest.raises(TransientError, match="503"):
            await access.get()
        fake.faults.plan("token", CutBefore())
        with pytest.raises(TransientError, match="cannot be reached"):
            await access.get()
        oauth.save(path, Grant("access", START, None))
        with pytest.raises(PermanentError, match="has ended"):
            await access.get()
        path.write_text("{}")
        with pytest.raises(PermanentError, match="cannot be read"):
            await access.get()
        path.unlink()
        path.mkdir()
        with pytest.raises(TransientError, match="cannot be stored"):
            oauth.save(path, Grant("a", START, None))


async def test_mailbox_and_relay_log_in_by_token(tmp_path: Path) -> None:
    inbox = Roster([ANN])
    async with FakeOAuth() as provider, FakeImap(tokens={ME: "access-1"}) as fake:
        provider.refresh_tokens.add("refresh-0")
        clock = HandClock()
        stored(tmp_path, left=timedelta())
        more = {"auth": "oauth", "password": None}
        async with reading_slowly(tmp_path, fake, inbox, oauth=settings(provider).model_dump(), **more) as channel:
            await idle(fake)
            fake.world.deliver(signed("x"), at=START)
            await idle(fake, 2)
            assert channel.channel.health().receiving
        assert texts(inbox) == ["x"]
        async with SmtpSink(tokens={ME: "access-1"}) as sink:
            relay = Relay.model_validate(
                {"host": "127.0.0.1", "port": sink.port, "security": "none", "auth": "oauth", "username": ME}
            )
            access = AccessTokens(settings(provider), oauth.token_file(tmp_path), clock)
            await RelaySender(relay, "localhost", access_token=access.get).deliver(ME, ANN, b"a: b\r\n\r\nx\r\n")
            assert next(iter(sink.mails)).body["user"] == ME
            sink.tokens = {}
            with pytest.raises(NotReadyError, match="mail login"):
                await RelaySender(relay, "localhost", access_token=access.get).deliver(ME, ANN, b"a: b\r\n\r\nx\r\n")
            oauth.token_file(tmp_path).unlink()
            with pytest.raises(NotReadyError, match="nobody has logged in"):
                await RelaySender(relay, "localhost", access_token=access.get).deliver(ME, ANN, b"a: b\r\n\r\nx\r\n")
            assert sink.requests.count("AUTH") == 2


async def test_mailbox_without_a_login_says_so_and_opens_after_it(tmp_path: Path) -> None:
    async with FakeOAuth() as provider, FakeImap(tokens={ME: "access-0"}) as fake:
        more: dict[str, Any] = {"auth": "oauth", "password": None, "oauth": settings(provider).model_dump()}
        async with reading_slowly(tmp_path, fake, Roster([ANN]), **more) as channel:
            await channel.bench.clock.sleeper()
            assert "run `openexecutive mail login`" in (channel.channel.health().reason or "")
            stored(tmp_path)
            channel.bench.clock.advance(timedelta(minutes=1))
            await channel.bench.ready()
            assert channel.channel.health().receiving
