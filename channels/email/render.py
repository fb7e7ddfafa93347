"""An answer's Markdown as HTML for mail. Pure. No pictures, no styles, no addresses that a preview would fetch."""

from __future__ import annotations

from html import escape
from urllib.parse import urlsplit

from bot.gateway import text as md

_SCHEMES = frozenset({"http", "https", "mailto", "tel"})


def to_html(document: md.Document) -> str:
    """A fragment that any mail reader shows as the same text."""
    return "\n".join(_block(block) for block in document.blocks)


def _block(block: md.Block) -> str:
    match block:
        case md.Paragraph(children):
            return f"<p>{_inlines(children)}</p>"
        case md.Heading(level, children):
            return f"<h{min(level + 1, 6)}>{_inlines(children)}</h{min(level + 1, 6)}>"
        case md.CodeBlock(_, text):
            return f"<pre>{escape(text)}</pre>"
        case md.Quote(blocks):
            return f"<blockquote>{_all(blocks)}</blockquote>"
        case md.ListBlock(items, tight):
            return _list(items, tight)
        case md.Table(header, rows, _):
            head = "".join(f"<th>{_inlines(cell)}</th>" for cell in header)
            body = "".join("<tr>" + "".join(f"<td>{_inlines(c)}</td>" for c in row) + "</tr>" for row in rows)
            return f'<table border="1" cellpadding="4"><tr>{head}</tr>{body}</table>'
        case md.Rule():
            return "<hr>"


def _all(blocks: tuple[md.Block, ...]) -> str:
    return "".join(_block(block) for block in blocks)


def _list(items: tuple[md.Item, ...], tight: bool) -> str:
    number = items[0].number if items else None
    tag = "ul" if number is None else "ol"
    start = f' start="{number}"' if number not in {None, 1} else ""
    inner = "".join(f"<li>{_tight(item.blocks) if tight else _all(item.blocks)}</li>" for item in items)
    return f"<{tag}{start}>{inner}</{tag}>"


def _tight(blocks: tuple[md.Block, ...]) -> str:
    return "".join(_inlines(b.children) if isinstance(b, md.Paragraph) else _block(b) for b in blocks)


def _inlines(inlines: tuple[md.Inline, ...]) -> str:
    return "".join(_inline(inline) for inline in inlines)


def _inline(inline: md.Inline) -> str:
    match inline:
        case md.Text(text):
            return escape(text)
        case md.Code(text):
            return f"<code>{escape(text)}</code>"
        case md.Break():
            return "<br>"
        case md.Emphasis(children):
            return f"<em>{_inlines(children)}</em>"
        case md.Strong(children):
            return f"<strong>{_inlines(children)}</strong>"
        case md.Strike(children):
            return f"<del>{_inlines(children)}</del>"
        case md.Link(href, children):
            inner = _inlines(children)
            return f'<a href="{escape(href, quote=True)}">{inner}</a>' if _opens(href) else inner


def _opens(href: str) -> bool:
    try:
        return urlsplit(href).scheme.lower() in _SCHEMES
    except ValueError:
        return False
