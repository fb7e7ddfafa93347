"""What the library raises, said in the two kinds of failure. No other place knows them."""

from __future__ import annotations

from datetime import timedelta

import aiohttp
import discord

from bot.gateway.channel import NotReadyError, TargetGoneError
from bot.kernel.errors import OpenExecutiveError, PermanentError, TransientError, UncertainError

CREDENTIALS_REFUSED = (
    "Discord refuses the token: set channels.discord.token to the bot token of the developer portal (Bot, Reset Token)"
)
RequestError = discord.DiscordException | aiohttp.ClientError | OSError | ValueError
"""What a REST call may raise (`TimeoutError` is an `OSError`; `ValueError` is an answer that is no JSON)."""
REQUEST_ERRORS = (discord.DiscordException, aiohttp.ClientError, OSError, ValueError)

UNKNOWN_CHANNEL, UNKNOWN_MESSAGE = 10003, 10008
MISSING_ACCESS, CANNOT_DM, MISSING_PERMISSIONS, ARCHIVED = 50001, 50007, 50013, 50083
INVALID_FORM, NO_HISTORY, THREAD_EXISTS, THREAD_LOCKED = 50035, 160002, 160004, 160005

_WORDS = {
    UNKNOWN_CHANNEL: "the channel or thread is gone",
    MISSING_ACCESS: "I cannot see that channel: give the bot's role View Channel there",
    CANNOT_DM: "this person takes no direct messages from me",
    MISSING_PERMISSIONS: "the bot's role lacks a permission there (Send Messages, Send Messages in Threads)",
    ARCHIVED: "the thread is archived and I may not open it again",
    THREAD_LOCKED: "the thread is locked",
    40005: "the files are larger than Discord takes",
}


def code_of(error: RequestError) -> int:
    """Discord's JSON error code, or 0."""
    return error.code if isinstance(error, discord.HTTPException) else 0


def status_of(error: RequestError) -> int:
    return error.status if isinstance(error, discord.HTTPException) else 0


def translate(error: RequestError, effect: bool = True) -> OpenExecutiveError:
    """The failure to raise `from error`. `effect`: the call changes something, so an unknown outcome matters.

    A connection that never came about is `NotReadyError`. A cut after the request was begun is `UncertainError`, and so
    is every answer of 500 and more: unlike elsewhere that costs nothing, because the nonce settles it.
    """
    match error:
        case discord.RateLimited():
            return TransientError("Discord asks for a pause", retry_after=timedelta(seconds=error.retry_after))
        case discord.LoginFailure():
            return NotReadyError(CREDENTIALS_REFUSED)
        case discord.HTTPException():
            return _answered(error, effect)
        case aiohttp.ClientConnectorError():
            return NotReadyError(f"Discord cannot be reached ({type(error).__name__}): check the network and base_url")
        case discord.DiscordException():
            return TransientError(f"Discord has trouble ({type(error).__name__})")
        case _:
            return _unknown(f"the connection to Discord broke ({type(error).__name__})", effect)


def _answered(error: discord.HTTPException, effect: bool) -> OpenExecutiveError:
    if error.status == 401:
        return NotReadyError(CREDENTIALS_REFUSED)
    if error.status == 429:
        return TransientError("Discord asks for a pause", retry_after=_asked(error))
    if error.status >= 500:
        return _unknown(f"Discord has trouble ({error.status})", effect)
    if error.code == UNKNOWN_MESSAGE:
        return TargetGoneError("the message is gone")
    words = _WORDS.get(error.code) or f"Discord refuses the request: {error.text[:200] or error.status}"
    return PermanentError(f"{words} ({error.code})" if error.code else words)


def _asked(error: discord.HTTPException) -> timedelta | None:
    """`Retry-After` in seconds, where the answer has it (also Cloudflare's, which the library does not read)."""
    value = error.response.headers.get("Retry-After", "")
    try:
        return timedelta(seconds=float(value))
    except (ValueError, OverflowError):
        return None


def _unknown(message: str, effect: bool) -> TransientError:
    return UncertainError(message) if effect else TransientError(message)
