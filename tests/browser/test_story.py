"""A new user's first quarter of an hour, in the browser alone, after `make run` and nothing else."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.company import Company
from tests.browser.conftest import Shoot, Visitor, free_port
from tests.browser.test_chat import say

QUICK = '[memory]\nsettle = "0s"\n'
"""Nobody is named, as after `make run`; what was said is read for memories at once, and not after a pause."""
MAIL = "Send a mail to kim@outside.example about the launch: Atlas launches on 9 April."


def _menu(page: Page, name: str) -> None:
    page.get_by_role("navigation", name="Pages").get_by_role("link", name=name).click()


@pytest.mark.timeout(300)
def test_from_the_printed_link_to_the_graph(chromium: Browser, shoot: Shoot) -> None:
    with TemporaryDirectory(prefix="oe-") as folder:
        company = Company(Path(folder), free_port(), roster=QUICK)
        link = company.start()
        context = chromium.new_context(viewport={"width": 1280, "height": 860}, locale="en-GB")
        visitor = Visitor(context.new_page(), context, company.url)
        visitor.watch()
        try:
            _story(visitor.page, link, company, shoot)
            visitor.sound()
        finally:
            context.close()
            company.stop()


def _story(page: Page, link: str, company: Company, shoot: Shoot) -> None:
    page.goto(link)
    page.get_by_role("button", name="Sign in in this browser").click()
    page.wait_for_url(company.url + "/")

    # Told to the executive, it stands among the memories, with the words that it rests on.
    _menu(page, "Chat")
    say(page, "We decided to launch Atlas on 2 April.")
    expect(page.locator("li.theirs")).to_have_count(1)
    say(page, "When does Atlas launch?")
    expect(page.locator("li.theirs .words").last).to_contain_text("2 April")
    conversation = page.url
    company.settled()
    _menu(page, "Memories")
    page.get_by_role("link", name="We decided to launch Atlas on 2 April.").click()
    expect(page.locator("figure.cited mark")).to_have_text("We decided to launch Atlas on 2 April.")

    # Put right: the history shows both wordings, and why; the next answer goes by the new one.
    page.get_by_label("It should say").fill("We decided to launch Atlas on 9 April.")
    correcting = page.locator("form", has=page.get_by_label("It should say"))
    correcting.get_by_label("Why").fill("the venue moved us")
    correcting.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("9 April")
    expect(page.locator("ol.history")).to_contain_text("the venue moved us")
    expect(page.locator("ol.history del").first).to_be_visible()
    expect(page.locator("ol.history ins").first).to_be_visible()
    memory = page.url
    page.goto(conversation)
    say(page, "When do we launch Atlas?")
    expect(page.locator("li.theirs .words").last).to_contain_text("9 April")

    # An action that needs a yes gets one, here.
    say(page, MAIL)
    expect(page.locator("li.theirs .words").last).to_contain_text("kim@outside.example")
    _menu(page, "Approvals")
    page.get_by_role("link", name="Send a mail").first.click()
    expect(page.locator(".payload")).to_contain_text("kim@outside.example")
    expect(page.locator(".payload")).to_contain_text("Atlas launches on 9 April.")
    shoot(page, "approval")
    page.get_by_role("button", name="Approve exactly this").click()
    expect(page.locator("#state .tag")).to_have_text("done")
    sent = [each.read_bytes() for each in (company.data / "maildir" / "new").iterdir()]
    assert len([each for each in sent if b"To: <kim@outside.example>" in each]) == 1

    # And all of it stands in the audit: the turn as a graph, from the words to the answer and what came of it.
    page.goto(memory)
    expect(page.locator("details.shaped")).not_to_have_count(0)
    shoot(page, "memory")
    shaped = page.locator("details.shaped").first
    if shaped.get_attribute("open") is None:
        shaped.locator("summary").click()
    shaped.get_by_role("link", name="This turn in the audit").click()
    graph = page.get_by_role("group", name="Graph of the turn")
    expect(graph).to_be_visible()
    expect(graph.locator("a[href^='/memories/']").first).to_be_visible()
    shoot(page, "graph")
    graph.locator("a[href^='/memories/']").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Atlas")
    _menu(page, "Audit")
    for words in ("remembered a decision", "edited memory", "said approve to proposal", "is done", "signed in"):
        expect(page.locator("ol.entries").get_by_text(words).first).to_be_visible()
