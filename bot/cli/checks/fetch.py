"""One GET for JSON over HTTP, on the standard library: a look at a far end needs no client of a platform.

Keys travel in the address or in headers, so redirects are not followed and no error text repeats the address.
"""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from datetime import UTC, datetime
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import IO

from bot.kernel.values import dataclass

_LARGEST = 4_000_000


class UnreachableError(Exception):
    """No HTTP answer came; the text says why."""


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: object
    """Parsed JSON; None if it was none."""
    date: datetime | None
    """The far end's clock (RFC 9110 s6.6.1), aware."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        return None


def get_json(url: str, headers: Mapping[str, str], timeout: float) -> Reply:
    """`timeout` in seconds, for each wait on the socket. Blocking. Any status is a reply."""
    request = urllib.request.Request(url, headers={"Accept": "application/json", **headers})  # noqa: S310 - http(s) only, by the schema
    opener = urllib.request.build_opener(_NoRedirect)
    try:
        try:
            with opener.open(request, timeout=timeout) as response:
                return _reply(response.status, response.headers, response.read(_LARGEST))
        except urllib.error.HTTPError as error:
            with error:
                return _reply(error.code, error.headers, error.read(_LARGEST))
    except urllib.error.URLError as error:
        raise UnreachableError(_reason(error.reason)) from None
    except OSError as error:
        raise UnreachableError(_reason(error)) from None
    except http.client.HTTPException:
        raise UnreachableError("the answer is not HTTP") from None


def _reason(error: object) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, http.client.HTTPException):
        return "the connection was closed without an answer"
    if isinstance(error, OSError):
        return getattr(error, "verify_message", None) or error.strerror or "the connection failed"
    return "the connection failed"


def _reply(status: int, headers: Message, raw: bytes) -> Reply:
    try:
        body: object = json.loads(raw)
    except (ValueError, RecursionError):
        body = None
    try:
        date = parsedate_to_datetime(headers.get("Date", ""))
    except (ValueError, TypeError):
        return Reply(status, body, None)
    return Reply(status, body, date if date.tzinfo else date.replace(tzinfo=UTC))
