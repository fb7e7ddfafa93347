"""What a browser may be made to bring along: numbers, paths and cookies that nobody here wrote."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from itertools import product
from urllib.parse import quote

import pytest

from bot.knowledge.model import Origin
from bot.knowledge.service import Bringing
from tests.web.console.site import Browser, Site

NUMBERS = ("-1", "9" * 19, "9" * 30, "9" * 5_000, "1e3", quote("\u00b2"), quote("\u0663"), "%00", "%ff")


async def test_a_number_that_is_none_is_not_there_or_says_nothing(site: Site) -> None:
    ada = await site.enter("ada")
    kept = await site.documents.blobs.put(b"# Terms\n\nThe lease ends in June.", 1_000)
    bringing = Bringing(None, Origin.COMMAND, "company")
    document = (await site.documents.library.ingest(kept.id, "terms.md", bringing)).id
    for number in NUMBERS:
        paths = (
            f"/chat/all?q=lease&before={number}",
            f"/audit?before={number}",
            f"/audit/sessions/x?before={number}",
            f"/knowledge/{document}/passages?after={number}",
            f"/memories?before={number}",
            f"/memories?q=lease&order=newest&before={number}",
            f"/settings/spending?days={number}",
        )
        for path in paths:
            assert (await ada.go(path)).status in (200, 404, 422), path


@pytest.mark.parametrize("wanted", ["/people?q=\u20ac", "/\ufffd", "/memories?q=\u65e5\u672c"])
async def test_the_way_back_may_be_written_in_any_letters(site: Site, wanted: str) -> None:
    browser, path = site.browser(), f"/sign-in/{await site.link('ada')}"
    assert (await browser.go(f"/sign-in?next={quote(wanted)}")).status == 200
    await browser.go(path)
    answer = await browser.post(path, allow_redirects=False)
    assert answer.headers["Location"] == quote(wanted, safe="/?=")

    moved = await browser.part("/memories/bulk", method="POST", data={"act": "accept", "memory": "x:1", "back": wanted})
    assert moved.status == 403  # no guard yet: the page that holds it was not loaded
    await browser.go("/people")
    moved = await browser.part("/memories/bulk", method="POST", data={"act": "accept", "memory": "x:1", "back": wanted})
    assert (moved.status, moved.headers["HX-Location"]) == (200, quote(wanted, safe="/?="))


async def test_a_very_long_way_back_is_forgotten(site: Site) -> None:
    answer = await site.browser().go(f"/sign-in?next=/{'a' * 10_000}")
    assert answer.status == 200
    assert all(len(each) < 300 for each in answer.headers.getall("Set-Cookie"))  # type: ignore[attr-defined]


FORGED = (
    json.dumps(["Your session ends: confirm", ["/sign-out-everywhere", []]]),
    json.dumps(["Confirm", ["https://example.org/", [["a", "b"]]]]),
    json.dumps(["Confirm", {"path": "/"}]),
    '["\\ud800", null]',
    "[" * 20_000,
    "5",
    "",
)


async def test_a_notice_that_was_not_left_here_is_not_shown(site: Site) -> None:
    ada = await site.enter("ada")
    for told, proof in product(FORGED, ("", ".", ".x", f".{'0' * 64}", "\u00e9")):
        status, text = await _with_notice(ada, urlsafe_b64encode(told.encode()).decode() + proof)
        assert (status, "onfirm" in text) == (200, False), (told[:40], proof)


async def test_a_notice_is_one_browser_s_own(site: Site) -> None:
    first, second = await site.enter("ada"), await site.enter("ada")
    await first.go("/people")
    await first.post("/memories/bulk", {"act": "accept", "memory": "x:1"}, allow_redirects=False)
    left = first.cookie("oe_notice") or ""
    assert left
    words = "left: changed meanwhile"
    assert words not in (await _with_notice(second, left))[1]
    assert words in (await _with_notice(first, left))[1]


async def _with_notice(browser: Browser, left: str) -> tuple[int, str]:
    cookies = f"oe={browser.cookie('oe')}; oe_notice={left}"
    answer = await browser.go("/people", headers={"Cookie": cookies})
    return answer.status, answer.text
