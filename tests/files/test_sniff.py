from __future__ import annotations

import pytest

from bot.files.sniff import Agreement, Kind, normal_type, sniff
from tests.files import samples
from tests.files.samples import DOCX, PPTX, XLSX

_OOXML = ("[Content_Types].xml", "_rels/.rels")
_MP3 = b"\xff\xfb\x90\x00" + bytes(413)  # MPEG-1 layer III, 128 kbit/s, 44.1 kHz: 417 bytes a frame


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (samples.picture((2, 2)), "image/png"),
        (samples.picture((2, 2), "JPEG"), "image/jpeg"),
        (samples.picture((2, 2), "GIF"), "image/gif"),
        (samples.picture((2, 2), "WEBP"), "image/webp"),
        (samples.picture((2, 2), "BMP"), "image/bmp"),
        (samples.picture((2, 2), "TIFF"), "image/tiff"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "image/heic"),
        (b"\0\0\0\x1cftypavif\0\0\0\0avifmif1", "image/avif"),
        (samples.pdf(samples.page("x")), "application/pdf"),
        (b"mail scanner banner\r\n" + samples.pdf(samples.page("x")), "application/pdf"),
        (samples.zipped(*_OOXML, "word/document.xml"), DOCX),
        (samples.zipped("word/document.xml", *_OOXML), DOCX),
        (samples.zipped(*_OOXML, "xl/workbook.xml"), XLSX),
        (samples.zipped(*_OOXML, "ppt/presentation.xml"), PPTX),
        (samples.zipped(*_OOXML, "word/vbaProject.bin"), "application/vnd.ms-word.document.macroenabled.12"),
        (b"SFX stub" * 4 + samples.zipped("a"), "application/octet-stream"),
        (samples.zipped(*_OOXML, "word/document.xml")[:-60], DOCX),
        (samples.zipped("word/document.xml"), "application/zip"),
        (samples.zipped("notes.txt"), "application/zip"),
        (
            samples.zipped("content.xml", first=("mimetype", b"application/vnd.oasis.opendocument.text")),
            "application/vnd.oasis.opendocument.text",
        ),
        (samples.ole("WordDocument"), "application/msword"),
        (samples.ole("Workbook"), "application/vnd.ms-excel"),
        (samples.ole("EncryptionInfo", "EncryptedPackage"), "application/x-encrypted-office"),
        (samples.ole("__nameid_version1.0", "__properties_version1.0"), "application/vnd.ms-outlook"),
        (samples.ole(), "application/x-ole-storage"),
        (b"\x78\x9f\x3e\x22\x01\x00" + bytes(40), "application/ms-tnef"),
        (samples.MAIL, "message/rfc822"),
        (b"From a@b Mon Mar  2 10:00:00 2026\n" + samples.MAIL, "message/rfc822"),
        (b"OggS\0\x02" + bytes(22) + b"OpusHead", "audio/ogg"),
        (b"OggS\0\x02" + bytes(22) + b"\x80theora", "video/ogg"),
        (b"RIFF\x24\0\0\0WAVEfmt ", "audio/wav"),
        (b"ID3\x04" + bytes(20), "audio/mpeg"),
        (_MP3 + _MP3, "audio/mpeg"),
        (b"\0\0\0\x20ftypisom\0\0\2\0isomiso2mp41", "video/mp4"),
        (b"\0\0\0\x20ftypM4A \0\0\2\0M4A mp42isom", "audio/mp4"),
        (b"plain words\n", "text/plain"),
        ("Grüße".encode("cp1252"), "text/plain"),
        ("Привет, мир".encode("utf-16"), "text/plain"),
        ("plain without mark".encode("utf-16-le"), "text/plain"),
        ("ascii only, big".encode("utf-16-be"), "text/plain"),
        (b"", "text/plain"),
        (b"\xef\xbb\xbf  <!DOCTYPE html><p>", "text/html"),
        (b"<!-- note --><HTML>", "text/html"),
        (b"<?xml version='1.0'?><html xmlns='x'>", "text/html"),
        (b"<?xml version='1.0'?><svg xmlns='x'>", "image/svg+xml"),
        (b"<?xml version='1.0'?><invoice/>", "text/xml"),
        (b"BEGIN:VCALENDAR\r\n", "text/calendar"),
        (b"Subject: a note\nthat is no mail", "text/plain"),
        (b"the %PDF-1.4 header explained", "text/plain"),
        (b"<person> asked", "text/plain"),
        (bytes(range(256)) * 20, "application/octet-stream"),
        (b"\x7fELF\x02", "application/octet-stream"),
    ],
)
def test_type_is_told_by_the_bytes_alone(data: bytes, expected: str) -> None:
    assert sniff(data).media_type == expected
    # Neither the name nor the declared type can make it another kind of file.
    lied = sniff(data, "application/x-thing", "holiday.png")
    assert lied.media_type == expected


