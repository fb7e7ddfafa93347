"""What a refusal of the Messages API means. Pure.

Errors are told apart by their type, because an error event inside a stream arrives under status 200; the status is
asked only where the type is missing (proxies, other servers). Source: the API's error reference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from bot.kernel.errors import OpenExecutiveError, TransientError
from bot.kernel.values import dataclass
from bot.llm import tokens
from bot.llm.model import (
    BadImageError,
    BadRequestError,
    ContextTooLongError,
    CredentialsError,
    Image,
    Message,
    Request,
    images,
)

LENGTH = 300
"""Of the provider's own words in a message, in characters."""

_BY_STATUS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "conflict_error",
    413: "request_too_large",
    422: "invalid_request_error",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_CONTEXT = re.compile(
    r"prompt is too long|exceeds? (the )?(model'?s? )?(maximum )?context|context (window|length|limit|size)"
    r"|input is too long|too many (input )?tokens",
    re.IGNORECASE,
)
_IMAGE = re.compile(r"\bimages?\b", re.IGNORECASE)
_PLACE = re.compile(r"messages\.(\d+)\.content\.(\d+)")
_SPENT = re.compile(r"credit balance|spend limit|billing", re.IGNORECASE)
_FOR_A_PERSON = frozenset(
    {"contract_spend_limit_reached", "enforced_spend_limit_reached", "organization_on_hold", "billing_unavailable"}
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error as the provider told it; `status` is the response's, 200 for an error inside a stream."""

    status: int
    kind: str | None
    message: str
    code: str | None = None
    retry_after: timedelta | None = None


def meaning(refusal: Refusal, request: Request, model: str) -> OpenExecutiveError:
    """The port's error for `refusal` of `request`, which was sent to `model`."""
    said = " ".join(refusal.message.split())[:LENGTH]
    kind = refusal.kind
    if not kind or (kind == "api_error" and refusal.status < 500):  # proxies give this type to whatever they refuse
        kind = _BY_STATUS.get(refusal.status, kind or "")
    if refusal.code in _FOR_A_PERSON:
        return CredentialsError(f"The model's provider has stopped serving this account: {said}")
    match kind:
        case "authentication_error":
            return CredentialsError("The model's provider refused the key: check llm.api_key (ANTHROPIC_API_KEY).")
        case "permission_error":
            return CredentialsError(f"The key has no right to use the model {model}: {said}")
        case "billing_error":
            return CredentialsError(f"The model's provider wants its account settled: {said}")
        case "not_found_error":
            return CredentialsError(
                f"The model's provider does not know {model}: check llm.models and llm.base_url ({said})"
            )
        case "request_too_large":
            return _too_large(request, said)
        case "invalid_request_error":
            return _invalid(said, request)
        case "rate_limit_error" | "overloaded_error" | "timeout_error" | "api_error" | "conflict_error":
            return TransientError(f"The model is not available ({kind}): {said}", refusal.retry_after)
    if 400 <= refusal.status < 500:
        return BadRequestError(f"The model's provider refused the request ({kind or refusal.status}): {said}")
    return TransientError(f"The model is not available ({kind or refusal.status}): {said}", refusal.retry_after)


def _too_large(request: Request, said: str) -> OpenExecutiveError:
    """413: over 32 MB in all, which text alone hardly ever is."""
    pictures = sum(
        len(block.data) for message in request.messages for block in message.content if isinstance(block, Image)
    )
    if pictures > tokens.CHARACTERS * tokens.of_request(request):
        return BadImageError(f"The request's images are too large: {said}")
    return ContextTooLongError(f"The request is too large: {said}")


def _invalid(said: str, request: Request) -> OpenExecutiveError:
    if _SPENT.search(said):
        return CredentialsError(f"The model's provider wants its account settled: {said}")
    if _CONTEXT.search(said):
        return ContextTooLongError(f"The conversation does not fit the model: {said}")
    if images(request.messages) and _IMAGE.search(said):
        return BadImageError(f"The model's provider refused an image: {said}", _which(said, request.messages))
    return BadRequestError(f"The model's provider refused the request: {said}")


def _which(said: str, messages: Sequence[Message]) -> int | None:
    """Which of the request's images `said` speaks of: it names the place as messages.<m>.content.<b>."""
    found = _PLACE.search(said)
    if found is None:
        return None
    index, place = int(found[1]), int(found[2])
    if index >= len(messages) or place >= len(messages[index].content):
        return None
    if not isinstance(messages[index].content[place], Image):
        return None
    before = (*messages[:index], Message("user", messages[index].content[:place]))
    return images(before)


def retry_after(headers: Mapping[str, str], now: datetime) -> timedelta | None:
    """What the response asks for: `retry-after-ms`, or `retry-after` in seconds or as a date (RFC 9110 10.2.3)."""
    for name, unit in (("retry-after-ms", timedelta(milliseconds=1)), ("retry-after", timedelta(seconds=1))):
        value = headers.get(name, "").strip()
        if re.fullmatch(r"\d{1,9}(\.\d*)?", value):
            return unit * float(value)
    try:
        at = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    return max((at if at.tzinfo else at.replace(tzinfo=UTC)) - now, timedelta())
