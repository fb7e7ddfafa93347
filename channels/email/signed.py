"""DKIM (RFC 6376) and SPF (RFC 7208) through kept libraries, with DNS handed in. Blocking; pure but for the resolver.

The libraries are imported when first needed: a daemon in local mode never holds them.
"""

from __future__ import annotations

import ipaddress
import logging
import warnings
from collections import Counter
from collections.abc import Sequence
from types import ModuleType
from typing import Any, cast

from bot.kernel.values import dataclass
from channels.email.fields import head
from channels.email.resolver import DnsFailure, Kind, Resolver

MAX_SIGNATURES = 3
_QUIET = logging.Logger("dkim", logging.CRITICAL + 1)  # what a stranger signed badly is no line in our log


@dataclass(frozen=True, slots=True)
class Signature:
    """The tags of one DKIM-Signature header that decisions need."""

    index: int
    domain: str
    headers: tuple[str, ...]
    partial: bool
    """`l=`: text may follow that nobody signed."""
    algorithm: str


def load() -> None:
    """Import what `signatures` needs: up to a tenth of a second, not to be spent on an event loop."""


def signatures(raw: bytes) -> tuple[Signature, ...]:
    """All DKIM-Signature headers that can be read, in order, unverified. Empty if the mail cannot be read."""
    import dkim
    import dkim.util

    try:
        headers, _ = dkim.rfc822_parse(head(raw) + b"\r\n\r\n")  # of the body it would make a list of lines
    except (dkim.DKIMException, ValueError, IndexError):
        return ()
    found: list[Signature] = []
    values = [value for name, value in headers if name.lower() == b"dkim-signature"]
    for index, value in enumerate(values):
        try:
            tags = dkim.util.parse_tag_value(value)
        except (dkim.util.InvalidTagValueList, ValueError, IndexError):
            continue
        text = {k.decode("ascii", "replace"): v.decode("ascii", "replace").strip() for k, v in tags.items()}
        names = tuple(n.strip().lower() for n in text.get("h", "").split(":") if n.strip())
        domain = text.get("d", "").lower().rstrip(".")
        found.append(Signature(index, domain, names, "l" in text, text.get("a", "").lower()))
    return tuple(found)


def covers(signature: Signature, name: str, fields: Sequence[tuple[str, str]]) -> bool:
    """Whether every occurrence of header `name` is signed (they are signed from the bottom up: RFC 6376 s5.4.2).
    True if there is none: then none was added."""
    present = Counter(field for field, _ in fields)[name]
    return present <= signature.headers.count(name)


def verifies(raw: bytes, signature: Signature, resolver: Resolver) -> bool:
    """Whether the signature is good. Raises `DnsFailure` when its key cannot be asked for."""
    import dkim
    import dkim.asn1
    import dkim.canonicalization
    import dkim.crypto
    import dkim.util

    if signature.algorithm != "rsa-sha256":  # RFC 8301 forbids rsa-sha1; ed25519 needs a library that is not here
        return False

    def key(name: bytes, timeout: float = 5) -> bytes | None:
        del timeout
        records = resolver.lookup(name.decode("ascii").rstrip("."), "TXT")
        return next((r.encode("ascii", "surrogateescape") for r in records if "p=" in r), None)

    try:
        return bool(dkim.DKIM(raw, logger=_QUIET).verify(signature.index, dnsfunc=key))
    except DnsFailure:
        raise
    except (
        dkim.DKIMException, dkim.asn1.ASN1FormatError, dkim.canonicalization.InvalidCanonicalizationPolicyError,
        dkim.crypto.DigestTooLargeError, dkim.crypto.UnparsableKeyError, dkim.util.InvalidTagValueList,
        ValueError, KeyError, IndexError, TypeError,
    ):  # fmt: skip
        return False


def spf_passes(ip: str, mail_from: str, helo: str, resolver: Resolver) -> bool:
    """Whether the domain of `mail_from` lets `ip` send for it. Raises `DnsFailure`.

    Addresses that are not of the open Internet prove nothing: the library lets all of 127/8 pass.
    """
    try:
        if not ipaddress.ip_address(ip).is_global:
            return False
    except ValueError:
        return False

    spf = _spf()
    evaluation: Any = spf.query

    class Query(evaluation):  # type: ignore[misc]
        """The library's evaluation over our resolver: its own takes a DNS that does not answer for an empty one."""

        def dns(self, name: str, qtype: str, cnames: object = None, ignore_void: bool = False) -> list[object]:
            del cnames
            answers = _spf_records(resolver, str(name).rstrip(".").lower(), qtype)
            if not answers and not ignore_void:
                self.void_lookups += 1
                if self.void_lookups > spf.MAX_VOID_LOOKUPS:
                    raise spf.PermError("too many look-ups without an answer")
            return answers

    try:
        result, _, _ = Query(i=ip, s=mail_from, h=helo or "unknown").check()
    except (AssertionError, ValueError, IndexError, KeyError, TypeError):
        return False
    return bool(result == "pass")


def _spf() -> ModuleType:
    """The library's source has an escape that Python warns of when it compiles it, which happens once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        import spf
    return cast(ModuleType, spf)


def _spf_records(resolver: Resolver, name: str, kind: str) -> list[object]:
    kinds: dict[str, Kind] = {"TXT": "TXT", "A": "A", "AAAA": "AAAA", "MX": "MX", "PTR": "PTR"}
    if kind not in kinds or not all(0 < len(label) < 64 for label in name.split(".")):
        return []
    records = resolver.lookup(name, kinds[kind])
    if kind == "TXT":
        return [(record.encode("ascii", "surrogateescape"),) for record in records]
    if kind == "MX":
        pairs = (record.partition(" ") for record in records)
        return [(int(priority), host) for priority, _, host in pairs if priority.isdigit() and host]
    return list(records)
