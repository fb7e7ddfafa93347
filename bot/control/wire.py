"""The form of the socket: JSON objects in UTF-8, one per line, of bounded length. Pure.

The first object of a connection is `{"op": <name>, ...}`. An answer that is an error is `{"error": <code>, "message":
<text for the person>}`; codes are those of `Code`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import StrEnum

from bot.kernel.errors import PermanentError

MAX_LINE = 1 << 20
"""Bytes of one line, its end included."""

_MAY_HOLD_HALVES = re.compile(rb"\\u[dD][89a-fA-F]")
_HALF = re.compile("[\ud800-\udfff]")


class Code(StrEnum):
    UNKNOWN_OP = "unknown_op"
    BAD_REQUEST = "bad_request"
    FORBIDDEN = "forbidden"  # the other end is not the daemon's user
    REFUSED = "refused"  # will not be done
    UNAVAILABLE = "unavailable"  # cannot be done now
    FAILED = "failed"  # a bug; the daemon's log has it


class MalformedError(PermanentError):
    """What came over the socket is not one JSON object on one line of bounded length."""


def encode(message: Mapping[str, object]) -> bytes:
    """One line. Raises `PermanentError` if it would be longer than `MAX_LINE`."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    line = text.encode("utf-8", "replace") + b"\n"  # lone surrogates have no form in UTF-8
    if len(line) > MAX_LINE:
        raise PermanentError(f"a message of {len(line)} bytes is too long for the socket (at most {MAX_LINE})")
    return line


def decode(line: bytes) -> dict[str, object]:
    """The object of a line. Raises `MalformedError`."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise MalformedError("a line is not JSON") from error
    if not isinstance(value, dict):
        raise MalformedError("a line is not a JSON object")
    if _MAY_HOLD_HALVES.search(line) and _has_halves(value):
        raise MalformedError("a line holds half a character, which has no form in UTF-8")
    return value


def _has_halves(value: object) -> bool:
    """Whether a text in `value` holds one half of a surrogate pair: JSON can write it, no store can keep it."""
    return bool(_HALF.search(json.dumps(value, ensure_ascii=False)))


def error(code: Code, message: str) -> dict[str, object]:
    return {"error": code.value, "message": message}
