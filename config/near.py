"""What somebody meant who wrote a name wrongly."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, among: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The most similar of the names; None if none is similar enough (`cutoff`: 1 is equal)."""
    from difflib import get_close_matches  # mostly everything is written right

    return next(iter(get_close_matches(word, list(among), n=1, cutoff=cutoff)), None)
