"""The chat in a real browser: said with Enter, answered while one looks, with a file, on a phone, beside another."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import FilePayload, Page, expect

from tests.browser.conftest import Enter, Shoot
from tests.browser.test_every_page import grave

HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>'


def begin(page: Page) -> None:
    page.get_by_role("link", name="New conversation").click()
    expect(page.get_by_text("Ask, or tell the executive something")).to_be_visible()


def say(page: Page, text: str) -> None:
    page.get_by_label("Message to the executive").fill(text)
    page.keyboard.press("Enter")
    expect(page.locator("li.mine .words").last).to_have_text(text)


def test_what_is_said_with_enter_is_answered_while_one_looks(enter: Enter, shoot: Shoot) -> None:
    visitor = enter("marta")
    page = visitor.go("/chat")
    begin(page)
    say(page, "Our office rent is 900 a month.")
    expect(page.locator("li.theirs")).to_have_count(1)
    say(page, "How much is our office rent?")
    expect(page.locator("li.theirs .words").last).to_contain_text("900")
    expect(page.locator("#stop")).to_be_hidden()
    assert re.fullmatch(r".*/chat/[0-9a-f]{32}", page.url), "the conversation has an address to come back to"
    expect(page.locator(".beside [aria-current] .title")).to_have_text("Our office rent is 900 a month.")
    assert grave(page) == []
    shoot(page, "chat")
    page.reload()
    expect(page.locator("li.mine")).to_have_count(2)
    expect(page.locator("li.theirs")).to_have_count(2)


def test_shift_and_enter_begins_a_line(enter: Enter) -> None:
    page = enter("marta").go("/chat")
    begin(page)
    page.get_by_label("Message to the executive").fill("one")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("two")
    expect(page.locator("li.mine")).to_have_count(0)
    page.keyboard.press("Enter")
    expect(page.locator("li.mine .words")).to_have_text("one\ntwo")


def test_a_file_goes_along_and_can_be_taken_out_again(enter: Enter) -> None:
    page = enter("marta").go("/chat")
    begin(page)
    files: list[FilePayload] = [
        {"name": name, "mimeType": "text/plain", "buffer": b"The rent is 900."} for name in ("plan.txt", "b.txt")
    ]
    page.locator("#file").set_input_files(files)
    expect(page.locator("#files li progress")).to_have_count(0)
    page.locator("#files li", has_text="b.txt").get_by_role("button", name="Remove").click()
    say(page, "What does the plan say of the rent?")
    expect(page.locator("li.mine .files a")).to_have_text("plan.txt")
    with page.expect_download() as loading:
        page.locator("li.mine .files a").click()
    assert loading.value.path().read_bytes() == b"The rent is 900."
    expect(page.locator("li.theirs")).to_have_count(1)


def test_two_people_side_by_side_see_their_own(enter: Enter) -> None:
    marta, ben = enter("marta"), enter("ben")
    hers, his = marta.go("/chat"), ben.go("/chat")
    begin(hers)
    begin(his)
    say(hers, "The PAPAYA offer is confidential.")
    say(his, "What about the PINEAPPLE offer?")
    expect(hers.locator("li.theirs")).to_have_count(1)
    expect(his.locator("li.theirs")).to_have_count(1)
    assert "PAPAYA" not in his.content()
    ben.expected = [404]
    ben.go(hers.url.removeprefix(marta.url))
    expect(his.get_by_role("heading", name="Nothing is here")).to_be_visible()
    assert "PAPAYA" not in ben.go("/chat/all").content()


@pytest.mark.parametrize("phone", [False, True], ids=["wide", "phone"])
def test_hostile_words_are_read_and_not_run(enter: Enter, phone: bool) -> None:
    visitor = enter("marta", phone=phone)
    page = visitor.go("/chat/new")
    title = page.title()
    say(page, HOSTILE)
    expect(page.locator("li.theirs")).to_have_count(1)
    assert page.title() == title
    assert page.locator("main script, main img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "it scrolls sideways"


def test_what_was_said_is_found_again(enter: Enter) -> None:
    visitor = enter("marta")
    page = visitor.go("/chat/new")
    say(page, "The zeppelin lands on Friday.")
    expect(page.locator("li.theirs")).to_have_count(1)
    visitor.go("/chat/all")
    page.get_by_label("Words that were said").fill("zeppelin")
    page.locator(".found a", has_text="The zeppelin lands").first.click()
    expect(page.locator("li.sought .words")).to_contain_text("zeppelin")
    assert grave(page) == []
