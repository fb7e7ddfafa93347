"""Reading payloads: what is missing or of another kind is said to whoever asked. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from bot.kernel.errors import PermanentError
from bot.ledger.model import Payload

LONGEST_TEXT = 20_000
LONGEST_LINE = 300


class UnfitError(PermanentError):
    """The payload is not one of its class."""


def text_of(payload: Payload, name: str, longest: int = LONGEST_LINE) -> str:
    value = payload.get(name)
    if not isinstance(value, str) or not value.strip():
        raise UnfitError(f"{name.replace('_', ' ')} is missing")
    if len(value) > longest:
        raise UnfitError(f"{name.replace('_', ' ')} has more than {longest} characters")
    return value.strip()


def line_of(payload: Payload, name: str) -> str:
    value = text_of(payload, name)
    if any(not char.isprintable() for char in value):
        raise UnfitError(f"{name.replace('_', ' ')} holds a line break or another character that cannot be seen")
    return value


def number_of(payload: Payload, name: str) -> int:
    value = payload.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise UnfitError(f"{name.replace('_', ' ')} is missing")
    return value


def texts_of(payload: Payload, name: str) -> list[str]:
    value = payload.get(name, [])
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise UnfitError(f"{name.replace('_', ' ')} is no list of texts")
    return [str(each) for each in value]


def only(payload: Payload, values: Mapping[str, object]) -> Payload:
    """`values`, if the payload holds nothing besides them: what is not shown must not be there."""
    more = sorted(set(payload) - set(values))
    if more:
        raise UnfitError(f"it holds what this action does not know: {', '.join(more)}")
    return values
