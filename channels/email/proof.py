"""Whether the sender is who the From header says. A decision over its inputs; DNS is handed in and blocks.

DMARC proves a domain, not a person: a pass counts only for domains in `per_user_from`, whose server lets nobody write
under another's address, and only by a signature or an envelope of exactly that domain. Against replays: a signature
with `l=`, without Date, or over a Date more than five days off proves nothing, and References, In-Reply-To and Reply-To
count only where they are signed too. Two From headers, or one that can be read in two ways, prove nothing.

The other proof is the thread's reply token (`tokens`), come back under the From that it was made for. It proves the
person in that thread and nothing else of the mail: References and Reply-To do not count.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import Enum

from bot.gateway.events import Proof
from bot.kernel.values import dataclass
from channels.email import dmarc, fields, results, signed
from channels.email.addresses import ascii_domain, mailboxes, only_mailbox, parse_one
from channels.email.dates import parse_date
from channels.email.resolver import DnsFailure, Resolver
from channels.email.tokens import Tokens

MAX_TOKEN_HEADERS = 20
_RECIPIENT_HEADERS = ("to", "cc", "delivered-to", "x-original-to", "envelope-to")
MAX_SKEW = timedelta(days=5)
_MUST_SIGN = ("from", "date", "subject")
LOCAL_DOMAIN = "localhost"


@dataclass(frozen=True, slots=True)
class Rules:
    """From settings."""

    local_mode: bool
    """`@localhost` over loopback is believed (only where the server is reached from this machine alone)."""
    authserv_id: str | None
    """Set: this server's word is taken instead of checking here."""
    per_user_from: frozenset[str]
    tokens: Tokens | None = None
    """None: no mail of ours carries a reply token."""


class Via(Enum):
    """Who handed the mail to us."""

    ANYBODY = "anybody"
    TRUSTED = "trusted"  # a mail server of our own, over SMTP
    MAILBOX = "mailbox"  # the server of our own mailbox: its envelope is what it wrote into Return-Path


@dataclass(frozen=True, slots=True)
class Envelope:
    """What is known of the delivery."""

    peer: str
    """IP address of the other end; empty for a mailbox."""
    helo: str
    mail_from: str
    """Empty or `<>` for a null return path."""
    recipients: tuple[str, ...]
    """The addresses of ours that it was for; none for a mailbox."""
    received_at: datetime
    via: Via = Via.ANYBODY


@dataclass(frozen=True, slots=True)
class Verdict:
    proof: Proof
    note: str
    """Why, in plain words, for logs."""
    chain_trusted: bool = False
    """References and In-Reply-To are the sender's own."""
    reply_to_trusted: bool = False
    recipients_trusted: bool = False
    """To and Cc are the sender's own."""
    thread: str | None = None
    """Key of the thread whose reply token came back."""


def unproven(note: str) -> Verdict:
    return Verdict(Proof.NONE, note)


def needs_dns(raw: bytes, envelope: Envelope, rules: Rules) -> bool:
    """Whether `check` will ask DNS: then it belongs into a thread."""
    return isinstance(_prepare(raw, envelope, rules), _Open) and rules.authserv_id is None


def check(raw: bytes, envelope: Envelope, rules: Rules, resolver: Resolver) -> Verdict:
    """Raises `DnsFailure` if DNS could not be asked and nothing else proves the sender: ask again later."""
    prepared = _prepare(raw, envelope, rules)
    if isinstance(prepared, Verdict):
        return prepared
    if rules.authserv_id is not None:
        return _by_results(raw, envelope, prepared, rules.authserv_id)
    return _by_checking(raw, envelope, prepared, resolver)


@dataclass(frozen=True, slots=True)
class _Open:
    """A mail whose sender can be proven, and what is known so far."""

    address: str
    domain: str
    fields: fields.Fields


def _prepare(raw: bytes, envelope: Envelope, rules: Rules) -> Verdict | _Open:
    if not fields.is_plain(raw):
        return unproven("the header can be read in two ways")
    present = fields.split(raw)
    froms = [value for name, value in present if name == "from"]
    sender = only_mailbox(froms[0]) if len(froms) == 1 else None
    if sender is None:
        return unproven("there is not exactly one readable From")
    names = [name for name, _ in present]
    if sender.domain == LOCAL_DOMAIN:
        return _local(names, envelope, rules)
    domain = ascii_domain(sender.domain)
    thread = _token_thread(present, sender.address, envelope, rules.tokens)
    if thread is None and (domain is None or domain not in rules.per_user_from):
        return unproven(f"{sender.domain} is not in per_user_from: its mail proves a domain, not a person")
    date = parse_date(next((value for name, value in present if name == "date"), ""))
    if names.count("date") != 1 or date is None or abs(date - envelope.received_at) > MAX_SKEW:
        return unproven("the Date is missing or more than five days off")
    if thread is not None:
        return Verdict(Proof.TOKEN, "the thread's reply token", recipients_trusted=True, thread=thread)
    return _Open(sender.address, domain or "", present)


