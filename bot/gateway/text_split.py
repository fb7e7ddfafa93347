"""Cutting a document into parts that a platform takes. Pure.

The tree is cut, never its rendered form: a mark that a cut runs through is closed in one part and opened again in the
next, a fence likewise, a table that fits into a part is never torn. What is measured is the finished part, closers
included, so no part can grow past the limit afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from bot.gateway.text import (
    Block,
    Break,
    Code,
    CodeBlock,
    Document,
    Heading,
    Inline,
    Item,
    ListBlock,
    Paragraph,
    Quote,
    Rule,
    Table,
    Text,
    inline_text,
)
from bot.gateway.text_layout import FAR, as_list, shown
from bot.gateway.text_units import boundary_before, longest

Blocks = tuple[Block, ...]
Inlines = tuple[Inline, ...]
_Size = Callable[[Blocks], int]
"""Length of the part if these blocks stood at the place that is being filled."""


def split(document: Document, measure: Callable[[Document], int], limit: int) -> tuple[Document, ...]:
    """Cut `document` so that `measure(part) <= limit` for every part, in the platform's own unit.

    Cuts between paragraphs where it can, else between lines, sentences, words, and at worst between grapheme clusters.
    Joined, the parts hold every character. Parts that would show nothing are left out; a blank document has none.
    `measure` must not shrink when text is added, and of what is far longer than `limit` it need only tell that it is
    (`text_layout.Measure`). Raises `ValueError` if not even one character fits.
    """
    rest = document.blocks
    parts: list[Document] = []
    while rest:
        head, rest = _Splitter(measure, limit).part(rest)
        parts.append(Document(head))
    return tuple(part for part in parts if shown(part).strip())


def cut(inlines: Inlines, at: int) -> tuple[Inlines, Inlines]:
    """Cut before character `at` of `inline_text(inlines)`; containers that the cut runs through stand on both sides."""
    left: list[Inline] = []
    for index, inline in enumerate(inlines):
        length = len(inline_text((inline,)))
        if length <= at:
            left.append(inline)
            at -= length
            continue
        if at == 0:
            return tuple(left), inlines[index:]
        first, second = _cut_one(inline, at)
        return (*left, first), (second, *inlines[index + 1 :])
    return tuple(left), ()


def _cut_one(inline: Inline, at: int) -> tuple[Inline, Inline]:
    match inline:
        case Text(text):
            return Text(text[:at]), Text(text[at:])
        case Code(text):
            return Code(text[:at]), Code(text[at:])
        case Break():
            raise AssertionError("a break has one character and cannot be cut")
        case _:
            first, second = cut(inline.children, at)
            return replace(inline, children=first), replace(inline, children=second)


class _NoRoomError(Exception):
    """The marks around a block leave no room for even one character of it."""


class _Splitter:
    def __init__(self, measure: Callable[[Document], int], limit: int) -> None:
        self._measure = measure
        self._limit = limit

    def part(self, blocks: Blocks) -> tuple[Blocks, Blocks]:
        def size(candidate: Blocks) -> int:
            return self._measure(Document(candidate))

        try:
            return self._take(blocks, size, size, must=True)
        except _NoRoomError:
            raise ValueError(f"not one character fits into {self._limit}") from None

    def _take(self, blocks: Blocks, size: _Size, alone: _Size, must: bool) -> tuple[Blocks, Blocks]:
        """The longest beginning that fits where `size` measures, and the rest.

        `alone` measures the same place in a part that holds nothing else. `must`: something has to be taken, because
        this is such a part.
        """
        count = longest(len(blocks), lambda n: size(blocks[:n]) <= self._limit)
        if count == len(blocks):
            return blocks, ()
        head, block, after = blocks[:count], blocks[count], blocks[count + 1 :]
        taken: Blocks = ()
        rest: Blocks = (block,)
        if not (count and self._better_whole(block, size(head), alone)):
            taken, rest = self._tear(block, lambda b: size((*head, *b)), alone, must=must and not count)
        if taken:
            return (*head, *taken), (*rest, *after)
        while count > 1 and isinstance(blocks[count - 1], Heading):
            count -= 1  # a heading stays with what it heads
        return blocks[:count], blocks[count:]

    def _better_whole(self, block: Block, filled: int, alone: _Size) -> bool:
        if alone((block,)) > self._limit:
            return False
        return isinstance(block, Table | CodeBlock | Rule) or filled * 2 >= self._limit

    def _tear(self, block: Block, size: _Size, alone: _Size, must: bool) -> tuple[Blocks, Blocks]:
        match block:
            case Paragraph(children) | Heading(_, children):
                first, second = self._tear_inlines(children, lambda c: size((replace(block, children=c),)), must)
                return _some(replace(block, children=first), first), _some(replace(block, children=second), second)
            case CodeBlock():
                return self._tear_code(block, size, must)
            case Quote(blocks):
                try:
                    taken, rest = self._take(blocks, lambda b: size((Quote(b),)), lambda b: alone((Quote(b),)), must)
                except _NoRoomError:
                    return self._take(blocks, size, alone, must)
                return _some(Quote(taken), taken), _some(Quote(rest), rest)
            case ListBlock():
                return self._tear_list(block, size, alone, must)
            case Table():
                return self._take((as_list(block),), size, alone, must)
            case Rule():
                if must:
                    raise _NoRoomError
                return (), (block,)

    def _tear_list(self, block: ListBlock, size: _Size, alone: _Size, must: bool) -> tuple[Blocks, Blocks]:
        items = block.items

        def of(some: tuple[Item, ...]) -> ListBlock:
            return replace(block, items=some)

        count = longest(len(items), lambda n: size((of(items[:n]),)) <= self._limit)
        if count == len(items):
            return (block,), ()
        head, item, after = items[:count], items[count], items[count + 1 :]
        taken: Blocks = ()
        rest: Blocks = item.blocks
        if not (count and self._better_whole(of((item,)), size((of(head),)), alone)):
            try:
                taken, rest = self._take(
                    item.blocks,
                    lambda b: size((of((*head, replace(item, blocks=b))),)),
                    lambda b: alone((of((replace(item, blocks=b),)),)),
                    must=must and not count,
                )
            except _NoRoomError:
                flat, left = self._take(item.blocks, size, alone, must)
                return flat, (*left, *_some(of(after), after))
        if not taken:
            if must and not head:
                raise _NoRoomError
            return _some(of(head), head), _some(of(items[count:]), items)
        begun = of((*head, replace(item, blocks=taken)))
        remaining = (replace(item, blocks=rest, continued=True), *after) if rest else after
        return (begun,), _some(of(remaining), remaining)

    def _tear_code(self, block: CodeBlock, size: _Size, must: bool) -> tuple[Blocks, Blocks]:
        if block.info:
            bare = replace(block, info="")
            opener = size((replace(block, text=""),)) - size((replace(bare, text=""),))
            if opener * 8 > self._limit:  # an opener that eats the room is not worth repeating
                block = bare
        lines = block.text.split("\n")

        def of(count: int) -> CodeBlock:
            return replace(block, text="\n".join(lines[:count]))

        count = longest(len(lines), lambda n: size((of(n),)) <= self._limit)
        if count == len(lines):
            return (block,), ()
        if count:
            return (of(count),), (replace(block, text="\n".join(lines[count:])),)
        if not must:
            return (), (block,)
        line = lines[0]
        fit = longest(len(line), lambda n: size((replace(block, text=line[:n]),)) <= self._limit)
        at = boundary_before(line, fit) or fit
        if not at:
            raise _NoRoomError
        return (replace(block, text=line[:at]),), (replace(block, text=block.text[at:]),)

    def _tear_inlines(self, inlines: Inlines, size: Callable[[Inlines], int], must: bool) -> tuple[Inlines, Inlines]:
        text = _beginning(inlines, FAR * self._limit)
        fit = longest(len(text), lambda n: size(cut(inlines, n)[0]) <= self._limit)
        if not fit and must:
            raise _NoRoomError
        at = _good_cut(text, fit, must)
        return cut(inlines, at)


def _beginning(inlines: Inlines, enough: int) -> str:
    """`inline_text` of as many as make `enough` characters: no part can take more."""
    texts: list[str] = []
    for inline in inlines:
        texts.append(inline_text((inline,)))
        enough -= len(texts[-1])
        if enough < 0:
            break
    return "".join(texts)


def _some(block: Block, content: tuple[object, ...]) -> Blocks:
    return (block,) if content else ()


_SENTENCE_END = re.compile(r"[.!?…][\"'”’»)\]]*\s+|[。！？][”’」』）]*\s*")


def _good_cut(text: str, fit: int, must: bool) -> int:
    """Where to cut the first `fit` characters of `text` off: after a line or sentence in the second half, else after a
    word, else (only if it `must`) between grapheme clusters, and within one only if it is longer than a part."""
    if fit >= len(text):
        return len(text)
    half = fit // 2
    line = text.rfind("\n", half, fit) + 1
    if line > half:
        return line
    ends = [match.end() for match in _SENTENCE_END.finditer(text, half, fit)]
    if ends:
        return boundary_before(text, ends[-1]) or fit
    word = fit if text[fit].isspace() else 1 + max((i for i in range(fit) if text[i].isspace()), default=-1)
    word = boundary_before(text, word)
    if word > fit // 4:
        return word
    return (boundary_before(text, fit) or fit) if must else 0
