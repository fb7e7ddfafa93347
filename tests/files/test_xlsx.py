from __future__ import annotations

import io
from datetime import date, datetime, time, timedelta
from itertools import count
from types import SimpleNamespace

import pytest
from openpyxl import Workbook
from openpyxl.chart import BarChart

import bot.files.parsers.xlsx
from bot.files.extract import Extractor
from bot.files.model import Extracted
from bot.files.parsers.cells import Form, form_of_code, form_of_number, shown_number
from bot.files.parsers.xlsx import extract
from bot.files.sandbox import Sandbox
from bot.files.sniff import sniff
from tests.files.office_samples import S, cell, words, xlsx

# A sheet's times have no zone.
NOON = datetime(2026, 3, 1, 12, 30)  # noqa: DTZ001
EPOCH_1904 = datetime(1904, 1, 1)  # noqa: DTZ001


async def read(data: bytes, max_chars: int = 200_000) -> Extracted:
    result = await Extractor(Sandbox(), max_chars=max_chars).extract(data, sniff(data))
    assert isinstance(result, Extracted), result
    return result


def saved(book: Workbook) -> bytes:
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


async def test_a_workbook_of_the_usual_library_is_read_sheet_by_sheet() -> None:
    book = Workbook()
    first = book.worksheets[0]
    first.title = "Q1 & Q2"
    first.append(["Day", "Sum", "At", "Took", "Paid"])
    first.append([date(2026, 3, 1), 1.1, time(8, 30), timedelta(hours=30), True])
    first.append([NOON, "=SUM(B2:B2)", None, -5, False])
    first["B6"] = "after\ta gap\nand a line"
    for state in ("hidden", "veryHidden"):
        secret = book.create_sheet(state.title())
        secret.sheet_state = state
        secret["A1"] = "not for you"
    book.create_sheet("Empty")
    book.create_chartsheet("Bars").add_chart(BarChart())
    found = await read(saved(book))
    assert found.text == (
        "## Sheet: Q1 & Q2\n\nDay\tSum\tAt\tTook\tPaid\n2026-03-01\t1.1\t08:30:00\t30:00:00\tTRUE\n"
        "2026-03-01T12:30:00\t[not computed]\t\t-5\tFALSE\n\n\tafter a gap and a line\n\n"
        "## Sheet: Empty\n\n[empty]\n\n## Sheet: Bars\n\n[no cells: a chart or another kind of sheet]"
    )
    assert found.note == "Hidden sheets were left out: Hidden, Veryhidden. Formulas without a stored result: 1."
    assert not found.truncated


async def test_stored_results_errors_rich_and_inline_strings() -> None:
    shared = (
        f'<sst xmlns="{S}"><si><t>plain</t></si><si><r><t>ri</t></r><r><rPr/><t>ch</t></r>'
        "<rPh sb='0' eb='1'><t>reading aid</t></rPh></si><si><t>two_x000D_\nlines_x0041_</t></si></sst>"
    )
    inline = '<c t="inlineStr"><is><t>inline</t></is></c>'
    strings = "".join(
        cell(place, index, 't="s"') for place, index in (("A1", "0"), ("B1", "1"), ("C1", "99"), ("D1", "2"))
    )
    rows = (
        f'<row>{strings}{inline}</row><row r="2"><c r="A2"><f>1+1</f><v>2</v></c>'
        '<c r="B2" t="str"><f>T("x")</f><v>text</v></c><c r="C2" t="e"><f>1/0</f><v>#DIV/0!</v></c>'
        '<c r="D2" t="d"><v>2026-01-02</v></c><c r="E2" t="b"><v>1</v></c></row>'
    )
    found = await read(xlsx(rows, {"xl/sharedStrings.xml": shared}))
    assert found.text == "## Sheet: Plan\n\nplain\trich\t\ttwo linesA\tinline\n2\ttext\t#DIV/0!\t2026-01-02\tTRUE"


async def test_hidden_rows_and_columns_are_left_out_and_counted_where_they_hold_something() -> None:
    book = Workbook()
    sheet = book.worksheets[0]
    for row in (["a", "SECRET", "c"], ["d", "SECRET", "f"], ["SECRET", "SECRET", "SECRET"], ["g", None, "i"]):
        sheet.append(row)
    sheet.row_dimensions[3].hidden = True
    sheet.column_dimensions["B"].hidden = True
    sheet.column_dimensions["H"].hidden = True
    found = await read(saved(book))
    assert found.text == "## Sheet: Sheet\n\na\tc\nd\tf\n\ng\ti"
    assert found.note == "Hidden rows (1) and columns (1) were left out."


async def test_rows_of_a_cut_sheet_are_counted_without_the_gaps_between_them() -> None:
    rows = "".join(f'<row r="{number * 3}">{cell("A1", "12345")}</row>' for number in range(1, 500))
    found = await read(xlsx(rows), max_chars=1000)
    kept = found.text.count("12345")
    assert kept > 50
    assert f"[cut here: the sheet goes on; these are its first {kept} rows with content]" in found.text


def test_sheet_is_left_when_time_is_up_even_among_hidden_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = "".join(f'<row hidden="1">{cell("A1", str(number))}</row>' for number in range(5000))
    output = extract(io.BytesIO(xlsx(f"<row>{cell('A1', '7')}</row>" + hidden)), {"max_chars": 1000, "seconds": 60})
    assert output.body.decode() == "## Sheet: Plan\n\n7"
    assert output.facts == {"truncated": False, "note": "Hidden rows (5000) and columns (0) were left out."}
    unread = extract(io.BytesIO(xlsx(hidden)), {"max_chars": 1000, "seconds": -1})
    assert unread.facts == {"truncated": True, "note": "Not read any more: Plan."}
    monkeypatch.setattr(bot.files.parsers.xlsx, "time", SimpleNamespace(monotonic=count(0).__next__))
    late = extract(io.BytesIO(xlsx(f"<row>{cell('A1', '7')}</row>" + hidden)), {"max_chars": 1000, "seconds": 100})
    assert late.facts["truncated"] is True
    assert "\n7\n[cut here: the sheet goes on; these are its first 1 rows with content]" in late.body.decode()


