"""A reply in Slack's form: mrkdwn, cut into messages, laid out in sections. Pure.

`& < >` are escaped first and are the only characters that are (Slack, formatting text for app surfaces); links are the
one place where angle brackets are ours, so nothing can mention anybody. `text` stays within the 4,000 characters that
Slack recommends and `chat.update` enforces; a section takes 3,000, a message 50 blocks (Block Kit reference).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from bot.gateway.operations import Choice, OutboundOp, OutFile, Reply, Send
from bot.gateway.text import (
    Block,
    Break,
    Code,
    Document,
    Emphasis,
    Heading,
    Inline,
    Item,
    Link,
    ListBlock,
    Quote,
    Strike,
    Strong,
    Text,
    parse,
)
from bot.gateway.text_layout import Bare, Measure, plain, render, shown
from bot.gateway.text_split import split
from bot.gateway.text_units import boundary_before, utf16_len
from bot.kernel.values import dataclass

JsonObject = dict[str, object]

MAX_TEXT = 4000
MAX_SECTION = 3000
MAX_BLOCKS = 50
MAX_LABEL = 75
AGAIN = "↻ This may have reached you already.\n"
"""First line of a message whose earlier try may have arrived. Room for it is kept in every message."""
PLACEHOLDER = "_One moment…_"

_DRAFT_SOURCE = 3 * MAX_TEXT
"""What is behind so much of a source does not change its first message."""
_ZWSP = "\u200b"
_SCHEMES = re.compile(r"(?:https?|mailto|tel):", re.IGNORECASE)
_TICKS = re.compile(r"`(?=``)|(?<=`)`(?=`)")


def escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


@dataclass(frozen=True, slots=True)
class Mrkdwn(Bare):
    def text(self, text: str) -> str:
        return escape(_no_fence(text))

    def code(self, text: str) -> str:
        # There is no way to write a backtick inside code: such code stands without marks.
        return self.text(text) if "`" in text or not text.strip() else f"`{escape(text)}`"

    def emphasis(self, inner: str) -> str:
        return _marked("_", inner)

    def strong(self, inner: str) -> str:
        return _marked("*", inner)

    def strike(self, inner: str) -> str:
        return _marked("~", inner)

    def link(self, href: str, inner: str, label: str) -> str:
        if not _SCHEMES.match(href):
            return inner if href == label else f"{inner} ({escape(href)})"
        target = escape("".join(_in_target(c) for c in href))
        if href == label:
            return f"<{target}>"
        return f"<{target}|{' '.join(inner.split()) or target}>"

    def heading(self, level: int, inner: str) -> str:
        return _marked("*", inner)

    def code_block(self, info: str, text: str) -> str:
        return f"```\n{escape(_no_fence(text))}\n```"

    def quote(self, inner: str, depth: int) -> str:
        return inner if depth else "\n".join(f"> {line}" for line in inner.split("\n"))


_FORM = Mrkdwn()


def _marked(mark: str, inner: str) -> str:
    """`inner` between marks, line by line: a mark neither spans lines nor stands beside a space."""
    lines = []
    for line in inner.split("\n"):
        core = line.strip()
        lead = line[: len(line) - len(line.lstrip())]
        lines.append(f"{lead}{mark}{core}{mark}{line[len(lead) + len(core) :]}" if core else line)
    return "\n".join(lines)


def _no_fence(text: str) -> str:
    """Three backticks in a row would open or close a code block."""
    return _TICKS.sub("`" + _ZWSP, text) if "```" in text else text


def _in_target(char: str) -> str:
    return f"%{ord(char):02X}" if char in '<>| "\n\r\t' else char


def mrkdwn(document: Document) -> str:
    return render(document, _FORM)


def parts(markdown: str) -> tuple[Document, ...]:
    """The messages that a text becomes, in order; none for a blank one."""
    room = MAX_TEXT - utf16_len(AGAIN) - 2
    return split(_tidy(parse(markdown)), Measure(_FORM, utf16_len, room), room)


def plan(reply: Reply) -> tuple[OutboundOp, ...]:
    """One `Send` per message: the text's parts, then each file on its own (an upload carries no metadata)."""
    texts = [_send(reply, part) for part in parts(reply.markdown)]
    return (*texts, *(_file(reply, file) for file in reply.files))


def draft_text(markdown: str) -> tuple[str, str, bool]:
    """mrkdwn and plain form of what can be shown of a growing text, and whether it is full: the rest goes into
    messages of its own."""
    found = parts(markdown[:_DRAFT_SOURCE])
    return (mrkdwn(found[0]), _plain(found[0]), len(found) > 1) if found else ("", "", False)


