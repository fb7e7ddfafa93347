"""From the tree to text: one layout, and a `Renderer` per platform that says how each mark is written. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from bot.gateway.text import (
    Block,
    Break,
    Code,
    CodeBlock,
    Document,
    Emphasis,
    Heading,
    Inline,
    Item,
    Link,
    ListBlock,
    Paragraph,
    Quote,
    Rule,
    Strike,
    Strong,
    Table,
    Text,
    inline_text,
)
from bot.gateway.text_units import columns


class Renderer(Protocol):
    """How a platform writes each mark. `inner` is rendered already; `text`, `info` and `href` are as in the tree."""

    @property
    def table_width(self) -> int:
        """Columns that an aligned table may take; wider ones become `header: value` lists. 0: always lists."""
        ...

    def text(self, text: str) -> str: ...

    def code(self, text: str) -> str: ...

    def emphasis(self, inner: str) -> str: ...

    def strong(self, inner: str) -> str: ...

    def strike(self, inner: str) -> str: ...

    def link(self, href: str, inner: str, label: str) -> str:
        """`label` is `inner` without any markup."""
        ...

    def heading(self, level: int, inner: str) -> str: ...

    def code_block(self, info: str, text: str) -> str: ...

    def quote(self, inner: str, depth: int) -> str:
        """`depth` counts the quotes around this one."""
        ...

    def rule(self) -> str: ...


def render(document: Document, renderer: Renderer) -> str:
    """The document in the platform's form; blocks are one empty line apart."""
    return _join(document.blocks, renderer, 0, "\n\n")


def plain(document: Document) -> str:
    """Readable text without markup: addresses in brackets behind their text, `> ` before quoted lines."""
    return render(document, PLAIN)


def shown(document: Document) -> str:
    """The bare characters in the same layout: what is left of a form whose marks are all invisible."""
    return render(document, SHOWN)


def as_list(table: Table) -> ListBlock:
    """The table as a list: an item per row, a line `header: value` per cell that holds something."""
    if not table.rows:
        names = [part for head in table.header for part in (Text(", "), *head)]
        return ListBlock((Item((Paragraph(tuple(names[1:])),)),))
    return ListBlock(tuple(Item((Paragraph(_labelled(table.header, row)),)) for row in table.rows))


def _labelled(header: tuple[tuple[Inline, ...], ...], row: tuple[tuple[Inline, ...], ...]) -> tuple[Inline, ...]:
    lines: list[Inline] = []
    for head, cell in zip(header, row, strict=True):
        if inline_text(cell).strip():
            lines += [Break()] if lines else []
            lines += [Strong(head), Text(": ")] if inline_text(head).strip() else []
            lines += cell
    return tuple(lines)


def aligned(table: Table) -> str:
    """The table for a monospace font, columns aligned by display width (wide characters take two)."""
    cells = [[inline_text(c).replace("\n", " ") for c in row] for row in (table.header, *table.rows)]
    widths = [max(columns(row[i]) for row in cells) for i in range(len(table.header))]
    lines = [_line(row, widths, table.aligns) for row in cells]
    lines.insert(1, "-+-".join("-" * width for width in widths))
    return "\n".join(line.rstrip() for line in lines)


def _line(row: list[str], widths: list[int], aligns: tuple[str, ...]) -> str:
    return " | ".join(_pad(c, w, a) for c, w, a in zip(row, widths, aligns, strict=True))


def _pad(cell: str, width: int, align: str) -> str:
    room = width - columns(cell)
    left = room if align == "right" else room // 2 if align == "center" else 0
    return " " * left + cell + " " * (room - left)


def _join(blocks: tuple[Block, ...], renderer: Renderer, depth: int, between: str) -> str:
    return between.join(text for block in blocks if (text := _block(block, renderer, depth)))


def _block(block: Block, renderer: Renderer, depth: int) -> str:
    match block:
        case Paragraph(children):
            return _inlines(children, renderer)
        case Heading(level, children):
            inner = _inlines(children, renderer)
            return renderer.heading(level, inner) if inner else ""
        case CodeBlock(info, text):
            return renderer.code_block(info, text)
        case Quote(blocks):
            inner = _join(blocks, renderer, depth + 1, "\n\n")
            return renderer.quote(inner, depth) if inner else ""
        case ListBlock(items, tight):
            between = "\n" if tight else "\n\n"
            return between.join(_item(item, renderer, depth, between) for item in items)
        case Table():
            if renderer.table_width:
                text = aligned(block)
                if max(columns(line) for line in text.split("\n")) <= renderer.table_width:
                    return renderer.code_block("", text)
            return _block(as_list(block), renderer, depth)
        case Rule():
            return renderer.rule()


def _item(item: Item, renderer: Renderer, depth: int, between: str) -> str:
    mark = "" if item.continued else "• " if item.number is None else f"{item.number}. "
    indent = "" if item.continued else "   "
    lines: list[str] = []
    for block in item.blocks:
        text = _block(block, renderer, depth)
        if not text:
            continue
        # Quotes and code stay at the margin: their lines are theirs, and marks that need a line start get one.
        lines.append(text if isinstance(block, CodeBlock | Quote | Table) else text.replace("\n", "\n" + indent))
        if len(lines) > 1 and isinstance(block, Paragraph | Heading | ListBlock | Rule):
            lines[-1] = indent + lines[-1]
    first = item.blocks[0] if item.blocks else None
    if mark and isinstance(first, CodeBlock | Quote | Table | ListBlock):
        lines.insert(0, mark.rstrip())
        return between.join(lines)
    return mark + between.join(lines)


def _inlines(inlines: tuple[Inline, ...], renderer: Renderer) -> str:
    return "".join(_inline(i, renderer) for i in inlines)


def _inline(inline: Inline, renderer: Renderer) -> str:
    match inline:
        case Text(text):
            return renderer.text(text)
        case Code(text):
            return renderer.code(text)
        case Break():
            return "\n"
        case Emphasis(children):
            return renderer.emphasis(_inlines(children, renderer))
        case Strong(children):
            return renderer.strong(_inlines(children, renderer))
        case Strike(children):
            return renderer.strike(_inlines(children, renderer))
        case Link(href, children):
            return renderer.link(href, _inlines(children, renderer), inline_text(children))


RULE = "──────────"


@dataclass(frozen=True, slots=True)
class Bare:
    """No marks at all. The base of renderers whose marks are few."""

    table_width: int = 60

    def text(self, text: str) -> str:
        return text

    def code(self, text: str) -> str:
        return text

    def emphasis(self, inner: str) -> str:
        return inner

    def strong(self, inner: str) -> str:
        return inner

    def strike(self, inner: str) -> str:
        return inner

    def link(self, href: str, inner: str, label: str) -> str:
        return inner

    def heading(self, level: int, inner: str) -> str:
        return inner

    def code_block(self, info: str, text: str) -> str:
        return text

    def quote(self, inner: str, depth: int) -> str:
        return inner

    def rule(self) -> str:
        return RULE


@dataclass(frozen=True, slots=True)
class _Plain(Bare):
    def link(self, href: str, inner: str, label: str) -> str:
        return inner if href in (label, f"mailto:{label}") else f"{inner} ({href})"

    def quote(self, inner: str, depth: int) -> str:
        return "\n".join(f"> {line}" for line in inner.split("\n"))


SHOWN: Renderer = Bare()
PLAIN: Renderer = _Plain()
