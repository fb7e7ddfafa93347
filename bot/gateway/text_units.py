"""How text is counted and where it may be cut: UTF-16 units, grapheme clusters, columns. Pure."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Callable

_ZWJ = 0x200D
_PREPENDED = frozenset({*range(0x0600, 0x0606), 0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2, 0x0D4E, 0x110BD, 0x110CD})


def utf16_len(text: str) -> int:
    """Length in UTF-16 code units, as the Bot API counts messages and entities."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf16_span(text: str, offset: int, length: int) -> tuple[int, int] | None:
    """The code-point range of `text` that an offset and length in UTF-16 units name.

    None if the range does not lie inside the text or begins or ends within a surrogate pair.
    """
    if offset < 0 or length < 0:
        return None
    start = _index(text, offset)
    end = _index(text, offset + length)
    return None if start is None or end is None else (start, end)


def _index(text: str, units: int) -> int | None:
    if text.isascii():
        return units if units <= len(text) else None
    seen = 0
    for index, char in enumerate(text):
        if seen >= units:
            return index if seen == units else None
        seen += 2 if char > "\uffff" else 1
    return len(text) if seen == units else None


def is_boundary(text: str, index: int) -> bool:
    """Whether a cut before `text[index]` separates two grapheme clusters (UAX #29, extended clusters).

    Errs on the side of not cutting: whatever follows a zero-width joiner stays with it.
    """
    if index <= 0 or index >= len(text):
        return True
    before, after = text[index - 1], text[index]
    a, b = ord(before), ord(after)
    if a < 0x300 and b < 0x300:
        return not (a == 0x0D and b == 0x0A) and (a, b) != (0xAD, 0xAD)
    if _control(before) or _control(after):
        return True
    if _extends(after) or a == _ZWJ or a in _PREPENDED:
        return False
    if _regional(a) and _regional(b):
        start = index
        while start and _regional(ord(text[start - 1])):
            start -= 1
        return (index - start) % 2 == 0
    if unicodedata.combining(before) == 9 and unicodedata.category(after) == "Lo":
        return False  # a virama joins two consonants (GB9c)
    return not _hangul_joined(a, b)


def boundary_before(text: str, index: int) -> int:
    """The largest grapheme boundary that is not after `index`."""
    index = min(index, len(text))
    while index > 0 and not is_boundary(text, index):
        index -= 1
    return max(index, 0)


def graphemes(text: str) -> list[str]:
    """The grapheme clusters of `text`, in order; joined they are `text`."""
    cuts = [i for i in range(len(text) + 1) if is_boundary(text, i)]
    return [text[a:b] for a, b in itertools.pairwise(cuts)]


def columns(text: str) -> int:
    """Width in a monospace font: wide and full-width characters take two columns, marks and joined characters none
    (UAX #11; ambiguous counts as narrow)."""
    return sum(_cluster_columns(cluster) for cluster in ([*text] if text.isascii() else graphemes(text)))


def longest(count: int, fits: Callable[[int], bool]) -> int:
    """The largest n in 0..count for which `fits(n)`, which must be monotone; 0 needs no proof.

    Gallops, so that its cost follows the answer and not `count`. A result above 0 was tried and did fit.
    """
    good, probe = 0, min(1, count)
    while probe > good:
        if not fits(probe):
            break
        good, probe = probe, min(count, probe * 2)
    bad = probe
    while bad - good > 1:
        middle = (good + bad) // 2
        if fits(middle):
            good = middle
        else:
            bad = middle
    return good


def _cluster_columns(cluster: str) -> int:
    first = cluster[0]
    if _extends(first) or unicodedata.category(first) in ("Cc", "Cf"):
        return 0
    if unicodedata.east_asian_width(first) in ("W", "F") or "\ufe0f" in cluster or _regional(ord(first)):
        return 2
    return 1


def _control(char: str) -> bool:
    category = unicodedata.category(char)
    return category in ("Cc", "Zl", "Zp", "Cs") or (category == "Cf" and not _extends(char))


def _extends(char: str) -> bool:
    code = ord(char)
    if code < 0x300:
        return False
    return (
        unicodedata.category(char) in ("Mn", "Me", "Mc")
        or code in (_ZWJ, 0x200C, 0xFF9E, 0xFF9F)
        or 0x1F3FB <= code <= 0x1F3FF
        or 0xE0020 <= code <= 0xE007F
    )


def _regional(code: int) -> bool:
    return 0x1F1E6 <= code <= 0x1F1FF


def _hangul(code: int) -> str:
    if 0x1100 <= code <= 0x115F or 0xA960 <= code <= 0xA97C:
        return "L"
    if 0x1160 <= code <= 0x11A7 or 0xD7B0 <= code <= 0xD7C6:
        return "V"
    if 0x11A8 <= code <= 0x11FF or 0xD7CB <= code <= 0xD7FB:
        return "T"
    if 0xAC00 <= code <= 0xD7A3:
        return "LV" if (code - 0xAC00) % 28 == 0 else "LVT"
    return ""


_HANGUL_JOINS = {"L": ("L", "V", "LV", "LVT"), "LV": ("V", "T"), "V": ("V", "T"), "LVT": ("T",), "T": ("T",)}


def _hangul_joined(before: int, after: int) -> bool:
    return _hangul(after) in _HANGUL_JOINS.get(_hangul(before), ())
