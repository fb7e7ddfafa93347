"""Words from outside stay words on every page, wherever they come from."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.company import Company
from tests.browser.conftest import Enter, Visitor
from tests.browser.test_every_page import PAGES

EVIL = '"><img src=x onerror="window.broken=1"><script>window.broken=1</script>'


@pytest.fixture(scope="module")
def poisoned(company: Company) -> Company:
    """Subjects, messages, memories, file names, names of senders and of documents that would run if they could."""
    company.mail(f'"{EVIL[2:20]}" <ben@localhost>', f"Plan {EVIL}", f"We decided to buy {EVIL} in June.")
    company.say(f"We decided to rename the product {EVIL} in May.")
    company.say(f"Initiative: {EVIL} by June.")
    company.say(f"remind me tomorrow at 9:00 to {EVIL}")
    company.say(f"/correct {EVIL}")
    named = company.home / "a'\"><svg onload=window.broken=1>.md"
    named.write_text(f"# {EVIL}\n\nWe sell {EVIL} to everyone.\n")
    company.command("knowledge", "add", str(named))
    return company


def _links(page: Page) -> list[str]:
    found: list[str] = page.eval_on_selector_all("main a[href^='/']", "all => all.map(a => a.getAttribute('href'))")
    return found


def _is_page(visitor: Visitor, path: str) -> bool:
    """And no file to take away."""
    answer = visitor.context.request.get(visitor.url + path)
    return answer.headers.get("content-type", "").startswith("text/html")


@pytest.mark.timeout(300)
def test_nothing_that_came_from_outside_runs_on_any_page(enter: Enter, poisoned: Company) -> None:
    visitor = enter("marta")
    seen: set[str] = set()
    queue = list(PAGES.values())
    while queue and len(seen) < 120:
        path = queue.pop(0)
        if path in seen:
            continue
        seen.add(path)
        if not _is_page(visitor, path):
            continue
        page = visitor.go(path)
        assert page.evaluate("window.broken") is None, path
        assert page.locator("main img[src=x], main svg[onload]").count() == 0, path
        queue += [each for each in _links(page) if each not in seen]
    assert len(seen) > len(PAGES)
