"""Cells of an XLSX (ISO 29500-1, SpreadsheetML) as tab-separated rows, sheet by sheet, as they were last computed.

Dates are ISO 8601, formulas are their stored results. Hidden sheets, rows and columns are left out and named. Each
sheet gets a fair part of the room, so that a long one does not push the others out.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import BinaryIO

from lxml.etree import _Element

from bot.files.parsers.cells import Form, form_of_code, form_of_number, shown_number
from bot.files.parsers.grid import tab_row
from bot.files.parsers.ooxml import Package, Relation, child, children, forget, local, number
from bot.files.parsers.text import finish
from bot.files.wire import Arguments, Output, Reason, Refused
from bot.kernel.values import dataclass

MAX_ROWS = 5_000  # of one sheet
MAX_COLUMNS = 256
_LAST_COLUMN = 16_384  # XFD (ISO 29500-1 s18.3.1.4 and Excel's limit)
_MAX_CELL = 32_767  # characters, Excel's own limit
_MAX_STRINGS = 48 * 1024 * 1024  # characters of all shared strings
_MAX_SHEETS = 200
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")  # characters that XML has no room for (ISO 29500-1 s22.9.2.19)
_NOT_STORED = "[not computed]"


@dataclass(frozen=True, slots=True)
class _Sheet:
    name: str
    relation: Relation | None
    hidden: bool


@dataclass(slots=True)
class _Count:
    """What was left out, over all sheets."""

    rows: int = 0
    columns: set[tuple[str, int]] = field(default_factory=set)
    wide: int = 0
    not_stored: int = 0
    unread: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Book:
    package: Package
    strings: Sequence[str]
    forms: Sequence[Form]
    from_1904: bool


def extract(file: BinaryIO, arguments: Arguments) -> Output:
    """Facts: `truncated`, `note`. Stops by itself after `seconds`."""
    until = time.monotonic() + arguments["seconds"]
    package = Package(file)
    part = package.main_part("xl/workbook.xml")
    root = package.tree(part)
    if root is None:
        raise Refused(Reason.DAMAGED, "The workbook is damaged: its list of sheets is missing.")
    sheets = _sheets(root, package.relations(part))
    shown = [each for each in sheets if not each.hidden]
    date_system = child(root, "workbookPr")
    book = _Book(
        package,
        _strings(package, package.related(part, "sharedStrings")),
        _forms(package.tree(package.related(part, "styles"))),
        date_system is not None and (date_system.get("date1904") or "").lower() in {"1", "true", "on"},
    )
    count = _Count()
    texts: list[str] = []
    left = arguments["max_chars"]
    cut = False
    for at, sheet in enumerate(shown):
        if time.monotonic() > until or at >= _MAX_SHEETS:
            count.unread.extend(each.name for each in shown[at:])
            break
        text, was_cut = _sheet(book, sheet, left // (len(shown) - at), until, count)
        texts.append(text)
        left = max(0, left - len(text))
        cut = cut or was_cut
    note = _note(count, [each.name for each in sheets if each.hidden], package.has_macros)
    return finish(
        "\n\n".join(texts), arguments, note, cut=cut or bool(count.unread),
        mark="[cut here: the workbook goes on; what is missing of a sheet is marked at its end]",
    )  # fmt: skip


def _sheets(root: _Element, relations: dict[str, Relation]) -> list[_Sheet]:
    found = []
    for node in children(child(root, "sheets")):
        key = next((str(each) for name, each in node.items() if str(name).endswith("}id")), "")
        name = " ".join((node.get("name") or "unnamed").split())[:100]
        found.append(_Sheet(name, relations.get(key), (node.get("state") or "visible") != "visible"))
    return found


def _strings(package: Package, part: str | None) -> list[str]:
    strings: list[str] = []
    size = 0
    if part is None or part not in package:
        return strings
    for _, node in package.events(part, ("end",), "si"):
        strings.append(_text(node))
        forget(node)
        size += len(strings[-1])
        if size > _MAX_STRINGS:
            raise Refused(Reason.TOO_LARGE, "The workbook unpacks to more than can be read.")
    return strings


def _text(node: _Element) -> str:
    """Text of a plain or rich string, without the reading aids of East Asian text (`rPh`)."""
    pieces: list[str] = []
    for each in node:
        if local(each) == "t":
            pieces.append(each.text or "")
        elif local(each) == "r":
            pieces.extend(inner.text or "" for inner in each if local(inner) == "t")
    return _ESCAPED.sub(_unescaped, "".join(pieces)[:_MAX_CELL])


def _unescaped(match: re.Match[str]) -> str:
    sign = chr(int(match[1], 16))
    return sign if sign.isprintable() else " "


def _forms(root: _Element | None) -> list[Form]:
    """The form of each cell style, by its position."""
    own = {
        number(node.get("numFmtId"), -1): form_of_code((node.get("formatCode") or "")[:255])
        for node in children(child(root, "numFmts"))
    }
    formats = [number(node.get("numFmtId")) for node in children(child(root, "cellXfs"))]
    return [own[each] if each in own else form_of_number(each) for each in formats]


def _sheet(book: _Book, sheet: _Sheet, room: int, until: float, count: _Count) -> tuple[str, bool]:
    """One sheet under its heading, and whether it was cut."""
    heading = f"## Sheet: {sheet.name}"
    if sheet.relation is None or sheet.relation.external or sheet.relation.kind != "worksheet":
        return f"{heading}\n\n[no cells: a chart or another kind of sheet]", False
    lines: list[str] = []
    size = len(heading)
    rows = last = 0
    for at, cells in _rows(book, sheet.relation.target, count):
        line = tab_row(cells)
        late = time.monotonic() > until
        if late or (line and (rows >= MAX_ROWS or size + len(line) > room - 80)):
            if not rows and line:
                lines.append(line[: max(0, room - 80)])
                rows = 1
            lines.append(f"[cut here: the sheet goes on; these are its first {rows:,} rows with content]")
            return f"{heading}\n\n" + "\n".join(lines), True
        if not line:
            continue
        if last and at > last + 1:
            lines.append("")
            size += 1
        last = at
        rows += 1
        lines.append(line)
        size += len(line) + 1
    return f"{heading}\n\n" + ("\n".join(lines) or "[empty]"), False


def _rows(book: _Book, part: str, count: _Count) -> Iterator[tuple[int, list[str]]]:
    """Row numbers and cells; no cells of hidden rows. Memory holds one chunk of the sheet at a time."""
    hidden: set[int] = set()
    cells: list[str] = []
    at = column = 0
    skipped = held = False
    for event, node in book.package.events(part, ("start", "end"), "col", "row", "c", "sheetData"):
        name = local(node)
        if name == "row" and event == "start":
            at, column, cells = number(node.get("r"), at + 1), 0, []
            skipped, held = (node.get("hidden") or "").lower() in {"1", "true", "on"}, False
        elif name == "c" and event == "end":
            column = _column(node.get("r")) or column + 1
            if column > _LAST_COLUMN:
                raise Refused(Reason.DAMAGED, "The workbook is damaged: it has cells where no sheet has columns.")
            if column > MAX_COLUMNS:
                count.wide += 1
            elif not skipped and column not in hidden:
                cells.extend([""] * (column - len(cells)))
                cells[column - 1] = _value(book, node, count)
            elif skipped:
                held = held or len(node) > 0
            elif len(node):  # in a hidden column, and not empty
                count.columns.add((part, column))
            forget(node)
        elif name == "row":
            forget(node)
            count.rows += held
            yield at, [cell for place, cell in enumerate(cells, 1) if place not in hidden]
        elif name == "col" and event == "start" and (node.get("hidden") or "").lower() in {"1", "true", "on"}:
            first, final = number(node.get("min"), 1), min(number(node.get("max"), 1), MAX_COLUMNS)
            hidden.update(range(max(1, first), final + 1))
        elif name == "sheetData" and event == "end":
            return


def _column(reference: str | None) -> int:
    """`AB12` is 28; 0 where there is no reference."""
    column = 0
    for letter in (reference or "")[:8].upper():
        if not "A" <= letter <= "Z":
            break
        column = column * 26 + ord(letter) - 64
    return column


def _value(book: _Book, node: _Element, count: _Count) -> str:
    kind = node.get("t") or "n"
    if kind == "inlineStr":
        inline = child(node, "is")
        return "" if inline is None else _text(inline)
    stored = child(node, "v")
    text = ("" if stored is None else stored.text or "")[:_MAX_CELL]
    if not text:
        if child(node, "f") is None or kind == "str":
            return ""
        count.not_stored += 1
        return _NOT_STORED
    if kind == "s":
        index = number(text, -1)
        return book.strings[index] if 0 <= index < len(book.strings) else ""
    if kind == "b":
        return "TRUE" if text.strip() == "1" else "FALSE"
    if kind != "n":  # `str`, `e` (an error such as #DIV/0!), `d` (ISO 8601 already)
        return text
    style = number(node.get("s"))
    form = book.forms[style] if 0 <= style < len(book.forms) else Form.NUMBER
    return shown_number(text, form, from_1904=book.from_1904)


def _note(count: _Count, hidden: list[str], macros: bool) -> str:
    notes = []
    if hidden:
        more = "" if len(hidden) <= 10 else f" and {len(hidden) - 10} more"
        notes.append("Hidden sheets were left out: " + ", ".join(hidden[:10]) + more + ".")
    if count.rows or count.columns:
        notes.append(f"Hidden rows ({count.rows}) and columns ({len(count.columns)}) were left out.")
    if count.wide:
        notes.append(f"Columns after the {MAX_COLUMNS}th were left out.")
    if count.not_stored:
        notes.append(f"Formulas without a stored result: {count.not_stored}.")
    if count.unread:
        notes.append("Not read any more: " + ", ".join(count.unread[:10]) + ".")
    if macros:
        notes.append("The macros in it were not read.")
    return " ".join(notes)
