"""Authentication-Results (RFC 8601) of a server that we trust. Pure.

Anybody can write such a header. Believed are only those with the configured authserv-id, and of these only the topmost
unbroken group: a server adds its results above what it received, so what stands lower came with the mail.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot.kernel.values import dataclass
from channels.email.charset import one_line

_MAX_VALUE = 4_000


@dataclass(frozen=True, slots=True)
class Results:
    """What the trusted server found."""

    dmarc_pass: bool
    from_domain: str
    """The domain that `dmarc` speaks of; empty if it names none."""
    spf_mail_from: str
    """Address or domain of an SPF pass; empty without one."""


def read(fields: Sequence[tuple[str, str]], authserv_id: str) -> Results | None:
    """`fields`: (lower-case name, raw value) in order. None if there is no trusted header."""
    group: list[str] = []
    for name, value in fields:
        if name == "authentication-results" and _id_of(value) == authserv_id.lower():
            group.append(one_line(value))
        elif group:
            break
    if not group:
        return None
    dmarc: list[tuple[str, str]] = []
    spf = ""
    for value in group:
        for method, result, properties in _parse(value):
            if method == "dmarc":
                dmarc.append((result, properties.get(("header", "from"), "").lower().rstrip(".")))
            elif method == "spf" and result == "pass":
                spf = properties.get(("smtp", "mailfrom"), "").lower()
    passed = len(dmarc) == 1 and dmarc[0][0] == "pass"
    return Results(passed, dmarc[0][1] if passed else "", spf)


def _id_of(value: str) -> str:
    """The authserv-id: the first token, before any `;`; comments are refused there."""
    token = one_line(value).partition(";")[0].split()
    return token[0].lower() if token else ""


def _parse(value: str) -> list[tuple[str, str, dict[tuple[str, str], str]]]:
    """(method, result, {(type, property): value}) of each entry; nothing if the header is malformed anywhere."""
    import authres

    if len(value) > _MAX_VALUE:
        return []
    try:
        header = authres.all_features().parse_value(value)
    except (authres.AuthResError, ValueError, TypeError, AttributeError, IndexError, RecursionError):
        return []
    entries = []
    for result in header.results:
        properties = {(str(p.type).lower(), str(p.name).lower()): str(p.value) for p in result.properties}
        entries.append((str(result.method).lower(), str(result.result).lower(), properties))
    return entries
