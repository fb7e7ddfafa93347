"""IMAP's syntax (RFC 3501 s9), as far as a client needs it: lines with literals in, strings and folder names out."""

from __future__ import annotations

import asyncio
import base64
import re

from bot.kernel.values import dataclass
from channels.email.charset import one_line

_LITERAL = re.compile(rb"\{(\d+)\+?\}\Z")
_QUOTED_BODY = re.compile(rb'BODY\[[^\]]*\](?:<\d+>)? "((?:\\.|[^"\\])*)"', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Line:
    """One response. `text` has a space where a literal stood; the literals follow in order."""

    text: bytes
    literals: tuple[bytes, ...] = ()

    def body(self) -> bytes:
        """The one string that was asked for: a literal, a quoted string, or nothing (NIL)."""
        if self.literals:
            return self.literals[-1]
        match = _QUOTED_BODY.search(self.text)
        return b"" if match is None else re.sub(rb"\\(.)", rb"\1", match[1])

    @property
    def shown(self) -> str:
        """For messages to a person."""
        return one_line(self.text.decode("utf-8", "replace"))[:200]


async def read_line(reader: asyncio.StreamReader, max_literal: int) -> Line:
    """One response whole. Raises `EOFError` and `OSError` when the connection ends, `ValueError` if a literal is larger
    than `max_literal`, `asyncio.LimitOverrunError` for an endless line."""
    text = b""
    literals: list[bytes] = []
    while True:
        piece = (await reader.readuntil(b"\n")).rstrip(b"\r\n")
        size = literal_size(piece)
        if size is None:
            return Line(text + piece, tuple(literals))
        if size > max_literal:
            raise ValueError(f"it sends {size} bytes at once, more than were asked for")
        text += piece[: piece.rindex(b"{")] + b" "
        literals.append(await reader.readexactly(size))


def literal_size(line: bytes) -> int | None:
    match = _LITERAL.search(line)
    return None if match is None else int(match[1])


def quoted(text: str) -> bytes | None:
    """A quoted string, or None if `text` has characters that must not stand in one."""
    if not text.isascii() or re.search(r"[\0\r\n]", text):
        return None
    return b'"' + re.sub(r'([\\"])', r"\\\1", text).encode() + b'"'


def mailbox_name(name: str) -> str:
    """A folder's name in modified UTF-7 (RFC 3501 s5.1.3)."""
    encoded: list[str] = []
    for plain, other in re.findall(r"([ -~]+)|([^ -~]+)", name):
        if plain:
            encoded.append(plain.replace("&", "&-"))
        else:
            text = base64.b64encode(other.encode("utf-16-be")).decode("ascii")
            encoded.append("&" + text.rstrip("=").replace("/", ",") + "-")
    return "".join(encoded)
