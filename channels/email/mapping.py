"""A parsed mail and what is known about its delivery to one `InboundEvent`. Pure; never raises.

Thread membership is not decided here: a mail names the messages it answers (`Chain`), nearest first, and only where
those headers are the sender's own; intake looks whether a proven sender takes part in that thread.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from bot.gateway import commands
from bot.gateway.events import (
    Addressed,
    Attachment,
    Body,
    Chain,
    CommandInvoked,
    DeliveryReported,
    InboundEvent,
    MessageReceived,
    Nature,
    Place,
    PlaceKind,
    Proof,
    ReplyPath,
    Sender,
    Span,
    SpanKind,
)
from bot.kernel.ids import BlobHash
from bot.kernel.values import dataclass
from channels.email import dsn, fields, guards
from channels.email.addresses import Mailbox, is_ours, mailboxes, only_mailbox, parse_one
from channels.email.dates import parse_date
from channels.email.mime import ParsedMail
from channels.email.proof import MAX_SKEW, Envelope, Verdict

NAME = "email"
MAX_REFS = 50
MAX_OTHERS = 50
MAX_SUBJECT = 400
_ID = re.compile(r"<[^<>\s\x00-\x1f\x7f]{1,250}>")


@dataclass(frozen=True, slots=True)
class Own:
    """The executive's own identity."""

    address: str
    """Lower case, without a plus tag."""

    @property
    def id_domain(self) -> str:
        """Right side of our Message-IDs."""
        return self.address.rpartition("@")[2]


@dataclass(frozen=True, slots=True)
class Mail:
    """One delivery, read."""

    parsed: ParsedMail
    raw: bytes
    envelope: Envelope


def sender_of(parsed: ParsedMail, mail_from: str) -> Mailbox | None:
    """Who wrote it, as the header says; the envelope's word where the header has none. Nothing is proven by this."""
    for value in parsed.raw("from"):
        found = only_mailbox(value) or next(iter(mailboxes(value)), None)
        if found is not None:
            return found
    address = parse_one(mail_from.strip().strip("<>"))
    return None if address is None else Mailbox(address, "")


def reply_to_of(parsed: ParsedMail, own: Own) -> str | None:
    """The one other address the sender wants answers at, if it is one and not ours."""
    values = parsed.raw("reply-to")
    mailbox = only_mailbox(values[0]) if len(values) == 1 else None
    return None if mailbox is None or is_ours(mailbox.address, own.address) else mailbox.address


def recipients_of(parsed: ParsedMail, own: Own) -> tuple[Mailbox, ...]:
    """Everyone whom To and Cc name, each once, the executive aside."""
    found: dict[str, Mailbox] = {}
    for name in ("to", "cc"):
        for value in parsed.raw(name):
            for mailbox in mailboxes(value):
                if not is_ours(mailbox.address, own.address):
                    found.setdefault(mailbox.address, mailbox)
    return tuple(found.values())


def to_event(
    mail: Mail,
    own: Own,
    verdict: Verdict,
    attachments: Sequence[Attachment] = (),
    raw: BlobHash | None = None,
    *,
    reply_to_known: bool = False,
    also: Sequence[str] = (),
) -> InboundEvent:
    """`reply_to_known`: the address that `reply_to_of` gives belongs to the roster; only then may answers go there.
    `also`: those of `recipients_of` who belong to it and get the answer too."""
    parsed, envelope = mail.parsed, mail.envelope
    mailbox = sender_of(parsed, envelope.mail_from)
    keys = (dedupe_key(mail, own),)
    bounce = dsn.read(parsed, envelope.mail_from, mailbox, own.id_domain)
    if bounce is not None:
        of = tuple(ref(i) for i in bounce.message_ids)
        return DeliveryReported(keys, of, bounce.outcome, bounce.detail, envelope.received_at)
    automatic = guards.automatic(parsed, envelope.mail_from, mailbox, own.address)
    body = _body(parsed, own)
    sender = _sender(mailbox, verdict, automatic, own)
    this = ref(_message_id(parsed) or f"<{keys[0].rpartition(':')[2]}@no-message-id>")
    reply_to = reply_to_of(parsed, own) if verdict.reply_to_trusted and reply_to_known else None
    others = _others(parsed, own, sender.address, reply_to)
    place = Place(PlaceKind.MAIL, _subject(parsed) or "(no subject)", others=others)
    before = _earlier(parsed)
    refs = tuple(ref(i) for i in reversed(before)) if verdict.chain_trusted else ()
    thread = Chain(NAME, refs, verdict.thread)
    to = reply_to or sender.address
    path = ReplyPath(
        thread="",
        address=to,
        ref=this,
        subject=_subject(parsed),
        chain=(*(ref(i) for i in before if ref(i) != this), this),
        also=tuple(a for a in also if a not in {to, sender.address}),
    )
    sent_at = _sent_at(parsed, envelope.received_at)
    addressed = _addressed(parsed, own)
    command = _command(body) if automatic is None and addressed is not Addressed.NOT else None
    if command is not None:
        return CommandInvoked(
            keys=keys, ref=this, thread=thread, place=place, sender=sender, name=command.name,
            arguments=command.arguments, sent_at=sent_at, reply_path=replace(path, also=()), live=False, raw=raw,
        )  # fmt: skip
    return MessageReceived(
        keys=keys, ref=this, thread=thread, place=place, sender=sender, body=body, sent_at=sent_at, addressed=addressed,
        reply_path=path, attachments=tuple(attachments), automatic=automatic, live=False, raw=raw,
        invited=tuple(other.address for other in others) if _invites(verdict) else (),
    )  # fmt: skip


def ref(message_id: str) -> str:
    return f"{NAME}:{message_id}"


