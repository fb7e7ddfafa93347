"""Files made to hurt a reader. Each builder's name says how; the table says what may come of it."""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Callable, Mapping
from typing import NamedTuple

from bot.files.wire import Reason
from tests.files import samples
from tests.files.office_samples import (
    R,
    S,
    W,
    cell,
    claiming,
    docx,
    locked_members,
    package,
    paragraph,
    relations,
    renamed,
    words,
    xlsx,
)

DAMAGED, TOO_LARGE, ENCRYPTED = Reason.DAMAGED, Reason.TOO_LARGE, Reason.ENCRYPTED
UNSUPPORTED, TIMEOUT = Reason.UNSUPPORTED, Reason.TIMEOUT

LAUGHS = '<!DOCTYPE a [<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {name} "{f"&{below};" * 10}">' for below, name in zip("abcdefgh", "bcdefghi", strict=True)
) + "]>"  # fmt: skip
XXE = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
NET = '<!DOCTYPE a [<!ENTITY % x SYSTEM "http://127.0.0.1:9/x.dtd"> %x;]>'
QUADRATIC = f'<!DOCTYPE a [<!ENTITY x "{"y" * 50_000}">]>'
HELLO = paragraph("hello")


class Hostile(NamedTuple):
    """`outcomes` are the reasons it may be refused for; `text` what must stand in it if it is read instead."""

    build: Callable[[], bytes]
    outcomes: frozenset[Reason]
    text: str | None = None
    name: str = ""


def _refused(build: Callable[[], bytes], *reasons: Reason, name: str = "") -> Hostile:
    return Hostile(build, frozenset(reasons), None, name)


def _read(build: Callable[[], bytes], text: str, *reasons: Reason, name: str = "") -> Hostile:
    return Hostile(build, frozenset(reasons), text, name)


def overlapping_members() -> bytes:
    """300 entries of the directory that all point to the same 4 MB."""
    out = io.BytesIO(docx(HELLO))
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/media/0.png", bytes(4_000_000))
        kept = archive.getinfo("word/media/0.png")
        for number in range(1, 300):
            twin = zipfile.ZipInfo(f"word/media/{number}.png")
            for field in ("header_offset", "file_size", "compress_size", "CRC", "compress_type"):
                setattr(twin, field, getattr(kept, field))
            archive.filelist.append(twin)
    return out.getvalue()


def damaged_member() -> bytes:
    data = bytearray(docx("".join(paragraph(f"word {number}") for number in range(3000))))
    at = data.find(b"word/document.xml") + 2000
    data[at : at + 40] = bytes(40)
    return bytes(data)


def twice_the_same_member() -> bytes:
    out = io.BytesIO(docx(HELLO))
    with zipfile.ZipFile(out, "a") as archive:
        archive.filelist.append(archive.getinfo("word/document.xml"))
        archive.writestr("word/other.xml", "x")
    return out.getvalue()


def packed_by_lzma() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", words("document", f"<w:body>{HELLO}</w:body>"))
    return out.getvalue()


def slipping_names() -> bytes:
    evil = {"../../../../tmp/evil": "x", "/etc/cron.d/evil": "x", "..\\..\\evil.exe": "x", "C:\\evil": "x"}
    return docx(HELLO, evil, ("s", "styles", "../../../../../etc/passwd"), ("n", "numbering", "/proc/self/environ"))


def fetching_relations() -> bytes:
    return docx(
        HELLO,
        {},
        ("t", "attachedTemplate", "http://127.0.0.1:9/evil.dotm"),
        ("s", "styles", "http://127.0.0.1:9/styles.xml"),
        ("c", "comments", "file:///etc/passwd"),
    )


def nested_elements(depth: int) -> bytes:
    return docx(HELLO + "<w:sdt><w:sdtContent>" * depth + HELLO + "</w:sdtContent></w:sdt>" * depth)


def nested_tables(depth: int) -> bytes:
    return docx(f"{HELLO}{'<w:tbl><w:tr><w:tc>' * depth}{HELLO}{'</w:tc></w:tr></w:tbl>' * depth}")


def endless_attributes() -> bytes:
    return docx(HELLO + "<w:p " + " ".join(f"a{number}=''" for number in range(200_000)) + "/>")


