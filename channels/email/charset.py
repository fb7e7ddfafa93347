"""Bytes of unknown truth to text: declared charset, UTF-8, windows-1252, in this order. Pure; never raises.

Labels are read as mail is written, not as they are spelled: the WHATWG Encoding standard (section 4.2) reads gb2312 and
gbk as their superset gb18030, iso-8859-1 and us-ascii as windows-1252, shift_jis as what Windows calls cp932.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re

_READ_AS = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "gb_2312-80": "gb18030",
    "x-gbk": "gb18030",
    "cp936": "gb18030",
    "iso-8859-1": "cp1252",
    "iso8859-1": "cp1252",
    "latin1": "cp1252",
    "latin-1": "cp1252",
    "us-ascii": "utf-8",
    "ascii": "utf-8",
    "ansi_x3.4-1968": "utf-8",
    "shift_jis": "cp932",
    "shift-jis": "cp932",
    "sjis": "cp932",
    "x-sjis": "cp932",
    "windows-31j": "cp932",
    "ks_c_5601-1987": "cp949",
    "euc-kr": "cp949",
    "iso-8859-9": "cp1254",
    "iso-8859-11": "cp874",
    "tis-620": "cp874",
    "big5": "big5hkscs",
    "iso-8859-8-i": "iso-8859-8",
    "unicode-1-1-utf-7": "utf-7",
    "utf8": "utf-8",
    "unknown-8bit": "utf-8",
}

_NOT_CHARSETS = frozenset({"idna", "punycode", "undefined", "mbcs", "oem", "unicode_escape", "raw_unicode_escape"})
"""Python codecs that decode bytes but are no character set of any mail."""

_WORD = re.compile(r"=\?([^?\s]{1,64})\?([bBqQ])\?([^?]*)\?=")


def decode(data: bytes, declared: str | None = None) -> str:
    """Text of `data`; what cannot be decoded becomes U+FFFD. The result can always be encoded to UTF-8."""
    for name in (_codec(declared), "utf-8"):
        if name is not None:
            try:
                return well_formed(data.decode(name))
            except (LookupError, ValueError):
                continue
    name = _codec(declared)
    if name in {"cp932", "gb18030", "big5hkscs", "cp949", "euc_jp", "iso2022_jp"}:
        return well_formed(data.decode(name, "replace"))
    return data.decode("cp1252", "replace")


def decode_header(value: str) -> str:
    """A raw header value as one line of text: unfolded, encoded words decoded (RFC 2047).

    Adjacent words of one charset are joined as bytes first: senders cut within a character. `value` may hold
    surrogate escapes for bytes that were not ASCII.
    """
    parts: list[str] = []
    pending = b""
    charset = ""
    position = 0
    for match in _WORD.finditer(value):
        between = value[position : match.start()]
        word_charset = match[1].partition("*")[0].lower()
        adjacent = bool(pending) and not between.strip(" \t\r\n")
        if pending and not (adjacent and word_charset == charset):
            parts.append(decode(pending, charset))
            pending = b""
        if not adjacent:
            parts.append(_raw(between))
        charset = word_charset
        pending += _word_bytes(match[2], match[3])
        position = match.end()
    if pending:
        parts.append(decode(pending, charset))
    parts.append(_raw(value[position:]))
    return one_line("".join(parts))


def one_line(text: str) -> str:
    """`text` without line ends and controls, runs of blanks as one space."""
    cleaned = "".join(" " if c in "\t\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029" else c for c in text)
    cleaned = "".join(c for c in cleaned if c >= " " and not "\x7f" <= c <= "\x9f")
    return re.sub(r" {2,}", " ", cleaned).strip()


def well_formed(text: str) -> str:
    """`text` without lone surrogates, so that it can be stored."""
    return text.encode("utf-8", "replace").decode("utf-8") if _SURROGATES.search(text) else text


_SURROGATES = re.compile("[\ud800-\udfff]")


def escaped_bytes(value: str) -> bytes:
    """The bytes behind a string that the parser read as ASCII with surrogate escapes."""
    return value.encode("utf-8", "surrogateescape") if _only_escapes(value) else well_formed(value).encode("utf-8")


def _only_escapes(value: str) -> bool:
    return all("\udc80" <= c <= "\udcff" for c in _SURROGATES.findall(value))


def _raw(text: str) -> str:
    return decode(escaped_bytes(text)) if _SURROGATES.search(text) else text


def _codec(declared: str | None) -> str | None:
    if not declared:
        return None
    label = declared.strip().strip("'\"").lower()
    label = _READ_AS.get(label, label)
    try:
        info = codecs.lookup(label)
    except (LookupError, ValueError):
        return None
    if info.name.replace("-", "_") in _NOT_CHARSETS or not getattr(info, "_is_text_encoding", True):
        return None
    return info.name


def _word_bytes(kind: str, text: str) -> bytes:
    raw = escaped_bytes(text)
    if kind in "qQ":
        return binascii.a2b_qp(raw.replace(b"_", b" "), header=False)
    packed = re.sub(rb"[^A-Za-z0-9+/]", b"", raw)
    if len(packed) % 4 == 1:
        packed = packed[:-1]
    return base64.b64decode(packed + b"=" * (-len(packed) % 4))
