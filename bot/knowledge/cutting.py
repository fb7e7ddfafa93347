"""Text of a document into sections (by its headings and pages) and chunks (what is searched). Pure.

Text comes as `bot.files` gives it: Markdown headings where the format has headings, a form feed where a page ends. A
section is what stands under one heading; a long one, or text without headings, is parted where a page or a paragraph
ends. Chunks part a section between paragraphs, rows or sentences, never within a word unless it is longer than a chunk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bot.kernel.values import dataclass

PAGE_END = "\f"
CHUNK = 900
"""Characters of a chunk, about: a passage that says one thing. Longer ones blur the vector of what they say."""
SECTION = 6_000
"""Characters of a section, at most: what is read as a whole."""
_LEAST = 200
"""A chunk shorter than this joins its neighbour."""
_DEEPEST = 4
_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*?)[ \t]*#*")
_SENTENCE = re.compile(r"(?<=[.!?…:;])[\"'”’)\]]*\s+")
_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Chunk:
    text: str
    page: int | None
    """Where it begins, from 1."""

    @property
    def tokens(self) -> int:
        return -(-len(self.text) // _TOKEN)


@dataclass(frozen=True, slots=True)
class Section:
    heading: str
    """The path of headings above it, outermost first, joined by ` > `; empty before the first one."""
    page: int | None
    last_page: int | None
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class _Paragraph:
    text: str
    page: int | None


def cut(text: str, *, paged: bool) -> tuple[Section, ...]:
    """Sections in order. `paged`: form feeds end pages, and pages are counted from 1."""
    found: list[Section] = []
    for heading, paragraphs in _under_headings(text, paged=paged):
        for part in _parts(paragraphs):
            chunks = tuple(_chunks(part))
            if chunks:
                found.append(Section(heading, part[0].page, part[-1].page, chunks))
    return tuple(found)


def title_of(text: str, name: str) -> str:
    """The first heading of the highest kind near the beginning, else the name without its ending."""
    for line in text[:2_000].splitlines():
        if match := _HEADING.fullmatch(line.strip()):
            return match[2][:200]
    stem, dot, ending = name.rpartition(".")
    return (stem if dot and len(ending) <= 5 else name)[:200]


def _under_headings(text: str, *, paged: bool) -> Iterator[tuple[str, list[_Paragraph]]]:
    path: list[tuple[int, str]] = []
    gathered: list[_Paragraph] = []
    for paragraph in _paragraphs(text, paged=paged):
        first, _, rest = paragraph.text.partition("\n")
        match = _HEADING.fullmatch(first.strip())
        if match is None:
            gathered.append(paragraph)
            continue
        if gathered:
            yield _joined(path), gathered
        level = min(len(match[1]), _DEEPEST)
        path = [*(each for each in path if each[0] < level), (level, match[2])]
        gathered = [_Paragraph(rest.strip("\n"), paragraph.page)] if rest.strip() else []
    if gathered:
        yield _joined(path), gathered


def _joined(path: Sequence[tuple[int, str]]) -> str:
    return " > ".join(" ".join(name.split())[:120] for _, name in path)


def _paragraphs(text: str, *, paged: bool) -> Iterator[_Paragraph]:
    """Blocks parted by blank lines; a heading begins a block of its own."""
    for number, page in enumerate(text.split(PAGE_END), 1):
        for block in re.split(r"\n[ \t]*\n", page):
            lines: list[str] = []
            for line in block.strip("\n").split("\n"):
                if lines and _HEADING.fullmatch(line.strip()):
                    yield _Paragraph("\n".join(lines), number if paged else None)
                    lines = []
                lines.append(line.rstrip())
            if any(line.strip() for line in lines):
                yield _Paragraph("\n".join(lines), number if paged else None)


def _parts(paragraphs: Sequence[_Paragraph]) -> Iterator[list[_Paragraph]]:
    """Runs of paragraphs of at most `SECTION` characters, a longer paragraph parted first."""
    part: list[_Paragraph] = []
    size = 0
    for paragraph in _short_enough(paragraphs, SECTION):
        if part and size + len(paragraph.text) > SECTION:
            yield part
            part, size = [], 0
        part.append(paragraph)
        size += len(paragraph.text) + 2
    if part:
        yield part


def _chunks(paragraphs: Sequence[_Paragraph]) -> Iterator[Chunk]:
    """Paragraphs gathered up to about `CHUNK` characters; a table's head row stands over each of its parts."""
    texts: list[str] = []
    page: int | None = None
    size = 0
    waiting: list[Chunk] = []
    for paragraph in _short_enough(paragraphs, CHUNK):
        if texts and size + len(paragraph.text) > CHUNK:
            waiting.append(Chunk("\n\n".join(texts), page))
            texts, size = [], 0
        if not texts:
            page = paragraph.page
        texts.append(paragraph.text)
        size += len(paragraph.text) + 2
    if texts:
        last = "\n\n".join(texts)
        if waiting and len(last) < _LEAST and len(waiting[-1].text) + len(last) <= CHUNK + _LEAST:
            waiting[-1] = Chunk(f"{waiting[-1].text}\n\n{last}", waiting[-1].page)
        else:
            waiting.append(Chunk(last, page))
    yield from (each for each in waiting if each.text.strip())


def _short_enough(paragraphs: Sequence[_Paragraph], most: int) -> Iterator[_Paragraph]:
    for paragraph in paragraphs:
        if len(paragraph.text) <= most:
            yield paragraph
        else:
            yield from (_Paragraph(piece, paragraph.page) for piece in _pieces(paragraph.text, most))


def _pieces(text: str, most: int) -> Iterator[str]:
    """A long paragraph parted between lines, then sentences, then words, then anywhere."""
    lines = text.split("\n")
    if len(lines) > 1:
        head = _table_head(lines)
        yield from _gathered(lines[len(head) :], "\n", most, "\n".join(head))
        return
    yield from _gathered(_SENTENCE.split(text), " ", most, "")


def _gathered(units: Sequence[str], joint: str, most: int, head: str) -> Iterator[str]:
    start = f"{head}\n" if head and len(head) < most // 2 else ""
    piece = ""
    for unit in units:
        for bit in (unit,) if len(start) + len(unit) <= most else _words(unit, most - len(start)):
            if piece and len(start) + len(piece) + len(joint) + len(bit) > most:
                yield start + piece
                piece = ""
            piece = f"{piece}{joint}{bit}" if piece else bit
    if piece.strip():
        yield start + piece


def _words(text: str, most: int) -> Iterator[str]:
    piece = ""
    for word in text.split(" "):
        for at in range(0, max(len(word), 1), most):
            bit = word[at : at + most]
            if piece and len(piece) + 1 + len(bit) > most:
                yield piece
                piece = ""
            piece = f"{piece} {bit}" if piece else bit
    if piece:
        yield piece


def _table_head(lines: Sequence[str]) -> list[str]:
    """The head of a Markdown table with its rule, or the first row of tab- or comma-separated rows."""
    if len(lines) > 2 and lines[0].startswith("|") and re.fullmatch(r"\|( *:?-+:? *\|)+", lines[1].strip()):
        return list(lines[:2])
    for mark in ("\t", ";", ","):
        columns = lines[0].count(mark)
        if columns and len(lines) > 3 and all(line.count(mark) >= columns for line in lines[1:4]):
            return [lines[0]]
    return []