def huge_numbers() -> bytes:
    listed = f'<w:numPr><w:ilvl w:val="{10**9}"/><w:numId w:val="{"9" * 5000}"/></w:numPr><w:outlineLvl w:val="-9"/>'
    table = f'<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="{10**9}"/></w:tcPr>{HELLO}</w:tc></w:tr></w:tbl>'
    return docx(paragraph("hello", listed) + table)


def strings_bomb() -> bytes:
    random.seed(1)
    strings = "".join(f"<si><t>{random.randbytes(60).hex()}{'a' * 12_000}</t></si>" for _ in range(4500))
    return xlsx("", {"xl/sharedStrings.xml": f'<sst xmlns="{S}">{strings}</sst>'})


def strings_amplified() -> bytes:
    one = f'<sst xmlns="{S}"><si><t>{"b" * 32_000}</t></si></sst>'
    rows = "".join(f'<row r="{number}">{cell(f"A{number}", "0", "t=" + chr(34) + "s" + chr(34))}</row>'
                   for number in range(1, 100_000))  # fmt: skip
    return xlsx(rows, {"xl/sharedStrings.xml": one})


def endless_row() -> bytes:
    """A row of a million cells, 60 times what a sheet can have."""
    return xlsx("<row>" + "".join(f"<c><v>{number}</v></c>" for number in range(1_000_000)) + "</row>")


def many_sheets() -> bytes:
    sheets = "".join(f'<sheet name="s{number}" sheetId="{number}" r:id="r1"/>' for number in range(1, 10_000))
    book = f'<workbook xmlns="{S}" xmlns:r="{R}"><sheets>{sheets}</sheets></workbook>'
    return xlsx(f"<row>{cell('A1', '7')}</row>", {"xl/workbook.xml": book})


def odd_numbers() -> bytes:
    values = ["9" * 5000, "1e999", "-nan", "0x10", "1_000", "", "٣", "-0"]
    rows = "".join(f"<row><c s='{number}'><v>{value}</v></c></row>" for number, value in enumerate(values))
    looks = '<xf numFmtId="14"/>' * 4 + f'<xf numFmtId="{"9" * 99}"/>'
    styles = f'<styleSheet xmlns="{S}"><cellXfs>{looks}</cellXfs></styleSheet>'
    kin = relations(("r1", "worksheet", "worksheets/sheet1.xml"), ("s", "styles", "styles.xml"))
    return xlsx(rows, {"xl/styles.xml": styles, "xl/_rels/workbook.xml.rels": kin})


def far_away() -> bytes:
    far = f'<row r="1">{cell("A1", "1")}</row><row r="1048576">{cell("XFD1048576", "2")}</row>'
    return xlsx(far, before='<dimension ref="A1:XFD1048576"/><cols><col min="1" max="999999999" width="9"/></cols>')


def _pdf_with(old: bytes, new: bytes) -> bytes:
    made = samples.pdf(samples.page("hello"))
    assert old in made
    return made.replace(old, new)


def pdf_wrong_offsets() -> bytes:
    made = samples.pdf(samples.page("hello"))
    at = made.rfind(b"xref\n0", 0, made.rfind(b"startxref"))
    return made[:at] + made[at:].replace(b"00000 n", b"00009 n").replace(b"00000000", b"99999999")


def mail_in_mail(depth: int) -> bytes:
    mail = b"From: a@b.c\nTo: b@b.c\nDate: x\n"
    for _ in range(depth):
        mail += b"Content-Type: message/rfc822\n\nSubject: inner\n"
    return mail + b"\nhello\n"


def mail_of_many_parts() -> bytes:
    part = b"--B\nContent-Disposition: attachment; filename*=utf-8''..%5C..%2Fa%00b.txt\n\nx\n"
    return b"From: a@b.c\nTo: b@b.c\nDate: x\nContent-Type: multipart/mixed; boundary=B\n\n--B\n\nhello\n" + part * 5000


