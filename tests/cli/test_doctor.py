from __future__ import annotations

import argparse
import asyncio
import socket
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.cli import doctor
from bot.cli.checks import services
from bot.cli.checks.fetch import get_json
from bot.cli.checks.finding import Finding, Level, fail, ok, warn
from bot.kernel.clock import SystemClock
from config.schema import Llm, Relay, Settings, Telegram
from tests.cli.dns_server import running_dns
from tests.fakes.anthropic import FakeAnthropic
from tests.fakes.faults import Answer, CutBefore
from tests.fakes.smtp import SmtpSink
from tests.fakes.telegram import TOKEN, FakeTelegram

KEY = "sk-ant-api03-never-to-be-shown"
KNOWN = services.Known(
    lambda: frozenset({"claude-opus-5-5", "claude-sonnet-5-5", "old"}), lambda: {"old": "2027-01-22"}
)


def now() -> datetime:
    return SystemClock().now()


async def found(check: Callable[[], Iterator[Finding]]) -> list[Finding]:
    """The findings of a blocking check, off the loop that serves it."""
    findings = await asyncio.to_thread(lambda: list(check()))
    for finding in findings:
        assert KEY not in repr(finding)
        assert TOKEN not in repr(finding)
        assert finding.level is Level.OK or (finding.where and finding.mend)
    return findings


def bad(findings: list[Finding]) -> list[tuple[Level, str]]:
    return [(finding.level, finding.what) for finding in findings if finding.level is not Level.OK]


# --- Telegram -------------------------------------------------------------------------------------------------------


def telegram(url: str, **more: Any) -> Telegram:
    return Telegram.model_validate({"enabled": True, "token": TOKEN, "base_url": url, **more})


async def test_a_right_token_names_its_bot() -> None:
    async with FakeTelegram() as fake:
        findings = await found(lambda: services.telegram(telegram(fake.url), now(), 5))
    assert bad(findings) == []
    assert findings[0].what == "Telegram bot @exec_bot"


@pytest.mark.parametrize("token", ["999999:AAsome-other-token-of-the-right-length1", "nonsense"])
async def test_a_wrong_token(token: str) -> None:
    async with FakeTelegram() as fake:
        ((level, what),) = bad(await found(lambda: services.telegram(telegram(fake.url, token=token), now(), 5)))
    assert (level, what) == (Level.FAIL, "Telegram refuses the token")


@pytest.mark.parametrize(
    ("answer", "level", "word"),
    [
        (Answer(429, retry_after=3), Level.WARN, "slow down"),
        (Answer(502), Level.WARN, "trouble"),
        (Answer(403, "<html>"), Level.FAIL, "no Bot API server"),
    ],
)
async def test_a_server_that_does_not_answer_as_it_should(answer: Answer, level: Level, word: str) -> None:
    async with FakeTelegram() as fake:
        fake.faults.plan("getMe", answer)
        ((got, what),) = bad(await found(lambda: services.telegram(telegram(fake.url), now(), 5)))
    assert got is level
    assert word in what


async def test_a_connection_that_is_cut_or_refused() -> None:
    async with FakeTelegram() as fake:
        fake.faults.plan("getMe", CutBefore())
        ((level, _),) = bad(await found(lambda: services.telegram(telegram(fake.url), now(), 5)))
        assert level is Level.FAIL
    ((level, what),) = bad(await found(lambda: services.telegram(telegram(fake.url), now(), 5)))
    assert (level, what) == (Level.FAIL, "Telegram cannot be reached: Connection refused")


async def test_a_server_that_never_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        ((_, what),) = bad(await found(lambda: services.telegram(telegram(url), now(), 0.2)))
    assert what == "Telegram cannot be reached: no answer in time"


async def test_a_webhook_elsewhere_is_told_before_a_start_takes_it_over() -> None:
    async with FakeTelegram() as fake:
        await asyncio.to_thread(get_json, f"{fake.url}/bot{TOKEN}/setWebhook?url=https://other.example/x", {}, 5)
        ((level, what),) = bad(await found(lambda: services.telegram(telegram(fake.url), now(), 5)))
        assert (level, "other.example" in what) == (Level.WARN, True)
        hook = {"mode": "webhook", "webhook_secret": "s", "public_url": "https://ours.example"}
        ((level, what),) = bad(await found(lambda: services.telegram(telegram(fake.url, **hook), now(), 5)))
        assert (level, "other.example" in what) == (Level.WARN, True)
        hook["public_url"] = "https://other.example"
        assert bad(await found(lambda: services.telegram(telegram(fake.url, **hook), now(), 5))) == []


async def test_a_clock_that_is_wrong_shows_at_the_first_answer() -> None:
    async with FakeTelegram() as fake:
        later = now() + timedelta(hours=1)
        ((level, what),) = bad(await found(lambda: services.telegram(telegram(fake.url), later, 5)))
    assert (level, what) == (Level.FAIL, "the clock differs from Telegram's by 60 minutes")


async def test_telegram_that_is_off_is_not_asked() -> None:
    assert await found(lambda: services.telegram(Telegram(), now(), 5)) == []


