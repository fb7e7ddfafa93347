"""A reply as plain text for a terminal. Pure. Files are only named: they stay with the daemon."""

from __future__ import annotations

from bot.gateway.operations import OutboundOp, OutFile, Reply, Send
from bot.gateway.text import parse
from bot.gateway.text_layout import plain

PART = 100_000
"""Characters of one message: in JSON at most 6 bytes each, so that it fits into a line of the socket (1 MiB)."""
AGAIN = "↻ This may have reached you already."


def plan(reply: Reply) -> tuple[OutboundOp, ...]:
    """One message; more only for what does not fit into a line of the socket."""
    named = "\n".join(_named(file) for file in reply.files)
    text = "\n\n".join(part for part in (plain(parse(reply.markdown)), named) if part)
    return tuple(Send(reply.path, part, part) for part in _parts(text))


def marked(text: str) -> str:
    """The same message with the line that says it may be a repetition."""
    return f"{AGAIN}\n{text}"


def _named(file: OutFile) -> str:
    return f"[file: {file.name} ({file.media_type})]"


def _parts(text: str) -> list[str]:
    parts = []
    while len(text) > PART:
        cut = text.rfind("\n", PART // 2, PART) + 1 or PART
        parts.append(text[:cut].rstrip("\n"))
        text = text[cut:]
    return [*parts, text]
