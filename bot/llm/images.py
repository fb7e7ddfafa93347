"""Images of a request: true type by first bytes, the provider's limits, a visible note for what is left out. Pure.

Shrinking is the business of whoever stores an image; here is the last gate before sending. Limits: the vision guide
of the Messages API (JPEG, PNG, GIF, WebP; 5 MB each as base64; 8,000 pixels a side, 2,000 with more than 20 images).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from bot.llm.model import Block, Image, Message, Text

MAX_IMAGES = 20
MAX_ENCODED = 5 * 1024 * 1024
MAX_SIDE = 8_000
MAX_TOTAL = 20_000_000
"""Bytes of all images together: as base64 they stay well within the request limit of 32 MB."""

NOT_AN_IMAGE = "[An image was left out: it is not a JPEG, PNG, GIF or WebP file.]"
TOO_LARGE = "[An image was left out: it is larger than 5 MB or 8,000 pixels a side.]"
TOO_MANY = "[An earlier image was left out: too many for one request.]"
REFUSED = "[An image was left out: the model could not read it.]"


def sniff(data: bytes) -> str | None:
    """The media type that the first bytes show, None if it is none of the four that the API takes."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def size(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels from the header; None if they cannot be read from it."""
    try:
        match sniff(data):
            case "image/png":
                width, height = struct.unpack(">II", data[16:24])
            case "image/gif":
                width, height = struct.unpack("<HH", data[6:10])
            case "image/webp":
                width, height = _webp(data)
            case "image/jpeg":
                width, height = _jpeg(data)
            case _:
                return None
    except (struct.error, IndexError, ValueError):
        return None
    return width, height


def _webp(data: bytes) -> tuple[int, int]:
    """Google's WebP container specification: VP8X, VP8L and VP8 chunks."""
    chunk = data[12:16]
    if chunk == b"VP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if chunk == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if chunk == b"VP8 ":
        width, height = struct.unpack("<HH", data[26:30])
        return width & 0x3FFF, height & 0x3FFF
    raise ValueError("unknown WebP chunk")


def _jpeg(data: bytes) -> tuple[int, int]:
    """ITU-T T.81 annex B: walk the segments to the frame header (SOF)."""
    at = 2
    while True:
        while data[at] == 0xFF and data[at + 1] == 0xFF:
            at += 1
        if data[at] != 0xFF:
            raise ValueError("no marker where one must be")
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 if 0xD0 <= marker <= 0xD9 or marker == 0x01 else 2 + int.from_bytes(data[at + 2 : at + 4], "big")


def checked(messages: Sequence[Message], at_most: int = MAX_IMAGES) -> tuple[Message, ...]:
    """`messages` with every image under its true type and within the limits; a note stands where one was taken out.

    With more than `at_most` images, or more than `MAX_TOTAL` bytes, the oldest go, down to half of the limit or to
    those of the last message, so that the next image does not move the cut again.
    """
    good = _each(messages, _one)
    found = [(index, len(block.data)) for index, block in _images(good)]
    if len(found) <= at_most and sum(length for _, length in found) <= MAX_TOTAL:
        return good
    newest = sum(index == len(good) - 1 for index, _ in found)
    keep = min(at_most, max(at_most // 2, newest))
    kept = total = 0
    for index, length in reversed(found):
        limit = MAX_TOTAL if index == len(good) - 1 else MAX_TOTAL // 2
        if kept == keep or total + length > limit:
            break
        kept, total = kept + 1, total + length
    drop = len(found) - kept
    numbers = iter(range(len(found)))
    return _each(good, lambda image: Text(TOO_MANY, image.cache) if next(numbers) < drop else image)


def without(messages: Sequence[Message], index: int | None) -> tuple[Message, ...]:
    """`messages` with a note in the place of image `index` (counted from 0), of every image if it is None."""
    numbers = iter(range(sum(1 for _ in _images(messages))))
    return _each(
        messages, lambda image: Text(REFUSED, image.cache) if next(numbers) == index or index is None else image
    )


def _one(image: Image) -> Block:
    media_type = sniff(image.data)
    if media_type is None:
        return Text(NOT_AN_IMAGE, image.cache)
    side = max(size(image.data) or (0, 0))
    if -(-len(image.data) // 3) * 4 > MAX_ENCODED or side > MAX_SIDE:
        return Text(TOO_LARGE, image.cache)
    return image if image.media_type == media_type else replace(image, media_type=media_type)


def _images(messages: Sequence[Message]) -> Iterator[tuple[int, Image]]:
    for index, message in enumerate(messages):
        for block in message.content:
            if isinstance(block, Image):
                yield index, block


def _each(messages: Sequence[Message], change: Callable[[Image], Block]) -> tuple[Message, ...]:
    return tuple(
        Message(message.role, tuple(change(block) if isinstance(block, Image) else block for block in message.content))
        if any(isinstance(block, Image) for block in message.content)
        else message
        for message in messages
    )
