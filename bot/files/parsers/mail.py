"""Text of a kept mail (EML): who, when, about what, the words, and the names of what was attached.

Written on `compat32`: the newer policy raises on malformed headers where this must read on.
"""

from __future__ import annotations

from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message

from bot.files.names import clean_names
from bot.files.parsers.html import to_text
from bot.files.parsers.text import decode, finish
from bot.files.wire import Arguments, Output, Reason, Refused

_SHOWN = ("From", "To", "Cc", "Date", "Subject")
_MAX_PARTS = 500
_HEADER_CHARACTERS = 2000


def extract(data: bytes, arguments: Arguments) -> Output:
    """Facts: `truncated`, `note`. The plain text is preferred over HTML, as RFC 2046 s5.1.4 orders alternatives."""
    start = data.find(b"\n") + 1 if data[:5] in {b"From ", b">From"} else 0  # an mbox line in front
    message = message_from_bytes(data[start:])
    lines = [f"{name}: {value}" for name in _SHOWN if (value := _header(message, name))]
    if not lines:
        raise Refused(Reason.DAMAGED, "The mail has no readable header.")
    plain: list[str] = []
    pages: list[str] = []
    attached: list[tuple[str, int | None]] = []
    for leaf in _leaves(message, attached):
        (plain if leaf.get_content_type() == "text/plain" else pages).append(_words(leaf))
    note = ""
    if any(each.strip() for each in plain):
        body = "\n\n".join(plain)
    else:
        laid_out = [to_text(each) for each in pages]
        body = "\n\n".join(text for text, _ in laid_out)
        note = next((note for _, note in laid_out if note), "")
    if attached:
        lines.append("Attachments (not read here): " + ", ".join(_named(attached)))
    return finish("\n".join(lines) + "\n\n" + body, arguments, note)


def _leaves(message: Message, attached: list[tuple[str, int | None]]) -> list[Message]:
    """Parts that are the mail's own words, in order. What is attached goes into `attached`: its name, and the position
    of the mail in it that holds it. Without recursion: how deep it goes is up to the sender."""
    words: list[Message] = []
    waiting: list[tuple[Message, int | None]] = [(message, None)]
    seen = 0
    while waiting and seen < _MAX_PARTS:
        part, holder = waiting.pop()
        seen += 1
        kind = part.get_content_type()
        name = _file_name(part)
        children = part.get_payload()
        parts = [each for each in children if isinstance(each, Message)] if isinstance(children, list) else []
        if kind == "message/rfc822" and parts:
            subject = _header(parts[0], "Subject")[:80]
            attached.append((name or (f"{subject}.eml" if subject else "attached mail.eml"), holder))
            holder = len(attached) - 1
        if parts:
            waiting.extend((each, holder) for each in reversed(parts))
        elif kind in {"text/plain", "text/html"} and not name and not _is_attachment(part):
            if holder is None:
                words.append(part)
        else:
            attached.append((name or f"unnamed {kind}", holder))
    return words


def _named(attached: list[tuple[str, int | None]]) -> list[str]:
    names = clean_names([name for name, _ in attached])
    return [
        name if holder is None else f"{name} (inside {names[holder]})"
        for name, (_, holder) in zip(names, attached, strict=True)
    ]


def _words(part: Message) -> str:
    payload = part.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return ""
    charset = part.get_param("charset", "")
    return decode(payload, charset if isinstance(charset, str) else charset[2])[0]


def _is_attachment(part: Message) -> bool:
    return str(part.get("Content-Disposition", "")).strip().lower().startswith("attachment")


def _file_name(part: Message) -> str:
    try:
        return _decoded(part.get_filename(""))
    except (ValueError, LookupError, TypeError, IndexError):  # RFC 2231 values of broken clients
        return "unnamed file"


def _header(message: Message, name: str) -> str:
    return _decoded(str(message.get(name, ""))[:_HEADER_CHARACTERS])


def _decoded(value: str) -> str:
    """RFC 2047 words decoded, on one line. What cannot be decoded stays as it came."""
    try:
        parts = decode_header(value)
    except (HeaderParseError, ValueError):
        parts = [(value, None)]
    text = ""
    for part, charset in parts:
        text += part if isinstance(part, str) else decode(part, charset or "")[0]
    return " ".join(text.encode("utf-8", "replace").decode("utf-8").split())
