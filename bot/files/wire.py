"""What the daemon and its parsing child say to each other: one JSON line, then raw bytes, in each direction.

Standard library only and cheap to import: the child loads this before anything else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple, TypeAlias

HEADER_BYTES = 64 * 1024  # longest JSON line either side reads

Fact: TypeAlias = str | int | bool
Arguments: TypeAlias = Mapping[str, int]


class Reason(StrEnum):
    """Why a file could not be read. `DAMAGED`: its format says that it is broken, or too deeply nested to follow."""

    ENCRYPTED = "encrypted"
    NO_TEXT_LAYER = "no_text_layer"
    TOO_LARGE = "too_large"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    DAMAGED = "damaged"
    UNSUPPORTED = "unsupported"
    OUT_OF_MEMORY = "out_of_memory"


class Output(NamedTuple):
    """What a parser gives back: small named facts, and the text (UTF-8) or picture itself."""

    facts: dict[str, Fact]
    body: bytes


class Refused(Exception):
    """A parser's named refusal. `detail` is a whole sentence for the person who sent the file."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


class Garbled(ValueError):
    """The other side's bytes are not what this module writes."""


def frame_output(output: Output) -> bytes:
    return _line({"ok": True, "facts": output.facts, "size": len(output.body)}) + output.body


def frame_refusal(reason: Reason, detail: str) -> bytes:
    return _line({"ok": False, "reason": reason.value, "detail": detail[:500]})


def read_answer(raw: bytes) -> Output:
    """The child's answer, checked as the untrusted input that it is.

    Raises `Refused` when the child refused and `Garbled` when the bytes are no whole answer.
    """
    end = raw.find(b"\n", 0, HEADER_BYTES)
    if end < 0:
        raise Garbled("no header line")
    try:
        header: object = json.loads(raw[:end])
    except (ValueError, RecursionError) as error:
        raise Garbled("header is not JSON") from error
    if not isinstance(header, dict):
        raise Garbled("header is not an object")
    if header.get("ok") is not True:
        raise _refusal(header)
    facts = header.get("facts")
    body = raw[end + 1 :]
    if not isinstance(facts, dict) or header.get("size") != len(body):
        raise Garbled("answer is not whole")
    checked: dict[str, Fact] = {}
    for name, value in facts.items():
        if not isinstance(value, str | int):
            raise Garbled("a fact of a wrong type")
        checked[str(name)] = value
    return Output(checked, body)


def _refusal(header: dict[object, object]) -> Refused:
    reason, detail = header.get("reason"), header.get("detail")
    if not isinstance(detail, str) or reason not in {each.value for each in Reason}:
        raise Garbled("a refusal without a known reason")
    return Refused(Reason(str(reason)), detail[:500])


def _line(value: dict[str, object]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("ascii") + b"\n"
