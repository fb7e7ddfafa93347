"""The file store that channels are handed, and what the model is shown of a file."""

from __future__ import annotations

from collections.abc import AsyncIterator

from bot.files.blobs import BlobFolder
from bot.files.extract import Extractor
from bot.files.images import Shrinker
from bot.files.model import Extracted, Picture, Unreadable
from bot.files.sniff import Kind, sniff
from bot.kernel.ids import BlobHash
from bot.kernel.values import dataclass


@dataclass(frozen=True, slots=True)
class Shown:
    """A file as the model may see it: text or a picture, or a note that says why neither."""

    media_type: str
    text: str | None = None
    picture: Picture | None = None
    note: str | None = None


class Files:
    """Implements `bot.gateway.channel.FileStore`."""

    def __init__(self, blobs: BlobFolder, extractor: Extractor, shrinker: Shrinker) -> None:
        self._blobs = blobs
        self._extractor = extractor
        self._shrinker = shrinker

    async def put(self, chunks: AsyncIterator[bytes] | bytes, limit: int) -> BlobHash:
        if isinstance(chunks, bytes):
            return (await self._blobs.put(chunks, limit)).id
        return (await self._blobs.put_stream(chunks, limit)).id

    async def read(self, blob: BlobHash) -> bytes:
        return await self._blobs.get(blob)

    async def show(self, blob: BlobHash, name: str, declared_type: str) -> Shown:
        """Read a stored file for the model. Raises `PermanentError` only if the blob is gone."""
        kept = await self._blobs.inspect(blob)
        sniffed = sniff(kept.sample, declared_type, name)
        if sniffed.is_web_page_instead:
            return Shown(sniffed.media_type, note="A web page came instead of the file; it was not read.")
        if sniffed.kind is Kind.IMAGE:
            picture = await self._shrinker.shrink(kept.path, sniffed)
            if isinstance(picture, Unreadable):
                return Shown(sniffed.media_type, note=picture.detail)
            return Shown(sniffed.media_type, picture=picture, note=picture.note or None)
        text = await self._extractor.extract(kept.path, sniffed)
        match text:
            case Extracted():
                return Shown(sniffed.media_type, text=text.text, note=text.note or None)
            case Unreadable():
                return Shown(sniffed.media_type, note=text.detail)
