"""DNS for sender proof: a small port, so that proof is a pure decision over its answers, and the real thing.

"There is no such record" and "nobody answered" are two facts: the first is an empty answer, the second an error.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Literal, Protocol

from bot.kernel.errors import TransientError

if TYPE_CHECKING:
    import dns.resolver

Kind = Literal["TXT", "A", "AAAA", "MX", "PTR"]

LOOKUP = timedelta(seconds=5)
BUDGET = timedelta(seconds=20)
"""For all look-ups of one mail together."""


class DnsFailure(TransientError):
    """No answer, or a server that failed: whether there is a record is not known."""


class Resolver(Protocol):
    def lookup(self, name: str, kind: Kind) -> Sequence[str]:
        """Records as text: TXT strings joined (bytes beyond ASCII as surrogate escapes), addresses, `priority host` for
        MX, host names without the final dot. Empty if there is none. Raises `DnsFailure`. Blocks: call it in a thread.
        """
        ...


class SystemResolver:
    """dnspython over the given servers, or the system's. One object per mail: it holds the time budget."""

    def __init__(self, nameservers: Sequence[tuple[str, int]], monotonic: Callable[[], float] = time.monotonic) -> None:
        self._nameservers = nameservers
        self._monotonic = monotonic
        self._deadline = monotonic() + BUDGET.total_seconds()
        self._resolver: dns.resolver.Resolver | None = None

    def lookup(self, name: str, kind: Kind) -> Sequence[str]:
        import dns.exception
        import dns.resolver

        left = min(self._deadline - self._monotonic(), LOOKUP.total_seconds())
        if left <= 0:
            raise DnsFailure("DNS took too long")
        try:
            answer = self._get().resolve(name, kind, lifetime=left, search=False)
        except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
            return ()
        except (
            dns.exception.Timeout,
            dns.resolver.NoNameservers,
            dns.resolver.NoResolverConfiguration,
            OSError,
        ) as error:
            raise DnsFailure(f"DNS gave no answer about {name}") from error
        except (dns.exception.DNSException, UnicodeError, ValueError):
            return ()  # the name itself is impossible
        return [_text(record.to_text() if kind != "TXT" else b"".join(record.strings)) for record in answer]

    def _get(self) -> dns.resolver.Resolver:
        import dns.nameserver
        import dns.resolver

        if self._resolver is None:
            resolver = dns.resolver.Resolver(configure=not self._nameservers)
            if self._nameservers:
                resolver.nameservers = [dns.nameserver.Do53Nameserver(host, port) for host, port in self._nameservers]
            self._resolver = resolver
        return self._resolver


def _text(value: str | bytes) -> str:
    return value.decode("ascii", "surrogateescape") if isinstance(value, bytes) else value.rstrip(".")


def split_nameserver(text: str) -> tuple[str, int]:
    """(address, port) of `9.9.9.9`, `127.0.0.1:5353`, `2620:fe::fe` or `[::1]:5353`; settings checked the form."""
    if text.startswith("["):
        host, _, port = text[1:].partition("]")
        return host, int(port.removeprefix(":") or 53)
    if text.count(":") == 1:
        host, _, port = text.partition(":")
        return host, int(port)
    return text, 53
