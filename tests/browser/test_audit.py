"""Audit and settings in a real browser: filters without a new page, a graph that leads on, the chain, a token."""

from __future__ import annotations

import json
import re

from playwright.sync_api import expect

from tests.browser.company import Company
from tests.browser.conftest import Enter
from tests.browser.test_every_page import grave


def test_filters_are_answered_in_place_and_stand_in_the_address(enter: Enter, company: Company) -> None:
    company.say("We decided to meet on Thursdays.", "meeting")
    page = enter("marta").go("/audit")
    page.locator("select[name=type]").select_option("memory")
    page.wait_for_url(re.compile(r"type=memory"))
    rows = page.locator("ol.entries > li")
    expect(rows.filter(has_text="signed in with a browser")).to_have_count(0)
    expect(rows.filter(has_text="remembered a decision").first).to_be_visible()
    page.locator("select[name=who]").select_option(label="Ben Okafor")
    page.wait_for_url(re.compile(r"who=ben"))
    expect(page.get_by_text("Nothing here that you may see.")).to_be_visible()
    page.reload()
    expect(page.locator("select[name=type]")).to_have_value("memory")
    assert grave(page) == []


def test_a_memory_is_followed_from_the_words_to_later_answers(enter: Enter, company: Company) -> None:
    company.say("We decided to paint the office green.", "paint")
    company.say("What did we decide about the office?", "paint")
    page = enter("marta").go("/audit?type=memory_written")
    entry = page.locator("ol.entries > li").filter(has_text="remembered a decision").first
    entry.get_by_role("link", name="its turn as a graph").click()
    page.wait_for_url("**/audit/turns/*")
    graph = page.locator("svg.graph")
    assert grave(page) == []
    said = graph.get_by_role("link", name=re.compile("^Message"))
    said.focus()
    page.keyboard.press("Enter")
    expect(page.locator("article:target")).to_contain_text("We decided to paint the office green.")
    graph.get_by_role("link", name=re.compile("^Later answer")).first.click()
    expect(page.locator("article.said").first).to_contain_text("What did we decide about the office?")
    page.go_back()
    graph.get_by_role("link", name=re.compile("^Remembered")).click()
    page.wait_for_url("**/memories/*")
    expect(page.locator("main")).to_contain_text("paint the office green")


def test_two_people_see_each_their_own(enter: Enter) -> None:
    marta, ben = enter("marta"), enter("ben")
    turn = marta.go("/audit").locator("a[href^='/audit/turns/']").first.get_attribute("href")
    assert turn is not None
    ben.expected.append(404)
    assert "Nothing is here" in ben.go(turn).locator("h1").inner_text()
    page = ben.go("/audit")
    assert page.locator(f"a[href='{turn}']").count() == 0
    assert page.locator("form[action='/audit/chain']").count() == 0
    assert "answered in" in page.locator("ol.entries").inner_text()
    ben.expected.append(404)
    ben.go("/settings/all")


def test_the_chain_is_checked_while_one_waits(enter: Enter) -> None:
    page = enter("marta").go("/audit")
    page.get_by_role("button", name="Check the whole chain").click()
    expect(page.locator("#chain")).to_contain_text("Checked as a whole", timeout=60_000)
    expect(page.locator("#chain")).to_contain_text("sound")


def test_a_copy_is_taken_away(enter: Enter) -> None:
    page = enter("marta").go("/audit?type=memory")
    with page.expect_download() as coming:
        page.get_by_role("link", name="Take a copy away").click()
    lines = coming.value.path().read_text().splitlines()
    assert lines
    assert all(json.loads(line)["type"].startswith(("memory_", "extraction_")) for line in lines)


def test_health_settings_and_a_token_of_ones_own(enter: Enter) -> None:
    visitor = enter("marta")
    page = visitor.go("/settings")
    expect(page.locator(".cards h3").filter(has_text="Terminal")).to_contain_text("works")
    expect(page.locator("#storage table")).to_contain_text("The store")
    page.get_by_role("link", name="Settings in force").click()
    expect(page.locator("main")).to_contain_text("company.time_zone")
    page.get_by_role("link", name="Browsers and tokens").click()
    expect(page.get_by_text("this browser").first).to_be_visible()
    page.get_by_label("What it is for").fill("a script")
    page.get_by_role("button", name="Make a token").click()
    secret = page.get_by_label("Token", exact=True).input_value()
    assert secret.startswith("oe_")
    assert grave(page) == []
    page = visitor.go("/settings/access")
    assert secret not in page.content()
    page.get_by_role("button", name="Revoke a script").first.click()
    expect(page.get_by_role("status")).to_contain_text("The token is revoked")
    page.get_by_role("link", name="Spending").click()
    expect(page.get_by_role("heading", name="By day")).to_be_visible()
    assert grave(page) == []


def test_on_a_phone_graph_and_settings_stay_within_the_page(enter: Enter) -> None:
    visitor = enter("marta", phone=True)
    page = visitor.go("/audit")
    page.locator("a[href^='/audit/turns/']").first.click()
    page.wait_for_url("**/audit/turns/*")
    for path in (None, "/settings/all?show=all", "/settings/access", "/settings/spending"):
        page = page if path is None else visitor.go(path)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        assert grave(page) == [], path
