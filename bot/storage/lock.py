"""One daemon to a data folder."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bot.kernel.errors import PermanentError


class FolderInUseError(PermanentError):
    """Another process holds the data folder."""


@contextmanager
def hold(data_dir: Path) -> Iterator[None]:
    """Hold the folder (made with mode 0700 if missing) until the block ends; the kernel lets go if we die.

    Raises `FolderInUseError`, and `PermanentError` for a folder that cannot be made or written."""
    try:
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        data_dir.chmod(0o700)
        descriptor = os.open(data_dir / "daemon.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise PermanentError(
            f"{data_dir} cannot be the data folder: {error.strerror or error}; choose another with "
            "OPENEXECUTIVE_DATA_DIR"
        ) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            pid = os.pread(descriptor, 32, 0).decode(errors="replace").strip() or "unknown"
            raise FolderInUseError(
                f"{data_dir} is in use by another daemon (process {pid}): stop it first, or give this one a folder "
                "of its own with OPENEXECUTIVE_DATA_DIR"
            ) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)
