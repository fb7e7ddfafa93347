"""Entries of the audit as lines for people: when (local time), who, what in words. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from bot.audit.words import actor, sentence

_WIDEST = 24


def lines(entries: Sequence[Mapping[str, object]]) -> list[str]:
    """One line for each entry, in columns; texts indented below."""
    actors = [actor(str(entry["actor"])) for entry in entries]
    number = max((len(str(entry["id"])) for entry in entries), default=0)
    width = min(max(map(len, actors), default=0), _WIDEST)
    margin = " " * (number + 2)
    found: list[str] = []
    for entry, who in zip(entries, actors, strict=True):
        payload = entry["payload"]
        words = sentence(str(entry["type"]), payload if isinstance(payload, Mapping) else {})
        where = f"  [{entry['session']}]" if entry.get("session") else ""
        found.append(f"{entry['id']!s:>{number}}  {_local(str(entry['at']))}  {who:<{width}}  {words}{where}")
        text = entry.get("text")
        said = str(text).splitlines() if text else ["[erased]"] if entry.get("erased") else []
        found += [f"{margin}| {line}" for line in said]
    return found


def _local(at: str) -> str:
    return f"{datetime.fromisoformat(at).astimezone():%Y-%m-%d %H:%M:%S}"
