"""A send operation to the bytes of a mail. Pure: the same operation, key and time give the same bytes.

The header is written here line by line: values are freed of CR, LF and NUL first, encoded whole (RFC 2047) when they
are not plain ASCII, and folded at spaces only. The library's folding is not used: it encodes long Message-IDs and drops
the space between encoded words.
"""

from __future__ import annotations

import email.policy
import email.utils
import re
from collections.abc import Sequence
from datetime import datetime
from email.header import Header
from email.message import EmailMessage

from bot.gateway.events import ReplyPath
from bot.gateway.operations import Send
from bot.kernel.errors import PermanentError
from bot.kernel.ids import OutboxId
from bot.kernel.values import dataclass
from channels.email.addresses import ascii_domain, parse_one
from channels.email.charset import one_line, well_formed
from channels.email.files import clean
from channels.email.guards import LOOP_HEADER
from channels.email.mapping import Own, message_id_of

AGAIN_HEADER = "X-OpenExecutive-Resent"
AGAIN_LINE = "(This mail may reach you a second time: whether it arrived before could not be made sure.)"
MAX_SUBJECT = 250
MAX_REFERENCES = 30
_MEDIA_TYPE = re.compile(r"[a-z0-9.+-]{1,60}/[a-z0-9.+-]{1,60}")
_REPLY_MARK = re.compile(
    r"\A(?:\s*(?:re|aw|sv|antw|rif|ris|odp|ref|回复|回覆|答复|返信|ответ|na)\s*(?:\[\d+\])?\s*[:：])+\s*", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class File:
    name: str
    media_type: str
    data: bytes


def message_id(key: OutboxId, own: Own) -> str:
    """Fixed by the outbox row: sent twice, most readers show one."""
    return f"<{key}@{own.id_domain}>"


def compose(
    op: Send,
    key: OutboxId,
    own: Own,
    files: Sequence[File],
    now: datetime,
    *,
    again: bool,
    reply_to: str | None = None,
) -> bytes:
    """The whole mail with CRLF line ends. `reply_to`: where the reader shall answer, if not at our plain address.
    Raises `PermanentError` if the recipient is no address."""
    answers = op.path.ref is not None or bool(op.path.chain)
    headers = [
        ("Date", email.utils.format_datetime(now)),
        ("From", f"<{own.address}>"),
        *([] if reply_to is None else [("Reply-To", f"<{reply_to}>")]),
        ("To", f"<{recipient(op.path)}>"),
        *_copies(op.path),
        ("Subject", _encoded(subject(op.path.subject, answers=answers), len("Subject: "))),
        ("Message-ID", message_id(key, own)),
        *_threading(op.path),
        ("Auto-Submitted", "auto-replied" if answers else "auto-generated"),
        (LOOP_HEADER, own.address),
    ]
    if again:
        headers.append((AGAIN_HEADER, "yes"))
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return lines.encode("utf-8") + _content(op, files, again=again)


def recipient(path: ReplyPath) -> str:
    """The one address an answer goes to, its domain in ASCII."""
    return _on_the_wire(path.address)


def _copies(path: ReplyPath) -> list[tuple[str, str]]:
    """Who else gets a mail with this text; each has their own."""
    return [("Cc", "\r\n ".join(f"<{_on_the_wire(a)}>," for a in path.also).rstrip(","))] if path.also else []


def _on_the_wire(text: str) -> str:
    address = parse_one(text)
    if address is None:
        raise PermanentError("the answer has no mail address to go to")
    local, _, domain = address.rpartition("@")
    ascii_name = ascii_domain(domain)
    if ascii_name is None:
        raise PermanentError("the domain of the recipient's address cannot exist")
    return f"{local}@{ascii_name}"


def subject(earlier: str | None, *, answers: bool) -> str:
    """One line, without controls. Of an answer: `Re: ` once, whatever the language of the marks before."""
    if not answers:
        return one_line(well_formed(earlier or "")).strip()[:MAX_SUBJECT].rstrip() or "(no subject)"
    bare = _REPLY_MARK.sub("", one_line(well_formed(earlier or ""))).strip()
    return f"Re: {bare[:MAX_SUBJECT].rstrip()}" if bare else "Re: (no subject)"


def _threading(path: ReplyPath) -> list[tuple[str, str]]:
    """RFC 5322 s3.6.4: In-Reply-To is the parent, References the parent's References and the parent. Of a long chain
    the first and the latest are kept."""
    chain = [i for i in dict.fromkeys(message_id_of(r) for r in path.chain) if i is not None]
    parent = message_id_of(path.ref) if path.ref is not None else None
    chain = [i for i in chain if i.isascii() and not i.endswith("@no-message-id>")]
    if len(chain) > MAX_REFERENCES:
        chain = chain[:1] + chain[-(MAX_REFERENCES - 1) :]
    found = []
    if parent is not None and parent in chain:
        found.append(("In-Reply-To", parent))
    if chain:
        found.append(("References", "\r\n ".join(chain)))
    return found


def _encoded(text: str, used: int) -> str:
    """A header value, folded. Words beyond ASCII are encoded together, with the space that RFC 2047 s5 asks for."""
    if text.isascii() and "=?" not in text:
        return _folded(text, used)
    return Header(text, "utf-8", maxlinelen=75 - used, continuation_ws=" ").encode(linesep="\r\n")


def _folded(text: str, used: int) -> str:
    lines = [""]
    room = 76 - used
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > room:
            lines.append(word)
            room = 75
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return "\r\n ".join(lines)


def _content(op: Send, files: Sequence[File], *, again: bool) -> bytes:
    """MIME headers, blank line and body: plain text first, HTML as the alternative, files behind."""
    plain = well_formed(op.plain).replace("\0", "").rstrip()
    message = EmailMessage(policy=email.policy.SMTP.clone(cte_type="7bit"))
    message.set_content(f"{plain}\n\n{AGAIN_LINE}\n" if again else f"{plain}\n", charset="utf-8")
    markup = well_formed(op.text).replace("\0", "")
    if markup and markup != op.plain:
        note = f"\n<p>{AGAIN_LINE}</p>" if again else ""
        message.add_alternative(f"<html><body>\n{markup}{note}\n</body></html>\n", subtype="html", charset="utf-8")
    for file in files:
        main, _, sub = file.media_type.partition("/")
        if not re.fullmatch(r"[a-z0-9.+-]{1,60}/[a-z0-9.+-]{1,60}", file.media_type) or main in {
            "multipart",
            "message",
        }:
            main, sub = "application", "octet-stream"
        message.add_attachment(file.data, maintype=main, subtype=sub, filename=clean(file.name))
    return message.as_bytes()
