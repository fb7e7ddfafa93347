"""The morning's pages in a real browser: what waits is decided, an edit is compared, dates are shown before."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.company import Company
from tests.browser.conftest import Enter
from tests.browser.test_every_page import grave

MAIL = "Send a mail to {to} about the stand: We take the stand by the door."


def asks(company: Company, to: str) -> None:
    """Marta has a mail to somebody put forward. (What asks her by mail waits for a mail server that is not there.)"""
    company.command("chat", "-m", MAIL.format(to=to))


def test_a_mail_is_edited_in_view_and_approved_while_today_follows(enter: Enter, company: Company) -> None:
    asks(company, "kim@fair.example")
    today = enter("marta").go("/")
    waiting = today.locator(".my-word li", has_text="kim@fair.example")
    expect(waiting.locator("[data-until]")).to_have_text(re.compile(r"\d+ h \d+ min left"))

    page = enter("marta").go("/approvals")
    page.locator("li", has_text="kim@fair.example").get_by_role("link").click()
    expect(page.locator(".payload")).to_contain_text("We take the stand by the door.")
    assert grave(page) == []
    page.get_by_text("Change the text, and approve that").click()
    page.get_by_label("The whole new text").fill("We take the stand by the window.")
    expect(page.locator("#difference ins")).to_have_text("window")
    expect(page.locator("#difference del")).to_have_text("door")
    page.get_by_role("button", name="Approve with this text").click()
    expect(page.get_by_role("status")).to_contain_text("Approved with your edit")
    expect(page.locator(".difference ins")).to_have_text("window")

    expect(waiting).to_have_count(0)  # by itself: nobody loaded the page anew


def test_who_is_not_asked_sees_nothing_of_it(enter: Enter, company: Company) -> None:
    asks(company, "lea@fair.example")
    marta = enter("marta").go("/approvals")
    of = marta.locator("li", has_text="lea@fair.example").get_by_role("link").get_attribute("href")
    ben = enter("ben")
    ben.expected.append(404)
    assert "lea@fair.example" not in ben.go("/approvals").inner_text("main")
    assert "lea@fair.example" not in ben.go("/").inner_text("main")
    expect(ben.go(str(of)).get_by_role("heading", level=1)).to_have_text("Nothing is here")


def test_a_schedule_shows_its_dates_before_it_is_stored_and_is_taken_back(enter: Enter) -> None:
    page = enter("ben").go("/schedule")
    page.get_by_label("New, in your own words").fill("remind me every Monday at 9:15 to water the plants")
    page.get_by_role("button", name="Show the dates").click()
    expect(page.locator(".previewed .dates li")).to_have_count(3)
    expect(page.locator(".previewed .dates li").first).to_have_text(re.compile(r"Mon \d+ \w+ \d+, 09:15"))
    assert grave(page) == []
    page.get_by_role("button", name="Schedule it").click()
    expect(page.get_by_role("status")).to_contain_text("water the plants")
    page.get_by_role("link", name="List").click()
    entry = page.locator("li", has_text="Water the plants")
    entry.get_by_role("switch").click()
    expect(page.get_by_role("status")).to_contain_text("Paused")
    page.get_by_role("button", name="Resume").click()
    page.get_by_role("button", name="Remove").click()
    page.get_by_role("status").get_by_role("button", name="Undo").click()
    expect(page.get_by_role("status")).to_contain_text("Taken back")
    page.get_by_role("button", name="Remove").click()
    expect(page.locator("li", has_text="water the plants")).to_have_count(0)


def test_what_is_unclear_is_asked_back_in_place(enter: Enter) -> None:
    visitor = enter("ben")
    visitor.expected.append(422)
    page = visitor.go("/schedule")
    page.get_by_label("New, in your own words").fill("remind me at 3 to eat")
    page.get_by_role("button", name="Show the dates").click()
    expect(page.locator("#preview")).to_contain_text("03:00 or 15:00")


def test_what_comes_unasked_is_switched_on_by_one_button(enter: Enter) -> None:
    page = enter("ben").go("/")
    page.get_by_role("button", name="Switch on: What waits for you").click()
    expect(page.get_by_role("status")).to_contain_text("Scheduled: nudge")
    expect(page.get_by_role("button", name="Switch on: What waits for you")).to_have_count(0)
    expect(page.locator("section", has=page.get_by_role("heading", name="Off until you choose it"))).to_be_visible()


def test_how_reliable_a_class_was_can_be_read_by_everybody(enter: Enter) -> None:
    for phone in (False, True):
        page = enter("marta", phone=phone).go("/approvals/classes")
        page.get_by_role("link", name="Send email").click()
        expect(page.locator("svg.rates")).to_be_visible()
        assert grave(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
