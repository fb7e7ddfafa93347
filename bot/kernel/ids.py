"""Ids: 24 characters, sortable by creation time, safe in URLs, file names and mail addresses.

48 bits of milliseconds since 1970 and 72 random bits in Crockford's base 32, lower case. 24 characters fit the
tightest place an id has to travel in (Discord's `nonce`, at most 25).
"""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import NewType

PersonId = NewType("PersonId", str)
SessionId = NewType("SessionId", str)
TurnId = NewType("TurnId", str)
MessageId = NewType("MessageId", str)
InboxId = NewType("InboxId", str)
OutboxId = NewType("OutboxId", str)
TaskId = NewType("TaskId", str)
BootId = NewType("BootId", str)
ContentId = NewType("ContentId", str)
DocumentId = NewType("DocumentId", str)
SectionId = NewType("SectionId", str)
ChunkId = NewType("ChunkId", str)
ClaimId = NewType("ClaimId", str)
EvidenceId = NewType("EvidenceId", str)
ProposalId = NewType("ProposalId", str)
JobId = NewType("JobId", str)
BlobHash = NewType("BlobHash", str)
"""Lower-case SHA-256 of a file's bytes, 64 hexadecimal digits."""

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
LENGTH = 24


class _Last:
    """The newest id of this process, as a number."""

    value = 0


def new_id(now: datetime) -> str:
    """A fresh id. Ids of one process sort in the order in which they were made, also within a millisecond and when the
    clock is set back; between processes the order follows `now` (aware) to the millisecond."""
    value = max((int(now.timestamp() * 1000) << 72) | secrets.randbits(72), _Last.value + 1)
    _Last.value = value
    return "".join(ALPHABET[(value >> shift) & 31] for shift in range(115, -1, -5))
