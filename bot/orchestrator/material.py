"""Fetching and reading the files of a turn's messages."""

from __future__ import annotations

from collections.abc import Sequence

from bot.files.names import clean_names
from bot.files.service import Files
from bot.gateway.channel import Channel
from bot.gateway.events import Attachment
from bot.kernel.errors import PermanentError
from bot.kernel.values import dataclass
from bot.llm.model import Image
from bot.sessions.transcript import File

HANDED_OVER = "handed over to be kept among the company's documents: search_knowledge finds it there once it may"
MOST_FILES = 20
"""Files of one message that are read."""


@dataclass(frozen=True, slots=True)
class Material:
    files: tuple[File, ...]
    pictures: tuple[Image, ...]


NOTHING = Material((), ())


async def gather(files: Files, channel: Channel, attachments: Sequence[Attachment]) -> Material:
    """Get each file's bytes and what the model may see of it. What cannot be had is noted, never fatal.

    Raises `TransientError` if a file may be had later.
    """
    shown: list[File] = []
    pictures: list[Image] = []
    names = clean_names([attachment.name for attachment in attachments])
    for number, (attachment, name) in enumerate(zip(attachments, names, strict=True)):
        if number >= MOST_FILES:
            shown.append(
                File(name, attachment.declared_type, None, None, f"only the first {MOST_FILES} files are read")
            )
            continue
        file, picture = await _one(files, channel, attachment, name)
        shown.append(file)
        if picture is not None:
            pictures.append(picture)
    return Material(tuple(shown), tuple(pictures))


async def fetched(channel: Channel, attachments: Sequence[Attachment]) -> tuple[File, ...]:
    """Get each file's bytes, and look at nothing of them. Raises like `gather`."""
    found: list[File] = []
    for attachment, name in zip(attachments, clean_names([each.name for each in attachments]), strict=True):
        if attachment.fault is not None:
            found.append(File(name, attachment.declared_type, None, None, attachment.fault))
            continue
        try:
            blob = attachment.blob or await channel.fetch(attachment)
        except PermanentError as error:
            found.append(File(name, attachment.declared_type, None, None, error.message))
        else:
            found.append(File(name, attachment.declared_type, blob, None, HANDED_OVER))
    return tuple(found)


async def _one(files: Files, channel: Channel, attachment: Attachment, name: str) -> tuple[File, Image | None]:
    if attachment.fault is not None:
        return File(name, attachment.declared_type, attachment.blob, None, attachment.fault), None
    try:
        blob = attachment.blob or await channel.fetch(attachment)
        seen = await files.show(blob, attachment.name, attachment.declared_type)
    except PermanentError as error:
        return File(name, attachment.declared_type, None, None, error.message), None
    picture = Image(seen.picture.media_type, seen.picture.data) if seen.picture is not None else None
    note = seen.note or ("shown as a picture" if picture is not None else None)
    return File(name, seen.media_type, blob, seen.text, note), picture
