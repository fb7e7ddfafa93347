"""What the library raises, said in the two kinds of failure. No other place knows them."""

from __future__ import annotations

from datetime import timedelta

import httpx
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
)

from bot.gateway.channel import NotReadyError
from bot.kernel.errors import OpenExecutiveError, PermanentError, TransientError, UncertainError

CREDENTIALS_REFUSED = "Telegram refuses the token: set channels.telegram.token to what @BotFather shows for this bot"


class ServerFailureError(NetworkError):
    """An HTTP status of 500 or more, with its code (the library's own error drops it)."""

    def __init__(self, code: int, description: str) -> None:
        super().__init__(f"{description} ({code})")
        self.code = code


def translate(error: TelegramError, effect: bool = True) -> OpenExecutiveError:
    """The failure to raise `from error`. `effect`: the call changes something, so an unknown outcome matters.

    A connection that never came about is `NotReadyError`: nothing was tried. A cut after the request was begun is
    `UncertainError`. Of the server's own failures 500, 502 and 503 count as "did not happen": the Bot API answered
    `ok: false`, or the gateway reached no one behind it; they are what outages look like, and holding every one of
    them for uncertain would use up the one marked repeat in each outage. 504 (the server behind the gateway was
    reached and may have acted), a 500 whose words say that work was begun, and all others are uncertain.
    """
    match error:
        case RetryAfter():
            wait = error.retry_after
            seconds = wait if isinstance(wait, timedelta) else timedelta(seconds=wait)
            return TransientError("Telegram asks for a pause", retry_after=seconds)
        case InvalidToken():
            return NotReadyError(CREDENTIALS_REFUSED)
        case Forbidden():
            return PermanentError(f"Telegram does not let me write there: {error.message}")
        case ChatMigrated():
            return PermanentError("the group became a supergroup")
        case Conflict():
            return TransientError("another program receives with the same token: stop it, or give it another token")
        case ServerFailureError():
            return _server_failure(error, effect)
        case BadRequest():
            return PermanentError(f"Telegram refuses the request: {error.message}")
        case NetworkError():
            return _network(error, effect)
        case _:
            return _unknown(f"Telegram's answer cannot be read: {error.message}", effect)


def _server_failure(error: ServerFailureError, effect: bool) -> TransientError:
    words = error.message.lower()
    begun = "aborted" in words or "restart" in words or "immediately deleted" in words
    message = f"Telegram has trouble: {error.message}"
    return TransientError(message) if error.code in (500, 502, 503) and not begun else _unknown(message, effect)


def _network(error: NetworkError, effect: bool) -> OpenExecutiveError:
    cause = error.__cause__
    if isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError | httpx.UnsupportedProtocol):
        return NotReadyError(f"Telegram cannot be reached ({type(cause).__name__}): check the network and base_url")
    if isinstance(cause, httpx.PoolTimeout):
        return TransientError("all connections to Telegram are busy")
    if isinstance(cause, httpx.HTTPError):
        return _unknown(f"the connection to Telegram broke ({type(cause).__name__})", effect)
    if cause is None:
        return PermanentError(f"Telegram refuses the request: {error.message}")
    return _unknown(f"the call to Telegram failed ({type(cause).__name__})", effect)


def _unknown(message: str, effect: bool) -> TransientError:
    return UncertainError(message) if effect else TransientError(message)
