"""Names of attached files, as they are shown. Pure. A name is never a path: bytes are stored under their hash."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

MAX_NAME = 120
_SEPARATORS = re.compile(r"[/\\\u2044\u2215\u29f5\u29f8\uff0f\uff3c]")
_RESERVED = re.compile(r'[<>:"|?*]')


def clean(raw: str, fallback: str = "file") -> str:
    """The last component of `raw` without controls, direction marks, leading dots and reserved characters; at most
    120 characters with the extension kept; never empty."""
    visible = "".join(c for c in unicodedata.normalize("NFC", raw) if unicodedata.category(c) not in _INVISIBLE)
    parts = [part.strip(" .") for part in _SEPARATORS.split(visible)]
    name = _RESERVED.sub("_", next((part for part in reversed(parts) if part), ""))
    if not name:
        return fallback
    if len(name) > MAX_NAME:
        stem, dot, extension = name.rpartition(".")
        keep = f".{extension}" if dot and len(extension) <= 10 else ""
        name = (stem if keep else name)[: MAX_NAME - len(keep)].rstrip(" .") + keep
    return name


def distinct(names: Iterable[str]) -> tuple[str, ...]:
    """The same names in the same order, later equal ones (case aside) numbered: `a.txt`, `a (2).txt`."""
    taken: set[str] = set()
    result: list[str] = []
    for name in names:
        stem, dot, extension = name.rpartition(".")
        if not stem:
            stem, dot, extension = name, "", ""
        shown, number = name, 1
        while shown.casefold() in taken:
            number += 1
            shown = f"{stem} ({number}){dot}{extension}"
        taken.add(shown.casefold())
        result.append(shown)
    return tuple(result)


_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
