"""Where the socket is, and how to name it when its path is longer than the kernel takes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bot.kernel.errors import PermanentError

NAME = "control.sock"
MAX_PATH = 107
"""Bytes of `sun_path` without its final zero (unix(7))."""
_DESCRIPTORS = Path("/proc/self/fd")


def socket_path(data_dir: Path) -> Path:
    return data_dir / NAME


@contextmanager
def short_name(path: Path) -> Iterator[str]:
    """A name for `path` that fits into a socket address, good within the block: longer ones lead through the open
    folder's descriptor. Raises `PermanentError` where the system has no such names, FileNotFoundError without a
    folder."""
    if len(os.fsencode(path)) <= MAX_PATH:
        yield str(path)
        return
    if not _DESCRIPTORS.is_dir():
        raise PermanentError(
            f"{path} is too long for a socket ({MAX_PATH} bytes at most): choose a shorter OPENEXECUTIVE_DATA_DIR"
        )
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield str(_DESCRIPTORS / str(folder) / path.name)
    finally:
        os.close(folder)
