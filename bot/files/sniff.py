"""What a file is, told by its bytes. Pure; the name and the declared type only choose among kinds of plain text.

Signatures follow the WHATWG MIME Sniffing Standard where it has one, else the format's own specification.
"""

from __future__ import annotations

import codecs
import re
from enum import StrEnum

from bot.files.office import OLE_MAGIC, ole_type, zip_type
from bot.kernel.values import dataclass

TEXT_SAMPLE = 64 * 1024

# WHATWG MIME Sniffing s7.1, table "unknown type"; each is followed by a space or ">".
_HTML_TAGS = (
    b"<!doctype html", b"<html", b"<head", b"<script", b"<iframe", b"<h1", b"<div", b"<font", b"<table", b"<a",
    b"<style", b"<title", b"<b", b"<body", b"<br", b"<p", b"<meta", b"<svg", b"<!--",
)  # fmt: skip
_MAIL_FIELD = re.compile(rb"([A-Za-z][A-Za-z0-9-]*)[ \t]*:")
_MAIL_ORIGIN = {b"from", b"received", b"return-path", b"sender"}
_MAIL_FIELDS = _MAIL_ORIGIN | {
    b"to", b"cc", b"subject", b"date", b"message-id", b"mime-version", b"content-type", b"delivered-to", b"reply-to",
    b"dkim-signature", b"authentication-results", b"content-transfer-encoding", b"in-reply-to", b"references",
    b"arc-seal", b"arc-message-signature", b"x-mailer", b"list-id", b"user-agent",
}  # fmt: skip
_BINARY = bytes(set(range(0x20)) - set(b"\t\n\r\f\x1b"))
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
         (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip


class Kind(StrEnum):
    IMAGE = "image"
    DOCUMENT = "document"
    TEXT = "text"
    MAIL = "mail"
    AUDIO = "audio"
    VIDEO = "video"
    ARCHIVE = "archive"
    UNKNOWN = "unknown"


class Agreement(StrEnum):
    """How the declared media type relates to the bytes."""

    NOT_DECLARED = "not_declared"  # none, or one that says nothing (application/octet-stream)
    SAME = "same"
    SAME_KIND = "same_kind"  # declared WebP, is PNG: use what it is
    DIFFERENT = "different"  # declared PNG, is a web page: not what was asked for


@dataclass(frozen=True, slots=True)
class Sniffed:
    """`media_type` is lower-case and without parameters; `extension` has its dot."""

    media_type: str
    kind: Kind
    extension: str
    agreement: Agreement

    @property
    def is_web_page_instead(self) -> bool:
        """A web page came where another kind of file was declared: a sign-in or error page, never to be stored."""
        return self.media_type == "text/html" and self.agreement is Agreement.DIFFERENT


_TYPES: dict[str, tuple[Kind, str]] = {
    "image/png": (Kind.IMAGE, ".png"), "image/jpeg": (Kind.IMAGE, ".jpg"), "image/gif": (Kind.IMAGE, ".gif"),
    "image/webp": (Kind.IMAGE, ".webp"), "image/bmp": (Kind.IMAGE, ".bmp"), "image/tiff": (Kind.IMAGE, ".tiff"),
    "image/heic": (Kind.IMAGE, ".heic"), "image/avif": (Kind.IMAGE, ".avif"), "image/svg+xml": (Kind.IMAGE, ".svg"),
    "image/x-icon": (Kind.IMAGE, ".ico"),
    "application/pdf": (Kind.DOCUMENT, ".pdf"), "application/rtf": (Kind.DOCUMENT, ".rtf"),
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": (Kind.DOCUMENT, ".docx"),
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": (Kind.DOCUMENT, ".xlsx"),
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": (Kind.DOCUMENT, ".pptx"),
    "application/vnd.ms-word.document.macroenabled.12": (Kind.DOCUMENT, ".docm"),
    "application/vnd.ms-excel.sheet.macroenabled.12": (Kind.DOCUMENT, ".xlsm"),
    "application/vnd.ms-excel.sheet.binary.macroenabled.12": (Kind.DOCUMENT, ".xlsb"),
    "application/vnd.ms-powerpoint.presentation.macroenabled.12": (Kind.DOCUMENT, ".pptm"),
    "application/vnd.oasis.opendocument.text": (Kind.DOCUMENT, ".odt"),
    "application/vnd.oasis.opendocument.spreadsheet": (Kind.DOCUMENT, ".ods"),
    "application/vnd.oasis.opendocument.presentation": (Kind.DOCUMENT, ".odp"),
    "application/epub+zip": (Kind.DOCUMENT, ".epub"), "application/msword": (Kind.DOCUMENT, ".doc"),
    "application/vnd.ms-excel": (Kind.DOCUMENT, ".xls"), "application/vnd.ms-powerpoint": (Kind.DOCUMENT, ".ppt"),
    "application/x-encrypted-office": (Kind.DOCUMENT, ".bin"), "application/x-ole-storage": (Kind.DOCUMENT, ".bin"),
    "application/vnd.ms-outlook": (Kind.MAIL, ".msg"), "application/ms-tnef": (Kind.MAIL, ".dat"),
    "message/rfc822": (Kind.MAIL, ".eml"),
    "text/plain": (Kind.TEXT, ".txt"), "text/markdown": (Kind.TEXT, ".md"), "text/csv": (Kind.TEXT, ".csv"),
    "text/tab-separated-values": (Kind.TEXT, ".tsv"), "text/html": (Kind.TEXT, ".html"),
    "text/xml": (Kind.TEXT, ".xml"), "text/calendar": (Kind.TEXT, ".ics"), "text/vcard": (Kind.TEXT, ".vcf"),
    "application/json": (Kind.TEXT, ".json"),
    "audio/ogg": (Kind.AUDIO, ".ogg"), "audio/wav": (Kind.AUDIO, ".wav"), "audio/mpeg": (Kind.AUDIO, ".mp3"),
    "audio/mp4": (Kind.AUDIO, ".m4a"), "audio/flac": (Kind.AUDIO, ".flac"), "audio/amr": (Kind.AUDIO, ".amr"),
    "audio/aac": (Kind.AUDIO, ".aac"),
    "video/mp4": (Kind.VIDEO, ".mp4"), "video/ogg": (Kind.VIDEO, ".ogv"), "video/quicktime": (Kind.VIDEO, ".mov"),
    "video/webm": (Kind.VIDEO, ".webm"), "video/x-msvideo": (Kind.VIDEO, ".avi"),
    "application/zip": (Kind.ARCHIVE, ".zip"), "application/gzip": (Kind.ARCHIVE, ".gz"),
    "application/x-7z-compressed": (Kind.ARCHIVE, ".7z"), "application/vnd.rar": (Kind.ARCHIVE, ".rar"),
    "application/octet-stream": (Kind.UNKNOWN, ".bin"),
}  # fmt: skip
_ALIASES = {
    "image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg", "image/heif": "image/heic", "audio/mp3": "audio/mpeg",
    "audio/x-wav": "audio/wav", "audio/wave": "audio/wav", "audio/x-m4a": "audio/mp4", "audio/opus": "audio/ogg",
    "application/ogg": "audio/ogg", "application/x-pdf": "application/pdf", "application/xml": "text/xml",
    "application/xhtml+xml": "text/html", "text/x-markdown": "text/markdown", "application/csv": "text/csv",
    "application/vnd.ms-tnef": "application/ms-tnef", "application/x-zip-compressed": "application/zip",
    "application/eml": "message/rfc822", "text/rtf": "application/rtf",
}  # fmt: skip
_SILENT = {"", "application/octet-stream", "binary/octet-stream", "application/x-unknown", "application/download"}

_PREFIXES: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"), (b"II*\0", "image/tiff"), (b"MM\0*", "image/tiff"), (b"\0\0\1\0", "image/x-icon"),
    (b"{\\rtf", "application/rtf"), (b"\x78\x9f\x3e\x22", "application/ms-tnef"),  # [MS-OXTNEF] s2.1.3.1
    (b"fLaC", "audio/flac"), (b"#!AMR", "audio/amr"), (b"ID3", "audio/mpeg"), (b"\x1a\x45\xdf\xa3", "video/webm"),
    (b"\x1f\x8b", "application/gzip"), (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"), (b"\x7fELF", "application/octet-stream"),
)  # fmt: skip
_TEXT_NAMES = {".md": "text/markdown", ".markdown": "text/markdown", ".csv": "text/csv",
               ".tsv": "text/tab-separated-values", ".json": "application/json"}  # fmt: skip
_TEXT_HINTS = frozenset(_TEXT_NAMES.values())


def sniff(data: bytes, declared: str = "", name: str = "") -> Sniffed:
    """The type of a whole file. `declared` is the platform's media type, parameters and all; `name` as it came.

    Give the whole content where it is at hand: zip-based formats list their members at the end.
    """
    hint = normal_type(declared)
    found = _binary_type(data) or _text_type(data, hint, name) or "application/octet-stream"
    kind, extension = _TYPES[found]
    return Sniffed(found, kind, extension, _agreement(hint, found, kind))


def normal_type(declared: str) -> str:
    """A declared media type in lower case, without parameters, aliases resolved: `Image/JPG; x=1` is `image/jpeg`."""
    plain = declared.partition(";")[0].strip().lower()
    return _ALIASES.get(plain, plain)


def _agreement(hint: str, found: str, kind: Kind) -> Agreement:
    if hint in _SILENT:
        return Agreement.NOT_DECLARED
    if hint == found:
        return Agreement.SAME
    known = _TYPES.get(hint)
    same = known[0] is kind if known is not None else hint.partition("/")[0] == kind.value
    return Agreement.SAME_KIND if same else Agreement.DIFFERENT


def _binary_type(data: bytes) -> str | None:
    for prefix, media_type in _PREFIXES:
        if data.startswith(prefix):
            return media_type
    if data.startswith(b"BM") and len(data) >= 26 and data[6:10] == b"\0\0\0\0":
        return "image/bmp"
    if data.startswith(b"RIFF"):
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}.get(data[8:12])
    if data.startswith(b"OggS"):
        head = data[:512]
        return "video/ogg" if b"\x80theora" in head else "audio/ogg"
    if data[4:8] == b"ftyp":
        return _iso_media(data)
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return zip_type(data)
    if data.startswith(OLE_MAGIC):
        return ole_type(data)
    if _is_pdf(data):
        return "application/pdf"
    return _audio_frame(data)


