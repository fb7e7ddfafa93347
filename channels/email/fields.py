"""The header block of a mail, split at line ends as servers and signers split it. Pure; never raises."""

from __future__ import annotations

import re

Fields = tuple[tuple[str, str], ...]
"""(lower-case name, value on one line), in order; bytes beyond ASCII as surrogate escapes."""


LIMIT = 1 << 18
"""Bytes of a header block that are looked at. Servers refuse far smaller ones."""


def split(raw: bytes) -> Fields:
    """What looks like a field is one; what does not is passed over."""
    fields: list[tuple[str, str]] = []
    for line in re.split(rb"\r?\n", head(raw)):
        text = line.decode("utf-8", "surrogateescape")
        if text[:1] in {" ", "\t"} and fields:
            fields[-1] = (fields[-1][0], f"{fields[-1][1]} {text.strip()}")
        elif ":" in text:
            name, _, value = text.partition(":")
            fields.append((name.strip().lower(), value.strip()))
    return tuple(fields)


def is_plain(raw: bytes) -> bool:
    """Whether all parsers see the same fields: no bare CR, no NUL, no line that is neither field nor continuation, and
    an end within `LIMIT`."""
    block = head(raw)
    if len(block) == LIMIT or b"\0" in block or re.search(rb"\r(?!\n)", block):
        return False
    return all(not line or line[:1] in b" \t" or b":" in line for line in re.split(rb"\r?\n", block))


def head(raw: bytes) -> bytes:
    """All before the first blank line, `LIMIT` bytes at most."""
    return re.split(rb"\r?\n\r?\n", raw[:LIMIT], maxsplit=1)[0]


def body(raw: bytes) -> bytes:
    """All after it; everything, if there is none."""
    return re.split(rb"\r?\n\r?\n", raw, maxsplit=1)[-1]
