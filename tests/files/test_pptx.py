"""PowerPoint as Markdown, slide by slide; pages and slides can be told apart where that is asked for."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from bot.files.extract import Extractor
from bot.files.model import Extracted, Unreadable
from bot.files.sandbox import Sandbox
from bot.files.sniff import sniff
from bot.files.wire import Reason
from tests.files import samples
from tests.files.office_samples import R, claiming, package, relations

P = "http://schemas.openxmlformats.org/presentationml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"


def shape(text: str, kind: str = "", level: int = 0) -> str:
    placeholder = f'<p:ph type="{kind}"/>' if kind else ""
    lines = "".join(f'<a:p><a:pPr lvl="{level}"/><a:r><a:t>{line}</a:t></a:r></a:p>' for line in text.split("\n"))
    return f"<p:sp><p:nvSpPr><p:nvPr>{placeholder}</p:nvPr></p:nvSpPr><p:txBody>{lines}</p:txBody></p:sp>"


def table(*rows: tuple[str, ...]) -> str:
    cells = "".join(
        "<a:tr>"
        + "".join(f"<a:tc><a:txBody><a:p><a:r><a:t>{c}</a:t></a:r></a:p></a:txBody></a:tc>" for c in row)
        + "</a:tr>"
        for row in rows
    )
    return (
        f"<p:graphicFrame><a:graphic><a:graphicData><a:tbl>{cells}</a:tbl></a:graphicData></a:graphic></p:graphicFrame>"
    )


def pptx(*slides: str, hidden: int | None = None, parts: Mapping[str, str] | None = None, prolog: str = "") -> bytes:
    """Slides of these shapes, named in the reverse order of their numbers, as a program may have left them."""
    names = [f"slides/slide{len(slides) - number}.xml" for number in range(len(slides))]
    listed = "".join(f'<p:sldId id="{256 + n}" r:id="r{n}"/>' for n in range(len(slides)))
    made: dict[str, str] = {
        "_rels/.rels": relations(("r1", "officeDocument", "ppt/presentation.xml")),
        "ppt/presentation.xml": f'<p:presentation xmlns:p="{P}" xmlns:r="{R}"><p:sldIdLst>{listed}</p:sldIdLst>'
        "</p:presentation>",
        "ppt/_rels/presentation.xml.rels": relations(*((f"r{n}", "slide", name) for n, name in enumerate(names))),
    }
    for number, (name, shapes) in enumerate(zip(names, slides, strict=True)):
        show = ' show="0"' if number == hidden else ""
        made[f"ppt/{name}"] = (
            f'{prolog}<p:sld xmlns:p="{P}" xmlns:a="{A}" xmlns:r="{R}"{show}>'
            f"<p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>"
        )
    return package({**made, **(parts or {})})


async def read(data: bytes, *, page_ends: bool = False) -> Extracted | Unreadable:
    return await Extractor(Sandbox(), page_ends=page_ends).extract(data, sniff(data))


async def test_slides_come_in_their_order_with_title_text_table_and_notes() -> None:
    said = shape("x", "sldNum") + shape("Say hello", "body")
    notes = f'<p:notes xmlns:p="{P}" xmlns:a="{A}"><p:cSld><p:spTree>{said}</p:spTree></p:cSld></p:notes>'
    data = pptx(
        shape("Plan 2026", "ctrTitle") + shape("7", "sldNum") + shape("first\nsecond", "body", 1),
        shape("Costs", "title") + table(("item", "EUR"), ("rent", "9")) + "<p:pic/>",
        parts={
            "ppt/notesSlides/n1.xml": notes,
            "ppt/slides/_rels/slide2.xml.rels": relations(("r1", "notesSlide", "../notesSlides/n1.xml")),
        },
    )
    found = await read(data)
    assert isinstance(found, Extracted), found
    assert found.text == (
        "## Slide 1: Plan 2026\n\n  first\n  second\n\nNotes: Say hello\n\n"
        "## Slide 2: Costs\n\n| item | EUR |\n| --- | --- |\n| rent | 9 |"
    )
    assert found.pages == 2
    assert found.note == "Pictures, charts and drawings in it were not read (1)."


async def test_hidden_slides_are_left_out_and_named() -> None:
    found = await read(pptx(shape("open"), shape("covert"), hidden=1))
    assert isinstance(found, Extracted)
    assert "covert" not in found.text
    assert found.note == "Hidden slides were left out (1)."


async def test_where_a_slide_ends_can_be_asked_for() -> None:
    found = await read(pptx(shape("one"), "<p:pic/>", shape("three")), page_ends=True)
    assert isinstance(found, Extracted)
    assert [page.strip().rpartition("\n")[2] for page in found.text.split("\f")] == ["one", "", "three"]


async def test_where_a_page_of_a_pdf_ends_can_be_asked_for_and_is_not_told_unasked() -> None:
    data = samples.pdf(b"", samples.page("two"), b"", samples.page("four"), b"")
    found = await read(data, page_ends=True)
    assert isinstance(found, Extracted)
    assert [page.strip() for page in found.text.split("\f")] == ["", "two", "", "four"]
    plain = await read(data)
    assert isinstance(plain, Extracted)
    assert plain.text == "two\n\nfour"


async def test_what_is_not_paged_has_no_page_ends() -> None:
    found = await read(b"one\x0ctwo", page_ends=True)
    assert isinstance(found, Extracted)
    assert found.text == "onetwo"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (pptx("<p:pic/>"), Reason.NO_TEXT_LAYER),
        (pptx(shape("x"), prolog='<!DOCTYPE p [<!ENTITY e "boom">]>'), Reason.DAMAGED),
        (pptx(shape("x"))[:-200], Reason.DAMAGED),
        (claiming(pptx(shape("x")), "ppt/slides/slide1.xml", 0xFFFFFFF0), Reason.TOO_LARGE),
    ],
    ids=["pictures only", "entities", "cut", "bomb"],
)
async def test_what_cannot_be_read_says_why(data: bytes, reason: Reason) -> None:
    found = await read(data)
    assert isinstance(found, Unreadable)
    assert found.reason is reason
    assert found.detail.endswith(".")
