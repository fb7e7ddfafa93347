"""From the tree to text: one layout, and a `Renderer` per platform that says how each mark is written. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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
from bot.kernel.values import dataclass

_BETWEEN = " | "
_KEPT = 2_000
"""Characters of a node's form that are worth keeping: longer ones are quickly made of what was kept of their parts."""
FAR = 4
"""How many times a limit is exact: a form may take away a little of what it is given (blanks at edges)."""


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
    return _Layout(renderer).join(document.blocks, 0, "\n\n")


def plain(document: Document) -> str:
    """Readable text without markup: addresses in brackets behind their text, `> ` before quoted lines."""
    return render(document, PLAIN)


class Measure:
    """The length of a document in a platform's form, for a splitter, which asks about the same nodes over and over.

    Exact up to `limit` and far beyond; of what is longer still only that it is. `count` gives the length of a text in
    the platform's unit, which is a code point or smaller.
    """

    def __init__(self, renderer: Renderer, count: Callable[[str], int], limit: int) -> None:
        self._count = count
        self._layout = _Layout(renderer, FAR * limit, {})

    def __call__(self, document: Document) -> int:
        return self._count(self._layout.join(document.blocks, 0, "\n\n"))


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


def width(table: Table) -> int:
    """Columns that `aligned` takes, without writing it: one long cell among many rows would make a very long text."""
    return sum(_widths(_cells(table))) + len(_BETWEEN) * (len(table.header) - 1)


def aligned(table: Table) -> str:
    """The table for a monospace font, columns aligned by display width (wide characters take two)."""
    cells = _cells(table)
    widths = _widths(cells)
    lines = [_line(row, widths, table.aligns) for row in cells]
    lines.insert(1, "-+-".join("-" * width for width in widths))
    return "\n".join(line.rstrip() for line in lines)


def _cells(table: Table) -> list[list[str]]:
    return [[inline_text(c).replace("\n", " ") for c in row] for row in (table.header, *table.rows)]


def _widths(cells: list[list[str]]) -> list[int]:
    return [max(columns(row[i]) for row in cells) for i in range(len(cells[0]))]


def _line(row: list[str], widths: list[int], aligns: tuple[str, ...]) -> str:
    return _BETWEEN.join(_pad(c, w, a) for c, w, a in zip(row, widths, aligns, strict=True))


def _pad(cell: str, width: int, align: str) -> str:
    room = width - columns(cell)
    left = room if align == "right" else room // 2 if align == "center" else 0
    return " " * left + cell + " " * (room - left)


@dataclass(frozen=True, slots=True)
class _Layout:
    """One way of writing a tree. `enough`: characters after which nobody asks for more; None: all of it. `known` keeps
    what was written of a node, so that asking about the same nodes over and over costs little; None: nothing is kept.
    """

    renderer: Renderer
    enough: int | None = None
    known: dict[tuple[object, ...], tuple[object, str]] | None = None

    def join(self, blocks: Iterable[Block], depth: int, between: str) -> str:
        return between.join(self._until_enough(text for b in blocks if (text := self.block(b, depth))))

    def block(self, block: Block, depth: int) -> str:
        return self._once(block, (id(block), depth), lambda: self._block(block, depth))

    def _block(self, block: Block, depth: int) -> str:
        renderer = self.renderer
        match block:
            case Paragraph(children):
                return self.inlines(children)
            case Heading(level, children):
                inner = self.inlines(children)
                return renderer.heading(level, inner) if inner else ""
            case CodeBlock(info, text):
                return renderer.code_block(info, text[: self.enough])
            case Quote(blocks):
                inner = self.join(blocks, depth + 1, "\n\n")
                return renderer.quote(inner, depth) if inner else ""
            case ListBlock(items, tight):
                between = "\n" if tight else "\n\n"
                return between.join(self._until_enough(self.item(item, depth, between) for item in items))
            case Table():
                if renderer.table_width and width(block) <= renderer.table_width:
                    return renderer.code_block("", aligned(block))
                return self.block(as_list(block), depth)
            case Rule():
                return renderer.rule()

    def item(self, item: Item, depth: int, between: str) -> str:
        return self._once(item, (id(item), depth, between), lambda: self._item(item, depth, between))

    def _item(self, item: Item, depth: int, between: str) -> str:
        mark = "" if item.continued else "• " if item.number is None else f"{item.number}. "
        indent = "" if item.continued else "   "
        lines: list[str] = []
        for block in item.blocks:
            text = self.block(block, depth)
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

    def inlines(self, inlines: Iterable[Inline]) -> str:
        return "".join(self._until_enough(map(self.inline, inlines)))

    def inline(self, inline: Inline) -> str:
        return self._once(inline, (id(inline),), lambda: self._inline(inline))

    def _inline(self, inline: Inline) -> str:
        renderer = self.renderer
        match inline:
            case Text(text):
                return renderer.text(text[: self.enough])
            case Code(text):
                return renderer.code(text[: self.enough])
            case Break():
                return "\n"
            case Emphasis(children):
                return renderer.emphasis(self.inlines(children))
            case Strong(children):
                return renderer.strong(self.inlines(children))
            case Strike(children):
                return renderer.strike(self.inlines(children))
            case Link(href, children):
                return renderer.link(href, self.inlines(children), inline_text(children))

    def _until_enough(self, texts: Iterable[str]) -> Iterable[str]:
        return texts if self.enough is None else _first(texts, self.enough)

    def _once(self, node: object, key: tuple[object, ...], write: Callable[[], str]) -> str:
        if self.known is None:
            return write()
        found = self.known.get(key)
        if found is not None:
            return found[1]
        text = write()
        if len(text) <= _KEPT or isinstance(node, Table):
            self.known[key] = (node, text)  # the node is kept, else another could get its id
        return text


def _first(texts: Iterable[str], enough: int) -> Iterator[str]:
    """As many of `texts` as make `enough` characters."""
    for text in texts:
        yield text
        enough -= len(text)
        if enough < 0:
            return


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
