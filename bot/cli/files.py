"""Files that a command hands to the daemon: put into its own folder, and named by their hash. A path would have to be
readable by the daemon, which need not see what its user sees."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from bot.kernel.errors import PermanentError

if TYPE_CHECKING:
    from bot.files.model import StoredBlob

_PIECE = 256 * 1024


async def stored(data_dir: Path, file: Path, limit: int) -> StoredBlob:
    """Put a file where the daemon keeps files. Raises `PermanentError`."""
    from bot.files.blobs import BlobFolder

    async def pieces() -> AsyncIterator[bytes]:
        with file.open("rb") as opened:
            while piece := opened.read(_PIECE):
                yield piece

    try:
        return await BlobFolder(data_dir / "blobs").put_stream(pieces(), limit)
    except OSError as error:
        raise PermanentError(f"{file} cannot be taken in: {error.strerror or error}") from error
