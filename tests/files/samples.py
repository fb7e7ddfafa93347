"""Real files, made by hand or by the libraries that usually make them."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib

from PIL import Image
from pypdf import PdfReader, PdfWriter

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"


def pdf(*contents: bytes, deflate: bool = False) -> bytes:
    """A PDF with one page for each content stream, written by hand."""
    count = len(contents)
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(count))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, content in enumerate(contents):
        body = zlib.compress(content, 9) if deflate else content
        extra = " /Filter /FlateDecode" if deflate else ""
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents {5 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        objects.append(f"<< /Length {len(body)}{extra} >>\nstream\n".encode() + body + b"\nendstream")
    out = io.BytesIO()
    out.write(b"%PDF-1.4\n")
    offsets = []
    for number, each in enumerate(objects, 1):
        offsets.append(out.tell())
        out.write(f"{number} 0 obj\n".encode() + each + b"\nendobj\n")
    start = out.tell()
    out.write(f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode())
    out.write(b"".join(f"{offset:010} 00000 n \n".encode() for offset in offsets))
    out.write(f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode())
    return out.getvalue()


def page(words: str) -> bytes:
    return f"BT /F1 12 Tf 20 200 Td ({words}) Tj ET".encode()


def locked_pdf(user: str, owner: str = "owner") -> bytes:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf(page("top secret")))))
    writer.encrypt(user, owner, algorithm="AES-256")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def picture(size: tuple[int, int], form: str = "PNG", mode: str = "RGB", **options: object) -> bytes:
    out = io.BytesIO()
    Image.new(mode, size).save(out, form, **options)
    return out.getvalue()


def noise(size: tuple[int, int], form: str, **options: object) -> bytes:
    out = io.BytesIO()
    Image.effect_noise(size, 90).convert("RGB").save(out, form, **options)
    return out.getvalue()


def png_bomb(side: int) -> bytes:
    """A true one-bit-grey PNG of side x side pixels in a few kilobytes."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    packer = zlib.compressobj(9)
    row = bytes(1 + (side + 7) // 8)
    packed = b"".join(packer.compress(row) for _ in range(side)) + packer.flush()
    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def zipped(*names: str, first: tuple[str, bytes] | None = None) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        if first is not None:
            archive.writestr(zipfile.ZipInfo(first[0]), first[1])
        for name in names:
            archive.writestr(name, b"x" * 50)
    return out.getvalue()


def ole(*streams: str) -> bytes:
    """The header and one directory sector of a compound file."""
    entries = ["Root Entry", *streams]
    directory = b"".join(name.encode("utf-16-le").ljust(128, b"\0") for name in entries)
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".ljust(512, b"\0") + directory


MAIL = (
    b"Received: from a by b; Mon, 2 Mar 2026 10:00:00 +0100\r\n"
    b"From: =?utf-8?B?SsO8cmdlbg==?= <j@example.org>\r\nTo: b@example.org\r\nDate: Mon, 2 Mar 2026 10:00:00 +0100\r\n"
    b"Subject: =?iso-8859-1?Q?Caf=E9?= plan\r\nMIME-Version: 1.0\r\n"
    b'Content-Type: multipart/mixed; boundary="B"\r\n\r\n'
    b"--B\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n"
    b"Wir treffen uns im Caf=E9.\r\n"
    b"--B\r\nContent-Type: text/html\r\n\r\n<p>html twin</p>\r\n"
    b'--B\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename="../../plan.pdf"\r\n\r\nx\r\n'
    b"--B--\r\n"
)
