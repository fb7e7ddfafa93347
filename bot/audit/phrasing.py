"""Small parts of sentences about entries of the audit. Pure."""

from __future__ import annotations

from collections.abc import Mapping

Payload = Mapping[str, object]


def count(number: object, what: str, many: str | None = None) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {many or what + 's'}"


def length(values: object) -> int:
    return len(values) if isinstance(values, list) else 0


def plain(value: object) -> str:
    return str(value).replace("_", " ")


def short(identity: object) -> str:
    """An id as people and commands name things: by how it ends."""
    return str(identity)[-6:]


def dollars(millionths: object) -> str:
    return f"{int(str(millionths)) / 1_000_000:.2f} US dollars"
