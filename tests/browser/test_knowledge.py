"""Knowledge in a real browser: a file goes up, is read while its page waits, is decided about, and is found."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import FilePayload, Page, expect

from tests.browser.conftest import Enter
from tests.browser.test_every_page import grave

WORDS = "# Hotel policy\n\n## Nights\n\nA night in Lisbon may cost 190 EUR, breakfast included.\n"


def _file(name: str, words: str = WORDS) -> FilePayload:
    return {"name": name, "mimeType": "text/markdown", "buffer": words.encode()}


def _bring(page: Page, name: str, words: str = WORDS) -> None:
    form = page.locator("#bring")
    if not form.is_visible():
        page.get_by_text("Bring a document").click()
    form.locator("input[type=file]").set_input_files(_file(name, words))
    form.get_by_role("button", name="Bring").click()
    page.wait_for_url(re.compile(r"/knowledge/0"))


def test_a_file_is_brought_read_and_found(enter: Enter) -> None:
    page = enter("marta").go("/knowledge")
    _bring(page, "hotel.md")
    expect(page.locator(".passage .text")).to_have_text("A night in Lisbon may cost 190 EUR, breakfast included.")
    expect(page.locator("#document .tag")).to_have_text("in use")
    assert grave(page) == []
    page.get_by_role("link", name="Knowledge").first.click()
    page.get_by_role("link", name="Try a question").click()
    page.get_by_label("Question").fill("night in Lisbon")
    page.get_by_role("button", name="Try").click()
    first = page.locator("#found tbody tr").first
    expect(first).to_contain_text("190 EUR")
    expect(first.locator("[data-label='By words']")).to_contain_text("1.")
    first.get_by_role("link").click()
    expect(page.locator(".passage:target")).to_contain_text("190 EUR")


def test_what_a_member_brings_waits_and_is_decided_without_a_new_page(enter: Enter) -> None:
    ben, marta = enter("ben"), enter("marta")
    _bring(ben.go("/knowledge"), "sales.md", "# Sales guide\n\nWe answer within a day.\n")
    expect(ben.page.locator("#document .tag")).to_have_text("waits for a yes")
    where = ben.page.url.removeprefix(ben.url)
    cara = enter("cara")
    cara.expected.append(404)
    assert "Nothing is here" in cara.go(where).locator("h1").inner_text()
    page = marta.go(where)
    assert grave(page) == []
    page.get_by_role("button", name="Approve").click()
    expect(page.locator(".notice")).to_contain_text("is in use from now on")
    expect(ben.page.locator("#document .tag")).to_have_text("in use")


def test_what_cannot_be_taken_is_said_beside_the_form(enter: Enter) -> None:
    page = enter("marta").go("/knowledge")
    page.get_by_text("Bring a document").click()
    page.evaluate("document.querySelector('#bring').dataset.limit = 10")
    form = page.locator("#bring")
    form.locator("input[type=file]").set_input_files(_file("large.md"))
    form.get_by_role("button", name="Bring").click()
    expect(page.locator("#trouble")).to_contain_text("larger than")


@pytest.mark.parametrize("phone", [False, True], ids=["wide", "phone"])
def test_its_pages_can_be_read_by_everybody(enter: Enter, phone: bool) -> None:
    visitor = enter("marta", phone=phone)
    note = visitor.go("/knowledge/notes").locator("main ul a").first.get_attribute("href")
    assert note is not None
    for path in ("/knowledge/notes", note, "/knowledge/try?q=cash"):
        page = visitor.go(path)
        assert grave(page) == [], path
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
