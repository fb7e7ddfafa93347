"""What a Discord message says: its text, whose words each part is, and its files. Pure, on the platform's JSON.

Markup that stands for a name (`<@id>`, `<#id>`, `<:emoji:id>`, `<t:seconds>`) is written out, outside of code; block
quotes, forwarded messages and our own notes are told apart from the writer's words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from bot.gateway.events import Attachment, Body, Span, SpanKind

Payload = Mapping[str, Any]
"""One object of the platform's JSON."""
Lookup = Callable[[str, int], str | None]
"""Name of a `user`, `role` or `channel` by its id, where it is known."""

MAX_QUOTE = 4096
VOICE_MESSAGE = 1 << 13
FORWARD = 1
"""`message_reference.type` of a forwarded message; 0 is an answer."""

_CODE = re.compile(r"(```.*?```|``.+?``|`[^`\n]+`)", re.DOTALL)
_TOKEN = re.compile(
    r"<@!?(?P<user>\d{1,20})>|<@&(?P<role>\d{1,20})>|<#(?P<channel>\d{1,20})>|<a?(?P<emoji>:\w{2,32}:)\d{1,20}>"
    r"|<t:(?P<time>-?\d{1,13})(?::[tTdDfFsSR])?>|<(?P<command>/[^:<>]{1,120}):\d{1,20}>"
)
_MENTION = re.compile(r"<@!?(\d{1,20})>")


def clean_name(shown: str) -> str:
    """A name without controls and direction marks, at most 64 characters."""
    kept = "".join(c for c in shown if unicodedata.category(c) not in ("Cc", "Cf", "Zl", "Zp", "Cs"))
    return " ".join(kept.split())[:64]


def name_of(user: Payload, member: Payload | None = None) -> str:
    nick = member.get("nick") if member else None
    return clean_name(str(nick or user.get("global_name") or user.get("username") or ""))


def mentions(content: str, user: int) -> bool:
    """Whether the text itself names the account; inside code nobody is named."""
    pieces = _CODE.split(content)[::2]
    return any(int(found) == user for piece in pieces for found in _MENTION.findall(piece))


def without_mention(content: str, user: int) -> str:
    """The text behind a mention of the account at its start."""
    match = re.match(rf"\s*<@!?{user}>[\s,:]*", content)
    return content[match.end() :] if match else content


def without_mentions(content: str, user: int) -> str:
    return re.sub(rf"<@!?{user}>[ ,:]*", "", content)


def readable(content: str, users: Sequence[Payload], lookup: Lookup) -> str:
    """`content` with names in place of ids. Ids that nobody can name stay as they are."""
    known = {int(user["id"]): name_of(user, user.get("member")) for user in users}

    def name(match: re.Match[str]) -> str:
        if match["user"]:
            found = known.get(int(match["user"])) or lookup("user", int(match["user"]))
            return f"@{found}" if found else match[0]
        if match["role"]:
            found = lookup("role", int(match["role"]))
            return f"@{found}" if found else match[0]
        if match["channel"]:
            found = lookup("channel", int(match["channel"]))
            return f"#{found}" if found else match[0]
        if match["time"]:
            return _instant(int(match["time"])) or match[0]
        return match["emoji"] or match["command"]

    pieces = _CODE.split(content)
    return "".join(piece if index % 2 else _TOKEN.sub(name, piece) for index, piece in enumerate(pieces))


def _instant(seconds: int) -> str | None:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (OverflowError, OSError, ValueError):
        return None


def body_of(message: Payload, lookup: Lookup) -> Body:
    """The text as written, then what else the message carries in words of ours, then what it forwards."""
    text = readable(str(message.get("content") or ""), message.get("mentions", ()), lookup).strip()
    pieces = list(_quotes(text)) if text else []
    pieces += [(note, SpanKind.QUOTED) for note in _notes(message)]
    for snapshot in message.get("message_snapshots") or ():
        inner = snapshot.get("message", {})
        words = readable(str(inner.get("content") or ""), inner.get("mentions", ()), lookup).strip()
        told = [words, *_notes(inner), *(f"[file {one.get('filename', '')}]" for one in inner.get("attachments", ()))]
        pieces.append(("\n".join(part for part in told if part) or "[forwarded message]", SpanKind.FORWARDED))
    return _joined(pieces)


