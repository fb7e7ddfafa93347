"""Office files: whole ones by the libraries that write them, odd ones part by part."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/"
_TYPES = f'<Types xmlns="{_PACKAGE}content-types"><Default Extension="xml" ContentType="application/xml"/></Types>'


def package(parts: Mapping[str, str | bytes], level: int = 6) -> bytes:
    """A zip with the content types in front."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for name, content in {"[Content_Types].xml": _TYPES, **parts}.items():
            archive.writestr(name, content)
    return out.getvalue()


def relations(*items: tuple[str, str, str]) -> str:
    """A relationship part of (id, kind, target); a target with a colon is external."""
    lines = "".join(
        f'<Relationship Id="{identifier}" Type="{R}/{kind}" Target="{target}"'
        + (' TargetMode="External"' if ":" in target else "")
        + "/>"
        for identifier, kind, target in items
    )
    return f'<Relationships xmlns="{_PACKAGE}relationships">{lines}</Relationships>'


def docx(
    body: str, parts: Mapping[str, str | bytes] | None = None, *kin: tuple[str, str, str], prolog: str = ""
) -> bytes:
    """A document of this body (elements with the prefix `w`), with further parts that it refers to by `kin`."""
    return package(
        {
            "_rels/.rels": relations(("r1", "officeDocument", "word/document.xml")),
            "word/document.xml": prolog + words("document", f"<w:body>{body}</w:body>"),
            "word/_rels/document.xml.rels": relations(*kin),
            **(parts or {}),
        }
    )


def words(name: str, inner: str) -> str:
    """A part of WordprocessingML with this root element."""
    return f'<w:{name} xmlns:w="{W}" xmlns:r="{R}">{inner}</w:{name}>'


def paragraph(text: str, properties: str = "") -> str:
    return f'<w:p><w:pPr>{properties}</w:pPr><w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'


def xlsx(rows: str, parts: Mapping[str, str | bytes] | None = None, *, prolog: str = "", before: str = "") -> bytes:
    """A workbook of one sheet with these rows; `before` stands before its data."""
    return package(
        {
            "_rels/.rels": relations(("r1", "officeDocument", "xl/workbook.xml")),
            "xl/workbook.xml": f'<workbook xmlns="{S}" xmlns:r="{R}"><sheets>'
            '<sheet name="Plan" sheetId="1" r:id="r1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": relations(
                ("r1", "worksheet", "worksheets/sheet1.xml"), ("r2", "sharedStrings", "sharedStrings.xml")
            ),
            "xl/worksheets/sheet1.xml": f'{prolog}<worksheet xmlns="{S}">{before}'
            f"<sheetData>{rows}</sheetData></worksheet>",
            **(parts or {}),
        }
    )


def cell(reference: str, stored: str, attributes: str = "") -> str:
    return f'<c r="{reference}" {attributes}><v>{stored}</v></c>'


def claiming(data: bytes, member: str, size: int) -> bytes:
    """The same zip, whose directory claims `size` bytes for a member (APPNOTE 4.3.12: at 24 of its entry)."""
    name = member.encode()
    at = data.rfind(name) - 46
    return data[: at + 24] + size.to_bytes(4, "little") + data[at + 28 :]


def renamed(data: bytes, old: str, new: bytes) -> bytes:
    """The same zip with a member's name replaced by another of the same length, in both of its places."""
    assert len(old) == len(new)
    return data.replace(old.encode(), new)


def locked_members(data: bytes) -> bytes:
    """The same zip with the flag for encryption set on every member (APPNOTE 4.4.4)."""
    changed = bytearray(data)
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(mark)
        while at >= 0:
            changed[at + offset] |= 1
            at = data.find(mark, at + 4)
    return bytes(changed)