def _is_pdf(data: bytes) -> bool:
    """Readers accept up to 1,024 bytes before the header (ISO 32000-1 annex H, note 13)."""
    if data.startswith(b"%PDF-"):
        return True
    return re.search(rb"[\r\n\0]%PDF-[12]\.\d", data[:1024]) is not None and b"endobj" in data


def _iso_media(data: bytes) -> str:
    """ISO 14496-12 s4.3: major brand, then (from byte 16) compatible brands."""
    major = data[8:12]
    brands = {major, *(data[at : at + 4] for at in range(16, min(int.from_bytes(data[:4], "big"), 128), 4))}
    if brands & {b"avif", b"avis"}:
        return "image/avif"
    if brands & {b"heic", b"heix", b"hevc", b"mif1", b"msf1"}:
        return "image/heic"
    if major in {b"M4A ", b"M4B ", b"F4A "}:
        return "audio/mp4"
    return "video/quicktime" if major == b"qt  " else "video/mp4"


def _audio_frame(data: bytes) -> str | None:
    """A bare MPEG audio or ADTS frame: ISO 11172-3 s2.4.1.3. The second frame must follow where the first one ends."""
    if len(data) < 6 or data[0] != 0xFF or data[1] & 0xE0 != 0xE0:
        return None
    if data[1] & 0xF6 == 0xF0:
        length = (data[3] & 3) << 11 | data[4] << 3 | data[5] >> 5
        return "audio/aac" if length > 7 and data[length : length + 2] in {data[:2], b""} else None
    version, layer, rate, sampling = data[1] >> 3 & 3, data[1] >> 1 & 3, data[2] >> 4, data[2] >> 2 & 3
    if layer != 1 or version == 1 or rate in {0, 15} or sampling == 3:
        return None
    kilobits = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
    kilobits_low = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
    hertz = (44100, 48000, 32000)[sampling] >> {3: 0, 2: 1, 0: 2}[version]
    bits = kilobits[rate] if version == 3 else kilobits_low[rate]
    length = (144 if version == 3 else 72) * bits * 1000 // hertz + (data[2] >> 1 & 1)
    follows = data[length : length + 2]
    return "audio/mpeg" if follows == b"" or (follows[0] == 0xFF and follows[-1] & 0xE0 == 0xE0) else None


