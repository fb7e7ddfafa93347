"""What holds on every page of the menu: it is there, quick to load, sound, reachable by keyboard, readable by all."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Response

from tests.browser.conftest import Enter, Shoot

PAGES = {
    "today": "/",
    "chat": "/chat",
    "memories": "/memories",
    "review": "/memories/review",
    "approvals": "/approvals",
    "schedule": "/schedule",
    "knowledge": "/knowledge",
    "audit": "/audit",
    "people": "/people",
    "settings": "/settings",
}
LIGHT = 150_000
"""Bytes of a first page with all that it asks for."""
GRAVE = ("serious", "critical")


def grave(page: Page) -> list[str]:
    """What axe finds that keeps somebody out (WCAG 2.2 A and AA)."""
    found = Axe().run(page).response["violations"]
    return [
        f"{each['id']}: {each['help']}: {[node['html'][:200] for node in each['nodes'][:3]]}"
        for each in found
        if each["impact"] in GRAVE
    ]


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("phone", [False, True], ids=["wide", "phone"])
def test_a_page_can_be_read_by_everybody(enter: Enter, shoot: Shoot, name: str, dark: bool, phone: bool) -> None:
    visitor = enter("marta", phone=phone, dark=dark)
    page = visitor.go(PAGES[name])
    assert grave(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "it scrolls sideways"
    assert page.locator("h1").count() == 1
    if name != "chat" and (not (dark or phone) or (name == "today" and not (dark and phone))):
        shoot(page, f"{name}{'-dark' if dark else ''}{'-phone' if phone else ''}")


@pytest.mark.parametrize("name", PAGES)
def test_a_first_page_is_light(enter: Enter, name: str) -> None:
    """With all that it asks for, and nothing kept from before."""
    visitor = enter("marta")
    answers: list[Response] = []
    visitor.page.on("response", lambda answer: answers.append(answer))
    visitor.page.route("**/*", lambda route: route.continue_())  # the browser's cache is off while requests are routed
    visitor.go(PAGES[name]).wait_for_load_state("load")
    bodies = [answer for answer in answers if not answer.url.endswith("/events")]
    assert len(bodies) >= 4
    assert sum(len(answer.body()) for answer in bodies) < LIGHT


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_reached_from_the_menu_and_its_first_stop_is_the_way_past_it(enter: Enter, name: str) -> None:
    visitor = enter("marta")
    page = visitor.go(PAGES[name])
    first = page.evaluate("document.querySelector('a[href], button, input, select, textarea').textContent")
    assert first == "Skip to the page"
    page.locator(".skip").focus()  # the chat begins in its own field
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_on_a_phone_the_menu_opens_and_leads_on(enter: Enter) -> None:
    page = enter("marta", phone=True).go("/")
    menu = page.get_by_role("navigation", name="Pages")
    assert not menu.is_visible()
    page.get_by_role("button", name="Menu").click()
    menu.get_by_role("link", name="Memories").click()
    page.wait_for_url("**/memories")
    assert page.get_by_role("heading", level=1).inner_text() == "Memories"
