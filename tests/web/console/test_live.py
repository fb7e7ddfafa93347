"""What an open page hears: topics, as soon as something of them is committed, and nothing once it is closed."""

from __future__ import annotations

import asyncio

import aiohttp

from bot.kernel.ids import PersonId
from bot.web.console.hub import MOST, MOST_OF_ONE
from tests.contracts.bench import until
from tests.web.console.site import Browser, Site


async def _open(browser: Browser) -> aiohttp.ClientResponse:
    return await browser.session.get(f"{browser.base}/events")


async def _topics(stream: aiohttp.ClientResponse) -> set[str]:
    """Of the next event that has any."""
    async with asyncio.timeout(20):
        while True:
            line = (await stream.content.readline()).decode()
            if line.startswith("data: "):
                return set(line.removeprefix("data: ").split())


async def test_an_open_page_hears_of_what_is_committed_by_topic_and_no_words(site: Site) -> None:
    ada = await site.enter("ada")
    stream = await _open(ada)
    assert stream.headers["Content-Type"].startswith("text/event-stream")
    await stream.content.readline()
    await site.desk.said(await site.desk.alone("boss"), "boss", "We buy Acme.")
    heard = await _topics(stream)
    assert "memory" in heard
    assert heard <= {"memory", "session", "people"}
    stream.close()


async def test_pages_that_were_left_make_room_for_others(site: Site) -> None:
    ada = await site.enter("ada")
    for _ in range(MOST + 6):
        stream = await _open(ada)
        assert stream.status == 200
        stream.close()
        await until(lambda: not site.hub.listening)


async def test_too_many_open_pages_are_told_so(site: Site) -> None:
    ada, boss = await site.enter("ada"), await site.enter("boss")
    streams = [await _open(ada) for _ in range(MOST_OF_ONE)]
    refused = await _open(ada)
    assert (refused.status, refused.headers["Retry-After"]) == (503, "60")
    streams.append(await _open(boss))
    assert streams[-1].status == 200
    others = [site.hub.listen(PersonId(f"p{number}")) for number in range(MOST - len(streams))]
    assert all(others)
    assert (await _open(boss)).status == 503
    for each in streams:
        each.close()


async def test_a_browser_that_is_signed_out_hears_nothing_more(site: Site) -> None:
    ada, elsewhere = await site.enter("ada"), await site.enter("ada")
    stream = await _open(ada)
    await stream.content.readline()
    await elsewhere.go("/people")
    await elsewhere.post("/sign-out-everywhere", allow_redirects=False)
    async with asyncio.timeout(20):
        assert b"data:" not in await stream.read()
    await until(lambda: not site.hub.listening)


async def test_a_stop_ends_the_streams(site: Site) -> None:
    stream = await _open(await site.enter("ada"))
    site.hub.close()
    async with asyncio.timeout(20):
        assert (await stream.content.read()).decode().startswith("retry: ")
