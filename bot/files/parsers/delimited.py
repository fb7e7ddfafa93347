"""Rows of CSV and TSV files as they stand, cut between rows; of a long file all rows are counted but few are kept."""

from __future__ import annotations

import io
import re
import time
from typing import BinaryIO

from bot.files.parsers.text import beginning, decode, finish, guess_note
from bot.files.wire import Arguments, Output

_CHUNK = 1024 * 1024  # characters
_LINE_ENDS = re.compile("\r\n?")


def extract(file: BinaryIO, arguments: Arguments) -> Output:
    """Facts: `truncated`, `note`. The head row is in, unless it alone passes `max_chars`."""
    most = arguments["max_chars"]
    head, goes_on = beginning(file, arguments)
    text, charset, guessed = decode(head, goes_on=goes_on)
    note = guess_note(charset) if guessed else ""
    text = _LINE_ENDS.sub("\n", text).strip("\n")
    if not goes_on and len(text) <= most:
        return finish(text, arguments, note)
    kept, rows = _whole_rows(text[:most])
    if not rows:
        return finish(text, arguments, note, cut=True)
    total, exact = _count(file, charset, time.monotonic() + arguments["seconds"])
    whole = f"{total:,}" if exact else f"more than {total:,}"
    mark = f"[cut here: the file goes on; these are the first {rows:,} of {whole} rows, the head row included]"
    return finish(kept, arguments, note, cut=True, mark=mark)


def _whole_rows(text: str) -> tuple[str, int]:
    """The beginning of `text` that ends with a row, and how many rows it has.

    A line end within quotes is part of a field (RFC 4180 s2.6). Where following the quotes would lose most of the
    text, they are not meant that way, and lines are rows.
    """
    end = rows = quotes = at = 0
    for line in text.splitlines(keepends=True) if "\n" in text else ():
        quotes += line.count('"')
        at += len(line)
        if quotes % 2 == 0 and line.endswith("\n"):
            end, rows = at, rows + 1
    if end < len(text) // 2:
        end = text.rfind("\n") + 1
        rows = text.count("\n", 0, end)
    return text[:end], rows


def _count(file: BinaryIO, charset: str, until: float) -> tuple[int, bool]:
    """How many rows the file has, and whether it was read to its end by then."""
    file.seek(0)
    stream = io.TextIOWrapper(file, encoding=charset, errors="replace", newline=None)
    rows = lines = 0
    inside = False
    last = "\n"
    while chunk := stream.read(_CHUNK):
        pieces = chunk.split('"')
        # Pieces alternate between outside and inside of quotes.
        rows += sum(piece.count("\n") for piece in pieces[int(inside) :: 2])
        lines += chunk.count("\n")
        inside ^= len(pieces) % 2 == 0
        last = chunk[-1]
        if time.monotonic() > until:
            return rows, False
    unended = int(last != "\n")
    return (lines if inside else rows) + unended, True
