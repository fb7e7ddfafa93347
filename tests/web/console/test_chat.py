"""The chat in a browser, through the whole daemon: real HTTP in, a stand-in of the model behind it, the page out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest

from bot.audit.events import SYSTEM
from bot.gateway.operations import Choice, Edit, asking
from bot.gateway.operations import Reply as Said
from bot.kernel.ids import PersonId
from bot.outbox.store import Origin
from bot.people import browsers
from bot.people import store as people
from bot.people.model import Handle, Person, Role
from bot.people.model import Origin as Origin_
from tests.contracts.bench import FarEnd, until, until_true
from tests.contracts.benches.web import WebEnd
from tests.contracts.core import Core, living
from tests.fakes.anthropic_reply import Reply, ToolUse, say
from tests.web.console.site import Answer, Browser

XSS = '<script>alert(1)</script>"><img src=x onerror=alert(1)>'


class Chat:
    """One conversation in a signed-in browser."""

    def __init__(self, browser: Browser, path: str) -> None:
        self.browser = browser
        self.path = path
        self.numbers = 0

    async def page(self) -> Answer:
        answer = await self.browser.go(self.path)
        assert answer.status == 200, answer.text
        return answer

    async def say(self, text: str, number: str | None = None, **more: Any) -> Answer:
        self.numbers += 1
        fields = {"id": number or f"message-{self.numbers}", "text": text, **more}
        return await self.browser.post(f"{self.path}/say", fields)

    async def lines(self) -> list[str]:
        return [" ".join(each.text_content().split()) for each in (await self.page()).all("li.line")]

    async def theirs(self) -> list[str]:
        return [" ".join(each.text_content().split()) for each in (await self.page()).all("li.theirs .words")]

    async def mine(self) -> list[str]:
        return [each.text_content() for each in (await self.page()).all("li.mine .words")]

    async def shows(self, words: str) -> None:
        async def holds() -> bool:
            return any(words in each for each in await self.theirs())

        await until_true(holds)


class Web:
    def __init__(self, core: Core) -> None:
        self.core = core
        self.url = core.daemon.doors._console_address() or ""
        self._browsers: list[Browser] = []

    async def enter(self, who: str) -> Browser:
        store = self.core.daemon.rooms.store
        link = await store.database.write(lambda tx: browsers.make_link(tx, PersonId(who), None, store.clock.now()))
        browser = Browser(self.url, aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)))
        self._browsers.append(browser)
        await browser.go(f"/sign-in/{link}")
        answer = await browser.post(f"/sign-in/{link}", allow_redirects=False)
        assert answer.status == 303, answer.text
        return browser

    async def chat(self, browser: Browser, path: str = "/chat/new") -> Chat:
        """As `path` leads to it."""
        answer = await browser.go(path)
        (talk,) = answer.all("[data-chat]")
        return Chat(browser, talk.get("data-chat"))

    async def close(self) -> None:
        for each in self._browsers:
            await each.session.close()

    def refused(self) -> set[str]:
        return {reason for _, reason in self.core.daemon.rooms.refusals.take()}


@asynccontextmanager
async def served(far: FarEnd, folder: Path) -> AsyncIterator[Web]:
    async with living(far, folder) as core:
        web = Web(core)
        try:
            yield web
        finally:
            await web.close()


@pytest.fixture
async def web(tmp_path: Path) -> AsyncIterator[Web]:
    async with WebEnd() as far, served(far, tmp_path) as found:
        yield found


async def test_what_is_said_is_answered_in_the_page_and_stays_there(web: Web) -> None:
    chat = await web.chat(await web.enter("ann"))
    assert "Ask, or tell the executive" in (await chat.page()).words
    answer = await chat.say("How long is our runway?")
    assert answer.url == chat.path, "a form without script leads back to the conversation"
    await chat.shows("Answer 1.")
    assert await chat.mine() == ["How long is our runway?"]
    assert await web.chat(chat.browser, "/chat") is not chat
    again = await web.chat(chat.browser, "/chat")
    assert again.path == chat.path, "the newest conversation is the one that opens"
    audited = [row["payload"] for row in web.core.rows("SELECT payload FROM audit WHERE type = 'message_received'")]
    assert [json.loads(each)["proof"] for each in audited] == ["platform"]


async def test_a_message_that_is_posted_again_is_one_message(web: Web) -> None:
    chat = await web.chat(await web.enter("ann"))
    await asyncio.gather(*(chat.say("once, please", "the-same-id") for _ in range(4)))
    await chat.shows("Answer 1.")
    await chat.say("once, please", "the-same-id")
    await web.core.settled()
    assert await chat.mine() == ["once, please"]
    assert len(await chat.theirs()) == 1
    # Who goes back and writes other words into the old form has said something else.
    await chat.say("and this", "the-same-id")
    await chat.shows("Answer 2.")
    assert await chat.mine() == ["once, please", "and this"]


async def test_two_people_side_by_side_see_nothing_of_each_other(web: Web) -> None:
    ann, ben = await web.enter("ann"), await web.enter("ben")
    hers, his = await web.chat(ann), await web.chat(ben)
    await hers.say("The PAPAYA plan is mine.")
    await hers.shows("Answer 1.")
    await his.say("And the KIWI plan is mine.")
    await his.shows("Answer 2.")
    session = web.core.rows("SELECT session_id FROM inbox WHERE event LIKE '%PAPAYA%'")[0]["session_id"]
    row = web.core.rows("SELECT id FROM inbox WHERE event LIKE '%PAPAYA%'")[0]["id"]
    for path in (hers.path, f"{hers.path}/stream", f"/chat/session/{session}", f"{hers.path}/file/{row}/0"):
        answer = await ben.go(path)
        assert answer.status == 404, path
        assert "PAPAYA" not in answer.text
    stolen = Chat(ben, hers.path)
    for path, fields in (("say", {"text": "let me in", "id": "message-9"}), ("stop", {}), ("press", {"row": row})):
        answer = await ben.post(f"{stolen.path}/{path}", fields)
        assert answer.status == 404, path
    assert "web_not_found" in web.refused()
    for number in ("0", "-1", "x", "9" * 30, "9" * 5_000):
        assert (await ann.go(f"{hers.path}/file/{row}/{number}")).status == 404, number[:20]
    assert await hers.mine() == ["The PAPAYA plan is mine."]
    for page in ("/chat", "/chat/all", "/chat/all?q=PAPAYA", his.path):
        assert "PAPAYA" not in (await ben.go(page)).text.replace("q=PAPAYA", "").replace('value="PAPAYA"', "")
    assert b"PAPAYA" not in web.core.brain.asked()[1]


async def test_each_conversation_is_one_of_its_own(web: Web) -> None:
    browser = await web.enter("ann")
    first, second = await web.chat(browser), await web.chat(browser)
    await first.say("The PAPAYA plan.")
    await first.shows("Answer 1.")
    await second.say("What plan?")
    await second.shows("Answer 2.")
    assert b"PAPAYA" not in web.core.brain.asked()[1]
    await second.say("/new")
    await second.shows("A fresh start")
    beside = [each.text_content() for each in (await first.page()).all(".beside .title")]
    assert beside == ["What plan?", "The PAPAYA plan."]


async def test_the_answer_streams_while_it_is_written(web: Web) -> None:
    server = web.core.brain.server
    server.reply_with(say("**Fourteen** <b>months</b>.", chunk=6, gates={1: "more"}))
    chat = await web.chat(await web.enter("ann"))
    async with chat.browser.session.get(f"{web.url}{chat.path}/stream") as stream:
        assert stream.headers["Content-Type"].startswith("text/event-stream")
        heard = events(stream)
        assert (await anext(heard))[0] == "changed"
        await chat.say("How long is our runway?")
        drafts = [json.loads(data) async for data in first_drafts(heard)]
        assert drafts == ["<p>**Four</p>"]
        page = await chat.page()
        assert "is being answered" in page.words
        server.faults.gate("more").release()
        async for kind, _ in heard:
            if kind == "changed":
                break
    await chat.shows("Fourteen <b>months</b>.")
    assert "<strong>Fourteen</strong> &lt;b&gt;months" in (await chat.page()).text


async def events(stream: aiohttp.ClientResponse) -> AsyncIterator[tuple[str, str]]:
    """Kind and data of each."""
    kind = ""
    async for line in stream.content:
        name, _, value = line.decode().rstrip("\n").partition(":")
        if name == "event":
            kind = value.strip()
        elif name == "data":
            yield kind, value.strip()


async def first_drafts(heard: AsyncIterator[tuple[str, str]]) -> AsyncIterator[str]:
    """The drafts with words until one came."""
    async for kind, data in heard:
        if kind == "draft" and data != "null":
            yield data
            return


async def test_an_answer_is_stopped_and_the_next_message_is_answered(web: Web) -> None:
    server = web.core.brain.server
    server.reply_with(say("A long story that nobody wants.", chunk=6, gates={1: "never"}))
    chat = await web.chat(await web.enter("ann"))
    await chat.say("Tell me everything.")
    await until(lambda: bool(web.core.brain.asked()))
    assert [each.get("formaction") for each in (await chat.page()).all("#stop")] == [f"{chat.path}/stop"]
    await chat.browser.post(f"{chat.path}/stop")
    await chat.shows("Stopped.")

    async def settled() -> bool:
        return [each.text_content() for each in (await chat.page()).all("li.mine .tag")] == ["stopped"]

    await until_true(settled)
    await chat.say("Briefly then.")
    await chat.shows("Answer")
    assert "nobody wants" not in " ".join(await chat.theirs())


async def upload(chat: Chat, name: str, data: bytes | BytesIO, csrf: str | None = None) -> aiohttp.ClientResponse:
    headers = {"X-CSRF": chat.browser.csrf if csrf is None else csrf, "HX-Request": "true"}
    url = f"{web_url(chat)}/upload"
    return await chat.browser.session.post(url, params={"name": name}, data=data, headers=headers)


def web_url(chat: Chat) -> str:
    return f"{chat.browser.base}{chat.path}"


async def test_a_file_goes_along_is_read_and_can_be_had_again(web: Web) -> None:
    chat = await web.chat(await web.enter("ann"))
    name = f"plan {XSS}.txt"
    answer = await upload(chat, name, b"Our rent is 900 a month.")
    kept = json.loads(await answer.text())
    assert (answer.status, kept["size"]) == (200, 24)
    await chat.say("What is the rent?", file=kept["handle"])
    await chat.shows("Answer 1.")
    assert b"Our rent is 900 a month." in web.core.brain.asked()[0]
    page = await chat.page()
    (link,) = page.all("li.mine .files a")
    assert "alert(1)" in link.text_content()
    assert page.all("script:not([src]), img[onerror]") == []
    async with chat.browser.session.get(chat.browser.base + link.get("href")) as had:
        assert await had.read() == b"Our rent is 900 a month."
        assert had.headers["Content-Disposition"].startswith("attachment;")
        assert had.headers["Content-Type"] == "application/octet-stream"
        assert "sandbox" in had.headers["Content-Security-Policy"]


async def test_a_file_is_refused_when_it_is_too_large_forged_or_another_s(web: Web) -> None:
    ann, ben = await web.enter("ann"), await web.enter("ben")
    hers, his = await web.chat(ann), await web.chat(ben)
    large = await upload(hers, "large.bin", BytesIO(b"x" * 20_000_001))
    assert large.status == 400
    assert (await upload(hers, "a.txt", b"a", csrf="0" * 64)).status == 403
    assert (await upload(Chat(ben, hers.path), "a.txt", b"a")).status == 404
    kept = json.loads(await (await upload(hers, "a.txt", b"PAPAYA")).text())
    for handle in (kept["handle"], kept["handle"][:-1], "x"):
        answer = await his.say("Look at this", file=handle)
        assert answer.status == 400, handle
        assert "add it again" in answer.words
    assert await his.mine() == []


async def test_what_anybody_writes_is_shown_and_never_run(web: Web) -> None:
    server = web.core.brain.server
    server.reply_with(say(f"You wrote {XSS} and [this](javascript:alert(1)). See https://evil.example/?d=1."))
    chat = await web.chat(await web.enter("ann"))
    await chat.say(XSS)
    await chat.shows("You wrote")
    for path in (chat.path, "/chat/all", f"/chat/all?q={quote(XSS)}", "/chat/all?q=alert", await session_path(web)):
        page = await chat.browser.go(path)
        assert page.status == 200, path
        assert page.all("main script, main img, [onerror], a[href^='javascript'], a[href*='evil.example']") == [], path
    assert await chat.mine() == [XSS]


async def session_path(web: Web) -> str:
    return f"/chat/session/{web.core.rows('SELECT id FROM session')[0]['id']}"


async def test_forged_forms_say_nothing(web: Web) -> None:
    chat = await web.chat(await web.enter("ann"))
    for csrf in ("", "0" * 64):
        answer = await chat.browser.post(f"{chat.path}/say", {"id": "message-1", "text": "hello"}, csrf=csrf)
        assert answer.status == 403
    for wrong in ({"id": "message-1", "text": "  "}, {"id": "", "text": "hello"}, {"text": "hello"}):
        assert (await chat.browser.post(f"{chat.path}/say", wrong)).status == 400, wrong
    assert web.core.rows("SELECT 1 FROM inbox") == []


async def test_what_was_said_is_found_and_leads_to_its_place(web: Web) -> None:
    chat = await web.chat(await web.enter("ann"))
    await chat.say("Our runway is 14 months.")
    await chat.shows("Answer 1.")
    found = await chat.browser.go("/chat/all?q=runway")
    (hit,) = found.all(".found a")
    assert [each.text for each in hit.cssselect("mark")] == ["runway"]
    there = await chat.browser.go(hit.get("href"))
    assert [each.text_content() for each in there.all("li.sought .words")] == ["Our runway is 14 months."]
    assert next(each.get("href") for each in there.all("a.button")) == chat.path
    nothing = await chat.browser.go("/chat/all?q=papaya")
    assert "holds all of these words" in nothing.words
    part = await chat.browser.part("/chat/all?q=runway")
    assert "<html" not in part.text
    assert "runway" in part.text


async def test_a_press_decides_and_is_answered_at_once(web: Web) -> None:
    store, channel = web.core.daemon.rooms.store, web.core.daemon.rooms.channels["web"]
    browser = await web.enter("ann")
    chat = await web.chat(browser)
    await chat.say("hello")
    await chat.shows("Answer 1.")
    path = await channel.direct("ann")
    assert f"/chat/{path.thread.partition(':')[2]}" == chat.path, "what is said unasked comes where they wrote last"
    choices = (Choice("ledger:a:nobody", "Approve"), Choice("ledger:r:nobody", "Reject"))
    ops = asking(channel.plan(Said(path, "Send **this**?")), choices, None)
    outbox = web.core.daemon.rooms.outbox
    nowhere = Origin(None, None, None)
    queued = await store.database.write(lambda tx: outbox.queue_operations(tx, "web", ops, nowhere))
    outbox.sending((queued,))
    await chat.shows("Send this?")
    page = await chat.page()
    forms = page.all("[data-press]")
    assert [each.text_content().strip() for each in forms] == ["Approve", "Reject"]
    assert "ledger:" not in page.text, "what a button carries does not stand in the page"
    fields = {each.get("name"): each.get("value") for each in forms[0].cssselect("input") if each.get("name") != "csrf"}
    answer = await browser.post(forms[0].get("action"), fields)
    assert "no longer in use" in answer.words, "the presser is answered at once"
    for wrong in ({**fields, "choice": "7"}, {**fields, "choice": "x"}, {**fields, "row": "0" * 24}):
        assert (await browser.post(forms[0].get("action"), wrong)).status == 404
    edit = Edit(path, f"own:{queued.ids[-1]}", "Approved by Ann.", "Approved by Ann.")
    edited = await store.database.write(lambda tx: outbox.queue_operations(tx, "web", [edit], nowhere))
    outbox.sending((edited,))
    await chat.shows("Approved by Ann.")
    assert (await chat.page()).all("[data-press]") == []
    assert not any("Send this?" in each for each in await chat.theirs())


async def test_a_long_conversation_is_read_in_pages(web: Web) -> None:
    chat = await web.chat(await web.enter("ann"))
    for number in range(1, 16):
        await chat.say(f"word {number}")
        await chat.shows(f"Answer {number}.")
    newest = await chat.page()
    (older,) = newest.all("#older a")
    earlier = await chat.browser.go(older.get("href"))
    shown = [each.text_content() for page in (earlier, newest) for each in page.all("li.mine .words")]
    assert shown == [f"word {number}" for number in range(1, 16)]
    assert earlier.all("#composer") == []


async def test_somebody_who_was_paired_chats_with_the_first_visit(web: Web) -> None:
    store = web.core.daemon.rooms.store
    account = Handle("telegram", "77", Origin_.PAIRED)
    zoe = Person(PersonId("zoe"), "Zoe", Role.MEMBER, (), "UTC", None, Origin_.PAIRED, True, frozenset({account}))
    await store.database.write(lambda tx: people.add(tx, store.recorder, zoe, SYSTEM, store.clock.now()))
    chat = await web.chat(await web.enter("zoe"))
    await chat.say("hello")
    await chat.shows("Answer 1.")


async def test_an_open_page_hears_of_what_ends_without_a_word(web: Web) -> None:
    server = web.core.brain.server
    server.reply_with(say("A long story.", chunk=6, gates={1: "never"}))
    chat = await web.chat(await web.enter("ann"))
    async with chat.browser.session.get(f"{web.url}{chat.path}/stream") as stream:
        heard = events(stream)
        assert (await anext(heard))[0] == "changed"
        await chat.say("Tell me everything.")
        await until(lambda: bool(web.core.brain.asked()))
        await chat.browser.post(f"{chat.path}/stop")
        await web.core.settled()
        told = [kind async for kind, _ in until_state(heard)]
    assert told[-1] == "state"
    assert "changed" in told, "the answer to the stop"


async def until_state(heard: AsyncIterator[tuple[str, str]]) -> AsyncIterator[tuple[str, str]]:
    """What came until a change of state after something was said."""
    said = False
    async for kind, data in heard:
        yield kind, data
        said = said or kind == "changed"
        if said and kind == "state":
            return


async def test_who_is_signed_out_hears_nothing_more(web: Web) -> None:
    server = web.core.brain.server
    server.reply_with(say("The PAPAYA offer stands.", chunk=6, gates={1: "more"}))
    chat = await web.chat(await web.enter("ann"))
    async with chat.browser.session.get(f"{web.url}{chat.path}/stream") as stream:
        await chat.say("What about the offer?")
        await until(lambda: bool(web.core.brain.asked()))
        await chat.browser.post("/sign-out-everywhere")
        server.faults.gate("more").release()
        async with asyncio.timeout(20):
            heard = [data async for kind, data in events(stream) if kind == "draft"]
    assert not [data for data in heard if "PAPAYA" in data], "and the stream came to its end"


async def test_what_needs_a_yes_comes_into_the_conversation_and_is_done_from_there(web: Web) -> None:
    asked = {"to": "ben", "text": "We meet on Tuesday.", "reason": "Ann wants it"}
    wish = Reply((ToolUse("send_message", asked),))
    web.core.brain.server.reply_with(wish, say("I have put it before you."))
    ann, ben = await web.enter("ann"), await web.enter("ben")
    hers = await web.chat(ann)
    await hers.say("Tell Ben that we meet on Tuesday.")
    await hers.shows("I have put it before you.")
    await hers.shows("We meet on Tuesday.")
    page = await hers.page()
    (link,) = page.all("li.theirs a[href^='/approvals/']")
    assert (await ann.go(link.get("href"))).status == 200
    form = page.all("[data-press]")[0]
    fields = {each.get("name"): each.get("value") for each in form.cssselect("input") if each.get("name") != "csrf"}
    answer = await ann.post(form.get("action"), fields)
    assert "Approved: it is being done." in answer.words
    told = await web.chat(ben, "/chat")
    await told.shows("We meet on Tuesday.")
    fresh = await web.chat(ben)
    await fresh.say("hello")
    await fresh.shows("Answer")
    for path in (fresh.path, "/chat/all"):
        titles = {
            each.text_content(): each.getparent().get("href") for each in (await ben.go(path)).all(".talks .title")
        }
        assert titles["From the executive"] == told.path

    async def settled() -> bool:
        return (await hers.page()).all("[data-press]") == []

    await until_true(settled)
    assert (await ann.post(form.get("action"), fields)).status in (200, 404), "the same press again does nothing"
    assert len([each for each in await told.theirs() if "Tuesday" in each]) == 1
