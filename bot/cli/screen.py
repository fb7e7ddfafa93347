"""What a chat shows: messages for good, and below them, on a terminal only, the tail of an answer being written."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable
from typing import TextIO

from bot.cli.common import printable
from bot.gateway.text_units import columns, graphemes

TAIL = 12
"""Rows of a growing answer that are shown at most; what has left the screen could not be taken back."""
WRITING = "…"


class Screen:
    """Not safe for threads: the caller holds a lock. `live`: `out` is a terminal, where a draft can be taken back.
    `typed` tells the prompt and what stands behind it while a person is typing, else None."""

    def __init__(self, out: TextIO, live: bool, typed: Callable[[], str | None] = lambda: None) -> None:
        self._out = out
        self._live = live
        self._typed = typed
        self._rows = 0

    def message(self, text: str) -> None:
        """Show for good."""
        self._put(f"{printable(text)}\n")

    def draft(self, text: str | None) -> None:
        """Show how far the answer is; None: that one is being written."""
        if not self._live or self._typed() is not None:
            return
        size = shutil.get_terminal_size()
        rows = wrapped(printable(text or WRITING), max(size.columns - 1, 10))[-max(1, min(TAIL, size.lines // 2)) :]
        self._out.write(self._taken_back() + "".join(f"{row}\n" for row in rows))
        self._out.flush()
        self._rows = len(rows)

    def clear(self) -> None:
        """Take the draft back."""
        self._put("")

    def _put(self, text: str) -> None:
        typed = self._typed() if self._live else None
        before = self._taken_back() if typed is None else "\r\x1b[J"
        self._out.write(before + text + (typed or ""))
        self._out.flush()
        self._rows = 0

    def _taken_back(self) -> str:
        # ECMA-48: CPL (cursor to the start of the nth line above), ED (erase to the end of the screen)
        return f"\x1b[{self._rows}F\x1b[J" if self._rows else ""


def wrapped(text: str, width: int) -> list[str]:
    """Rows of at most `width` columns, so that it is known how many rows the text takes."""
    rows: list[str] = []
    for line in text.expandtabs(4).split("\n"):
        if line.isascii():
            rows += textwrap.wrap(line, width, drop_whitespace=False, replace_whitespace=False) or [""]
            continue
        row, used = "", 0
        for cluster in graphemes(line):
            wide = columns(cluster)
            if used + wide > width:
                rows.append(row)
                row, used = "", 0
            row, used = row + cluster, used + wide
        rows.append(row)
    return rows
