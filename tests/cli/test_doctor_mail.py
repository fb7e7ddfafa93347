"""What `doctor` says of who can be proven, and of a mailbox."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.cli import doctor
from bot.cli.checks import mail, services
from bot.cli.checks.finding import Finding, Level
from bot.kernel.clock import SystemClock
from channels.email import oauth
from config.schema import Email, OAuth, Relay, Settings
from tests.channels.email.mailbox import ME
from tests.fakes.faults import Answer
from tests.fakes.imap import FakeImap
from tests.fakes.oauth import FakeOAuth
from tests.fakes.smtp import SmtpSink

PASSWORD = "pass word"


def bad(findings: Iterable[Finding]) -> list[tuple[Level, str]]:
    found = list(findings)
    for finding in found:
        assert PASSWORD not in repr(finding)
        assert finding.level is Level.OK or (finding.where and finding.mend)
    return [(finding.level, finding.what) for finding in found if finding.level is not Level.OK]


def people(*addresses: str, **email: Any) -> Settings:
    return Settings.model_validate(
        {"people": {"anna": {"name": "Anna", "role": "principal", "email": addresses}}, "channels": {"email": email}}
    )


def test_without_per_user_from_nobody_but_reply_tokens_is_proven() -> None:
    ((level, what),) = bad(mail.provable(people("a@corp.example"), False))
    assert level is Level.WARN
    assert "reply token" in what
    ((_, what),) = bad(mail.provable(people("a@corp.example", reply_tokens=False), False))
    assert "refused, even answers" in what


def test_in_local_mode_a_principal_elsewhere_is_told_that_their_mail_does_not_arrive() -> None:
    ((level, what),) = bad(mail.outside(people("a@corp.example", "principal@localhost"), True))
    assert level is Level.WARN
    assert "mail from a@corp.example does not arrive" in what
    assert bad(mail.outside(people("principal@localhost"), True)) == []
    assert bad(mail.outside(people("a@corp.example"), False)) == []
    assert bad(mail.outside(people("a@corp.example", enabled=False), True)) == []


def test_a_domain_that_is_left_out_is_named() -> None:
    settings = people("a@corp.example", "a@other.example", per_user_from=["corp.example"])
    ((_, what),) = bad(mail.provable(settings, False))
    assert "other.example" in what
    assert "corp.example does" not in what


@pytest.mark.parametrize(
    ("settings", "local_mode"),
    [
        (people("a@corp.example"), True),
        (people("a@corp.example", enabled=False), False),
        (people("a@localhost"), False),
        (people("a@Corp.example", per_user_from=["corp.example"]), False),
    ],
)
def test_nothing_to_say_where_all_is_well(settings: Settings, local_mode: bool) -> None:
    assert bad(mail.provable(settings, local_mode)) == []


def box(fake: FakeImap, **imap: Any) -> Email:
    given = {"host": fake.host, "port": fake.port, "security": "none", "password": PASSWORD} | imap
    return Email.model_validate({"address": ME, "imap": given})


async def test_mailbox_that_can_be_read() -> None:
    async with FakeImap() as fake:
        findings = await mail.mailbox(box(fake), None, 5)
        assert bad(findings) == []
        assert findings[0].what == f"mailbox {ME} can be read"
        assert fake.requests.count("UID FETCH") == 0
        assert set(fake.world.folders) == {"INBOX"}
    assert await mail.mailbox(Email(), None, 5) == []


async def test_mailbox_that_cannot_be_read() -> None:
    async with FakeImap() as fake:
        ((level, what),) = bad(await mail.mailbox(box(fake, password="wrong"), None, 5))
        assert level is Level.FAIL
        assert "Invalid credentials" in what
        ((_, what),) = bad(await mail.mailbox(box(fake, folder="Nowhere"), None, 5))
        assert "no such mailbox" in what
        ((_, what),) = bad(await mail.mailbox(box(fake, security="tls"), None, 5))
        assert "cannot be reached" in what
        fake.faults.plan("CONNECT", Answer(400, "BYE busy"))
        ((_, what),) = bad(await mail.mailbox(box(fake), None, 5))
        assert "busy" in what
    ((_, what),) = bad(await mail.mailbox(box(fake), None, 5))
    assert "cannot be reached" in what


async def test_what_the_server_cannot_do_is_said() -> None:
    async with FakeImap(without=("IDLE", "MOVE", "UIDPLUS")) as fake:
        findings = bad(await mail.mailbox(box(fake), None, 5))
        assert [level for level, _ in findings] == [Level.WARN, Level.WARN]
        assert len(bad(await mail.mailbox(box(fake, processed="none"), None, 5))) == 1


async def test_login_by_token(tmp_path: Path) -> None:
    clock = SystemClock()
    async with FakeOAuth() as provider, FakeImap(tokens={ME: "good"}) as fake, SmtpSink(tokens={ME: "good"}) as sink:
        app = {"client_id": "client", "device_url": f"{provider.url}/device", "token_url": f"{provider.url}/token"}
        relay = {"host": "127.0.0.1", "port": sink.port, "security": "none", "auth": "oauth", "username": ME}
        email = box(fake, auth="oauth").model_copy(
            update={"oauth": OAuth.model_validate(app), "relay": Relay.model_validate(relay)}
        )
        token = await mail.access_token(email, tmp_path, clock)
        assert isinstance(token, Finding)
        assert "nobody has logged in" in token.what
        assert await mail.mailbox(email, None, 5) == []
        assert await services.relay(email.relay, 5) == []
        oauth.save(oauth.token_file(tmp_path), oauth.Grant("good", clock.now() + timedelta(hours=1)))
        token = await mail.access_token(email, tmp_path, clock)
        assert token == "good"
        assert bad(await mail.mailbox(email, token, 5)) == []
        assert bad(await services.relay(email.relay, 5, token=token)) == []
        ((_, what),) = bad(await services.relay(email.relay, 5, token="bad"))
        assert "refuses the login" in what
        oauth.save(oauth.token_file(tmp_path), oauth.Grant("good", clock.now(), "refresh"))
        await provider.down()
        token = await mail.access_token(email, tmp_path, clock)
        assert isinstance(token, Finding)
        assert "cannot be reached" in token.what
    assert await mail.access_token(Email(), tmp_path, clock) is None


def test_the_command_tells_it_all(tmp_path: Path) -> None:
    text = """
        [web]
        port = 0
        [people.anna]
        name = "Anna"
        role = "principal"
        email = ["anna@corp.example"]
        [channels.email]
        address = "e@bot.example"
        [channels.email.smtp]
        port = 0
        [channels.email.relay]
        host = "127.0.0.1"
    """
    file = tmp_path / "openexecutive.toml"
    file.write_text(text)
    file.chmod(0o600)
    code, report = doctor.examine({"HOME": str(tmp_path)}, None, tmp_path, doctor.Options(True, 5))
    assert code == 0, report
    assert "no domain proves who wrote a mail" in " ".join(report.split())
