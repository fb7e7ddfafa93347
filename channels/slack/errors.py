"""What the library raises, said in the two kinds of failure. No other place knows them."""

from __future__ import annotations

from datetime import timedelta

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError

from bot.gateway.channel import NotReadyError
from bot.kernel.errors import OpenExecutiveError, PermanentError, TransientError, UncertainError
from channels.slack.manifest import explain

Failure = (SlackClientError, aiohttp.ClientError, TimeoutError, OSError)
"""Everything that a call of the library raises when the platform or the way to it fails."""

CREDENTIALS_REFUSED = (
    "Slack refuses the bot token ({code}): set channels.slack.bot_token to the token shown under OAuth & Permissions"
)
APP_REFUSED = "Slack refuses the app token ({code}): channels.slack.app_token must be one with connections:write"
CREDENTIALS = frozenset(
    {
        "account_inactive",
        "app_uninstalled",
        "invalid_auth",
        "not_allowed_token_type",
        "not_authed",
        "org_login_required",
        "team_access_not_granted",
        "token_expired",
        "token_revoked",
    }
)
_BEGUN = frozenset({"fatal_error", "internal_error", "request_timeout", "service_unavailable"})
"""The server failed, and some of the work may have been done (Slack, "fatal_error")."""
_LATER = frozenset(
    {"ratelimited", "rate_limited", "message_limit_exceeded", "team_added_to_org", "migration_in_progress"}
)
_WORDS = {
    "channel_not_found": "the conversation is gone or I was never in it: invite me",
    "is_archived": "the channel is archived",
    "not_in_channel": "I am not in the channel: invite me there",
    "restricted_action": "the workspace does not let me write there",
    "restricted_action_read_only_channel": "the channel is read-only",
    "restricted_action_thread_only_channel": "in this channel only threads can be written in",
    "user_not_found": "there is no such person in the workspace",
    "user_disabled": "the person's account is deactivated",
    "cannot_dm_bot": "bots cannot be written to",
}


def code_of(error: BaseException) -> str:
    """The `error` of an answer with `ok: false`; empty for every other failure."""
    if not isinstance(error, SlackApiError):
        return ""
    data = getattr(error.response, "data", None)
    return str(data.get("error") or "") if isinstance(data, dict) else ""


def scope_of(error: BaseException) -> str:
    """The scope that Slack names as missing, if it does."""
    data = getattr(error.response, "data", None) if isinstance(error, SlackApiError) else None
    if not isinstance(data, dict) or data.get("error") != "missing_scope":
        return ""
    return str(data.get("needed") or "")


def translate(error: BaseException, effect: bool = True) -> OpenExecutiveError:
    """The failure to raise `from error`. `effect`: the call changes something, so an unknown outcome matters.

    A connection that never came about and a token that is refused are `NotReadyError`: nothing was tried, the row
    waits. A cut and every failure of the server are `UncertainError`: what was posted can be read back by its key, so
    asking costs less than guessing.
    """
    if isinstance(error, SlackApiError):
        return _api(error, effect)
    if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
        return NotReadyError(f"Slack cannot be reached ({type(error).__name__}): check the network and base_url")
    return _unknown(f"the connection to Slack broke ({type(error).__name__})", effect)


def _api(error: SlackApiError, effect: bool) -> OpenExecutiveError:
    code = code_of(error)
    status = getattr(error.response, "status_code", None) or getattr(error.response, "status", None) or 0
    if status == 429 or code in _LATER:
        return TransientError("Slack asks for a pause", _retry_after(error))
    if code in CREDENTIALS:
        return NotReadyError(CREDENTIALS_REFUSED.format(code=code))
    if code == "missing_scope":
        return PermanentError(explain([scope_of(error)]))
    if status >= 500 or code in _BEGUN or not code:
        return _unknown(f"Slack has trouble ({code or status})", effect)
    return PermanentError(f"Slack refuses ({code}): {_WORDS[code]}" if code in _WORDS else f"Slack refuses: {code}")


def _retry_after(error: SlackApiError) -> timedelta | None:
    headers = getattr(error.response, "headers", None) or {}
    value = str(headers.get("Retry-After") or headers.get("retry-after") or "")
    return timedelta(seconds=int(value)) if value.isascii() and value.isdigit() else None


def _unknown(message: str, effect: bool) -> TransientError:
    return UncertainError(message) if effect else TransientError(message)
