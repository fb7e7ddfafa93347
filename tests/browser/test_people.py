"""People in a real browser: who sees what of whom, a code that is shown once, and what another takes over."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.company import Company
from tests.browser.conftest import Enter
from tests.browser.test_every_page import grave


def test_a_principal_sees_accounts_and_a_member_only_their_own(enter: Enter) -> None:
    page = enter("marta").go("/people")
    page.get_by_label("Name").fill("cara")
    page.keyboard.press("Enter")  # as people do who type before the page's script is there
    expect(page.locator("#roster tbody tr")).to_have_count(1)
    page.get_by_role("link", name="Cara Lindt").click()
    expect(page.locator("#person")).to_contain_text("cara@localhost")
    ben = enter("ben").go("/people")
    ben.get_by_role("link", name="Cara Lindt").click()
    expect(ben.locator("#person")).to_contain_text("operations")
    assert "cara@localhost" not in ben.content()
    own = enter("ben").go("/people/ben")
    expect(own.locator("#person")).to_contain_text("ben@localhost")


def test_a_code_is_shown_once_and_can_be_called_off(enter: Enter) -> None:
    page = enter("marta").go("/people/cara")
    page.get_by_role("button", name="Link another account").click()
    code = page.locator(".pairing-code code").inner_text()
    assert len(code.replace("-", "")) == 12
    expect(page.locator("#claim")).to_contain_text("Nobody has sent it yet")
    assert grave(page) == []
    path = page.locator("#claim").get_attribute("hx-get")
    assert path is not None
    page.goto(page.url.partition("/people")[0] + path)
    assert code not in page.content()


def test_what_somebody_scheduled_is_handed_over(enter: Enter, company: Company) -> None:
    company.api("ben", "POST", "/api/schedules", {"sentence": "remind me every friday at 9:00 to count the vans"})
    page = enter("marta").go("/people/ben")
    page.get_by_role("link", name="Ben Okafor leaves").click()
    expect(page.locator("main")).to_contain_text("Take the entry [people.ben] out")
    assert grave(page) == []
    page.get_by_label("Goes to").select_option(label="Cara Lindt")
    page.get_by_role("button", name="Hand over").click()
    expect(page.locator(".notice")).to_contain_text("Cara Lindt has")
    cara = enter("cara").go("/schedule/list")
    expect(cara.locator("main")).to_contain_text("count the vans")


@pytest.mark.parametrize("phone", [False, True], ids=["wide", "phone"])
def test_its_pages_can_be_read_by_everybody(enter: Enter, phone: bool) -> None:
    visitor = enter("marta", phone=phone)
    for path in ("/people/marta", "/people/cara/leaving", "/people/cara/erase", "/people/places"):
        page = visitor.go(path)
        assert grave(page) == [], path
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
