"""Rows laid out as text, and one cell made fit for it. Shared by the parsers of documents with tables."""

from __future__ import annotations

from collections.abc import Sequence


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """A pipe table whose first row is the head; short rows are filled up. Empty if there is no text in it."""
    width = max((len(row) for row in rows), default=0)
    if not any(cell.strip() for row in rows for cell in row):
        return ""
    lines = ["| " + " | ".join([*map(_piped, row), *[""] * (width - len(row))]) + " |" for row in rows]
    lines.insert(1, "|" + " --- |" * width)
    return "\n".join(lines)


def tab_row(cells: Sequence[str]) -> str:
    """One row of tab-separated text, without the empty cells at its end."""
    return "\t".join(" ".join(cell.split()) if not cell.isprintable() else cell for cell in cells).rstrip("\t ")


def _piped(cell: str) -> str:
    return cell.strip().replace("|", "\\|").replace("\n", "<br>")