def _text_type(data: bytes, hint: str, name: str) -> str | None:
    sample = _readable_sample(data)
    if sample is None:
        return None
    start = sample.lstrip(b"\t\n\f\r ")
    if _looks_like_mail(start, sure=hint == "message/rfc822" or name.lower().endswith(".eml")):
        return "message/rfc822"
    if start[:15].upper() == b"BEGIN:VCALENDAR":
        return "text/calendar"
    if start[:11].upper() == b"BEGIN:VCARD":
        return "text/vcard"
    dot = name.rfind(".")
    wish = _TEXT_NAMES.get(name[dot:].lower() if dot >= 0 else "") or (hint if hint in _TEXT_HINTS else None)
    markup = _markup_type(start)
    if markup is not None and not (wish == "text/markdown" and not start.lower().startswith((b"<!doctype", b"<html"))):
        return markup
    return wish or "text/plain"


def _readable_sample(data: bytes) -> bytes | None:
    """The beginning as ASCII-compatible bytes, or None when the content is not text in any usual charset."""
    for mark, charset in _BOMS:
        if data.startswith(mark):
            unit = 4 if charset == "utf-32" else 2
            head = data[: TEXT_SAMPLE - TEXT_SAMPLE % unit]
            text = codecs.getincrementaldecoder(charset)(errors="replace").decode(head)
            return None if text.count("�") > len(text) // 50 or "\0" in text else text.encode()
    if b"\0" in data:
        return _utf16_without_mark(data)
    sample = data[:TEXT_SAMPLE]
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
        allowed = len(sample) // 100  # a stray control character does not make a log file binary
    except UnicodeDecodeError:
        allowed = 0
    strays = len(sample) - len(sample.translate(None, _BINARY))
    return sample if strays <= allowed else None


