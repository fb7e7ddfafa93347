"""How large the files of a data folder are. Blocking."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from bot.kernel.values import dataclass

PARTS = {
    "The store": ("openexecutive.db",),
    "Its write-ahead log": ("openexecutive.db-wal",),
    "Files that people sent": ("blobs",),
    "The index of meanings": ("vectors",),
    "Mail that was answered": ("maildir",),
}
"""What they are called, and where they are."""


@dataclass(frozen=True, slots=True)
class Size:
    name: str
    bytes: int
    files: int


def measured(data_dir: Path) -> list[Size]:
    """Of each part that is there."""
    found = []
    for name, paths in PARTS.items():
        sizes = [size for path in paths for size in _sizes(data_dir / path)]
        if sizes:
            found.append(Size(name, sum(sizes), len(sizes)))
    return found


def _sizes(path: Path) -> Iterator[int]:
    try:
        if not path.is_dir():
            yield path.stat().st_size
            return
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield from _sizes(Path(entry.path))
                else:
                    yield entry.stat(follow_symlinks=False).st_size
    except FileNotFoundError:  # it went while we looked
        return
