from __future__ import annotations

import argparse
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.cli import mail, mail_login
from bot.kernel.errors import PermanentError
from bot.kernel.supervise import start
from config.schema import Settings
from tests.channels.support import HandClock
from tests.fakes.oauth import FakeOAuth


def settings(tmp_path: Path, fake: FakeOAuth | None = None, **imap: Any) -> Settings:
    oauth = {} if fake is None else {
        "client_id": "client", "device_url": f"{fake.url}/device", "token_url": f"{fake.url}/token", "scope": "s"
    }  # fmt: skip
    email = {"address": "e@example.org", "imap": {"host": "127.0.0.1"} | imap, "oauth": oauth}
    return Settings.model_validate({"data_dir": str(tmp_path / "data"), "channels": {"email": email}})


async def test_person_sees_address_and_code_and_the_login_is_stored(tmp_path: Path) -> None:
    clock, said = HandClock(), list[str]()
    async with FakeOAuth() as fake:
        waiting = start("login", mail_login.login(settings(tmp_path, fake, auth="oauth"), clock, said.append))
        await clock.skip()
        await clock.sleeper()
        fake.allow()
        clock.advance(timedelta(seconds=5))
        path = await waiting
    text = "\n".join(said)
    assert "WDJB-MJHT" in text
    assert "/activate" in text
    assert "channels.email.imap" in text
    assert "access-1" not in text
    assert path.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700
    assert "access-1" in path.read_text()


async def test_nothing_to_log_in_for(tmp_path: Path) -> None:
    with pytest.raises(PermanentError, match="auth = "):
        await mail_login.login(settings(tmp_path, password="p"), HandClock(), print)
    assert not (tmp_path / "data").exists()


async def test_login_that_is_refused_leaves_nothing(tmp_path: Path) -> None:
    clock = HandClock()
    async with FakeOAuth() as fake:
        fake.deny()
        waiting = start("login", mail_login.login(settings(tmp_path, fake, auth="oauth"), clock, lambda _: None))
        await clock.skip()
        with pytest.raises(PermanentError, match="refused"):
            await waiting
    assert list((tmp_path / "data").iterdir()) == []


async def test_folder_that_cannot_be_made_is_said_before_anybody_types_a_code(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    async with FakeOAuth() as fake:
        with pytest.raises(PermanentError, match="cannot be used"):
            await mail_login.login(settings(tmp_path, fake, auth="oauth"), HandClock(), print)
        assert len(fake.requests) == 0


def test_command_line() -> None:
    parser = argparse.ArgumentParser()
    mail.add_arguments(parser)
    assert parser.parse_args(["login"]).action == "login"
    with pytest.raises(SystemExit):
        parser.parse_args([])
