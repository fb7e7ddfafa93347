"""A body without some of its parts; whose words the rest is stays known. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.gateway.events import Body, Span
from bot.kernel.erasing import FORGOTTEN, without


def body_without(body: Body, spans: Sequence[tuple[int, int]]) -> Body:
    """`spans`: in order and apart from each other. What stands for a part counts as of whom the part began with."""
    kept = [replace(each, start=_moved(each.start, spans), end=_moved(each.end, spans)) for each in body.spans]
    return Body(without(body.text, spans), tuple(each for each in kept if _has_length(each)))


def _moved(position: int, spans: Sequence[tuple[int, int]]) -> int:
    """Where a position is afterwards; one within a part that goes is at the end of what stands for it."""
    shift = 0
    for start, end in spans:
        if position <= start:
            break
        if position < end:
            return start + shift + len(FORGOTTEN)
        shift += len(FORGOTTEN) - (end - start)
    return position + shift


def _has_length(span: Span) -> bool:
    return span.start < span.end
