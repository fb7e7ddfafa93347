"""The bytes of a mail to plain values. Pure; never raises, whatever the bytes are.

The parser is used in its lenient form (policy compat32) and under a guard; when it gives up, the mail is read as raw
text. Headers are kept raw and read one by one, so that one broken header costs that header only.
"""

from __future__ import annotations

import email.errors
import email.parser
import email.policy
import re
from collections.abc import Callable, Iterator
from email.message import Message
from email.utils import collapse_rfc2231_value
from itertools import islice
from typing import TypeVar

from bot.kernel.values import dataclass
from channels.email import fields, files, flowed, html, invite
from channels.email.charset import decode, decode_header, escaped_bytes
from channels.email.html import Rendering

T = TypeVar("T")

MAX_PARTS = 200
MAX_DEPTH = 30
MAX_BOUNDARIES = 5_000
"""Lines that begin with `--`; a mail with more is not taken apart (each part costs a hundred times its bytes)."""
MAX_HEADERS = 2_000
MAX_VALUE = 50_000
"""Characters of one header."""
MAX_TEXT = 400_000
"""Characters of body text that travel on; the whole mail stays stored."""

_MEDIA_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]{1,60}/[a-z0-9!#$&^_.+-]{1,60}")

FAULTS = (
    LookupError, ValueError, TypeError, AttributeError, AssertionError, RecursionError, email.errors.MessageError,
)  # fmt: skip
"""What CPython's email package has raised for malformed mail."""


@dataclass(frozen=True, slots=True)
class MailFile:
    name: str
    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Report:
    """A multipart/report: `kind` is its report-type, `blocks` its machine-readable part."""

    kind: str
    blocks: tuple[fields.Fields, ...]
    original: fields.Fields
    """Headers of the returned mail."""


@dataclass(frozen=True, slots=True)
class ParsedMail:
    headers: fields.Fields
    """(lower-case name, raw value), in order; bytes beyond ASCII as surrogate escapes."""
    body: Rendering
    alternative: Rendering | None = None
    """The HTML form of the same body, if it marks quotes and is not `body` already."""
    files: tuple[MailFile, ...] = ()
    invite: invite.Invite | None = None
    report: Report | None = None
    notes: tuple[str, ...] = ()
    """What could not be read, in words for the log."""

    def raw(self, name: str) -> tuple[str, ...]:
        """All raw values of a header."""
        return tuple(value for key, value in self.headers if key == name)

    def first(self, name: str) -> str | None:
        """The first value of a header, decoded, on one line."""
        return next((decode_header(value) for key, value in self.headers if key == name), None)

    def has(self, name: str) -> bool:
        return any(key == name for key, _ in self.headers)


@dataclass(frozen=True, slots=True)
class _Leaf:
    message: Message
    media_type: str
    alternative: int | None
    """Number of the multipart/alternative it stands in."""
    is_whole: bool
    """It is the whole mail, not a part of one."""


def parse(raw: bytes) -> ParsedMail:
    if _boundaries(raw) > MAX_BOUNDARIES:
        return _as_text(raw, "too many parts: read as text")
    try:
        message = email.parser.BytesParser(policy=email.policy.compat32).parsebytes(raw)
        return _read(message)
    except FAULTS as error:
        return _as_text(raw, f"not readable as a mail ({type(error).__name__}): read as text")


def header_fields(message: Message) -> fields.Fields:
    items = islice(message.raw_items(), MAX_HEADERS)
    return tuple((str(name)[:200].lower(), str(value)[:MAX_VALUE]) for name, value in items)


def _boundaries(raw: bytes) -> int:
    return raw.count(b"\n--") + raw.count(b"\r--")


def _as_text(raw: bytes, note: str) -> ParsedMail:
    """Header and body without the library."""
    text = _plain(decode(fields.body(raw)[: 4 * MAX_TEXT]))
    return ParsedMail(fields.split(raw), Rendering(_cut(text)), notes=(note,))


def _read(message: Message) -> ParsedMail:
    notes: list[str] = []
    texts: list[_Leaf] = []
    attached: list[MailFile] = []
    found: invite.Invite | None = None
    for leaf in _leaves(message, notes):
        if leaf.media_type == "text/calendar":
            found = found or _invite(leaf)
            attached.append(_file(leaf))
        elif leaf.media_type in {"text/plain", "text/html"} and not _is_attachment(leaf):
            texts.append(leaf)
        else:
            attached.append(_file(leaf))
    body, alternative = _bodies(texts)
    if found is not None:
        body = Rendering("\n\n".join(filter(str.strip, (body.text, found.summary))), body.quoted)
        alternative = None
    names = files.distinct(files.clean(f.name) for f in attached)
    renamed = tuple(MailFile(name, f.media_type, f.data) for name, f in zip(names, attached, strict=True))
    return ParsedMail(
        header_fields(message), _bounded(body), alternative, renamed, found, _report(message), tuple(notes)
    )


def _leaves(message: Message, notes: list[str]) -> Iterator[_Leaf]:
    """Parts that hold content, in order; containers are opened down to MAX_DEPTH, MAX_PARTS in all."""
    stack: list[tuple[Message, int, int | None]] = [(message, 0, None)]
    seen = alternatives = 0
    while stack:
        part, depth, group = stack.pop()
        seen += 1
        if seen > MAX_PARTS or depth > MAX_DEPTH:
            notes.append("too many or too deeply nested parts: some were left out")
            return
        media_type = _guarded(part.get_content_type, "application/octet-stream")
        children = part.get_payload()
        if media_type.startswith("multipart/") and isinstance(children, list):
            if media_type == "multipart/alternative":
                alternatives += 1
                group = alternatives
            stack += [(child, depth + 1, group) for child in reversed(children) if isinstance(child, Message)]
        else:
            if media_type.startswith("multipart/") or not _MEDIA_TYPE.fullmatch(media_type):
                media_type = "text/plain"  # RFC 2045 s5.2; a container without parts: its text is all there is
            yield _Leaf(part, media_type, group, part is message)


def _bodies(texts: list[_Leaf]) -> tuple[Rendering, Rendering | None]:
    """The body as text, and as converted HTML if that marks quotes. Of alternatives the plain one speaks, unless
    it is blank."""
    plain: list[tuple[int | None, str]] = []
    rich: list[tuple[int | None, Rendering]] = []
    for leaf in texts:
        if leaf.media_type == "text/html":
            rich.append((leaf.alternative, html.convert(_text(leaf.message))))
        else:
            plain.append((leaf.alternative, _plain_text(leaf.message)))
    spoken = {group for group, text in plain if group is not None and text.strip()}
    chosen_rich = [r for group, r in rich if group is None or group not in spoken]
    replaced = [r for group, r in rich if group is not None and group in spoken and r.quoted]
    order = [Rendering(text) for _, text in plain if text.strip()] + [r for r in chosen_rich if r.text.strip()]
    if len(texts) > 1 and len(order) > 1:
        order = _in_order(texts, plain, rich, spoken)
    alternative = replaced[0] if len(replaced) == 1 and len(order) == 1 else None
    return _joined(order), None if alternative is None else _bounded(alternative)


def _in_order(
    texts: list[_Leaf],
    plain: list[tuple[int | None, str]],
    rich: list[tuple[int | None, Rendering]],
    spoken: set[int],
) -> list[Rendering]:
    plains, riches = iter(plain), iter(rich)
    result = []
    for leaf in texts:
        if leaf.media_type == "text/html":
            group, rendering = next(riches)
            if group is None or group not in spoken:
                result.append(rendering)
        else:
            result.append(Rendering(next(plains)[1]))
    return [r for r in result if r.text.strip()]


def _joined(parts: list[Rendering]) -> Rendering:
    text = ""
    ranges: list[tuple[int, int]] = []
    for part in parts:
        text += "\n\n" if text else ""
        ranges += [(start + len(text), end + len(text)) for start, end in part.quoted]
        text += part.text
    return Rendering(text, tuple(ranges))


def _bounded(body: Rendering) -> Rendering:
    ranges = tuple((s, min(e, MAX_TEXT)) for s, e in body.quoted if s < MAX_TEXT)
    return Rendering(_cut(body.text), ranges)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "\n[cut here: the mail is longer]"


def _plain_text(message: Message) -> str:
    text = _plain(_text(message))
    if _param(message, "format").lower() == "flowed":
        return flowed.unfold(text, delete_space=_param(message, "delsp").lower() == "yes")
    return text


def _plain(text: str) -> str:
    return re.sub(r"\r\n?", "\n", text).replace("\0", "\ufffd").strip("\n")


def _text(message: Message) -> str:
    charset = _guarded(message.get_content_charset, None)
    return decode(_bytes(message), charset)


def _bytes(message: Message) -> bytes:
    """Decoded content. What cannot be decoded is given as it came."""
    payload = _guarded(lambda: message.get_payload(decode=True), None)
    if isinstance(payload, bytes):
        return payload
    raw = message.get_payload()
    return escaped_bytes(raw) if isinstance(raw, str) else b""


def _is_attachment(leaf: _Leaf) -> bool:
    if _guarded(leaf.message.get_content_disposition, None) == "attachment":
        return True
    return not leaf.is_whole and bool(_name(leaf.message))


def _name(message: Message) -> str:
    return decode_header(_param(message, "filename", "content-disposition") or _param(message, "name"))


def _param(message: Message, name: str, header: str = "content-type") -> str:
    """A parameter of a header, its RFC 2231 form decoded; empty if it is missing or unreadable."""
    value = _guarded(lambda: message.get_param(name, None, header), None)
    return "" if value is None else str(_guarded(lambda: collapse_rfc2231_value(value), ""))


def _file(leaf: _Leaf) -> MailFile:
    media_type = _media_type(leaf.media_type)
    if leaf.media_type == "message/rfc822":
        inner = leaf.message.get_payload()
        first = inner[0] if isinstance(inner, list) and inner else None
        data = _guarded(first.as_bytes, b"") if isinstance(first, Message) else _bytes(leaf.message)
        subject = first.get("subject") if isinstance(first, Message) else None
        title = decode_header(_guarded(lambda: str(subject or ""), ""))
        return MailFile(_name(leaf.message) or f"{title or 'mail'}.eml", media_type, data)
    if leaf.media_type.startswith("message/") and isinstance(leaf.message.get_payload(), list):
        return MailFile(_name(leaf.message) or "report.txt", media_type, _guarded(leaf.message.as_bytes, b""))
    fallback = {"text/calendar": "invite.ics", "text/html": "page.html"}.get(leaf.media_type, "file")
    return MailFile(_name(leaf.message) or fallback, media_type, _bytes(leaf.message))


def _media_type(declared: str) -> str:
    return (
        declared
        if re.fullmatch(r"[a-z0-9!#$&^_.+-]{1,60}/[a-z0-9!#$&^_.+-]{1,60}", declared)
        else "application/octet-stream"
    )


def _invite(leaf: _Leaf) -> invite.Invite | None:
    return invite.read(_text(leaf.message), _param(leaf.message, "method") or None)


def _report(message: Message) -> Report | None:
    if _guarded(message.get_content_type, "") != "multipart/report":
        return None
    kind = _param(message, "report-type")
    blocks: list[fields.Fields] = []
    original: fields.Fields = ()
    children = message.get_payload()
    for part in children if isinstance(children, list) else []:
        if not isinstance(part, Message):
            continue
        media_type, inner = _guarded(part.get_content_type, ""), part.get_payload()
        if media_type in {"message/delivery-status", "message/global-delivery-status",
                          "message/disposition-notification"} and isinstance(inner, list):  # fmt: skip
            blocks += [header_fields(block) for block in inner if isinstance(block, Message)]
        elif media_type == "message/rfc822" and isinstance(inner, list) and inner and isinstance(inner[0], Message):
            original = header_fields(inner[0])
        elif media_type in {"text/rfc822-headers", "message/rfc822-headers", "message/global-headers"}:
            original = fields.split(_bytes(part))
    return Report(kind.lower(), tuple(blocks), original)


def _guarded(read: Callable[[], T], otherwise: T) -> T:
    try:
        return read()
    except FAULTS:
        return otherwise
