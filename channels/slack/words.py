"""What a Slack message says: its text as Markdown, whose words each part is, and its files. Pure.

Slack sends `& < >` escaped and everything special in angle brackets: `<@U1>`, `<#C1|name>`, `<!here>`,
`<https://a.example|label>` (Slack, formatting text for app surfaces).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bot.gateway.events import Attachment, Body, Span, SpanKind

Names = Callable[[str], str | None]
"""Member id to the name that people see, if it is known."""

JsonObject = Mapping[str, Any]

_CODE = re.compile(r"(```.*?```|`[^`\n]+`)", re.DOTALL)
_ANGLE = re.compile(r"<([^<>\n]+)>")
_BOLD = re.compile(r"(?<![\w*])\*(?=\S)([^*\n]+?)(?<=\S)\*(?![\w*])")
_STRIKE = re.compile(r"(?<![\w~])~(?=\S)([^~\n]+?)(?<=\S)~(?![\w~])")
_HELD = re.compile("\ue000(\\d+)\ue001")
_LINE_QUOTE = re.compile(r"^>(?!>>)[^\n]*(?:\n|\Z)", re.MULTILINE)
_REST_QUOTE = re.compile(r"^>>>.*\Z", re.MULTILINE | re.DOTALL)


def markdown(text: str, names: Names) -> str:
    """Slack's mrkdwn as Markdown. Code stays as it is; a mark counts only with non-space on its inner sides."""
    parts = _CODE.split(text.replace("\ue000", "\ufffd").replace("\ue001", "\ufffd"))
    return "".join(_code(part) if index % 2 else _prose(part, names) for index, part in enumerate(parts))


def unescape(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _code(text: str) -> str:
    """Addresses in code come in brackets too."""

    def bare(match: re.Match[str]) -> str:
        target, _, label = match[1].partition("|")
        return label or target

    return unescape(_ANGLE.sub(bare, text))


def _prose(text: str, names: Names) -> str:
    held: list[str] = []

    def hold(match: re.Match[str]) -> str:
        held.append(_angle(match[1], names))
        return f"\ue000{len(held) - 1}\ue001"

    text = _ANGLE.sub(hold, text)
    text = _STRIKE.sub(r"~~\1~~", _BOLD.sub(r"**\1**", text))
    return _HELD.sub(lambda match: held[int(match[1])], unescape(text))


def _angle(inner: str, names: Names) -> str:
    target, _, label = (unescape(part) for part in inner.partition("|"))
    match target[:1]:
        case "@":
            return f"@{names(target[1:]) or label or target[1:]}"
        case "#":
            return f"#{label or target[1:]}"
        case "!":
            return _special(target[1:], label)
    if not label or label == target or target.partition("://")[2].rstrip("/") == label.rstrip("/"):
        return target
    if target.partition(":")[2] == label:  # mailto:a@b.example|a@b.example
        return label
    return f"[{label}]({target})"


def _special(target: str, label: str) -> str:
    if target.startswith("date^"):
        return label or "a date"
    if label:
        return label if label.startswith("@") else f"@{label}"
    return f"@{target.partition('^')[0]}"


def mentions(text: str, user: str) -> bool:
    """Whether `text`, as Slack sends it, mentions this account."""
    return f"<@{user}>" in text or f"<@{user}|" in text


def without_mention(text: str, user: str) -> str:
    """`text` without a mention of this account at its start."""
    return re.sub(rf"\A\s*<@{re.escape(user)}(?:\|[^>]*)?>[\s,:]*", "", text)


def body_of(message: JsonObject, names: Names) -> Body:
    """The words of a message, then what it forwards, marked as whose they are."""
    own = markdown(str(message.get("text") or ""), names)
    spans = _quoted(own)
    text = own
    for share in message.get("attachments") or ():
        if not (share.get("is_share") or share.get("is_msg_unfurl")):
            continue  # link previews are nobody's words
        said = markdown(str(share.get("text") or share.get("fallback") or ""), names)
        if said:
            block = f"[forwarded from {share.get('author_name') or 'another message'}]\n{said}"
            joined = f"{text}\n{block}" if text else block
            spans.append(Span(len(text), len(joined), SpanKind.FORWARDED))
            text = joined
    return Body(text, _covered(len(text), spans))


def forwarded(message: JsonObject, names: Names) -> Body:
    """A message that somebody else hands over: none of it is their own word."""
    text = body_of(message, names).text
    return Body(text, (Span(0, len(text), SpanKind.FORWARDED),)) if text else Body("")


def _quoted(text: str) -> list[Span]:
    rest = _REST_QUOTE.search(text)
    end = rest.start() if rest is not None else len(text)
    found = [Span(m.start(), min(m.end(), end), SpanKind.QUOTED) for m in _LINE_QUOTE.finditer(text) if m.start() < end]
    if rest is not None:
        found.append(Span(rest.start(), len(text), SpanKind.QUOTED))
    return found


def _covered(length: int, foreign: Sequence[Span]) -> tuple[Span, ...]:
    """Spans that cover the text: what is not foreign is own."""
    if not foreign:
        return ()
    spans: list[Span] = []
    done = 0
    for span in foreign:
        if span.start > done:
            spans.append(Span(done, span.start, SpanKind.OWN))
        spans.append(span)
        done = span.end
    if done < length:
        spans.append(Span(done, length, SpanKind.OWN))
    return tuple(spans)


_FAULTS = {
    "tombstone": "was deleted",
    "hidden_by_limit": "is hidden by the workspace's plan",
    "external": "is kept outside Slack: send its text, or the file itself",
}


def attachments_of(message: JsonObject, limit: int) -> tuple[Attachment, ...]:
    """The files of a message. `limit`: largest file in bytes; a larger one carries its fault instead of a source."""
    return tuple(_attachment(file, limit) for file in message.get("files") or () if isinstance(file, Mapping))


def _attachment(file: JsonObject, limit: int) -> Attachment:
    name = str(file.get("name") or file.get("title") or "file")
    kind = str(file.get("mimetype") or "application/octet-stream")
    size = file.get("size")
    size = size if isinstance(size, int) else None
    fault = _FAULTS.get(str(file.get("mode") or ""))
    if fault is None and size is not None and size > limit:
        fault = f"too large: {size / 1e6:.1f} MB, and I fetch {limit / 1e6:.0f} MB at most"
    return Attachment(name, kind, size, None if fault else str(file.get("id") or ""), fault=fault)
