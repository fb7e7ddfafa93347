"""Plain text of any charset: TXT, Markdown and their like. Also the decoding that other parsers share."""

from __future__ import annotations

import codecs
import re
from typing import BinaryIO

from bot.files.wire import Arguments, Fact, Output

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
         (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff\ud800-\udfff]")
PAGE_END = "\f"
"""Between pages, where the argument `page_ends` asks for it."""
_LINE_ENDS = re.compile("\r\n?|\x85|\u2028|\u2029")
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){3,}")
_ESCAPES = (b"\x1b$B", b"\x1b$@", b"\x1b(J")  # ISO-2022-JP, RFC 1468
# What a stranger may name: Python also knows codecs that are transformations (base64, zip, escapes), no charsets.
_ALLOWED_HINT = re.compile(r"(?:utf|iso|windows|cp|koi8|mac|big5|gb|euc|shift|sjis|us-ascii|ascii|latin|ks_c|hz|tis)")


def extract(file: BinaryIO, arguments: Arguments) -> Output:
    """Facts: `truncated`, `note`. Of a long file only the beginning is read."""
    head, goes_on = beginning(file, arguments)
    text, charset, guessed = decode(head, goes_on=goes_on)
    return finish(text, arguments, guess_note(charset) if guessed else "", cut=goes_on)


def beginning(file: BinaryIO, arguments: Arguments) -> tuple[bytes, bool]:
    """Enough bytes for `max_chars` in any charset, and whether the file goes on after them."""
    head = file.read(arguments["max_chars"] * 4 + 4096)
    return head, bool(file.read(1))


def guess_note(charset: str) -> str:
    return f"The character set was guessed ({charset})."


def decode(data: bytes, hint: str = "", *, goes_on: bool = False) -> tuple[str, str, bool]:
    """Text, charset, and whether that was a guess. A byte order mark wins, then `hint`, UTF-8, UTF-16 without a mark,
    ISO-2022-JP, Windows-1252 (as WHATWG Encoding takes Latin-1 labels), Latin-1, which takes anything.

    `goes_on`: these are the first bytes of more, and may end within a character.
    """

    def text(charset: str, errors: str = "strict") -> str:
        if not goes_on:
            return data.decode(charset, errors)
        return codecs.getincrementaldecoder(charset)(errors).decode(data)

    for mark, charset in _BOMS:
        if data.startswith(mark):
            return text(charset, "replace"), charset, False
    wanted = hint.strip().strip("'\"").lower()
    if wanted and _ALLOWED_HINT.match(wanted):
        try:
            return text(wanted), wanted, False
        except (LookupError, UnicodeError):
            pass  # unknown or untrue: the bytes decide
    candidates: list[tuple[str, bool]] = [("utf-8", False)]
    head = data[:4096]
    if head[1::2].count(0) > len(head) * 0.35:
        candidates.insert(0, ("utf-16-le", True))
    elif head[0::2].count(0) > len(head) * 0.35:
        candidates.insert(0, ("utf-16-be", True))
    if any(escape in data for escape in _ESCAPES):
        candidates.insert(0, ("iso2022_jp", True))
    for charset, guessed in [*candidates, ("cp1252", True)]:
        try:
            return text(charset), charset, guessed
        except UnicodeError:
            continue
    return data.decode("latin-1"), "latin-1", True


def finish(
    text: str, arguments: Arguments, note: str, *, cut: bool = False, pages: int | None = None, mark: str = ""
) -> Output:
    """Tidied text cut to `max_chars`, with the cut visible in it; `cut` says that the parser itself left some out, and
    `mark` in which words, if it knows better."""
    tidy = _LINE_ENDS.sub("\n", text)
    if arguments.get("page_ends") and pages is not None:
        tidy = _BLANK_LINES.sub("\n\n\n", _CONTROLS.sub(_page_end, tidy)).strip(" \t\n")
    else:
        tidy = _BLANK_LINES.sub("\n\n\n", _CONTROLS.sub("", tidy)).strip()
    most = arguments["max_chars"]
    truncated = cut or len(tidy) > most
    if truncated:
        usual = f"[cut here: the file goes on; this is its first {min(most, len(tidy)):,} characters]"
        tidy = tidy[:most].rstrip() + "\n\n" + (mark or usual)
    facts: dict[str, Fact] = {"truncated": truncated, "note": note or ("" if tidy else "The file holds no text.")}
    if pages is not None:
        facts["pages"] = pages
    return Output(facts, tidy.encode("utf-8", "replace"))


def _page_end(control: re.Match[str]) -> str:
    return control[0] if control[0] == PAGE_END else ""
