"""What a button carries, so that nobody can make one up from what stands in the file.

The row of the outbox names the showing; what the platform gets, and what comes back with a press, has a code behind it
(HMAC-SHA-256 over the whole name, with a key of the installation), added when the message leaves. Pure.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import replace

from bot.gateway.operations import Ask, OutboundOp
from bot.kernel.values import dataclass

PREFIX = "ledger:"
_CODE_BYTES = 12
"""96 bits, 16 characters: with the name before it, 50 of the 64 bytes that the tightest platform takes."""


@dataclass(frozen=True, slots=True)
class Sealer:
    key: bytes

    def seal(self, name: str) -> str:
        return f"{name}.{self._code(name)}"

    def opened(self, sealed: str) -> str | None:
        """The name; None if nobody here sealed it."""
        name, _, code = sealed.rpartition(".")
        return name if name and hmac.compare_digest(code.encode(), self._code(name).encode()) else None

    def dress(self, op: OutboundOp) -> OutboundOp:
        """As it leaves."""
        if not isinstance(op, Ask):
            return op
        choices = (
            replace(each, token=self.seal(each.token)) if each.token.startswith(PREFIX) else each
            for each in op.choices
        )  # fmt: skip
        return replace(op, choices=tuple(choices))

    def _code(self, name: str) -> str:
        digest = hmac.new(self.key, name.encode(), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest[:_CODE_BYTES]).decode()
