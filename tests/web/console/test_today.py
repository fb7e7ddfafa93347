"""Today: what waits, what is due, and nothing of anybody else's."""

from __future__ import annotations

from tests.web.console.site import Site


async def test_the_first_page_greets_with_an_empty_day(site: Site) -> None:
    browser = await site.enter("ada")
    page = await browser.go("/")
    assert page.status == 200
    assert "Nothing waits for you" in page.words
    assert [each.get("href") for each in page.all("nav [aria-current]")] == ["/"]