def _utf16_without_mark(data: bytes) -> bytes | None:
    head = data[:4096]
    for charset, zeros in (("utf-16-le", head[1::2]), ("utf-16-be", head[0::2])):
        if len(zeros) >= 4 and zeros.count(0) > len(zeros) * 0.7:
            text = codecs.getincrementaldecoder(charset)(errors="replace").decode(head)
            if "\0" not in text and not any(ord(each) < 9 for each in text):
                return text.encode()
    return None


def _markup_type(start: bytes) -> str | None:
    lowered = start[:1024].lower()
    if lowered.startswith(b"<?xml"):
        # A declaration says only that it is XML; the first element says what it is.
        root = re.search(rb"<([a-z][a-z0-9:_-]*)", lowered)
        return {b"html": "text/html", b"svg": "image/svg+xml"}.get(root[1] if root else b"", "text/xml")
    if lowered.startswith(b"<svg"):
        return "image/svg+xml"
    if lowered.startswith(b"<!--"):
        rest = start.partition(b"-->")[2].lstrip(b"\t\n\f\r ")
        return _markup_type(rest) or "text/html"
    for tag in _HTML_TAGS:
        if lowered.startswith(tag) and lowered[len(tag) : len(tag) + 1] in {b"", b" ", b">", b"\n", b"\r", b"\t", b"/"}:
            return "text/html"
    return None


def _looks_like_mail(start: bytes, *, sure: bool) -> bool:
    """A block of RFC 5322 header fields with known names; fewer are enough where mail was declared."""
    lines = start[:8192].splitlines()
    if lines and lines[0].startswith((b"From ", b">From ")):
        lines = lines[1:]
    seen: set[bytes] = set()
    for line in lines:
        if not line:
            break
        if line[:1] in b" \t":
            continue
        field = _MAIL_FIELD.match(line)
        if field is None:
            return False
        seen.add(field[1].lower())
    known = seen & _MAIL_FIELDS
    return len(known) >= (2 if sure else 3) and bool(known & _MAIL_ORIGIN)
