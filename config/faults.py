"""What is wrong with settings, in words for the person who mends them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

_KEY_SHAPES = re.compile(r"sk-[A-Za-z0-9_\-]{6,}|\d{5,}:[A-Za-z0-9_\-]{8,}|[A-Za-z0-9+/_\-=]{20,}", re.ASCII)


class Kind(StrEnum):
    DEFAULT = "default"
    FILE = "file"
    ENVIRONMENT = "environment"
    SECRET_FILE = "secret file"  # noqa: S105 - the kind's name


@dataclass(frozen=True, slots=True)
class Source:
    """Where a value came from: its kind, and the file or the environment variable."""

    kind: Kind
    where: str

    def __str__(self) -> str:
        match self.kind:
            case Kind.DEFAULT:
                return "default"
            case Kind.ENVIRONMENT:
                return f"environment variable {self.where}"
            case Kind.FILE | Kind.SECRET_FILE:
                return self.where


DEFAULT = Source(Kind.DEFAULT, "")


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault (or warning). `where`: file, environment variable or secret file; `key`: dotted, if one is concerned;
    `given`: what stood there, never for secrets; `allowed`: what may stand there."""

    where: str
    key: str | None
    problem: str
    given: str | None = None
    allowed: str | None = None

    def __str__(self) -> str:
        lines = [f"{self.key or self.where}: {self.problem}"]
        if self.key is not None and self.where:
            lines.append(f"  in: {self.where}")
        if self.given is not None:
            lines.append(f"  given: {self.given}")
        if self.allowed is not None:
            lines.append(f"  allowed: {self.allowed}")
        return "\n".join(_printable(line) for line in lines)


class SettingsError(Exception):
    """Settings cannot be used. `faults` are all of them; the message lists them, and holds no secret."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        count = len(self.faults)
        head = "one fault in the settings" if count == 1 else f"{count} faults in the settings"
        super().__init__(head + "\n\n" + "\n\n".join(str(fault) for fault in self.faults))


def shown(value: object, secrets: Iterable[str]) -> str | None:
    """`value` as it may be printed: scalars only, cut at 60 characters, and nothing that is or looks like a key
    (people paste keys into the wrong line)."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            text = quoted = str(value)
        case str():
            text, quoted = value, json.dumps(_cut(value), ensure_ascii=False)
        case _:
            return None
    if _KEY_SHAPES.search(text) or any(secret and secret in text for secret in secrets):
        return None
    return _cut(quoted)


def _printable(text: str) -> str:
    """Without what a terminal would obey or cannot show: names of keys and variables come from outside too."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _cut(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"
