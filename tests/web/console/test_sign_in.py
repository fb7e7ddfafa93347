"""The door: links that hold once, in one browser; sessions that end; forms that only their own session can post."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
import sqlalchemy as sa

from bot.audit.tables import audit
from bot.kernel.ids import PersonId
from bot.people import browsers
from bot.people import store as people
from bot.people.tables import browser_session, sign_in_link
from bot.people.tokens import digest
from tests.memory.desk import Desk
from tests.sessions.rooms import BOSS
from tests.web.console.site import Browser, Site, serving

EVENTS = "/events"


async def _rows(site: Site, kind: str) -> list[dict[str, object]]:
    query = sa.select(audit.c.payload, audit.c.actor).where(audit.c.type == kind).order_by(audit.c.id)
    found = await site.desk.rooms.database.read(lambda c: c.execute(query).all())
    return [{**json.loads(row.payload), "by": row.actor} for row in found]


async def _is_in(browser: Browser) -> bool:
    answer = await browser.go("/sign-in", allow_redirects=False)
    return answer.status == 303


async def test_a_link_lets_in_once_and_is_not_used_up_by_being_looked_at(site: Site) -> None:
    path = f"/sign-in/{await site.link('ada')}"
    preview = site.browser()
    assert (await preview.go(path)).status == 200
    assert not await _is_in(preview)

    browser = site.browser()
    page = await browser.go(path)
    assert "Welcome, ada" in page.words
    answer = await browser.post(path, allow_redirects=False)
    assert (answer.status, answer.headers["Location"]) == (303, "/")
    assert await _is_in(browser)
    assert [each["by"] for each in await _rows(site, "auth_login")] == ["ada"]

    again = site.browser()
    refused = await again.go(path)
    assert refused.status == 403
    assert "used already" in refused.words
    assert site.refused[-1] == "web_link_ended"


async def test_what_lets_in_is_stored_as_a_digest_only(site: Site) -> None:
    link = await site.link("ada")
    browser = site.browser()
    await browser.go(f"/sign-in/{link}")
    await browser.post(f"/sign-in/{link}", allow_redirects=False)
    cookie = browser.cookie("oe")
    assert cookie is not None

    def query(connection: sa.Connection) -> list[object]:
        rows = [*connection.execute(sa.select(sign_in_link)), *connection.execute(sa.select(browser_session))]
        return [value for row in rows for value in row]

    stored = await site.desk.rooms.database.read(query)
    assert digest(cookie) in stored
    assert digest(link) in stored
    assert not {cookie, link} & set(stored)


async def test_the_cookie_cannot_be_read_by_scripts_nor_sent_from_elsewhere(site: Site) -> None:
    path = f"/sign-in/{await site.link('ada')}"
    browser = site.browser()
    await browser.go(path)
    answer = await browser.post(path, allow_redirects=False)
    (cookie,) = [each for each in answer.headers.getall("Set-Cookie") if each.startswith("oe=")]  # type: ignore[attr-defined]
    assert {"HttpOnly", "SameSite=lax", "Path=/"} <= set(cookie.split("; "))


async def test_behind_https_the_cookie_is_bound_to_the_host(desk: Desk) -> None:
    async with serving(desk, secure=True) as site:
        path = f"/sign-in/{await site.link('ada')}"
        browser = site.browser()
        page = await browser.go(path)
        (csrf,) = [each.get("value") for each in page.all("input[name=csrf]")]
        neighbour = {"Cookie": f"oe_asking={csrf}"}
        forged = await browser.post(path, csrf=csrf, headers=neighbour, allow_redirects=False)
        assert forged.status == 403
        own = {"Cookie": f"__Host-oe_asking={csrf}"}
        answer = await browser.post(path, csrf=csrf, headers=own, allow_redirects=False)
        cookies: list[str] = answer.headers.getall("Set-Cookie")  # type: ignore[attr-defined]
        assert any(each.startswith("__Host-oe=") for each in cookies)
        for cookie in (*cookies, page.headers["Set-Cookie"]):
            assert cookie.startswith("__Host-")
            assert {"Secure", "Path=/"} <= set(cookie.split("; "))
            assert "Domain" not in cookie


async def test_a_link_that_was_asked_for_holds_only_in_the_browser_that_asked(desk: Desk) -> None:
    said: list[tuple[str, str, str]] = []

    async def send(channel: str, address: str, path: str) -> None:
        said.append((channel, address, path))

    async with serving(desk, send) as site:
        browser = site.browser()
        await browser.go("/sign-in?next=/memories%3Fstatus%3Dpending")
        answer = await browser.post("/sign-in", {"account": "2"})
        assert "on its way" in answer.words
        ((channel, address, path),) = said
        assert (channel, address) == ("test", "2")

        other = site.browser()
        assert "another browser" in (await other.go(path)).words
        assert site.refused == ["web_link_other_browser"]
        await browser.go(path)
        entered = await browser.post(path, allow_redirects=False)
        assert (entered.status, entered.headers["Location"]) == (303, "/memories?status=pending")


@pytest.mark.parametrize("account", ["nobody@example.org", "", "  "])
async def test_whoever_is_not_known_is_answered_the_same(desk: Desk, account: str) -> None:
    said: list[str] = []

    async def send(channel: str, address: str, path: str) -> None:
        said.append(address)

    async with serving(desk, send) as site:
        known, unknown = site.browser(), site.browser()
        for browser in (known, unknown):
            await browser.go("/sign-in")
        good = await known.post("/sign-in", {"account": "2"})
        bad = await unknown.post("/sign-in", {"account": account})
        assert good.status == bad.status == 200
        assert [each.text for each in good.all(".done")] == [each.text for each in bad.all(".done")]
        assert said == ["2"]


async def test_an_account_gets_three_links_in_ten_minutes(desk: Desk) -> None:
    said: list[str] = []

    async def send(channel: str, address: str, path: str) -> None:
        said.append(path)

    async with serving(desk, send) as site:
        browser = site.browser()
        await browser.go("/sign-in")
        for _ in range(5):
            await browser.post("/sign-in", {"account": "2"})
        assert len(said) == 3
        desk.rooms.clock.advance(timedelta(minutes=11))
        await browser.post("/sign-in", {"account": "2"})
        assert len(said) == 4


async def test_trying_links_from_one_address_is_bounded(site: Site) -> None:
    browser = site.browser()
    statuses = [(await browser.go(f"/sign-in/{each}")).status for each in range(31)]
    assert statuses == [403] * 30 + [429]
    assert site.refused[-1] == "web_sign_in_too_many"


async def test_behind_a_proxy_tries_are_those_of_who_asks_it(site: Site) -> None:
    browser = site.browser()
    for each in range(31):
        await browser.go(f"/sign-in/{each}", headers={"X-Forwarded-For": "10.0.0.9, 203.0.113.7"})
    assert site.refused[-1] == "web_sign_in_too_many"
    other = await browser.go("/sign-in/x", headers={"X-Forwarded-For": "203.0.113.7, 203.0.113.8"})
    assert other.status == 403


async def test_without_a_public_address_no_link_is_sent(site: Site) -> None:
    browser = site.browser()
    page = await browser.go("/sign-in")
    assert "openexecutive console" in page.words
    answer = await browser.post("/sign-in", {"account": "2"}, csrf=browser.cookie("oe_asking") or "")
    assert answer.status == 403
    assert "web_no_links" in site.refused


@pytest.mark.parametrize("wanted", ["//evil.example", "https://evil.example", "/\\evil.example", "evil", "/a\nb"])
async def test_signing_in_never_leads_to_another_site(site: Site, wanted: str) -> None:
    browser = site.browser()
    await browser.session.get(f"{site.url}/sign-in", params={"next": wanted})
    path = f"/sign-in/{await site.link('ada')}"
    await browser.go(path)
    answer = await browser.post(path, allow_redirects=False)
    assert answer.headers["Location"] == "/"


async def test_a_form_without_the_guard_of_its_session_does_nothing(site: Site) -> None:
    browser, other = await site.enter("ada"), await site.enter("bob")
    theirs = (await other.go("/nothing-here")).text
    for csrf in ("", "0" * 64, theirs[:64]):
        answer = await browser.post("/sign-out", csrf=csrf)
        assert answer.status == 403
    assert site.refused.count("web_bad_csrf") == 3
    assert await _is_in(browser)


async def test_signing_out_ends_this_browser_and_everywhere_ends_all(site: Site) -> None:
    first, second, bob = await site.enter("ada"), await site.enter("ada"), await site.enter("bob")
    kept = first.cookie("oe")
    await first.post("/sign-out", csrf=await _guard(site, first))
    assert not await _is_in(first)
    assert await _is_in(second)
    first.session.cookie_jar.update_cookies({"oe": kept or ""})
    assert not await _is_in(first), "the cookie of a session that was signed out"

    third = await site.enter("ada")
    await third.post("/sign-out-everywhere", csrf=await _guard(site, third))
    assert [await _is_in(each) for each in (second, third, bob)] == [False, False, True]
    assert len(await _rows(site, "auth_logout")) == 3


async def _guard(site: Site, browser: Browser) -> str:
    """The guard of forms of a browser's session."""
    from bot.web.console.visits import Visitors
    from tests.web.console.site import SECRET

    rooms, cookie = site.desk.rooms, browser.cookie("oe") or ""
    found = await rooms.database.read(lambda c: browsers.check(c, cookie, rooms.clock.now()))
    assert isinstance(found, tuple)
    return Visitors(rooms.database, rooms.recorder, rooms.clock, SECRET, secure=False).csrf(found[1])