def _token_thread(present: fields.Fields, sender: str, envelope: Envelope, tokens: Tokens | None) -> str | None:
    """Servers in between may have taken the tag off the envelope; the headers still show it."""
    if tokens is None:
        return None
    values = [value for name, value in present if name in _RECIPIENT_HEADERS][:MAX_TOKEN_HEADERS]
    shown = [mailbox.address for value in values if "+t-" in value.lower() for mailbox in mailboxes(value)]
    return tokens.thread((*envelope.recipients, *shown), sender)


def _local(names: list[str], envelope: Envelope, rules: Rules) -> Verdict:
    if not rules.local_mode:
        return unproven("local mode is off")
    try:
        if not ipaddress.ip_address(envelope.peer).is_loopback:
            return unproven("not from this machine")
    except ValueError:
        return unproven("not from this machine")
    if "received" in names:
        return unproven("it was forwarded: local mode takes only mail that is written on this machine")
    return Verdict(Proof.LOCAL, "local mode", chain_trusted=True, reply_to_trusted=True, recipients_trusted=True)


def _by_checking(raw: bytes, envelope: Envelope, mail: _Open, resolver: Resolver) -> Verdict:
    if not dmarc.is_published(mail.domain, resolver):
        return unproven(f"{mail.domain} publishes no DMARC policy")
    failure: DnsFailure | None = None
    for signature in _usable(raw, mail):
        try:
            if signed.verifies(raw, signature, resolver):
                return _by_signature(signature, mail)
        except DnsFailure as error:
            failure = error
    if _envelope_is(envelope.mail_from, mail):
        try:
            if signed.spf_passes(envelope.peer, envelope.mail_from, envelope.helo, resolver):
                return _by_envelope("SPF, aligned")
        except DnsFailure as error:
            failure = error
    if failure is not None:
        raise failure
    return unproven("neither an aligned signature nor SPF holds")


def _by_results(raw: bytes, envelope: Envelope, mail: _Open, authserv_id: str) -> Verdict:
    if envelope.via is Via.ANYBODY:
        return unproven("it came from none of smtp.trusted_peers, so its Authentication-Results are anybody's")
    found = results.read(mail.fields, authserv_id)
    if found is None:
        return unproven(f"no Authentication-Results of {authserv_id}")
    if not found.dmarc_pass or found.from_domain not in {"", mail.domain}:
        return unproven(f"{authserv_id} saw no DMARC pass for {mail.domain}")
    exact = [s for s in signed.signatures(raw) if s.domain == mail.domain]
    if any(s.partial for s in exact):
        return unproven("a signature covers only a part of the mail")
    if _spf_says(found.spf_mail_from, envelope, mail):
        return _by_envelope(f"{authserv_id}: DMARC, SPF")
    usable = _usable(raw, mail)
    if not usable:
        return unproven("no signature of the From domain over From, Date and Subject")
    return _by_signature(usable[0], mail)


def _usable(raw: bytes, mail: _Open) -> tuple[signed.Signature, ...]:
    """Signatures of exactly the From domain, over the whole body and the headers that replays would change."""
    return tuple(
        s for s in signed.signatures(raw)
        if s.domain == mail.domain and not s.partial and "from" in s.headers
        and all(signed.covers(s, name, mail.fields) for name in _MUST_SIGN)
    )[: signed.MAX_SIGNATURES]  # fmt: skip


def _by_signature(signature: signed.Signature, mail: _Open) -> Verdict:
    chain, reply_to, recipients = (
        all(signed.covers(signature, name, mail.fields) for name in names)
        for names in (("references", "in-reply-to"), ("reply-to",), ("to", "cc"))
    )
    return Verdict(Proof.DOMAIN, "DKIM, aligned", chain, reply_to, recipients)


def _by_envelope(note: str) -> Verdict:
    return Verdict(Proof.DOMAIN, note, chain_trusted=True, reply_to_trusted=True, recipients_trusted=True)


def _spf_says(passed: str, envelope: Envelope, mail: _Open) -> bool:
    """Whether the SPF pass is of the From address itself. A mailbox's Return-Path is believed only in so far as the
    result repeats it."""
    if "@" in passed or envelope.via is Via.MAILBOX:
        return parse_one(passed) == mail.address
    return passed == mail.domain and _envelope_is(envelope.mail_from, mail)


def _envelope_is(mail_from: str, mail: _Open) -> bool:
    """SPF speaks of the envelope: for a person, it must be theirs."""
    return parse_one(mail_from.strip("<>")) == mail.address


def is_among(peer: str, networks: Sequence[str]) -> bool:
    """Whether the other end stands in one of the networks (CIDR); an IPv4 address in IPv6 form counts as itself."""
    try:
        address = ipaddress.ip_address(peer)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return any(address in ipaddress.ip_network(network) for network in networks)
