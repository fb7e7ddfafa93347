"""From the tree back to Markdown, so that a changed document is again what the rest of the program takes: source text.

`parse(write(document))` has the same words in the same blocks; of marks, only those that CommonMark cannot express
beside what they touch are lost. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

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

_MARKS = re.compile(r"([\\`*_\[\]<>&~|#])")
_LINE_START = re.compile(r"^(\s*)(?:([-+=])|(\d{1,9})([.)]))", re.MULTILINE)
_IN_ADDRESS = re.compile(r"[<>&\\]")
_RULE_OF_TABLE = {"left": "---", "right": "--:", "center": ":-:"}


def write(document: Document) -> str:
    """The document as Markdown source."""
    return _blocks(document.blocks, "\n\n")


def literal(text: str) -> str:
    """`text`, a name for instance, as Markdown source that shows it as it is, on one line."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))


def _blocks(blocks: Sequence[Block], joint: str) -> str:
    written: list[str] = []
    turned = False
    for number, block in enumerate(blocks):
        # Two lists in a row would be read as one, unless their marks differ.
        beside = number > 0 and isinstance(block, ListBlock) and isinstance(blocks[number - 1], ListBlock)
        turned = beside and not turned
        written.append(_block(block, turned))
    return joint.join(written)


def _block(block: Block, turned: bool) -> str:
    match block:
        case Paragraph(children):
            return _line_starts(_inlines(children))
        case Heading(level, children):
            return f"{'#' * level} {_inlines(children).replace(chr(10), ' ')}"
        case CodeBlock(info, text):
            fence = "`" * max(3, 1 + _longest_run(text))
            return f"{fence}{info.replace('`', '')}\n{text}\n{fence}"
        case Quote(blocks):
            return "\n".join(f"> {line}".rstrip() for line in _blocks(blocks, "\n\n").split("\n"))
        case ListBlock(items, tight):
            return ("\n" if tight else "\n\n").join(_item(item, tight, turned) for item in items)
        case Table():
            return _table(block)
        case Rule():
            return "***"


def _item(item: Item, tight: bool, turned: bool) -> str:
    numbered = f"{item.number}{')' if turned else '.'} "
    mark = numbered if item.number is not None else "* " if turned else "- "
    inner = _blocks(item.blocks, "\n" if tight else "\n\n")
    lines = inner.split("\n")
    rest = [f"{' ' * len(mark)}{line}" if line else "" for line in lines[1:]]
    return "\n".join([mark + lines[0], *rest])


def _table(table: Table) -> str:
    def row(cells: Sequence[tuple[Inline, ...]]) -> str:
        return "| " + " | ".join(_inlines(cell).replace("\n", " ") for cell in cells) + " |"

    rule = "| " + " | ".join(_RULE_OF_TABLE[align] for align in table.aligns) + " |"
    return "\n".join([row(table.header), rule, *(row(cells) for cells in table.rows)])


def _inlines(inlines: Sequence[Inline]) -> str:
    return "".join(_inline(each) for each in inlines)


def _inline(each: Inline) -> str:
    match each:
        case Text(text):
            return _MARKS.sub(r"\\\1", text)
        case Code(text):
            fence = "`" * (1 + _longest_run(text))
            room = " " if text.startswith(("`", " ")) or text.endswith(("`", " ")) else ""
            return f"{fence}{room}{text}{room}{fence}"
        case Break():
            return "\n"
        case Emphasis(children):
            return f"*{_inlines(children)}*"
        case Strong(children):
            return f"**{_inlines(children)}**"
        case Strike(children):
            return f"~~{_inlines(children)}~~"
        case Link(href, children):
            return f"[{_inlines(children)}](<{_IN_ADDRESS.sub(_escaped, href)}>)"


def _escaped(match: re.Match[str]) -> str:
    return f"\\{match[0]}"


def _line_starts(text: str) -> str:
    """Escape what would make a block of its own where a line begins."""

    def escaped(match: re.Match[str]) -> str:
        blanks, mark, number, point = match.groups()
        return f"{blanks}\\{mark}" if mark else f"{blanks}{number}\\{point}"

    return _LINE_START.sub(escaped, text)


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
