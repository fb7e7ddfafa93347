"""A reply in Telegram's form: HTML parse mode, cut into messages. Pure.

Only `& < >` need escaping in HTML mode; what is measured are UTF-16 units after the marks are parsed away (Bot API,
formatting options and sendMessage).
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import replace

from bot.gateway.operations import OutboundOp, OutFile, Reply, Send
from bot.gateway.text import Document, parse
from bot.gateway.text_layout import SHOWN, Bare, Measure, plain, render, shown
from bot.gateway.text_split import split
from bot.gateway.text_units import utf16_len
from bot.kernel.values import dataclass

MAX_TEXT = 4096
MAX_CAPTION = 1024
AGAIN = "↻ This may have reached you already.\n"
"""First line of a message whose earlier try may have arrived. Room for it is kept in every message."""

_DRAFT_SOURCE = 3 * MAX_TEXT
"""What is behind so much of a source does not change its first message."""
_LANGUAGE = re.compile(r"[A-Za-z0-9+#_.\-]{1,32}")


@dataclass(frozen=True, slots=True)
class TelegramHtml(Bare):
    def text(self, text: str) -> str:
        return html.escape(text, quote=False)

    def code(self, text: str) -> str:
        return f"<code>{html.escape(text, quote=False)}</code>"

    def emphasis(self, inner: str) -> str:
        return f"<i>{inner}</i>"

    def strong(self, inner: str) -> str:
        return f"<b>{inner}</b>"

    def strike(self, inner: str) -> str:
        return f"<s>{inner}</s>"

    def link(self, href: str, inner: str, label: str) -> str:
        return inner if href == label else f'<a href="{html.escape(href)}">{inner}</a>'

    def heading(self, level: int, inner: str) -> str:
        return f"<b>{inner}</b>"

    def code_block(self, info: str, text: str) -> str:
        escaped = html.escape(text, quote=False)
        language = _LANGUAGE.match(info)
        if language is None:
            return f"<pre>{escaped}</pre>"
        return f'<pre><code class="language-{language[0]}">{escaped}</code></pre>'

    def quote(self, inner: str, depth: int) -> str:
        return inner if depth else f"<blockquote>{inner}</blockquote>"  # quotes cannot be nested


_FORM = TelegramHtml()


def units(document: Document) -> int:
    """UTF-16 units after entity parsing."""
    return utf16_len(shown(document))


def _measure(limit: int) -> Measure:
    return Measure(SHOWN, utf16_len, limit)


def plan(reply: Reply) -> tuple[OutboundOp, ...]:
    """One `Send` per message: the text's parts, then the files. Only the first answers the asker's message.

    A single file takes a text that fits into a caption along.
    """
    room = MAX_TEXT - utf16_len(AGAIN)
    parts = list(split(parse(reply.markdown), _measure(room), room))
    sends: list[Send] = []
    if len(reply.files) == 1 and len(parts) == 1 and units(parts[0]) <= MAX_CAPTION - utf16_len(AGAIN):
        sends.append(_send(reply, parts[0], MAX_CAPTION, reply.files))
    else:
        sends += [_send(reply, part, MAX_TEXT, ()) for part in parts]
        sends += [Send(reply.path, "", "", (file,)) for file in reply.files]
    return tuple(sends[:1] + [replace(send, path=replace(send.path, ref=None)) for send in sends[1:]])


def draft_text(markdown: str) -> tuple[str, bool]:
    """HTML of what can be shown of a growing text, and whether it is full: more would not fit into one message."""
    parts = split(parse(markdown[:_DRAFT_SOURCE]), _measure(MAX_TEXT), MAX_TEXT)
    return (render(parts[0], _FORM), len(parts) > 1) if parts else ("", False)


def marked(op: Send) -> Send:
    """The same message with the line that says it may be a repetition."""
    return replace(op, text=f"<i>{AGAIN.rstrip()}</i>\n{op.text}".rstrip(), plain=(AGAIN + op.plain).rstrip())


def _send(reply: Reply, part: Document, limit: int, files: Sequence[OutFile]) -> Send:
    readable = plain(part)
    if utf16_len(readable) + utf16_len(AGAIN) > limit:  # addresses in brackets did not fit
        readable = shown(part)
    return Send(reply.path, render(part, _FORM), readable, tuple(files))
