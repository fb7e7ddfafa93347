"""Half characters: a platform's JSON may hold one half of a surrogate pair, which no encoding can store. Pure."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass, replace
from enum import StrEnum
from typing import Any

from bot.gateway.events import InboundEvent

_HALF = re.compile("[\ud800-\udfff]")


def scrub(event: InboundEvent) -> InboundEvent:
    """The event with every half character replaced by U+FFFD. Lengths stay, so spans still fit."""
    clean: InboundEvent = _clean(event)
    return clean


def _clean(value: Any) -> Any:
    if isinstance(value, StrEnum):
        return value
    if isinstance(value, str):
        return _HALF.sub("\ufffd", value)
    if isinstance(value, tuple):
        return tuple(_clean(each) for each in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: _clean(getattr(value, field.name)) for field in fields(value)})
    return value
