"""No parser: tells which protections the child has, for `doctor`."""

from __future__ import annotations

from bot.files.wire import Arguments, Output


def probe(_data: bytes, arguments: Arguments) -> Output:
    return Output(dict(arguments), b"")
