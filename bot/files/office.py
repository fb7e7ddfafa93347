"""Containers told apart by what they contain: zip-based and OLE-based office formats. Pure and bounded.

Only directories are read, never members: nothing is unpacked here.
"""

from __future__ import annotations

import struct

OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

_MAX_MEMBERS = 2048
_OOXML = "application/vnd.openxmlformats-officedocument."
_FAMILIES: tuple[tuple[str, str, str], ...] = (
    ("word/", _OOXML + "wordprocessingml.document", "application/vnd.ms-word.document.macroenabled.12"),
    ("xl/", _OOXML + "spreadsheetml.sheet", "application/vnd.ms-excel.sheet.macroenabled.12"),
    ("ppt/", _OOXML + "presentationml.presentation", "application/vnd.ms-powerpoint.presentation.macroenabled.12"),
)
# ODF 1.3 part 2 s3.3 and EPUB OCF s4.3: the first member is `mimetype`, stored, without extra field.
_BY_MIMETYPE = {
    b"application/vnd.oasis.opendocument.text",
    b"application/vnd.oasis.opendocument.spreadsheet",
    b"application/vnd.oasis.opendocument.presentation",
    b"application/epub+zip",
}
# [MS-DOC] s2.1.2, [MS-XLS] s2.1.2, [MS-PPT] s2.1.1, [MS-OXMSG] s2.2, [MS-OFFCRYPTO] s2.3.4: names of streams.
_STREAMS = (
    ("EncryptedPackage", "application/x-encrypted-office"),
    ("__properties_version1.0", "application/vnd.ms-outlook"),
    ("WordDocument", "application/msword"),
    ("PowerPoint Document", "application/vnd.ms-powerpoint"),
    ("Workbook", "application/vnd.ms-excel"),
    ("Book", "application/vnd.ms-excel"),
)


def zip_type(data: bytes) -> str:
    """The media type of a zip file (whole content): an office format by its members, else `application/zip`."""
    declared = _first_stored(data)
    if declared in _BY_MIMETYPE:
        return declared.decode("ascii")
    names = zip_members(data) or _local_members(data)
    if "[Content_Types].xml" not in names:
        return "application/zip"
    for folder, plain, with_macros in _FAMILIES:
        if any(name.startswith(folder) for name in names):
            if folder == "xl/" and "xl/workbook.bin" in names:
                return "application/vnd.ms-excel.sheet.binary.macroenabled.12"
            return with_macros if folder + "vbaProject.bin" in names else plain
    return "application/zip"


def zip_members(data: bytes) -> list[str]:
    """Member names from the central directory, 2,048 at most; empty when it is missing or broken (APPNOTE 4.3.12)."""
    end = data.rfind(b"PK\x05\x06", max(0, len(data) - 65_557))
    if end < 0 or end + 22 > len(data):
        return []
    size, offset = struct.unpack_from("<II", data, end + 12)
    # Bytes before the archive shift every offset: the directory ends where its end record begins.
    at = end - size if end >= size else offset
    names: list[str] = []
    while len(names) < _MAX_MEMBERS and at + 46 <= end and data[at : at + 4] == b"PK\x01\x02":
        name, extra, comment = struct.unpack_from("<HHH", data, at + 28)
        names.append(data[at + 46 : at + 46 + name].decode("utf-8", "replace").replace("\\", "/"))
        at += 46 + name + extra + comment
    return names


def ole_type(data: bytes) -> str:
    """The media type of an OLE compound file by the stream names of its directory ([MS-CFB] s2.6: UTF-16LE)."""
    for stream, media_type in _STREAMS:
        # Names are NUL-terminated and start at a 128-byte directory entry.
        wanted = stream.encode("utf-16-le") + b"\0\0"
        at = data.find(wanted)
        while at >= 0:
            if at % 128 == 0:
                return media_type
            at = data.find(wanted, at + 1)
    return "application/x-ole-storage"


def _first_stored(data: bytes) -> bytes:
    """Content of the first member when it is called `mimetype` and stored, else nothing (APPNOTE 4.3.7)."""
    if len(data) < 30 or data[:4] != b"PK\x03\x04":
        return b""
    method = struct.unpack_from("<H", data, 8)[0]
    size, name, extra = struct.unpack_from("<IHH", data, 22)
    start = 30 + name + extra
    if data[30 : 30 + name] != b"mimetype" or method != 0 or size > 200:
        return b""
    return data[start : start + size]


def _local_members(data: bytes) -> list[str]:
    """Names from local headers, for a file cut before its central directory."""
    names: list[str] = []
    at = 0
    while at >= 0 and len(names) < _MAX_MEMBERS:
        if at + 30 > len(data):
            break
        length = struct.unpack_from("<H", data, at + 26)[0]
        names.append(data[at + 30 : at + 30 + length].decode("utf-8", "replace").replace("\\", "/"))
        at = data.find(b"PK\x03\x04", at + 30 + length)
    return names
