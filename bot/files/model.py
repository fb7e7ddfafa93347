"""Values that the other rooms see."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

from bot.files.wire import Reason
from bot.kernel.ids import BlobHash
from bot.kernel.values import dataclass

__all__ = ["Extracted", "KeptFile", "Limits", "Picture", "Reason", "Source", "StoredBlob", "Unreadable"]

Source: TypeAlias = bytes | Path
"""A file's content, or where it lies: then the child reads it and the daemon never holds it."""

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class StoredBlob:
    """A blob that is durably on disk. `head` is its first bytes (4 KiB at most), for `sniff` without another read."""

    id: BlobHash
    size: int
    head: bytes


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A blob whose bytes were checked. `sample` is what `sniff` needs of it: all of a small file, else its parts."""

    path: Path
    size: int
    sample: bytes


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run of the child may use. Memory is address space, not resident memory.

    `input_bytes` holds for parsers that take a file whole, `stream_bytes` for those that read it piece by piece.
    """

    input_bytes: int = 25 * MIB
    stream_bytes: int = 100 * MIB
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
