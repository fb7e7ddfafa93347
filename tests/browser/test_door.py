"""Signing in and out in a real browser, and what a page does when the session is gone."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.company import Company
from tests.browser.conftest import Enter
from tests.browser.test_every_page import PAGES, grave


def test_the_link_that_the_start_prints_opens_today_and_holds_once(enter: Enter, company: Company) -> None:
    visitor = enter(None)
    page, link = visitor.page, company.link("marta")
    page.goto(link)
    assert grave(page) == []
    page.get_by_role("button", name="Sign in in this browser").click()
    page.wait_for_url(company.url + "/")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Marta")

    other = enter(None)
    other.expected.append(403)
    other.page.goto(link)
    expect(other.page.get_by_role("alert")).to_contain_text("used already")
    assert grave(other.page) == []


def test_signing_out_leads_to_the_door_and_pages_are_closed(enter: Enter, company: Company) -> None:
    page = enter("ben", fresh=True).page
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(company.url + "/sign-in")
    assert grave(page) == []
    for path in PAGES.values():
        page.goto(company.url + path)
        assert page.url.startswith(company.url + "/sign-in"), path
    page.go_back()
    expect(page.get_by_text("Ben Okafor")).to_have_count(0)


def test_where_one_wanted_to_go_one_gets_after_signing_in(enter: Enter, company: Company) -> None:
    visitor = enter(None)
    page = visitor.page
    page.goto(company.url + "/memories?kind=decision")
    assert page.url.startswith(company.url + "/sign-in?next=")
    page.goto(company.link("marta"))
    page.get_by_role("button", name="Sign in in this browser").click()
    page.wait_for_url(company.url + "/memories?kind=decision")


def test_a_page_that_stood_open_while_its_session_ended_leads_to_the_door(enter: Enter, company: Company) -> None:
    first, second = enter("cara", fresh=True), enter("cara", fresh=True)
    first.go("/memories")
    second.go("/settings/access")
    second.page.get_by_role("button", name="Sign out everywhere").click()
    second.page.wait_for_url(company.url + "/sign-in")
    first.expected.append(401)
    first.page.get_by_role("link", name="Approvals").click()
    first.page.wait_for_url("**/sign-in?next=*")


def test_a_form_whose_guard_was_forged_does_nothing_and_says_so(enter: Enter, company: Company) -> None:
    visitor = enter("ben")
    visitor.expected.append(403)
    page = visitor.go("/")
    page.evaluate("document.querySelector('form.whoami input[name=csrf]').value = '0'.repeat(64)")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("not from your session")).to_be_visible()
    page.goto(company.url + "/")
    expect(page.get_by_role("navigation").get_by_text("Ben Okafor")).to_be_visible()
    refused = company.command("audit", "show", "--type", "auth_refused", "--last", "50")
    assert refused is not None


@pytest.mark.parametrize("path", ["/memories/nothing", "/approvals/nothing", "/chat/nothing", "/nowhere"])
def test_what_is_not_there_has_a_page_of_its_own(enter: Enter, path: str) -> None:
    visitor = enter("ben")
    visitor.expected.append(404)
    page = visitor.go(path)
    expect(page.get_by_role("heading", level=1)).to_have_text("Nothing is here")
    assert grave(page) == []