async def test_dates_of_the_1904_system() -> None:
    book = Workbook()
    book.epoch = EPOCH_1904
    book.worksheets[0].append([date(2026, 3, 1)])
    assert (await read(saved(book))).text.endswith("\n2026-03-01")


async def test_long_sheets_are_cut_visibly_and_do_not_push_the_others_out() -> None:
    book = Workbook(write_only=True)
    for name, rows in (("Long", 6000), ("Wide", 3), ("Longer", 9000)):
        sheet = book.create_sheet(name)
        sheet.append(["id", "name"])
        for number in range(rows):
            sheet.append([number, "x" * (300 if name == "Wide" else 1)])
    data = saved(book)
    found = await read(data)
    assert found.truncated
    long, _, rest = found.text.partition("\n\n## Sheet: Wide\n\n")
    assert long.startswith("## Sheet: Long\n\nid\tname\n0\tx\n")
    assert long.endswith("\n4998\tx\n[cut here: the sheet goes on; these are its first 5,000 rows with content]")
    assert "x" * 300 + "\n\n## Sheet: Longer\n\nid\tname\n0\tx\n" in rest
    tight = await read(data, max_chars=1500)
    assert len(tight.text) < 1700
    assert [tight.text.count(f"## Sheet: {name}\n\nid\tname") for name in ("Long", "Wide", "Longer")] == [1, 1, 1]
    assert tight.text.count("[cut here: the sheet goes on") == 3


async def test_a_cell_longer_than_all_room_is_cut() -> None:
    found = await read(xlsx(f'<row><c t="inlineStr"><is><t>{"y" * 30_000}</t></is></c></row>'), max_chars=1000)
    assert found.truncated
    assert "yyy" in found.text
    assert len(found.text) < 1200


async def test_macros_are_named_and_not_read() -> None:
    assert (await read(xlsx("", {"xl/vbaProject.bin": b"x"}))).note == "The macros in it were not read."


@pytest.mark.parametrize(
    ("code", "form"),
    [
        ("yyyy\\-mm\\-dd", Form.DATE), ("dd/mm/yy;@", Form.DATE), ("[$-409]mmm\\-yy", Form.DATE), ("mmmm", Form.DATE),
        ("h:mm AM/PM", Form.TIME), ("mm:ss.0", Form.TIME), ("d.m.yy h:mm", Form.DATE_TIME),
        ("[h]:mm:ss", Form.DURATION),
        ("[mm]:ss", Form.DURATION), ("General", Form.NUMBER), ("0.00", Form.NUMBER), ("#,##0 \"days\"", Form.NUMBER),
        ("[Red]0;[Blue]-0", Form.NUMBER), ("0.0E+00", Form.NUMBER), ("@", Form.NUMBER), ("\\d0", Form.NUMBER),
        ("_-* #,##0_-", Form.NUMBER), ("0 d", Form.NUMBER), ("", Form.NUMBER), ('[$USD] 0.00', Form.NUMBER),
    ],
)  # fmt: skip
def test_form_by_format_code(code: str, form: Form) -> None:
    assert form_of_code(code) is form


@pytest.mark.parametrize(
    ("text", "form", "shown"),
    [
        ("46082", Form.DATE, "2026-03-01"), ("46082.5", Form.DATE, "2026-03-01T12:00:00"),
        ("1", Form.DATE, "1900-01-01"),
        ("59", Form.DATE, "1900-02-28"), ("61", Form.DATE, "1900-03-01"), ("2958465", Form.DATE, "9999-12-31"),
        ("2958466", Form.DATE, "2958466"), ("-1", Form.DATE, "-1"), ("1e300", Form.DATE, "1e+300"),
        ("nan", Form.DATE, "nan"), ("soon", Form.DATE, "soon"), ("0.9999999", Form.TIME, "00:00:00"),
        ("46082.999999999", Form.DATE_TIME, "2026-03-02T00:00:00"), ("1.25", Form.DURATION, "30:00:00"),
        ("0.10000000000000001", Form.NUMBER, "0.1"), ("1E3", Form.NUMBER, "1000"), ("12.50", Form.NUMBER, "12.50"),
        ("3.0", Form.NUMBER, "3"), ("1E-7", Form.NUMBER, "1e-07"),
        ("12345678901234567890", Form.NUMBER, "1.2345678901234567e+19"),
    ],
)  # fmt: skip
def test_numbers_as_they_are_meant(text: str, form: Form, shown: str) -> None:
    assert shown_number(text, form, from_1904=False) == shown


def test_built_in_formats() -> None:
    forms = {number: form_of_number(number) for number in (0, 9, 14, 20, 22, 46, 49, 164)}
    assert forms[14] is Form.DATE
    assert forms[20] is Form.TIME
    assert forms[22] is Form.DATE_TIME
    assert forms[46] is Form.DURATION
    assert {forms[number] for number in (0, 9, 49, 164)} == {Form.NUMBER}


async def test_a_workbook_that_is_no_workbook_is_named() -> None:
    data = xlsx("", {"xl/workbook.xml": words("document", "")})
    assert (await read(data)).text == ""
