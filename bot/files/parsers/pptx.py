"""Text of a PPTX (ISO 29500-1, PresentationML) as Markdown: a heading for each slide, its text in the order of its
shapes, tables, and the speaker's notes. Hidden slides are left out and named; layouts and masters are not read."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import BinaryIO

from lxml.etree import _Element

from bot.files.parsers.grid import markdown_table
from bot.files.parsers.ooxml import Package, Relation, child, children, local, number
from bot.files.parsers.text import PAGE_END, finish
from bot.files.wire import Arguments, Output, Reason, Refused

MAX_SLIDES = 2_000
_RECURSION = 6_000
_TITLES = {"title", "ctrTitle"}
_LEFT_OUT = {"dt", "ftr", "sldNum", "sldImg", "hdr"}  # placeholders that are the same on every slide (s19.7.10)
_PICTURES = {"pic", "oleObj", "graphicData"}


def extract(file: BinaryIO, arguments: Arguments) -> Output:
    """Facts: `pages` (the slides), `truncated`, `note`. Stops by itself after `seconds` and after `max_chars`."""
    sys.setrecursionlimit(_RECURSION)
    until = time.monotonic() + arguments["seconds"]
    package = Package(file)
    part = package.main_part("ppt/presentation.xml")
    root = package.tree(part)
    if root is None:
        raise Refused(Reason.DAMAGED, "The presentation is damaged: its list of slides is missing.")
    slides = list(_slides(root, package.relations(part)))
    texts: list[str] = []
    size = hidden = pictures = missing = 0
    cut = len(slides) > MAX_SLIDES
    for position, target in enumerate(slides[:MAX_SLIDES], 1):
        if size > arguments["max_chars"] or time.monotonic() > until:
            cut = True
            break
        slide = package.tree(target)
        if slide is None:
            missing += 1
            texts.append("")
        elif slide.get("show") in {"0", "false"}:
            hidden += 1
            texts.append("")
        else:
            shown = _Slide(slide)
            pictures += shown.pictures
            texts.append(shown.text(position, _notes(package, target)))
        size += len(texts[-1])
    if not any(texts):
        raise Refused(Reason.NO_TEXT_LAYER, "The presentation holds no text; it may be pictures of slides.")
    notes = [
        f"Hidden slides were left out ({hidden})." if hidden else "",
        f"Pictures, charts and drawings in it were not read ({pictures})." if pictures else "",
        f"Slides that are missing in the file: {missing}." if missing else "",
        "The macros in it were not read." if package.has_macros else "",
    ]
    joint = f"\n\n{PAGE_END}\n\n" if arguments.get("page_ends") else "\n\n"
    parts = texts if arguments.get("page_ends") else [text for text in texts if text]
    note = " ".join(note for note in notes if note)
    return finish(joint.join(parts), arguments, note, cut=cut, pages=len(slides))


def _slides(root: _Element, relations: dict[str, Relation]) -> Iterator[str]:
    """Parts of the slides in the order in which they are shown (s19.2.1.34)."""
    for node in children(child(root, "sldIdLst")):
        key = next((str(each) for name, each in node.items() if str(name).endswith("}id")), "")
        relation = relations.get(key)
        if relation is not None and not relation.external:
            yield relation.target


def _notes(package: Package, slide: str) -> str:
    root = package.tree(package.related(slide, "notesSlide"))
    return "" if root is None else "\n".join(_Slide(root).blocks)


class _Slide:
    def __init__(self, root: _Element) -> None:
        self.title = ""
        self.blocks: list[str] = []
        self.pictures = 0
        self._shapes(child(root, "cSld", "spTree"))

    def text(self, position: int, notes: str) -> str:
        heading = f"## Slide {position}" + (f": {self.title}" if self.title else "")
        said = [f"Notes: {notes}"] if notes else []
        if not (self.title or self.blocks or said):
            return ""
        return "\n\n".join([heading, *self.blocks, *said])

    def _shapes(self, tree: _Element | None) -> None:
        for node in children(tree):
            name = local(node)
            if name == "sp":
                self._shape(node)
            elif name == "grpSp":
                self._shapes(node)
            elif name == "graphicFrame":
                self._frame(node)
            elif name == "AlternateContent":
                choice = child(node, "Choice")
                self._shapes(choice if choice is not None else child(node, "Fallback"))
            elif name in _PICTURES:
                self.pictures += 1

    def _shape(self, node: _Element) -> None:
        placeholder = child(node, "nvSpPr", "nvPr", "ph")
        kind = "" if placeholder is None else placeholder.get("type") or "body"
        if kind in _LEFT_OUT:
            return
        text = _paragraphs(child(node, "txBody"))
        if kind in _TITLES and text and not self.title:
            self.title = " ".join(text.split())
        elif text:
            self.blocks.append(text)

    def _frame(self, node: _Element) -> None:
        table = child(node, "graphic", "graphicData", "tbl")
        if table is None:
            self.pictures += 1
            return
        rows = [
            [_paragraphs(child(cell, "txBody")) for cell in row if local(cell) == "tc"]
            for row in table
            if local(row) == "tr"
        ]
        if text := markdown_table(rows):
            self.blocks.append(text)


def _paragraphs(body: _Element | None) -> str:
    """Paragraphs as lines, indented by their level (s21.1.2.2.6)."""
    lines = []
    for paragraph in children(body):
        if local(paragraph) != "p":
            continue
        text = "".join(_runs(paragraph)).strip()
        properties = child(paragraph, "pPr")
        level = number(properties.get("lvl") if properties is not None else None)
        if text:
            lines.append("  " * max(0, min(level, 8)) + " ".join(text.split(" ")))
    return "\n".join(lines)


def _runs(paragraph: _Element) -> Iterator[str]:
    for node in paragraph:
        name = local(node)
        if name in {"r", "fld"}:
            text = child(node, "t")
            yield " ".join((text.text or "").splitlines()) if text is not None else ""
        elif name == "br":
            yield " "
