"""Cleaning of the file names that people see. Pure. A shown name is never a path: blobs are stored under their hash."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

MAX_CHARACTERS = 120
MAX_BYTES = 240  # common file systems allow 255 bytes of UTF-8 per name; room is left for a counter
FALLBACK = "file"

_LONGEST_EXTENSION = 16
_DOUBLE_EXTENSIONS = (".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst")
# The ASCII separators, and characters that look like them or turn into them under compatibility normalisation.
_SEPARATORS = re.compile(r"[/\\]")
_LOOKALIKES = re.compile("[⁄∕⟋⧸⧵⧹／＼﹨∖]")
# Reserved in Windows file names; the colon also opens an alternate data stream.
_RESERVED = re.compile(r'[<>:"|?*：]')
# Microsoft, "Naming Files, Paths, and Namespaces": these mean a device, with any extension or trailing spaces.
_DEVICE = re.compile(r"(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|COM[0-9¹²³]|LPT[0-9¹²³])\s*(?:\.|$)", re.IGNORECASE)
_JOINERS = "\u200c\u200d"  # needed by several scripts and by emoji families; invisible alone


def clean_name(raw: str, extension: str = "") -> str:
    """The name to show for `raw`: at most 120 characters and 240 UTF-8 bytes, one path component, never empty.

    Removed: directories, NUL and controls, bidirectional overrides and other invisible characters, leading dots,
    trailing dots and spaces. Made harmless: characters reserved by Windows and its device names. The extension is
    kept when the name is cut. `extension` (with its dot) is used only when nothing of the name is left.
    """
    text = "".join(filter(None, map(_visible, unicodedata.normalize("NFC", raw))))
    component = next((part for part in reversed(_SEPARATORS.split(text)) if part.strip(" ." + _JOINERS)), "")
    component = _RESERVED.sub("_", _LOOKALIKES.sub("_", component))
    component = _trimmed(re.sub(r" {2,}", " ", component))
    if not component:
        component = FALLBACK + extension
    if _DEVICE.match(component):
        component = "_" + component
    return shorten(component, MAX_CHARACTERS)


def clean_names(raws: Iterable[str]) -> list[str]:
    """Names for files that are listed together, in the same order, all different even where case is ignored.

    >>> clean_names(["a.txt", "x/A.txt"])
    ['a.txt', 'A (2).txt']
    """
    taken: set[str] = set()
    names: list[str] = []
    for raw in raws:
        name = first = clean_name(raw)
        number = 1
        while _folded(name) in taken:
            number += 1
            mark = f" ({number})"
            stem, extension = split_extension(first)
            name = shorten(stem, MAX_CHARACTERS - len(mark) - len(extension), len(mark) + len(extension.encode()))
            name += mark + extension
        taken.add(_folded(name))
        names.append(name)
    return names


def split_extension(name: str) -> tuple[str, str]:
    """Stem and extension (with its dot, or empty). A leading dot and a very long tail are no extension."""
    for double in _DOUBLE_EXTENSIONS:
        if name.lower().endswith(double) and len(name) > len(double):
            return name[: -len(double)], name[-len(double) :]
    stem, dot, tail = name.rpartition(".")
    if not stem or not tail or len(tail) >= _LONGEST_EXTENSION or " " in tail:
        return name, ""
    return stem, dot + tail


def shorten(name: str, characters: int, reserved_bytes: int = 0) -> str:
    """`name` within the limits, cut in its stem and never between a letter and its combining marks."""
    room = MAX_BYTES - reserved_bytes
    if len(name) <= characters and len(name.encode()) <= room:
        return name
    stem, extension = split_extension(name)
    end = min(len(stem), characters - len(extension))
    room -= len(extension.encode())
    while end > 1 and len(stem[:end].encode()) > room:
        end -= 1
    while end > 1 and end < len(stem) and (unicodedata.combining(stem[end]) or stem[end] in _JOINERS):
        end -= 1
    return (_trimmed(stem[:end]) or FALLBACK) + extension


def _visible(character: str) -> str:
    """The character, a space for a separator of lines or words, or nothing for what has no shape of its own."""
    if character in _JOINERS:
        return character
    category = unicodedata.category(character)
    if category in {"Zs", "Zl", "Zp"} or character in "\t\r\n":
        return " "
    return "" if category in {"Cc", "Cf", "Cs", "Co", "Cn"} else character


def _trimmed(component: str) -> str:
    return component.lstrip(" ." + _JOINERS).rstrip(" ." + _JOINERS)


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()
