"""The one reading of Markdown: source text to a small frozen tree of blocks and inlines.

CommonMark with tables and strikethrough; HTML is text, images are links, link reference definitions are text: what the
author wrote stays readable. `text_layout` turns a tree into a platform's form, `text_split` cuts one into parts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from bot.kernel.values import dataclass

_MAX_NESTING = 40
"""Deeper blocks than this are read as plain text (the parser would drop them)."""


_UNWRITABLE = re.compile("[\0\ud800-\udfff]")
"""NUL and lone surrogates: no platform takes them, UTF-8 has no form for the latter."""


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Code:
    text: str


@dataclass(frozen=True, slots=True)
class Break:
    """A line break. Soft ones count: in a chat, a written line end is meant."""


@dataclass(frozen=True, slots=True)
class Emphasis:
    children: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Strong:
    children: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Strike:
    children: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """Every address in a document is one of these, bare ones in the text included."""

    href: str
    children: tuple[Inline, ...]


Inline = Text | Code | Break | Emphasis | Strong | Strike | Link


@dataclass(frozen=True, slots=True)
class Paragraph:
    children: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Heading:
    level: int
    children: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class CodeBlock:
    info: str
    """What stands behind the opening fence; the first word names the language."""
    text: str
    """Without a final line end."""


@dataclass(frozen=True, slots=True)
class Quote:
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Item:
    blocks: tuple[Block, ...]
    number: int | None = None
    """None in a bullet list."""
    continued: bool = False
    """The rest of an item whose beginning stands in an earlier part."""


@dataclass(frozen=True, slots=True)
class ListBlock:
    items: tuple[Item, ...]
    tight: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    header: tuple[tuple[Inline, ...], ...]
    rows: tuple[tuple[tuple[Inline, ...], ...], ...]
    """Each as long as `header`."""
    aligns: tuple[str, ...]
    """`left`, `right` or `center` per column."""


@dataclass(frozen=True, slots=True)
class Rule:
    pass


Block = Paragraph | Heading | CodeBlock | Quote | ListBlock | Table | Rule


@dataclass(frozen=True, slots=True)
class Document:
    blocks: tuple[Block, ...]


def parse(source: str) -> Document:
    """Read Markdown. Never fails; what has no meaning is text, and only blank source gives an empty document."""
    source = _UNWRITABLE.sub("\ufffd", source.replace("\r\n", "\n").replace("\r", "\n"))
    tokens = _parser().parse(source)
    root = _tree(tokens)
    if root is None:
        return literal(source)
    blocks = _blocks(root, source.split("\n"))
    document = Document(blocks)
    return document if any(_visible(block) for block in blocks) else literal(source)


def literal(text: str) -> Document:
    """`text` as it is, line by line, with nothing taken for markup."""
    if not text.strip():
        return Document(())
    children: list[Inline] = []
    for number, line in enumerate(text.strip("\n").split("\n")):
        if number:
            children.append(Break())
        if line:
            children.append(Text(line))
    return Document((Paragraph(tuple(children)),))


def inline_text(inlines: tuple[Inline, ...]) -> str:
    """The characters of `inlines` without any markup; a break is a line end."""
    return "".join(
        "\n" if isinstance(i, Break) else i.text if isinstance(i, Text | Code) else inline_text(i.children)
        for i in inlines
    )


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _MAX_NESTING})
    return parser.enable(["table", "strikethrough"]).disable("reference")


@dataclass(slots=True)
class _Node:
    """A token, or a pair of them with what stands between."""

    type: str
    token: Token
    children: list[_Node]

    @property
    def content(self) -> str:
        return self.token.content


def _tree(tokens: Sequence[Token]) -> _Node | None:
    """The parser's flat tokens as a tree; None if it would be too deep for whoever walks down it. Marks within marks
    (`*` five thousand times) nest as well as blocks do."""
    root = _Node("root", Token("root", "", 0), [])
    open_nodes = [root]
    for token in tokens:
        if token.nesting < 0:
            open_nodes.pop()
            continue
        node = _Node(token.type.removesuffix("_open") if token.nesting else token.type, token, [])
        open_nodes[-1].children.append(node)
        if token.nesting:
            open_nodes.append(node)
            if len(open_nodes) >= _MAX_NESTING:
                return None
        elif token.children:
            inner = _tree(token.children)
            if inner is None:
                return None
            node.children = inner.children
    return root


def _blocks(node: _Node, lines: list[str]) -> tuple[Block, ...]:
    return tuple(_block(child, lines) for child in node.children)


def _block(node: _Node, lines: list[str]) -> Block:
    match node.type:
        case "heading":
            return Heading(int(node.token.tag[1:]), _content(node))
        case "fence" | "code_block":
            return CodeBlock(node.token.info.strip(), node.content.removesuffix("\n"))
        case "blockquote":
            return Quote(_blocks(node, lines))
        case "bullet_list" | "ordered_list":
            return _list(node, lines)
        case "table":
            return _table(node, lines)
        case "hr":
            return Rule()
        case "paragraph":
            return Paragraph(_content(node))
        case _:
            return Paragraph((Text(node.content),))


def _list(node: _Node, lines: list[str]) -> ListBlock:
    start = int(node.token.attrs.get("start", 1)) if node.type == "ordered_list" else None
    items = tuple(
        Item(_blocks(child, lines), None if start is None else start + index)
        for index, child in enumerate(node.children)
    )
    tight = all(b.token.hidden for child in node.children for b in child.children if b.type == "paragraph")
    return ListBlock(items, tight)


_SEPARATOR = re.compile(r"(?<!\\)\|")


def _table(node: _Node, lines: list[str]) -> Table | CodeBlock:
    """A table; as it is written if a row has more cells than the header, because GFM drops those."""
    first, last = node.token.map or (0, 0)
    width = len(node.children[0].children[0].children)
    written = [line.lstrip(" \t>").rstrip() for line in lines[first:last]]
    for row in written[2:]:
        cells = len(_SEPARATOR.split(row)) - row.startswith("|") - bool(re.search(r"(?<!\\)\|\Z", row))
        if cells > width:
            return CodeBlock("", "\n".join(written))
    rows = [[_content(cell) for cell in row.children] for part in node.children for row in part.children]
    aligns = tuple(_align(str(cell.token.attrs.get("style", ""))) for cell in node.children[0].children[0].children)
    return Table(tuple(rows[0]), tuple(tuple(row) for row in rows[1:]), aligns)


def _align(style: str) -> str:
    return style.removeprefix("text-align:") or "left"


def _content(node: _Node) -> tuple[Inline, ...]:
    return tuple(i for child in node.children for i in _inlines(child.children, False))


def _inlines(nodes: list[_Node], in_link: bool) -> tuple[Inline, ...]:
    found: list[Inline] = []
    for node in nodes:
        match node.type:
            case "softbreak" | "hardbreak":
                found.append(Break())
            case "code_inline":
                found.append(Code(node.content))
            case "em":
                found.append(Emphasis(_inlines(node.children, in_link)))
            case "strong":
                found.append(Strong(_inlines(node.children, in_link)))
            case "s":
                found.append(Strike(_inlines(node.children, in_link)))
            case "link":
                found.extend(_link(str(node.token.attrs.get("href", "")), _inlines(node.children, True)))
            case "image":
                source = str(node.token.attrs.get("src", ""))
                label = (Text(node.content),) if node.content else ()
                found.extend(label if in_link else _link(source, label))
            case _:
                found.extend((Text(node.content),) if in_link else _bare_links(node.content))
    return tuple(i for i in found if i != Text(""))


def _link(href: str, children: tuple[Inline, ...]) -> tuple[Inline, ...]:
    if not href:
        return children
    return (Link(href, children or (Text(href),)),)


_ADDRESS = re.compile(r"(?<![\w/])https?://[^\s<>\"]+", re.IGNORECASE)


def _bare_links(text: str) -> tuple[Inline, ...]:
    """Split `text` at the addresses in it. Closing punctuation is not part of an address (GFM, autolinks)."""
    found: list[Inline] = []
    done = 0
    for match in _ADDRESS.finditer(text):
        address = match[0]
        open_ended = address.count(")") - address.count("(")
        end = len(address)
        while end and (address[end - 1] in ".,;:!?'*_~" or (address[end - 1] == ")" and open_ended > 0)):
            open_ended -= address[end - 1] == ")"
            end -= 1
        address = address[:end]
        if len(address) <= len("https://"):
            continue
        found += [Text(text[done : match.start()]), Link(address, (Text(address),))]
        done = match.start() + len(address)
    found.append(Text(text[done:]))
    return tuple(found)


def _visible(block: Block) -> bool:
    match block:
        case Paragraph(children) | Heading(_, children):
            return bool(inline_text(children).strip())
        case CodeBlock(_, text):
            return bool(text.strip())
        case Quote(blocks):
            return any(_visible(b) for b in blocks)
        case ListBlock() | Table() | Rule():
            return True
