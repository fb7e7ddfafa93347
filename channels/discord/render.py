"""A reply in Discord's form: its flavour of Markdown, cut into messages of at most 2,000 code points. Pure.

Discord reads a backslash before any punctuation as an escape, knows headings of three levels, one level of quotes and
fences of exactly three backticks, and no tables. What is measured is the finished text, marks included.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from bot.gateway.operations import OpenThread, OutboundOp, Reply, Send
from bot.gateway.text import Document, parse
from bot.gateway.text_layout import Bare, Measure, plain, render, shown
from bot.gateway.text_split import split
from bot.kernel.values import dataclass

MAX_TEXT = 2000
"""Code points of `content` (Discord, Create Message)."""
MAX_FILES = 10
AGAIN = "↻ This may have reached you already."
"""First line of a message whose earlier try may have arrived. Room for it is kept in every message."""
_ROOM = MAX_TEXT - len(AGAIN) - 3

_MARKS = re.compile(r"[\\*_~`|\[\]<]")
_LINE_START = re.compile(r"\A(\s*)(?:([#>+\-])|(\d{1,9})([.)]))(?=\s|[#>]|\Z)")
_LANGUAGE = re.compile(r"[A-Za-z0-9+#_.\-]{1,32}(?=\s|\Z)")
_LOOKS_LIKE_ADDRESS = re.compile(r"://|\bwww\.|\w\.[a-z]{2,}\b", re.IGNORECASE)
_RUNS = re.compile(r"`+")


@dataclass(frozen=True, slots=True)
class DiscordMarkdown(Bare):
    def text(self, text: str) -> str:
        escaped = _MARKS.sub(lambda match: "\\" + match[0], text)
        return _LINE_START.sub(_escape_start, escaped)

    def code(self, text: str) -> str:
        fence = "`" * (1 + max((len(run) for run in _RUNS.findall(text)), default=0))
        if not text.strip():
            return text
        pad = " " if text.startswith("`") or text.endswith("`") else ""
        return f"{fence}{pad}{text}{pad}{fence}"

    def emphasis(self, inner: str) -> str:
        return _wrap("*", inner)

    def strong(self, inner: str) -> str:
        return _wrap("**", inner)

    def strike(self, inner: str) -> str:
        return _wrap("~~", inner)

    def link(self, href: str, inner: str, label: str) -> str:
        """A masked link where its label cannot be taken for another address; else both, the address inert."""
        if href == label:
            return href
        if href == f"mailto:{label}":
            return inner
        safe = href.startswith(("https://", "http://")) and not re.search(r"[\s<>()]", href)
        if safe and "\n" not in inner and label.strip() and not _LOOKS_LIKE_ADDRESS.search(label):
            return f"[{inner}](<{href}>)"
        return f"{inner} (<{href}>)" if safe else f"{inner} ({self.text(href)})"

    def heading(self, level: int, inner: str) -> str:
        line = inner.replace("\n", " ")
        return f"{'#' * level} {line}" if level <= 3 else _wrap("**", line)

    def code_block(self, info: str, text: str) -> str:
        language = _LANGUAGE.match(info)
        # Discord has no longer fences: a fence inside is taken apart by a space of no width.
        inner = text.replace("```", "`\u200b`\u200b`")
        return f"```{language[0] if language else ''}\n{inner}\n```"

    def quote(self, inner: str, depth: int) -> str:
        return inner if depth else "\n".join(f"> {line}" for line in inner.split("\n"))


FORM = DiscordMarkdown()


def _escape_start(match: re.Match[str]) -> str:
    space, mark, number, dot = match.groups()
    return f"{space}\\{mark}" if mark else f"{space}{number}\\{dot}"


def _wrap(mark: str, inner: str) -> str:
    """Marks touch what they mark: blanks at the edges stay outside."""
    core = inner.strip()
    if not core:
        return inner
    start = inner.index(core)
    return f"{inner[:start]}{mark}{core}{mark}{inner[start + len(core) :]}"


def plan(reply: Reply) -> tuple[OutboundOp, ...]:
    """The thread, if one has to be opened, then one `Send` per message, the files with the last of the text. Only the
    first answers the asker's message."""
    sends = [Send(reply.path, render(part, FORM), _plain(part)) for part in _parts(reply.markdown)]
    groups = [reply.files[at : at + MAX_FILES] for at in range(0, len(reply.files), MAX_FILES)]
    if groups and sends:
        sends[-1] = replace(sends[-1], files=groups.pop(0))
    sends += [Send(reply.path, "", "", group) for group in groups]
    later = replace(reply.path, ref=None)
    sends[1:] = [replace(send, path=later) for send in sends[1:]]
    if not sends or reply.path.opens is None:
        return tuple(sends)
    return (OpenThread(reply.path, reply.path.opens, reply.path.ref), *sends)


def draft_text(markdown: str) -> tuple[str, bool]:
    """What can be shown of a growing text, and whether it is full: more would not fit into one message."""
    parts = _parts(markdown)
    return (render(parts[0], FORM), len(parts) > 1) if parts else ("", False)


def marked(text: str) -> str:
    """The same message with the line that says it may be a repetition."""
    return f"*{AGAIN}*\n{text}".rstrip()


def _parts(markdown: str) -> Sequence[Document]:
    return split(parse(markdown), Measure(FORM, len, _ROOM), _ROOM)


def _plain(part: Document) -> str:
    readable = plain(part)
    return readable if len(readable) <= _ROOM else shown(part)
