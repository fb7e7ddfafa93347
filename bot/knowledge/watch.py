"""A folder whose files are offered as documents. Others may write there too, so each new or changed file waits for a
yes; a file that goes leaves its document alone."""

from __future__ import annotations

import asyncio
import logging
import os
import stat
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.files.blobs import BlobFolder, TooLarge
from bot.kernel.clock import Clock
from bot.kernel.errors import TransientError
from bot.kernel.values import dataclass
from bot.knowledge import store
from bot.knowledge.model import Document, Origin
from bot.knowledge.service import Bringing, Library
from bot.storage.database import Database

log = logging.getLogger(__name__)

MOST_FILES = 2_000
SETTLED = timedelta(seconds=5)
"""A file that changed less than so long ago may still be being written."""
_PIECE = 256 * 1024


@dataclass(frozen=True, slots=True)
class Seen:
    """A file as the folder shows it."""

    path: Path
    size: int
    changed: datetime


class Watcher:
    def __init__(
        self,
        folder: Path,
        audience: str,
        database: Database,
        library: Library,
        blobs: BlobFolder,
        clock: Clock,
        limit: int,
    ) -> None:
        """`limit`: bytes of the largest file that is taken."""
        self._folder = folder
        self._audience = audience
        self._database = database
        self._library = library
        self._blobs = blobs
        self._clock = clock
        self._limit = limit
        self._known: dict[Path, Seen] = {}

    async def look(self) -> list[Document]:
        """Take in what is new or changed since the last look. Returns the documents that came of it."""
        try:
            seen = await asyncio.to_thread(lambda: list(files(self._folder)))
        except OSError as error:
            raise TransientError(f"the watched folder cannot be read: {error.strerror or error}") from error
        now = self._clock.now()
        fresh = [each for each in seen if self._known.get(each.path) != each and now - each.changed >= SETTLED]
        newest = await self._database.read(store.watched) if fresh else {}
        taken: list[Document] = []
        for each in fresh:
            document = await self._take(each, newest.get(str(each.path)))
            self._known[each.path] = each
            if document is not None:
                taken.append(document)
        return taken

    async def _take(self, seen: Seen, before: Document | None) -> Document | None:
        try:
            blob = (await self._blobs.put_stream(_pieces(seen.path), self._limit)).id
        except TooLarge as error:
            log.warning("a watched file was not taken: %s", error.message)
            return None
        except OSError as error:
            log.warning("a watched file could not be read: %s", error.strerror)
            return None
        if before is not None and before.digest == blob:
            return None
        name = str(seen.path.relative_to(self._folder)).replace(os.sep, " - ")
        bringing = Bringing(None, Origin.WATCHED, self._audience, path=str(seen.path), dated=seen.changed)
        return await self._library.ingest(blob, name, bringing)


def files(folder: Path) -> Iterator[Seen]:
    """Plain files in the folder and below, no hidden ones, no links. Blocks. Raises OSError if the folder itself cannot
    be read."""
    os.scandir(folder).close()
    number = 0
    for root, below, names in os.walk(folder):
        below[:] = sorted(name for name in below if not name.startswith("."))
        for name in sorted(names):
            path = Path(root, name)
            try:
                found = path.lstat()
            except OSError:
                continue
            if name.startswith((".", "~$")) or not stat.S_ISREG(found.st_mode):
                continue
            number += 1
            if number > MOST_FILES:
                log.warning("only the first %d files of the watched folder are looked at", MOST_FILES)
                return
            yield Seen(path, found.st_size, datetime.fromtimestamp(found.st_mtime, UTC))


async def _pieces(path: Path) -> AsyncIterator[bytes]:
    """A link that was put in the file's place since is not followed."""
    descriptor = await asyncio.to_thread(os.open, path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        while piece := await asyncio.to_thread(os.read, descriptor, _PIECE):
            yield piece
    finally:
        os.close(descriptor)
