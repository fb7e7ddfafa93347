"""DMARC (RFC 7489): whether the owner of a From domain publishes a policy. Blocking, DNS handed in.

Alignment needs no code here: `proof` accepts only identities of exactly the From domain, which every alignment mode
accepts too.
"""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from channels.email.resolver import Resolver

if TYPE_CHECKING:
    from publicsuffix2 import PublicSuffixList


def is_published(domain: str, resolver: Resolver) -> bool:
    """Whether mail `From: ...@domain` is under a policy (s6.6.3: the domain's, else its organisation's; two records
    count as none). Raises `DnsFailure`."""
    for name in dict.fromkeys((domain, organisation(domain))):
        records = [
            r for r in resolver.lookup(f"_dmarc.{name}", "TXT") if r.split(";")[0].replace(" ", "") == "v=DMARC1"
        ]
        if records:
            return len(records) == 1
    return False


def organisation(domain: str) -> str:
    """The domain below the public suffix: of `mail.example.co.uk` it is `example.co.uk`."""
    found = str(_suffixes().get_public_suffix(domain) or domain)
    return found if "." in found else ".".join(domain.split(".")[-2:])  # a top level that the list does not know


@cache
def _suffixes() -> PublicSuffixList:
    """The list that ships with authheaders: newer than the one inside publicsuffix2. Found without importing that
    package, which would load much more."""
    from publicsuffix2 import PublicSuffixList

    spec = importlib.util.find_spec("authheaders")
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    files = [path for path in (Path(folder) / "public_suffix_list.txt" for folder in folders) if path.is_file()]
    if not files:
        return PublicSuffixList()
    with files[0].open(encoding="utf-8") as lines:
        return PublicSuffixList(lines)