def _quotes(text: str) -> Iterator[tuple[str, SpanKind]]:
    """Runs of lines, block quotes apart (`> ` quotes a line, `>>> ` all that follows); not inside code."""
    run: list[str] = []
    kind = SpanKind.OWN
    fenced = to_end = False
    for line in text.split("\n"):
        quoted = to_end or (not fenced and line.startswith(("> ", ">>> ")))
        to_end = to_end or (quoted and line.startswith(">>> "))
        this = SpanKind.QUOTED if quoted else SpanKind.OWN
        if run and this is not kind:
            yield "\n".join(run), kind
            run = []
        kind = this
        run.append(line)
        fenced ^= not quoted and line.count("```") % 2 == 1
    yield "\n".join(run), kind


def _joined(pieces: Sequence[tuple[str, SpanKind]]) -> Body:
    text = "\n".join(piece for piece, _ in pieces)
    if all(kind is SpanKind.OWN for _, kind in pieces):
        return Body(text)
    spans: list[Span] = []
    at = 0
    for index, (piece, kind) in enumerate(pieces):
        end = at + len(piece) + (index < len(pieces) - 1)
        if spans and spans[-1].kind is kind:
            spans[-1] = Span(spans[-1].start, end, kind)
        elif end > at:
            spans.append(Span(at, end, kind))
        at = end
    return Body(text, tuple(spans))


def _notes(message: Payload) -> Iterator[str]:
    """A line for each thing that is neither text nor a file that is read."""
    for sticker in message.get("sticker_items") or ():
        yield f"[sticker {clean_name(str(sticker.get('name', '')))}]".replace(" ]", "]")
    if is_voice(message):
        seconds = next((a["duration_secs"] for a in message.get("attachments", ()) if a.get("duration_secs")), None)
        yield "[voice message]" if seconds is None else f"[voice message, {float(seconds):.0f} s]"
    if poll := message.get("poll"):
        answers = [str((a.get("poll_media") or {}).get("text") or "") for a in poll.get("answers", ())]
        yield f"[poll: {(poll.get('question') or {}).get('text', '')} ({'; '.join(a for a in answers if a)})]"


def is_voice(message: Payload) -> bool:
    return bool(int(message.get("flags") or 0) & VOICE_MESSAGE)


def quotes_of(message: Payload, lookup: Lookup) -> str | None:
    """Text of the message that this one answers."""
    answered = message.get("referenced_message")
    if not answered or (message.get("message_reference") or {}).get("type") == FORWARD:
        return None
    return readable(str(answered.get("content") or ""), answered.get("mentions", ()), lookup)[:MAX_QUOTE] or None


def attachments_of(message: Payload, limit: int) -> tuple[Attachment, ...]:
    """Files, those of forwarded messages too. What is larger than `limit` bytes carries its fault instead of a source;
    a voice message is a note in the text. A source names channel, message and file besides the address, because
    addresses expire (Discord, signed attachment URLs)."""
    own = () if is_voice(message) else tuple(message.get("attachments") or ())
    forwarded = tuple(
        file
        for snapshot in message.get("message_snapshots") or ()
        if not is_voice(snapshot.get("message", {}))
        for file in snapshot.get("message", {}).get("attachments") or ()
    )
    return tuple(_attachment(message, file, limit) for file in (*own, *forwarded))


def _attachment(message: Payload, file: Payload, limit: int) -> Attachment:
    name = str(file.get("filename") or "file")
    kind = str(file.get("content_type") or "application/octet-stream")
    size = int(file.get("size") or 0)
    if size > limit:
        fault = f"too large: {size / 1e6:.1f} MB, and at most {limit / 1e6:.0f} MB are fetched"
        return Attachment(name, kind, size, fault=fault)
    where = f"{message['channel_id']}:{message['id']}:{file['id']}"
    return Attachment(name, kind, size, source=f"{where} {file['url']}")
