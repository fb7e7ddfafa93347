from __future__ import annotations

import subprocess
import sys
from datetime import timedelta

import httpx
import pytest
from telegram.error import BadRequest, Conflict, Forbidden, InvalidToken, NetworkError, TelegramError, TimedOut

from bot.gateway.channel import NotReadyError
from bot.kernel.errors import OpenExecutiveError, PermanentError, TransientError, UncertainError
from channels.telegram.errors import ServerFailureError, translate
from channels.telegram.keys import Target, message_of, ref, target_of, thread_key


def caused(error: TelegramError, cause: Exception) -> TelegramError:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (caused(NetworkError("x"), httpx.ConnectError("x")), NotReadyError),
        (caused(TimedOut(), httpx.ConnectTimeout("x")), NotReadyError),
        (caused(TimedOut(), httpx.PoolTimeout("x")), TransientError),
        (caused(TimedOut(), httpx.ReadTimeout("x")), UncertainError),
        (caused(TimedOut(), httpx.WriteTimeout("x")), UncertainError),
        (caused(NetworkError("x"), httpx.ReadError("x")), UncertainError),
        (caused(NetworkError("x"), httpx.WriteError("x")), UncertainError),
        (caused(NetworkError("x"), httpx.RemoteProtocolError("x")), UncertainError),
        (caused(NetworkError("x"), RuntimeError("x")), UncertainError),
        (ServerFailureError(500, "Internal Server Error"), TransientError),
        (ServerFailureError(502, "Bad Gateway"), TransientError),
        (ServerFailureError(503, ""), TransientError),
        (ServerFailureError(504, "Gateway Timeout"), UncertainError),
        (ServerFailureError(520, ""), UncertainError),
        (ServerFailureError(500, "sent message was immediately deleted"), UncertainError),
        (NetworkError("Request Entity Too Large (413)"), PermanentError),
        (BadRequest("chat not found"), PermanentError),
        (Forbidden("bot was blocked by the user"), PermanentError),
        (InvalidToken(), NotReadyError),
        (Conflict("x"), TransientError),
        (TelegramError("Invalid server response"), UncertainError),
    ],
)
def test_each_failure_is_one_kind(error: TelegramError, expected: type[OpenExecutiveError]) -> None:
    assert type(translate(error)) is expected
    reading = translate(error, effect=False)
    assert type(reading) is (TransientError if expected is UncertainError else expected)


def test_keys_are_read_as_they_were_written() -> None:
    for chat, topic in ((7, None), (-100123, None), (-100123, 77)):
        assert target_of(thread_key(chat, topic)) == Target(chat, topic)
    assert message_of(ref(-5, 9)) == (-5, 9)
    for wrong in ("", "slack:1", "telegram:", "telegram:a", "telegram:1:2:3"):
        with pytest.raises(PermanentError):
            target_of(wrong)
    with pytest.raises(PermanentError):
        message_of("telegram:1")


def test_importing_the_package_does_not_load_the_library() -> None:
    check = "import sys, channels.telegram; sys.exit('telegram' in sys.modules or 'httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_the_library_comes_without_companions_that_nobody_uses() -> None:
    check = (
        "import sys; from unittest.mock import MagicMock; from channels.telegram import build\n"
        "from config.schema import Telegram\n"
        "build(Telegram(enabled=True, token='1:a'), MagicMock())\n"
        "print(sorted({'telegram', 'cryptography', 'rich', 'click'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", check], check=True, capture_output=True, text=True)
    assert run.stdout.strip() == "['telegram']"


def test_a_pause_without_the_librarys_new_durations(monkeypatch: pytest.MonkeyPatch) -> None:
    from telegram.error import RetryAfter

    monkeypatch.setenv("PTB_TIMEDELTA", "true")
    found = translate(RetryAfter(33))
    assert isinstance(found, TransientError)
    assert found.retry_after == timedelta(seconds=33)
