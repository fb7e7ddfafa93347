"""Pictures made fit for the model, in the child. The daemon never decodes one."""

from __future__ import annotations

from dataclasses import replace

from bot.files.model import Picture, Source, Unreadable
from bot.files.sandbox import Job, Sandbox
from bot.files.sniff import Kind, Sniffed, sniff
from bot.files.wire import Reason
from bot.kernel.values import dataclass

# Messages API, "Vision": 5 MB per image counted on its base64 text, 8,000 px a side; above 1,568 px on the long edge
# the model's side scales it down anyway.
MAX_BASE64 = 5 * 1024 * 1024
MAX_SIDE = 8000
LONG_EDGE = 1568
MAX_BYTES = MAX_BASE64 // 4 * 3 - 1024
PNG_BYTES = 1_500_000
MAX_PIXELS = 50_000_000

_JOB = Job("bot.files.parsers.image:shrink", ("PIL",))


@dataclass(frozen=True, slots=True)
class Shrinker:
    """`long_edge` in pixels, `max_pixels` of the picture as it comes (a JPEG may have eight times as many)."""

    sandbox: Sandbox
    long_edge: int = LONG_EDGE
    max_pixels: int = MAX_PIXELS
    max_bytes: int = MAX_BYTES

    async def shrink(self, data: Source, sniffed: Sniffed) -> Picture | Unreadable:
        """A PNG or JPEG within the limits, or why there is none. What is no picture by its bytes is refused unread."""
        if sniffed.kind is not Kind.IMAGE:
            return Unreadable(Reason.UNSUPPORTED, "The file is not a picture.", sniffed.media_type)
        job = replace(
            _JOB,
            arguments={
                "long_edge": min(self.long_edge, MAX_SIDE),
                "max_pixels": self.max_pixels,
                "max_bytes": min(self.max_bytes, MAX_BYTES),
                "png_bytes": min(PNG_BYTES, self.max_bytes),
            },
        )
        output = await self.sandbox.run(job, data)
        if isinstance(output, Unreadable):
            return output
        width, height = output.facts.get("width"), output.facts.get("height")
        found = sniff(output.body).media_type
        # The child's word is checked where it is cheap: a parser taken over must not poison the history.
        if (
            found not in {"image/png", "image/jpeg"}
            or found != output.facts.get("media_type")
            or len(output.body) > MAX_BYTES
            or not (isinstance(width, int) and isinstance(height, int) and 0 < max(width, height) <= MAX_SIDE)
        ):
            return Unreadable(Reason.CRASHED, "The picture could not be read; it may be damaged.", "untrue answer")
        return Picture(output.body, found, width, height, str(output.facts.get("note", "")))