# --- the model ------------------------------------------------------------------------------------------------------


def llm(url: str, **more: Any) -> Llm:
    return Llm.model_validate({"api_key": KEY, "base_url": url, **more})


async def test_a_right_key_and_models_that_are_listed() -> None:
    async with FakeAnthropic(api_keys=frozenset({KEY}), models=("claude-opus-5-5", "claude-sonnet-5-5")) as fake:
        findings = await found(lambda: services.model(llm(fake.url), KNOWN, now(), 5))
    assert [finding.what for finding in findings] == [
        "the model's server takes the key",
        "model claude-opus-5-5",
        "model claude-sonnet-5-5",
    ]


async def test_a_wrong_key() -> None:
    async with FakeAnthropic(api_keys=frozenset({"another"})) as fake:
        ((level, what),) = bad(await found(lambda: services.model(llm(fake.url), KNOWN, now(), 5)))
    assert (level, what) == (Level.FAIL, "the model's server refuses the key")


async def test_models_that_nobody_lists_or_that_end() -> None:
    models = {"models": {"orchestrator": "claude-opsu-5-5", "orchestrator_fallback": "old"}}
    async with FakeAnthropic(models=("claude-opus-5-5",)) as fake:
        wrong = await found(lambda: services.model(llm(fake.url, **models), KNOWN, now(), 5))
    assert bad(wrong) == [
        (Level.WARN, "nobody lists a model claude-opsu-5-5"),
        (Level.WARN, "the model old ends on 2027-01-22"),
    ]
    assert "claude-opus-5-5" in wrong[1].mend


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (Answer(529), "overloaded"),
        (Answer(429, retry_after=60), "overloaded"),
        (Answer(500), "trouble"),
        (Answer(404), "lists no"),
    ],
)
async def test_a_model_server_in_trouble_is_a_warning(answer: Answer, word: str) -> None:
    async with FakeAnthropic() as fake:
        fake.faults.plan("*", answer)
        wrong = bad(await found(lambda: services.model(llm(fake.url), KNOWN, now(), 5)))
    assert wrong[0][0] is Level.WARN
    assert word in wrong[0][1]


async def test_a_model_server_that_is_not_there() -> None:
    async with FakeAnthropic() as fake:
        pass
    ((level, what),) = bad(await found(lambda: services.model(llm(fake.url), KNOWN, now(), 5)))
    assert (level, what) == (Level.FAIL, "the model's server cannot be reached: Connection refused")


def unasked() -> frozenset[str]:
    raise AssertionError("the SDK must not be imported for this")


@pytest.mark.parametrize("settings", [Llm(), Llm.model_validate({"provider": "offline", "api_key": KEY})])
async def test_the_offline_model_asks_nobody(settings: Llm) -> None:
    known = services.Known(unasked, lambda: {str(name): "" for name in unasked()})
    assert bad(await found(lambda: services.model(settings, known, now(), 5))) == []


def test_the_installed_sdk_lists_the_default_models() -> None:
    known = doctor.sdk()
    assert {Llm().models.orchestrator, Llm().models.orchestrator_fallback} <= known.models()
    assert not {Llm().models.orchestrator, Llm().models.orchestrator_fallback} & set(known.retired())


# --- relay ----------------------------------------------------------------------------------------------------------


def relay(port: int, **more: Any) -> Relay:
    return Relay.model_validate({"host": "localhost", "port": port, "security": "none", **more})


async def test_a_relay_that_answers_and_takes_the_login() -> None:
    async with SmtpSink(tls=True, users={"anna": KEY}) as sink:
        settings = relay(sink.port, security="starttls", username="anna", password=KEY)
        assert bad(await services.relay(settings, 5, sink.client_context())) == []
        wrong = relay(sink.port, security="starttls", username="anna", password="another")
        ((level, what),) = bad(await services.relay(wrong, 5, sink.client_context()))
        assert (level, what) == (Level.FAIL, "the relay refuses the login (535)")
        assert len(sink.mails) == 0


async def test_a_relay_whose_certificate_is_not_trusted() -> None:
    async with SmtpSink(tls=True) as sink:
        ((level, what),) = bad(await services.relay(relay(sink.port, security="starttls"), 5))
    assert level is Level.FAIL
    assert "no encrypted connection" in what


async def test_a_relay_without_what_is_asked_for() -> None:
    async with SmtpSink() as sink:
        assert bad(await services.relay(relay(sink.port), 5)) == []
        ((_, what),) = bad(await services.relay(relay(sink.port, security="starttls"), 5))
        assert "does not offer" in what
        ((_, what),) = bad(await services.relay(relay(sink.port, security="tls"), 5))
        assert "no encrypted connection" in what


async def test_a_relay_that_is_not_there_or_silent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        port = deaf.getsockname()[1]
        ((_, what),) = bad(await services.relay(relay(port), 0.2))
        assert "no answer in time" in what
    ((_, what),) = bad(await services.relay(relay(port), 5))
    assert "relay" in what
    assert await services.relay(Relay(), 5) == []


# --- proof of senders -----------------------------------------------------------------------------------------------


