"""The tree as HTML for a page of ours: every character that somebody wrote is escaped, every tag stands here. Pure.

Links lead out only by http, https and mailto, and tell the other side nothing of where they stood; whether an address
may be a link at all was decided before (`text_links`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

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
)

_LEADS_OUT = re.compile(r"(?:https?://|mailto:)[^\s]", re.IGNORECASE)
_HIGHEST = 3
"""Headings of a text stand below those of the page."""
_LOWEST = 6


def html(document: Document) -> str:
    return _blocks(document.blocks)


def _blocks(blocks: Iterable[Block]) -> str:
    return "".join(map(_block, blocks))


def _block(block: Block) -> str:
    match block:
        case Paragraph(children):
            return f"<p>{_inlines(children)}</p>"
        case Heading(level, children):
            name = f"h{min(_HIGHEST + level - 1, _LOWEST)}"
            return f"<{name}>{_inlines(children)}</{name}>"
        case CodeBlock(_, text):
            return f"<pre><code>{escape(text)}</code></pre>"
        case Quote(blocks):
            return f"<blockquote>{_blocks(blocks)}</blockquote>"
        case ListBlock():
            return _list(block)
        case Table():
            return _table(block)
        case Rule():
            return "<hr>"


def _list(block: ListBlock) -> str:
    items = "".join(_item(item, block.tight) for item in block.items)
    first = block.items[0].number if block.items else None
    if first is None:
        return f"<ul>{items}</ul>"
    return f'<ol start="{first}">{items}</ol>'


def _item(item: Item, tight: bool) -> str:
    if tight and item.blocks and isinstance(item.blocks[0], Paragraph):
        inner = _inlines(item.blocks[0].children) + _blocks(item.blocks[1:])
    else:
        inner = _blocks(item.blocks)
    return f"<li>{inner}</li>"


def _table(block: Table) -> str:
    head = "".join(
        f'<th scope="col"{_aligned(align)}>{_inlines(cell)}</th>'
        for cell, align in zip(block.header, block.aligns, strict=True)
    )
    rows = "".join(
        "<tr>"
        + "".join(f"<td{_aligned(align)}>{_inlines(cell)}</td>" for cell, align in zip(row, block.aligns, strict=True))
        + "</tr>"
        for row in block.rows
    )
    return f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _aligned(align: str) -> str:
    return "" if align == "left" else f' class="{"number" if align == "right" else "middle"}"'


def _inlines(inlines: Iterable[Inline]) -> str:
    return "".join(map(_inline, inlines))


def _inline(inline: Inline) -> str:
    match inline:
        case Text(text):
            return escape(text)
        case Code(text):
            return f"<code>{escape(text)}</code>"
        case Break():
            return "<br>"
        case Emphasis(children):
            return f"<em>{_inlines(children)}</em>"
        case Strong(children):
            return f"<strong>{_inlines(children)}</strong>"
        case Strike(children):
            return f"<del>{_inlines(children)}</del>"
        case Link(href, children) if _LEADS_OUT.match(href):
            return (
                f'<a href="{escape(href)}" rel="noopener noreferrer nofollow" target="_blank">{_inlines(children)}</a>'
            )
        case Link(_, children):
            return _inlines(children)
