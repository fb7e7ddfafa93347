"""Host and Origin as browsers and proxies write them, and the allow-list. Pure.

A page of a stranger whose name is pointed at 127.0.0.1 (DNS rebinding) still sends its own name as Host; a page that
posts across sites sends its own Origin. Neither stands in the list.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from bot.kernel.values import dataclass

_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>\d{1,5}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Allowed:
    """Names with any port, and names with one port, in lower case."""

    names: frozenset[str]
    exact: frozenset[str]

    @classmethod
    def of(cls, hosts: Iterable[str]) -> Allowed:
        """From the settings: "name" allows every port of it, "name:443" one."""
        listed = [host.lower() for host in hosts]
        exact = {host for host in listed if _split(host)[1] is not None}
        return cls(frozenset(set(listed) - exact), frozenset(exact))

    def host(self, header: str) -> bool:
        """Whether a Host header names this server: loopback by any name and port, or a listed host."""
        name, port = _split(header.lower())
        if name is None:
            return False
        return is_loopback_name(name) or name in self.names or f"{name}:{port}" in self.exact

    def origin(self, header: str) -> bool:
        """Whether an Origin header (RFC 6454 s7) is a page of this server's own. "null" is nobody's."""
        try:
            parts = urlsplit(header)
            port = parts.port
        except ValueError:
            return False
        if parts.scheme not in ("http", "https") or parts.path or parts.query or parts.fragment or "@" in parts.netloc:
            return False
        written = parts.netloc if port is not None else f"{parts.netloc}:{443 if parts.scheme == 'https' else 80}"
        return self.host(written)


def asker(peer: str, forwarded: str | None) -> str:
    """The network address that asks, to count its tries: of a proxy on this machine, the one that it names last in
    `X-Forwarded-For`; nobody else's word is taken for it."""
    if forwarded and is_loopback_address(peer):
        return forwarded.rpartition(",")[2].strip()
    return peer


def is_loopback_name(name: str) -> bool:
    if name.rstrip(".") == "localhost":
        return True
    return is_loopback_address(name.strip("[]"))


def is_loopback_address(text: str) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return address.is_loopback or (mapped is not None and mapped.is_loopback)


def _split(header: str) -> tuple[str | None, str | None]:
    match = _HOST.fullmatch(header)
    if match is None:
        return None, None
    return match["name"], match["port"]
