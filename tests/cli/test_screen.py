from __future__ import annotations

import io
import re

import pytest

from bot.cli.common import printable
from bot.cli.screen import TAIL, Screen, wrapped
from bot.gateway.text_units import columns


class Glass:
    """What a terminal of endless size shows after the few sequences that the screen uses."""

    def __init__(self, written: str) -> None:
        self.lines = [""]
        for piece in re.split(r"(\x1b\[\d*[FJ]|\n|\r)", written):
            self._take(piece)

    def _take(self, piece: str) -> None:
        if piece == "\n":
            self.lines.append("")
        elif piece == "\r":
            self.lines[-1] = ""
        elif piece.endswith("F") and piece.startswith("\x1b"):
            up = int(piece[2:-1])
            assert up < len(self.lines), "above the top"
            self.lines = [*self.lines[: len(self.lines) - 1 - up], ""]
        elif not piece.startswith("\x1b"):
            self.lines[-1] += piece


def test_a_draft_grows_and_gives_way_to_the_answer() -> None:
    out = io.StringIO()
    screen = Screen(out, live=True)
    screen.draft(None)
    screen.draft("The answer\nis gro")
    screen.draft("The answer\nis growing\nand grow")
    screen.message("The answer.")
    assert Glass(out.getvalue()).lines == ["The answer.", ""]


def test_only_the_tail_of_a_long_draft_is_shown() -> None:
    out = io.StringIO()
    Screen(out, live=True).draft("\n".join(f"line {n}" for n in range(500)))
    lines = Glass(out.getvalue()).lines
    assert len(lines) <= TAIL + 1
    assert lines[-2] == "line 499"


def test_without_a_terminal_drafts_are_not_written() -> None:
    out = io.StringIO()
    screen = Screen(out, live=False)
    screen.draft("so far")
    screen.message("done")
    assert out.getvalue() == "done\n"


def test_a_message_does_not_swallow_what_is_being_typed() -> None:
    out = io.StringIO()
    screen = Screen(out, live=True, typed=lambda: "> half a sent")
    out.write("> half a sent")
    screen.draft("not now")
    screen.message("news")
    assert Glass(out.getvalue()).lines == ["news", "> half a sent"]


@pytest.mark.parametrize(
    "hostile", ["\x1b]0;title\x07", "\x1b[2J", "a\rb", "\x9b31m", "\u202egnp.exe", "\x08\x08", "\ud800"]
)
def test_nothing_that_is_shown_steers_the_terminal(hostile: str) -> None:
    shown = printable(f"before {hostile} after")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", shown)
    assert shown.startswith("before ")
    assert shown.endswith(" after")


@pytest.mark.parametrize("kept", ["two\nlines\tand a tab", "grüße", "日本語", "👩‍👩‍👧 family", "עברית \u200f"])
def test_ordinary_text_is_shown_as_it_is(kept: str) -> None:
    assert printable(kept) == kept


@pytest.mark.parametrize(
    "text", ["", "word " * 40, "日本語" * 30, "👩‍👩‍👧" * 20, "x" * 100, "a\n\nb", "\ttab", "tab\tin the middle" * 9]
)
@pytest.mark.parametrize("width", [10, 37, 79])
def test_every_row_fits_and_nothing_is_lost(text: str, width: int) -> None:
    rows = wrapped(text, width)
    assert all(columns(row) <= width for row in rows)
    assert "".join(rows).replace(" ", "") == text.expandtabs(4).replace("\n", "").replace(" ", "")