def test_the_name_chooses_only_among_kinds_of_text() -> None:
    assert sniff(b"a;b\n1;2\n", name="Q1.CSV").media_type == "text/csv"
    assert sniff(b"# title\n", "text/plain", "readme.md").media_type == "text/markdown"
    assert sniff(b"<p align=center>logo</p>\n# t", name="readme.md").media_type == "text/markdown"
    assert sniff(b"<!doctype html><p>", name="readme.md").media_type == "text/html"
    assert sniff(b"a,b\n", "text/csv; charset=utf-8").media_type == "text/csv"
    assert sniff(samples.picture((1, 1)), "text/csv", "a.csv").media_type == "image/png"
    assert sniff(b"From: a@b.c\nSubject: x\n\nhi", name="kept.eml").media_type == "message/rfc822"


@pytest.mark.case(57)
@pytest.mark.parametrize(
    "page",
    [
        b"<!DOCTYPE html><html><title>Sign in</title>",
        b"\r\n\r\n  <!doctype HTML>\n",
        b"\xef\xbb\xbf<html lang=en>",
        b"<!-- redirect --><script>location='/signin'</script>",
        "<html><body>Please sign in".encode("utf-16"),
        b"<head><meta http-equiv=refresh>",
    ],
)
@pytest.mark.parametrize("declared", ["image/png", "image/jpeg; q=1", "application/pdf", "audio/ogg", "video/mp4"])
def test_case_57_web_page_in_place_of_a_declared_file_is_noticed(page: bytes, declared: str) -> None:
    found = sniff(page, declared, "diagram.png")
    assert found.media_type == "text/html"
    assert found.is_web_page_instead


@pytest.mark.case(57)
def test_case_57_a_web_page_that_was_declared_as_text_is_welcome() -> None:
    for declared in ("text/html", "text/plain", "", "application/octet-stream", "application/xhtml+xml"):
        assert not sniff(b"<!DOCTYPE html><p>", declared).is_web_page_instead


@pytest.mark.case(140)
@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP"])
@pytest.mark.parametrize("declared", ["image/png", "image/jpeg", "image/gif", "image/webp"])
def test_case_140_declared_picture_type_never_outweighs_the_bytes(form: str, declared: str) -> None:
    found = sniff(samples.picture((3, 3), form), declared, "a" + declared.replace("image/", "."))
    assert found.media_type == f"image/{form.lower()}"
    assert found.kind is Kind.IMAGE
    assert found.agreement is (Agreement.SAME if found.media_type == declared else Agreement.SAME_KIND)


def test_agreement_tells_kinds_apart() -> None:
    png = samples.picture((1, 1))
    assert sniff(png).agreement is Agreement.NOT_DECLARED
    assert sniff(png, "APPLICATION/octet-stream").agreement is Agreement.NOT_DECLARED
    assert sniff(png, "image/x-unheard-of").agreement is Agreement.SAME_KIND
    assert sniff(png, "application/pdf").agreement is Agreement.DIFFERENT
    assert sniff(samples.picture((1, 1), "JPEG"), "IMAGE/JPG; name=x").agreement is Agreement.SAME
    assert normal_type(" Text/X-Markdown ;charset=x") == "text/markdown"
