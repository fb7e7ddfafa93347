"""Text of a DOCX (ISO 29500-1, WordprocessingML) as Markdown: headings, labelled lists, tables, notes, comments.

The document is read as Word shows it with its changes accepted: insertions are in, deletions and hidden text are out.
Headers, footers and pictures are not read.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import BinaryIO

from lxml.etree import _Element

from bot.files.parsers.grid import markdown_table
from bot.files.parsers.ooxml import Package, Relation, child, forget, is_on, local, number, value
from bot.files.parsers.text import finish
from bot.files.parsers.wordstyle import BULLET, Look, Numbering, Styles, direct_look, hides
from bot.files.wire import Arguments, Output

_BLOCKS = ("p", "tbl", "sdt", "customXml", "altChunk", "AlternateContent")
_WRAPPERS = {"sdt", "sdtContent", "customXml", "ins", "moveTo", "smartTag", "dir", "bdo"}
# Tracked deletions, properties, field codes, and the small type beside ruby text.
_LEFT_OUT = {"del", "moveFrom", "delText", "delInstrText", "instrText", "pPr", "rPr", "rt", "sdtPr", "sdtEndPr"}
_SIGNS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_PICTURES = {"drawing", "pict", "object"}
_WIDEST = 64  # table columns
_RECURSION = 6_000  # libxml2 stops at 256 levels; a table in a table costs a few frames for each of them
_SHOWN_SCHEMES = ("http://", "https://", "mailto:")


def extract(file: BinaryIO, arguments: Arguments) -> Output:
    """Facts: `truncated`, `note`. Stops by itself after `seconds` and after `max_chars`."""
    sys.setrecursionlimit(_RECURSION)
    package = Package(file)
    reader = _Reader(package, package.main_part("word/document.xml"))
    cut = reader.read(arguments["max_chars"], time.monotonic() + arguments["seconds"])
    return finish(reader.text(), arguments, reader.note(), cut=cut)


class _Reader:
    def __init__(self, package: Package, part: str) -> None:
        self._package = package
        self._part = part
        self._relations = package.relations(part)
        self._styles = Styles(package.tree(self._kin("styles")))
        self._numbering = Numbering(package.tree(self._kin("numbering")))
        self._blocks: list[str] = []
        # Notes and comments that are referred to, by kind: their ids in order, with their positions from 1.
        self._marks: dict[str, dict[str, int]] = {}
        self._boxes: list[_Element] = []
        self._in_table = 0
        self._hidden = self._pictures = self._embedded = 0
        self._tail: list[str] = []

    def read(self, max_chars: int, until: float) -> bool:
        """Read the body. True if it was left before its end."""
        size = 0
        cut = False
        for _, node in self._package.events(self._part, ("end",), *_BLOCKS):
            parent = node.getparent()
            if parent is None or local(parent) != "body":
                continue
            before = len(self._blocks)
            self._block(node)
            forget(node)
            size += sum(map(len, self._blocks[before:]))
            if size > max_chars or time.monotonic() > until:
                cut = True
                break
        for kind, title in (("footnote", "Footnotes"), ("endnote", "Endnotes"), ("comment", "Comments")):
            self._notes(kind, title)
        return cut

    def text(self) -> str:
        """Blocks parted by blank lines, items of a list by line ends only."""
        parts: list[str] = []
        for block, follows in pairwise([*self._blocks, ""]):
            parts.append(block + ("\n" if _is_item(block) and _is_item(follows) else "\n\n"))
        return "".join(parts) + "\n\n".join(self._tail)

    def note(self) -> str:
        notes = []
        if self._hidden:
            notes.append("Hidden text was left out.")
        if self._pictures:
            notes.append(f"Pictures and drawings in it were not read ({self._pictures}).")
        if self._embedded:
            notes.append("Another document is embedded in it and was not read.")
        if self._package.has_macros:
            notes.append("The macros in it were not read.")
        return " ".join(notes)

    def _kin(self, kind: str) -> str | None:
        found = (each.target for each in self._relations.values() if each.kind == kind and not each.external)
        return next(found, None)

    def _block(self, node: _Element) -> None:
        name = local(node)
        if name == "p":
            self._paragraph(node)
        elif name == "tbl":
            self._table(node)
        elif name == "altChunk":
            self._embedded += 1
        elif name in _WRAPPERS:
            for each in node:
                self._block(each)
        elif name == "AlternateContent":
            for each in _chosen(node):
                self._block(each)

    def _paragraph(self, node: _Element) -> None:
        properties = child(node, "pPr")
        look = direct_look(properties).over(self._styles.look(value(child(properties, "pStyle"))))
        style_hides = self._styles.look(value(child(properties, "pStyle"))).hidden or False
        pieces: list[str] = []
        self._inline(node, pieces, style_hides)
        text = "".join(pieces).strip()
        # A paragraph whose mark was deleted is no paragraph any more, and counts in no list.
        gone = not text and child(properties, "rPr", "del") is not None
        label = None if gone or look.list_id is None else self._numbering.label(look.list_id, look.depth or 0)
        if text:
            self._blocks.append(_dressed(text, look, label))
        boxes, self._boxes = self._boxes, []
        for box in boxes:
            for each in box:
                self._block(each)

    def _inline(self, node: _Element, out: list[str], style_hides: bool) -> None:
        for each in node:
            name = local(each)
            if name in _LEFT_OUT:
                continue
            if name == "t":
                out.append(" ".join((each.text or "").splitlines()))
            elif name == "r":
                if self._is_hidden(each, style_hides):
                    self._hidden += any(local(inner) in {"t", "sym"} for inner in each)
                else:
                    self._inline(each, out, style_hides)
            elif name in _SIGNS:
                out.append(_SIGNS[name])
            elif name == "sym":
                out.append(_symbol(value(each, "char")))
            elif name in {"footnoteReference", "endnoteReference", "commentReference"}:
                out.append(self._reference(name.removesuffix("Reference"), value(each, "id") or ""))
            elif name == "hyperlink":
                self._link(each, out, style_hides)
            elif name in _PICTURES:
                self._drawing(each)
            elif name == "AlternateContent":
                self._inline(_wrapped(each), out, style_hides)
            else:
                self._inline(each, out, style_hides)

    def _is_hidden(self, run: _Element, style_hides: bool) -> bool:
        properties = child(run, "rPr")
        direct = hides(properties)
        if direct is None:
            direct = self._styles.look(value(child(properties, "rStyle"))).hidden
        return style_hides if direct is None else direct

    def _link(self, node: _Element, out: list[str], style_hides: bool) -> None:
        pieces: list[str] = []
        self._inline(node, pieces, style_hides)
        text = "".join(pieces)
        ids = [found for key, found in node.items() if str(key).endswith("}id")]
        relation: Relation | None = self._relations.get(str(ids[0])) if ids else None
        target = relation.target if relation is not None and relation.external else ""
        if text.strip() and target.startswith(_SHOWN_SCHEMES) and len(target) <= 500 and not set(target) & set(" ()<>"):
            plain = target.removeprefix("mailto:")
            text = text if text.strip().rstrip("/") == plain.rstrip("/") else f"[{text}]({target})"
        out.append(text)

    def _reference(self, kind: str, identifier: str) -> str:
        marks = self._marks.setdefault(kind, {})
        return _mark(kind, marks.setdefault(identifier, len(marks) + 1))

    def _drawing(self, node: _Element) -> None:
        boxes = list(_text_boxes(node))
        self._boxes.extend(boxes)
        self._pictures += not boxes

    def _table(self, node: _Element) -> None:
        rows = [list(self._cells(row)) for row in _rows(node)]
        if self._in_table:  # Markdown has no table in a table
            text = "; ".join(" / ".join(cell for cell in row if cell) for row in rows)
        else:
            text = markdown_table(rows)
        if text.strip(" ;"):
            self._blocks.append(text)

    def _cells(self, row: _Element) -> Iterator[str]:
        width = 0
        for cell in _through(row, "tc"):
            properties = child(cell, "tcPr")
            merge = child(properties, "vMerge")
            follows = merge is not None and (value(merge) or "continue") == "continue"
            span = max(1, min(_WIDEST, number(value(child(properties, "gridSpan")), 1)))
            outer, self._blocks = self._blocks, []
            self._in_table += 1
            for each in cell:
                self._block(each)
            self._in_table -= 1
            inner, self._blocks = self._blocks, outer
            width += span
            if width > _WIDEST:
                return
            yield "" if follows else "\n".join(inner)
            yield from [""] * (span - 1)

    def _notes(self, kind: str, title: str) -> None:
        """Footnotes, endnotes or comments that the text read so far refers to."""
        wanted = dict(self._marks.get(kind, {}))
        root = self._package.tree(self._kin(kind + "s")) if wanted else None
        if root is None:
            return
        nodes = {value(node, "id"): node for node in root if local(node) == kind}
        lines = []
        for identifier, position in wanted.items():
            node = nodes.get(identifier)
            if node is None:
                continue
            outer, self._blocks = self._blocks, []
            for each in node:
                self._block(each)
            inner, self._blocks = self._blocks, outer
            who = ""
            if kind == "comment":
                author, day = value(node, "author") or "unnamed", (value(node, "date") or "")[:10]
                who = " by " + " ".join(author.split())[:80] + (f", {day}" if day else "")
            lines.append(f"{_mark(kind, position)[:-1]}{who}]: " + " ".join(" ".join(inner).split()))
        if lines:
            self._tail.append(f"{title}:\n" + "\n".join(lines))


def _mark(kind: str, position: int) -> str:
    return {"footnote": f"[^{position}]", "endnote": f"[^e{position}]"}.get(kind, f"[comment {position}]")


def _dressed(text: str, look: Look, label: str | None) -> str:
    labelled = f"{label} {text}" if label else text
    if look.level is not None:
        return "#" * min(look.level, 6) + " " + " ".join((text if label == BULLET else labelled).split())
    return "  " * (look.depth or 0) + labelled.replace("\n", " ") if label else text


def _is_item(block: str) -> bool:
    start = block.lstrip(" ")[:12].partition(" ")[0]
    return start == BULLET or (start[-1:] in {".", ")"} and len(start) <= 8 and any(each.isalnum() for each in start))


def _rows(table: _Element) -> Iterator[_Element]:
    for row in _through(table, "tr"):
        properties = child(row, "trPr")
        if child(properties, "del") is None and not is_on(child(properties, "hidden")):
            yield row


def _through(node: _Element, name: str) -> Iterator[_Element]:
    """Children of a name, also where content controls and the like stand between."""
    for each in node:
        if local(each) == name:
            yield each
        elif local(each) in _WRAPPERS:
            yield from _through(each, name)


def _wrapped(node: _Element) -> _Element:
    """Of alternatives that mean the same, the first: the others are for older programs (ISO 29500-3 s9.3)."""
    choice = child(node, "Choice")
    found = choice if choice is not None else child(node, "Fallback")
    return node if found is None else found


def _chosen(node: _Element) -> Iterator[_Element]:
    found = _wrapped(node)
    yield from () if found is node else found


def _text_boxes(node: _Element) -> Iterator[_Element]:
    for each in node:
        if local(each) == "txbxContent":
            yield each
        elif local(each) == "AlternateContent":
            yield from _text_boxes(_wrapped(each))
        else:
            yield from _text_boxes(each)


def _symbol(code: str | None) -> str:
    """A character of a symbol font; those fonts use the private area, where nothing can be named."""
    try:
        point = int(code or "", 16)
    except ValueError:
        return ""
    return chr(point) if 0x20 <= point < 0xD800 else ""
