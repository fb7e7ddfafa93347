"""Values that the other rooms see."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import NewType

from bot.files.wire import Reason

__all__ = ["BlobId", "Extracted", "Limits", "Picture", "Reason", "StoredBlob", "Unreadable"]

BlobId = NewType("BlobId", str)  # 64 lower-case hex digits: SHA-256 of the content

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class StoredBlob:
    """A blob that is durably on disk. `head` is its first bytes (4 KiB at most), for `sniff` without another read."""

    id: BlobId
    size: int
    head: bytes


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run of the child may use. Memory is address space, not resident memory."""

    input_bytes: int = 25 * MIB
    output_bytes: int = 8 * MIB
    memory_bytes: int = 768 * MIB
    cpu: timedelta = timedelta(seconds=20)
    wall: timedelta = timedelta(seconds=30)
    open_files: int = 32


@dataclass(frozen=True, slots=True)
class Extracted:
    """Text of a file. `pages` is None where the kind has none; `note` names what is missing or guessed."""

    text: str
    pages: int | None
    truncated: bool
    note: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture fit for the model: PNG or JPEG, no metadata, sides in pixels."""

    data: bytes
    media_type: str
    width: int
    height: int
    note: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The file gave nothing. `detail` is a sentence for its sender; `cause` is for the log."""

    reason: Reason
    detail: str
    cause: str = ""