def message_id_of(reference: str) -> str | None:
    """The Message-ID behind a ref of ours, with its brackets."""
    message_id = reference.removeprefix(f"{NAME}:")
    return message_id if _ID.fullmatch(message_id) else None


def dedupe_key(mail: Mail, own: Own) -> str:
    """Account, Message-ID and hash of the body: different mails under one id and one mail to two accounts stay apart,
    true copies (their trace headers differ, their text does not) are one. Without an id: sender, date and subject."""
    identity = _message_id(mail.parsed)
    if identity is None:
        parts = [mail.parsed.first(name) or "" for name in ("from", "date", "subject")]
        identity = "content:" + _digest("\0".join(parts).encode() if any(parts) else mail.raw)
    return f"{NAME}:{own.address}:{identity}:{_digest(_body_bytes(mail.raw))}"


def _body_bytes(raw: bytes) -> bytes:
    lines = fields.body(raw).replace(b"\r\n", b"\n").split(b"\n")
    return b"\n".join(line.rstrip() for line in lines).strip()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def _message_id(parsed: ParsedMail) -> str | None:
    for value in parsed.raw("message-id"):
        match = _ID.search(value)
        if match is not None and match[0].isprintable() and _encodable(match[0]):
            return match[0]
    return None


def _encodable(text: str) -> bool:
    return not any("\ud800" <= c <= "\udfff" for c in text)


def _earlier(parsed: ParsedMail) -> tuple[str, ...]:
    """Message-IDs of the conversation, oldest first. RFC 5322 s3.6.4: References, else In-Reply-To if it names one."""
    references = [i for value in parsed.raw("references") for i in _ID.findall(value)]
    parents = [i for value in parsed.raw("in-reply-to") for i in _ID.findall(value)]
    ordered = [i for i in dict.fromkeys(references) if _encodable(i)]
    for parent in parents[:1] if references else parents:
        if _encodable(parent):
            ordered = [i for i in ordered if i != parent] + [parent]
    return tuple(ordered[-MAX_REFS:])


def _subject(parsed: ParsedMail) -> str | None:
    subject = parsed.first("subject")
    return subject[:MAX_SUBJECT].rstrip() if subject else None


def _body(parsed: ParsedMail, own: Own) -> Body:
    from channels.email import quote  # its patterns take a while to compile, and no mail may ever come

    known = quote.Known((own.address,), own.id_domain)
    subject = parsed.first("subject")
    text = parsed.body.text
    if not text.strip():
        return Body(_subject(parsed) or "")  # all was said in the subject
    spans = quote.split(text, known, parsed.body.quoted, subject=subject)
    if parsed.alternative is not None and all(s.kind in {SpanKind.OWN, SpanKind.SIGNATURE} for s in spans):
        text = parsed.alternative.text
        spans = quote.split(text, known, parsed.alternative.quoted, subject=subject)
    return Body(text, _with_invite(parsed, text, spans))


def _with_invite(parsed: ParsedMail, text: str, spans: tuple[Span, ...]) -> tuple[Span, ...]:
    """An invitation's lines are the sender's words only if the sender is its organiser."""
    invite = parsed.invite
    if invite is None or not text.endswith(invite.summary):
        return spans
    sender = sender_of(parsed, "")
    own = sender is not None and sender.address == invite.organizer
    start = len(text) - len(invite.summary)
    cut = [Span(s.start, min(s.end, start), s.kind) for s in spans if s.start < start]
    return (*cut, Span(start, len(text), SpanKind.OWN if own else SpanKind.FORWARDED))


def _sender(mailbox: Mailbox | None, verdict: Verdict, automatic: str | None, own: Own) -> Sender:
    if mailbox is None:
        return Sender("unknown", "", Nature.ANONYMOUS, Proof.NONE)
    nature = Nature.PERSON if automatic is None else Nature.BOT
    if is_ours(mailbox.address, own.address):
        nature = Nature.SELF
    note = verdict.note if verdict.proof is Proof.NONE else ""
    return Sender(mailbox.address, mailbox.name, nature, verdict.proof, note)


def _others(parsed: ParsedMail, own: Own, sender: str, reply_to: str | None) -> tuple[Sender, ...]:
    """Everyone else who reads along. Where answers go elsewhere, that reader counts too."""
    found = {mailbox.address: mailbox.name for mailbox in recipients_of(parsed, own)}
    if reply_to is not None:
        found = {reply_to: found.get(reply_to, "")} | found
    return tuple(
        Sender(address, name, Nature.PERSON, Proof.NONE) for address, name in found.items() if address != sender
    )[:MAX_OTHERS]


def _invites(verdict: Verdict) -> bool:
    """Whether the proof covers To and Cc: else who passes a mail on could write anybody into its thread."""
    return verdict.proof is not Proof.NONE and verdict.recipients_trusted


def _addressed(parsed: ParsedMail, own: Own) -> Addressed:
    """List mail is for the list unless it names the executive; everything else that arrives is for it."""
    named = any(
        is_ours(m.address, own.address) for name in ("to", "cc") for v in parsed.raw(name) for m in mailboxes(v)
    )
    return Addressed.NOT if guards.is_list(parsed) and not named else Addressed.DIRECT


def _command(body: Body) -> commands.ParsedCommand | None:
    """A command stands on the first own line; what follows it in a mail is not its argument."""
    lines = [line for line in body.own().splitlines() if line.strip()]
    return commands.typed(lines[0]) if lines else None


def _sent_at(parsed: ParsedMail, received_at: datetime) -> datetime:
    """The Date header where it can be true, else the time of receipt."""
    value = next(iter(parsed.raw("date")), "")
    date = parse_date(value)
    if date is None or abs(date - received_at) > MAX_SKEW:
        return received_at
    return min(date, received_at)
