"""Memories in a real browser: gone through by keys, decided about at once, undone, forgotten after a look."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.company import Company
from tests.browser.conftest import Enter
from tests.browser.test_every_page import grave


def waits(company: Company, *payees: str) -> None:
    """What is about money waits for a yes."""
    for payee in payees:
        company.say(f"Our payee is {payee} Bank.")


def item(page: Page, text: str) -> Locator:
    return page.locator("li[data-item]", has_text=text)


def test_what_waits_is_gone_through_by_keys_and_undone(enter: Enter, company: Company) -> None:
    waits(company, "Borealis", "Cygnus")
    page = enter("marta").go("/memories/review")
    assert grave(page) == []
    first = page.locator("li[data-item]").first
    expect(first).to_contain_text("Cygnus")
    expect(first).to_have_class(re.compile("chosen"))
    page.keyboard.press("j")
    expect(page.locator("li.chosen")).to_contain_text("Borealis")
    page.keyboard.press("a")
    expect(page.locator("#queue").get_by_role("status")).to_contain_text("1 accepted.")
    expect(item(page, "Borealis")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("status")).to_contain_text("1 memory is as before")
    expect(item(page, "Borealis")).to_have_count(1)

    for name in ("Cygnus", "Borealis"):
        item(page, name).get_by_role("checkbox").check()
    page.get_by_label("Why, for all that are chosen").fill("both were jokes")
    page.get_by_role("button", name="Reject the chosen").click()
    expect(page.get_by_role("status")).to_contain_text("2 rejected.")
    expect(item(page, "Cygnus")).to_have_count(0)


def test_a_memory_is_looked_at_and_forgotten_and_nobody_else_saw_it(enter: Enter, company: Company) -> None:
    company.say("We decided to name the cat of the office Quillon.", thread="cats")
    page = enter("marta").go("/memories?q=Quillon&order=newest")
    page.get_by_role("link", name="Quillon").click()
    expect(page.locator("figure.cited mark")).to_contain_text("Quillon")
    assert grave(page) == []
    of = page.url.removeprefix(company.url)
    ben = enter("ben")
    ben.expected.append(404)
    expect(ben.go(of).get_by_role("heading", level=1)).to_have_text("Nothing is here")
    page.get_by_role("link", name="All that this message brought").click()
    assert grave(page) == []
    page.go_back()
    page.get_by_role("link", name=re.compile("Forget it")).click()
    expect(page.locator(".message del").first).to_contain_text("Quillon")
    assert grave(page) == []
    page.get_by_label("Why").fill("it ran away")
    page.get_by_role("button", name="Forget it for good").click()
    expect(page.get_by_role("status")).to_contain_text("Forgotten: 1 memory")
    assert "Quillon" not in enter("marta").go("/memories?status=all").inner_text("main")
