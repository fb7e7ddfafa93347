from __future__ import annotations

from datetime import timedelta

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError, SlackRequestError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.gateway.channel import NotReadyError
from bot.kernel.errors import OpenExecutiveError, PermanentError, TransientError, UncertainError
from channels.slack.errors import CREDENTIALS, code_of, scope_of, translate


def api(code: str, status: int = 200, headers: dict[str, str] | None = None, **more: str) -> SlackApiError:
    data: dict[str, object] = {"ok": False, "error": code, **more} if code else {}
    response = AsyncSlackResponse(
        client=AsyncWebClient(),
        http_verb="POST",
        api_url="https://slack.com/api/x",
        req_args={},
        data=data,
        headers=headers or {},
        status_code=status,
    )
    return SlackApiError("failed", response)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (api("ratelimited", 429, {"Retry-After": "7"}), TransientError),
        (api("", 502), UncertainError),
        (api("", 200), UncertainError),
        (api("fatal_error"), UncertainError),
        (api("internal_error", 500), UncertainError),
        (api("not_in_channel"), PermanentError),
        (api("is_archived"), PermanentError),
        (api("something_new"), PermanentError),
        (aiohttp.ServerDisconnectedError(), UncertainError),
        (aiohttp.ConnectionTimeoutError(), NotReadyError),
        (aiohttp.ClientConnectorError(None, OSError()), NotReadyError),  # type: ignore[arg-type]
        (TimeoutError(), UncertainError),
        (SlackRequestError("x"), UncertainError),
    ],
)
def test_failures_are_of_the_two_kinds(error: BaseException, kind: type[OpenExecutiveError]) -> None:
    assert type(translate(error)) is kind
    softened = translate(error, effect=False)
    assert not isinstance(softened, UncertainError)


def test_a_pause_is_passed_on() -> None:
    failure = translate(api("ratelimited", 429, {"Retry-After": "7"}))
    assert isinstance(failure, TransientError)
    assert failure.retry_after == timedelta(seconds=7)
    without = translate(api("ratelimited", 429, {"Retry-After": "soon"}))
    assert isinstance(without, TransientError)
    assert without.retry_after is None


@pytest.mark.case(61)
@pytest.mark.parametrize("code", sorted(CREDENTIALS))
def test_case_61_a_refused_token_lets_the_row_wait_and_says_what_to_do(code: str) -> None:
    failure = translate(api(code))
    assert isinstance(failure, NotReadyError)
    assert "bot_token" in failure.message


@pytest.mark.case(57)
def test_case_57_a_missing_scope_is_named() -> None:
    error = api("missing_scope", needed="files:read", provided="chat:write")
    assert scope_of(error) == "files:read"
    failure = translate(error)
    assert isinstance(failure, PermanentError)
    assert "files:read (I cannot fetch files)" in failure.message
    assert scope_of(api("is_archived")) == code_of(TimeoutError()) == ""
