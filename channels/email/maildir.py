"""Delivery into a Maildir, exactly once per outbox row. Blocking: call it in a thread.

The file's name comes from the row's key alone, so that one row is one file however often it is sent, and so that
`find` can say for certain whether it is there. Layout and the way through `tmp` are those of Maildir (qmail's
maildir(5)): any mail program reads it.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.ids import OutboxId
from bot.kernel.values import dataclass

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Maildir:
    root: Path
    host: str
    """Last part of the file names."""

    @property
    def sent(self) -> Path:
        """Subfolder with copies (Maildir++)."""
        return self.root / ".Sent"

    def deliver(self, key: OutboxId, content: bytes) -> datetime:
        """Write and sync, and put a copy into the folder `.Sent`; return when it was first there. Sending again changes
        nothing.

        Raises `TransientError` when the disk cannot take it now.
        """
        name = self._name(key)
        try:
            self._create()
            if (found := self.find(key)) is not None:
                self._copy(name)
                return found
            temporary = self.root / "tmp" / name
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(content.replace(b"\r\n", b"\n"))
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.root / "new" / name)
            _sync(self.root / "new")
            self._copy(name)
            return _time_of(self.root / "new" / name)
        except OSError as error:
            raise TransientError(f"the Maildir {self.root} cannot be written: {error.strerror}") from error

    def find(self, key: OutboxId) -> datetime | None:
        """When the mail of `key` was delivered; None if it is not there. Mail that a reader moved counts as there: in
        `cur` under the same name with flags, or in a subfolder (Maildir++: a folder whose name begins with a dot)."""
        name = self._name(key)
        for path in self._places(name):
            try:
                return _time_of(path)
            except (FileNotFoundError, NotADirectoryError):
                continue
        return None

    def _places(self, name: str) -> Iterator[Path]:
        """Where the mail may be, likely places first. The folder of copies only grows, and is not listed."""
        yield self.root / "new" / name
        yield self.sent / "cur" / f"{name}:2,S"
        for folder in (self.root, *sorted(self.root.glob(".*/"))):
            yield folder / "new" / name
            yield folder / "cur" / name
            if folder != self.sent:
                yield from (folder / "cur").glob(f"{name}:*")

    def remove(self, key: OutboxId) -> bool:
        """Take the mail of `key` away. Whether it was there."""
        name = self._name(key)
        removed = False
        for folder in (self.root, *sorted(self.root.glob(".*/"))):
            for path in (folder / "new" / name, folder / "cur" / name, *(folder / "cur").glob(f"{name}:*")):
                removed = path.exists() or removed
                path.unlink(missing_ok=True)
        return removed

    def _copy(self, name: str) -> None:
        """The same file under a second name, seen and in `.Sent`: it costs no space and never comes before the mail, so
        that `find` may take it for the mail. Best effort."""
        copy = self.sent / "cur" / f"{name}:2,S"
        try:
            for folder in (self.sent, *(self.sent / part for part in ("tmp", "new", "cur"))):
                folder.mkdir(mode=0o700, exist_ok=True)
            if not copy.exists():
                copy.hardlink_to(self.root / "new" / name)
        except FileNotFoundError:
            pass  # a reader has moved the mail already
        except OSError as error:
            log.warning("an answer was delivered, but not copied to %s: %s", self.sent, error.strerror)

    def _name(self, key: OutboxId) -> str:
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", key):
            raise PermanentError("this row's key cannot be a file name")
        return f"{key}.{self.host}"

    def _create(self) -> None:
        for folder in ("tmp", "new", "cur"):
            path = self.root / folder
            if not path.is_dir():
                path.mkdir(mode=0o700, parents=True, exist_ok=True)
                _sync(self.root)


def host_part(hostname: str) -> str:
    """A host name as Maildir wants it in a file name: no slash, no colon, no dot in front."""
    return re.sub(r"[^A-Za-z0-9.-]", "_", hostname).lstrip(".") or "localhost"


def _time_of(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
