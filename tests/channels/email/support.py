"""What the mail tests share: mails as bytes, a resolver of fixed records, a signing domain, a roster that refuses."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from email.utils import format_datetime

import dkim
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from bot.gateway.channel import Accepted, Cursor
from bot.gateway.events import CommandInvoked, InboundEvent, MessageReceived, Proof
from channels.email import mapping, mime
from channels.email.mapping import Own
from channels.email.proof import Envelope, Via
from channels.email.resolver import DnsFailure, Kind
from tests.channels.inbox import MemoryInbox
from tests.channels.support import START

OWN = Own("executive@bot.example")


def mail(body: str | bytes = "Hello.", **headers: str | Sequence[str]) -> bytes:
    """A mail with CRLF line ends. Header names: `reply_to` is Reply-To; a list gives the header several times; an empty
    string leaves a default one out."""
    fields: dict[str, str | Sequence[str]] = {
        "from": "Ann <ann@corp.example>",
        "to": OWN.address,
        "subject": "Plans",
        "date": format_datetime(START),
        "message_id": "<1@corp.example>",
    }
    fields.update(headers)
    lines = []
    for name, value in fields.items():
        for one in [value] if isinstance(value, str) else value:
            if one:
                lines.append(f"{name.replace('_', '-').title()}: {one}".encode("utf-8", "surrogateescape"))
    content = body.encode() if isinstance(body, str) else body
    content = content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    return b"\r\n".join([*lines, b"", content]) + b"\r\n"


def envelope(
    mail_from: str = "ann@corp.example",
    peer: str = "127.0.0.1",
    recipient: str = OWN.address,
    at: datetime = START,
    via: Via = Via.ANYBODY,
) -> Envelope:
    return Envelope(peer, "client.example", mail_from, (recipient,), at, via)


def read(raw: bytes, mail_from: str = "ann@corp.example") -> mapping.Mail:
    return mapping.Mail(mime.parse(raw), raw, envelope(mail_from))


class Records:
    """A resolver over fixed records. A name in `broken` gets no answer."""

    def __init__(self, records: Mapping[tuple[str, Kind], Sequence[str]], broken: Iterable[str] = ()) -> None:
        self._records = records
        self._broken = frozenset(broken)
        self.asked: list[str] = []

    def lookup(self, name: str, kind: Kind) -> Sequence[str]:
        self.asked.append(name)
        if name in self._broken or "*" in self._broken:
            raise DnsFailure("no answer")
        return self._records.get((name, kind), ())


class Domain:
    """A domain that signs its mail and publishes DKIM, DMARC and SPF."""

    def __init__(self, name: str = "corp.example", ip: str = "198.51.99.7") -> None:
        self.name = name
        self.ip = ip
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
        public = key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        self.records: dict[tuple[str, Kind], Sequence[str]] = {
            (f"s1._domainkey.{name}", "TXT"): [f"v=DKIM1; k=rsa; p={base64.b64encode(public).decode()}"],
            (f"_dmarc.{name}", "TXT"): ["v=DMARC1; p=reject"],
            (name, "TXT"): [f"v=spf1 ip4:{ip} -all"],
        }

    def sign(self, raw: bytes, *headers: str, length: bool = False) -> bytes:
        """`headers`: which are signed; default: those that a careful server signs, each as often as it occurs."""
        names = [h.encode() for h in headers] or [
            name
            for name, _ in dkim.rfc822_parse(raw)[0]
            if name.lower()
            in {b"from", b"to", b"subject", b"date", b"message-id", b"references", b"in-reply-to", b"reply-to"}
        ]
        line = dkim.DKIM(raw).sign(
            b"s1", self.name.encode(), self._pem, include_headers=[n.lower() for n in names], length=length
        )
        return bytes(line) + raw


class Roster(MemoryInbox):
    """Refuses whoever is not on the roster or not proven, as intake does."""

    async def accept(self, events: Sequence[InboundEvent], cursor: Cursor | None = None) -> Sequence[Accepted]:
        answers = list(await super().accept(events, cursor))
        for index, event in enumerate(events):
            if isinstance(event, MessageReceived | CommandInvoked):
                known = await self.is_known(event.sender.address)
                if answers[index] is Accepted.NEW and (not known or event.sender.proof is Proof.NONE):
                    answers[index] = Accepted.REFUSED
                    self.events.remove(event)
                    self.turned_away.append(event)
        return answers

    def __init__(self, people: Iterable[str] | None = None) -> None:
        super().__init__(people)
        self.turned_away: list[InboundEvent] = []