async def test_a_session_ends_by_itself(site: Site) -> None:
    idle, busy = await site.enter("ada"), await site.enter("ada")
    clock = site.desk.rooms.clock
    for _ in range(13):
        clock.advance(timedelta(days=1))
        assert await _is_in(busy)
    assert not await _is_in(idle)
    clock.advance(timedelta(days=1))
    answer = await busy.go("/events", allow_redirects=False)
    assert (answer.status, answer.headers["Location"]) == (303, "/sign-in?next=%2Fevents")
    assert site.refused[-1] == "web_session_expired"


async def test_whose_person_is_deactivated_is_out_at_once(site: Site) -> None:
    browser, link = await site.enter("ada"), await site.link("ada")
    rooms = site.desk.rooms
    await rooms.write(lambda tx: people.deactivate(tx, rooms.recorder, PersonId("ada"), BOSS, rooms.clock.now()))
    assert not await _is_in(browser)
    assert "not active" in (await site.browser().go(f"/sign-in/{link}")).words


async def test_a_cookie_is_exchanged_and_the_old_one_holds_for_a_moment_only(site: Site) -> None:
    browser = await site.enter("ada")
    old, clock = browser.cookie("oe"), site.desk.rooms.clock
    clock.advance(timedelta(hours=2))
    async with browser.session.get(f"{site.url}/events"):
        pass
    new = browser.cookie("oe")
    assert new is not None
    assert new != old
    late = site.browser()
    late.session.cookie_jar.update_cookies({"oe": old or ""})
    assert await _is_in(late)
    clock.advance(timedelta(minutes=2))
    assert not await _is_in(late)
    assert await _is_in(browser)