FILES: Mapping[str, Hostile] = {
    "docx_ratio_bomb": _refused(lambda: docx(HELLO, {"word/styles.xml": b" " * 60_000_000}), TOO_LARGE),
    "docx_bomb_in_the_text": _refused(lambda: docx(paragraph("z" * 60_000_000)), TOO_LARGE),
    "docx_overlapping_members": _refused(overlapping_members, TOO_LARGE),
    "docx_many_members": _refused(lambda: docx(HELLO, {f"x/{n}": "" for n in range(6000)}), TOO_LARGE),
    "docx_small_bomb_is_never_unpacked": _read(lambda: docx(HELLO, {"word/media/a.png": bytes(3_900_000)}), "hello"),
    "docx_within_docx": _read(lambda: docx(HELLO, {"word/embeddings/a.docx": docx(HELLO)}), "hello"),
    "docx_truncated": _refused(lambda: docx(HELLO * 5000)[:-200], DAMAGED),
    "docx_first_half": _refused(lambda: docx(HELLO * 5000)[:1500], DAMAGED),
    "docx_damaged_member": _refused(damaged_member, DAMAGED),
    "docx_lying_size": _refused(lambda: claiming(docx(HELLO * 500), "word/document.xml", 100), DAMAGED),
    "docx_claims_a_gigabyte": _refused(lambda: claiming(docx(HELLO), "word/document.xml", 2**30), TOO_LARGE),
    "docx_same_member_twice": _read(twice_the_same_member, "hello"),
    "docx_packed_by_lzma": _refused(packed_by_lzma, DAMAGED),
    "docx_without_document": _refused(lambda: package({"word/styles.xml": words("styles", "")}), DAMAGED),
    "docx_with_encrypted_members": _refused(lambda: locked_members(docx(HELLO)), ENCRYPTED),
    "docx_external_entity": _refused(lambda: docx(paragraph("&x;"), prolog=XXE), DAMAGED),
    "docx_external_parameter_entity": _refused(lambda: docx(HELLO, prolog=NET), DAMAGED),
    "docx_billion_laughs": _refused(lambda: docx(paragraph("&i;"), prolog=LAUGHS), DAMAGED),
    "docx_quadratic_entity": _refused(lambda: docx(paragraph("&x;" * 50_000), prolog=QUADRATIC), DAMAGED),
    "docx_entity_in_relations": _refused(
        lambda: docx(HELLO, {"word/_rels/document.xml.rels": XXE + relations(("a", "styles", "&x;"))}), DAMAGED
    ),
    "docx_relations_to_the_network": _read(fetching_relations, "hello"),
    "docx_macros": _read(lambda: docx(HELLO, {"word/vbaProject.bin": b"evil"}), "hello"),
    "docx_nested_beyond_the_parser": _refused(lambda: nested_elements(50_000), DAMAGED, TOO_LARGE),
    "docx_nested_within_the_parser": _read(lambda: nested_elements(120), "hello\n\nhello"),
    "docx_nested_tables": _read(lambda: nested_tables(80), "hello"),
    "docx_slipping_names": _read(slipping_names, "hello"),
    "docx_nul_name": _refused(lambda: renamed(docx(HELLO), "word/document.xml", b"word/docu\0ent.xml"), DAMAGED,
                              UNSUPPORTED),
    "docx_huge_numbers": _read(huge_numbers, "hello"),
    "docx_endless_attributes": _read(endless_attributes, "hello", DAMAGED, TIMEOUT),
    "docx_unknown_charset": _refused(lambda: docx(HELLO, prolog='<?xml version="1.0" encoding="zip"?>'), DAMAGED),
    "docx_of_cut_xml": _refused(lambda: docx("", {"word/document.xml": f'<w:document xmlns:w="{W}"><w:body>{HELLO}'}),
                                DAMAGED),
    "docx_of_noise": _refused(lambda: docx("", {"word/document.xml": random.Random(2).randbytes(5000)}), DAMAGED),
    "docx_password": _refused(lambda: samples.ole("EncryptionInfo", "EncryptedPackage"), ENCRYPTED),
    "xlsx_far_away_cells": _read(far_away, "1"),
    "xlsx_cells_beyond_all_columns": _refused(lambda: xlsx(f"<row>{cell('ZZZZ1', '3')}</row>"), DAMAGED),
    "xlsx_strings_bomb": _refused(strings_bomb, TOO_LARGE),
    "xlsx_strings_amplified": _read(strings_amplified, "[cut here"),
    "xlsx_endless_row": _refused(endless_row, DAMAGED),
    "xlsx_empty_rows": _refused(lambda: xlsx("<row/>" * 2_000_000), TOO_LARGE),
    "xlsx_many_sheets_of_one_part": _read(many_sheets, "## Sheet: s200"),
    "xlsx_odd_numbers": _read(odd_numbers, "999"),
    "xlsx_missing_sheet": _refused(
        lambda: xlsx("", {"xl/_rels/workbook.xml.rels": relations(("r1", "worksheet", "no.xml"))}), DAMAGED
    ),
    "xlsx_sheet_elsewhere": _read(
        lambda: xlsx("", {"xl/_rels/workbook.xml.rels": relations(("r1", "worksheet", "http://127.0.0.1:9/a"))}), "Plan"
    ),
    "xlsx_external_entity": _refused(lambda: xlsx("<row/>", prolog=XXE), DAMAGED),
    "xlsx_laughing_strings": _refused(
        lambda: xlsx("", {"xl/sharedStrings.xml": f'{LAUGHS}<sst xmlns="{S}"><si><t>&i;</t></si></sst>'}), DAMAGED
    ),
    "xlsx_command_formula": _read(
        lambda: xlsx('<row><c r="A1" t="str"><f>cmd|"/c calc"!A0</f><v>shown</v></c></row>'), "shown"
    ),
    "pdf_password": _refused(lambda: samples.locked_pdf("secret"), ENCRYPTED),
    "pdf_truncated": _refused(lambda: samples.pdf(samples.page("hello"))[:150], DAMAGED),
    "pdf_wrong_offsets": _read(pdf_wrong_offsets, "hello", DAMAGED),
    "pdf_no_xref_place": _read(lambda: _pdf_with(b"startxref\n", b"startxref\n9999999"), "hello", DAMAGED),
    "pdf_previous_xref_is_itself": _read(lambda: _pdf_with(b"/Root 1", b"/Prev 9 /Root 1"), "hello", DAMAGED),
    "pdf_page_tree_in_a_circle": _refused(lambda: _pdf_with(b"/Kids [4 0 R]", b"/Kids [2 0 R]"), DAMAGED,
                                          Reason.NO_TEXT_LAYER),
    "pdf_claims_pages": _read(lambda: _pdf_with(b"/Count 1", b"/Count 99999999"), "hello", DAMAGED),
    "pdf_nested_arrays": _read(lambda: _pdf_with(b"/Root 1", b"/X " + b"[" * 100_000 + b"/Root 1"), "hello",
                               DAMAGED, TIMEOUT),
    "pdf_content_bomb": _refused(lambda: samples.pdf(b"0 0 m " * 30_000_000, deflate=True), TOO_LARGE),
    "pdf_starts_a_program": _read(
        lambda: _pdf_with(b"/Catalog", b"/Catalog /OpenAction << /S /Launch /F (/bin/sh) >>"), "hello"
    ),
    "csv_open_quote": _read(lambda: b'id,name\n1,"x\n' + b"2,y\n" * 2_000_000, "id,name\n1", name="a.csv"),
    "csv_one_line": _read(lambda: b"a," * 8_000_000, "a,a,a", name="a.csv"),
    "csv_only_quotes": _read(lambda: b'"' * 8_000_000, '"', name="a.csv"),
    "csv_of_noise": _refused(lambda: random.Random(3).randbytes(100_000), UNSUPPORTED, name="a.csv"),
    "svg_external_entity": _refused(
        lambda: f'<?xml version="1.0"?>{XXE}<svg xmlns="x">&x;</svg>'.encode(), UNSUPPORTED
    ),
    "html_nested": _read(lambda: b"<!doctype html><p>hello" + b"<div>" * 100_000, "hello"),
    "html_external_entity": _read(lambda: f"<!doctype html [{XXE[12:-1]}><p>hello &x;".encode(), "hello"),
    "eml_mails_in_mails": _read(lambda: mail_in_mail(3000), "From: a@b.c", DAMAGED, Reason.CRASHED),
    "eml_many_parts": _read(mail_of_many_parts, "hello"),
    "png_called_docx": _refused(lambda: samples.picture((2, 2)), UNSUPPORTED, name="a.docx"),
    "text_called_xlsx": _read(lambda: b"hello", "hello", name="a.xlsx"),
}  # fmt: skip