def marked(text: str, plain_text: str) -> tuple[str, str]:
    """The same message with the line that says it may be a repetition."""
    return f"_{AGAIN.rstrip()}_\n{text}".rstrip(), (AGAIN + plain_text).rstrip()


def _send(reply: Reply, part: Document) -> Send:
    return Send(reply.path, mrkdwn(part), _plain(part))


def _file(reply: Reply, file: OutFile) -> Send:
    return Send(reply.path, "", "", (file,))


def _plain(part: Document) -> str:
    readable = escape(plain(part))
    if utf16_len(readable) + utf16_len(AGAIN) > MAX_TEXT:  # addresses in brackets did not fit
        readable = escape(shown(part))
    return readable


# Blocks.


def blocks(text: str) -> list[JsonObject] | None:
    """Sections that show `text`; None if it cannot be laid out within the limits without tearing a line."""
    found = _sections(text)
    return None if found is None or len(found) > MAX_BLOCKS else [_section(one) for one in found]


def question(text: str, choices: Sequence[Choice]) -> list[JsonObject]:
    """The whole text, then its buttons beneath."""
    found = _sections(text) or _torn(text)
    buttons: list[object] = [
        {
            "type": "button",
            "action_id": f"choice-{number}",
            "text": {"type": "plain_text", "text": choice.label[:MAX_LABEL] or "…"},
            "value": choice.token,
        }
        for number, choice in enumerate(choices)
    ]
    rows: list[JsonObject] = [
        {"type": "actions", "elements": buttons[start : start + 25]} for start in range(0, len(buttons), 25)
    ]
    return [*(_section(one) for one in found), *rows]


def halves(text: str) -> tuple[str, str]:
    """Cut a text that the platform finds too long near its middle: at a line end, else at a space, else between
    characters."""
    middle = len(text) // 2
    for mark in ("\n", " "):
        at = text.rfind(mark, len(text) // 4, middle + 1)
        if at > 0:
            return text[:at], text[at + 1 :]
    at = boundary_before(text, middle) or middle
    return text[:at], text[at:]


def _section(text: str) -> JsonObject:
    # verbatim: neither names nor addresses in the text become live by themselves.
    return {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}}


def _sections(text: str) -> list[str] | None:
    """Cut at empty lines, else at line ends; a code block that is cut is closed and opened again. None if a single
    line is too long."""
    found: list[str] = []
    current = ""
    fenced = False
    for line in text.split("\n"):
        edge = line == "```"
        longer = f"{current}\n{line}" if current else line
        if utf16_len(longer) + 4 * (fenced != edge) <= MAX_SECTION:
            current = longer
        elif utf16_len(line) > MAX_SECTION - 8:
            return None
        else:
            head, rest = (f"{current}\n```", "```") if fenced else _at_paragraph(current, MAX_SECTION - utf16_len(line))
            found.append(head)
            current = f"{rest}\n{line}" if rest else line
        fenced ^= edge
    return [one for one in (*found, current) if one.strip()]


def _at_paragraph(text: str, room: int) -> tuple[str, str]:
    """Leave the last paragraph to what follows, so that it stays whole, if it is short and `room` is enough."""
    at = text.rfind("\n\n")
    if at < len(text) // 2 or utf16_len(text[at:]) + 8 > room or text.count("```", 0, at) % 2:
        return text, ""
    return text[:at], text[at + 2 :]


def _torn(text: str) -> list[str]:
    found: list[str] = []
    while len(text) > MAX_SECTION // 2:
        at = boundary_before(text, MAX_SECTION // 2) or MAX_SECTION // 2
        found.append(text[:at])
        text = text[at:]
    return [one for one in (*found, text) if one.strip()][: MAX_BLOCKS - 5]


# Headings are bold lines: bold inside them would close the mark.


def _tidy(document: Document) -> Document:
    return Document(tuple(_tidy_block(block) for block in document.blocks))


def _tidy_block(block: Block) -> Block:
    match block:
        case Heading(level, children):
            return Heading(level, _without_strong(children))
        case Quote(inner):
            return Quote(tuple(_tidy_block(one) for one in inner))
        case ListBlock(items):
            return replace(block, items=tuple(_tidy_item(item) for item in items))
        case _:
            return block


def _tidy_item(item: Item) -> Item:
    return replace(item, blocks=tuple(_tidy_block(one) for one in item.blocks))


def _without_strong(inlines: tuple[Inline, ...]) -> tuple[Inline, ...]:
    found: list[Inline] = []
    for inline in inlines:
        match inline:
            case Strong(children):
                found += _without_strong(children)
            case Text() | Code() | Break():
                found.append(inline)
            case Emphasis() | Strike() | Link():
                found.append(replace(inline, children=_without_strong(inline.children)))
    return tuple(found)