async def test_who_is_not_signed_in_is_led_to_the_door(site: Site) -> None:
    browser = site.browser()
    answer = await browser.go("/events?x=1", allow_redirects=False)
    assert (answer.status, answer.headers["Location"]) == (303, "/sign-in?next=%2Fevents%3Fx%3D1")
    part = await browser.part("/events")
    assert (part.status, part.headers["HX-Redirect"]) == (401, "/sign-in")
    assert (await browser.post("/sign-out", csrf="")).status == 401
    assert site.refused == ["web_not_signed_in"] * 3


async def test_pages_allow_nothing_inline_and_nothing_from_elsewhere(site: Site) -> None:
    page = await site.browser().go("/sign-in")
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.headers["Cache-Control"] == "no-store"
    assert page.all("script:not([src]), style, [style], [onclick]") == []
    sheet = await site.browser().go(page.all("link[rel=stylesheet]")[0].get("href"))
    assert sheet.status == 200
    assert "immutable" in sheet.headers["Cache-Control"]


async def test_the_api_is_behind_the_same_door(site: Site) -> None:
    nobody, ada = site.browser(), await site.enter("ada")
    assert (await nobody.go("/api/memories")).status == 401
    assert (await ada.go("/api/memories")).status == 200
    forged = await ada.session.delete(f"{site.url}/api/memories/nothing", json={"reason": "x"})
    assert forged.status == 403
    assert site.refused == ["api_no_token", "api_bad_csrf"]
    guarded = await ada.session.delete(
        f"{site.url}/api/memories/nothing", json={"reason": "x"}, headers={"X-CSRF": await _guard(site, ada)}
    )
    assert guarded.status == 404
    await ada.post("/sign-out", csrf=await _guard(site, ada))
    ended = await nobody.go("/api/memories", headers={"Cookie": f"oe={ada.cookie('oe') or 'x'}"})
    assert ended.status == 401