def proving(nameserver: str, *addresses: str) -> Settings:
    people = {"anna": {"name": "Anna", "role": "principal", "email": addresses}}
    return Settings.model_validate({"people": people, "channels": {"email": {"nameservers": [nameserver]}}})


async def test_domains_with_and_without_a_dmarc_record() -> None:
    records = {"_dmarc.example.org": "v=DMARC1; p=reject", "_dmarc.example.net": "something else"}
    async with running_dns(records) as server:
        settings = proving(server, "a@example.org", "a@mail.example.org", "a@example.net", "a@localhost")
        findings = await found(lambda: services.sender_proof(settings, False, 5))
    assert [finding.level for finding in findings] == [Level.OK, Level.OK, Level.WARN]
    assert "example.net" in findings[2].what


async def test_a_dns_server_that_is_silent() -> None:
    async with running_dns({}, silent=True) as server:
        ((level, _),) = bad(await found(lambda: services.sender_proof(proving(server, "a@example.org"), False, 0.3)))
    assert level is Level.FAIL


async def test_no_dns_where_no_proof_is_needed() -> None:
    settings = proving("127.0.0.1:9", "a@example.org")
    assert await found(lambda: services.sender_proof(settings, True, 0.3)) == []
    assert bad(await found(lambda: services.sender_proof(Settings(), False, 0.3))) == []


# --- the command ----------------------------------------------------------------------------------------------------


def examine(tmp_path: Path, text: str, environ: dict[str, str] | None = None, offline: bool = True) -> tuple[int, str]:
    file = tmp_path / "openexecutive.toml"
    file.write_text(text)
    file.chmod(0o600)
    return doctor.examine({"HOME": str(tmp_path), **(environ or {})}, None, tmp_path, doctor.Options(offline, 5))


QUIET = "[web]\nport = 0\n[channels.email.smtp]\nport = 0\n"


def test_exit_codes(tmp_path: Path) -> None:
    code, text = examine(tmp_path, QUIET)
    assert code == 0, text
    assert text.endswith("faults 0")
    (tmp_path / "file").write_text("")
    code, text = examine(tmp_path, f'data_dir = "{tmp_path}/file"\n{QUIET}')
    assert code == 1, text
    assert "mend: set data_dir to a folder" in text
    code, text = examine(tmp_path, "nonsense = 1\n[web]\nport = 99999")
    assert code == 2
    assert "nonsense" in text
    assert "web.port" in text


def test_warnings_of_the_settings_are_told(tmp_path: Path) -> None:
    code, text = examine(tmp_path, QUIET + '[people.bob]\nname = "Bob"\n')
    assert code == 0
    assert "warn  people: names no principal" in text


async def test_no_secret_is_printed_wherever_it_is_set(tmp_path: Path) -> None:
    """Every secret planted, every far end refusing, and the whole report read."""
    planted = {"llm.api_key": KEY, "channels.telegram.token": TOKEN, "channels.email.relay.password": "hunter2-Geheim"}
    planted["channels.telegram.webhook_secret"] = "webhook-hunter2-Geheim"
    async with (
        FakeTelegram(token="1:another") as bot,
        FakeAnthropic(api_keys=frozenset({"x"})) as model,
        SmtpSink(users={}) as sink,
    ):
        text = f"""
            [web]
            port = 0
            [llm]
            base_url = "{model.url}"
            api_key = "{KEY}"
            [channels.telegram]
            enabled = true
            base_url = "{bot.url}"
            token = "{TOKEN}"
            webhook_secret = "{planted["channels.telegram.webhook_secret"]}"
            [channels.email.smtp]
            port = 0
            [channels.email.relay]
            host = "127.0.0.1"
            port = {sink.port}
            security = "none"
            username = "anna"
            password = "{planted["channels.email.relay.password"]}"
        """
        code, report = await asyncio.to_thread(examine, tmp_path, text, {}, False)
    assert code == 1
    assert "refuses the token" in report
    assert "refuses the key" in report
    assert "refuses the login" in report
    for secret in planted.values():
        assert secret not in report


def test_the_report_fits_a_narrow_terminal() -> None:
    findings = [
        ok("short"),
        warn(
            "a long sentence about something that is odd here", "web.port (127.0.0.1:8321)", "do this and that, then so"
        ),
        fail("broken", "channels.telegram", "mend it"),
    ]
    text = doctor.report(findings, 40)
    assert max(len(line) for line in text.splitlines()) <= 40
    assert text.splitlines()[0] == "ok    short"
    assert "      mend: do this and that, then so" in text
    assert text.endswith("ok 1, warnings 1, faults 1")


def test_run_prints_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = argparse.ArgumentParser()
    doctor.add_arguments(parser)
    parser.add_argument("--config", type=Path)
    file = tmp_path / "named.toml"
    file.write_text(f'data_dir = "{tmp_path}/data"\n{QUIET}')
    monkeypatch.chdir(tmp_path)
    assert doctor.run(parser.parse_args(["--offline", "--config", str(file)])) == 0
    assert str(datetime.now(UTC).year) in capsys.readouterr().out  # noqa: TID251 - what a person would read
