"""Reply tokens: an address of ours that proves who answers, and in which thread. Pure.

Each mail of ours asks for answers at `local+t-<thread>-<mac>@domain`. The code binds the thread to the one address that
the mail went to, so it proves nothing under another From, and nothing about another thread. Whoever reads the mail can
answer in the reader's name, as with every capability: hence a mail goes to one reader only (see `EmailChannel.plan`),
and what changes people, rooms or approvals asks for more than this.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Iterable
from dataclasses import field

from bot.kernel.ids import ALPHABET, LENGTH
from bot.kernel.values import dataclass
from channels.email.addresses import ascii_domain, base

MAC_BYTES = 10
"""80 bits: base 32 writes them as 16 characters without padding."""
MAX_LOCAL_PART = 64
"""Octets; RFC 5321 s4.5.3.1.1."""
_TAG = re.compile(rf"t-([{ALPHABET}]{{{LENGTH}}})-([a-z2-7]{{16}})")


@dataclass(frozen=True, slots=True)
class Tokens:
    own: str
    """The executive's address, lower case, without a tag."""
    channel: str
    """What thread keys begin with."""
    secret: bytes = field(repr=False)

    def address(self, thread: str, recipient: str) -> str | None:
        """The address at which `recipient` answers in the thread of this key; None for a key that is none of ours, or
        where the own address leaves no room for it."""
        channel, _, thread_id = thread.partition(":")
        if channel != self.channel or not re.fullmatch(rf"[{ALPHABET}]{{{LENGTH}}}", thread_id):
            return None
        local, _, domain = self.own.rpartition("@")
        tagged = f"{local}+t-{thread_id}-{self._mac(thread_id, recipient)}"
        return f"{tagged}@{domain}" if len(tagged.encode()) <= MAX_LOCAL_PART else None

    def thread(self, addresses: Iterable[str], sender: str) -> str | None:
        """The key of the thread whose token is among the addresses that a mail came to, if it was made for `sender`
        (lower case). Other tags, and tokens of others, are no tokens."""
        for address in addresses:
            own, tag = base(address)
            match = _TAG.fullmatch(tag)
            if own == self.own and match and hmac.compare_digest(match[2], self._mac(match[1], sender)):
                return f"{self.channel}:{match[1]}"
        return None

    def _mac(self, thread_id: str, address: str) -> str:
        local, _, domain = address.lower().rpartition("@")
        text = "\0".join(("reply token", self.own, thread_id, local, ascii_domain(domain) or domain))
        digest = hmac.digest(self.secret, text.encode("utf-8", "surrogateescape"), hashlib.sha256)
        return base64.b32encode(digest[:MAC_BYTES]).decode("ascii").lower()
