"""Addresses that may be told stay links; all others are rendered inert: readable, but nothing to tap and nothing that a
platform fetches. Pure.

A text that the model was made to write could carry what it knows to a foreign server in an address (`https://evil/?d=…`),
which a preview would fetch at once. So only addresses that were there before, character by character, leave as links.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from urllib.parse import unquote, urlsplit

from bot.gateway.text import (
    Block,
    Code,
    CodeBlock,
    Document,
    Emphasis,
    Heading,
    Inline,
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
    parse,
)
from bot.gateway.text_write import write

_WITH_SCHEME = r"(?<![a-z0-9+.-])[a-z0-9+.-]+:/{2,}[^\s<>\"]+"
_LABEL = r"[^\W_](?:[\w-]*[^\W_])?"
_GENERIC = "com|net|org|io|info|biz|dev|app|xyz|online|site|top|link|click|cloud|page|ai|co|me"
_BARE = (
    rf"(?<![\w@.-])(?:(?:{_LABEL}[.。．｡])+[^\W\d_]{{2,24}}\.?(?::\d+)?[/?#][^\s<>\"]*"
    rf"|www\.{_LABEL}(?:\.{_LABEL})+"
    rf"|(?:{_LABEL}\.){{2,}}(?:{_GENERIC})(?![\w-]))"
)
_ADDRESS = re.compile(rf"{_WITH_SCHEME}|{_BARE}", re.IGNORECASE)
"""What a platform or a mail program may make a link of. A host alone only where it could carry more than a name."""
_BEGINS_WITH_SCHEME = re.compile(r"[a-z][a-z0-9+-]*:", re.IGNORECASE)
_CLOSING = ".,;:!?'*_~`"


def addresses(text: str) -> frozenset[str]:
    """The addresses that stand in a text (Markdown or not), in the form in which they are compared."""
    return frozenset(_normal(address) for _, address in _found(text))


def inert(markdown: str, permitted: Collection[str]) -> str:
    """`markdown` with every address but the `permitted` ones (as of `addresses`) made inert; else unchanged."""
    document = parse(markdown)
    cleaned = without_links(document, permitted)
    if cleaned == document:
        return markdown
    written = write(cleaned)
    again = parse(written)
    if without_links(again, permitted) == again:
        return written
    # Written down it would be read differently: then as it is, without any markup.
    return write(Document((CodeBlock("", _defanged_in(markdown, permitted)),)))


def without_links(document: Document, permitted: Collection[str]) -> Document:
    """The tree with all other addresses made inert."""
    return Document(tuple(_block(block, permitted) for block in document.blocks))


def _block(block: Block, permitted: Collection[str]) -> Block:
    match block:
        case Paragraph(children) | Heading(_, children):
            return replace(block, children=_inlines(children, permitted))
        case CodeBlock(info, text):
            return CodeBlock(_defanged_in(info, permitted), _defanged_in(text, permitted))
        case Quote(blocks):
            return Quote(tuple(_block(each, permitted) for each in blocks))
        case ListBlock(items):
            return replace(
                block,
                items=tuple(replace(i, blocks=tuple(_block(each, permitted) for each in i.blocks)) for i in items),
            )
        case Table(header, rows):
            return replace(
                block,
                header=tuple(_inlines(cell, permitted) for cell in header),
                rows=tuple(tuple(_inlines(cell, permitted) for cell in row) for row in rows),
            )
        case Rule():
            return block


def _inlines(inlines: Sequence[Inline], permitted: Collection[str]) -> tuple[Inline, ...]:
    done = tuple(found for each in inlines for found in _inline(each, permitted))
    whole = inline_text(done)
    if _defanged_in(whole, permitted) != whole:  # an address that is put together from differently marked pieces
        return tuple(_text(whole, permitted))
    return done


def _inline(each: Inline, permitted: Collection[str]) -> Iterator[Inline]:
    match each:
        case Text(text):
            yield from _text(text, permitted)
        case Code(text):
            yield Code(_defanged_in(text, permitted))
        case Emphasis(children) | Strong(children) | Strike(children):
            yield replace(each, children=_inlines(children, permitted))
        case Link(href, children) if _normal(href) in permitted:
            shown = inline_text(children)
            honest = _defanged_in(shown, permitted) == shown
            yield each if honest else Link(href, (Text(href),))
        case Link(href, children):
            label = _inlines(children, permitted)
            yield from label
            if inline_text(children).strip() not in (href, href.removeprefix("mailto:")):
                yield from (Text(" ("), Code(_defanged(href)), Text(")"))
        case _:
            yield each


def _text(text: str, permitted: Collection[str]) -> Iterator[Inline]:
    done = 0
    for start, address in _found(text):
        if _normal(address) in permitted:
            continue
        if start > done:
            yield Text(text[done:start])
        yield Code(_defanged(address))
        done = start + len(address)
    if done < len(text):
        yield Text(text[done:])


def _defanged_in(text: str, permitted: Collection[str]) -> str:
    pieces = []
    done = 0
    for start, address in _found(text):
        if _normal(address) not in permitted:
            pieces += [text[done:start], _defanged(address)]
            done = start + len(address)
    return "".join(pieces) + text[done:]


def _found(text: str) -> Iterator[tuple[int, str]]:
    """Where addresses begin, and they without what closes the sentence around them."""
    for match in _ADDRESS.finditer(text):
        address = match[0]
        spare = {")": address.count(")") - address.count("("), "]": address.count("]") - address.count("[")}
        end = len(address)
        while end and (address[end - 1] in _CLOSING or spare.get(address[end - 1], 0) > 0):
            if address[end - 1] in spare:
                spare[address[end - 1]] -= 1
            end -= 1
        if end:
            yield match.start(), address[:end]


def _defanged(address: str) -> str:
    """Readable by people, no address for any program."""
    return re.sub(r"[.。．｡]", "[.]", address.replace(":", "[:]"))


def _normal(address: str) -> str:
    """What is compared: scheme http or https left out, host in small letters, percent-encoding undone."""
    try:
        parts = urlsplit(
            address if "//" in address or re.match(r"[a-z][a-z0-9+-]*:", address, re.I) else f"//{address}"
        )
    except ValueError:
        return address
    scheme = "" if parts.scheme in ("http", "https", "") else f"{parts.scheme}:"
    query = f"?{parts.query}" if parts.query else ""
    fragment = f"#{parts.fragment}" if parts.fragment else ""
    return f"{scheme}//{parts.netloc.lower()}{unquote((parts.path or '/') + query + fragment)}"
