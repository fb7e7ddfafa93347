"""The settings in force, each with where it came from. Secrets are told as set or not set."""

from __future__ import annotations

from dataclasses import dataclass

from config import keys
from config.document import toml_value
from config.faults import Source
from config.loader import Loaded


@dataclass(frozen=True, slots=True)
class Effective:
    """One setting: dotted key, its value as text (never a secret's), its source."""

    key: str
    value: str
    source: Source


def effective(loaded: Loaded) -> tuple[Effective, ...]:
    """Every setting in the order of the schema."""
    found: list[Effective] = []
    for path, key, value in keys.leaves(loaded.settings):
        if value is None:
            text = "not set"
        elif key.secret:
            text = "set"
        else:
            text = toml_value(value)
        found.append(Effective(keys.dotted(path), text, loaded.source(keys.dotted(path))))
    return tuple(found)


def render(loaded: Loaded, *, changed_only: bool = False) -> str:
    """One line per setting: `key = value  (source)`; `changed_only` leaves the defaults out."""
    lines = [
        f"{item.key} = {item.value}  ({item.source})"
        for item in effective(loaded)
        if not (changed_only and str(item.source) == "default")
    ]
    return "\n".join(lines) + "\n" if lines else ""
